"""The kernel: built once from a Debian source package or a tree of your own, or given ready; then cached.

An interrupted build resumes. The name of a kernel is a hash of its source, of the edits and
the configuration, and of the compiler, so that a change of any makes another one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shallows.backends.linux import cache, source, tools
from shallows.backends.linux.bench import Bench, release_of
from shallows.backends.linux.cache import HERE
from shallows.backends.linux.gpl import edits
from shallows.document.places import program
from shallows.errors import Fault, ShallowsError, SpecError

FRAGMENT = HERE / "gpl" / "fragment.config"
FRAGMENTS = ("features", "debug")
"""The words for fragments of the package that `--config` takes, unless a file has this name."""

STEPS = 1430
"""Lines that make writes for Linux 7.2, which measure progress until a build has counted its own."""

UNPACK_S, CONFIGURE_S, COMPILE_S = 17.0, 8.5, 577.0
"""CPU seconds of the steps of a build of Linux 7.2.12, measured once; only the last uses several cores."""

SETTING = "linux.kernel"
"""The setting of a scheme of `compare` that names one."""

REFUSED_ON_PURPOSE = {"CONFIG_HZ_1000"}
"""Newer kernels ask for HZ where older have one for User-Mode Linux alone; one of the two is never taken."""

__all__ = [
    "SETTING",
    "Kernel",
    "build",
    "check_config",
    "choose",
    "clean",
    "find",
    "named",
    "running",
    "status",
]

Tell = Callable[[str], None]
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Kernel:
    """A built kernel: its static binary, its name, and its sources."""

    path: Path
    about: dict[str, Any]

    @property
    def hash(self) -> str:
        """Name of the kernel."""
        return self.about["hash"]

    @property
    def without(self) -> list[str]:
        """Options of the fragment that this kernel does not have; of a ready binary nothing is known."""
        return self.about.get("without", [])

    @property
    def release(self) -> tuple[int, int] | None:
        """The first two numbers of its version; None if it names none."""
        found = re.match(r"(\d+)\.(\d+)", self.about["version"])
        return (int(found[1]), int(found[2])) if found else None

    @property
    def weakness(self) -> str:
        """A weakness of this version that a user must know, or nothing."""
        if self.about["version"].startswith("6.1."):
            return "traces of Linux 6.1 differ between runs when its core is shared; 7.2 has no such weakness"
        return ""


def _kernels() -> Path:
    return cache.cache() / "kernels"


def find() -> Kernel | None:
    """The kernel that runs use: the one chosen last, by `build` or `adopt`."""
    try:
        name = (_kernels() / "current").read_text().strip()
        about = json.loads((_kernels() / name / "about.json").read_text())
    except (OSError, ValueError):
        return None
    path = _kernels() / name / "linux"
    return Kernel(path, about) if path.exists() else None


def named(text: str) -> Kernel:
    """The one kernel of the cache with this version, beginning of a hash, Debian package or tree.

    `7.2` is every 7.2.x. Raises SpecError if there is none, or several.
    """
    rows = [row for row in status() if _bears(row, text)]
    if len(rows) == 1:
        return Kernel(_kernels() / rows[0]["hash"] / "linux", rows[0])
    if rows:
        several = ", ".join(f"{row['hash']} ({row['source']})" for row in rows)
        raise SpecError([Fault(SETTING, f"names several kernels, so write the hash of one: {several}", text)])
    known = ", ".join(f"{row['version']} ({row['hash']})" for row in status()) or "none"
    hint = f"{program()} linux build --source PACKAGE, or --tree DIR"
    raise SpecError([Fault(SETTING, f"must be a kernel that has been built; there is {known}", text, hint)])


def _bears(row: dict[str, Any], text: str) -> bool:
    """Whether a kernel has this name. Beginnings of hashes have four digits at least."""
    version, sources = row["version"], (f"Debian's {text}", f"the tree {Path(text).resolve()}")
    is_version = version == text or version.startswith((f"{text}.", f"{text}-"))
    return is_version or (len(text) > 3 and row["hash"].startswith(text)) or row["source"] in sources


def status() -> list[dict[str, Any]]:
    """The facts about every kernel in the cache."""
    current = find()
    rows = []
    for file in sorted(_kernels().glob("*/about.json")):
        about = json.loads(file.read_text())
        rows.append(about | {"current": current is not None and current.hash == about["hash"]})
    return rows


def running() -> dict[str, Any] | None:
    """The build that runs now: its target, the share that is done, and its seconds so far."""
    if not cache.busy("build"):
        return None
    try:
        told = json.loads(_state().read_text())
    except (OSError, ValueError):
        return {"source": None, "share": 0.0, "elapsed_s": 0.0}
    return {"source": told["source"], "share": told["share"], "elapsed_s": time.time() - told["began"]}


def _state() -> Path:
    return cache.cache() / "build.json"


def _told(source: str, progress: Progress) -> Progress:
    """Progress that is also written down for `status`."""
    began, written = time.time(), 0.0

    def report(share: float) -> None:
        nonlocal written
        progress(share)
        if time.time() - written > 1 or share == 0:
            written = time.time()
            new = _state().with_suffix(f".{os.getpid()}")
            new.write_text(json.dumps({"source": source, "share": share, "began": began}))
            new.replace(_state())

    return report


def clean() -> int:
    """Removes all that the backend has built or fetched, and returns how many bytes it held."""
    place = cache.cache()
    held = sum(file.stat().st_size for file in place.rglob("*") if file.is_file() and not file.is_symlink())
    shutil.rmtree(place, ignore_errors=True)
    return held


def adopt(binary: Path) -> Kernel:
    """Takes a ready binary into the cache. Raises ShallowsError if it lacks time travel or seeded entropy."""
    try:
        said = subprocess.run([str(binary), "--help"], capture_output=True, text=True, timeout=20).stdout
        version = subprocess.run(
            [str(binary), "--version"], capture_output=True, text=True, timeout=20
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise ShallowsError(f"{binary} is not a kernel that runs as a program: {error}") from error
    if "time-travel" not in said or "uml_seed" not in said:
        raise ShallowsError(
            f"{binary} has no time travel, or no seeded entropy; ./shallows linux build makes one with both"
        )
    about = {"hash": cache.digest(binary), "version": version, "source": "a binary given by the user"}
    return _keep(binary, about)


def build(
    package: str | None,
    tree: Path | None,
    tell: Tell,
    progress: Progress,
    jobs: int,
    configs: Sequence[Path] = (),
) -> Kernel:
    """Builds from a Debian package (default linux-source-7.2) or an own tree, or finds it built.

    `configs` are laid over the package's own fragment of configuration, the last one above all.
    """
    tools.require(tools.BUILD | tools.GUEST | (tools.FETCH if tree is None else {}))
    with cache.locked("build", tell):
        progress = _told(str(tree or package or source.DEFAULT), progress)
        progress(0.0)
        compiler = tools.run("gcc", "--version").split("\n")[0]
        fragments = (FRAGMENT, *configs)
        recipe = (edits.recipe(), "\n".join(_wanted(fragments)).encode(), compiler.encode())
        if tree is not None:
            return _build_tree(tree, recipe, compiler, tell, progress, jobs, fragments)
        archive = source.fetch(package or source.DEFAULT, tell)
        name = cache.digest(archive, *recipe)
        found = _kernels() / name / "about.json"
        if found.exists():
            choose(name)
            return Kernel(found.parent / "linux", json.loads(found.read_text()))
        bench = Bench.of((package or source.DEFAULT).removeprefix("linux-source-"), recipe)
        bench.hold_archive(archive, tell)
        progress(_shares(jobs)[0])
        about = _make_kernel(bench, tell, progress, jobs, fragments)
        origin = f"Debian's {package or source.DEFAULT}" + _with(configs)
        kernel = _keep(bench.place / "linux", {"hash": name, "source": origin, "compiler": compiler} | about)
        bench.forget_sources()
        return kernel


def _with(configs: Sequence[Path]) -> str:
    """The fragments of a kernel's origin, in words."""
    return f" with {', '.join(each.name for each in configs)}" if configs else ""


