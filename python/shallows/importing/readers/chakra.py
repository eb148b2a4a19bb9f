"""Chakra execution traces (MLCommons): a protobuf file for each rank, named NAME.RANK.et.

Each message of the file follows its length as a varint: first GlobalMetadata, then a Node each. A node is
ready when all of ctrl_deps and data_deps are done. Field numbers are those of et_def.proto.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.schedule import AS_RINGS, CALC, RECV, SEND, Schedule
from shallows.importing.parts.source import MOST_ROWS, Head, Source

_METADATA, _LOAD, _STORE, _COMPUTE, _SEND, _RECV, _COLLECTIVE = range(1, 8)
_COLLECTIVES = {
    0: "all-reduce",
    1: "reduce",
    2: "all-gather",
    5: "broadcast",
    6: "all-to-all",
    7: "reduce-scatter",
    8: "reduce-scatter",
    9: "barrier",
}
_WORDS = {1: "metadata", 2: "memory loads", 3: "memory stores"}


def _recognises(head: Head) -> bool:
    return bool(re.search(r"\.\d+\.et(\.gz)?$", head.name)) and head.data[:1] != b""


def _read(sources: Sequence[Source], options: Mapping[str, str]) -> Content:
    by_rank: dict[int, Source] = {}
    for source in sources:
        found = re.search(r"\.(\d{1,6})\.et(\.gz)?$", source.path.name)
        rank = int(found[1]) if found else 0
        if rank in by_rank:
            source.stop(None, f"must be the only file of rank {rank}")
        by_rank[rank] = source
    if len(by_rank) == 1:
        rule = "is one rank alone, which sends nothing: give the files of all ranks, NAME.0.et NAME.1.et ..."
        sources[0].stop(None, rule)
    trace = _Trace(by_rank, sources[0])
    for rank in sorted(by_rank):
        trace.rank(rank)
    if any(source.faults for source in sources):
        return Content()
    return trace.content()


class _Trace:
    def __init__(self, by_rank: Mapping[int, Source], first: Source) -> None:
        self.by_rank = by_rank
        self.schedule = Schedule(first)
        self.ignored: Counter[str] = Counter()
        self.groups: dict[tuple[str, int], list[tuple[int, int, int, str, int]]] = defaultdict(list)
        self.nodes = 0

    def rank(self, rank: int) -> None:
        """Adds the nodes of one file."""
        source = self.by_rank[rank]
        made: dict[int, tuple[int, int]] = {}
        waits: list[tuple[int, int, int]] = []
        seen: Counter[str] = Counter()
        for number, node in enumerate(_nodes(source), 1):
            self.nodes += 1
            if self.nodes > MOST_ROWS:
                source.stop(None, f"has more than {MOST_ROWS} nodes with the files before")
            if node.id in made:
                source.refuse(None, f"node {number} must have an id of its own", node.id)
                continue
            made[node.id] = self._node(source, rank, number, node, seen)
            waits += [(made[node.id][0], dep, number) for dep in {*node.ctrl_deps, *node.data_deps}]
        for enter, dep, number in waits:
            if dep in made:
                self.schedule.requires(enter, made[dep][1])
            else:
                source.refuse(None, f"node {number} must wait for nodes of this file", dep)

    def _node(self, source: Source, rank: int, number: int, node: Any, seen: Counter[str]) -> tuple[int, int]:
        """The first and the last operation of a node."""
        add = self.schedule.add
        attributes = {a.name: getattr(a, a.WhichOneof("value") or "name") for a in node.attr}
        if node.type in (_SEND, _RECV):
            sends = node.type == _SEND
            peer = self._whole(source, number, attributes, "comm_dst" if sends else "comm_src", 10**6)
            size = self._whole(source, number, attributes, "comm_size", 10**15)
            tag = self._whole(source, number, attributes, "comm_tag", 10**12, 0)
            if peer == rank or peer not in self.by_rank:
                source.refuse(None, f"node {number} must name another rank that has a file", peer)
                peer = -1
            made = add(SEND if sends else RECV, rank, size, 0, peer, tag)
            return made, made
        if node.type == _COLLECTIVE:
            kind = self._whole(source, number, attributes, "comm_type", 9)
            if kind not in _COLLECTIVES:
                source.refuse(None, f"node {number} must be another collective than gather and scatter", kind)
            size = self._whole(source, number, attributes, "comm_size", 10**15)
            group = str(attributes.get("pg_name", ""))
            self.ignored["involved_dim"] += "involved_dim" in attributes
            enter, leave = add(CALC, rank, 0, 0), add(CALC, rank, 0, 0)
            key = (group, seen[group])
            seen[group] += 1
            self.groups[key].append((rank, enter, leave, _COLLECTIVES.get(kind, "barrier"), size))
            return enter, leave
        if node.type != _COMPUTE:
            self.ignored[_WORDS.get(node.type, f"nodes of type {node.type}")] += 1
        if node.duration_micros > 10**11:
            source.refuse(None, f"node {number} must last for at most 100000 s", node.duration_micros)
        time = node.duration_micros * 10**6 if node.type == _COMPUTE else 0
        if node.type == _COMPUTE and not time:
            self.ignored["computations without a time"] += 1
        made = add(CALC, rank, min(time, 10**17), 0)
        return made, made

    @staticmethod
    def _whole(
        source: Source,
        number: int,
        attributes: Mapping[str, Any],
        name: str,
        most: int,
        otherwise: int | None = None,
    ) -> int:
        value = attributes.get(name, otherwise)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            source.refuse(None, f"node {number} must have {name}, a whole number to {most}", value)
            return 0
        return value

    def content(self) -> Content:
        """The messages of all ranks."""
        for (group, turn), parts in self.groups.items():
            kinds = {(kind, size) for _, _, _, kind, size in parts}
            if len(kinds) > 1:
                source = self.by_rank[parts[0][0]]
                source.stop(
                    None,
                    f'the ranks of the group "{group}" differ in collective {turn + 1}',
                    sorted(kinds)[:2],
                )
            ranks = [rank for rank, _, _, _, _ in parts]
            join = self.schedule.collective(parts[0][3], ranks, parts[0][4], 0)
            for _, enter, leave, _, _ in parts:
                self.schedule.requires(join, enter)
                self.schedule.requires(leave, join)
        told = [f"{count} times {what}" for what, count in self.ignored.items() if count]
        understood = [f"{len(self.by_rank)} ranks, {self.nodes} nodes", AS_RINGS]
        return self.schedule.messages().content(1 + max(self.by_rank), understood, told)


def _nodes(source: Source) -> Iterator[Any]:
    """The nodes of a file."""
    from google.protobuf.message import DecodeError

    data, at, first = source.data(), 0, True
    while at < len(data):
        size, shift = 0, 0
        while True:
            if at >= len(data) or shift > 28:
                source.stop(None, f"is cut off, or is not a Chakra trace, at byte {at}")
            byte = data[at]
            at += 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        if at + size > len(data):
            source.stop(None, f"is cut off: {size} bytes are to follow byte {at}, and {len(data) - at} do")
        part = data[at : at + size]
        at += size
        if first:
            first = False
            continue
        try:
            yield _node_class().FromString(part)
        except DecodeError:
            source.stop(None, f"is not a Chakra trace: the message before byte {at} is not a node")


@cache
def _node_class() -> Any:
    """The protobuf class of a node, with the fields that are read."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="shallows_chakra.proto", package="shallows_chakra", syntax="proto3"
    )
    attribute = file.message_type.add(name="Attribute")
    attribute.oneof_decl.add(name="value")
    attribute.field.add(name="name", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    for name, number, kind in (
        ("double_val", 3, field.TYPE_DOUBLE),
        ("float_val", 5, field.TYPE_FLOAT),
        ("int32_val", 7, field.TYPE_INT32),
        ("int64_val", 9, field.TYPE_INT64),
        ("uint32_val", 11, field.TYPE_UINT32),
        ("uint64_val", 13, field.TYPE_UINT64),
        ("sint32_val", 15, field.TYPE_SINT32),
        ("sint64_val", 17, field.TYPE_SINT64),
        ("fixed32_val", 19, field.TYPE_FIXED32),
        ("fixed64_val", 21, field.TYPE_FIXED64),
        ("bool_val", 27, field.TYPE_BOOL),
        ("string_val", 29, field.TYPE_STRING),
    ):
        attribute.field.add(name=name, number=number, type=kind, label=field.LABEL_OPTIONAL, oneof_index=0)
    node = file.message_type.add(name="Node")
    for name, number, kind, label in (
        ("id", 1, field.TYPE_UINT64, field.LABEL_OPTIONAL),
        ("type", 3, field.TYPE_INT32, field.LABEL_OPTIONAL),
        ("ctrl_deps", 4, field.TYPE_UINT64, field.LABEL_REPEATED),
        ("data_deps", 5, field.TYPE_UINT64, field.LABEL_REPEATED),
        ("duration_micros", 7, field.TYPE_UINT64, field.LABEL_OPTIONAL),
    ):
        node.field.add(name=name, number=number, type=kind, label=label)
    node.field.add(
        name="attr",
        number=10,
        type=field.TYPE_MESSAGE,
        label=field.LABEL_REPEATED,
        type_name=".shallows_chakra.Attribute",
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shallows_chakra.Node"))


def _sample(rank: int) -> bytes:
    """The trace of one of two ranks: metadata, 5 us of computation, an all-reduce of 8192 bytes."""

    def whole(number: int) -> bytes:
        low, rest = number & 127, number >> 7
        return bytes([low | 128]) + whole(rest) if rest else bytes([low])

    def numbers(**fields: int) -> bytes:
        places = {"id": 1, "type": 3, "dep": 5, "time": 7}
        return b"".join(whole(places[name] << 3) + whole(value) for name, value in fields.items())

    def attribute(name: str, value: int) -> bytes:
        text = whole(1 << 3 | 2) + whole(len(name)) + name.encode() + whole(9 << 3) + whole(value)
        return whole(10 << 3 | 2) + whole(len(text)) + text

    compute = numbers(id=1, type=_COMPUTE, time=5)
    reduce = numbers(id=2, type=_COLLECTIVE, dep=1) + attribute("comm_type", 0) + attribute("comm_size", 8192)
    metadata = whole(1 << 3 | 2) + whole(5) + b"0.0.4"
    return b"".join(whole(len(part)) + part for part in (metadata, compute, reduce))


READER = Reader(
    "chakra",
    "messages",
    "Chakra execution traces, a file NAME.RANK.et for each rank",
    "mlcommons/chakra; astra-sim/astra-sim, examples/workload/",
    {"step.0.et": _sample(0), "step.1.et": _sample(1)},
    _recognises,
    read_ranks=_read,
    needs=("google.protobuf",),
    rdma=True,
)
