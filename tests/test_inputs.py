"""Files that an experiment names: found, read, and every fault said with the load that names it."""

import pytest
from shallows.document.csv_files import fill_in
from shallows.document.places import flow_sizes_path


def sizes(name):
    return {"traffic": {"web": {"kind": "poisson", "sizes": {"kind": "empirical", "name": name}}}}


@pytest.mark.parametrize("path", sorted(flow_sizes_path().glob("*.csv")), ids=lambda p: p.stem)
def test_every_distribution_that_comes_along_rises_to_hundred(path):
    document, faults = fill_in(sizes(path.stem))
    points = document["traffic"]["web"]["sizes"]["points"]
    assert not faults and points[-1][1] == 100 and points == sorted(points)


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
        (b"\xff\xfe", "cannot be read"),
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