def _build_tree(
    tree: Path,
    recipe: tuple[bytes, ...],
    compiler: str,
    tell: Tell,
    progress: Progress,
    jobs: int,
    fragments: Sequence[Path],
) -> Kernel:
    """Builds a kernel from copies of the user's tree: the tree itself is only read.

    Files that changed since the last build of this version are copied, and `make` compiles the dependants.
    The kernel's name is a hash of the result.
    """
    bench = Bench.of(release_of(tree), recipe)
    count = bench.hold_tree(tree, tell)
    if bench.objects.exists():
        tell(f"{count} files differ from those of the objects that are kept")
    about = _make_kernel(bench, tell, progress, jobs, fragments)
    origin = f"the tree {tree.resolve()}" + _with(fragments[1:])
    made = bench.place / "linux"
    return _keep(made, {"hash": cache.digest(made, *recipe), "source": origin, "compiler": compiler} | about)


def _make_kernel(
    bench: Bench, tell: Tell, progress: Progress, jobs: int, fragments: Sequence[Path]
) -> dict[str, Any]:
    """Configures, compiles; leaves `linux` on the bench and returns what it is."""
    sources, objects = bench.sources, bench.objects
    objects.mkdir(parents=True, exist_ok=True)
    try:
        missed = json.loads(bench.configured.read_text())
    except (OSError, ValueError):
        missed = _configure(sources, objects, fragments)
        bench.configured.write_text(json.dumps(missed))
    if missed:
        tell(f"this kernel does not have {', '.join(missed)}")
    before = _shares(jobs)[1]
    progress(before)
    _compile(sources, objects, lambda share: progress(before + (1 - before) * share), jobs)
    tools.run("strip", "-o", bench.place / "linux", objects / "linux")
    version = (objects / "include/config/kernel.release").read_text().strip()
    shutil.copyfile(objects / ".config", bench.place / "config")
    return {"version": version, "without": missed}


