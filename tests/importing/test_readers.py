"""Every reader: its sample is recognised by it alone, is read and runs; damage is refused in words."""

import dataclasses
import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shallows.document.load import load
from shallows.document.points import expand
from shallows.errors import ShallowsError, SpecError
from shallows.importing import formats
from shallows.importing.compose import compose
from shallows.importing.files import read_parts
from shallows.importing.formats import READERS, read, read_with, reader_of
from shallows.importing.parts.content import GIVES, Content
from shallows.importing.write import write

EACH = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)


def sample_files(reader, folder):
    """The sample as files, by the names that it needs."""
    samples = reader.sample if isinstance(reader.sample, dict) else {f"sample{reader.suffix}": reader.sample}
    paths = []
    for name, data in samples.items():
        path = folder / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        paths.append(path)
    return paths


@EACH
def test_its_sample_is_read_and_says_what_it_holds(reader, tmp_path):
    paths = sample_files(reader, tmp_path)
    assert reader_of(paths[0]) is reader
    content = read_with(reader, paths, {})
    assert content.rows and content.understood
    assert reader.gives in GIVES and reader.title and reader.source
    assert not content.lines or len(content.lines) == len(content.rows)


@EACH
def test_no_other_reader_of_its_kind_takes_its_sample(reader, tmp_path):
    head = formats.Source(sample_files(reader, tmp_path)[0]).head()
    takers = [other.name for other in READERS if other.recognises(head)]
    assert takers[0] == reader.name
    same = {other.name for other in READERS if other.gives == reader.gives and other.name in takers}
    assert same == {reader.name}


@EACH
def test_its_sample_becomes_an_experiment_that_runs(reader, tmp_path):
    import shallows

    parts = read_parts(sample_files(reader, tmp_path), [])
    composed = compose(parts, None, "sample")
    write(composed, tmp_path / "out.toml", ["made by a test"])
    run = shallows.run(tmp_path / "out.toml", store=tmp_path / "runs")
    assert run.manifest["counts"]["packets_delivered"] > 0
    if reader.gives == "datagrams":
        assert run.tables["datagrams"]["arrived"].sum() == len(parts[0].content.rows)
    if reader.gives in ("flows", "messages"):
        done = run.tables["messages"]
        assert done.height == len(parts[0].content.rows)
        assert done["fct_ps"].null_count() == 0, "the duration is long enough for all"


@EACH
def test_its_sample_may_be_packed_with_gzip(reader, tmp_path):
    paths = sample_files(reader, tmp_path)
    plain = read_with(reader, paths, {}).rows
    for path in paths:
        path.write_bytes(gzip.compress(path.read_bytes()))
    assert read_with(reader, paths, {}).rows == plain


@EACH
def test_text_may_have_a_mark_of_byte_order_and_ends_of_lines_of_windows(reader, tmp_path):
    if not isinstance(reader.sample, str):
        pytest.skip("no text")
    path = tmp_path / f"sample{reader.suffix}"
    path.write_bytes(b"\xef\xbb\xbf" + reader.sample.replace("\n", "\r\n").encode())
    assert reader_of(path) is reader
    sample = sample_files(reader, tmp_path)
    assert read_with(reader, [path], {}).rows == read_with(reader, sample, {}).rows


@st.composite
def damages(draw):
    """A way to damage bytes: cut, repeated, overwritten, with other numbers."""
    cuts = draw(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=2))
    words = [b"nan", b"inf", b"-1", b"1e999", b"9" * 400, b"\0", b"\xff", b"{", b"]", b"<", b"", b"0", b"->"]
    words += [b"99999999999", b"requires", b'"', b"\n", b",", b"size"]
    spots = draw(st.lists(st.tuples(st.floats(0, 1), st.sampled_from(words), st.integers(0, 12)), max_size=4))
    return cuts, spots


