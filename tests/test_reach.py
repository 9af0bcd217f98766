"""What programs may do to the host: which files they see, and how much they may take of it.

Use this when the options for files and limits change, or what a run says about them. What single
system calls reach is tested in crates/linux/tests/reach.rs.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Compiler, Run
from fake_core import FakeCore
from simulated import command

from chasqui import simulation
from chasqui.cli import invoke
from chasqui.errors import STATUS_LOST
from chasqui.experiment import Run as ExperimentRun
from chasqui.experiment import running

LOGGP = ("run", "--machine", "loggp")
OUT_OF_TIME, TOO_MUCH_MEMORY, TOO_MUCH_OUTPUT = 124, 137, 153

# Does what its arguments say.
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <sys/stat.h>

static void show(const char *path)
{
    char line[200] = "";
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return;
    }
    fgets(line, sizeof line, file);
    printf("%s: %s\n", path, line);
    fclose(file);
}

static void make(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        return;
    }
    fputs("made", file);
    fclose(file);
}

static void fill(const char *path)
{
    static char block[1 << 16];
    FILE *file = fopen(path, "w");
    for (;;)
        fwrite(block, 1, sizeof block, file);
}

static void fill_with_folders(void)
{
    char name[32];
    for (long i = 0;; i++) {
        snprintf(name, sizeof name, "folder%ld", i);
        mkdir(name, 0755);
    }
}

static void make_holes(const char *path)
{
    int file = open(path, O_CREAT | O_RDWR, 0644);
    for (long i = 0;; i++)
        pwrite(file, "x", 1, i * 2 * 4096);
}

static void open_many(const char *path, int rank)
{
    int count = 0;
    usleep(rank * 1000);
    while (count < 100 && open(path, O_RDONLY) >= 0)
        count++;
    printf("%d open: %s\n", count, count < 100 ? strerror(errno) : "all");
}

static void spin(void)
{
    volatile long turns = 0;
    for (;;)
        turns++;
}

static void eat(long mib)
{
    for (long i = 0; i < mib << 8; i++)
        ((volatile char *)malloc(4096))[0] = 1;
    spin();
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *what = argv[i], *path = argv[i + 1];
        if (!strcmp(what, "show"))
            show(path);
        else if (!strcmp(what, "make"))
            make(path);
        else if (!strcmp(what, "remove"))
            printf("remove %s: %d\n", path, unlink(path));
        else if (!strcmp(what, "fill") && rank == 1)
            fill(path);
        else if (!strcmp(what, "holes") && rank == 1)
            make_holes(path);
        else if (!strcmp(what, "open"))
            open_many(path, rank);
        else if (!strcmp(what, "folders") && rank == 1)
            fill_with_folders();
        else if (!strcmp(what, "print") && rank == 1)
            for (;;)
                puts("and again");
        else if (!strcmp(what, "spin"))
            spin();
        else if (!strcmp(what, "eat"))
            eat(rank == 1 ? atol(path) : 0);
    }
    MPI_Finalize();
    return 0;
}
"""


# Each rank after the one before: opens 50 files, of which it maps 10 and closes these, and ends.
OPENS = r"""
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank, count = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Finalize();
    usleep(rank * 1000);
    for (int i = 0; i < 50; i++) {
        int file = open(argv[1], O_RDONLY);
        count += file >= 0;
        if (i % 5 == 0) {
            count -= mmap(0, 4096, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED;
            close(file);
        }
    }
    printf("%d\n", count);
    return 0;
}
"""


@pytest.fixture
def reacher(compile_c: Compiler) -> Path:
    return compile_c("reacher", PROGRAM)