def _shares(jobs: int) -> tuple[float, float]:
    """The shares of a build's time until its sources are unpacked, and until they are configured."""
    whole = UNPACK_S + CONFIGURE_S + COMPILE_S / jobs
    return UNPACK_S / whole, (UNPACK_S + CONFIGURE_S) / whole


def _keep(binary: Path, about: dict[str, Any]) -> Kernel:
    place = _kernels() / about["hash"]
    new = _kernels() / f".new-{about['hash']}-{os.getpid()}"
    new.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(binary, new / "linux")
    (new / "linux").chmod(0o755)
    config = binary.parent / "config"
    if config.exists() and binary.name == "linux":
        shutil.copyfile(config, new / "config")
    (new / "about.json").write_text(json.dumps(about, indent=1))
    cache.put(new, place)
    choose(about["hash"])
    return Kernel(place / "linux", about)


def choose(name: str) -> None:
    """Makes a kernel of the cache the one that runs use."""
    new = _kernels() / f".current-{os.getpid()}"
    new.write_text(name + "\n")
    new.replace(_kernels() / "current")


def _make(sources: Path, objects: Path, *words: str) -> list[str]:
    return ["make", "-C", str(sources), "ARCH=um", f"O={objects}", *words]


_REPEATABLE = {
    "KBUILD_BUILD_TIMESTAMP": "2020-01-01",
    "KBUILD_BUILD_USER": "shallows",
    "KBUILD_BUILD_HOST": "shallows",
}


