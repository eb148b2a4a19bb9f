"""Training steps as AICB's CSV has them: the communication of one rank of each stage of the pipeline, row by
row.

A section begins with its ranks, `[rank0 ~ rank127]` or `[ pp_stage0: [rank0, rank1, ..] ]`, and a header.
All ranks of a section do the same. Tensor groups are neighbours; data groups have one rank of each
(Megatron's order).
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.schedule import AS_RINGS, Program
from shallows.importing.parts.source import Head, Source

_NEEDED = {"comm_type", "comm_group", "msg_size"}
_OPERATIONS = {
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "all_to_all": "all-to-all",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "barrier": "barrier",
}
_SILENT = ("epoch_end", "computation")
_MOST_ROWS = 5_000_000


@dataclass
class _Stage:
    ranks: list[int]
    rows: list[tuple[int, dict[str, str]]] = field(default_factory=list)


def _recognises(head: Head) -> bool:
    return any(line.lower().startswith("comm_type,") for line in head.lines[:2])


def _read(source: Source, options: Mapping[str, str]) -> Content:
    world = source.count(1, options["ranks"], "--option ranks", 2, 100_000) if "ranks" in options else 0
    most = source.count(1, options.get("rows", str(_MOST_ROWS)), "--option rows", 1, _MOST_ROWS)
    stages, cut = _stages(source, world, most)
    if source.faults:
        return Content()
    ranks = 1 + max(rank for stage in stages for rank in stage.ranks)
    program = Program(source, ranks)
    ignored: Counter[str] = Counter()
    for number, stage in enumerate(stages):
        for line, row in stage.rows:
            _row(source, program, stages, number, (line, row), ignored)
    told = ["measured times and bandwidths"]
    told += [f"{count} rows: {what}" for what, count in ignored.items()]
    if cut:
        told.append(f"{cut} rows beyond the first {most} of a section (--option rows)")
    if program.alone:
        told.append(f"{program.alone} collectives of groups of one rank send nothing")
    count = sum(len(stage.rows) for stage in stages)
    understood = [
        f"{ranks} ranks, {len(stages)} stages, {count} rows",
        f"the groups of {ranks} ranks follow from comm_group and comm_group_size",
        AS_RINGS,
        "isend and irecv wait where they stand",
    ]
    return program.schedule.messages().content(ranks, understood, told)


def _stages(source: Source, world: int, most: int) -> tuple[list[_Stage], int]:
    stages: list[_Stage] = []
    pending: list[int] = []
    header: list[str] = []
    cut = 0
    for line, text in source.lines():
        text = text.strip()
        if not text:
            continue
        if text.startswith("["):
            pending = _ranks(source, line, text)
            header = []
        elif not header:
            header = [cell.strip().lower() for cell in text.split(",")]
            if not {*header} >= _NEEDED:
                source.stop(line, f"must have the columns {', '.join(sorted(_NEEDED))}", text[:60])
            pending = pending or [*range(world)]
            if not pending:
                source.stop(line, "does not say how many ranks there are", text[:20], "--option ranks=8")
            if any({*pending} & {*stage.ranks} for stage in stages):
                source.stop(line, "must have ranks that no other section has", f"rank{pending[0]}")
            stages.append(_Stage(pending))
            pending = []
        elif len(stages[-1].rows) >= most:
            cut += 1
        else:
            try:
                cells = next(csv.reader([text]), [])
            except csv.Error as error:
                source.stop(line, f"is not a row of a CSV file: {error}")
            if len(cells) > len(header):
                source.refuse(line, f"has {len(cells)} values for {len(header)} columns", text[:60])
                continue
            cells = [cell.strip() for cell in cells] + ["" for _ in header[len(cells) :]]
            stages[-1].rows.append((line, dict(zip(header, cells, strict=True))))
    if not stages:
        source.stop(None, "has no section with a header")
    return stages, cut


def _ranks(source: Source, line: int, text: str) -> list[int]:
    if found := re.fullmatch(r"\[\s*rank(\d{1,7})\s*~\s*rank(\d{1,7})\s*\]", text):
        first, last = int(found[1]), int(found[2])
        if first <= last <= 100_000:
            return [*range(first, last + 1)]
    found_all = [int(rank) for rank in re.findall(r"rank(\d{1,6})\b", text)]
    if not found_all or len({*found_all}) < len(found_all) or max(found_all) > 100_000:
        source.stop(line, "must list ranks, such as [rank0 ~ rank127]", text[:60])
    return found_all


def _row(
    source: Source,
    program: Program,
    stages: list[_Stage],
    number: int,
    at: tuple[int, dict[str, str]],
    ignored: Counter[str],
) -> None:
    line, row = at
    stage = stages[number]
    kind = row["comm_type"].removeprefix("CommType.").replace("_tensor", "").replace("_into", "")
    group = row["comm_group"].removeprefix("CommGroup.").removesuffix("_group")
    if kind in _SILENT:
        ignored[kind] += 1
        return
    if kind in ("isend", "irecv"):
        side = row.get("additional", "").rpartition("_")[2]
        other = number + {"next": 1, "prev": -1}.get(side, 0)
        if other == number or not 0 <= other < len(stages) or len(stages[other].ranks) != len(stage.ranks):
            ignored[f"{kind} to a stage that the file does not have"] += 1
            return
        size = source.count(line, row["msg_size"], "msg_size", 0, 10**15)
        for rank, peer in zip(stage.ranks, stages[other].ranks, strict=True):
            (program.send if kind == "isend" else program.receive)(rank, peer, size, line)
        return
    if kind not in _OPERATIONS:
        source.refuse(
            line, f"comm_type must be isend, irecv or one of {', '.join(_OPERATIONS)}", row["comm_type"][:40]
        )
        return
    size = 1 if kind == "barrier" else source.count(line, row["msg_size"], "msg_size", 0, 10**15)
    groups = _groups(source, line, stage, group, row.get("comm_group_size", ""), len(stages))
    if groups is None:
        ignored[f"{kind} of the group {group}, across stages"] += 1
        return
    for ranks in groups:
        program.collective(_OPERATIONS[kind], ranks, size, line)


def _groups(
    source: Source, line: int, stage: _Stage, name: str, size: str, stages: int
) -> list[list[int]] | None:
    """The groups of a stage; None for those across stages."""
    ranks = stage.ranks
    if name in ("pp", "embedding") or (name == "all" and stages > 1):
        return None
    if name not in ("tp", "dp", "ep", "ep_dp", "ep_tp", "all"):
        source.refuse(line, "comm_group must be tp, dp, ep, ep_dp, ep_tp, pp, embedding or all", name[:40])
        return []
    if name == "all" or size in ("", "None"):
        return [ranks]
    many = source.count(line, size, "comm_group_size", 1, 100_000)
    if len(ranks) % many:
        source.refuse(line, f"comm_group_size must divide the {len(ranks)} ranks of the section", size)
        return []
    if name in ("tp", "ep_tp"):
        return [ranks[i : i + many] for i in range(0, len(ranks), many)]
    stride = len(ranks) // many
    return [ranks[i::stride] for i in range(stride)]


READER = Reader(
    "aicb",
    "messages",
    "a workload of AICB as CSV",
    "aliyun/aicb, workload/physical/",
    "[rank0 ~ rank3]\n"
    "comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count\n"
    "CommType.all_reduce,CommGroup.dp_group,2,4096,init,None,None,,None,None,None,1\n"
    "CommType.broadcast,CommGroup.tp_group,2,1024,forward,None,0,,None,None,None,1\n",
    _recognises,
    _read,
    options={
        "ranks": "number of ranks, where the file has none",
        "rows": "the most rows that are read of each section",
    },
    rdma=True,
)
