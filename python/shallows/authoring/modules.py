"""Components written in Python: found in modules, declared to the checker, given to runs.

An experiment names modules (`[python] modules = ["my_cc.py"]`, paths relative to its file), or is given
classes. Their declarations are written into the document as `python.components`, with a hash of the sources:
part of what is checked, recorded and hashed, so that an edited algorithm never serves stale results.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from shallows.authoring.base import CongestionControl, Graph, Workload
from shallows.authoring.declaration import declaration
from shallows.authoring.fingerprint import code_digest, file_digest, sources
from shallows.errors import Fault, PluginError, SpecError

__all__ = ["add", "fill_in", "learn", "objects", "of_modules", "paths"]

_objects: dict[tuple[str, str, str], Any] = {}
"""Classes and functions of this process by module, name and hash of their sources."""

_paths: dict[tuple[str, str], str] = {}
"""Where the modules with these sources are, for other processes."""

_helpers: set[str] = set()
"""Names of modules that stood beside a user's module and were imported for it."""


# ---- modules that an experiment names ----


def of_modules(document: dict[str, Any], base: Path | None = None) -> None:
    """Declares in `document` what its `python.modules` hold; paths are relative to `base`.

    Existing declarations stay. Raises SpecError with the faults of all modules.
    """
    python = document.get("python")
    if not isinstance(python, Mapping) or "components" in python:
        return
    names = python.get("modules", [])
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return  # the checker reports its faults
    components: list[dict[str, Any]] = []
    faults: list[Fault] = []
    for name in names:
        try:
            components += _load(name, (base or Path()) / name)
        except SpecError as error:
            faults += error.faults
    if faults:
        raise SpecError(faults)
    document["python"] = {**python, "components": components}


def add(document: dict[str, Any], algorithms: Iterable[Any]) -> None:
    """Declares classes and topology functions in `document`. Raises SpecError for other objects."""
    found = []
    for algorithm in algorithms:
        file = sys.modules[algorithm.__module__].__dict__.get("__file__")
        if file and algorithm.__module__ != "__main__":
            module, digest = Path(file).name, file_digest(sources(Path(file)))
            _paths[module, digest] = str(Path(file).resolve())
        else:
            module, digest = algorithm.__module__, code_digest(algorithm)
        found.append(_declare(algorithm, module, digest))
    if found:
        python = dict(document.get("python", {}))
        document["python"] = python | {"components": [*python.get("components", []), *found]}