def _configure(sources: Path, objects: Path, fragments: Sequence[Path]) -> list[str]:
    """Configures, and returns what the fragments ask for that this kernel does not have."""
    merge = [
        str(sources / "scripts/kconfig/merge_config.sh"),
        "-m",
        "-O",
        str(objects),
        str(objects / ".config"),
        *(str(fragment) for fragment in fragments),
    ]
    for command in (_make(sources, objects, "defconfig"), merge, _make(sources, objects, "olddefconfig")):
        ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | _REPEATABLE)
        if ran.returncode:
            raise ShallowsError(f"the kernel was not configured: {(ran.stderr or ran.stdout).strip()[-600:]}")
    taken = (objects / ".config").read_text().splitlines()
    wanted = [line for line in _wanted(fragments) if line.endswith("=y")]
    return [line[:-2] for line in wanted if line not in taken and line[:-2] not in REFUSED_ON_PURPOSE]


def _wanted(fragments: Sequence[Path] = (FRAGMENT,)) -> list[str]:
    """The options that fragments set and unset, the last one above all, without their comments."""
    found: dict[str, str] = {}
    for line in (line.strip() for fragment in fragments for line in fragment.read_text().splitlines()):
        if option := re.match(r"(?:# )?(CONFIG_\w+)(?:=| is not set)", line):
            found[option[1]] = line
    return list(found.values())


def check_config(file: Path) -> Path:
    """A fragment of configuration, whose lines are all options or comments. Raises SpecError."""
    if str(file) in FRAGMENTS and not file.exists():
        file = HERE / "gpl" / f"{file}.config"
    try:
        lines = [line.strip() for line in file.read_text().splitlines()]
    except (OSError, ValueError) as error:
        raise SpecError([Fault("--config", f"cannot be read: {error}", file)]) from None
    option = re.compile(r"CONFIG_\w+=\S.*|#.*|")
    wrong = [line for line in lines if not option.fullmatch(line)]
    if wrong:
        raise SpecError(
            [Fault("--config", "has a line that is neither CONFIG_NAME=VALUE nor # ...", wrong[0])]
        )
    if not any(line.startswith(("CONFIG_", "# CONFIG_")) for line in lines):
        raise SpecError([Fault("--config", "sets no option, as in CONFIG_IPV6=y", file)])
    return file.resolve()


def _compile(sources: Path, objects: Path, progress: Progress, jobs: int) -> None:
    log, counted = objects.parent / "build.log", cache.cache() / "steps"
    # The number of the build is in the kernel, and is counted there: the same sources make the same kernel.
    (objects / ".version").unlink(missing_ok=True)
    # Six steps in ten leave an object (866 of 1429): the objects of an interrupted build are kept.
    before = sum(1 for _ in objects.rglob("*.o"))
    total = max(_steps(counted) - before * 10 // 6, 1)
    command = _make(sources, objects, f"-j{jobs}", "linux")
    count = 0
    with log.open("w") as file, _group(command) as making:
        for line in making.stdout:
            file.write(line)
            if line.startswith("  "):  # a step, as in "  CC      net/ipv4/tcp.o"
                count += 1
                progress(min(count / total, 0.99))
    if making.returncode:
        tail = "".join(log.read_text().splitlines(keepends=True)[-15:])
        raise ShallowsError(f"the kernel was not compiled; the end of {log}:\n{tail}")
    if not before:
        counted.write_text(f"{count}\n")
    progress(1.0)


def _steps(counted: Path) -> int:
    """How many steps the last whole build had, which another will have about."""
    try:
        return int(counted.read_text())
    except (OSError, ValueError):
        return STEPS


class _group:  # noqa: N801 - used as a function
    """A process group that ends with the block, however the block ends."""

    def __init__(self, command: list[str]):
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            env=os.environ | _REPEATABLE,
            start_new_session=True,
        )

    def __enter__(self) -> subprocess.Popen[str]:
        return self.process

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        import signal

        if error is not None:
            os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait()
