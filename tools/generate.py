"""`make generate`: the files made from the parameters that the Rust sources declare.

They are the JSON Schema of experiment files, the classes of `shallows.experiment` and the pages of
`docs/reference/`; two pages of `docs/validation/` follow from tests and packet scripts. They are checked in;
a test fails when they are stale.
"""

from __future__ import annotations

import json
import keyword
from pathlib import Path
from typing import Any

import json_schema
import packet_scripts
import reference
import requirements
import tables_page
from shallows.document import strict
from shallows.document.schema import named, schema

Section = dict[str, Any]
Param = dict[str, Any]

NOTE_OF_SCRIPTS = "Made by `make generate` from python/shallows/packetdrill/kernel.toml; do not edit."
NOTE_OF_TABLES = "Made by `make generate` from python/shallows/tables/laws.toml; do not edit."
NOTE = "Made by `make generate` from the parameters declared in crates/; do not edit."

TYPES = {
    "span": ("str", 'a time: `"25us"`'),
    "rate": ("str", 'a rate: `"10Gbps"`'),
    "bytes": ("str", 'an amount of data: `"150KB"`'),
    "size": ("str", 'bytes or packets: `"150KB"`, `"65pkt"`'),
    "text": ("str", "text"),
    "count": ("int", "a whole number"),
    "real": ("float", "a number"),
    "flag": ("bool", "`true` or `false`"),
    "names": ("str | list[str]", "a name, a pattern, or a list of them"),
    "table": ("dict[str, Any]", "a table"),
}
"""A setting's kind as a Python type, and in words."""

CHOSEN = {
    "topology": "kind",
    "queue": "kind",
    "port_control": "kind",
    "transport.cc": "kind",
    "traffic": "kind",
    "traffic.sizes": "kind",
    "traffic.deadline": "kind",
}
"""Sections whose components are chosen by `kind`. Those of `transport` are profiles; others are one table."""

OPEN = tuple(section["path"] for section in schema()["sections"] if section["open"])
"""Sections that Python modules add to: any `kind` may stand there, and the checker knows which."""

NAMED = named()
"""Sections that hold tables under names of the user's choice."""

SUFFIX = {"traffic": "Load", "traffic.sizes": "Sizes", "traffic.deadline": "Deadline", "": "Experiment"}

INNER = {
    "": {
        "topology": ("topology", "The network."),
        "queue": ("queue", "Discipline of switch ports."),
        "nic": (
            "queue",
            "Discipline of host ports. By default that of the profile: `fq` for `datacentre` and `linux`, "
            "drop-tail without limit for others and where profiles differ.",
        ),
        "port_control": ("port_control", "The switches' half of a protocol with explicit feedback."),
        "port": (
            "port",
            "Overrides of ports by name or pattern; each changes what it names and no more.",
        ),
        "switch": ("switch", "Shared buffers of switches, by name or pattern."),
        "priority": ("priority", "Priorities at ports, by their numbers from 0 to 7."),
        "pfc": ("pfc", "Flow control of the lossless priorities."),
        "routing": ("routing", "Forwarding while links fail, and flowlets."),
        "event": ("event", "Changes of links at their times, by name."),
        "transport": ("transport", "TCP, or queue pairs of RoCEv2, and the congestion control."),
        "traffic": ("traffic", "The loads, by name."),
        "probe": ("probe", "The records of a run."),
        "python": ("python", "Algorithms, workloads and topologies written in Python."),
    },
    "port": {
        "queue": ("queue", "Another discipline."),
        "port_control": ("port_control", 'Another controller; `"none"` for none.'),
    },
    "priority": {
        "queue": ("queue", "Discipline of its lane at switch ports; by default that of the port."),
        "nic": ("queue", "Discipline of its lane at host ports; by default that of the port."),
    },
    "transport": {"cc": ("transport.cc", "Congestion control.")},
    "traffic": {
        "sizes": ("traffic.sizes", "Distribution of sizes."),
        "deadline": ("traffic.deadline", "Distribution of the time that messages have."),
        "transport": ("transport", "Settings over those of `[transport]`, for this load."),
    },
}
"""Tables within tables: the file format beside the declared settings."""


