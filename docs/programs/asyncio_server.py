"""Answers a number with as many bytes. An example of `shallows linux exec`."""

import asyncio


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends what a client asks for, and closes."""
    writer.write(bytes(int(await reader.readline())))
    await writer.drain()
    writer.close()


async def main() -> None:
    """Serves until the run ends."""
    async with await asyncio.start_server(answer, "0.0.0.0", 80) as server:
        await server.serve_forever()


asyncio.run(main())
