"""The queues of voyager: resident or served by the service processor's firmware, moved between the
two, full, connected by destination tables.

Use this when the NES, its firmware, nes.h or what the node does with retried accesses changes.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from conftest import ROOT, Compiler, Run
from simulated import SWEEP, command, in_turn
from test_determinism import THREADS, VARIATIONS, check
from test_voyager import COUNTER, MIXTURE, NONE_RESIDENT, SMALL, VARIANTS, chosen

from chasqui import core, firmware
from chasqui.errors import InputError

pytestmark = pytest.mark.core

SOURCES = ROOT / "tests" / "voyager"
MIGRATE = (SOURCES / "migrate.c").read_text()
SERVER = (SOURCES / "server.c").read_text()
FLOOD = (SOURCES / "flood.c").read_text()
POSTED = (SOURCES / "posted.c").read_text()
REMOTE = (SOURCES / "remote.c").read_text()
HEADERS = f"-I{SOURCES}"  # of some of these programs
EMPTIED = (SOURCES / "emptied.c").read_text()
SEED = int(os.environ.get("SEED", "1"))

SYSTEM = ["--set", "voyager.sp.system=true"]
# Queues of voyager's lengths.
AS_VOYAGER = [
    *["--set", "voyager.express.slots=32", "--set", "voyager.express.tags=16"],
    *["--set", "voyager.basic.slots=32"],
]
# Four Basic queues and two of Express want half of the slots, and everything is soon full.
SCARCE = [
    *["--set", "voyager.queues.basic=4", "--set", "voyager.queues.resident_basic=2"],
    *["--set", "voyager.queues.resident_express=1", "--set", "voyager.express.slots=2"],
    *["--set", "voyager.express.tags=2", "--set", "voyager.sp.miss_slots=2"],
    *["--set", "voyager.sp.access_slots=1", "--set", "check.coherence=true"],
    # MPI could not use so short Express queues.
    *["--set", "voyager.mpi.mechanism=basic"],
]


def counters(run: Path) -> dict[str, dict[str, int]]:
    """Counters of each node's NI by their names, those of the service processor after `sp.`."""
    found = {}
    for node, tree in json.loads((run / "stats.json").read_text()).items():
        if node.startswith("node"):
            groups = {"": tree["ni"], "sp.": tree["ni"]["sp"]}
            found[node] = {
                f"{prefix}{name}": leaf["value"]
                for prefix, group in groups.items()
                for name, leaf in group.items()
                if "value" in leaf
            }
    return found


@pytest.mark.parametrize("machine", VARIANTS)
def test_programs_cannot_tell_where_their_queues_are(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """The same answers, at another cost."""
    program = compile_c("counter", COUNTER)
    times = []
    for name, homes in (("resident", []), ("served", NONE_RESIDENT)):
        sets = [*homes, "--set", "check.coherence=true"]
        run = ["run", "--out", name, "-np", "4", "--machine", machine, *sets, "--", str(program)]
        done = command(*run, directory=tmp_path)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name / "stdout.0").read_text() == "counter: PASSED\n"
        times.append(json.loads((tmp_path / name / "summary.json").read_text())["time_ps"])
    assert times[0] < times[1]
    served = counters(tmp_path / "served")
    assert all(node["served"] > 0 and node["sp.instructions"] > 0 for node in served.values())
    assert all(node["served"] == 0 for node in counters(tmp_path / "resident").values())


@pytest.mark.parametrize("options", [[], ["--fast-forward"], ["--profile"]], ids=" ".join)
@pytest.mark.parametrize("name", ["sort", "heat"])
def test_mpi_over_queues_that_are_not_resident(
    examples: Path, chasqui: Run, name: str, options: list[str]
) -> None:
    run = ["run", "-q", *options, "-np", "4", "--machine", "voyager", *NONE_RESIDENT]
    done = chasqui(*run, "--", examples / name)
    assert done.returncode == 0, done.stderr
    assert "PASSED" in done.stdout


# Where the queues that MPI uses are, and in five messages how often each rank moves them: both with
# the firmware; one of them, so that messages by the other would pass its own; now here and now
# there.
HOMES = {
    "served": (NONE_RESIDENT, 0),
    "express served": (NONE_RESIDENT[2:], 0),
    "basic served": (NONE_RESIDENT[:2], 0),
    "moving": ([], 2),
}