def files() -> dict[Path, str]:
    """Every generated file, by its path from the repository's root, with its text."""
    sections = schema()["sections"]
    whole = json_schema.schema_of(sections, INNER, CHOSEN, OPEN, NAMED)
    found = {Path("experiments/experiment.schema.json"): _json(whole)}
    found[Path("python/shallows/experiment/_classes.py")] = classes(sections)
    found[Path("docs/reference/tables.md")] = tables_page.page(NOTE_OF_TABLES)
    found[Path("docs/validation/packetdrill.md")] = packet_scripts.page(NOTE_OF_SCRIPTS)
    found[requirements.PAGE] = requirements.page()
    found[ERRORS] = errors_page()
    written = pages(sections) | reference.pages(f"<!-- {NOTE} -->")
    return found | {Path("docs/reference") / name: text for name, text in written.items()}


ERRORS = Path("docs/reference/errors.md")
_CODES_BEGIN, _CODES_END = "<!-- codes: made by tools/generate.py -->\n", "<!-- end of codes -->\n"


def errors_page() -> str:
    """The page of errors, its table of codes made from the core's and those of tables read in Python."""
    text = (Path(__file__).resolve().parents[1] / ERRORS).read_text(encoding="utf-8")
    before, rest = text.split(_CODES_BEGIN)
    after = rest.split(_CODES_END)[1]
    codes = {code["code"]: code["doc"] for code in schema()["codes"]} | strict.CODES
    rows = "".join(f"| `{code}` | {doc} |\n" for code, doc in codes.items())
    return f"{before}{_CODES_BEGIN}\n| code | meaning |\n|---|---|\n{rows}\n{_CODES_END}{after}"


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def class_name(section: Section, component: str = "") -> str:
    """`ThresholdQueue` for a component of `[queue]`, `Probe` for a section that is one table."""
    suffix = SUFFIX.get(section["path"], camel(section["path"].split(".")[-1]))
    return camel(component) + suffix


def camel(text: str) -> str:
    """`parking-lot` as `ParkingLot`."""
    return "".join(word[:1].upper() + word[1:] for word in text.replace("_", "-").split("-"))


def python_type(param: Param) -> str:
    """The annotation of a setting."""
    kind = param["kind"]
    if kind.endswith(" or none"):
        inner = python_type({**param, "kind": kind.removesuffix(" or none")})
        return inner if inner.startswith("str") else f'{inner} | Literal["none"]'
    if kind.startswith("list of "):
        return f"list[{python_type({**param, 'kind': kind.removeprefix('list of ')})}]"
    if kind == "choice":
        return f"Literal[{', '.join(map(json.dumps, param['choices']))}]"
    return TYPES[kind][0]


def words(param: Param) -> str:
    """The kind of a setting for the reference."""
    kind = param["kind"]
    if kind.endswith(" or none"):
        return words({**param, "kind": kind.removesuffix(" or none")}) + ', or `"none"`'
    if kind.startswith("list of "):
        return "a list, each " + words({**param, "kind": kind.removeprefix("list of ")})
    if kind == "choice":
        return "one of " + ", ".join(f'`"{word}"`' for word in param["choices"])
    return TYPES[kind][1]


def classes(sections: list[Section]) -> str:
    """The text of `experiment.py`: inner sections first, the whole experiment last."""
    types = {section["path"]: _annotation(section) for section in sections}
    inner_first = sorted(sections, key=lambda section: (section["path"] == "", -section["path"].count(".")))
    blocks = [block for section in inner_first for block in _section_classes(section, types)]
    names = sorted(block.split("(")[0].removeprefix("class ") for block in blocks)
    head = f'"""The parts of an experiment as classes, for completion and documentation.\n\n{NOTE}\n"""\n\n'
    head += "# ruff: noqa\nfrom __future__ import annotations\n\nfrom typing import Any, Literal\n\n"
    head += "from pydantic import Field\n\n"
    head += "from shallows.experiment.base import CustomPart, Part, WholeExperiment\n\n"
    head += f"__all__ = {json.dumps(names, indent=4)}\n"
    return head + "\n\n" + "\n\n".join(blocks)


def families(section: Section) -> list[list[Section]]:
    """The components of a section by their settings: TCP's profiles are one family, queue pairs another."""
    found: dict[tuple[str, ...], list[Section]] = {}
    for component in section["components"]:
        found.setdefault(tuple(param["name"] for param in component["params"]), []).append(component)
    return list(found.values())


