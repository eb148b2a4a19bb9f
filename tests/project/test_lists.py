"""The table of CONTRIBUTING.md: a component, its facts and a cause of drops stand in one place.

Two kinds of tests hold it. No file names a component of another file, but for those listed here with their
reasons. And all that reads the core's lists knows a component that is added to them, with its facts.
"""

import ast
import json
import re
from pathlib import Path

import generate
import pytest
from conftest import ROOT, SMALL
from shallows import _core
from shallows.backends.linux import controls, loads, refusals
from shallows.backends.ns3 import command
from shallows.document import schema
from shallows.document.check import resolve
from shallows.document.settings import sources
from shallows.errors import SpecError
from shallows.packetdrill import settings
from shallows.tables import drops, laws, metric_names
from shallows.web.live import film

CORE = ROOT / "crates/core/src"
ROOMS = ("cc", "queue", "topology", "workload", "port_control", "routing/choice", "transport/entropy")

ALSO_WORDS = {
    "none",
    "graph",
    "messages",
    "datagrams",
    "table",
    "priority",
    "red",
    "kernel",
    "fq",
    "random",
    "flow",
    "weighted",
    "permutation",
}
"""Names of components that mean other things too, such as a table or a setting."""

NAMED = {
    "python/shallows/audit": "a second reading of the rules, which shares no name with the core",
    "crates/core/src/transport/datagram/settings.rs": "datagrams have the control that asks for nothing",
    "crates/core/src/transport/ndp/settings.rs": "NDP is made of its control and its discipline",
    "crates/core/src/transport/expresspass/settings.rs": "ExpressPass is made of its control and discipline",
    "crates/core/src/transport/homa/settings.rs": "Homa is made of its control; its hosts' ports have one",
    "crates/core/src/transport/uec/settings.rs": "hosts have a discipline, a setting a default",
    "crates/core/src/transport/profiles.rs": "a profile names the discipline of its hosts' ports",
    "crates/core/src/workload/schedules.rs": "an algorithm of collectives has the name of a network",
    "crates/spec/src/read.rs": "the discipline of hosts' ports where profiles differ",
    "crates/core/src/cc/kernel.rs": "the kernel's names of its own controls",
    "python/shallows/backends/linux/qdiscs.py": "translates each discipline that the kernel has",
    "python/shallows/backends/linux/handover.py": "says how each setting is known to have arrived",
    "python/shallows/backends/linux/controls.py": "settings that the kernel's controls fix",
    "python/shallows/backends/linux/scenario.py": "where the kernel marks, and which controls negotiate ECN",
    "python/shallows/backends/linux/tables.py": "the kernel's DCTCP reports its alpha",
    "python/shallows/backends/ns3/command.py": "translates what the program for ns-3 has",
    "python/shallows/studies/validation": "a study of chosen cells",
    "python/shallows/theory": "closed forms are named after what they describe",
    "python/shallows/attack/fabric/incast.py": "the closed form holds for one load and two disciplines",
    "python/shallows/attack/fabric/collisions.py": "choices of next hops that keep a flow on one path",
    "python/shallows/attack/fabric/placement.py": "collectives alone have placements",
    "python/shallows/web/editor/document.py": "bounds networks whose size is not the product of their counts",
}
"""Files that name components of other files, and the reason of each."""


def components():
    """Every component's name with the file that declares it."""
    found = {}
    for room in ROOMS:
        text = (CORE / room / "mod.rs").read_text()
        for name, file in re.findall(r'^ *"([a-z0-9-]+)" => \w+\((\w+)\)', text, re.MULTILINE):
            found.setdefault(name, set()).add(CORE / room / file)
    return {name: homes for name, homes in found.items() if name not in ALSO_WORDS}


def rust_words(path):
    """The texts of a file's shipped lines."""
    shipped = path.read_text().split("#[cfg(test)]")[0]
    for line in shipped.splitlines():
        if not line.strip().startswith("//"):
            yield from re.findall(r'"([a-z0-9-]+)"', line)


