"""The features that `linux build --config features` adds, each used once: `features.py [NAME...]`."""

import ctypes
import fcntl
import gzip
import os
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

SOL_TCP, TCP_ULP, SOL_TLS, TLS_TX, TLS_RX = 6, 31, 282, 1, 2
IPPROTO_MPTCP, SO_ATTACH_BPF, SYS_BPF = 262, 50, 321
TRACING = Path("/sys/kernel/tracing")


def pair(family, where, protocol=0):
    """Two connected sockets."""
    server = socket.socket(family, socket.SOCK_STREAM, protocol)
    server.bind((where, 0))
    server.listen(1)
    client = socket.socket(family, socket.SOCK_STREAM, protocol)
    client.connect(server.getsockname()[:2])
    return client, server.accept()[0]


def shell(text):
    """The output of a command."""
    return subprocess.run(text, shell=True, check=True, capture_output=True, text=True).stdout


def ipv6():
    """A connection of version 6 within the host; one to a host of the network by a socket of version 6."""
    near, far = pair(socket.AF_INET6, "::1")
    near.send(b"x")
    dual = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    dual.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    dual.bind(("::", 0))
    dual.listen(1)
    own = socket.gethostbyname(socket.gethostname())
    with socket.create_connection((own, dual.getsockname()[1])):
        return far.recv(1) == b"x" and dual.accept()[1][0] == f"::ffff:{own}"


def mptcp():
    """A connection of MPTCP that has not fallen back to TCP."""
    near, far = pair(socket.AF_INET, "127.0.0.1", IPPROTO_MPTCP)
    near.send(b"x")
    return far.recv(1) == b"x" and near.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL) == IPPROTO_MPTCP


def ktls():
    """TLS 1.3 with AES-128-GCM, which the kernel of either end applies."""
    near, far = pair(socket.AF_INET, "127.0.0.1")
    keys = struct.pack("HH", 0x0304, 51) + bytes(8) + b"k" * 16 + b"s" * 4 + bytes(8)
    for one, way in ((near, TLS_TX), (far, TLS_RX)):
        one.setsockopt(SOL_TCP, TCP_ULP, b"tls")
        one.setsockopt(SOL_TLS, way, keys)
    near.send(b"secret")
    return far.recv(100) == b"secret"


def bpf():
    """A program of two instructions (r0 = 3; exit) that keeps three bytes of each packet of a socket."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(struct.pack("<BBhiBBhi", 0xB7, 0, 0, 3, 0x95, 0, 0, 0))
    licence = ctypes.create_string_buffer(b"GPL")
    words = struct.pack("<IIQQIIQ", 1, 2, ctypes.addressof(code), ctypes.addressof(licence), 0, 0, 0)
    program = libc.syscall(SYS_BPF, 5, ctypes.create_string_buffer(words + bytes(80)), 120)
    if program < 0:
        raise OSError(ctypes.get_errno(), "the program is not loaded")
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    far.setsockopt(socket.SOL_SOCKET, SO_ATTACH_BPF, struct.pack("i", program))
    near.send(b"abcdef")
    return far.recv(10) == b"abc"


def tun():
    """A datagram that comes out of a device."""
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, 0x400454CA, struct.pack("16sH22x", b"tun7", 0x1001))  # TUNSETIFF, IFF_TUN | IFF_NO_PI
    shell("ip addr add 10.9.0.1/24 dev tun7 && ip link set tun7 up")
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hello", ("10.9.0.2", 9))
    while True:
        packet = os.read(device, 2000)
        if packet[0] >> 4 == 4:  # the device has packets of version 6 too
            return packet.endswith(b"hello")


def tracefs():
    """A line for each segment that TCP receives, with the window; its times are the guest's."""
    (TRACING / "events/tcp/tcp_probe/enable").write_text("1")
    pair(socket.AF_INET, "127.0.0.1")
    return "tcp_probe: family=AF_INET" in (TRACING / "trace").read_text()


def police():
    """100 bytes twenty times, at once, against a bucket of 1000 bytes."""
    shell("tc qdisc add dev lo clsact")
    shell("tc filter add dev lo ingress matchall action police rate 8kbit burst 1000 conform-exceed drop")
    near, far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    far.bind(("127.0.0.1", 7))
    far.setblocking(False)
    for _ in range(20):
        near.sendto(bytes(100), ("127.0.0.1", 7))
    count = 0
    with suppress(BlockingIOError):
        while far.recv(200):
            count += 1
    shell("tc qdisc del dev lo clsact")
    return count == 7  # 142 bytes with the headers of Ethernet, IP and UDP


def config():
    """The configuration itself; struct_ops needs a compiler of BPF, which User-Mode Linux has not."""
    with gzip.open("/proc/config.gz", "rt") as file:
        lines = file.read().splitlines()
    return "CONFIG_BPF_SYSCALL=y" in lines and not any(line.startswith("CONFIG_BPF_JIT=") for line in lines)


ALL = {each.__name__: each for each in (ipv6, mptcp, ktls, bpf, tun, tracefs, police, config)}

if __name__ == "__main__":
    for name in sys.argv[1:] or ALL:
        print(name, "works" if ALL[name]() else "does not work")
