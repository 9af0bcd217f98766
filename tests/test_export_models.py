"""`chasqui export MACHINE`: what another simulator makes of the figures is what was measured.

Use this when what is written for one changes. The models are carried out here from what their
manuals say; SMPI also carries them out itself, where it is installed.
"""

from __future__ import annotations

import ast
import re
import subprocess
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import ROOT, Compiler, Run

from chasqui import measurement
from chasqui.export import models
from chasqui.export.models import sst
from chasqui.export.models.simgrid import ENVELOPE
from chasqui.loggp import Sample, SizeFigures, summarise
from chasqui.measurement import Measurement

PROGRAM = ROOT / "tests" / "export" / "trips.c"
PAGE = ROOT / "docs" / "manual" / "export.md"
ROW = re.compile(r"\| `?([\w/-]+)`? \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|")
MACHINES = ("loggp", "voyager", "netcache/ldtct")
SMPI_CFG = ["--log=root.thresh:error", "--cfg=smpi/simulate-computation:no"]


def size(count: int, o_send: int, o_recv: int, latency: int, gap: int) -> SizeFigures:
    def steady(ps: int) -> Sample:
        return Sample.of([ps, ps])

    return SizeFigures(
        bytes=count, o_send=steady(o_send), o_recv=steady(o_recv), latency=steady(latency),
        l=steady(latency - o_send - o_recv), gap=steady(gap), limited_by="ni",
        mechanisms=frozenset({"it"}), overlaps=False, arrives_early=False,
    )  # fmt: skip


def measured(*sizes: SizeFigures) -> Measurement:
    return Measurement("m", summarise(sizes), Fraction(1000), None)


def options_of(text: str) -> tuple[dict[str, str], ElementTree.Element]:
    root = ElementTree.fromstring(text)
    props = {each.attrib["id"]: each.attrib["value"] for each in root.iter("prop")}
    cluster = root.find("cluster")
    assert cluster is not None
    return props, cluster


def piece(option: str, count: int) -> list[float]:
    """The values of the last piece above whose size a message is; else of the first."""
    pieces = [list(map(float, each.split(":"))) for each in option.split(";")]
    return [each for each in pieces if count > each[0] or each is pieces[0]][-1][1:]


def smpi_ps(text: str, count: int) -> list[float]:
    """A message's time at the sender, of its transfer, and at the receiver, as SMPI adds them."""
    props, cluster = options_of(text)
    latency = 2 * float(cluster.attrib["lat"].removesuffix("s"))
    rate = float(cluster.attrib["bw"].removesuffix("Bps"))
    [(sending, a_byte), (receiving, another)] = [
        piece(props[f"smpi/{n}"], count) for n in ("os", "or")
    ]
    moved = count + ENVELOPE
    ((lat,), (bw,)) = [piece(props[f"smpi/{n}-factor"], moved) for n in ("lat", "bw")]
    parts = (
        sending + a_byte * count,
        latency * lat + (count + ENVELOPE) / (rate * bw),
        receiving + another * count,
    )  # fmt: skip
    return [1e12 * each for each in parts]


@pytest.mark.core
@pytest.mark.parametrize("machine", ["loggp", "voyager"])
def test_smpi_adds_up_to_what_was_measured(machine: str) -> None:
    found = measurement.measure(machine, [1, 8, 512, 4096])
    text, _ = models.MODELS["simgrid"].write(found)
    for each in found.figures.sizes:
        sending, moving, receiving = smpi_ps(text, each.bytes)
        assert sending == pytest.approx(float(each.o_send.mean), rel=1e-6)
        assert moving <= float(each.l.mean) * 1.0001
        assert sending + moving + receiving == pytest.approx(float(each.latency.mean), rel=1e-6)
    for one, other in pairwise(found.figures.sizes):
        middle = (one.bytes + other.bytes) // 2
        part = Fraction(middle - one.bytes, other.bytes - one.bytes)
        between = one.latency.mean + part * (other.latency.mean - one.latency.mean)
        assert sum(smpi_ps(text, middle)) == pytest.approx(float(between), rel=1e-3)


