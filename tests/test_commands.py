"""The commands on a stand-in for the simulator: options, directories, tables, exit statuses.

Use this when a command's arguments or output change; what needs the simulator is in the tests
marked `core`.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest
from fake_core import PARAMETERS, FakeCore

from chasqui import text, toolchain
from chasqui.cli import invoke
from chasqui.errors import InputError


def test_run_reports_and_keeps_the_directory(
    fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["run", "-np", "4", "--", "./ring", "-l", "2"]) == 0
    request = fake_core.requests[0]
    assert request["machine"] == "loggp"
    assert (request["ranks"], request["program"], request["args"]) == (4, "./ring", ["-l", "2"])
    assert request["directory"] == "runs/ring-loggp-1"
    assert request["echo"] is True
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "simulated time  2.5 ms\n" in shown.err
    assert "0.25 s, 4.0 million simulated instructions a second" in shown.err
    assert "limited by      waiting for messages" in shown.err
    assert "run directory   runs/ring-loggp-1" in shown.err


def test_what_is_built_on_first_use_needs_no_stream_of_pythons(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its messages go to descriptor 2: where tests or notebooks capture output, sys.stderr has
    none. A stream without one that can't be written is given up all the same."""
    monkeypatch.setattr(toolchain, "zig", lambda: Path("/bin/true"))
    toolchain.run_zig(["cc"], "a.c")
    monkeypatch.setattr(toolchain, "zig", lambda: Path("/bin/false"))
    with pytest.raises(InputError, match=r"zig could not build a\.c"):
        toolchain.run_zig(["cc"], "a.c")
    with pytest.raises(io.UnsupportedOperation):
        sys.stderr.fileno()
    text.abandon(sys.stderr)
    assert text.unwritten(BrokenPipeError()) == 141
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("variable", "value", "words", "message"),
    [
        ("CHASQUI_THREADS", "x", ["run"], "Invalid value for CHASQUI_THREADS: 'x' is neither auto"),
        ("CHASQUI_MACHINE", "nosuch", ["run"], 'CHASQUI_MACHINE: machine "nosuch": there is no'),
        ("CHASQUI_MACHINE", "nosuch", ["logp"], 'CHASQUI_MACHINE: machine "nosuch": there is no'),
    ],
)
def test_errors_of_variables_name_the_variable(
    fake_core: FakeCore,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    words: list[str],
    message: str,
) -> None:
    fake_core.unknown = 'machine "{}": there is no such machine'
    monkeypatch.setenv(variable, value)
    program = ["./x"] if words == ["run"] else []
    assert invoke([*words, *program]) == 2
    assert capsys.readouterr().err.startswith(f"chasqui: {message}")
    # The option has precedence, and is to blame then.
    option = {"CHASQUI_THREADS": "--threads", "CHASQUI_MACHINE": "-m"}[variable]
    assert invoke([*words, option, value, *program]) == 2
    assert variable not in capsys.readouterr().err
    monkeypatch.setenv(variable, "")
    assert invoke([*words, *program]) == 0


def test_run_numbers_its_directories(fake_core: FakeCore) -> None:
    for _ in range(3):
        invoke(["run", "--machine", "loggp/slow", "./ring"])
    assert [Path(each["directory"]).name for each in fake_core.requests] == [
        f"ring-loggp-slow-{number}" for number in (1, 2, 3)
    ]


