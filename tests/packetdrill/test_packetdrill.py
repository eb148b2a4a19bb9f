"""Packet scripts: ours, which hold the transport to its laws; the kernel's own, where they are; refusals."""

import json

import pytest
from conftest import ROOT
from shallows.errors import SpecError
from shallows.packetdrill import assertions, kernel
from shallows.packetdrill.run import files, run

OURS = sorted((ROOT / "tests/packets").glob("*.pkt"))

OPEN = """`./defaults.sh`
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 bind(3, ..., ...) = 0
   +0 listen(3, 1) = 0
   +0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
   +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 8>
  +.1 < . 1:1(0) ack 1 win 1000
   +0 accept(3, ..., ...) = 4
"""
"""Eight lines that open a connection."""


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_our_scripts_pass(path):
    outcome = run(path)
    assert outcome.word == "pass", outcome.lines()


def test_the_kernels_own_scripts_are_as_recorded():
    """tools/testing/selftests/net/packetdrill: GPL, read where `packetdrill --selftests` unpacked them."""
    place = kernel.found()
    if place is None:
        pytest.skip("run ./shallows packetdrill --selftests, which fetches the kernel's source")
    if kernel.digest(place) != kernel.table().digest:
        pytest.skip(f"these are not the scripts of Linux {kernel.table().version}")
    assert kernel.differences([run(path) for path in files([place])]) == []


def test_of_the_kernels_scripts_that_apply_nearly_all_pass():
    table = kernel.table()
    assert len(table.passes) >= 0.95 * (len(table.passes) + len(table.fails))
    assert all(table.fails.values())
    assert all(table.needs.values())


# ---- faults of a host are found ----


def outcome_of(tmp_path, text):
    path = tmp_path / "x.pkt"
    path.write_text(text)
    return run(path)


@pytest.mark.parametrize(
    ("rest", "line", "said"),
    [
        (
            "+0 > P. 1:4001(4000) ack 1",
            10,
            "expected > . 1:4001(4000) ack 1 at 0.1 s (within 0.004 s), got > . 1:3001(3000) ack 1 at 0.1 s",
        ),
        ("+0 > F. 1:3001(3000) ack 1", 10, "got > . 1:3001(3000) ack 1 at 0.1 s"),
        ("+0 > P. 1:3001(3000) ack 2", 10, "got > . 1:3001(3000) ack 1 at 0.1 s"),
        ("+0 > P. 1:3001(3000) ack 1 <sack 1:2>", 10, "got > . 1:3001(3000) ack 1 at 0.1 s"),
        ("+0 > [ect0] P. 1:3001(3000) ack 1", 10, "got > [noecn] . 1:3001(3000) ack 1 at 0.1 s"),
        ("+.1 > P. 1:3001(3000) ack 1", 10, "at 0.2 s (within 0.0125 s), got it at 0.1 s"),
        ("+0 > P. 1:3001(3000) ack 1\n+0 > . 3001:4001(1000) ack 1", 11, "got nothing by 0.104 s"),
        ("+0 %{ assert tcpi_snd_cwnd == 11 }%", 10, "expected tcpi_snd_cwnd == 11, got tcpi_snd_cwnd = 10"),
        ("+0 read(4, ..., 10) = 10", 10, "expected read to return 10, got 0"),
        (
            "+0...0.1 read(4, ..., 10) = 10\n+.2 write(4, ..., 1) = 1",
            10,
            "return at 0.2 s, got it blocks at 0.3 s",
        ),
    ],
)
def test_what_comes_instead_is_told(tmp_path, rest, line, said):
    outcome = outcome_of(tmp_path, f"{OPEN}   +0 write(4, ..., 3000) = 3000\n{rest}\n")
    assert outcome.word == "fail"
    (told,) = outcome.lines()
    assert told.startswith(f"{tmp_path}/x.pkt:{line}: ")
    assert said in told


