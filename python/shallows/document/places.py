"""The places of the data that comes with Shallows, in a checkout and in an installed package alike."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["WITH", "cache_path", "experiments_path", "flow_sizes_path", "program"]


def experiments_path() -> Path:
    """The directory of papers and example experiments.

    In a checkout `_data/experiments` is a link to the root's `experiments`; a wheel holds the files.
    """
    return (Path(__file__).resolve().parents[1] / "_data/experiments").resolve()


WITH = "SHALLOWS_WITH"
"""The variable with the words that chose this laboratory, `with mine.rs`: it has that file's control too."""


def program() -> str:
    """The command to type, as one does: `./shallows` of a checkout, or `shallows` of an installed wheel."""
    if words := os.environ.get(WITH):
        return f"./shallows {words}"
    return "./shallows" if experiments_path().with_name("shallows").is_file() else "shallows"


def cache_path() -> Path:
    """The user's directory for things that are built.

    It is $SHALLOWS_CACHE, else $XDG_CACHE_HOME/shallows, else ~/.cache/shallows.
    """
    base = os.environ.get("SHALLOWS_CACHE")
    return Path(base or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shallows")


def flow_sizes_path() -> Path:
    """The distributions of flow sizes that come with Shallows."""
    return Path(__file__).with_name("flow_sizes")