@EACH
@given(damage=damages())
def test_a_damaged_file_is_refused_in_words_or_read(reader, damage, tmp_path_factory):
    """Never a traceback: an error of Shallows, or a content that the checker takes or refuses."""
    folder = tmp_path_factory.mktemp("damaged")
    paths = sample_files(reader, folder)
    cuts, spots = damage
    data = paths[0].read_bytes()
    for one, other in cuts:
        low, high = sorted((int(one * len(data)), int(other * len(data))))
        data = data[:low] + data[high:]
    for at, word, over in spots:
        place = int(at * len(data))
        data = data[:place] + word + data[place + over :]
    paths[0].write_bytes(data)
    try:
        content = read_with(reader, paths, {})
    except SpecError as error:
        assert error.faults and all(fault.rule for fault in error.faults)
        return
    assert isinstance(content, Content) and content.rows
    try:
        parts = read_parts(paths, [])
        write(compose(parts, None, "damaged"), folder / "out.toml", [])
        expand(load(folder / "out.toml"))
    except ShallowsError as error:
        assert str(error)


def test_a_reader_is_one_line_in_the_list(monkeypatch, tmp_path):
    """Recognition, import, names in an experiment and the reference page follow from the list."""
    import reference

    dummy = dataclasses.replace(
        next(reader for reader in READERS if reader.name == "sizes-csv"),
        name="dummy",
        title="sizes of a dummy",
        sample="DUMMY\n5\n",
        recognises=lambda head: (head.text or "").startswith("DUMMY"),
        read=lambda source, options: Content(
            [[5, 0], [5, 100]], understood=[f"unit {options.get('unit', '1')}"]
        ),
        options={"unit": "a choice"},
    )
    monkeypatch.setattr(formats, "READERS", [dummy, *READERS])
    file = tmp_path / "a.dummy"
    file.write_text(dummy.sample)
    assert read(file, "sizes").rows == [[5, 0], [5, 100]]
    assert read_parts([file], ["unit=3"])[0].content.understood == ["unit 3"]
    with pytest.raises(SpecError, match="these files have: unit"):
        read_parts([file], ["unti=3"])
    assert "sizes of a dummy" in reference.files_page(formats.READERS)
    nothing = tmp_path / "nothing.txt"
    nothing.write_text("what is this\n")
    with pytest.raises(SpecError, match="sizes of a dummy, such as"):
        reader_of(nothing, "sizes")


@pytest.mark.parametrize("text", ["digraph g {\n a -> b\n}\n", "// x\nstrict graph {\n a -- b\n}\n"])
def test_a_graph_of_graphviz_is_refused_by_name(text, tmp_path):
    path = tmp_path / "net.dot"
    path.write_text(text)
    with pytest.raises(SpecError, match=r"Graphviz \(DOT\)"):
        reader_of(path)


@pytest.mark.parametrize("gives", GIVES)
def test_a_file_of_another_kind_is_named_by_its_kind(gives, tmp_path):
    other = next(reader for reader in READERS if reader.gives != gives and isinstance(reader.sample, str))
    (path,) = sample_files(other, tmp_path)
    with pytest.raises(SpecError, match=r"this file holds|must have the columns"):
        read(path, gives)


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch, tmp_path):
    reader = next(reader for reader in READERS if reader.name == "graphml")
    paths = sample_files(reader, tmp_path)
    monkeypatch.setattr(formats, "find_spec", lambda name: None)
    with pytest.raises(
        SpecError, match=r"extra import: networkx, defusedxml.*tools/uv sync --inexact --extra import"
    ):
        read_with(reader, paths, {})


def test_a_bomb_of_gzip_is_bounded(tmp_path, monkeypatch):
    from shallows.importing.parts import source

    monkeypatch.setattr(source, "MOST_BYTES", 1_000_000)
    path = tmp_path / "flow.txt"
    path.write_bytes(gzip.compress(b"2\n1 0 3 100 200000 2\n" + b"# x\n" * 1_000_000))
    with pytest.raises(SpecError, match="the most that is read"):
        read(path, "flows")


def test_the_installation_command_of_a_wheel_names_packages_and_never_shallows(monkeypatch):
    from shallows import extras

    monkeypatch.setattr(extras, "__file__", "/usr/lib/python3/site-packages/shallows/extras.py")
    lines = ["numpy>=2", "networkx>=3.4 ; extra == 'import'", "dpkt>=1.9.8; extra == 'import'"]
    monkeypatch.setattr(extras, "requires", lambda name: lines)
    command = extras.install_command("import")
    assert command.endswith("-m pip install 'networkx>=3.4' 'dpkt>=1.9.8'")


def test_numbers_of_json_must_be_finite(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"id": "a", "bytes": float("nan")}]))
    with pytest.raises(SpecError, match="finite"):
        read(path, "messages")