def test_all_that_ended_a_job_is_said_with_its_number(
    fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = "rank 1 at 2 us: null pointer\ndeadlock at 9 us: 1 of 2 ranks wait\n  rank 0 waits"
    ended = {"outcome": "fault", "exit_status": 139, "message": fault, "time_ps": 9_000_000}
    fake_core.answers["loggp"] = {**ended, "others": [ended]}
    assert invoke(["run", "-q", "--job", "./other", "--", "./ring"]) == 139
    said = [
        f"chasqui: job {job}: fault: rank 1 at 2 us: null pointer\n"
        f"job {job}: deadlock at 9 us: 1 of 2 ranks wait\n  rank 0 waits\n"
        for job in range(2)
    ]
    assert capsys.readouterr().err == "".join(said)


def test_what_cannot_start_leaves_nothing_behind(fake_core: FakeCore, tmp_path: Path) -> None:
    assert invoke(["run", "--machine", "nosuch", "./ring"]) == 2
    assert not list(tmp_path.iterdir())


def test_run_passes_options_on(fake_core: FakeCore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE", "yes")
    monkeypatch.setenv("CHASQUI_MACHINE", "other")
    options = ["--set", "a.b=1", "--set", "c=2 us", "--env", "X=1=2", "--env", "HERE"]
    options += ["--mpi", "coll.bcast=chain"]
    assert invoke(["run", "-n", "2", *options, "--out", "here", "prog", "--out", "there"]) == 0
    request = fake_core.requests[0]
    assert request["sets"] == ["a.b=1", "c=2 us", "mpi.coll.bcast=chain"]
    assert request["env"] == {"X": "1=2", "HERE": "yes"}
    assert (request["directory"], request["machine"]) == ("here", "other")
    assert (request["program"], request["args"]) == ("prog", ["--out", "there"])


def test_a_colon_may_be_a_programs_argument(fake_core: FakeCore) -> None:
    assert invoke(["run", "./a", ":", "b"]) == 0
    assert fake_core.requests[0]["args"] == [":", "b"]


def test_run_passes_on_what_is_to_be_watched(fake_core: FakeCore) -> None:
    assert invoke(["run", "./ring"]) == 0
    watched = ["--fast-forward", "--trace-instructions", "1us..2us:0", "-q", "--profile"]
    assert invoke(["run", *watched, "./ring"]) == 0
    names = ("fast_forward", "trace_instructions", "profile")
    plain, asked = ([each["options"][name] for name in names] for each in fake_core.requests)
    assert plain == [False, None, False]
    assert asked == [True, "1us..2us:0", True]


def test_run_json(fake_core: FakeCore, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["run", "--json", "./ring"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["outcome"], printed["directory"]) == ("finished", "runs/ring-loggp-1")
    assert fake_core.requests[0]["echo"] is False


def test_the_exit_status_is_the_summarys(
    fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_core.answers["loggp"] = {
        "outcome": "deadlock", "exit_status": 125, "message": "rank 0 waits for rank 1",
    }  # fmt: skip
    assert invoke(["run", "--quiet", "./ring"]) == 125
    assert capsys.readouterr().err == "chasqui: deadlock: rank 0 waits for rank 1\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "-np", "0", "./x"], "-np 0: at least 1 rank is needed"),
        (["run", "-np", f"{10**20}", "./x"], f"'-np' / '-n': {10**20} is not in the range"),
        (["run", "-np", "-3", "./x"], "-np -3: at least 1 rank is needed"),
        (["run", "-np", "many", "./x"], "'many' is not a valid integer (see"),
        (["run", "--ranks-per-node", "x", "./x"], "'x' is not a valid integer (see"),
        (["run", "--ranks-per-node", f"{10**20}", "./x"], f"{10**20} is not in the range"),
        (["run", "--ranks-per-node", f"{-(10**20)}", "./x"], f"{-(10**20)} is not in the range"),
        (["run", "--timeline", f"{10**20}", "./x"], f"{10**20} is not in the range"),
        (["run", "--job", "-np '' ./y", "./x"], "RANKS a number of at most"),
        (["run", "--job", f"-np {10**20} ./y", "./x"], "RANKS a number of at most"),
        (["run", "--job", f"-np {'9' * 19} ./y", "./x"], "RANKS a number of at most"),
        (["run", "--job", f"-np {'9' * 5000} ./y", "./x"], "RANKS a number of at most"),
        (["run", "--job", "-np 0 ./y", "./x"], "--job '-np 0 ./y': -np 0: at least 1 rank is"),
        (
            ["run", "--job", "-np", "4", "./ring", "--", "./ring"],
            "--job '-np': quote the whole job: --job '-np 4 ./ring'\n",
        ),
        (["run", "-np", "2"], "no program was named"),
        (["run", "--set", "clock", "./x"], "--set 'clock': KEY=VALUE is expected"),
        (["run", "--mpi", "coll.bcast", "./x"], "--mpi 'coll.bcast': KEY=VALUE is expected"),
        (["run", "--env", "=1", "./x"], "--env '=1': NAME=VALUE is expected"),
        (["run", "--nosuch", "./x"], "--nosuch"),
        (["run", "./a", ":", "-np", "x", "./b"], "': -np x ./b': '[-np RANKS] PROGRAM [ARGS]...'"),
        (
            ["compare", "loggp", "--", "./a", ":", "-n"],
            "': -n': '[-np RANKS] PROGRAM [ARGS]...' is",
        ),
        (
            ["run", "--job", "./a : -n 1 ./b", "./x"],
            "a further job has one program; several (MPMD)",
        ),
        (["run", "--machine", "nosuch", "./x"], "unknown machine 'nosuch'; there are: loggp"),
        (["compare", "loggp", "-np", "2"], "name the machines, then -- and the program"),
        (["compare", "loggp", "loggp", "--", "./x"], "named more than once: loggp\n"),
        (["compare", *"aabccbb", "--", "./x"], "named more than once: a, b, c\n"),
        (["compare", "loggp", "--json", "--csv", "--", "./x"], "--json and --csv: only one of"),
        (
            ["logp", "voyager", "--json"],
            "logp voyager: a machine is named by an option: chasqui logp --machine voyager\n",
        ),
        (["logp", "--sizes", "1,x"], "'x' is not a number of bytes"),
        (["logp", "--sizes", ""], "1 to 4000 sizes are allowed"),
        (["info", "loggp", "ni.q"], "loggp has no parameter 'ni.q'; did you mean ni.g"),
        (
            ["info", "ni.g"],
            "'ni.g'; there are: loggp; for a parameter: chasqui info MACHINE ni.g\n",
        ),
        (["info", "nosuch"], "unknown machine 'nosuch'; there are: loggp\n"),
        (["info", "ni.g", "--toml"], "for a parameter: chasqui info MACHINE ni.g\n"),
        (["info", "--toml"], "info --toml: name the machine: chasqui info MACHINE --toml\n"),
        (["info", "--set", "ni.g=1"], "info --set: name the machine: chasqui info MACHINE"),
        (["info", "loggp", "--toml", "--json"], "--toml and --json: only one of them can be"),
        (["info", "loggp", "ni.g", "--toml"], "--toml prints the whole machine, not ni.g alone"),
        (["nosuch"], "no command 'nosuch'; there are: cc, c++, fc, spe-cc, run"),
    ],
)
def test_bad_arguments_are_one_line_and_status_2(
    fake_core: FakeCore, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert invoke(arguments) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("chasqui: ")
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert not list(Path().iterdir())


def test_help_shows_no_range_that_only_the_simulator_knows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert invoke(["run", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "9223372036854775807" not in shown
    assert shown.count("wait.polls=50") == 2  # --ranks-per-node, --job


def test_a_job_without_np_has_one_rank_and_help_says_so(
    fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["run", "-np", "4", "--job", "./ring -l 30", "./ring"]) == 0
    assert fake_core.requests[0]["others"][0]["ranks"] == 1
    capsys.readouterr()
    assert invoke(["run", "--help"]) == 0
    assert "Without -np it has one rank" in " ".join(capsys.readouterr().out.split())


def test_compare_shows_machines_side_by_side(
    fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_core.answers["other"] = {"time_ps": 5_000_000_000}
    assert invoke(["compare", "loggp", "other", "-np", "2", "--", "./ring", "--", "-np"]) == 0
    assert fake_core.requests[1]["args"] == ["--", "-np"]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "./ring on 2 ranks: times between MPI_Init and MPI_Finalize"
    assert lines[3].split() == ["loggp", "2.5", "ms", "1.00", "20.0%", "2.5", "ms", "3", "10.5"]
    assert lines[4].split()[:4] == ["other", "5", "ms", "0.50"]
    assert any(line.startswith("latency") and "land - ready" in line for line in lines)
    assert not any(line.startswith("first_use") for line in lines)  # no message has it
    assert "run directory runs/ring-other-1 (other)" in lines


def calls(init_us: int, finalize_us: int, end_us: int) -> list[dict[str, object]]:
    """Of a rank that was in MPI_Init and MPI_Finalize for so long, and 10 us in MPI_Recv."""
    times = [("MPI_Init", init_us, init_us), ("MPI_Finalize", finalize_us, end_us)]
    return [
        {
            "name": name,
            "count": 1,
            "time_ps": time * 10**6,
            "waiting_ps": 0,
            "left_ps": left * 10**6,
        }
        for name, time, left in [*times, ("MPI_Recv", 10, end_us - finalize_us)]
    ]


def test_compare_ranks_machines_by_the_time_between_init_and_finalize(
    fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that takes long to begin is not the slower one for that."""

    def answer(end_us: int, inits_us: list[int], finalize_us: int) -> dict[str, object]:
        ranks = [
            {
                "rank": rank, "status": 0, "time_ps": end_us * 10**6,
                "mpi_ps": (init + 10 + finalize_us) * 10**6,
                "shares": {"computing_ps": end_us * 10**6}, "waits": [],
                "calls": calls(init, finalize_us, end_us),
            }
            for rank, init in enumerate(inits_us)
        ]  # fmt: skip
        return {"time_ps": end_us * 10**6, "ranks": ranks}

    fake_core.answers["loggp"] = answer(1070, [100, 110], 160)  # 800 us from 110 to 910
    fake_core.answers["other"] = answer(1370, [870, 850], 300)  # 200 us from 870 to 1070
    assert invoke(["compare", "loggp", "other", "-np", "2", "--", "./ring"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split("  ")[1:3] == ["Init to Finalize", "speed-up"]
    assert lines[3].split()[1:7] == ["800", "us", "1.00", "1.2%", "1.07", "ms"]
    assert lines[4].split()[1:7] == ["200", "us", "4.00", "4.8%", "1.37", "ms"]
    assert invoke(["compare", "loggp", "other", "-np", "2", "--json", "--", "./ring"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert [each["init_to_finalize_ps"] for each in (first, second)] == [8 * 10**8, 2 * 10**8]
    assert (second["time_ps"], second["speed_up"]) == (1_370_000_000, 4.0)
    # A program without MPI has its whole time.
    fake_core.answers.clear()
    assert invoke(["compare", "loggp", "--csv", "--", "./plain"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row["init_to_finalize_ps"] == row["time_ps"] == "2500000000"


def test_compare_goes_on_after_a_failure(
    fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_core.answers["other"] = {"outcome": "fault", "exit_status": 139, "message": "rank 1: no"}
    arguments = ["compare", "other", "loggp", "-np", "2", "--json", "--", "./ring"]
    assert invoke(arguments) == 139
    first, second = json.loads(capsys.readouterr().out)
    assert (first["reason"], first["time_ps"]) == ("fault: rank 1: no", None)
    assert first["mpi_share"] is None
    assert (second["reason"], second["time_ps"]) == (None, 2_500_000_000)
    assert invoke([word for word in arguments if word != "--json"]) == 139
    head, _, row, *_ = capsys.readouterr().out.splitlines()[1:]
    assert head.split()[-1] == "reason"
    assert row.split()[:5] == ["other", "-", "-", "-", "-"]


def test_compare_names_what_an_interruption_left_out(
    fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_core.answers["loggp"] = {"outcome": "interrupted", "exit_status": 130}
    assert invoke(["compare", "loggp", "other", "loggp/slow", "--", "./ring"]) == 130
    assert capsys.readouterr().err == "chasqui: interrupted before other, loggp/slow: no row\n"


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke([]) == 2
    assert capsys.readouterr().err.startswith("Usage: chasqui [OPTIONS] COMMAND")


@pytest.mark.parametrize("options", [[], ["--logp"]])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["loggp", "nosuch", "--", "./ring"], "unknown machine 'nosuch'; there are: loggp"),
        (["loggp", "nosuch", "other", "gone", "--", "./ring"], "unknown machine 'gone'"),
        (["loggp", "other", "--", "./nosuch"], "./nosuch: no such file"),
        (["loggp/a", "loggp-a.toml", "--out", "here", "--", "./ring"], "here/loggp-a: it would be"),
    ],
)
def test_compare_refuses_before_it_runs_anything(
    fake_core: FakeCore,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    options: list[str],
    words: list[str],
    message: str,
) -> None:
    assert invoke(["compare", *options, *words]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("chasqui: ")
    assert message in shown.err
    assert (shown.out, fake_core.requests, list(tmp_path.iterdir())) == ("", [], [])


def test_compare_csv_and_logp(fake_core: FakeCore, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["compare", "loggp", "--csv", "--logp", "--", "./ring"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row["L_ps"] == str(PARAMETERS["L"])
    assert [row[f"{name}_sign"] for name in ("L", "g", "G")] == ["=", "=", "="]
    assert row["latency_ns"] == "10.5"
    fake_core.parameters_ps["g"] = 1  # below o: not seen
    fake_core.parameters_ps["G"] = 0
    assert invoke(["compare", "loggp", "--csv", "--logp", "--", "./ring"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert [row[f"{name}_sign"] for name in ("L", "g")] == ["=", "<="]


def test_logp_json_is_exact(fake_core: FakeCore, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["logp", "--machine", "loggp", "--sizes", "1,64,4096", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = (PARAMETERS[name] for name in ("L", "o_send", "o_recv", "g", "G"))
    names = ("L_ps", "o_send_ps", "o_recv_ps", "g_ps", "G_ps_per_byte")
    assert [found[name] for name in names] == list(expected)
    assert [each["bytes"] for each in found["sizes"]] == [1, 64, 4096]
    assert found["clock_ps"] == 5000
    assert not Path("runs").exists()


def test_logp_table(fake_core: FakeCore, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["logp", "--sizes", "8"]) == 0
    shown = capsys.readouterr().out
    assert "loggp: times in ns" in shown
    assert "the same in cycles of the node's clock (5 ns)" in shown
    latency = PARAMETERS["L"] + 7 * PARAMETERS["G"] + PARAMETERS["o_send"] + PARAMETERS["o_recv"]
    assert f"{latency / 1000:,.0f}" in shown
    assert "of messages of 8 B, the shortest; G of longer ones" in shown
    assert "o_send = 1,200 ns" in shown


@pytest.mark.parametrize("out", [[], ["--out", "here"]], ids=["gone", "kept"])
def test_a_measurement_that_does_not_end_well_is_status_1(
    fake_core: FakeCore, capsys: pytest.CaptureFixture[str], out: list[str]
) -> None:
    """It is 2 where nothing has run."""
    fake_core.answers["loggp"] = {
        "outcome": "aborted", "exit_status": 124, "message": "stopped by --limit-time",
    }  # fmt: skip
    assert invoke(["logp", "--limit-time", "1 us", "--sizes", "8", *out]) == 1
    shown = capsys.readouterr()
    assert shown.err.splitlines() == [
        "chasqui: the measurement of 8 bytes on loggp: aborted: stopped by --limit-time",
        "chasqui: 0 of 1 sizes are measured",
    ]
    assert shown.out == ""
    assert [each.name for each in Path().iterdir()] == out[1:]
    if out:
        assert invoke(["logp", "--sizes", "8", *out]) == 2
    assert invoke(["logp", "--help"]) == 0
    assert "Exit status: 0; 1 if a simulation did not end well" in capsys.readouterr().out


def test_info_and_machines(fake_core: FakeCore, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["machines"]) == 0
    assert "loggp    slow" in capsys.readouterr().out
    assert invoke(["info", "loggp"]) == 0
    assert "0 ps to 1 s" in capsys.readouterr().out
    assert invoke(["info", "loggp", "ni.L"]) == 0
    shown = capsys.readouterr().out
    assert "source   an assumption" in shown
    assert "meaning  Latency. Of the wire." in shown
    assert "ni.g" not in shown
    assert "range" not in shown
    assert invoke(["info", "loggp", "ni.g"]) == 0
    assert "  range    1 us to 2 us\n" in capsys.readouterr().out
    assert invoke(["info"]) == 0
    assert "1,024" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", ["cc", "c++", "run", "compare", "sweep", "logp", "machines", "info"]
)
def test_every_command_has_help_with_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if command.startswith("c") and command != "compare":
        with pytest.raises(SystemExit, match="0"):
            invoke([command, "--help"])
    else:
        assert invoke([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Example" in shown
    assert f"chasqui {command}" in shown


def test_without_the_core_there_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys

    import chasqui

    monkeypatch.setitem(sys.modules, "chasqui._core", None)
    monkeypatch.delattr(chasqui, "_core", raising=False)
    monkeypatch.chdir(tmp_path)
    assert invoke(["run", "./x"]) == 2
    assert "core is not built" in capsys.readouterr().err
