"""Every reader of files on damaged ones: an error in words, or the same result; captures read back."""

from __future__ import annotations

import random
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

from shallows.document.load import load
from shallows.document.points import expand
from shallows.errors import DamagedRun, OtherFormat, ShallowsError
from shallows.execution.runner import Runner
from shallows.results import pcapng
from shallows.results.store import Store, StoredRun

TOML = b"""title = "a"
duration = "200us"
topology = { kind = "star", senders = 2, rate = "1Gbps", delay = "5us" }
queue = { kind = "threshold", limit = "20pkt", mark_at = "5pkt" }
transport = { cc = "dctcp" }
[traffic.long]
kind = "bulk"
from = "s*"
to = "r0"
[probe]
packets = ["*->*"]
"""


def damage(draws: random.Random, data: bytes) -> bytes:
    """The data with bits flipped, bytes lost, doubled, or replaced."""
    changed = bytearray(data)
    for _ in range(draws.choice([1, 1, 1, 2, 8])):
        at, way = draws.randrange(len(changed) or 1), draws.random()
        if way < 0.6 and changed:
            changed[at] ^= 1 << draws.randrange(8)
        elif way < 0.75:
            del changed[at : at + draws.choice([1, 4, 100])]
        elif way < 0.9:
            changed[at:at] = draws.choice(
                [b"\0", b"\xff" * 8, b'"', b"[" * 500, changed[: draws.randrange(99)]]
            )
        else:
            changed = changed[:at]
    return bytes(changed)


def toml(draws: random.Random, place: Path) -> list[str]:
    """A damaged experiment file through everything before the run."""
    file = place / "damaged.toml"
    file.write_bytes(damage(draws, TOML))
    return _only_words("a damaged TOML file", lambda: expand(load(file)))


def make_store(place: Path) -> StoredRun:
    """A store with one run, which has packets."""
    file = place / "whole.toml"
    file.write_bytes(TOML)
    [outcome] = Runner.of(store=place / "runs").run(expand(load(file)))
    assert outcome.run is not None, outcome.error
    return outcome.run


def flip(draws: random.Random, run: StoredRun) -> list[str]:
    """One bit of a stored run flips. It must be absent, refused, or have the same values.

    The seventeenth digit of a number may change without changing the number.
    """
    store = Store(run.path.parent)
    file = draws.choice([file for file in run.path.iterdir() if file.suffix in (".parquet", ".json")])
    whole = file.read_bytes()
    at, bit = draws.randrange(len(whole)), draws.randrange(8)
    file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
    try:
        found = store.find(run.hash)
        if found is not None and found.manifest == run.manifest:
            return []
        if found is not None:
            return [f"bit {bit} of byte {at} of {file.name} flipped, and the run was found"]
        store.check(run.hash)
        return [f"bit {bit} of byte {at} of {file.name} flipped, and the run was read"]
    except (DamagedRun, OtherFormat):
        return []
    except Exception as error:
        return [f"bit {bit} of byte {at} of {file.name} flipped: {type(error).__name__}: {error}"]
    finally:
        file.write_bytes(whole)


def capture(run: StoredRun, place: Path) -> list[str]:
    """A capture's blocks, lengths and checksums, read back."""
    file = place / "capture.pcapng"
    port = sorted(run.tables["packets"]["port"].unique())[0]
    count = pcapng.write(run, port, file)
    data, at, packets = file.read_bytes(), 0, 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if length % 4 or length < 12 or struct.unpack_from("<I", data, at + length - 4)[0] != length:
            return [f"the block at {at} of a capture has no matching lengths"]
        packets += kind == 6
        at += length
    return (
        []
        if packets == count == len(run.tables["packets"].filter(port=port))
        else ["a capture lacks packets"]
    )


def _only_words(what: str, use: Callable[[], object]) -> list[str]:
    try:
        use()
    except ShallowsError as error:
        return [] if str(error) else [f"{what}: an error without a word"]
    except BaseException as error:
        return [f"{what}: {type(error).__name__}: {error}"]
    return []


def in_place() -> tempfile.TemporaryDirectory[str]:
    """A directory for all of this."""
    return tempfile.TemporaryDirectory(prefix="shallows-soak-")
