"""VIA (netcache/via, netcache/via-zero-copy): descriptors, doorbells, completion queues and errors
through VIPL, times that follow from the parameters, and MPI over it.

Use this when the VIA NIC, its driver, VIPL or its MPI device change.
"""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT, Compiler
from pyarrow import parquet
from simulated import TRANSLATED, command, example
from test_determinism import COMBINATIONS, EXECUTED, THREADS, check

from chasqui.experiment import Run, running

pytestmark = pytest.mark.core

PLACE = ROOT / "tests" / "netcache"
VIA, ZERO_COPY = "netcache/via", "netcache/via-zero-copy"
MODULE = "chasqui.machines.netcache.experiments.receive_overhead"
COUNT = 12  # messages of vipl.c
LAST = 5  # tag
Counters = dict[str, int]
# Of programs that use VIPL themselves.
INCLUDE = [f"-I{each}" for each in (ROOT / "guest", ROOT / "machines" / "netcache", PLACE)]


@pytest.fixture(scope="module")
def vipl(compile_c: Compiler) -> Path:
    return compile_c("vipl", (PLACE / "vipl.c").read_text(), *INCLUDE)


def counters(run: Path, node: int) -> Counters:
    group = json.loads((run / "stats.json").read_text())[f"node{node:05}"]["ni"]
    return {name: entry["value"] for name, entry in group.items() if "value" in entry}


