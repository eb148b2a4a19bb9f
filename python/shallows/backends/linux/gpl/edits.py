# SPDX-License-Identifier: GPL-2.0-only
"""Edits of User-Mode Linux's sources that make it a network stack in exact virtual time; all in arch/.

Each is applied once; a tree in which neither the old nor the new text is found is refused, not guessed at.
Run as a program: `edits.py TREE`.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path


class UnknownTree(Exception):
    """The sources are not as the edits expect them."""


@dataclass(frozen=True)
class Edit:
    """Replaces the one match of `old` in `file` by `new`; `done` is text that shows it has been done."""

    why: str
    file: str
    old: str
    new: str
    done: str

    def apply(self, tree: Path) -> bool:
        """Whether the file was changed. Raises UnknownTree."""
        path = tree / self.file
        try:
            text = path.read_text()
        except OSError as error:
            raise UnknownTree(
                f"{path} cannot be read, so this is no kernel source with User-Mode Linux"
            ) from error
        if self.done in text:
            return False
        changed, count = re.subn(
            self.old, lambda match: match.expand(self.new), text, flags=re.MULTILINE | re.DOTALL
        )
        if count != 1:
            raise UnknownTree(f"{path}: expected one place to edit ({self.why}) and found {count}")
        times = path.stat()
        path.write_text(changed)
        # As old as before, so that a tree that is edited anew is not compiled anew.
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return True


_SEEDED_ENTROPY = r"""static unsigned long long seeded_state;
static int seeded;

static int __init seeded_setup(char *line, int *add)
{
	seeded_state = strtoull(line, NULL, 0);
	seeded = 1;
	return 0;
}

__uml_setup("uml_seed=", seeded_setup,
"uml_seed=<number>\n"
"    Draws what the host's getrandom() would give from splitmix64, started\n"
"    at this number, so that a run can be repeated.\n\n");

/* Steele, Lea and Flood 2014, figure 16. */
static unsigned char seeded_byte(void)
{
	static unsigned long long word;
	static unsigned int left;

	if (!left) {
		unsigned long long z = seeded_state += 0x9e3779b97f4a7c15ULL;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
		word = z ^ (z >> 31);
		left = sizeof(word);
	}
	return word >> (8 * --left);
}

ssize_t os_getrandom(void *buf, size_t len, unsigned int flags)
{
	unsigned char *byte = buf;
	size_t i;

	if (!seeded)
		return getrandom(buf, len, flags);
	for (i = 0; i < len; i++)
		byte[i] = seeded_byte();
	return len;
}
"""

_TIME_OF_CALLS = r"""static unsigned long call_ns;

static int __init call_ns_setup(char *line)
{
	return !kstrtoul(line, 0, &call_ns);
}

__setup("uml_call_ns=", call_ns_setup);
__uml_help(call_ns_setup,
"uml_call_ns=<nanoseconds>\n"
"    The time that a system call of a program takes in time travel with an\n"
"    infinite processor. Process 1 has all of its own for nothing.\n\n");

/*
 * A program that polls would stop the time of the whole machine, so its calls
 * take some; a failed call takes a microsecond at least. The program sleeps,
 * so that interrupts and other programs stay on time. Process 1 is not to be
 * late for its next event, and its loop waits for events alone.
 */
static void take_time(int failed)
{
	ktime_t span = call_ns;

	if (is_global_init(current)) {
		if (failed)
			schedule();
		return;
	}
	if (failed && span < NSEC_PER_USEC)
		span = NSEC_PER_USEC;
	if (span) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule_hrtimeout(&span, HRTIMER_MODE_REL);
	}
}

