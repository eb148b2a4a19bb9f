"""Runs as CSV, and fct.txt as the analysis of HPCC reads it."""

import csv

import polars as pl
import pytest
import shallows
from shallows.errors import StoreError
from shallows.studies.page.csv_tables import directory, fct_lines, write_tables

INCAST = {
    "duration": "20ms",
    "topology": {
        "kind": "graph",
        "hosts": ["1", "2", "3", "300"],
        "switches": ["0"],
        "links": [
            {"from": "0", "to": host, "rate": "10Gbps", "delay": "1us"} for host in ("1", "2", "3", "300")
        ],
    },
    "queue": {"kind": "threshold"},
    "transport": {"cc": "dctcp"},
    "traffic": {
        "fan": {"kind": "incast", "from": ["2", "3"], "to": "1", "response": "50KB", "rounds": 1},
        "one": {"kind": "table", "flows": [{"from": "300", "to": "1", "bytes": "20KB", "start": "1ms"}]},
    },
}


def test_fct_txt_has_the_fields_that_the_scripts_of_hpcc_read(tmp_path):
    """awk reads $4 (100), $5 bytes, $6 start, $7 completion, $8 alone; a slowdown is $7 / $8."""
    run = shallows.run(INCAST, store=tmp_path)
    rows = [line.split() for line in fct_lines(run)]
    assert {len(row) for row in rows} == {8}
    assert {row[3] for row in rows} == {"100"}
    (one,) = [row for row in rows if row[0] == "0b012c01"]
    message = run.tables["messages"].filter(pl.col("traffic") == "one").row(0, named=True)
    # node 300: 0x0b000001 + 1 * 0x10000 + 44 * 0x100; node 1: 0x0b000001 + 0x100
    assert one[:2] == ["0b012c01", "0b000101"]
    assert one[4:] == [
        str(message["bytes"]),
        *(str(message[k] // 1000) for k in ("start_ps", "acked_ps", "ideal_acked_ps")),
    ]
    assert len(rows) == run.tables["messages"].height
    assert all(int(row[6]) >= int(row[7]) for row in rows)


def test_every_table_of_every_run_is_a_csv_file(tmp_path):
    document = INCAST | {
        "sweep": {"grid": {"queue.mark_at": ["5pkt", "65pkt"]}},
        "probe": {"packets": ["1->0"]},
    }
    sweep = shallows.sweep(document, store=tmp_path / "runs")
    place = write_tables(sweep, tmp_path / "out")
    with (place / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["queue.mark_at"] for row in rows] == ["5pkt", "65pkt"]
    for i, row in enumerate(rows):
        tables = sweep[i].run.tables
        assert {path.stem for path in (place / row["hash"]).glob("*.csv")} == {*tables}
        flows = pl.read_csv(place / row["hash"] / "flows.csv")
        assert flows["fct_ps"].to_list() == tables["flows"]["fct_ps"].to_list()
        assert (place / row["hash"] / "fct.txt").read_text().splitlines() == fct_lines(sweep[i].run)


def test_a_directory_of_somebody_is_never_replaced(tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years")
    with pytest.raises(StoreError, match="was not made by Shallows"):
        directory(mine)
    assert (mine / "thesis.txt").exists()
