"""The language of packetdrill, read into events: times, packets, system calls, shell commands, assertions.

Source: the grammar of Google's packetdrill (gtests/net/packetdrill/parser.y, lexer.l). Nothing is judged
here: each event is kept with its line, and `plan` says what of it the simulator has.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import pyparsing as pp

from shallows.errors import Fault, SpecError

__all__ = ["Call", "Code", "Event", "Option", "Packet", "Shell", "Time", "read"]

PS = 10**12


@dataclass(frozen=True)
class Time:
    """When an event is due, in ps: from `first` to `last`, after the event before it where `relative`."""

    first: int = 0
    last: int = 0
    relative: bool = True
    any: bool = False
    """`*`: whenever it comes."""


@dataclass(frozen=True)
class Option:
    """`--name=value` at the top of a script."""

    line: int
    name: str
    value: str


@dataclass(frozen=True)
class Packet:
    """A TCP segment; `protocol` is another word where it is none, and then the rest is empty."""

    outbound: bool
    flags: str = ""
    ip: str = ""
    seq: int = 0
    end: int = 0
    length: int = 0
    ack: int | None = None
    window: int | None = None
    urgent: bool = False
    options: tuple[str, ...] | None = ()
    """None where the script writes `<...>`, which stands for any."""
    protocol: str = "tcp"
    text: str = ""

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Its SACK blocks."""
        words = [option.split()[1:] for option in self.options or () if option.startswith("sack ")]
        pairs = (block.split(":") for block in (words[0] if words else ()))
        return [(int(first), int(end)) for first, end in pairs]


@dataclass(frozen=True)
class Call:
    """A system call with its arguments as texts; `end` is when it returns if it blocks, in ps."""

    name: str
    arguments: tuple[str, ...]
    result: str
    errno: str = ""
    end: int | None = None


@dataclass(frozen=True)
class Shell:
    """A backquoted command."""

    text: str


@dataclass(frozen=True)
class Code:
    """Assertions between `%{` and `}%`."""

    text: str


@dataclass(frozen=True)
class Event:
    """An action at its time."""

    line: int
    time: Time
    action: Packet | Call | Shell | Code


def read(text: str, path: str) -> tuple[list[Option], list[Event]]:
    """The options and the events of a script. Raises SpecError with the place of what is none."""
    try:
        items = _script().parse_string(text, parse_all=True)
    except pp.ParseBaseException as error:
        found = text[error.loc :].split("\n")[0].strip() or "the end of the file"
        rule = "is no option, packet, system call, `command` or %{ assertion }% of packetdrill's language"
        raise SpecError([Fault(f"{path}:{error.lineno}", rule, found[:60])]) from None
    options = [item for item in items if isinstance(item, Option)]
    return options, [item for item in items if isinstance(item, Event)]


def _ps(tokens: pp.ParseResults) -> int:
    return int(Decimal(tokens[0]) * PS)


def _time(tokens: pp.ParseResults) -> Time:
    if tokens[0] == "*":
        return Time(any=True)
    relative = tokens[0] == "+"
    first, *rest = [token for token in tokens if isinstance(token, int)]
    return Time(first, rest[0] if rest else first, relative)


def _packet(tokens: pp.ParseResults) -> Packet:
    outbound = tokens["direction"] == ">"
    if "protocol" in tokens:
        return Packet(outbound, protocol=tokens["protocol"], text=tokens["rest"].strip())
    options: tuple[str, ...] | None = ()
    if "options" in tokens:
        inner = tokens["options"][1:-1].strip()
        options = None if inner == "..." else tuple(" ".join(one.split()) for one in inner.split(","))
    first, end, length = (int(number) for number in tokens["range"].replace("(", ":").rstrip(")").split(":"))
    return Packet(
        outbound,
        tokens["flags"].removesuffix("-"),
        tokens.get("ip", "")[1:-1].strip(),
        first,
        end,
        length,
        ack=int(tokens["ack"]) if "ack" in tokens else None,
        window=int(tokens["win"]) if "win" in tokens else None,
        urgent="urg" in tokens,
        options=options,
    )