def family_name(section: Section, number: int) -> str:
    """`Transport` for the first family, and the component's own name for others."""
    family = families(section)[number]
    return class_name(section) if number == 0 else camel(family[0]["name"])


def _annotation(section: Section) -> str:
    """The type of a field that holds this section: a table, or any component's table or bare name."""
    if section["path"] == "transport":
        one = " | ".join(family_name(section, number) for number in range(len(families(section))))
    elif section["path"] not in CHOSEN:
        one = class_name(section)
    else:
        names = [component["name"] for component in section["components"]]
        one = " | ".join(class_name(section, name) for name in names)
        if section["path"] in OPEN:
            one += " | CustomPart"
        if section["path"] not in NAMED:
            one += f" | Literal[{', '.join(map(json.dumps, names))}]"
    return f"dict[str, {one}]" if section["path"] in NAMED else one


def _section_classes(section: Section, types: dict[str, str]) -> list[str]:
    path, chosen = section["path"], section["path"] in CHOSEN
    inner = {key: (types[at], doc) for key, (at, doc) in INNER.get(path, {}).items() if at in types}
    blocks = []
    several = (
        [family[0] for family in families(section)] if path == "transport" else section["components"][:1]
    )
    for number, component in enumerate(section["components"] if chosen else several):
        params = [param for param in component["params"] if param["name"] not in inner]
        declared = {param["name"] for param in component["params"]}
        fields = [f'    kind: Literal["{component["name"]}"] = "{component["name"]}"\n'] if chosen else []
        if path == "transport":
            names = ", ".join(json.dumps(profile["name"]) for profile in families(section)[number])
            if number == 0:
                fields.append(
                    _plain_field("profile", f"Literal[{names}] | None", "Sets all settings at once.")
                )
            else:
                fields.append(f"    profile: Literal[{names}] = {names}\n")
        fields += map(_field, params)
        for key, (annotation, doc) in inner.items():
            if not at_choice(path, key) or key in declared:  # a workload that draws no sizes has none
                fields.append(_plain_field(key, f"{annotation} | None", doc))
        if path == "traffic":
            fields.append(
                _plain_field("class", "str | None", "Class in the statistics; by default the load's name.")
            )
        if path == "":
            fields.append(
                _plain_field("seeds", "int | list[int] | None", "So many seeds from 1 on, or these.")
            )
            about = "`grid`, `zip` and `points`: settings by dotted path."
            fields.append(_plain_field("sweep", "dict[str, Any] | None", about))
            about = "`sizes` and `percentiles`: the grouping of results."
            fields.append(_plain_field("summary", "dict[str, Any] | None", about))
        base = "Part" if path else "WholeExperiment"
        doc = _docstring(component["doc"] if chosen or path != "transport" or number else "TCP.")
        name = class_name(section, component["name"] if chosen else "")
        if path == "transport":
            name = family_name(section, number)
        blocks.append(f"class {name}({base}):\n{doc}\n\n" + "\n".join(fields))
    return blocks


def at_choice(path: str, key: str) -> bool:
    """Whether a load's inner table is a distribution, which only some workloads declare."""
    return f"{path}.{key}" in CHOSEN and path == "traffic"


def _plain_field(key: str, annotation: str, doc: str) -> str:
    name = f"{key}_" if keyword.iskeyword(key) else key
    return f"    {name}: {annotation} = None\n{_docstring(doc)}\n"


def _field(param: Param) -> str:
    default = "..." if param["default"] is None else repr(param["default"])
    name, value = param["name"], "Field(...)" if default == "..." else default
    name = f"{name}_" if keyword.iskeyword(name) else name  # as Part's alias generator reads it
    facts = [param["doc"]] + ([f"Range {param['range']}."] if param["range"] else [])
    facts += [f"Default: {param['source']}."] if param["source"] else []
    return f"    {name}: {python_type(param)} = {value}\n{_docstring(' '.join(facts))}\n"


def _docstring(text: str) -> str:
    text = " ".join(text.replace("\\", "\\\\").replace('"""', "'''").split())
    return f'    """{text}{" " if text.endswith(chr(34)) else ""}"""'


