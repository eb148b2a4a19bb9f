"""Where the data lies that comes with Shallows."""

from __future__ import annotations

from pathlib import Path

__all__ = ["experiments_path", "flow_sizes_path"]


def experiments_path() -> Path:
    """The directory of experiments that come with Shallows, beside the sources."""
    return Path(__file__).resolve().parents[3] / "experiments"


def flow_sizes_path() -> Path:
    """The distributions of flow sizes that come with Shallows."""
    return Path(__file__).with_name("flow_sizes")
