"""Asks s0 for a number of bytes, and says how long they took. An example of `shallows linux exec`."""

import asyncio
import sys
import time


async def main(size: str) -> None:
    """One request."""
    began = time.monotonic()
    reader, writer = await asyncio.open_connection("s0", 80)
    writer.write(size.encode() + b"\n")
    print(f"{len(await reader.read())} bytes in {time.monotonic() - began:.6f} s")


asyncio.run(main(sys.argv[1]))
