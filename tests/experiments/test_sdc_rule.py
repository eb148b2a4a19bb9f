"""SDC's rule played out packet by packet (experiments/sdc-racs/multi-hop): its table, and the simulator."""

import csv
import importlib
import random
from pathlib import Path

import pytest
import shallows
from shallows.studies.paper.study import find

figure = next(f for f in find("sdc-racs") if f.name == "multi-hop")
package = figure.module.__name__.rpartition(".")[0]
places, rule = (importlib.import_module(f"{package}.{name}") for name in ("rates", "sdc_rule"))


@pytest.mark.parametrize("placement", places.PLACEMENTS)
def test_the_table_is_what_the_rule_gives(placement):
    with Path(figure.module.__file__).with_name("sdc_rule.csv").open() as lines:
        rows = [row for row in csv.DictReader(lines) if row["placement"] == placement]
    assert [int(row["seed"]) for row in rows] == list(range(1, 101))
    kept = rows[6]
    drawn = rule.draw(places.ways(places.PLACEMENTS[placement]), 7)
    assert [f"{rate:.2f}" for rate in drawn] == [kept[flow] for flow in places.FLOWS]


@pytest.mark.parametrize("to", ["a1", "b1"])
def test_a_flow_alone_leaves_nothing_to_chance_and_is_simulated_to_the_packet(tmp_path, to):
    """One in a thousand is a window that rounding puts on the other side of a whole packet."""
    made = {
        "duration": "1s",
        "warmup": "300ms",
        "topology": {"kind": "multi-rack", "racks": 2, "hosts_per_rack": 2, "rate": "1Gbps", "delay": "75us"},
        "queue": {"kind": "drop-tail", "limit": "100pkt"},
        "port_control": "sdc",
        "port": {"*->*": {"port_control": "sdc"}},
        "transport": {"profile": "datacentre", "initial_rto": "10ms", "cc": "sdc"},
        "traffic": {"x": {"kind": "bulk", "from": "a0", "to": to, "start": "1ms"}},
    }
    goodput = shallows.run(made, store=tmp_path).tables["flows"]["goodput_bps"][0]
    racks = {1: "a", 2: to[0]}
    way = (places.path("12", racks), places.path("21", racks))
    got = rule.rates([way], [1000 * rule.US], random.Random(1))
    assert got == pytest.approx([goodput * 1500 / 1460e6], rel=1e-3)
