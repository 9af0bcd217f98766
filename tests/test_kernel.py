"""The kernel image (guest/kernel) under programs: `node.software.kernel`.

Use this when the kernel, traps and interrupts, or what the simulator does for a kernel changes.
crates/hart/tests/supervisor.rs and crates/node/tests/kernel.rs look at the hart and the node.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from conftest import ROOT, Compiler, Run
from simulated import EXAMPLES, TRANSLATED, command, example
from test_determinism import EXECUTED, THREADS, WINDOWS, check
from test_guest_library import Case, Programs, failures, on, programs

from chasqui import core, firmware

__all__ = ["programs"]

pytestmark = pytest.mark.core

KERNEL = ["--set", "node.software.kernel=true"]
ON = ["--machine", "voyager", *KERNEL]
SOURCES = ROOT / "tests" / "kernel"
SEED = os.environ.get("SEED", "1")
VARIATIONS = {
    "again": [],
    **EXECUTED,
    "by the reference": ["--set", "check.executor=reference"],
    "translated": TRANSLATED,
    "profile": ["--profile"],
    "2 threads": THREADS["2 threads"],
    **WINDOWS,
}
FAULTS = """\
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static int deep(volatile char *up)
{
    volatile char here[1 << 16];
    here[0] = up ? up[0] + 1 : 0;
    return deep(here) + here[0];
}
int main(int count, char **arguments)
{
    switch (atoi(arguments[1])) {
    case 0: *(volatile int *)8 = 1; break;
    case 1: abort();
    case 2: __asm__ volatile("csrr a0, sstatus"); break;
    case 3: __asm__ volatile("ebreak"); break;
    case 4: *(volatile int *)0xffffffff80001000 = 1; break;
    case 5: ((void (*)(void))0xffffffff80001000)(); break;
    case 6: return deep(0);
    case 7: return write(1, (void *)16, 4) < 0 ? 7 : 0;
    case 8: raise(SIGTERM); break;
    case 9: __asm__ volatile("amoadd.w a0, a0, (%0)" ::"r"(arguments[0] + 1)); break;
    }
    return count;
}
"""


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_same_bits(examples: Path, tmp_path: Path, name: str) -> None:
    """And the example's answer, which it checks."""
    check(tmp_path, [*KERNEL, *example(examples, name, "voyager")], VARIATIONS, 0)
    assert f"{name}: PASSED\n" in (tmp_path / "again" / "stdout.0").read_text()


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=" ".join([case.program, *case.arguments])) for case in on("voyager")],
)
def test_the_library(programs: Programs, tmp_path: Path, case: Case) -> None:
    few = case._replace(ranks=case.ranks[-1:])
    assert failures(programs, tmp_path, ON, few) == ""


def test_calls_are_served_alike(compile_c: Compiler, tmp_path: Path) -> None:
    """Faults and signals end the program at the same instruction with the same words, at another
    time."""
    program = compile_c("kernel_faults", FAULTS)

    def outcome(number: int, *options: str) -> tuple[int, str, bool]:
        name = f"{number}{len(options)}"
        run = ["run", "--out", name, "--machine", "voyager", *options]
        done = command(*run, "--", program, str(number), directory=tmp_path)
        summary = json.loads((tmp_path / name / "summary.json").read_text())
        message = summary["message"] or ""
        # The kernel's symbols are known where it runs.
        text = message.partition(": ")[2].replace("0xffffffff80001000 (", "0xffffffff80001000")
        return done.returncode, text.split(" (")[0], "pc 0x" in message

    for number in range(10):
        assert outcome(number) == outcome(number, *KERNEL), number


def counted(run: Path, group: str, name: str) -> int:
    return int(json.loads((run / "stats.json").read_text())["node00000"][group][name]["value"])


