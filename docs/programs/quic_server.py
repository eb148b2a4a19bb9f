"""Answers a number with as many bytes, over QUIC (aioquic). An example of `shallows linux exec`.

It needs a certificate, cert.pem with the key in key.pem, in the directory where it runs.
"""

import asyncio

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent, StreamDataReceived


class Sender(QuicConnectionProtocol):
    """Sends what a client asks for."""

    def quic_event_received(self, event: QuicEvent) -> None:
        """A whole request is answered."""
        if isinstance(event, StreamDataReceived) and event.end_stream:
            self._quic.send_stream_data(event.stream_id, bytes(int(event.data)), end_stream=True)
            self.transmit()


async def main() -> None:
    """Serves until the run ends."""
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["bulk"])
    configuration.load_cert_chain("cert.pem", "key.pem")
    await serve("0.0.0.0", 4433, configuration=configuration, create_protocol=Sender)
    await asyncio.Event().wait()


asyncio.run(main())