def summary(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((directory / "summary.json").read_text())
    return found


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A working directory, and a folder beside it that holds a file."""
    work, data = tmp_path / "work", tmp_path / "data"
    work.mkdir()
    data.mkdir()
    (work / "own").write_text("own")
    (data / "file").write_text("data")
    return work, data


@pytest.mark.core
def test_a_file_elsewhere_is_seen_when_it_is_bound(
    chasqui: Run, reacher: Path, places: tuple[Path, Path]
) -> None:
    work, data = places
    file = data / "file"
    words = ("show", "own", "show", work / "own", "show", file, "show", "../data/file")
    asks = [*LOGGP, "--out", "run", "-np", 3, "--", reacher, *words]
    done = chasqui(*map(str, asks), cwd=work)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("own: own") == 6
    assert "data" not in re.sub(r".*No such file.*\n", "", done.stdout)
    # One line for all ranks, with the option that would help.
    said = [line for line in done.stderr.splitlines() if "--bind" in line]
    assert said == [
        f"chasqui: rank 0: {file} is not among the files that the program sees; --bind {data}:ro "
        "would show it"
    ]
    assert not re.search(r"--bind", "".join(p.read_text() for p in (work / "run").glob("std*")))

    bind = re.findall(r"--bind \S+", said[0])[0].split()
    done = chasqui(*map(str, [*LOGGP, *bind, *asks[5:]]), cwd=work)
    assert done.stdout.count("file: data") == 6
    assert "--bind" not in done.stderr
    by_environment = chasqui(
        *map(str, [*LOGGP, *asks[5:]]), cwd=work, env={"CHASQUI_BIND": bind[1]}
    )
    assert by_environment.stdout == done.stdout
    done = chasqui(*map(str, [*LOGGP, "--host-files", *asks[5:]]), cwd=work)
    assert done.stdout.count("file: data") == 6


@pytest.mark.core
def test_of_several_jobs_a_refusal_names_its_own(
    chasqui: Run, reacher: Path, places: tuple[Path, Path]
) -> None:
    work, data = places
    job = f"-np 1 {reacher} show {data / 'file'}"
    asks = ["run", "--machine", "voyager", "--job", job, "--", reacher, "show", "own"]
    done = chasqui(*map(str, asks), cwd=work)
    said = [line for line in done.stderr.splitlines() if "--bind" in line]
    assert len(said) == 1
    assert said[0].startswith(f"chasqui: job 1: rank 0: {data / 'file'} is not among the files")


@pytest.mark.core
def test_the_working_directory_is_seen_by_the_shells_name(
    chasqui: Run, reacher: Path, places: tuple[Path, Path], tmp_path: Path
) -> None:
    work, _ = places
    (tmp_path / "way").symlink_to(work)
    words = (reacher, "show", tmp_path / "way/own")
    done = chasqui(*LOGGP, "--", *map(str, words), cwd=work, env={"PWD": str(tmp_path / "way")})
    assert "own: own" in done.stdout
    done = chasqui(*LOGGP, "--", *map(str, words), cwd=work, env={"PWD": str(tmp_path)})
    assert "own: No such file" in done.stdout + done.stderr


@pytest.mark.core
def test_a_wrong_bind_is_its_giver_s(chasqui: Run, reacher: Path, tmp_path: Path) -> None:
    words = (*map(str, LOGGP), "--", str(reacher))
    for bind in ("nosuch", "a:b:c", "/tmp:/proc", "/proc:/p", "/sys:/s", "/proc/self/maps:/m"):
        done = chasqui(*words[:-2], "--bind", bind, *words[-2:], env={"CHASQUI_BIND": "other"})
        assert done.stderr.startswith(f"chasqui: --bind {bind}: ")
        done = chasqui(*words, env={"CHASQUI_BIND": bind})
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert done.stderr.startswith(f"chasqui: CHASQUI_BIND {bind}: "), done.stderr


@pytest.mark.core
def test_what_the_hosts_kernel_shows_is_seen_nowhere(
    chasqui: Run, reacher: Path, tmp_path: Path
) -> None:
    """The simulator's own memory is a file there."""
    files = ("/x/proc/self/mem", "/x/proc/self/environ", "/x/proc/1/cmdline", "/x/sys/power/state")
    words = [word for file in files for word in ("show", file)]
    done = chasqui(*LOGGP, "-q", "--bind", "/:/x", "--", str(reacher), *words)
    assert (done.returncode, done.stdout) == (0, "")
    for file in files:
        assert f"{file}: Permission denied" in done.stderr
    done = command("run", "--out", str(tmp_path / "o"), "--", reacher, directory=Path("/proc"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("chasqui: the working directory: what the host's kernel has")
    assert not (tmp_path / "o").exists()


@pytest.mark.core
def test_nothing_elsewhere_is_changed(
    chasqui: Run, reacher: Path, places: tuple[Path, Path]
) -> None:
    work, data = places
    (work / "link").symlink_to(data)
    new = data / "new"
    words = ["make", new, "make", "link/new", "remove", "link/file", "make", "here"]
    words += ["show", "/proc/self/environ", "show", "/etc/hostname"]
    asks = [str(word) for word in [*LOGGP, "--", reacher, *words]]
    done = chasqui(*asks, cwd=work)
    assert sorted(path.name for path in data.iterdir()) == ["file"]
    assert (work / "here").read_text() == "made"
    assert f"{new} is not among the files that the program sees; --bind {data} would" in done.stderr
    assert "environ: No such file" in done.stderr
    assert "/etc/hostname is not among" in done.stderr, "what an argument names is worth a word"
    done = chasqui(*LOGGP, "--bind", f"{data}:ro", *asks[3:], cwd=work)
    assert not new.exists()
    assert f"{new} may only be read; --bind {data} without :ro would let it" in done.stderr
    done = chasqui(*LOGGP, "--bind", "../data:/elsewhere", *asks[3:], cwd=work)
    assert not new.exists()
    # The hint is what would have to be given, HOST:GUEST.
    inside = (*LOGGP, "--bind", "../data:/in:ro", "--", str(reacher), "make", "/in/new")
    done = chasqui(*inside, cwd=work)
    said = "/in/new may only be read; --bind ../data:/in without :ro would let it be changed"
    assert said in done.stderr
    done = chasqui(*LOGGP, "--bind", "../data", *asks[3:], cwd=work)
    assert new.read_text() == "made"
    assert not (data / "file").exists()


@pytest.mark.core
def test_what_is_said_of_a_bind_is_one_word_to_a_shell(
    chasqui: Run, reacher: Path, places: tuple[Path, Path]
) -> None:
    work, data = places
    place = data.parent / "it's mine"
    data.rename(place)
    done = chasqui(*LOGGP, "--", str(reacher), "show", str(place / "file"), cwd=work)
    said = re.search(r"--bind (.*) would show it", done.stderr)
    assert said is not None, done.stderr
    assert shlex.split(said[1]) == [f"{place}:ro"]
    done = chasqui(*LOGGP, "--bind", *shlex.split(said[1]), "--", str(reacher), "show",
                   str(place / "file"), cwd=work)  # fmt: skip
    assert "would show it" not in done.stderr


# Renames its first argument to the second, and so on; then it writes more than a buffer.
RENAMES = r"""
#include <stdio.h>
int main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2)
        if (rename(argv[i], argv[i + 1]))
            perror(argv[i]);
    for (int i = 0; i < 20000; i++)
        puts("text of a guest");
    return 0;
}
"""


@pytest.mark.core
@pytest.mark.parametrize(
    ("what", "lost"),
    [
        (["to-file", "out/stdout.0"], True),
        (["to-file", "out/stderr.0"], False),
        (["to-file", "out/summary.json"], False),
        (["pipe", "out/stdout.0"], True),
    ],
)
def test_results_go_nowhere_that_a_program_has_their_place_lead_to(
    compile_c: Compiler, chasqui: Run, places: tuple[Path, Path], what: list[str], lost: bool
) -> None:
    """By a link or a pipe that lies in its folder already: it can make none."""
    work, data = places
    (work / "to-file").symlink_to(data / "file")
    (work / "to-folder").symlink_to(data)
    os.mkfifo(work / "pipe")
    before = (data / "file").read_bytes()
    program = compile_c("renames", RENAMES)
    done = chasqui(*LOGGP, "-q", "--out", "out", "--", program, *what, cwd=work)
    assert done.returncode == (STATUS_LOST if lost else 0), done.stderr
    assert [path.name for path in data.iterdir()] == ["file"]
    assert (data / "file").read_bytes() == before
    assert ("lost or cut short: stdout.0" in done.stderr) == lost
    assert json.loads((work / "out" / "summary.json").read_text())["outcome"] == "finished"
    assert not (work / "out" / "summary.json").is_symlink()


@pytest.mark.core
@pytest.mark.parametrize("to", ["to-folder", "to-run"])
def test_a_run_directory_that_a_program_renamed_is_not_taken_for_another(
    compile_c: Compiler, chasqui: Run, places: tuple[Path, Path], to: str
) -> None:
    """Nothing of the other is shown as this run's, and nothing is written there."""
    work, data = places
    program = compile_c("renames", RENAMES)
    done = chasqui(*LOGGP, "-q", "--profile", "--out", "to-run", "--", program, cwd=work)
    assert done.returncode == 0, done.stderr
    (work / "to-folder").symlink_to(data)
    words = [*LOGGP, "--profile", "--histogram", "sizes", "--out", "out", "--", program]
    done = chasqui(*map(str, words), "out", "away", to, "out", cwd=work)
    assert done.returncode == STATUS_LOST
    assert "out: no longer there: a program has renamed it" in done.stderr
    assert "messages by length" not in done.stderr
    assert "cycles" not in done.stderr
    assert [path.name for path in data.iterdir()] == ["file"]
    assert not (work / "out" / "histogram.csv").exists()
    assert summary(work / "away")["outcome"] == "finished"


@pytest.mark.core
def test_a_recording_whose_folder_a_program_renamed_is_said_to_be_elsewhere(
    compile_c: Compiler, chasqui: Run, places: tuple[Path, Path]
) -> None:
    work, _ = places
    (work / "sub").mkdir()
    program = compile_c("renames", RENAMES)
    words = ["record", "--machine", "loggp", "-o", "sub/it", "--", str(program), "sub", "away"]
    done = chasqui(*words, cwd=work)
    assert done.returncode == STATUS_LOST
    assert "sub/it: no longer there: a program has renamed it" in done.stderr
    assert "recording  " not in done.stderr
    assert (work / "away" / "it").read_bytes()[:4] == b"PAR1"


@pytest.mark.core
def test_a_recording_goes_through_a_link_to_a_name_that_is_no_text(
    compile_c: Compiler, chasqui: Run, places: tuple[Path, Path]
) -> None:
    work, _ = places
    name = os.fsdecode(b"b\xff.recording")
    (work / "link").symlink_to(name)
    program = compile_c("renames", RENAMES)
    done = chasqui("record", "-q", "--machine", "loggp", "-o", "link", "--", str(program), cwd=work)
    assert done.returncode == 0, done.stderr
    assert (work / "link").is_symlink()
    assert (work / name).read_bytes()[:4] == b"PAR1"


@pytest.mark.core
def test_a_recording_goes_where_its_name_led_to_before_the_run(
    compile_c: Compiler, chasqui: Run, places: tuple[Path, Path]
) -> None:
    work, data = places
    (work / "to-file").symlink_to(data / "file")
    before = (data / "file").read_bytes()
    program = compile_c("renames", RENAMES)
    words = ["record", "-q", "--machine", "loggp", "-o", "it", "--", str(program), "to-file", "it"]
    done = chasqui(*words, cwd=work)
    assert done.returncode == 0, done.stderr
    assert (data / "file").read_bytes() == before
    assert not (work / "it").is_symlink()
    assert (work / "it").read_bytes()[:4] == b"PAR1"


@pytest.mark.core
def test_a_kernel_under_the_process_changes_nothing(
    chasqui: Run, reacher: Path, places: tuple[Path, Path]
) -> None:
    work, data = places
    machine = ("run", "--machine", "voyager", "--set", "node.software.kernel=true")
    words = ("show", data / "file", "make", data / "new")
    done = chasqui(*machine, "--", *map(str, (reacher, *words)), cwd=work)
    assert f"--bind {data}:ro would show it" in done.stderr
    assert f"--bind {data} would show it" in done.stderr
    assert not (data / "new").exists()
    limit = ("--limit-output", "1 MiB", "--out", "full", "-np", "2")
    done = chasqui(*machine, *limit, "--", str(reacher), "fill", "big", cwd=work)
    assert done.returncode == TOO_MUCH_OUTPUT, done.stderr
    assert "rank 1 at" in summary(work / "full")["message"]


@pytest.mark.core
@pytest.mark.parametrize("what", ["fill", "holes", "folders", "print"])
def test_a_runaway_does_not_fill_a_disk(
    chasqui: Run, reacher: Path, tmp_path: Path, what: str
) -> None:
    limit = ("--limit-output", "300 KiB", "--out", "run", "-np", "2", "-q")
    done = chasqui(*LOGGP, *limit, "--", str(reacher), what, "big")
    assert done.returncode == TOO_MUCH_OUTPUT, done.stderr
    found = summary(tmp_path / "run")
    assert found["outcome"] == "aborted"
    assert re.fullmatch(
        r"rank 1 at .*: would write more than --limit-output 300 KiB allows all ranks together\n"
        r"  other ranks ran on until .*, when it took effect on them; what they did is in .*",
        found["message"],
    )
    assert found["message"] in done.stderr
    assert {"stats.json", "host.json", "messages.parquet"} < {
        p.name for p in (tmp_path / "run").iterdir()
    }
    written = len(done.stdout)
    if what in ("fill", "holes"):
        written = (tmp_path / "big").stat().st_blocks * 512
    assert written <= 300 << 10
    assert len(list(tmp_path.glob("folder*"))) <= 75


def with_files(soft: int, hard: int, cwd: Path, *words: str | Path) -> tuple[int, list[str], str]:
    """The command where it may have so many files open, a soft limit and a hard one: the status,
    what each rank has printed, and messages."""
    done = subprocess.run(
        [sys.executable, "-m", "chasqui", "run", "-m", "loggp", "--out", "run", *words],
        cwd=cwd, capture_output=True, text=True, check=False, timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)),
    )  # fmt: skip
    outputs = sorted((cwd / "run").glob("stdout.*"), key=lambda path: int(path.suffix[1:]))
    return done.returncode, [path.read_text() for path in outputs], done.stderr


@pytest.mark.core
def test_files_that_programs_open_leave_some_for_the_results(
    reacher: Path, places: tuple[Path, Path]
) -> None:
    work, _ = places
    status, printed, said = with_files(128, 128, work, "-np", "3", "--", reacher, "open", "own")
    assert status == 0, said
    counts = [int(text.partition(" ")[0]) for text in printed]
    assert sum(counts) < 128 * 3 / 4
    assert counts[0] > 64
    assert printed[2].endswith(" open: Too many open files in system\n"), "which is ENFILE"
    (line,) = [line for line in said.splitlines() if "ENFILE" in line]
    assert line == (
        "chasqui: rank 0: all ranks together have as many files open as the host allows "
        "(ulimit -n 128): no more can be opened (ENFILE)"
    )
    assert summary(work / "run")["outcome"] == "finished"
    names = {path.name for path in (work / "run").iterdir()}
    assert {"stats.json", "host.json", "messages.parquet", "resolved.toml"} < names


@pytest.mark.core
def test_programs_open_as_many_files_as_the_host_allows(
    reacher: Path, places: tuple[Path, Path]
) -> None:
    """What a shell's soft limit says is for programs that wait for files by select()."""
    work, _ = places
    status, printed, said = with_files(64, 1024, work, "-np", "3", "--", reacher, "open", "own")
    assert (status, printed) == (0, ["100 open: all\n"] * 3), said
    # What is bound is open, too.
    binds = [f"--bind=own:/{number}" for number in range(100)]
    shutil.rmtree(work / "run")
    status, _, said = with_files(64, 1024, work, *binds, "--", reacher, "show", "/99")
    assert status == 0, said


@pytest.mark.core
def test_files_of_a_process_that_has_ended_are_closed(compile_c: Compiler, tmp_path: Path) -> None:
    program = compile_c("opens", OPENS)
    (tmp_path / "file").write_text("text")
    status, printed, said = with_files(128, 128, tmp_path, "-np", "8", "--", program, "file")
    assert (status, printed) == (0, ["50\n"] * 8), said


@pytest.mark.core
def test_simulated_time_ends_at_its_limit(chasqui: Run, reacher: Path, tmp_path: Path) -> None:
    for threads in (1, 2):
        out = ("--out", f"run{threads}", "--threads", str(threads))
        limit = ("--limit-time", "2.5 ms", "-np", "3")
        done = chasqui(*LOGGP, *limit, *out, "--", str(reacher), "spin", "")
        assert done.returncode == OUT_OF_TIME, done.stderr
        found = summary(tmp_path / f"run{threads}")
        assert found["outcome"] == "aborted"
        assert found["limit"] == "time"
        assert found["message"].startswith("stopped at 2.500 ms by --limit-time\n  rank 0, pc")
        assert 2_400_000_000 < found["time_ps"] < 2_600_000_000
    same = [(tmp_path / f"run{i}" / "summary.json").read_bytes() for i in (1, 2)]
    assert same[0] == same[1]
    # A run that ends before is as it is without.
    for name, words in (("with", ["--limit-time", "1 s"]), ("without", [])):
        chasqui(*LOGGP, *words, "--out", name, "--", str(reacher))
    texts = [(tmp_path / name / "summary.json").read_bytes() for name in ("with", "without")]
    assert texts[0] == texts[1]
    assert summary(tmp_path / "with")["outcome"] == "finished"


@pytest.mark.core
def test_what_a_rank_had_begun_before_the_limit_is_named(
    chasqui: Run, reacher: Path, tmp_path: Path
) -> None:
    """A system call, here one of the program's start, goes on to its end."""
    limit = ("--limit-time", "10 us", "--out", "run")
    done = chasqui("run", "--machine", "voyager", *limit, "--", str(reacher), "spin", "")
    assert done.returncode == OUT_OF_TIME, done.stderr
    found = summary(tmp_path / "run")
    end = f"{found['time_ps'] / 10**6:.3f} us"
    said = f"stopped at 10.000 us by --limit-time; what ranks had begun before lasts until {end}, "
    assert found["message"].startswith(f"{said}and is in the results\n  rank 0, pc")
    assert found["time_ps"] > 10_000_000
    # Of nothing nothing is said.
    limit = ("--limit-time", "1 ps", "--out", "none")
    done = chasqui("run", "--machine", "voyager", *limit, "--", str(reacher), "spin", "")
    assert done.returncode == OUT_OF_TIME, done.stderr
    assert summary(tmp_path / "none")["message"].startswith("stopped at 1 ps by --limit-time\n")


@pytest.mark.core
@pytest.mark.parametrize("limit", [("--limit-time", "3 ms"), ("--limit-host-time", "2 s")])
def test_a_job_that_has_ended_knows_of_no_limit(
    chasqui: Run, reacher: Path, tmp_path: Path, limit: tuple[str, str]
) -> None:
    machine = ("run", "--machine", "voyager", "--set", "node.harts=2")
    job = ("--job", f"{reacher} spin x")
    done = chasqui(*machine, *job, *limit, "--out", "run", "--", str(reacher))
    assert done.returncode == OUT_OF_TIME, done.stderr
    found = [summary(tmp_path / "run" / job) for job in ("job0", "job1")]
    assert [each["outcome"] for each in found] == ["finished", "aborted"]
    assert [each.get("limit") for each in found] == [None, limit[0].removeprefix("--limit-")]
    assert f"by {limit[0]}" in summary(tmp_path / "run" / "job1")["message"]


@pytest.mark.core
def test_host_time_ends_at_its_limit(chasqui: Run, reacher: Path, tmp_path: Path) -> None:
    limit = ("--limit-host-time", "1.5 s", "--out", "run", "-np", "2")
    done = chasqui(*LOGGP, *limit, "--", str(reacher), "spin", "")
    assert done.returncode == OUT_OF_TIME, done.stderr
    found = summary(tmp_path / "run")
    assert found["outcome"] == "aborted"
    assert re.match(r"stopped at .* by --limit-host-time 1.5 s\n  rank 0, pc", found["message"])


@pytest.mark.core
def test_memory_ends_at_its_limit(chasqui: Run, reacher: Path, tmp_path: Path) -> None:
    limit = ("--limit-memory", "250 MiB", "--out", "run", "-np", "3")
    memory = ("--set", "node.dram.size=1 GiB")
    done = chasqui(*LOGGP, *memory, *limit, "--", str(reacher), "eat", "400")
    assert done.returncode == TOO_MUCH_MEMORY, done.stderr
    found = summary(tmp_path / "run")
    assert found["outcome"] == "aborted"
    said = r"stopped at .*: the simulation takes 2\d\d.* MiB of the host's memory, "
    assert re.match(
        said + r"--limit-memory 250 MiB allows no more; rank 1 has the most", found["message"]
    )


@pytest.mark.core
def test_options_that_cannot_be_are_refused(chasqui: Run, reacher: Path, tmp_path: Path) -> None:
    for option, value, said in [
        ("--bind", "nowhere", "--bind nowhere: "),
        ("--bind", f"{tmp_path}:/proc/x", "/proc/x is of the simulated system itself"),
        ("--bind", "", "--bind : HOST[:GUEST][:ro] is expected"),
        ("--limit-time", "5", "--limit-time: "),
        ("--limit-host-time", "1 hour", '--limit-host-time: "hour" is not a unit'),
        ("--limit-output", "lots", "--limit-output: "),
        ("--limit-memory", "-1 GiB", "--limit-memory: "),
    ]:
        done = chasqui(*LOGGP, option, value, "--", str(reacher))
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
        assert list(tmp_path.iterdir()) == []


def test_every_command_that_runs_programs_takes_them(fake_core: FakeCore) -> None:
    options = (
        "--bind",
        "a:/b:ro",
        "--bind",
        "c",
        "--limit-output",
        "1 GiB",
        "--limit-time",
        "5 ms",
    )
    machine = ("--machine", "loggp")
    for words in [
        ("run", *machine, *options, "--", "./x"),
        ("record", *machine, *options, "--", "./x"),
        ("compare", "loggp", *options, "--logp", "--", "./x"),
        ("logp", *machine, *options, "--sizes", "8"),
    ]:
        fake_core.requests.clear()
        assert invoke(list(words)) == 0, words
        assert fake_core.requests
        for request in fake_core.requests:
            assert request["sandbox"] == {
                "binds": ["a:/b:ro", "c"],
                "host_files": False,
                "limit_time": "5 ms",
                "limit_host_time": None,
                "limit_output": "1 GiB",
                "limit_memory": None,
                "binds_by": None,
            }


def test_experiments_pass_them_on(
    fake_core: FakeCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = simulation.Sandbox(binds=("a",), limit_output="1 GiB")
    program = tmp_path / "program"
    program.touch()
    run = ExperimentRun("one", "loggp", 1, str(program))
    running.run_all("voyager/am", [run], tmp_path, 1, lambda _done, _of: None, sandbox)
    assert fake_core.requests[0]["sandbox"]["binds"] == ["a"]
    assert fake_core.requests[0]["sandbox"]["limit_output"] == "1 GiB"
    got: list[object] = []

    def carry_out(*_: object, **named: object) -> None:
        got.append(named["sandbox"])
        raise running.RunFailed("enough")

    monkeypatch.setattr(running, "carry_out", carry_out)
    monkeypatch.setattr(running, "prepare", lambda *_, **__: None)
    words = ["experiment", "voyager/mechanisms", "--bind", "a", "--limit-output", "1 GiB"]
    assert invoke(words) == 1
    assert got == [sandbox]