def fill_in(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with the network that its topology function makes, if it names one.

    An exception of the function is raised as it is. Raises PluginError if it returns no Graph.
    """
    filled = dict(document)
    of_modules(filled)
    topology = filled.get("topology")
    table = {"kind": topology} if isinstance(topology, str) else topology
    if not isinstance(table, Mapping) or "graph" in table:
        return filled
    for component in _components(filled):
        if component.get("section") == "topology" and component.get("name") == table.get("kind"):
            from shallows import _core

            try:
                values = _core.read_settings(json.dumps(component), "topology", json.dumps(table))
            except SpecError:
                return filled  # the checker finds the same faults
            graph = _call(_object(component), component, values)
            filled["topology"] = {**table, "graph": graph.to_document()}
    return filled


def objects(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """The classes that a resolved experiment needs in order to run, by `module:class`.

    Raises SpecError for a module that is not here, or not with the sources that the experiment names.
    """
    wanted = [one for one in _components(experiment) if one["section"] != "topology"]
    return {f"{one['module']}:{one['class']}": _object(one) for one in wanted}


def paths(experiment: Mapping[str, Any]) -> dict[tuple[str, str], str] | None:
    """Where another process finds the modules of an experiment; None if some class is in no file."""
    wanted = [(one["module"], one["source_hash"]) for one in _components(experiment)]
    return {key: _paths[key] for key in wanted} if all(key in _paths for key in wanted) else None


def learn(known: Mapping[tuple[str, str], str]) -> None:
    """Takes over the answer of `paths` in another process."""
    _paths.update(known)


def _components(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    python = document.get("python")
    components = python.get("components", []) if isinstance(python, Mapping) else []
    return [one for one in components if isinstance(one, dict)] if isinstance(components, list) else []


def _object(component: Mapping[str, Any]) -> Any:
    module, name, digest = component["module"], component["class"], component["source_hash"]
    if (module, name, digest) not in _objects:
        at = Path(_paths.get((module, digest), module))
        fault = f"is not installed here; the experiment needs it for {component['name']}"
        if not at.exists():
            raise SpecError([Fault("python.components", fault, module)])
        _load(module, at)
        if (module, name, digest) not in _objects:
            rule = f"has changed since this experiment was made, or lacks {name}"
            raise SpecError([Fault("python.components", rule, module, "run the experiment's file again")])
    return _objects[module, name, digest]


def _call(function: Callable[..., Any], component: Mapping[str, Any], values: dict[str, Any]) -> Graph:
    try:
        graph = function(**values)
    except (Exception, SystemExit) as error:
        code = function.__code__.co_filename
        rule = f"{component['name']} of {component['module']} failed: {_said(error)}{_line(error, code)}"
        raise SpecError([Fault("topology", rule)]) from error
    if not isinstance(graph, Graph):
        raise PluginError(f"the topology {component['name']} returned {graph!r}, not a shallows.Graph")
    return graph


# ---- modules ----


def _load(name: str, path: Path) -> list[dict[str, Any]]:
    """The declarations of a module, imported unless it was with the same sources."""
    try:
        files = sources(path)
    except OSError as error:
        from shallows.words import did_you_mean

        near = did_you_mean(path.name, (p.name for p in path.parent.glob("*.py")))
        rule = f"cannot be read: {error.strerror}"
        raise SpecError([Fault("python.modules", rule, name, near)]) from None
    except SyntaxError as error:
        rule = f"is not Python: {error.msg} (line {error.lineno} of {Path(error.filename or path).name})"
        raise SpecError([Fault("python.modules", rule, name)]) from None
    digest = file_digest(files)
    module = _import(path.resolve(), digest, files)
    _paths[name, digest] = str(path.resolve())
    found = [_declare(one, name, digest) for one in _declared_by(module)]
    if not found:
        rule = "declares nothing: no CongestionControl, no Workload, no @shallows.topology"
        raise SpecError([Fault("python.modules", rule, name)])
    return found


def _import(path: Path, digest: str, files: Iterable[Path]) -> types.ModuleType:
    alias = f"shallows_user_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}_{digest}"
    if alias in sys.modules:
        return sys.modules[alias]
    # Helpers beside the module are imported under their own names: those of another directory, or of
    # before an edit, make room.
    names = {".".join(file.relative_to(path.parent).with_suffix("").parts) for file in files if file != path}
    for name in names & _helpers:
        sys.modules.pop(name, None)
    _helpers.update(name for name in names if name not in sys.modules)
    spec = importlib.util.spec_from_file_location(alias, path)
    if spec is None or spec.loader is None:
        raise SpecError([Fault("python.modules", "must be a Python file", path.name)])
    module = importlib.util.module_from_spec(spec)
    sys.modules[alias] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        del sys.modules[alias]
        raise
    except BaseException as error:  # sys.exit too, which would end this program without a word
        del sys.modules[alias]
        rule = f"cannot be imported: {_said(error)}{_line(error, str(path))}"
        raise SpecError([Fault("python.modules", rule, path.name)]) from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def _said(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"it called sys.exit({error.code})"
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _line(error: BaseException, path: str) -> str:
    """The line of the user's file that raised it."""
    at, line = error.__traceback__, None
    while at is not None:
        if at.tb_frame.f_code.co_filename == path:
            line = at.tb_lineno
        at = at.tb_next
    return f" (line {line})" if line else ""


def _declared_by(module: types.ModuleType) -> Iterator[Any]:
    for value in vars(module).values():
        if getattr(value, "__module__", None) != module.__name__:
            continue  # imported from elsewhere
        if isinstance(value, type) and issubclass(value, CongestionControl | Workload):
            if not value.__name__.startswith("_"):
                yield value
        elif inspect.isfunction(value) and hasattr(value, "_shallows_topology"):
            yield value


def _declare(thing: Any, module: str, digest: str) -> dict[str, Any]:
    component = declaration(thing) | {"module": module, "source_hash": digest}
    _objects[module, component["class"], digest] = thing
    return component
