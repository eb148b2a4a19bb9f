"""Training steps as SimAI's workload text has them, which AICB writes (aliyun/SimAI, Workload.cc).

Line 1 has the policy and the sizes of the groups, line 2 the number of layers; then a layer a line: name,
-1, and for the forward pass, the gradients of inputs and the gradients of weights the computation in ns,
the collective and its bytes; at last a time of processing. One pass: all layers forward, then backward from
the last to the first. Collectives of weights' gradients run beside what follows; all others are waited for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from shallows.importing.parts.content import Content, Reader
from shallows.importing.parts.schedule import AS_RINGS, Program
from shallows.importing.parts.source import Head, Source

_POLICIES = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_TRANSFORMER", "MICRO", "DATA", "MODEL")
_OPERATIONS = {
    "ALLREDUCE": "all-reduce",
    "ALLGATHER": "all-gather",
    "REDUCESCATTER": "reduce-scatter",
    "ALLTOALL": "all-to-all",
    "BROADCAST": "broadcast",
}
_KEYS = {"model_parallel_NPU_group": "tp", "ep": "ep", "pp": "pp", "all_gpus": "all"}
Part = tuple[int, str, int]
"""Computation in ns, operation with its group, bytes."""


@dataclass
class _Layer:
    line: int
    parts: list[Part]


def _recognises(head: Head) -> bool:
    return bool(head.lines) and head.lines[0].split()[0] in _POLICIES


def _read(source: Source, options: Mapping[str, str]) -> Content:
    lines = source.words()
    first, words = next(lines, (1, [""]))
    sizes = {"tp": 1, "ep": 1, "pp": 1, "all": 0}
    text = " ".join(words)
    for key, value in re.findall(r"(\w+)\s*:\s*(\S+)", text):
        if key in _KEYS:
            sizes[_KEYS[key]] = source.count(first, value, key, 1, 1_000_000)
    if "ranks" in options:
        sizes["all"] = source.count(first, options["ranks"], "--option ranks", 2, 100_000)
    if not sizes["all"]:
        source.stop(first, "does not say how many ranks there are", words[0], "--option ranks=8")
    second, number = next(lines, (2, [""]))
    count = source.count(second, number[0], "the number of layers", 1, 100_000)
    layers = []
    for line, row in lines:
        if len(row) != 12:
            source.refuse(line, "must be a layer of 12 columns", " ".join(row)[:60])
            continue
        layers.append(_Layer(line, [_part(source, line, row[at : at + 3]) for at in (2, 5, 8)]))
    if len(layers) != count:
        source.refuse(second, f"promises {count} layers, and the file has {len(layers)}", count)
    if sizes["all"] % sizes["tp"]:
        source.refuse(first, f"{sizes['all']} ranks must be a multiple of the tensor group", sizes["tp"])
    elif (sizes["all"] // sizes["tp"]) % sizes["ep"]:
        source.refuse(first, f"{sizes['all'] // sizes['tp']} replicas must be a multiple of ep", sizes["ep"])
    if source.faults:
        return Content()
    micro = words[0] == "MICRO"
    program = _program(source, layers, sizes, micro)
    understood = [
        f"{sizes['all']} ranks, {count} layers",
        f"one pass over all layers; groups: tensor {sizes['tp']}, data {sizes['all'] // sizes['tp']}, "
        f"expert {sizes['ep']}",
        AS_RINGS,
    ]
    if sizes["pp"] > 1:
        understood.append(f"pp: {sizes['pp']} stages count as one, as in SimAI")
    told = ["times of processing (last column), ga, vpp, checkpoints"]
    if program.alone:
        told.append(f"{program.alone} collectives of groups of one rank send nothing")
    return program.schedule.messages().content(sizes["all"], understood, told)


def _part(source: Source, line: int, words: list[str]) -> Part:
    operation = words[1]
    if operation != "NONE" and re.sub(r"(_DP)?_EP$", "", operation) not in _OPERATIONS:
        source.refuse(line, f"must be NONE or one of {', '.join(_OPERATIONS)}", operation[:40])
        operation = "NONE"
    time = int(source.number(line, words[0], "a computation in ns", most=1e14))
    return time, operation, source.count(line, words[2], "bytes", most=10**15)


def _groups(sizes: Mapping[str, int], suffix: str, weights: bool, micro: bool) -> list[list[int]]:
    """The groups of ranks: tensor groups are neighbours, data groups have one rank of each."""
    every, tp, ep = sizes["all"], sizes["tp"], sizes["ep"]
    data = [[*range(i, every, tp)] for i in range(tp)]
    if micro:
        return [[*range(every)]]
    if suffix == "_EP":
        return [group[at : at + ep] for group in data for at in range(0, len(group), ep)]
    if suffix == "_DP_EP":
        return [group[i::ep] for group in data for i in range(ep)]
    return data if weights else [[*range(at, at + tp)] for at in range(0, every, tp)]


def _program(source: Source, layers: list[_Layer], sizes: Mapping[str, int], micro: bool) -> Program:
    program = Program(source, sizes["all"])

    def run(layer: _Layer, part: int, wait: bool) -> None:
        time, operation, size = layer.parts[part]
        for rank in range(sizes["all"] if time > 1 else 0):  # SimAI writes 1 for none
            program.compute(rank, time * 1000, layer.line)
        if operation == "NONE" or not size:
            return
        suffix = re.sub(r"^[A-Z]+?(?=(_DP)?_EP$|$)", "", operation)
        for group in _groups(sizes, suffix, part == 2, micro):
            program.collective(_OPERATIONS[operation.removesuffix(suffix)], group, size, layer.line, wait)

    for layer in layers:
        run(layer, 0, True)
    for layer in layers if micro else reversed(layers):
        run(layer, 2, micro)
        run(layer, 1, True)
    return program


READER = Reader(
    "simai",
    "messages",
    "a workload of SimAI as text",
    "aliyun/aicb, workload/simAI/; aliyun/SimAI, example/",
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4\n2\n"
    "embedding\t-1\t556000\tALLREDUCE\t16384\t1\tNONE\t0\t1\tNONE\t0\t1\n"
    "attention\t-1\t1000\tNONE\t0\t2000\tALLREDUCE\t4096\t1\tALLREDUCE\t65536\t1\n",
    _recognises,
    _read,
    options={"ranks": "number of ranks, where the file has none, or in its place"},
    rdma=True,
)
