"""The kernel on which a run was made, by its manifest, and a backend on a kernel by name."""

from collections.abc import Mapping
from typing import Any

from shallows.backends.base import Backend
from shallows.errors import Fault, SpecError

__all__ = ["kernel_of", "with_kernel"]


def kernel_of(manifest: Mapping[str, Any]) -> str | None:
    """Version of Linux and the hash that tells its builds apart; None for other backends' runs."""
    if "linux" not in manifest:
        return None
    about = manifest["linux"]["kernel"]
    return f"{about['version']} ({about['hash']})"


def with_kernel(backend: str, kernel: str) -> Backend:
    """The backend of this name on a kernel by name. Raises SpecError."""
    if backend != "linux":
        raise SpecError([Fault("--kernel", "needs --backend linux", kernel)])
    from shallows.backends.linux.backend import Linux
    from shallows.backends.linux.kernel import named

    return Linux(named(kernel).hash)
