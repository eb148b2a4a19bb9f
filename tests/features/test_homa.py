"""Homa in Python: its class, its refusal by other backends, and its captures."""

import pytest
import shallows
from conftest import SMALL
from pcapng_blocks import blocks
from shallows.results import pcapng

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