def test_a_time_that_overlaps_is_not_counted_twice() -> None:
    """The receiver has a long message before its send returns."""
    found = measured(size(1, 100, 100, 1200, 300), size(1001, 3000, 200, 2800, 2300))
    text, _ = models.MODELS["simgrid"].write(found)
    sending, moving, receiving = smpi_ps(text, 1001)
    assert sending == pytest.approx(3000)
    assert receiving == 0
    assert 0 < moving < 10
    assert sum(smpi_ps(text, 1)) == pytest.approx(1200)


def sst_ps(text: str, count: int) -> list[float]:
    """A message's time at the sender, on the links, and at the receiver, as firefly adds them."""
    values: dict[str, list[str]] = {}
    for each in ast.parse(text).body:
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            name = each.targets[0].id
            if name in ("SENDS", "RECEIVES"):
                values[name] = ast.literal_eval(each.value)
    ends = []
    for ranges in values.values():
        found = [re.fullmatch(r"(\d+)-(\d+):(\d+)ps", each) for each in ranges]
        (one,) = [each for each in found if each and int(each[1]) <= count <= int(each[2])]
        ends.append(float(one[3]))
    rate = float(re.findall(r'BANDWIDTH = "([\d.e+]+)MB/s"', text)[0]) * 1e6
    link = float(re.findall(r'link_latency, .* = ranks, "(\d+)ps"', text)[0])
    return [ends[0], 2 * (link + 1000) + 1e12 * (count + sst.HEADER) / rate, ends[1]]


@pytest.mark.core
@pytest.mark.parametrize("machine", ["loggp", "voyager"])
def test_sst_adds_up_to_what_was_measured(machine: str) -> None:
    found = measurement.measure(machine, [1, 8, 512, 4096])
    text, _ = models.MODELS["sst"].write(found)
    for each in found.figures.sizes:
        times = sst_ps(text, each.bytes)
        assert sum(times) == pytest.approx(float(each.latency.mean), abs=10)
        assert times[0] <= float(each.o_send.mean) + 1
    for one, other in pairwise(found.figures.sizes):
        middle = (one.bytes + other.bytes) // 2
        low, high = sorted((float(one.latency.mean), float(other.latency.mean)))
        assert 0.9 * low < sum(sst_ps(text, middle)) <= high


def test_steps_have_each_size_once() -> None:
    found = sst.steps([(1, Fraction(10)), (8, Fraction(17)), (4096, Fraction(5000))])
    assert [each.first for each in found[1:]] == [each.last + 1 for each in found[:-1]]
    assert (found[0].first, found[-1].last) == (0, 4096)
    times = [each.ps for each in found]
    assert times == sorted(times)


@pytest.mark.core
@pytest.mark.sst
def test_sst_says_what_the_page_says(chasqui: Run, tmp_path: Path) -> None:
    row = r"\| `([\w/-]+)` \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|\n"
    rows = re.findall(row, PAGE.read_text())
    assert {machine for machine, *_ in rows} == set(MACHINES)
    for machine in MACHINES:
        assert chasqui("export", machine, "--to", "sst", "--out", "it.sst.py").returncode == 0
        for _, count, _, said in [row for row in rows if row[0] == machine]:
            trips = f"PingPong messageSize={count.replace(',', '')} iterations=10"
            words = ["sst", "it.sst.py", "--", "2", trips]
            done = subprocess.run(words, cwd=tmp_path, text=True, capture_output=True, check=True)
            (us,) = re.findall(r"latency ([\d.]+) us", done.stdout)
            assert round(float(us) * 1000) == int(said.replace(",", ""))
        (tmp_path / "it.sst.py").unlink()


@pytest.mark.core
def test_figures_of_loggopsim_are_those_of_loggp(chasqui: Run, tmp_path: Path) -> None:
    done = chasqui("export", "loggp", "--to", "loggopsim", "--set", "loggp.latency=3 us")
    assert done.returncode == 0
    words = "-L 3000 -o 1000 -g 2000 -G 1 -O 0 -S 1073741824"
    assert done.stdout == f"loggp.loggopsim: options of LogGOPSim, {words}\n"
    assert (tmp_path / "loggp.loggopsim").read_text() == f"{words}\n"


