"""The command that installs the packages of an extra, for a checkout and for an installed wheel."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

__all__ = ["install_command"]


def install_command(extra: str) -> str:
    """The command to type. For a wheel it names the packages, since Shallows itself is on no index."""
    if Path(__file__).resolve().parents[2].joinpath("tools/uv").is_file():
        return f"tools/uv sync --inexact --extra {extra}"
    try:
        lines = requires("shallows") or []
    except PackageNotFoundError:
        lines = []
    marked = (line.split(";") for line in lines)
    wanted = [part[0].strip() for part in marked if re.search(rf"extra\s*==\s*['\"]{extra}['\"]", part[-1])]
    return f"{sys.executable} -m pip install {' '.join(map(_quoted, wanted))}"


def _quoted(requirement: str) -> str:
    return f"'{requirement}'" if re.search(r"[<>=!~]", requirement) else requirement
