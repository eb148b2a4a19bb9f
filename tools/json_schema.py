"""The JSON Schema (2020-12) of experiment files, for editors: `make generate` writes it.

It follows from the declared parameters and from the models of the sections that Python reads.
Editors complete and check with it; the checker in Rust knows more, such as ranges of quantities with units.
"""

from __future__ import annotations

from typing import Any

from shallows.attack.space import AttackTable
from shallows.document.kernel_settings import LinuxTable
from shallows.document.summary import SummaryTable
from shallows.document.sweep import SweepTable
from shallows.studies.compare.section import CompareTable
from shallows.studies.tune.section import TuneTable

Json = dict[str, Any]

_FROM_FILES = ("points", "flows", "messages")
"""Required settings that may be read from a named file instead."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TEXTS = {
    "span": ("a time with its unit", "25us"),
    "rate": ("a rate with its unit", "10Gbps"),
    "bytes": ("an amount of data with its unit", "150KB"),
    "size": ("bytes or packets, with the unit", "65pkt"),
}
_PLAIN: dict[str, Json] = {
    "text": {"type": "string"},
    "count": {"type": "integer", "minimum": 0},
    "real": {"type": "number"},
    "flag": {"type": "boolean"},
    "names": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    "table": {"type": "object"},
}


def schema_of(sections: list[Json], inner: Json, chosen: Json, opened: tuple, named: tuple) -> Json:
    """The schema. `inner`, `chosen`, `opened` and `named` are what `generate` knows of the file's format."""
    made = _Maker({section["path"]: section for section in sections}, inner, chosen, opened, named)
    defs = {_name(path): made.section(path) for path in made.sections if path}
    top = made.table(made.sections[""]["components"][0], "")
    seeds = {"description": "A number of seeds from 1 on, or a list.", "type": ["integer", "array"]}
    top["properties"]["seeds"] = seeds
    models = {
        "attack": AttackTable,
        "sweep": SweepTable,
        "compare": CompareTable,
        "tune": TuneTable,
        "summary": SummaryTable,
        "linux": LinuxTable,
    }
    for key, model in models.items():
        one = model.model_json_schema(mode="validation", ref_template="#/$defs/{model}")
        defs |= one.pop("$defs", {})
        top["properties"][key] = one
    return {"$schema": DIALECT, "title": "An experiment of Shallows", **top, "$defs": defs}


def _name(path: str) -> str:
    return path.replace(".", "-")


class _Maker:
    def __init__(self, sections: dict[str, Json], inner: Json, chosen: Json, opened: tuple, named: tuple):
        self.sections, self._inner, self._chosen = sections, inner, chosen
        self._opened, self._named = opened, named

    def section(self, path: str) -> Json:
        """A section: its one table, or a table of any component, or a component's bare name."""
        components = self.sections[path]["components"]
        if path not in self._chosen:
            table = self.table(components[0], path)
            if path == "transport":
                return self._transports(components, table)
            return table
        names = [component["name"] for component in components]
        forms = [self.table(component, path, kind=True) for component in components]
        if path in self._opened:  # written in Python
            other = {"kind": {"type": "string", "not": {"enum": names}}}
            forms.append({"type": "object", "properties": other, "required": ["kind"]})
        if path not in self._named:
            forms.insert(0, {"type": "string"} if path in self._opened else {"enum": names})
        return {"anyOf": forms}

    def _transports(self, components: list[Json], tcp: Json) -> Json:
        """TCP's profiles, which share one table; a transport with other settings has a table of its own."""
        names = [param["name"] for param in components[0]["params"]]
        alike = [c["name"] for c in components if [param["name"] for param in c["params"]] == names]
        tcp["properties"]["profile"] = {"enum": alike, "description": "Sets all settings at once."}
        forms = [tcp]
        for component in components:
            if component["name"] not in alike:
                other = self.table(component, "transport")
                other["properties"]["profile"] = {"const": component["name"]}
                forms.append(other | {"required": ["profile"]})
        return {"anyOf": forms}

    def table(self, component: Json, path: str, kind: bool = False) -> Json:
        """A table of settings."""
        inner = self._inner.get(path, {})
        properties: Json = {"kind": {"const": component["name"]}} if kind else {}
        required = ["kind"] if kind else []
        for param in component["params"]:
            properties[param["name"]] = self._setting(param, path)
            if param["required"] and param["name"] not in (*inner, *_FROM_FILES):
                required.append(param["name"])
        for key, (at, about) in inner.items():
            if f"{path}.{key}" in self._chosen and path == "traffic" and key not in properties:
                continue  # only some workloads draw sizes
            properties[key] = {"description": about, **self._reference(at, path)}
        if path == "traffic":
            properties["class"] = {"type": "string", "description": "Class in the statistics."}
        table: Json = {"type": "object", "description": " ".join(component["doc"].split())}
        table |= {"properties": properties, "additionalProperties": False}
        return table | ({"required": required} if required and path != "" else {})

    def _reference(self, at: str, path: str) -> Json:
        to = {"$ref": f"#/$defs/{_name(at)}"}
        if path == "" and at in self._named:
            return {"type": "object", "additionalProperties": to}
        return {"anyOf": [to, {"const": "none"}]} if path in ("port", "traffic") else to

    def _setting(self, param: Json, path: str) -> Json:
        value = self._kind(param["kind"], param)
        if f"{path}.{param['name']}" in self.sections:
            value = {"anyOf": [{"$ref": f"#/$defs/{_name(path + '.' + param['name'])}"}, {"const": "none"}]}
        about = " ".join(param["doc"].split())
        if param["range"]:
            about += f" Range: {param['range']}."
        value = {"description": about} | value
        return value if param["default"] is None else value | {"default": param["default"]}

    def _kind(self, kind: str, param: Json) -> Json:
        if kind.endswith(" or none"):
            return {"anyOf": [self._kind(kind.removesuffix(" or none"), param), {"const": "none"}]}
        if kind.startswith("list of "):
            return {"type": "array", "items": self._kind(kind.removeprefix("list of "), param)}
        if kind == "choice":
            return {"enum": param["choices"]}
        if kind in _TEXTS:
            return {"type": "string", "pattern": r"^\s*[0-9].*[A-Za-z]\s*$", "examples": [_TEXTS[kind][1]]}
        known = {"examples": param["choices"]} if param["choices"] else {}
        return dict(_PLAIN[kind]) | known
