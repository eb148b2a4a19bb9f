"""Homa in Python: its class, its refusal by other backends, and its captures."""

import pytest
import shallows
from conftest import SMALL
from pcapng_blocks import blocks
from shallows.document.named_files import fill_in
from shallows.results import pcapng


def named_sizes(name):
    """The points of a distribution that comes with Shallows."""
    document = SMALL | {
        "traffic": {
            "x": {"kind": "poisson", "from": "s*", "to": "r0", "load": 0.1}
            | {"sizes": {"kind": "empirical", "name": name}}
        }
    }
    return fill_in(document)[0]["traffic"]["x"]["sizes"]["points"]


HOMA = {"profile": "homa", "cc": "line-rate", "scheduled_levels": 1, "unscheduled_levels": 0}


def test_homa_is_a_class_beside_tcps_and_other_backends_refuse_it():
    from shallows.backends.linux import refusals
    from shallows.backends.ns3 import command
    from shallows.document.check import resolve
    from shallows.experiment import Experiment, Homa

    homa = Homa(cc="line-rate", scheduled_levels=1, unscheduled_levels=0)
    assert homa.to_document() == HOMA
    document = SMALL | {"transport": homa.to_document()}
    assert isinstance(Experiment.model_validate(document).transport, Homa)
    resolved = resolve(document)
    assert resolved["nic"]["kind"] == "pfabric"
    faults = [str(fault) for fault in refusals.check(resolved)]
    assert any("traffic.long.transport.profile" in fault and "Homa" in fault for fault in faults)
    with pytest.raises(command.Refusal, match="no Homa"):
        command.arguments(resolved, [0])


@pytest.mark.parametrize("levels", [8, 1])
def test_short_messages_have_the_slowdown_of_the_authors_simulator(levels, tmp_path):
    """PlatformLab/HomaSimulation (ab09ecb), README: at 80 % load 99 % of short messages are "within a
    factor of 2.2x of an unloaded network".

    Its network of 9 x 16 hosts, and its workload of Google's RPCs with four levels of each sort. The load
    is that of its
    configuration: 0.8 of the link with all headers, 0.887 of that in payload. Short messages are the
    shorter half, as
    in the paper's figures. Without priorities the bound does not hold."""
    sizes = {"kind": "empirical", "points": named_sizes("google_rpc")}
    half = levels // 2
    run = shallows.run(
        {
            "duration": "1ms",
            "warmup": "200us",
            "ecmp": "random",
            "topology": {
                "kind": "leaf-spine",
                "leaves": 9,
                "hosts_per_leaf": 16,
                "spines": 4,
                "rate": "10Gbps",
            }
            | {"uplink_rate": "40Gbps", "delay": "500ns", "uplink_delay": "0ns"},
            "switch": {"*": {"latency": "250ns"}},
            "queue": {"kind": "drop-tail", "limit": "none"},
            "priority": {str(number): {} for number in range(levels)},
            "transport": {"profile": "homa", "cc": "line-rate", "overcommitment": 4}
            | {"scheduled_levels": levels - half, "unscheduled_levels": half, "sizes": sizes},
            "traffic": {
                "x": {"kind": "poisson", "from": "h*", "to": "h*", "load": 0.8 * 0.887, "sizes": sizes}
            },
        },
        store=tmp_path,
    )
    done = run.tables["messages"].drop_nulls("fct_ps").sort("bytes")
    short = done[: len(done) // 2]
    tail = (short["fct_ps"] / short["ideal_ps"]).quantile(0.99)
    assert len(short) > 5000
    if levels == 8:
        assert tail <= 2.2
    else:
        assert tail > 3


def test_a_capture_has_each_kind_of_packet(tmp_path):
    """A message of eight packets: seven without a grant, one for it, and a report."""
    document = SMALL | {
        "transport": HOMA,
        "traffic": {"load": {"kind": "bulk", "from": "s0", "to": "r0", "bytes": "11520B", "start": "1us"}},
        "probe": {"packets": ["s0->*", "*->s0"]},
    }
    run = shallows.run(document, store=tmp_path / "runs")
    kinds = []
    for port in ("s0->switch", "switch->s0"):
        pcapng.write(run, port, tmp_path / "packets.pcapng")
        _, _, _, *frames = blocks((tmp_path / "packets.pcapng").read_bytes())
        assert {body[20 + 23] for _, body in frames} == {253}
        kinds += [body[20 + 34] for _, body in frames]
    assert sorted(kinds) == [0] * 8 + [2, 3]
