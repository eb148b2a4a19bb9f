"""Odd files of each reader: a right reading, or words that name the file; in bounded memory."""

import random
import re
import tracemalloc

import pytest
from shallows.errors import ShallowsError, SpecError
from shallows.importing.formats import READERS, read_with, reader_of

EACH = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
NUMBER = re.compile(rb"(?<![\w.])\d+(?![\w.])")
MOST = 64 * 2**20
"""Bytes that a reading of a file of some kilobytes may hold."""


def last_number(text):
    """The place of a number in the last line that has one."""
    *_, last = [None, *NUMBER.finditer(text)]
    return last


def replaced(value):
    def change(data):
        found = last_number(data)
        return data if found is None else data[: found.start()] + value + data[found.end() :]

    return change


def without_last_line(data):
    return b"".join(data.splitlines(keepends=True)[:-1])


def with_last_line_twice(data):
    lines = data.splitlines(keepends=True)
    return data.rstrip(b"\n") + b"\n" + lines[-1]


ODD = {
    "empty": lambda data: b"",
    "blank": lambda data: b" \n\t\n",
    "only a mark of byte order": lambda data: b"\xef\xbb\xbf",
    "one half": lambda data: data[: len(data) // 2],
    "all but a byte": lambda data: data[:-1],
    "no last newline": lambda data: data.rstrip(b"\n"),
    "a row less": without_last_line,
    "a row twice": with_last_line_twice,
    "blank lines at its end": lambda data: data + b"\n  \n\t\n",
    "a negative number": replaced(b"-7"),
    "a huge number": replaced(b"9" * 400),
    "a huge exponent": replaced(b"1e400"),
    "no number": replaced(b"NaN"),
    "infinity": replaced(b"inf"),
    "a unit nobody knows": replaced(b"5 parsec"),
    "digits of another script": replaced("٣".encode()),
    "a quote that does not end": replaced(b'"5'),
    "zero bytes": lambda data: data + b"\0" * 64,
    "bytes of no text": lambda data: data + b"\xff\xfe\xfa",
    "deep brackets": lambda data: b"[" * 20_000 + data,
    "deep objects": lambda data: b'{"a":' * 20_000 + data,
    "a line without end": lambda data: data + b"7" * 300_000,
    "an entity": lambda data: data.replace(
        b"?>", b'?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]>', 1
    ),
}


def answer(reader, data, folder):
    """The files, and the answer of the reader: its content, or its words."""
    samples = data if isinstance(data, dict) else {f"odd{reader.suffix}": data}
    paths = []
    for name, content in samples.items():
        path = folder / name
        path.write_bytes(content)
        paths.append(path)
    tracemalloc.start()
    try:
        return paths, read_with(reader, paths, {})
    except ShallowsError as error:
        return paths, str(error)
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < MOST, f"{peak} bytes"


def sample(reader):
    samples = reader.sample if isinstance(reader.sample, dict) else {f"odd{reader.suffix}": reader.sample}
    return {name: data if isinstance(data, bytes) else data.encode() for name, data in samples.items()}


def held(reader, paths, found):
    """The answer is a content with rows, or words that name a file."""
    if isinstance(found, str):
        assert any(path.name in found for path in paths), found
    else:
        assert found.rows and found.understood
        assert not found.lines or len(found.lines) == len(found.rows)


@pytest.mark.parametrize("odd", ODD)
@EACH
def test_an_odd_file_is_read_or_refused_by_its_name(reader, odd, tmp_path):
    for name in sample(reader):
        data = {**sample(reader), name: ODD[odd](sample(reader)[name])}
        held(reader, *answer(reader, data, tmp_path))


@pytest.mark.parametrize("odd", ["empty", "blank", "only a mark of byte order"])
@EACH
def test_a_file_without_content_is_never_read(reader, odd, tmp_path):
    name = next(iter(sample(reader)))
    _, found = answer(reader, {**sample(reader), name: ODD[odd](b"")}, tmp_path)
    assert isinstance(found, str)


@pytest.mark.parametrize("odd", ["no last newline", "blank lines at its end"])
@EACH
def test_the_end_of_a_text_changes_nothing(reader, odd, tmp_path):
    texts = sample(reader)
    if any(b"\0" in data for data in texts.values()) or reader.name == "chakra":
        pytest.skip("no text")
    _, whole = answer(reader, texts, tmp_path)
    _, found = answer(reader, {name: ODD[odd](data) for name, data in texts.items()}, tmp_path)
    assert not isinstance(found, str), found
    assert found.rows == whole.rows


@EACH
def test_random_damage_is_answered_in_words(reader, tmp_path):
    draws = random.Random(34)
    whole = sample(reader)
    for _ in range(60):
        name = draws.choice(list(whole))
        data = bytearray(whole[name])
        for _ in range(draws.choice([1, 2, 8])):
            at = draws.randrange(len(data) or 1)
            way = draws.randrange(4)
            if way == 0 and data:
                data[at] ^= 1 << draws.randrange(8)
            elif way == 1:
                del data[at : at + draws.choice([1, 4, 40])]
            elif way == 2:
                data[at:at] = draws.choice([b"\0", b"\xff" * 8, b'"', b"-", b"\n", b"9" * 30])
            else:
                data = data[: at + 1]
        held(reader, *answer(reader, {**whole, name: bytes(data)}, tmp_path))


DAMAGED = {
    "0 0\n1000 50\n2000 40\n3000 100\n": ("HPCC's traffic generator", "line 3"),
    "0 0\n1000 nan\n3000 100\n": ("HPCC's traffic generator", "line 2"),
    "1 1 0\n2 1 0.5\n3 1 1.2\n": ("pFabric", "line 3"),
    "1\n2\n-3\n": ("Mahimahi", "line 3"),
    "3 1 2\n2\n0 2 100 1us 0\n1 2 100Gbps 1us 0\n": ("HPCC and SimAI", "line 3"),
}
"""Files whose damage hides their format, with the format and the place that a refusal names."""


@pytest.mark.parametrize("text", DAMAGED)
def test_a_file_that_no_reader_recognises_is_refused_by_the_closest_format_and_a_line(tmp_path, text):
    path = tmp_path / "file.txt"
    path.write_text(text)
    with pytest.raises(SpecError) as refused:
        reader_of(path)
    closest, *others = map(str, refused.value.faults)
    title, line = DAMAGED[text]
    assert title in closest
    assert line in others[0]


def test_edges_of_graphml_to_nodes_that_are_not_there_have_a_line(tmp_path):
    path = tmp_path / "net.graphml"
    graph = '<graphml><graph edgedefault="undirected">\n<node id="a"/>\n<edge source="a" target="c"/>\n'
    path.write_text(f"{graph}</graph></graphml>")
    with pytest.raises(SpecError, match=r"no such node \(line 3 of net\.graphml\), got \"c\""):
        read_with(reader_of(path), [path], {})
