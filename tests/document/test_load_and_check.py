import math

import pytest
from conftest import SMALL
from hypothesis import given
from hypothesis import strategies as st
from shallows.document.check import check
from shallows.document.load import load
from shallows.document.paths import apply_settings, parse_value, set_path, split_path
from shallows.errors import SpecError


def faults_of(call, *args):
    with pytest.raises(SpecError) as caught:
        call(*args)
    return caught.value.faults


def test_a_missing_file_names_its_neighbour(tmp_path):
    (tmp_path / "quickstart.toml").write_text("")
    (fault,) = faults_of(load, tmp_path / "quickstrat.toml")
    assert fault.rule == "there is no such file"
    assert fault.hint == 'did you mean "quickstart.toml"?'


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"a = 1\nb = \xff\n", "is not UTF-8 text (line 2)"),
        (b"a = ", "is not TOML"),
        (b"a = 1\na = 2", "is not TOML"),
        (b"a = " + b"[" * 100_000, "is not TOML"),
        (b"a = " + b"9" * 100_000, "is not TOML"),
        (b"#" * 10_000_001, "is larger than 10 MB"),
    ],
)
def test_what_is_no_experiment_file_is_refused_in_words(tmp_path, data, rule):
    path = tmp_path / "bad.toml"
    path.write_bytes(data)
    (fault,) = faults_of(load, path)
    assert fault.path == str(path)
    assert fault.rule.startswith(rule)


def test_a_directory_is_no_file(tmp_path):
    (fault,) = faults_of(load, tmp_path)
    assert "directory" in fault.rule


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1MB", "1MB"),
        ("65", 65),
        ("0.5", 0.5),
        ("true", True),
        ('"a b"', "a b"),
        ("[1, 2]", [1, 2]),
        ('{ kind = "dctcp" }', {"kind": "dctcp"}),
        ("2020-01-01", "2020-01-01"),
        ("1\nx = 2", "1\nx = 2"),
        ("", ""),
    ],
)
def test_a_set_value_is_toml_or_the_bare_word(text, value):
    assert parse_value(text) == value


@given(st.text())
def test_any_text_is_some_value(text):
    parse_value(text)


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("a", ["a"]),
        ("transport.cc.g", ["transport", "cc", "g"]),
        ('port."a.b->c".rate', ["port", "a.b->c", "rate"]),
        ("port.switch->r0.rate", ["port", "switch->r0", "rate"]),
    ],
)
def test_paths(path, keys):
    assert split_path(path) == keys


def test_a_setting_below_a_bare_word_makes_it_a_table():
    document = {"transport": {"cc": "dctcp"}}
    set_path(document, "transport.cc.g", 0.1)
    assert document == {"transport": {"cc": {"kind": "dctcp", "g": 0.1}}}


def test_a_setting_below_a_number_is_refused():
    (fault,) = faults_of(set_path, {"queue": {"limit": 3}}, "queue.limit.x", 1)
    assert str(fault) == "queue.limit.x: cannot be set: queue.limit is not a table, got 3"


def test_all_faulty_settings_are_told_at_once():
    faults = faults_of(apply_settings, {"a": 1}, ["nothing", "=1", "a.b=1", "c=1"])
    assert [fault.path for fault in faults] == ["--set", "--set", "a.b"]


@pytest.mark.parametrize("value", [math.nan, math.inf, 2**64, -(2**64), b"x", None, {1: 2}])
def test_what_no_document_can_hold_is_refused_with_its_path(value):
    (fault,) = faults_of(load, {"traffic": {"long": {"bytes": value}}})
    assert fault.path == "traffic.long.bytes"


def test_a_date_is_refused(tmp_path):
    (tmp_path / "d.toml").write_text("duration = 2020-01-01")
    (fault,) = faults_of(load, tmp_path / "d.toml")
    assert fault.path == "duration"


keys = st.text(st.characters(codec="utf-8"), max_size=8)
documents = st.dictionaries(
    keys | st.sampled_from(["topology", "queue", "traffic", "transport", "duration", "seed"]),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(st.characters(codec="utf-8"), max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=5,
)


@given(documents)
def test_the_checker_answers_whatever_it_is_given(document):
    experiment, faults = check(document)
    assert (experiment is None) == bool(faults)


@given(documents)
def test_the_checker_answers_for_a_spoilt_experiment(spoilt):
    experiment, faults = check({**SMALL, "seed": 1, **spoilt})
    assert (experiment is None) == bool(faults)


def test_the_resolved_experiment_resolves_to_itself(small):
    experiment, faults = check(small | {"seed": 1})
    assert faults == []
    assert check(experiment) == (experiment, [])


def test_all_faults_come_at_once_with_path_and_suggestion(small):
    small["durration"] = "1ms"
    small["queue"]["mark_at"] = 65
    small["traffic"]["long"]["too"] = "r0"
    _, faults = check(small | {"seed": 1})
    by_path = {fault.path: fault for fault in faults}
    assert {"durration", "queue.mark_at", "traffic.long.too"} <= set(by_path)
    assert by_path["durration"].hint == 'did you mean "duration"?'


@pytest.mark.parametrize(
    ("setting", "path"),
    [
        ("topology.rate=0bps", "topology.rate"),
        ("topology.rate=-1Gbps", "topology.rate"),
        ("topology.rate=10", "topology.rate"),
        ("topology.rate=99999999999999999999Gbps", "topology.rate"),
        ("topology.delay=1parsec", "topology.delay"),
        ("topology.kind=star-ship", "topology.kind"),
        ("topology.senders=0", "topology.senders"),
        ("queue.mark_at=500pkt", "queue.mark_at"),
        ("duration=0s", "duration"),
        ("duration=nan", "duration"),
        ("traffic.long.to=nobody", "traffic.long.to"),
        ("transport.cc=cubism", "transport.cc.kind"),
        ("transport.cc.g=1e400", "transport.cc.g"),
    ],
)
def test_impossible_values_are_refused_at_their_path(small, setting, path):
    with pytest.raises(SpecError) as caught:
        document = load(small | {"seed": 1}, [setting])
        _, faults = check(document)
        raise SpecError(faults)
    assert path in [fault.path for fault in caught.value.faults], caught.value.faults
