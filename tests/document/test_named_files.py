"""Files that an experiment names: found, read, and every fault said with the load that names it."""

import pytest
from conftest import SMALL, write_toml
from shallows.document.load import load
from shallows.document.named_files import fill_in
from shallows.document.places import flow_sizes_path
from shallows.document.points import expand


def sizes(name):
    return {"traffic": {"web": {"kind": "poisson", "sizes": {"kind": "empirical", "name": name}}}}


@pytest.mark.parametrize("path", sorted(flow_sizes_path().glob("*.csv")), ids=lambda p: p.stem)
def test_every_distribution_that_comes_along_rises_to_hundred(path):
    document, faults = fill_in(sizes(path.stem))
    points = document["traffic"]["web"]["sizes"]["points"]
    assert not faults and points[-1][1] == 100 and points == sorted(points)


@pytest.mark.parametrize("place", ["transport", "a load's transport"])
def test_priorities_of_a_transport_follow_from_a_named_distribution(place):
    named = {"kind": "empirical", "name": "web_search"}
    written = named | {"points": fill_in(sizes("web_search"))[0]["traffic"]["web"]["sizes"]["points"]}
    keys = []
    for each in (named, written):
        homa = {"profile": "homa", "cc": "line-rate", "sizes": each}
        document = {"duration": "1ms", "queue": {"kind": "drop-tail", "limit": "none"}}
        document |= {"topology": {"kind": "star", "senders": 2, "rate": "10Gbps"}}
        document |= {"priority": {str(level): {} for level in range(8)}}
        bulk = {"kind": "bulk", "from": "s0", "to": "r0"}
        if place == "transport":
            document["transport"] = homa
        else:
            bulk["transport"] = homa
        [point] = expand(load(document | {"traffic": {"a": bulk}}))
        keys.append(point.key)
        assert len(point.experiment["traffic"]["a"]["transport"]["sizes"]["points"]) > 5
    assert keys[0] == keys[1]


def test_the_document_given_is_not_changed():
    given = sizes("web_search")
    fill_in(given)
    assert given == sizes("web_search")


def test_numbers_written_in_the_experiment_stand():
    given = sizes("mine")
    given["traffic"]["web"]["sizes"]["points"] = [[0, 0], [10, 100]]
    assert fill_in(given) == (given, [])


def test_a_table_of_flows(tmp_path):
    file = tmp_path / "flows.csv"
    file.write_text("from,to,bytes,start\ns0,r0,10KB,1ms\n")
    document, faults = fill_in({"traffic": {"t": {"kind": "table", "name": str(file)}}})
    flows = document["traffic"]["t"]["flows"]
    assert not faults and flows == [{"from": "s0", "to": "r0", "bytes": "10KB", "start": "1ms"}]


def test_a_table_of_flows_may_have_deadlines(tmp_path):
    file = tmp_path / "flows.csv"
    file.write_text("from,to,bytes,start,deadline\ns0,r0,10KB,1ms,20ms\ns0,r0,10KB,2ms,\n")
    document, faults = fill_in({"traffic": {"t": {"kind": "table", "name": str(file)}}})
    first, second = document["traffic"]["t"]["flows"]
    assert not faults and first["deadline"] == "20ms" and "deadline" not in second
    file.write_text("from,to,bytes,start,dedline\n")
    _, (fault,) = fill_in({"traffic": {"t": {"kind": "table", "name": str(file)}}})
    assert "and may have deadline" in str(fault)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such file"),
        ("a,b\n1,2\n", "must have the columns size_bytes, cdf_percent"),
        ("size_bytes,cdf_percent\n1,x\n", "numbers only"),
        (b"\xff\xfe", "is not UTF-8 text"),
    ],
)
def test_a_bad_file_is_a_fault(tmp_path, content, says):
    file = tmp_path / "mine.csv"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    _, (fault,) = fill_in(sizes(str(file)))
    assert fault.path == "traffic.web.sizes" and says in str(fault)


def test_a_misspelt_distribution_gets_a_suggestion():
    _, (fault,) = fill_in(sizes("web_serch"))
    assert fault.hint == 'did you mean "web_search"?'


@pytest.mark.parametrize(
    "document", [{}, {"traffic": 3}, {"traffic": {"a": 3}}, {"traffic": {"a": {"sizes": 1}}}]
)
def test_what_is_no_load_is_left_to_the_checker(document):
    assert fill_in(document) == (document, [])


def table(name):
    return {"traffic": {"t": {"kind": "table", "name": str(name)}}}


def test_plain_numbers_have_the_unit_of_their_column(tmp_path):
    file = tmp_path / "flows.csv"
    file.write_text("from,to,bytes,start_us,deadline_ms\ns0,r0,10000,12.5,3\ns0,r0,10KB,0,\n")
    document, faults = fill_in(table(file))
    assert faults == []
    assert document["traffic"]["t"]["flows"] == [
        {"from": "s0", "to": "r0", "bytes": "10000B", "start": "12.5us", "deadline": "3ms"},
        {"from": "s0", "to": "r0", "bytes": "10KB", "start": "0us"},
    ]


def test_a_text_that_is_no_number_is_quoted_as_written(tmp_path):
    file = tmp_path / "flows.csv"
    file.write_text("from,to,bytes,start_us\ns0,r0,10000,soon\n")
    document, faults = fill_in(table(file))
    assert faults == []
    assert document["traffic"]["t"]["flows"][0]["start"] == "soon"  # which the checker refuses by its name


@pytest.mark.parametrize(
    ("header", "said"),
    [("from,to,bytes", "one column for start"), ("from,to,bytes,start,start_us", '"start", "start_us"')],
)
def test_a_time_has_one_column(tmp_path, header, said):
    file = tmp_path / "flows.csv"
    file.write_text(f"{header}\n{','.join('1' for _ in header.split(','))}\n")
    _, (fault,) = fill_in(table(file))
    assert said in str(fault)


FLOWS = SMALL | {"traffic": {"t": {"kind": "table", "name": "flows.csv"}}}


def test_a_file_is_named_relative_to_the_experiment_and_its_place_is_no_part_of_the_run(
    tmp_path, monkeypatch
):
    keys = set()
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "flows.csv").write_text("from,to,bytes,start\ns0,r0,10KB,1ms\n")
        file = write_toml(tmp_path / place / "x.toml", FLOWS)
        keys.add(expand(load(file))[0].key)
    monkeypatch.chdir(tmp_path / "two")
    keys.add(expand(load("x.toml"))[0].key)
    keys.add(expand(load(FLOWS))[0].key)
    assert len(keys) == 1
    (tmp_path / "other.csv").write_text("from,to,bytes,start\ns1,r0,10KB,1ms\n")
    assert expand(load(tmp_path / "one/x.toml", ["traffic.t.name=../other.csv"]))[0].key not in keys


def test_files_of_a_sweep_are_relative_to_the_experiment_too(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(f"from,to,bytes,start\ns0,r0,10KB,{ord(name)}us\n")
    swept = FLOWS | {"sweep": {"grid": {"traffic.t.name": ["a.csv", "b.csv"]}}}
    points = expand(load(write_toml(tmp_path / "x.toml", swept)))
    assert [p.experiment["traffic"]["t"]["flows"][0]["start"] for p in points] == ["97us", "98us"]