def test_what_a_system_call_costs_is_the_kernels_code(compile_c: Compiler, tmp_path: Path) -> None:
    """`node.software.syscall` and `page_fault` count for nothing; cycles of traps do."""
    text = "#include <unistd.h>\nint main(void) { for (int i = 0; i < 1000; i++) getppid(); }\n"
    program = compile_c("kernel_calls", text)

    def cycles(name: str, *sets: str) -> int:
        options = [word for each in sets for word in ("--set", each)]
        run = ["run", "--out", name, "--machine", "voyager", *options, "--", str(program)]
        assert command(*run, directory=tmp_path).returncode == 0
        return int(json.loads((tmp_path / name / "summary.json").read_text())["ranks"][0]["cycles"])

    kernel = "node.software.kernel=true"
    plain = cycles("kernel", kernel)
    others = ["node.software.syscall=999", "node.software.page_fault=9999"]
    assert cycles("without effect", kernel, *others) == plain
    calls = counted(tmp_path / "kernel", "processor", "calls")
    traps = calls + counted(tmp_path / "kernel", "processor", "page_faults")
    # A trap goes to the kernel, and from there to the simulator; what waits for the bus meets
    # another of its clocks.
    longer = cycles("longer", kernel, "node.core.trap=105", "node.core.trap_return=105")
    assert longer - plain == pytest.approx(2 * traps * (100 + 100), rel=0.002)


def test_symbols_of_the_kernel(compile_c: Compiler, tmp_path: Path) -> None:
    text = "#include <unistd.h>\nint main(void) { for (int i = 0; i < 100; i++) getppid(); }\n"
    program = compile_c("kernel_ids", text)
    options = ["--out", "run", *ON, "--profile", "--trace-instructions", "0us..300us"]
    done = command("run", *options, "--", program, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    folded = (tmp_path / "run" / "profile.folded").read_text()
    calls = [line for line in folded.splitlines() if "getppid" in line]
    assert any(";trap_entry;trap;system_call;machine_call" in line for line in calls)
    assert not any("kernel_main" in line for line in calls)
    trace = (tmp_path / "run" / "instructions.0").read_text()
    assert " sret" in trace
    assert "kernel_main" in trace
    assert "trap_return" in trace


def linked(files: list[Path], place: Path) -> Path:
    """A folder with kernels that have these drivers, for one hart and several, and the firmware."""
    drivers = firmware.Image(files)
    images = place / "images"
    images.mkdir()
    (images / "voyager.elf").symlink_to(firmware.directory() / "voyager.elf")
    firmware.link_kernel(drivers, [SOURCES], images / "voyager.kernel.elf")
    firmware.link_kernel(drivers, [SOURCES], images / "voyager.kernel-smp.elf", firmware.HARTS_MAX)
    return images


EXECUTORS = {
    "blocks": [],
    "translated": TRANSLATED[1:],
    "steps": ["check.executor=reference"],
}


def by_each_executor(program: Path, arguments: list[str], images: Path, place: Path) -> str:
    """What the program writes on a node with a kernel of `images`, by each executor:
    the same, at the same times."""
    found = []
    for name, sets in EXECUTORS.items():
        request = {
            "machine": "voyager",
            "sets": [KERNEL[1], *sets],
            "ranks": 1,
            "program": str(program),
            "args": arguments,
            "firmware": str(images),
            "directory": str(place / name),
        }
        summary = core.run(request, None)
        text = (place / name / "stderr.0").read_text()
        assert summary["outcome"] == "finished", f"SEED={SEED}: {summary['message']} {text}"
        statistics = (place / name / "stats.json").read_bytes()
        found.append(((place / name / "stdout.0").read_text(), summary["time_ps"], statistics))
    assert found == [found[0]] * len(EXECUTORS)
    return found[0][0]


def test_threads_timers_and_memory_of_the_process(compile_c: Compiler, tmp_path: Path) -> None:
    """A driver that copies from and to the process, whose thread sleeps meanwhile."""
    text = (SOURCES / "echo_user.c").read_text()
    program = compile_c("kernel_echo_user", text, f"-I{SOURCES}")
    output = by_each_executor(program, [SEED], linked([SOURCES / "echo.c"], tmp_path), tmp_path)
    assert output == f"seed {SEED}\necho: PASSED\n"


@pytest.mark.parametrize("once_in", [0, 4, 12, 60])
def test_streams_arrive_whatever_happens_to_packets(
    compile_c: Compiler, tmp_path: Path, once_in: int
) -> None:
    """Both ways at once; one in so many is lost, comes twice, has a wrong bit, or is late."""
    program = compile_c("kernel_stream", (SOURCES / "stream.c").read_text(), f"-I{SOURCES}")
    arguments = [SEED, str(once_in), "5", "100000"]
    images = linked([SOURCES / "lossy.c"], tmp_path)
    assert by_each_executor(program, arguments, images, tmp_path) == "stream: PASSED\n"


def test_connections_that_are_given_up_leave_nothing(compile_c: Compiler, tmp_path: Path) -> None:
    """Each would have buffers, for which the kernel has 4 MiB."""
    program = compile_c("kernel_half_open", (SOURCES / "half_open.c").read_text(), f"-I{SOURCES}")
    images = linked([SOURCES / "lossy.c"], tmp_path)
    assert by_each_executor(program, ["60"], images, tmp_path) == "half_open: PASSED\n"


def test_sleepers_cost_nothing_and_deadlocks_are_named(
    chasqui: Run, compile_c: Compiler, tmp_path: Path
) -> None:
    sleeps = compile_c("kernel_sleeps", "#include <unistd.h>\nint main(void) { sleep(10); }\n")
    done = chasqui("run", "--out", "sleeps", *ON, "--", sleeps)
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "sleeps" / "summary.json").read_text())
    assert summary["time_ps"] > 10 * 10**12
    assert summary["instructions"] < 100_000
    text = """\
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) { int word = 0; syscall(SYS_futex, &word, FUTEX_WAIT, 0, 0); }
"""
    done = chasqui("run", *ON, "--", compile_c("kernel_waits_for_ever", text))
    assert done.returncode == 125
    assert "waits for the end of its system call, asleep: pc 0x" in done.stderr
    assert re.search(r"[( ]syscall\+0x", done.stderr), done.stderr
    assert "in the kernel at 0xffffffff8" in done.stderr