@pytest.mark.parametrize(
    ("rest", "feature"),
    [
        ("+0 send(4, ..., 10, MSG_ZEROCOPY) = 10", "MSG_ZEROCOPY"),
        ("+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0", "corks"),
        ("+0 setsockopt(4, SOL_TCP, TCP_MADE_UP, [1], 4) = 0", "the option TCP_MADE_UP"),
        ("+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [10], 4) = 0\n+0 write(4, ..., 20) = 20", "send buffers"),
        ("+0 < R. 1:1(0) ack 1 win 1000", "resets"),
        ("+0 < F. 1:1(0) ack 1 win 1000", "a peer that closes first"),
        ("+0 < . 1:1(0) ack 1 win 0", "zero windows and their probes"),
        ("+0 < icmp unreachable [1:1(0)]", "ICMP"),
        ("+0 > . 1:1(0) ack 1 win 100", "advertised windows and receive buffers"),
        ("+0 `sysctl -q net.ipv4.tcp_made_up=1`", "the sysctl tcp_made_up"),
        ("+0 `touch /tmp/x`", "the shell command touch"),
        ("+0 `sysctl -q net.ipv4.tcp_reordering=many`", "the value 'many' of tcp_reordering"),
        ("+0 `touch 'x`", "a shell command that is whole"),
        ("+0 < (tos 0x1) . 1:1(0) ack 1", "the field tos of IP"),
        ("+0 < . 1:1(0) ack 1 win 9 <sack 0:1>", "SACK of a SYN"),
        ("+0 < . 0:10(10) ack 1", "initial numbers other than 0"),
        ("+0 `sysctl -q net.ipv4.tcp_congestion_control=vegas`", "the congestion control vegas"),
        ("+0 epoll_create(1) = 5", "the system call epoll_create"),
        ("+0 %{ assert tcpi_pmtu == 1500 }%", "tcp_info's pmtu"),
    ],
)
def test_a_script_that_does_not_apply_is_refused_by_the_name_of_what_it_needs(tmp_path, rest, feature):
    outcome = outcome_of(tmp_path, f"{OPEN}{rest}\n")
    assert (outcome.word, outcome.features) == ("refused", [feature])


def test_all_needs_are_told_at_once_with_their_lines(tmp_path):
    outcome = outcome_of(tmp_path, f"{OPEN}+0 epoll_create(1) = 5\n+0 < R. 1:1(0) ack 1\n")
    assert [line.split(": needs ")[0] for line in outcome.lines()] == [
        f"{tmp_path}/x.pkt:{n}" for n in (9, 10)
    ]


@pytest.mark.parametrize(
    ("rest", "line"),
    [
        ("+0 nonsense", 9),
        ("+0 > . 1:1(0 ack 1", 9),
        ("+0 > V. 1:1(0) ack 1", 9),
        ("+0 write(4, ..., 1", 9),
        ("+0 %{ assert 1 == 1", 9),
        ("+0 > . 1:9(9) ack 1", 9),
    ],
)
def test_what_is_no_script_is_refused_with_its_place(tmp_path, rest, line):
    with pytest.raises(SpecError) as caught:
        outcome_of(tmp_path, f"{OPEN}{rest}\n")
    assert caught.value.faults[0].path == f"{tmp_path}/x.pkt:{line}"


def test_parts_without_the_form_of_the_language_are_refused_all_at_once(tmp_path):
    wrong = {
        "+0 > . 1:9(9) ack 1": "the first one's and the length",
        "+0 < . 1:65537(65536) ack 1": "at most 65000 bytes",
        "+0 < . 99999999999:99999999999(0) ack 1": "below 2^32",
        "+0 < . 1:1(0) ack 1 win 65536": "at most 65535",
        "+0 < . 1:1(0) ack 1 <sack 20:10>": "must list blocks",
        "+0 < . 1:1(0) ack 1 <wscale 15>": "at most 14",
        "+0 < . 1:1(0) ack 1 <mss x>": "must be a whole number",
        "+0 < . 1:1(0) ack 1 <nop,,nop>": "an option must not be empty",
        "+9999999 write(4, ..., 1) = 1": "at most 1000000 s",
        "+2~+1 > . 1:1(0) ack 1": "must not end before it begins",
        "+0 write(4) = 1": "write has 3 arguments",
        "+0 write(4, ..., all) = 1": "the size must be a whole number",
        "+0 read(4, ..., 1) = EOF": "the result must be a whole number",
        "+0 setsockopt(4, SOL_TCP) = 0": "setsockopt has 4 arguments",
        "+0 close() = 0": "close has 1 arguments",
    }
    with pytest.raises(SpecError) as caught:
        outcome_of(tmp_path, OPEN + "\n".join(wrong))
    told = {fault.path.rsplit(":")[-1]: fault.rule for fault in caught.value.faults}
    assert list(told) == [str(9 + n) for n in range(len(wrong))]
    for rule, said in zip(told.values(), wrong.values(), strict=True):
        assert said in rule
    (tmp_path / "x.pkt").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError):
        run(tmp_path / "x.pkt")


