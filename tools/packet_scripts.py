"""The kernel's own packet scripts: their page and record (`packet_scripts.py VERSION [PACKETDRILL KERNEL]`).

The record is `python/shallows/packetdrill/kernel.toml`. It is written anew when scripts or simulator have
changed, and its difference is read: a script that fails needs its cause written behind its name.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

from shallows.packetdrill import kernel, on_linux
from shallows.packetdrill.run import Outcome, files, run

HEAD = """# The simulator and the kernel's own packet scripts ({inside}), by name.
# Written by tools/packet_scripts.py and read by hand; `./shallows packetdrill --selftests` compares, and
# docs/validation/packetdrill.md is made from it.

version = "{version}"
digest = "{digest}"
passes = [
{passes}]

# The cause of each failure.
[fails]
{fails}
# The features that a script needs and the simulator does not have, the chief one first.
[needs]
{needs}
# The scripts that do not pass on Linux itself in virtual time, with what packetdrill said.
[linux]
{linux}"""

INTRO = """# The kernel's packet scripts

<!-- {note} -->

Linux tests its TCP with [packetdrill](../how-to/packet-script.md) scripts, in `{inside}` of its source.
They run here against the simulator's sender and receiver with `profile = "linux"`.
They are GPL and not copied.

<!-- not run: fetches the kernel's source -->
```sh
./shallows packetdrill --selftests
```

The command fetches the source of `./shallows linux build` if it is missing, and compares with this page.
Of the {all} scripts of Linux {version}, {applying} exercise only what the simulator has.
{passing} of these pass{failing}.

- Each packet is compared by its time, flags, numbers, acknowledgement, SACK blocks and ECN codepoint.
  PSH is not compared.
- Times may differ as in packetdrill: by 4 ms, or by 12.5 % of the wait if that is more.
- Segments that leave together match one larger packet of a script, as after segmentation by hardware.
- Sizes of super-packets are therefore not compared, and sysctls about them mean nothing.
"""


LINUX = """
## On Linux itself

<!-- not run: needs packetdrill and a kernel with TUN -->
```sh
./shallows packetdrill --selftests --backend both --program FILE
```

packetdrill itself runs them [on Linux](../how-to/packet-script.md#on-linux-itself) in virtual time too,
over IPv4 or the version that a script names. {passing} of {all} pass there.
The next sections are about the simulator; the command prints one table of both.
"""


def record(version: str, digest: str, outcomes: list[Outcome], linux: dict[str, str]) -> str:
    """The record of the outcomes of all scripts; `linux` has those that do not pass on Linux, and why."""
    by_word = defaultdict(list)
    for one in outcomes:
        by_word[one.word].append(one)
    known = kernel.table().fails
    return HEAD.format(
        inside=kernel.INSIDE,
        version=version,
        digest=digest,
        passes="".join(f'    "{one.path.stem}",\n' for one in by_word["pass"]),
        fails="".join(
            f"{one.path.stem} = {json.dumps(known.get(one.path.stem, str(one.fault)))}\n"
            for one in by_word["fail"]
        ),
        linux="".join(f'"{name}" = {json.dumps(said)}\n' for name, said in linux.items()),
        needs="".join(f'"{one.path.stem}" = {json.dumps(one.features)}\n' for one in by_word["refused"]),
    )


def page(note: str) -> str:
    """The page of the documentation."""
    table = kernel.table()
    passing, failing, refused = len(table.passes), len(table.fails), len(table.needs)
    text = INTRO.format(
        note=note,
        inside=kernel.INSIDE,
        version=table.version,
        all=passing + failing + refused,
        applying=passing + failing,
        passing=passing if failing else "All",
        failing=f", and {failing} fail" if failing else "",
    )
    on_it = passing + failing + refused - len(table.linux)
    text += LINUX.format(passing="All" if not table.linux else on_it, all=passing + failing + refused)
    if table.linux:
        rows = "".join(f"| `{name}` | {said} |\n" for name, said in table.linux.items())
        text += f"\n| script | what packetdrill says |\n|---|---|\n{rows}"
    text += "\n## Scripts that pass\n\n" + "".join(f"- `{name}`\n" for name in table.passes)
    if table.fails:
        rows = "".join(f"| `{name}` | {cause} |\n" for name, cause in table.fails.items())
        text += f"\n## Scripts that fail\n\n| script | cause |\n|---|---|\n{rows}"
    chief = defaultdict(list)
    for name, features in table.needs.items():
        chief[features[0]].append((name, features[1:]))
    text += "\n## Scripts that do not apply\n\nEach needs what the simulator does not have.\n"
    text += "\n| feature | scripts | number |\n|---|---|---:|\n"
    for feature, scripts in sorted(chief.items(), key=lambda item: (-len(item[1]), item[0].lower())):
        names = ", ".join(f"`{name}`" + (f" ({'; '.join(also)})" if also else "") for name, also in scripts)
        text += f"| {feature} | {names} | {len(scripts)} |\n"
    return text


def main() -> None:
    """Writes the record anew: a version, and packetdrill and a kernel where Linux itself is asked too."""
    place = kernel.scripts(print)
    outcomes = [run(path) for path in files([place])]
    linux = kernel.table().linux
    if len(sys.argv) > 3:
        binary = on_linux.program(Path(sys.argv[2]))
        ran = on_linux.run(files([place]), binary, on_linux.usable(sys.argv[3]))
        linux = {one.path.stem: one.said for one in ran if one.word != "pass"}
    target = Path(kernel.__file__).with_suffix(".toml")
    target.write_text(record(sys.argv[1], kernel.digest(place), outcomes, linux), encoding="utf-8")


if __name__ == "__main__":
    main()