def test_a_sleep_past_the_end_of_simulated_time_is_no_deadlock(
    chasqui: Run, compile_c: Compiler
) -> None:
    """Of 213 days; in one sleep, or by several."""
    text = """\
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct timespec days = {(argc > 1 ? 100L : 300L) * 24 * 3600, 0};
    for (int i = 0; i < argc + 1; i++)
        if (nanosleep(&days, NULL) == 0)
            write(1, "woke\\n", 5);
}
"""
    program = compile_c("kernel_sleeps_too_long", text)
    for kernel in (ON, ["-np", "1", "--machine", "voyager"]):
        for words, slept in (([], 0), (["again", "again"], 2)):
            done = chasqui("run", *kernel, "--", program, *words)
            assert (done.returncode, done.stdout) == (124, slept * "woke\n"), done.stderr
            assert "chasqui: out of time at " in done.stderr
            assert "simulated time ends" in done.stderr
            assert "deadlock" not in done.stderr


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            ["-np", "2", "--ranks-per-node", "2", *ON, "--set", "node.core.handler_contexts=1"],
            "node.core.handler_contexts with 2 processes a node",
        ),
        (["--machine", "loggp", *KERNEL], "node.software.kernel: on loggp MPI calls take no time"),
        ([*ON, "--set", "node.software.kernel_memory=1 GiB"], "at most half of node.dram.size"),
        (
            ["--machine", "voyager/onequeue", *KERNEL, "--job", "-np 1 PROGRAM"],
            "node.software.kernel with 2 jobs and voyager.queues.sharing = drained",
        ),
    ],
)
def test_what_a_kernel_does_not_go_with(
    chasqui: Run, examples: Path, options: list[str], text: str
) -> None:
    program = examples / "ring"
    words = [word.replace("PROGRAM", str(program)) for word in options]
    done = chasqui("run", *words, "--", program)
    assert done.returncode == 2
    assert text in done.stderr


@pytest.mark.parametrize("ranks", [1, 2])
def test_broken_kernels_are_reported(compile_c: Compiler, tmp_path: Path, ranks: int) -> None:
    """Of several processes too, which end with it."""
    program = compile_c("kernel_nothing", "int main(void) { }\n")
    (tmp_path / "broken.c").write_text(
        '#include "kernel.h"\n'
        "static bool start(void) { *(volatile int *)16 = 1; return true; }\n"
        "static const struct driver broken = {.start = start};\n"
        "DRIVER driver_broken = &broken;\n"
    )
    request = {
        "machine": "voyager",
        "sets": [KERNEL[1]],
        "ranks": ranks,
        "ranks_per_node": ranks,
        "program": str(program),
        "firmware": str(linked([tmp_path / "broken.c"], tmp_path)),
        "directory": str(tmp_path / "run"),
    }
    summary = core.run(request, None)
    assert summary["exit_status"] == 134
    assert "the kernel gives up: an exception in the kernel" in summary["message"]
