"""The simulator as WebAssembly: `crates/wasm` of a checkout, compiled by Rust's target for browsers.

An installed package has no sources of Rust, and so no laboratory.
"""

from __future__ import annotations

import functools
import re
import subprocess

from shallows.document.places import experiments_path

ROOT = experiments_path().parent
TARGET = "wasm32-unknown-unknown"
MODULE = ROOT / f"target/{TARGET}/browser/shallows_wasm.wasm"

__all__ = ["TARGET", "available", "module", "without_studies"]


def available() -> bool:
    """Whether there are sources, and Rust's target is installed."""
    if not (ROOT / "crates/wasm").is_dir():
        return False
    asked = ["rustc", "--print", "target-libdir", "--target", TARGET]
    try:
        found = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return False
    return (ROOT / found).is_dir()


@functools.cache
def module() -> bytes:
    """The compiled simulator; built anew if its sources have changed. Raises CalledProcessError."""
    command = ["cargo", "build", "--quiet", "--profile", "browser", "--package", "shallows-wasm"]
    subprocess.run([*command, "--target", TARGET, "--locked"], cwd=ROOT, check=True)
    return MODULE.read_bytes()


def without_studies(text: str) -> str:
    """The text of one experiment: a study's file without its sweep, seeds and schema."""
    import tomlkit

    document = tomlkit.parse(text)
    for section in ("sweep", "seeds", "summary", "compare", "tune", "attack"):
        document.pop(section, None)
    return re.sub(r"^#:schema .*\n", "", tomlkit.dumps(document))
