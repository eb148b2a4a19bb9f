// A QUIC server that sends as many bytes as it is asked for, and its client (quic-go).
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() {
	pair, err := tls.LoadX509KeyPair("cert.pem", "key.pem")
	check(err)
	about := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"bulk"}}
	listener, err := quic.ListenAddr("0.0.0.0:4433", about, nil)
	check(err)
	for {
		connection, err := listener.Accept(context.Background())
		check(err)
		go func() {
			stream, err := connection.AcceptStream(context.Background())
			check(err)
			text, err := io.ReadAll(stream)
			check(err)
			size, err := strconv.Atoi(strings.TrimSpace(string(text)))
			check(err)
			stream.Write(make([]byte, size))
			stream.Close()
		}()
	}
}

func main() {
	if len(os.Args) == 1 {
		serve()
	}
	about := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"bulk"}}
	connection, err := quic.DialAddr(context.Background(), os.Args[1]+":4433", about, nil)
	check(err)
	stream, err := connection.OpenStreamSync(context.Background())
	check(err)
	began := time.Now()
	fmt.Fprint(stream, os.Args[2])
	stream.Close()
	got, err := io.Copy(io.Discard, stream)
	check(err)
	fmt.Printf("%d bytes in %.6f s\n", got, time.Since(began).Seconds())
	connection.CloseWithError(0, "")
}
