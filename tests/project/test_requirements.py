"""Requirements of RFCs: marks name requirements, stand before tests, and the files keep their form."""

import pytest
import requirements
from conftest import ROOT


def test_every_mark_names_a_requirement_and_stands_before_a_test():
    assert requirements.faults(requirements.rfcs(), requirements.marks()) == []
    assert len(requirements.marks()) > 100


def test_the_lists_are_those_of_eleven_rfcs():
    numbers = [int(rfc.name.removeprefix("RFC")) for rfc in requirements.rfcs()]
    assert numbers == [3168, 5681, 6675, 8033, 8257, 8289, 8290, 8985, 9332, 9438, 9959]


def test_untested_requirements_are_few_and_said():
    """A requirement that the simulator has and no test holds is listed as untested."""
    tested = {mark.text for mark in requirements.marks()}
    every = [each for rfc in requirements.rfcs() for each in rfc.requirements]
    untested = [each for each in every if each.mark not in tested and not each.left]
    page = requirements.page()
    assert page.count("**untested**") == len(untested)
    assert len(untested) < 25


RFC = requirements.parse(
    "rfc1.toml",
    'rfc = "RFC1"\ntitle = "One"\n[[requirement]]\n'
    'id = "a-b"\nsection = "2.1"\nlevel = "MUST"\nsays = "It does."\n',
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("// req: RFC1 s2.1 MUST a-b\n/// More.\n#[test]\nfn it_does() {}\n", None),
        ("// req: RFC1 s2.1 MUST a-b\n\nconst X: u8 = 1;\nfn it_does() {}\n", "no test follows"),
        ("// req: RFC1 s2.1 SHOULD a-b\nfn it_does() {}\n", "no requirement is"),
        ("// req: RFC1 s2.1 a-b\nfn it_does() {}\n", "a mark is"),
        ("// req: RFC1 s2.1 MUST c\nfn it_does() {}\n", "no requirement is"),
    ],
)
def test_a_wrong_mark_is_found(text, found):
    marks = requirements.marks_in("crates/x.rs", text)
    faults = requirements.faults((RFC,), tuple(marks))
    assert (faults == []) if found is None else (found in faults[0]), faults
    assert len(marks) == 1


def test_marks_of_python_and_of_packet_scripts():
    python = '# req: RFC1 s2.1 MUST a-b\n@pytest.mark.parametrize("x", [1])\ndef test_it(x):\n    pass\n'
    assert requirements.marks_in("tests/a.py", python)[0].place == "`tests/a.py::test_it`"
    assert (
        requirements.marks_in("tests/a.pkt", "// req: RFC1 s2.1 MUST a-b\n`x`\n")[0].place == "`tests/a.pkt`"
    )


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ('level = "MAY"\nsays = "x"', "level must be one of"),
        ('level = "MUST"\nsays = "x"\nleft = "deviates"', "needs because"),
        ('level = "MUST"\nsays = "x"\nleft = "some"\nbecause = "y"', "left must be one of"),
        ('level = "MUST"', "needs says"),
        ('level = "MUST"\nsays = "x"\nnote = "y"', "unknown key note"),
    ],
)
def test_a_wrong_list_is_refused(entry, fault):
    head = 'rfc = "RFC1"\ntitle = "One"\n[[requirement]]\nid = "a"\nsection = "1"\n'
    with pytest.raises(ValueError, match=fault):
        requirements.parse("rfc1.toml", head + entry)


def test_every_file_of_requirements_is_read():
    kept = {path.name for path in (ROOT / requirements.LISTS).iterdir()}
    assert {f"{rfc.name.lower()}.toml" for rfc in requirements.rfcs()} | {"README.md"} == kept
