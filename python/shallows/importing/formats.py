"""The list of readers, and which of them reads a file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from shallows.errors import Fault, SpecError
from shallows.extras import install_command
from shallows.importing.parts.source import Head, Source
from shallows.words import did_you_mean

if TYPE_CHECKING:
    from shallows.importing.parts.content import Content, Gives, Reader

__all__ = ["READERS", "check_options", "read", "read_with", "reader_of"]

READERS: list[Reader] = [
    import_module(f"shallows.importing.readers.{name}").READER
    for name in (
        "sizes_csv",
        "sizes_hpcc",
        "sizes_packets",
        "sizes_homa",
        "topology_hpcc",
        "topology_htsim",
        "links_csv",
        "graphml",
        "gml",
        "node_link",
        "sndlib",
        "sndlib_text",
        "flows_csv",
        "flows_hpcc",
        "flows_htsim",
        "iperf3",
        "pcap",
        "triggers_htsim",
        "datagrams_csv",
        "messages_csv",
        "messages_json",
        "goal",
        "aicb",
        "simai",
        "chakra",
        "link.rates",
        "link.mahimahi",
    )
]
"""All formats, a line each. The first that recognises a file reads it."""


_DOT = re.compile(r"^\s*(strict\s+)?(di)?graph\b[^\[{]*\{", re.MULTILINE)
_DOT_HINT = "convert it: gv2gml of Graphviz, or networkx.nx_pydot.read_dot and networkx.write_gml"


def reader_of(path: Path, gives: Gives | None = None) -> Reader:
    """The reader of a file, among those that give what is wanted. Raises SpecError if there is none."""
    head = Source(path).head()
    fitting = [reader for reader in READERS if gives in (None, reader.gives)]
    for reader in fitting:
        if reader.recognises(head):
            return reader
    for reader in READERS:  # a file of another kind, which is worth its name
        if reader.recognises(head):
            rule = f"must hold {gives}; this file holds {reader.gives} ({reader.title})"
            raise SpecError([Fault("", rule, path, code="wrong-form")])
    if _DOT.search(head.text or ""):
        raise SpecError(
            [Fault("", "is a graph of Graphviz (DOT), which has no reader", path, _DOT_HINT, "wrong-form")]
        )
    for reader in fitting:
        if gives and reader.suffix and path.suffix == reader.suffix:
            return reader
    _explain(path, head, fitting)
    shown = [f"{r.title}, such as {_first_line(r)}" for r in fitting if isinstance(r.sample, str)]
    rule = "must be a file of a known format" + (f": {'; '.join(shown)}" if gives else "")
    raise SpecError([Fault("", rule, _shown(head), "docs/reference/files.md has all formats", "wrong-form")])


def read(path: Path, gives: Gives, options: Mapping[str, str] = {}) -> Content:
    """The content of one file. Raises SpecError with the faults of the file."""
    reader = reader_of(path, gives)
    return read_with(reader, [path], options)


def read_with(reader: Reader, paths: Sequence[Path], options: Mapping[str, str]) -> Content:
    """The content of one file, or of the files of all ranks. Raises SpecError with their faults."""
    lacking = [name for name in reader.needs if not _is_there(name)]
    if lacking:
        rule = f"needs the packages of the extra import: {', '.join(lacking)} not installed"
        raise SpecError([Fault("", rule, hint=install_command("import"))])
    sources = [Source(path) for path in paths]
    try:
        if reader.read_ranks:
            content = reader.read_ranks(sources, options)
        else:
            assert reader.read is not None, reader.name
            content = reader.read(sources[0], options)
    except RecursionError:
        raise SpecError([Fault("", "cannot be read: nested too deeply", paths[0])]) from None
    faults = [fault for source in sources for fault in source.faults]
    if not faults and not content.rows:
        faults = [Fault("", f"holds no {reader.gives}", paths[0], code="too-few")]
    if faults:
        raise SpecError(faults)
    return content


def check_options(given: Sequence[str], readers: Sequence[Reader]) -> dict[str, str]:
    """The options of `--option NAME=VALUE`. Raises SpecError for one that no reader of these has."""
    known = sorted({name for reader in readers for name in reader.options})
    options, faults = {}, []
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not value:
            faults.append(Fault("--option", "must be NAME=VALUE", text))
        elif name not in known:
            rule = f"unknown option; these files have: {', '.join(known) or 'none'}"
            faults.append(Fault("--option", rule, name, did_you_mean(name, known)))
        options[name] = value
    if faults:
        raise SpecError(faults)
    return options


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its package is missing
        return False


TRIED_LINES = 200


def _explain(path: Path, head: Head, readers: Sequence[Reader]) -> None:
    """Raises SpecError with the faults of the reader that takes the file, but for a line.

    That is the reader which recognises most of its first lines, or all of them without one.
    """
    lines = (head.text or "").splitlines(keepends=True)[:TRIED_LINES]
    # A head that is not whole leaves out its last line.
    shorter = (lines[:last] for last in range(len(lines), 2, -1))
    without_one = (lines[:place] + lines[place + 1 :] + [""] for place in range(min(len(lines), 20)))
    untried = list(readers)
    for part in (*shorter, *without_one):
        near = Head(head.name, "".join([*part, "\n"] if part[-1] == "" else part).encode(), whole=False)
        for reader in [one for one in untried if one.recognises(near)]:
            untried.remove(reader)  # the file may be large, and is read once by each
            try:
                read_with(reader, [path], {})
            except SpecError as error:
                rule = f"must be a file of a known format; it comes closest to {reader.title}"
                raise SpecError([Fault("", rule, _shown(head), code="wrong-form"), *error.faults]) from None


def _first_line(reader: Reader) -> str:
    lines = [line for line in str(reader.sample).splitlines() if line.strip() and not line.startswith("#")]
    return f'"{" ".join(lines[0].split())[:60]}"'


def _shown(head: Head) -> str:
    if head.text is None:
        return "no text"
    return head.lines[0][:60] if head.lines else "nothing"