def python_words(path):
    """The texts that a file compares with, or lists."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            sides = [key for key in node.keys if key]
        elif isinstance(node, (ast.Tuple, ast.Set, ast.List)):
            sides = node.elts
        else:
            continue
        for side in sides:
            if isinstance(side, ast.Constant) and isinstance(side.value, str):
                yield side.value


def repeated():
    known = components()
    assert len(known) > 40
    rust = [
        path
        for path in [*CORE.rglob("*.rs"), *(ROOT / "crates/spec/src").rglob("*.rs")]
        if path.name not in ("mod.rs", "tests.rs", "test_bench.rs") and "tests" not in path.parts
    ]
    python = [
        path
        for path in (ROOT / "python/shallows").rglob("*.py")
        if path.name != "_classes.py" and "examples" not in path.parts
    ]
    for paths, words in ((rust, rust_words), (python, python_words)):
        for path in paths:
            for word in words(path):
                at_home = any(
                    path.is_relative_to(home) or path == home.with_suffix(".rs")
                    for home in known.get(word, ())
                )
                if word in known and not at_home:
                    yield str(path.relative_to(ROOT)), word


def test_no_file_names_a_component_of_another():
    found = set(repeated())
    places = {place for place in NAMED for file, _ in found if Path(file).is_relative_to(place)}
    surplus = {(file, word) for file, word in found if not any(Path(file).is_relative_to(p) for p in NAMED)}
    assert not surplus, "a component's facts stand in its own file: `facts { .. }` behind its settings"
    assert places == set(NAMED), "these name none any more"


def test_no_file_lists_the_causes_of_drops():
    columns = {cause.column for cause in drops.causes()} | {cause.name for cause in drops.causes()}
    for path in [*(ROOT / "python/shallows").rglob("*.py"), *(ROOT / "experiments").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.Tuple, ast.Set, ast.List, ast.Dict)):
                texts = node.keys if isinstance(node, ast.Dict) else node.elts
                listed = {text.value for text in texts if isinstance(text, ast.Constant)} & columns
                # Linux and ns-3 count three causes apart.
                assert len(listed) <= (3 if "backends" in path.parts else 1), f"{path}: {listed}"


def test_the_page_reads_the_columns_of_a_film_in_the_order_in_which_they_are_packed():
    script = (ROOT / "python/shallows/web/static/film.js").read_text()
    for name in ("PORT_METRICS", "FLOW_METRICS"):
        [words] = re.findall(rf"const {name} = (\[.*\]);", script)
        assert tuple(json.loads(words)) == getattr(film, name)


@pytest.fixture
def enlarged(monkeypatch):
    """The core's lists with a component more in each, and a cause more."""
    cached = (schema.schema, schema.components, drops.causes, laws.tables)
    whole = json.loads(_core.schema())
    for section in whole["sections"]:
        first = section["components"][0]
        facts = first["facts"] | {"example": {}, "elsewhere": {}, "fills": [], "closed_loop": False}
        if section["path"] == "traffic":
            more = {"closed_loop": True, "fills": ["rounds", "steps"]}
            section["components"] += [
                first | {"name": "dummy", "facts": facts},
                first | {"name": "dummy-answering", "facts": facts | more},
            ]
        elif section["path"] == "transport.cc":
            more = {"elsewhere": {"linux": "dumb", "ns3": "dumber"}, "runs_over": ["tcp", "read"]}
            section["components"].append(first | {"name": "dummy", "facts": facts | more})
        elif section["path"] in ("queue", "topology", "port_control", "transport"):
            section["components"].append(first | {"name": "dummy", "facts": facts | {"not_tcp": "dummies"}})
    whole["drop_causes"].append({"column": "drops_dummy", "at": "port", "why": "by a dummy"})
    text = json.dumps(whole)
    monkeypatch.setattr(_core, "schema", lambda: text)
    for function in cached:
        function.cache_clear()
    yield
    monkeypatch.undo()
    for function in cached:
        function.cache_clear()