void handle_syscall("""

TIMER = "arch/um/include/linux/time-internal.h"
CALLS = "arch/um/kernel/skas/syscall.c"

EDITS = (
    Edit(
        "HZ 1000, as servers have; older kernels have no choice of it here",
        "arch/um/Kconfig",
        r"^(config HZ\n\tint\n\tdefault) 100$",
        r"\1 1000",
        "config HZ\n\tint\n\tdefault 1000",
    ),
    # It is also what a reading of the clock takes: little, as work takes nothing, and enough for a program
    # that polls the clock to see it move.
    Edit(
        "clock steps of 1 ns: a full frame lasts 1211 ns at 10 Gb/s, and 256 ns steps would distort it",
        TIMER,
        r"^#define TIMER_MULTIPLIER\s+256$",
        "#define TIMER_MULTIPLIER 1",
        "#define TIMER_MULTIPLIER 1\n",
    ),
    Edit(
        "timers of 1 ns and more",
        TIMER,
        r"^#define TIMER_MIN_DELTA\s+500$",
        "#define TIMER_MIN_DELTA 1",
        "#define TIMER_MIN_DELTA 1\n",
    ),
    Edit(
        "entropy from a seed",
        "arch/um/os-Linux/util.c",
        r"^ssize_t os_getrandom\([^)]*\)\n\{.*?^\}\n",
        _SEEDED_ENTROPY.replace("\\", r"\\"),
        "uml_seed=",
    ),
    Edit(
        "headers of the seeded entropy",
        "arch/um/os-Linux/util.c",
        r"^#include <os.h>\n",
        "#include <init.h>\n#include <os.h>\n",
        "#include <init.h>",
    ),
    # The kernel gives each failed call a microsecond with interrupts off. At 100 Gb/s those are eight frames
    # that a port sends late and then at once, for each EAGAIN of the guest's program.
    Edit(
        "calls of programs take time, calls of process 1 take none and delay no interrupt",
        CALLS,
        r"^void handle_syscall\(",
        _TIME_OF_CALLS.replace("\\", r"\\"),
        "take_time(int failed)",
    ),
    Edit(
        "the time that calls take",
        CALLS,
        r"\t\tif \(IS_ERR_VALUE\(ret\) &&\s*\(time_travel_mode == TT_MODE_INFCPU \|\|\s*"
        r"time_travel_mode == TT_MODE_EXTERNAL\)\) \{\s*um_udelay\(1\);\s*schedule\(\);\s*\}",
        "\t\tif (time_travel_mode == TT_MODE_INFCPU ||\n\t\t    time_travel_mode == TT_MODE_EXTERNAL)\n"
        "\t\t\ttake_time(IS_ERR_VALUE(ret));",
        "\t\t\ttake_time(IS_ERR_VALUE(ret));",
    ),
    Edit(
        "headers of the time that calls take",
        CALLS,
        r"^#include <linux/kernel.h>\n",
        "#include <linux/kernel.h>\n#include <linux/hrtimer.h>\n#include <linux/init.h>\n"
        "#include <linux/sched.h>\n#include <init.h>\n",
        "#include <linux/hrtimer.h>",
    ),
)

# Before 6.13 the buffer of floating-point registers has a fixed size of 2696 bytes, less than hosts with AMX
# have; ptrace then refuses to restore them and init dies. It holds all but AMX, so a padded copy is restored.
OLD_REGISTERS = "arch/x86/um/os-Linux/registers.c"
OLD_REGISTERS_EDITS = (
    Edit(
        "a padded copy of the registers",
        OLD_REGISTERS,
        r"^int restore_fp_registers\(",
        "static unsigned long padded_registers[8192];\n\nint restore_fp_registers(",
        "padded_registers[8192]",
    ),
    Edit(
        "restoring from the padded copy",
        OLD_REGISTERS,
        r"(int restore_fp_registers\(.*?)iov\.iov_base = fp_regs;\n"
        r"(\s*)iov\.iov_len = FP_SIZE \* sizeof\(unsigned long\);",
        r"\1memcpy(padded_registers, fp_regs, FP_SIZE * sizeof(unsigned long));\n"
        r"\2/* XSTATE_BV: only what the buffer holds (x87, SSE, AVX, AVX-512, PKRU). */\n"
        r"\2padded_registers[64] &= 0x2e7;\n"
        r"\2iov.iov_base = padded_registers;\n\2iov.iov_len = sizeof(padded_registers);",
        "sizeof(padded_registers)",
    ),
    Edit(
        "memcpy",
        OLD_REGISTERS,
        r"^#include <errno.h>\n",
        "#include <errno.h>\n#include <string.h>\n",
        "<string.h>",
    ),
)


FILES = frozenset(edit.file for edit in EDITS + OLD_REGISTERS_EDITS)
"""All that may be edited."""


def recipe() -> bytes:
    """All that is changed, without the reasons: part of a kernel's name."""
    every = EDITS + OLD_REGISTERS_EDITS
    return "\0".join(text for edit in every for text in (edit.file, edit.old, edit.new)).encode()


def edit_tree(tree: Path) -> list[str]:
    """Applies all edits and returns why, for each file that was changed. Raises UnknownTree."""
    edits = EDITS
    offsets = tree / "arch/x86/um/user-offsets.c"
    if offsets.exists() and "HOST_FP_SIZE, 2696" in offsets.read_text():
        edits += OLD_REGISTERS_EDITS
    return [f"{edit.file}: {edit.why}" for edit in edits if edit.apply(tree)]


if __name__ == "__main__":
    print("\n".join(edit_tree(Path(sys.argv[1]))))
