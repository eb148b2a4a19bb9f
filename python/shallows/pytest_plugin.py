"""A fixture for pytest: `pytest_plugins = ["shallows.pytest_plugin"]` in conftest.py.

    def test_a_download_ends(linux_programs):
        found = linux_programs("net.toml", ("s0", "nginx &"), ("r0", "sleep 1; curl -O http://s0/file"))
        assert found.status == 0

A test that asks for it is skipped by name where there is no kernel.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shallows import linux

__all__ = ["linux_programs"]


@pytest.fixture
def linux_programs() -> Callable[..., linux.Outcome]:
    """`shallows.linux.programs`."""
    if not linux.available():
        pytest.skip("run ./shallows linux build")
    return linux.programs