def carry_out(place: Path, program: Path, *words: str, machine: str = VIA, sets: list[str]) -> Path:
    run = place / "-".join(words or ("run",))
    options = [word for each in ["check.coherence=true", *sets] for word in ("--set", each)]
    done = command(
        "run", "--out", run, "-np", "2", "--machine", machine, *options, "--", program, *words,
        directory=place,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2
    return run


@pytest.mark.parametrize(("case", "interrupts"), [("polled", False), ("slept", True)])
def test_messages_come_once_and_in_order(
    vipl: Path, tmp_path: Path, case: str, interrupts: bool
) -> None:
    """The processor looks at memory alone; who sleeps is woken by an interrupt."""
    run = carry_out(tmp_path, vipl, case, "5000", sets=[])
    sender, receiver = counters(run, 0), counters(run, 1)
    assert sender["sent"] == sender["doorbells"] == receiver["received"] == COUNT
    assert (receiver["interrupts"] > 0) == interrupts


@pytest.mark.parametrize("window", [1, 3, 16])
def test_what_finds_no_descriptor_is_dropped_and_sent_again(
    vipl: Path, tmp_path: Path, window: int
) -> None:
    run = carry_out(tmp_path, vipl, "late", "3000", sets=[f"netcache.via.window={window}"])
    sender, receiver = counters(run, 0), counters(run, 1)
    assert receiver["received"] == COUNT
    assert receiver["refused"] > 0
    assert (receiver["dropped"] > receiver["refused"]) == (window > 1)
    assert sender["packets"] == COUNT + sender["resent"]
    assert sender["packets"] == receiver["received"] + receiver["dropped"]


def test_what_finds_no_descriptor_waits_in_the_nic_where_it_has_room(
    vipl: Path, tmp_path: Path
) -> None:
    run = carry_out(tmp_path, vipl, "late", "3000", sets=["netcache.via.staging=1 KiB"])
    assert counters(run, 1)["held"] > 0
    assert counters(run, 1)["refused"] == 0


@pytest.mark.parametrize("case", ["errors", "remote"])
def test_what_is_wrong_is_refused_and_said(vipl: Path, tmp_path: Path, case: str) -> None:
    run = carry_out(tmp_path, vipl, case, sets=[])
    assert counters(run, 0)["errors"] > 0


def stages(run: Path) -> dict[str, int]:
    """Of the last message but one, when all code is in the caches [ps]."""
    rows = parquet.read_table(run / "messages.parquet").to_pylist()
    return next(row for row in rows if row["tag"] == LAST - 1)


def test_the_path_of_a_message_takes_what_the_parameters_say(
    compile_c: Compiler, tmp_path: Path
) -> None:
    """A clock of the bus is 1 ns. From the doorbell on: control and a look into the table until the
    descriptor is read (accept), another until the data are; a packet crosses the NIC's memory, of
    a header of 32 bytes, an envelope of 40 and 8 of data, and waits for nothing (inject). At the
    other side control, the crossing, looking and writing (land)."""
    text = f"""
#include <mpi.h>
int main(int c, char **v)
{{
    int rank;
    double x = 1;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int tag = 1; tag <= {LAST}; tag++) {{
        for (volatile int i = 0; rank == 0 && i < 50000; i++)
            ;
        if (rank == 0)
            MPI_Send(&x, 1, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD);
        else
            MPI_Recv(&x, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }}
    MPI_Finalize();
}}
"""
    program = compile_c("via_one", text)

    def found(name: str, *sets: str) -> dict[str, int]:
        options = [word for each in sets for word in ("--set", each)]
        run = ["run", "--out", name, "-np", "2", "--machine", VIA, *options, "--", str(program)]
        done = command(*run, directory=tmp_path)
        assert done.returncode == 0, done.stderr
        return stages(tmp_path / name)

    def spans(at: dict[str, int]) -> dict[str, int]:
        pairs = [
            ("ready", "accept"),
            ("accept", "inject"),
            ("inject", "arrive"),
            ("arrive", "land"),
        ]
        return {f"{a}-{b}": at[f"{b}_ps"] - at[f"{a}_ps"] for a, b in pairs}

    plain = spans(found("plain"))
    for name, sets, longer in [
        ("transmit", ["netcache.nic.transmit=45"], {"ready-accept": 40}),
        ("lookup", ["netcache.via.lookup=31"], {"ready-accept": 30, "accept-inject": 30}),
        ("receive", ["netcache.nic.receive=55"], {"arrive-land": 50}),
        # 80 bytes: 5 clocks at 16 bytes, 80 at one.
        ("width", ["netcache.nic.width=1 B"], {"accept-inject": 75, "arrive-land": 75}),
        ("link", ["network.link_latency=500 ns"], {"inject-arrive": 2 * 300}),
    ]:
        expected = {span: ps + 1000 * longer.get(span, 0) for span, ps in plain.items()}
        assert spans(found(name, *sets)) == expected, name
    # The link is at the head of the packet: two links of 200 ns and the crossbar's 100 ns.
    assert plain["inject-arrive"] == 500_000


def test_a_receive_misses_in_what_the_nic_has_written(tmp_path: Path) -> None:
    """netcache/receive-overhead: the entry of the completion queue, the descriptor and the message
    are each in a line of memory that the NIC has written, and in no cache."""
    experiment = running.load("netcache/receive-overhead")
    polling, blocking = (run for run in experiment.runs(True)[:2])
    slower = replace(polling, name="slower", sets=[*polling.sets, "node.dram.first_chunk=300 ns"])
    name, jobs = "netcache/receive-overhead", [polling, blocking, slower]
    outputs = running.run_all(name, jobs, tmp_path, 2, lambda *_: None)
    module = importlib.import_module(MODULE)
    parts = {each: module.spent(outputs[each], "via") for each in outputs}

    def total(run: Run) -> tuple[float, float]:
        found = parts[run.name].values()
        return float(sum(cycles for cycles, _ in found)), float(
            sum(stalled for _, stalled in found)
        )

    assert total(slower)[0] - total(polling)[0] == pytest.approx(3 * 100, abs=5)
    assert total(slower)[1] - total(polling)[1] == pytest.approx(3 * 100, abs=5)
    quiet = [parts[polling.name][group][0] for group in (module.TRAP, module.CONTEXT)]
    assert quiet == [0, 0]
    assert all(cycles > 0 for cycles, _ in parts[blocking.name].values())


@pytest.mark.parametrize("machine", [VIA, ZERO_COPY])
def test_memory_that_is_unmapped_is_not_registered_any_more(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    program = compile_c("unmapped", (PLACE / "unmapped.c").read_text())
    carry_out(tmp_path, program, machine=machine, sets=[])


@pytest.mark.parametrize("machine", [VIA, ZERO_COPY, "netcache/mvia"])
def test_registrations_follow_mremap_and_mprotect(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    program = compile_c("remapped", (PLACE / "remapped.c").read_text())
    carry_out(tmp_path, program, machine=machine, sets=[])


@pytest.mark.parametrize("machine", [VIA, ZERO_COPY])
def test_few_descriptors_and_a_small_table_hold_up_nobody(
    compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """Messages are refused, send buffers and the table run out."""
    program = compile_c("late", (PLACE / "late.c").read_text())
    sets = ["netcache.via.receives=2", "netcache.mpi.slots=2", "netcache.via.depth=4",
            "netcache.via.window=2", "netcache.via.table=64", "netcache.via.retry=2 us",
            "netcache.via.staging=2 KiB"]  # fmt: skip
    options = [word for each in sets for word in ("--set", each)]
    done = command(
        "run", "--out", "run", "-np", "2", "--machine", machine, *options, "--", program, "300",
        directory=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "late: PASSED" in done.stdout


@pytest.mark.parametrize("machine", [VIA, ZERO_COPY])
@pytest.mark.turn(1)
def test_the_same_bits_where_processes_sleep(examples: Path, tmp_path: Path, machine: str) -> None:
    run = ["--set", "netcache.via.blocks=true", *example(examples, "heat", machine)]
    some = list(COMBINATIONS)[-1]
    reference = {
        "by the reference": ["--set", "check.executor=reference"],
        "translated": TRANSLATED,
    }
    variations = {
        **EXECUTED,
        **reference,
        "2 threads": THREADS["2 threads"],
        some: COMBINATIONS[some][1],
    }
    check(tmp_path, run, variations, 0)


def test_the_same_bits_where_processes_poll(examples: Path, tmp_path: Path) -> None:
    some = list(COMBINATIONS)[-1]
    check(tmp_path, example(examples, "sort", VIA), {**EXECUTED, some: COMBINATIONS[some][1]}, 0)


@pytest.mark.parametrize("machine", [VIA, "netcache/mvia"])
@pytest.mark.parametrize("blocks", ["false", "true"])
def test_a_deadlock_is_found(
    compile_c: Compiler, tmp_path: Path, machine: str, blocks: str
) -> None:
    """In the kernel's VIA, too: nothing is under way, so no timer is set."""
    text = (
        "#include <mpi.h>\nint main(int c, char **v)\n{\n    int rank, x;\n    MPI_Init(&c, &v);\n"
        "    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
        "    MPI_Recv(&x, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n}\n"
    )
    program = compile_c("via_deadlock", text)
    done = command(
        "run", "--out", "run", "-np", "2", "--machine", machine,
        "--set", f"netcache.via.blocks={blocks}", "--", program, directory=tmp_path,
    )  # fmt: skip
    assert done.returncode == 125
    assert "MPI_Recv" in done.stderr
    assert ("a completion" in done.stderr) == (blocks == "true")


@pytest.mark.parametrize(
    ("machine", "sets", "said"),
    [
        (VIA, ["node.software.kernel=false"], "netcache.nic.policy: via needs a kernel"),
        (
            VIA,
            ["netcache.via.transfer=1 KiB"],
            "netcache.mpi.eager: 1 KiB with an envelope of 40 bytes are longer than "
            "netcache.via.transfer (1 KiB)",
        ),
        (
            VIA,
            ["netcache.via.depth=8"],
            "netcache.mpi.slots: a work queue takes 8 descriptors, not 32",
        ),
        (VIA, ["netcache.via.zero_copy=true"], "must fit netcache.via.staging (0 B)"),
        (VIA, ["netcache.via.vis=1"], "2 ranks"),
        (
            "netcache/mvia",
            ["node.software.kernel=false"],
            "netcache.nic.policy: mvia needs a kernel",
        ),
        (
            "netcache/mvia",
            ["netcache.via.zero_copy=true"],
            "netcache.via.zero_copy: the kernel copies",
        ),
        ("netcache/mvia", ["netcache.via.staging=2 KiB"], "the kernel keeps no messages"),
        ("netcache/mvia", ["netcache.via.vis=1"], "2 ranks"),
    ],
)
def test_what_does_not_fit_is_said(
    examples: Path, tmp_path: Path, machine: str, sets: list[str], said: str
) -> None:
    options = [word for each in sets for word in ("--set", each)]
    done = command(
        "run",
        "-np",
        "2",
        "--machine",
        machine,
        *options,
        "--",
        examples / "ring",
        directory=tmp_path,
    )
    assert done.returncode == 2
    assert said in done.stderr