def pages(sections: list[Section]) -> dict[str, str]:
    """The reference: an index and a page a section."""
    found, index = {}, [f"# Reference\n\nEvery setting of an experiment file. {NOTE}\n"]
    for section in sections:
        path = section["path"]
        name = (path or "experiment").replace(".", "-") + ".md"
        title = f"`[{_shown(path)}]`" if path else "The top of the file"
        several = path in CHOSEN or path == "transport"
        names = ", ".join(f"`{component['name']}`" for component in section["components"] if several)
        index.append(f"- [{title}]({name}){': ' + names if names else ''}")
        found[name] = _page(title, section)
    found["README.md"] = "\n".join(index) + "\n"
    return found


def _shown(path: str) -> str:
    keys = path.split(".")
    return ".".join([keys[0], "NAME", *keys[1:]] if keys[0] in NAMED else keys)


def _page(title: str, section: Section) -> str:
    path = section["path"]
    parts = [f"# {title}\n", f"<!-- {NOTE} -->\n"]
    inner = {key: (at, doc) for key, (at, doc) in INNER.get(path, {}).items()}
    if inner:
        rows = [
            f"- `{key}`: {doc} See [`[{_shown(at)}]`]({at.replace('.', '-')}.md)."
            for key, (at, doc) in inner.items()
        ]
        parts.append("\n".join(rows) + "\n")
    if path == "traffic":
        parts.append("- `class`: class in the statistics; by default the load's name.\n")
    if path == "transport":
        return "\n".join(parts + _profiles(section))
    for component in section["components"]:
        if path in CHOSEN:
            parts.append(f"## `{component['name']}`\n")
        parts.append(component["doc"].strip() + "\n")
        parts.append(_table(component["params"]) if component["params"] else "No settings.\n")
        parts += _facts(component["facts"])
    return "\n".join(parts)


OVER = {"tcp": "TCP", "roce": "queue pairs", "read": "READ"}
BACKENDS = {"linux": "Linux", "ns3": "ns-3"}


def _facts(facts: dict[str, Any]) -> list[str]:
    """The facts that a component's file states beside its settings, a line each."""
    lines = []
    if over := facts.get("runs_over"):
        lines.append(f"Runs over: {', '.join(OVER[name] for name in over)}.")
    if tables := facts["fills"]:
        lines.append(f"Fills the tables: {', '.join(f'`{name}`' for name in tables)}.")
    if there := facts["elsewhere"]:
        lines.append(f"Backends beside the simulator: {', '.join(BACKENDS[name] for name in there)}.")
    lines += [f"{name.capitalize()}: {text}" for name, text in facts["words"].items() if text]
    return ["\n".join(f"- {line}" for line in lines) + "\n"] if lines else []


def _profiles(section: Section) -> list[str]:
    """One table of TCP's settings, the other values of each profile, and a table of queue pairs."""
    tcp, *others = families(section)
    first = tcp[0]
    usual = {param["name"]: param["default"] for param in first["params"]}
    parts = ["## Profiles\n\n`profile` sets all settings of TCP at once; single settings override it.\n"]
    for profile in tcp:
        changed = {p["name"]: p["default"] for p in profile["params"] if p["default"] != usual[p["name"]]}
        parts.append(f"### `{profile['name']}`\n\n{profile['doc'].strip()}\n")
        if changed:
            settings = ", ".join(f"`{key} = {_value(value)}`" for key, value in changed.items())
            parts.append(f"Other than `{first['name']}`: {settings}\n")
    parts += [f"## Settings of TCP, with the defaults of `{first['name']}`\n", _table(first["params"])]
    for (other,) in others:
        parts += [f'## `profile = "{other["name"]}"`\n', other["doc"].strip() + "\n", _table(other["params"])]
    return parts


def _table(params: list[Param]) -> str:
    rows = ["| key | value | default | range | meaning | source |", "|---|---|---|---|---|---|"]
    for param in params:
        default = "required" if param["default"] is None else f"`{_value(param['default'])}`"
        extent = f"`{param['range']}`" if param["range"] else ""
        cells = [f"`{param['name']}`", words(param), default, extent, param["doc"], param["source"]]
        rows.append("| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    """Writes every file that has changed and removes generated pages of sections that no longer exist."""
    root = Path(__file__).resolve().parents[1]
    wanted = {root / path: text for path, text in files().items()}
    for old in (root / "docs/reference").glob("*.md"):
        if old not in wanted and NOTE in old.read_text(encoding="utf-8"):
            old.unlink()
            print(f"removed {old.relative_to(root)}")
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(root)}")


if __name__ == "__main__":
    main()
