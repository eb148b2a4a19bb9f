"""Asks s0 for a number of bytes over QUIC (aioquic), and says how long they took.

An example of `shallows linux exec`. connect() of aioquic opens an IPv6 socket, which the guest does not have.
"""

import asyncio
import ssl
import sys
import time

from aioquic.asyncio import QuicConnectionProtocol
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection


async def main(size: str) -> None:
    """One connection with one request."""
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["bulk"], verify_mode=ssl.CERT_NONE)
    loop = asyncio.get_running_loop()
    [(*_, address), *_] = await loop.getaddrinfo("s0", 4433, family=2)
    _, connection = await loop.create_datagram_endpoint(
        lambda: QuicConnectionProtocol(QuicConnection(configuration=configuration)), ("0.0.0.0", 0)
    )
    began = time.monotonic()
    connection.connect(address)
    await connection.wait_connected()
    print(f"handshake {1e3 * (time.monotonic() - began):.3f} ms")
    reader, writer = await connection.create_stream()
    began = time.monotonic()
    writer.write(size.encode())
    writer.write_eof()
    print(f"{len(await reader.read())} bytes in {time.monotonic() - began:.6f} s")


asyncio.run(main(sys.argv[1]))
