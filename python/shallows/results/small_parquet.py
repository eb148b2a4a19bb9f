"""Parquet files of small tables: one row group, plain values, one page a column.

The writer of polars takes as long for a column of two values as for some thousands, and a small run's tables
have about eighty columns. Source: the Apache Parquet format 2.10 (`parquet.thrift`, `Encodings.md`) and the
compact protocol of Apache Thrift.

Left out: everything that only large tables need, as dictionaries, statistics and several pages.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import polars as pl

MAX_ROWS = 1000
"""Tables with more rows are left to polars: value by value, this writer would take longer."""

SQUEEZED_BYTES = 512
"""A page of this size or more is compressed."""

MAGIC = b"PAR1"
PLAIN, RLE = 0, 3
UNCOMPRESSED, GZIP = 0, 2
REQUIRED, OPTIONAL = 0, 1
BYTE_ARRAY = 6

# Types of fields in the compact protocol.
TRUE, FALSE, BYTE, I32, I64, BINARY, LIST, STRUCT = 1, 2, 3, 5, 6, 8, 9, 12

__all__ = ["MAX_ROWS", "file", "takes"]


class Kind(NamedTuple):
    """A type of polars: Parquet's physical and converted type, the logical type, and `struct`'s letter."""

    physical: int
    converted: int | None
    logical: bytes
    letter: str


def file(table: pl.DataFrame) -> bytes:
    """The table's file. See `takes`."""
    rows, out = len(table), bytearray(MAGIC)
    names = tuple(zip(table.columns, map(str, table.dtypes), strict=True))
    count = _int(rows)
    chunks, size = [], 0
    for column, (name, word) in zip(table.get_columns(), names, strict=True):
        kind, start = _kinds()[word], len(out)
        page = _page(column, kind)
        squeezed = page if len(page) < SQUEEZED_BYTES else _gzip(page)
        # The page's header: kind of page, both sizes, values and their encodings.
        header = b"".join(
            (b"\x15\x00\x15", _int(len(page)), b"\x15", _int(len(squeezed)), b"\x2c\x15", count, _PLAIN_PAGE)
        )
        out += header
        out += squeezed
        whole = len(header) + len(page)
        # The column's entry: its place and description, codec, values, both sizes, and the page's place.
        codec = _int(UNCOMPRESSED if squeezed is page else GZIP)
        ends = (b"\x16", _int(whole), b"\x16", _int(len(out) - start), b"\x26", _int(start), b"\x00\x00")
        chunks.append(
            b"".join(
                (b"\x26", _int(start), b"\x1c", _described(name, kind.physical), codec, b"\x16", count, *ends)
            )
        )
        size += whole
    group = _fields((1, LIST, _list(STRUCT, chunks)), (2, I64, _int(size)), (3, I64, count))
    footer = _fields(
        (1, I32, _int(1)),
        (2, LIST, _schema(names)),
        (3, I64, count),
        (4, LIST, _list(STRUCT, [group])),
        (6, BINARY, _text("Shallows")),
    )
    return bytes(out + footer + struct.pack("<I", len(footer)) + MAGIC)


def takes(table: pl.DataFrame) -> bool:
    """Whether this writer is the one for the table: few rows, and types that it knows."""
    kinds = _kinds()
    return 0 < len(table) <= MAX_ROWS and all(str(kind) in kinds for kind in table.dtypes)


def _page(column: pl.Series, kind: Kind) -> bytes:
    """A column's values: which of them are there, and those."""
    values = column.to_list()
    if column.null_count():
        levels = _bits([value is not None for value in values])
        values = [value for value in values if value is not None]
    else:
        levels = _varint(len(values) << 1) + b"\x01"  # one run of ones
    if kind.physical == BYTE_ARRAY:
        known = {word: _word(word.encode()) for word in set(values)}
        plain = b"".join([known[word] for word in values])
    else:
        plain = struct.pack(f"<{len(values)}{kind.letter}", *values)
    return _word(levels) + plain


def _word(data: bytes) -> bytes:
    return len(data).to_bytes(4, "little") + data


def _gzip(page: bytes) -> bytes:
    squeeze = zlib.compressobj(1, zlib.DEFLATED, 31)  # 31: with the header of gzip, whose time stays 0
    return squeeze.compress(page) + squeeze.flush()


def _bits(flags: Sequence[bool]) -> bytes:
    """One bit-packed run of the hybrid encoding: groups of eight, the first value in the lowest bit."""
    groups = -(-len(flags) // 8)
    number = sum(1 << place for place, flag in enumerate(flags) if flag)
    return _varint(groups << 1 | 1) + number.to_bytes(groups, "little")


@cache
def _kinds() -> dict[str, Kind]:
    def number(bits: int, signed: bool, letter: str) -> Kind:
        width = _fields((1, BYTE, bytes([bits])), (2, TRUE if signed else FALSE, b""))
        converted = {8: 0, 16: 1, 32: 2, 64: 3}[bits] + (15 if signed else 11)
        return Kind(2 if bits == 64 else 1, converted, _fields((10, STRUCT, width)), letter)

    return {
        "UInt64": number(64, False, "Q"),
        "UInt32": number(32, False, "I"),
        "Int64": number(64, True, "q"),
        "Float64": Kind(5, None, b"", "d"),
        "String": Kind(BYTE_ARRAY, 0, _fields((1, STRUCT, _fields())), ""),
    }


@cache
def _schema(columns: tuple[tuple[str, str], ...]) -> bytes:
    """The list of a file's columns: the root, then each, all of which may have nulls."""
    root = _fields((3, I32, _int(REQUIRED)), (4, BINARY, _text("root")), (5, I32, _int(len(columns))))
    elements = [root]
    for name, kind in ((name, _kinds()[kind]) for name, kind in columns):
        fields = [(1, I32, _int(kind.physical)), (3, I32, _int(OPTIONAL)), (4, BINARY, _text(name))]
        if kind.converted is not None:
            fields += [(6, I32, _int(kind.converted)), (10, STRUCT, kind.logical)]
        elements.append(_fields(*fields))
    return _list(STRUCT, elements)


@cache
def _described(name: str, physical: int) -> bytes:
    """The fields of a column's entry up to its codec, whose value follows."""
    fields = (
        (1, I32, _int(physical)),
        (2, LIST, _list(I32, [_int(PLAIN), _int(RLE)])),
        (3, LIST, _list(BINARY, [_text(name)])),
        (4, I32, b""),
    )
    return _fields(*fields)[:-1]


def _fields(*fields: tuple[int, int, bytes]) -> bytes:
    """A struct: number, type and bytes of each field, in rising order."""
    out, last = bytearray(), 0
    for number, kind, data in fields:
        out.append((number - last) << 4 | kind)
        out += data
        last = number
    out.append(0)
    return bytes(out)


def _list(kind: int, items: Sequence[bytes]) -> bytes:
    count = len(items)
    head = bytes([count << 4 | kind]) if count < 15 else bytes([0xF0 | kind]) + _varint(count)
    return head + b"".join(items)


def _text(word: str) -> bytes:
    data = word.encode()
    return _varint(len(data)) + data


@lru_cache(4096)
def _int(value: int) -> bytes:
    return _varint(value << 1)  # zigzag of a number that is never negative


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_PLAIN_PAGE = _fields((1, I32, _int(PLAIN)), (2, I32, _int(RLE)), (3, I32, _int(RLE))) + b"\x00"
