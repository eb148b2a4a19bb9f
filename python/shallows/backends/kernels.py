"""The kernel on which a run was made, by its manifest."""

from collections.abc import Mapping
from typing import Any

__all__ = ["kernel_of"]


def kernel_of(manifest: Mapping[str, Any]) -> str | None:
    """Version of Linux and the hash that tells its builds apart; None for other backends' runs."""
    if "linux" not in manifest:
        return None
    about = manifest["linux"]["kernel"]
    return f"{about['version']} ({about['hash']})"