@pytest.mark.core
@pytest.mark.turn(2)
def test_what_rounding_loses_is_said() -> None:
    found = measurement.measure("netcache-modern", [1, 4096, 65536])
    assert re.search(
        r"G is 0\.0\d+ ns, .*it takes whole ones\b", models.MODELS["loggopsim"].write(found)[1]
    )


@pytest.mark.core
def test_bounds_are_said_to_be_some() -> None:
    """Before, the options had them as figures without a word."""
    for sizes, bounds in (([8], True), ([1, 4096, 16384], False)):
        said = models.MODELS["loggopsim"].write(measurement.measure("loggp", sizes))[1]
        assert ("upper bounds, which it takes for figures: " in said) == bounds, said


@pytest.mark.core
def test_only_another_such_file_is_replaced(chasqui: Run, tmp_path: Path) -> None:
    words = ["export", "loggp", "--to", "simgrid", "--sizes", "1,1024"]
    assert [chasqui(*words).returncode for _ in range(2)] == [0, 0]
    other = tmp_path / "other.xml"
    other.write_text("<platform/>")
    done = chasqui(*words, "--out", "other.xml")
    assert (done.returncode, other.read_text()) == (2, "<platform/>")
    assert "no export to simgrid" in done.stderr


@pytest.mark.core
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere", "--to", "simgrid"], 'machine "nowhere"'),
        (["loggp", "--to", "simgrid", "--sizes", "0"], "G is not known"),
        (["loggp", "--to", "simgrid", "--sizes", "x"], "is not a number of bytes"),
        (["runs/it", "--to", "goal", "--sizes", "1"], "--set and --sizes are for a machine"),
        (["loggp", "--to", "gem5"], "'gem5' is not one of"),
    ],
)
def test_bad_input_writes_nothing(
    chasqui: Run, tmp_path: Path, words: list[str], said: str
) -> None:
    done = chasqui("export", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(tmp_path.iterdir())


def printed(text: str) -> list[list[int]]:
    return [list(map(int, line.split())) for line in text.splitlines() if re.match(r"\d+ ", line)]


@pytest.mark.core
@pytest.mark.smpirun
@pytest.mark.parametrize(
    "machine", [MACHINES[0], *(pytest.param(each, marks=pytest.mark.long) for each in MACHINES[1:])]
)
def test_the_pages_table_is_what_smpi_and_we_find(
    chasqui: Run, compile_c: Compiler, tmp_path: Path, machine: str
) -> None:
    """If not, the rows that it prints are those of today."""
    rows = [list(match.groups()) for match in ROW.finditer(PAGE.read_text())]
    kept = [[int(cell.replace(",", "")) for cell in row[1:]] for row in rows if row[0] == machine]
    assert kept
    sizes = [str(row[0]) for row in kept]
    trips = compile_c("trips", PROGRAM.read_text())
    ours = chasqui("run", "-q", "-np", "2", "-m", machine, "--", trips, *sizes)
    found = measurement.measure(machine)
    (tmp_path / "it.xml").write_text(models.MODELS["simgrid"].write(found)[0])
    subprocess.run(["smpicc", "-O2", str(PROGRAM), "-o", "trips"], cwd=tmp_path, check=True)
    (tmp_path / "hosts").write_text("node0\nnode1\n")
    command = ["smpirun", "-np", "2", "-platform", "it.xml", "-hostfile", "hosts", *SMPI_CFG]
    theirs = subprocess.run(
        [*command, "./trips", *sizes], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    now = [
        [size, trip, their_trip, stream, their_stream]
        for (size, trip, stream), (_, their_trip, their_stream) in zip(
            printed(ours.stdout), printed(theirs.stdout), strict=True
        )
    ]
    for row in now:
        print(f"| `{machine}` | {' | '.join(f'{cell:,}' for cell in row)} |")
    latencies = {each.bytes: float(each.latency.mean) / 1000 for each in found.figures.sizes}
    for size, _, by_smpi, *_ in now:
        assert by_smpi == pytest.approx(latencies[size], rel=0.01)
    assert [row[0] for row in now] == [row[0] for row in kept]
    for row, before in zip(now, kept, strict=True):
        assert row == pytest.approx(before, rel=0.01)
