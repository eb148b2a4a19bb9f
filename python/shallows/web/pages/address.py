"""An experiment in a page's address, so that it can be sent: text and overrides, packed."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

MOST_UNPACKED = 200_000

__all__ = ["pack", "unpack"]


def pack(content: dict[str, Any]) -> str:
    """Text of letters, digits, `-` and `_`."""
    data = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
    return base64.urlsafe_b64encode(zlib.compress(data, 9)).decode().rstrip("=")


def unpack(text: str) -> dict[str, Any] | None:
    """The packed document; None for anything else."""
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        inflate = zlib.decompressobj()
        unpacked = inflate.decompress(data, MOST_UNPACKED)
        if inflate.unconsumed_tail:
            return None
        content = json.loads(unpacked)
    except (ValueError, zlib.error, RecursionError):
        return None
    return content if isinstance(content, dict) else None