def changed(*changes):
    """The small experiment, resolved, with values at these paths."""
    document = json.loads(json.dumps(resolve(SMALL | {"seed": 1})))
    for path, value in changes:
        *keys, last = path.split(".")
        table = document
        for key in keys:
            table = table[key]
        table[last] = value
    return document


@pytest.mark.parametrize("kind", ["dummy", "dummy-answering"])
def test_a_load_more_has_its_metrics_and_its_backends(enlarged, kind):
    document = changed(("traffic.long.kind", kind))
    answers = kind == "dummy-answering"
    names = metric_names.names(document)
    assert ("long.rounds" in names, "long.steps" in names) == (answers, answers)
    faults = [fault.path for fault in refusals.check(document)]
    assert ("traffic.long.kind" in faults) == answers
    assert loads.can_run(kind) != answers
    if answers:
        with pytest.raises(command.Refusal, match="has no dummy-answering"):
            command.arguments(document, [0])


def test_a_control_more_has_its_backends(enlarged):
    assert controls.controls()["dummy"] == "dumb" and settings.controls()["dumb"] == "dummy"
    assert controls.kernel_name({"cc": {"kind": "dummy"}}) == "dumb"
    assert schema.elsewhere("transport.cc", "ns3")["dummy"] == "dumber"


def test_a_transport_more_is_the_simulators_alone(enlarged):
    document = changed(("traffic.long.transport.profile", "dummy"))
    assert any("the simulator alone has dummies" in fault.rule for fault in refusals.check(document))
    with pytest.raises(command.Refusal, match="has no dummies, only TCP"):
        command.arguments(document, [0])


def test_a_cause_more_has_its_column_and_is_in_the_laws(enlarged):
    for name in ("queues", "inner_queues"):
        table = laws.tables()[name]
        assert "drops_dummy" in [column.name for column in table.columns]
        [balance] = [law for law in table.laws if law.startswith("packets_in = ")]
        [sum_of_causes] = [law for law in table.laws if law.startswith("drops = ")]
        assert "drops_dummy" in balance and "drops_dummy" in sum_of_causes


def test_generated_files_know_a_component_more(enlarged):
    files = {str(path): text for path, text in generate.files().items()}
    classes = files["python/shallows/experiment/_classes.py"]
    for section in ("queue", "topology", "traffic", "transport-cc", "port_control"):
        assert "## `dummy`" in files[f"docs/reference/{section}.md"], section
    assert "class DummyLoad" in classes and "class DummyQueue" in classes and "class DummyTopology" in classes
    assert "Runs over: TCP, READ." in files["docs/reference/transport-cc.md"]
    assert "drops_dummy" in files["docs/reference/tables.md"]
    json_schema = json.loads(files["experiments/experiment.schema.json"])
    assert json.dumps(json_schema).count('"dummy"') >= 5


def test_a_form_suggests_the_example_of_a_discipline():
    from shallows.web.pages.lab import _other_queue

    for kind, declared in schema.components("queue").items():
        made = _other_queue({"queue": "drop-tail"}, kind)
        required = {param["name"] for param in declared["params"] if param["required"]}
        assert required <= set(made), kind
        try:
            resolve(SMALL | {"queue": made, "seed": 1})
        except SpecError as refused:
            pytest.fail(f"{kind}: {refused}")


def test_a_setting_under_a_name_of_the_users_choice_has_its_source():
    priorities = {"0": {"quantum": "3000B"}}
    events = {"cut": {"at": "1ms", "link": "switch->r0", "state": "down"}}
    document = resolve(SMALL | {"event": events, "priority": priorities, "seed": 1})
    found = {path: source for path, _, _, source in sources(document)}
    for section in schema.named():
        mine = {path: source for path, source in found.items() if path.startswith(f"{section}.")}
        own = {path: source for path, source in mine.items() if path.count(".") == 2}
        assert all(own.values()) or section in ("traffic",), own
    assert found["event.cut.state"] and found["priority.0.quantum"]