@pytest.mark.parametrize(
    ("home", "room", "mechanism", "machine"),
    in_turn(HOMES, ["default", "small"], ["auto", "all"], VARIANTS),
)
def test_mpi_messages_stay_in_order_wherever_their_queues_are(
    compile_c: Compiler, chasqui: Run, machine: str, mechanism: str, home: str, room: str
) -> None:
    """Short and long ones by different queues: none is lost, doubled, changed or overtaken.
    4 ranks, 720 messages, of a sweep 1,800."""
    program = compile_c("mixture", MIXTURE)
    homes, moves = HOMES[home]
    sets = [*chosen(mechanism), *homes, *SYSTEM, "--set", "check.coherence=true"]
    if room == "small":
        sets += [*SMALL, "--set", "voyager.sp.miss_slots=2", "--set", "voyager.sp.access_slots=1"]
    print(f"SEED={SEED}")
    run = ["run", "-q", "-np", "4", "--machine", machine, *sets, "--", program]
    messages = 150 if SWEEP else 60
    done = chasqui(*run, SEED, str(messages), str(messages * moves // 5))
    assert (done.returncode, done.stdout) == (0, "mixture: PASSED\n"), f"SEED={SEED}: {done.stderr}"


@pytest.mark.parametrize("machine", VARIANTS)
def test_threads_share_queues_that_are_not_resident(
    compile_c: Compiler, chasqui: Run, machine: str
) -> None:
    folder = ROOT / "tests" / "threads"
    program = compile_c("multiple", (folder / "multiple.c").read_text(), f"-I{folder}")
    sets = [*NONE_RESIDENT, "--set", "node.harts=2", "--set", "check.coherence=true"]
    run = ["run", "-q", "-np", "2", "--machine", machine, *sets, "--", program]
    done = chasqui(*run, "random", "2", str(SEED))
    assert done.returncode == 0, f"SEED={SEED}: {done.stdout}{done.stderr}"
    assert "all is right" in done.stdout


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("sets", [["--set", "voyager.queues.basic=3"], SCARCE], ids=["", "scarce"])
def test_queues_move_while_messages_flow(
    compile_c: Compiler, chasqui: Run, machine: str, sets: list[str]
) -> None:
    """Nothing is lost, duplicated, changed or reordered: 4 ranks, 3,200 messages and their last."""
    program = compile_c("migrate", MIGRATE)
    for seed in range(SEED, SEED + 2):
        print(f"SEED={seed}")
        run = ["run", "-q", "-np", "4", "--machine", machine, *SYSTEM, *sets, "--", program]
        done = chasqui(*run, str(seed), "800", "60")
        assert done.returncode == 0, f"seed {seed}: {done.stdout}{done.stderr}"
        moves = [int(line.split()[-2]) for line in done.stdout.splitlines()]
        assert len(moves) == 4
        assert all(count >= 5 for count in moves), f"seed {seed}: {moves}"


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("name", ["told", "moved"])
def test_a_load_comes_after_the_stores_before_it(
    compile_c: Compiler, chasqui: Run, machine: str, name: str
) -> None:
    program = compile_c(name, (SOURCES / f"{name}.c").read_text(), HEADERS)
    served = ["--set", "voyager.queues.resident_basic=0", *SYSTEM]
    done = chasqui("run", "-q", "-np", "2", "--machine", machine, *served, "--", program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{name}: PASSED\n" * (1 if name == "told" else 2)


@pytest.mark.parametrize("name", ["held", "room"])
def test_when_jobs_are_held_up_and_go_on(compile_c: Compiler, chasqui: Run, name: str) -> None:
    """Parts of the firmware alone: holding jobs up; the own queue's room and the launcher."""
    voyager = ROOT / "machines" / "voyager"
    program = compile_c(
        name, (SOURCES / f"{name}.c").read_text(), f"-I{voyager}", f"-I{voyager / 'firmware'}"
    )
    done = chasqui("run", "-q", "-np", "1", "--machine", "loggp", "--", program)
    assert (done.returncode, done.stdout) == (0, f"{name}: PASSED\n")


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_queue_takes_no_more_than_it_holds_wherever_it_is(
    compile_c: Compiler, chasqui: Run, machine: str, jobs: int
) -> None:
    """So what waits for the firmware finds room when the queue gets a slot, and one process's
    messages do not fill its job's mailbox."""
    program = compile_c("full", (SOURCES / "full.c").read_text(), HEADERS)
    sets = [*SYSTEM, "--set", "node.harts=2", "--set", "voyager.express.slots=16"]
    others = [f"--job=-np 2 {program}"] * (jobs - 1)
    run = ["run", "-q", "-np", "2", "--machine", machine, *sets, *others]
    done = chasqui(*run, "--", program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2 * jobs
    if jobs == 1:  # A store waits on the bus.
        return
    done = chasqui(*run, "--", program, "overrun")
    assert done.returncode == 139, done.stdout + done.stderr
    assert "a store into Express transmit queue 0, which is full" in done.stderr
    assert done.stdout.count("PASSED") == 2


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("options", [[], ["--fast-forward"], ["--set", "node.harts=2"]], ids=str)
def test_a_served_queue_takes_as_many_posted_stores_as_it_holds(
    compile_c: Compiler, chasqui: Run, machine: str, options: list[str]
) -> None:
    """Before, one that found no place among the accesses was at fault where stores take no time:
    there none waits on the bus."""
    program = compile_c("burst", (SOURCES / "burst.c").read_text(), HEADERS)
    run = ["run", "-q", "-np", "2", "--machine", machine, *NONE_RESIDENT, *options, "--", program]
    done = chasqui(*run)
    assert (done.returncode, done.stdout) == (0, "burst: PASSED\n" * 2), done.stderr


@pytest.mark.parametrize("machine", ["voyager", "voyager-modern"])
def test_stores_that_the_firmware_serves_do_not_pile_up(
    compile_c: Compiler, chasqui: Run, machine: str
) -> None:
    """Nor behind a link, where they are over for the hart when they leave."""
    program = compile_c("pile", (SOURCES / "pile.c").read_text(), HEADERS)
    run = ["run", "-q", "-np", "1", "--machine", machine, *NONE_RESIDENT, "--", program]
    cycles = [int(chasqui(*run, stores).stdout) for stores in ("200", "2000")]
    assert cycles[1] <= 1.2 * cycles[0]


def test_moving_queues_has_the_same_bits(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("migrate", MIGRATE)
    names = ("again", "loops executed", "by the reference", "translated", *THREADS)
    run = ["-np", "3", "--machine", "voyager", *SYSTEM, *SCARCE, "--", str(program)]
    variations = {name: VARIATIONS[name] for name in names}
    check(tmp_path, [*run, str(SEED), "150", "15"], variations, 0)


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("sets", [[], NONE_RESIDENT], ids=["resident", "served"])
@pytest.mark.parametrize(
    ("kind", "behind"),
    [("basic", "express"), ("basic", "block"), ("express", "basic"), ("tagged", "express")],
)
def test_a_full_queue_does_not_stop_the_network(
    compile_c: Compiler, chasqui: Run, machine: str, kind: str, behind: str, sets: list[str]
) -> None:
    program = compile_c("flood", FLOOD)
    run = ["run", "-q", "-np", "2", "--machine", machine, *AS_VOYAGER]
    done = chasqui(*run, *sets, "--set", "check.coherence=true", "--", program, kind, behind, "200")
    assert (done.returncode, done.stdout) == (0, "flood: PASSED\n"), done.stderr
    # Without the service processor it does: rank 0 waits for what is behind.
    done = chasqui(*run, "--set", "voyager.sp.present=false", "--", program, kind, behind, "200")
    assert done.returncode == 125
    assert "deadlock" in done.stderr


@pytest.mark.parametrize("kind", ["basic", "express"])
def test_what_the_firmware_has_no_memory_for_waits_in_the_network(
    compile_c: Compiler, chasqui: Run, tmp_path: Path, kind: str
) -> None:
    """A megabyte holds fewer than 9,400 messages of 112 bytes."""
    program = compile_c("flood", FLOOD)
    run = ["run", "--out", "run", "-np", "2", "--machine", "voyager"]
    done = chasqui(*run, "--set", "voyager.sp.dram=1 MiB", "--", program, kind, "nothing", "10000")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "stdout.0").read_text() == "flood: PASSED\n"
    receiver, _sender = counters(tmp_path / "run").values()
    assert 9000 < receiver["missed"] <= 10000
    assert receiver["ring_full_ps"] > 0


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("read", ["0", "40"])
@pytest.mark.parametrize("setup", ["0", "10"])
def test_a_ring_of_requests_that_one_store_posts_is_served(
    compile_c: Compiler, chasqui: Run, machine: str, read: str, setup: str
) -> None:
    """Empty blocks: notices alone travel, to a rank that reads them in the end, or never."""
    program = compile_c("posted", POSTED)
    sets = ["--set", "voyager.dma.requests=64", "--set", f"voyager.dma.setup={setup}"]
    run = ["run", "-q", "-np", "2", "--machine", machine, *sets, "--", program, "dma", "40", read]
    done = chasqui(*run)
    assert (done.returncode, done.stdout) == (0, "posted: PASSED\n"), done.stderr


# Pointers, what is stored to them, and what the message says; those of a served queue are looked at
# as the store comes, before anybody knows how far the other side is.
POINTERS = {
    "dma": ("0x26", "0x26 was stored to the DMA producer of a ring of 8 slots; 0x0 to 0x8"),
    "transmit": ("33", "0x21 was stored to the transmit producer of a ring of 32 slots, 0x21"),
    "receive": ("0xfff", "0xfff was stored to the receive consumer of a ring of 32 slots, 0xfff"),
    "tags": ("4", "slot 2 of tagged data was given back, which holds none; there are 32 slots"),
}  # fmt: skip


@pytest.mark.parametrize("pointer", POINTERS)
@pytest.mark.parametrize("homes", [[], NONE_RESIDENT], ids=["resident", "served"])
def test_a_pointer_that_leaves_its_ring_is_a_fault(
    compile_c: Compiler, chasqui: Run, pointer: str, homes: list[str]
) -> None:
    stored, text = POINTERS[pointer]
    program = compile_c("posted", POSTED)
    sets = [*AS_VOYAGER, *homes]
    run = [
        "run",
        "-q",
        "-np",
        "2",
        "--machine",
        "voyager",
        *sets,
        "--",
        program,
        pointer,
        stored,
        "0",
    ]
    done = chasqui(*run)
    assert done.returncode == 128 + 11, done.stdout
    assert "fault: rank 0 at " in done.stderr
    assert f"protection: {text}" in done.stderr


# What client 1 does, and what becomes of it.
OFFENCES = {
    "client": "protection: transmit queue 0 has no destination 2 in the NES's table",
    "disconnected": "protection: transmit queue 0 has no destination 7 in the NES's table",
    "unmapped": "nothing is mapped there",
    "forged": "nothing is mapped there",
    "table": "destination table: the entry",
}


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("sets", [[], NONE_RESIDENT], ids=["resident", "served"])
def test_clients_reach_the_server_and_not_each_other(
    compile_c: Compiler, chasqui: Run, machine: str, sets: list[str]
) -> None:
    program = compile_c("server", SERVER)
    run = ["run", "-q", "-np", "4", "--machine", machine, *SYSTEM, *sets, "--", program, "none"]
    done = chasqui(*run)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["client 2: PASSED", "server: PASSED"]


@pytest.mark.parametrize("offence", OFFENCES)
@pytest.mark.parametrize("sets", [[], NONE_RESIDENT], ids=["resident", "served"])
def test_an_offence_ends_its_process_alone(
    compile_c: Compiler, chasqui: Run, tmp_path: Path, offence: str, sets: list[str]
) -> None:
    """No packet leaves, and the others go on."""
    program = compile_c("server", SERVER)
    sets = [*SYSTEM, *sets, "--set", "node.software.fault_ends_job=false"]
    run = ["run", "--out", "run", "-np", "4", "--machine", "voyager", *sets, "--", program]
    done = chasqui(*run, offence)
    assert done.returncode == 139, done.stderr
    assert OFFENCES[offence] in done.stderr
    assert "rank 1" in done.stderr
    assert sorted(done.stdout.splitlines()) == ["client 2: PASSED", "server: PASSED"]
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert [rank["status"] for rank in summary["ranks"]] == [0, 139, 0, 0]
    sent = [node["express_sent"] for node in counters(tmp_path / "run").values()]
    assert sent == [60, 20, 20, 20]


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("sets", [[], NONE_RESIDENT], ids=["resident", "served"])
def test_a_service_processor_ships_what_lies_in_memory(
    compile_c: Compiler, tmp_path: Path, machine: str, sets: list[str]
) -> None:
    """More questions than it has places and slots; the process whose memory it is does nothing."""
    sets = [*SYSTEM, *sets, "--set", "voyager.express.slots=4", "--set", "voyager.express.tags=2"]
    run = [
        "-np",
        "2",
        "--machine",
        machine,
        *sets,
        "--",
        str(compile_c("remote", REMOTE, HEADERS)),
        "40",
    ]
    names = ("loops executed", "checker on", "by the reference", "translated", *THREADS)
    check(tmp_path, run, {name: VARIATIONS[name] for name in names}, 0)
    assert (tmp_path / "reference" / "stdout.0").read_text() == "remote: PASSED\n"
    sent = [node["own_sent"] for node in counters(tmp_path / "reference").values()]
    assert sent == [0, 41]


def test_service_processors_serve_processes_in_turn(compile_c: Compiler, tmp_path: Path) -> None:
    """A job with one request at a time beside one that has 16: before, it waited for all that the
    other had asked for, six times as long as beside one like itself."""
    program = str(compile_c("requests", (SOURCES / "requests.c").read_text(), HEADERS))
    sets = [*SYSTEM, "--set", "voyager.express.slots=4", "--set", "voyager.express.tags=2"]
    times = []
    for other in ("20 50 1", "300 50 16"):
        done = command(
            "run", "-q", "--out", tmp_path / other[:2], "-np", "3", "-m", "voyager", *sets,
            "--set", "node.harts=2", "--job", f"-np 3 {program} 1 {other}",
            "--", program, "1", "20", "0", "1", directory=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout == "requests: PASSED\n" * 2
        summary = json.loads((tmp_path / other[:2] / "job0" / "summary.json").read_text())
        times.append(summary["time_ps"])
    print(f"beside one like itself, and one with 16 requests at a time: {times} ps")
    assert times[1] < 1.5 * times[0]


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("sets", [[], NONE_RESIDENT], ids=["resident", "served"])
@pytest.mark.parametrize("processes", ["ranks", "jobs"])
def test_a_flood_of_requests_is_answered_to_each_from_its_own_memory(
    compile_c: Compiler, tmp_path: Path, machine: str, sets: list[str], processes: str
) -> None:
    """Each of three sites has two processes, of one job or of two, which request data of both other
    sites: with 16 under way, of which a service processor has places for two. One job ends long
    before the other, whose requests are answered on."""
    program = str(compile_c("requests", (SOURCES / "requests.c").read_text(), HEADERS))
    sets = [*SYSTEM, *sets, "--set", "voyager.express.slots=4", "--set", "voyager.express.tags=2"]
    sets += ["--machine", machine, "--set", "node.harts=2"]
    if processes == "jobs":
        run = [
            "-np",
            "3",
            *sets,
            "--job",
            f"-np 3 {program} 1 100 50",
            "--",
            program,
            "1",
            "20",
            "0",
        ]
    else:
        run = ["-np", "6", *sets, "--ranks-per-node", "2", "--", program, "2", "40", "0"]

    def statistics(out: Path) -> Path:
        """Of several jobs the first has those of all nodes."""
        return min(out.rglob("stats.json"))

    # By the same queue sites tell each other whom to hold up, so answers are counted without that.
    seen = {}
    for name in ("reference", "checker on", *THREADS, "answers"):
        options = VARIATIONS.get(name, [])
        if name == "answers":
            options = ["--set", "voyager.sp.hold=0"]
        done = command("run", "-q", "--out", tmp_path / name, *options, *run, directory=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "requests: PASSED\n" * (2 if processes == "jobs" else 1)
        seen[name] = statistics(tmp_path / name).read_text()
    answers = seen.pop("answers")
    assert len(set(seen.values())) == 1
    of_reference = counters(statistics(tmp_path / "reference").parent).values()
    sent = [node["own_sent"] for node in counters(statistics(tmp_path / "answers").parent).values()]
    assert sent == [4 * 40 if processes == "ranks" else 2 * (20 + 100)] * 3
    # Whoever is held up is told so, and told that it may go on.
    held = sum(node["held_up"] for node in of_reference)
    told = sum(node["own_sent"] for node in of_reference) - sum(sent)
    assert told >= 2 * held
    assert (told > 0) == (held > 0)
    assert processes == "jobs" or (held == 0 and seen["reference"] == answers)


@pytest.mark.parametrize("machine", VARIANTS)
@pytest.mark.parametrize("sets", [[], NONE_RESIDENT], ids=["resident", "served"])
def test_system_software_says_what_empty_queues_return(
    compile_c: Compiler, chasqui: Run, machine: str, sets: list[str]
) -> None:
    """By eight bytes and by halves, from Express and phantom queues; that of its process alone."""
    program = compile_c("emptied", EMPTIED)
    done = chasqui("run", "-q", "-np", "2", "--machine", machine, *SYSTEM, *sets, "--", program)
    assert (done.returncode, done.stdout) == (0, "emptied: PASSED\n"), done.stderr


def test_only_system_software_has_its_registers(compile_c: Compiler, chasqui: Run) -> None:
    program = compile_c("server", SERVER)
    done = chasqui("run", "-np", "3", "--machine", "voyager", "--", program, "none")
    assert done.returncode == 2
    assert "system registers are closed" in done.stderr


def test_without_a_service_processor_all_queues_are_resident(chasqui: Run) -> None:
    sets = ["--set", "voyager.sp.present=false", "--set", "voyager.queues.basic=9"]
    done = chasqui("run", "--machine", "voyager", *sets, "--", "nosuch")
    assert done.returncode == 2
    assert "all queues must be resident" in done.stderr


# Firmware, and what is said of it when a program on served queues runs.
BROKEN = {
    "at the start": (
        "void _start(void) { *(volatile int *)0 = 1; }",
        "service processor: no access to 0x0 at pc 0x8000",
    ),
    "later": (
        "__attribute__((noinline)) void serve(void) { *(volatile long *)0x40000ff8; }"
        "void _start(void) { *(volatile long *)0x40000000; serve(); for (;;) ; }",
        "service processor: a load from 0xff8, where the NES has no register at pc 0x8000",
    ),
    "hangs": (
        "__attribute__((noinline)) void serve(void) { for (volatile int i = 0;; i++) ; }"
        "void _start(void) { *(volatile long *)0x40000000; serve(); }",
        "service processor: 100000000 instructions without an access to the device at pc 0x8000",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_firmware_faults_are_reported(compile_c: Compiler, tmp_path: Path, name: str) -> None:
    source, text = BROKEN[name]
    (tmp_path / "broken.c").write_text(source)
    firmware.link(firmware.Image([tmp_path / "broken.c"]), tmp_path, tmp_path / "voyager.elf")
    request = {
        "machine": "voyager",
        "sets": NONE_RESIDENT[1::2],
        "ranks": 2,
        "program": str(compile_c("counter", COUNTER)),
        "directory": str(tmp_path / "run"),
        "firmware": str(tmp_path),
    }
    if name == "at the start":
        with pytest.raises(InputError, match=re.escape(text)):
            core.run(request, None)
        assert not (tmp_path / "run").exists()
        return
    summary = core.run(request, None)
    assert summary["exit_status"] == 139
    assert text in summary["message"]
    assert "(serve+" in summary["message"]


def test_voyager_needs_its_firmware(compile_c: Compiler, tmp_path: Path) -> None:
    request = {
        "machine": "voyager",
        "ranks": 1,
        "program": str(compile_c("counter", COUNTER)),
        "directory": str(tmp_path / "run"),
    }
    with pytest.raises(InputError, match="the firmware of its service processor is missing"):
        core.run(request, None)


def test_a_site_has_512_queues(compile_c: Compiler, chasqui: Run) -> None:
    """Two of Express and 510 of Basic, of which 8 are resident: a message through each."""
    program = compile_c(
        "all",
        """\
#include <chasqui/nes.h>
#include <stdio.h>
static struct nes nes, queue;
int main(void)
{
    uint32_t number, source;
    if (!nes_open(&nes) || NES_BASIC_NAME(nes.basic_queues) != CHASQUI_VOYAGER_QUEUES)
        return 2;
    for (unsigned index = 0; index < nes.basic_queues; index++) {
        queue = nes_basic_queue(&nes, index);
        number = index;
        if (!nes_basic_send(&queue, 1 - nes.rank, &number, sizeof number))
            return 1;
    }
    for (unsigned index = 0; index < nes.basic_queues; index++) {
        queue = nes_basic_queue(&nes, index);
        while (nes_basic_receive(&queue, &number, &source) < 0)
            nes_pause();
        if (number != index || source != 1 - nes.rank)
            return 1;
    }
    return 0;
}
""",
    )
    sets = ["--set", "voyager.queues.basic=510"]
    done = chasqui("run", "-np", "2", "--machine", "voyager", *sets, "--", program)
    assert done.returncode == 0, done.stderr
