"""The sections of an experiment file, their components and settings, as the core declares them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

__all__ = ["schema"]


@cache
def schema() -> dict[str, Any]:
    """Every section of an experiment file with its components and their settings."""
    from shallows import _core

    return json.loads(_core.schema())