def _call(tokens: pp.ParseResults) -> Call:
    end = tokens.get("end")
    return Call(
        tokens["name"], _arguments(tokens["arguments"]), tokens["result"], tokens.get("errno", ""), end
    )


def _arguments(text: str) -> tuple[str, ...]:
    """Splits at the commas outside of brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return tuple(" ".join(part.split()) for part in parts)


@cache
def _script() -> pp.ParserElement:
    """Packets, calls and commands in any order, each with its time; line ends mean nothing."""
    word, number = pp.Regex(r"[A-Za-z_]\w*"), pp.Regex(r"\d+")
    seconds = pp.Regex(r"\d*\.\d+|\d+").add_parse_action(_ps)
    plus = pp.Literal("+")
    time = pp.Literal("*") | pp.Opt(plus) + seconds + pp.Opt(pp.Suppress("~" + pp.Opt(plus)) + seconds)
    time.add_parse_action(_time)

    other = pp.one_of("icmp udp ipv4 ipv6 gre mpls raw")("protocol") + pp.Regex(r"[^\n]*")("rest")
    segment = (
        pp.Opt(pp.Regex(r"\[[^]]*\]|\([^)]*\)"))("ip")
        + pp.Opt(pp.Regex(r"\d+\s*>\s*\d+"))
        + pp.Regex(r"[FSRPUEWA0-7.]+|-")("flags")  # digits are the counter of AccECN
        + pp.Regex(r"\d+:\d+\(\d+\)")("range")
        + pp.Opt(pp.Suppress(pp.Keyword("ack")) + number("ack"))
        + pp.Opt(pp.Suppress(pp.Keyword("win")) + number("win"))
        + pp.Opt(pp.Suppress(pp.Keyword("urg")) + number("urg"))
        + pp.Opt(pp.Regex(r"<[^<>]*>"))("options")
    )
    packet = pp.one_of("< >")("direction") + (other | segment)
    packet.add_parse_action(_packet)

    string = pp.QuotedString('"', esc_char="\\", multiline=True, unquote_results=False)
    body = pp.Forward()
    brackets = [pp.Literal(one) + body + pp.Literal(two) for one, two in ("()", "[]", "{}")]
    body <<= pp.ZeroOrMore(pp.Regex(r'[^()\[\]{}"]+') | string | pp.MatchFirst(brackets))
    value = pp.Regex(r"-?0x[0-9a-fA-F]+|-?\d+|[A-Z_]\w*|\.\.\.")
    call = (
        pp.Opt(pp.Suppress("...") + seconds("end"))
        + word("name")
        + pp.Suppress("(")
        + pp.original_text_for(body)("arguments")
        + pp.Suppress(")")
        + pp.Suppress("=")
        + value("result")
        + pp.Opt(pp.Regex(r"E[A-Z0-9]+"))("errno")
        + pp.Opt(pp.Suppress(pp.Literal("(") + body + pp.Literal(")")))
    )
    call.add_parse_action(_call)

    shell = pp.Regex(r"(?s)`(?:\\.|[^`\\])*`").add_parse_action(lambda tokens: Shell(tokens[0][1:-1]))
    code = pp.Regex(r"(?s)%\{(.*?)\}%").add_parse_action(lambda tokens: Code(tokens[0][2:-2]))

    def event(tokens: pp.ParseResults) -> Event:
        line, *time, action = tokens
        return Event(line, time[0] if time else Time(), action)

    def option(tokens: pp.ParseResults) -> Option:
        name, _, value = tokens[1][2:].partition("=")
        return Option(tokens[0], name, value.strip())

    line = pp.Regex(r"(?=\S)").add_parse_action(
        lambda text, place, _: pp.lineno(place, text)
    )  # here comments are behind
    first = (line + pp.Regex(r"--[A-Za-z_]\w*(=[^\s]+)?")).add_parse_action(option)
    each: Any = (line + (time + (packet | shell | code | call) | shell)).add_parse_action(event)
    return (pp.ZeroOrMore(first) + pp.ZeroOrMore(each)).ignore(pp.cpp_style_comment)