def test_a_segment_that_the_simulator_does_not_know_ends_the_script(tmp_path):
    text = f"{OPEN}+0 write(4, ..., 1000) = 1000\n+0 < . 1:1(0) ack 501 win 1000\n"
    outcome = outcome_of(tmp_path, text)
    assert (outcome.word, outcome.needs[0].line) == ("refused", 10)
    assert "part of a segment" in outcome.needs[0].feature


# ---- assertions ----


@pytest.mark.parametrize(
    "text",
    [
        "import os",
        "assert __import__('os')",
        "assert a.b == 1",
        "assert [x for x in y]",
        "assert 'a' == 'a'",
        "assert (lambda: 1)()",
        "assert 1 ==",
    ],
)
def test_an_assertion_is_no_program(text):
    with pytest.raises(assertions.NotKnown):
        list(assertions.read(text))


@pytest.mark.parametrize(("value", "word"), [("3", "pass"), ("1", "refused")])
def test_both_parts_of_hystart_are_what_there_is(tmp_path, value, word):
    echo = f"`echo {value} > /sys/module/tcp_cubic/parameters/hystart_detect`\n"
    assert outcome_of(tmp_path, echo + OPEN).word == word


def test_a_script_may_name_numbers_and_print():
    """Google's scripts of CUBIC count the window in a name of their own."""
    script = assertions.Assertions()
    [first] = script.read("print(a); x = 58; assert a == x, a")
    [second] = script.read("x += 1; assert a == x")
    assert (first.text, second.text) == ("a == 58", "a == 59") and second.names == ["a"]
    assert first.holds({"a": 58}) and second.holds({"a": 59})
    with pytest.raises(assertions.NotKnown, match="keeps more than a number"):
        list(script.read("y = a"))
    with pytest.raises(assertions.NotKnown, match="no whole number"):
        list(script.read("y = 1 / 2"))


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("assert 3 <= a <= 5, 'told=%d' % a", True),
        ("assert 3 <= a < 4", False),
        ("assert (a & 4) != 0 and not a > 4", True),
        ("assert a == 1460 - 12 or a // 2 == 2", True),
        ("assert a == 4; \\\n   assert a != -4 \\\n", True),
    ],
)
def test_comparisons_are_those_of_python(text, holds):
    assert all(one.holds({"a": 4}) for one in assertions.read(text)) is holds


# ---- the command ----


def command(capsys, *words):
    import typer
    from shallows.cli.app import app

    try:
        status = (
            typer.main.get_command(app).main(["packetdrill", *map(str, words)], standalone_mode=False) or 0
        )
    except typer.Exit as ended:
        status = ended.exit_code
    return status, capsys.readouterr().out


def test_the_command_runs_directories_and_says_what_is_refused(tmp_path, capsys):
    (tmp_path / "good.pkt").write_text(OPEN)
    (tmp_path / "other.pkt").write_text(f"{OPEN}+0 epoll_create(1) = 5\n")
    status, out = command(capsys, tmp_path)
    assert status == 0
    assert "2 scripts: 1 pass, 0 fail, 1 need what the simulator does not have" in out
    assert command(capsys, tmp_path / "other.pkt")[0] == 2
    (tmp_path / "bad.pkt").write_text(f"{OPEN}+0 > . 1:2(1) ack 1\n")
    status, out = command(capsys, tmp_path, "--json")
    assert status == 1
    words = {one["path"].rsplit("/")[-1]: one["outcome"] for one in json.loads(out)["scripts"]}
    assert words == {"good.pkt": "pass", "other.pkt": "refused", "bad.pkt": "fail"}


def test_the_command_needs_scripts(tmp_path, capsys):
    for words in ([], [tmp_path], [tmp_path / "none.pkt"], ["--kernel", tmp_path]):
        with pytest.raises(SpecError):
            command(capsys, *words)
