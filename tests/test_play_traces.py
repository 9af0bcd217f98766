"""What is read of traces: GOAL's, SMPI's and DUMPI's, right ones and wrong ones.

Use this when a reader of `python/chasqui/playing` changes. What the program in guest/play makes of
it is in test_play.py.
"""

from __future__ import annotations

import os
import random
import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import dumpi_files
import pytest
from conftest import ROOT
from dumpi_files import Writer
from play_actions import LISTS, Action, read

from chasqui import playing
from chasqui.errors import InputError, LostError
from chasqui.playing import dumpi, dumpi_calls, form, smpi_ti
from chasqui.playing.form import BYTES_ANY, SUCCESSOR_OF_START, Kind, Operator, Type
from chasqui.playing.source import RANKS_MAX

HEADER = (ROOT / "guest" / "play" / "trace.h").read_text()
INT, DOUBLE, WORLD, SUM = 9, 14, 2, 3  # DUMPI's numbers


def declared(name: str) -> dict[str, int]:
    """An enum of trace.h: names without their first word, and their values."""
    found = re.search(rf"enum {name} \{{(.*?)\}};", HEADER, re.DOTALL)
    assert found, name
    body = re.sub(r"/\*.*?\*/", "", found[1], flags=re.DOTALL)
    result: dict[str, int] = {}
    for each in filter(None, (word.strip() for word in body.split(","))):
        constant, _, value = each.partition("=")
        result[constant.strip().partition("_")[2]] = int(value or len(result))
    return result


def test_both_sides_declare_the_same() -> None:
    for name, ours in [
        ("trace_kind", form.Kind), ("trace_order", form.Order), ("trace_type", Type),
        ("trace_operator", Operator),
    ]:  # fmt: skip
        assert declared(name) == {each.name: each.value for each in ours}
    assert f'TRACE_MAGIC "{form.MAGIC.decode()}"' in HEADER
    for name, size in [("header", form.HEADER), ("part", form.PART), ("action", form.ACTION)]:
        assert f"sizeof(struct trace_{name}) == {size.size}" in HEADER
    of_lists = re.search(r"trace_has_list.*?return 1;", HEADER, re.DOTALL)
    assert of_lists
    assert set(re.findall(r"case TRACE_(\w+)", of_lists[0])) == {kind.name for kind in LISTS}


# --- GOAL -------------------------------------------------------------------------------------


def written(folder: Path, text: str, name: str = "a.goal") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_schedule(tmp_path: Path) -> None:
    text = """\
/* two
ranks */ num_ranks 2
rank 1 { // the order of ranks is free
recv 7b from -1 tag -1
}
rank 0 {
a: calc 3
b : send 10b to 1 tag 4 cpu 2 nic 1
c: recv 0b from 0 cpu 1
b requires a
c irequires b /* begun */
c requires a
}
"""
    zero, one = read(written(tmp_path, text), scale="1/2")
    assert one.actions == [Action(Kind.RECV, 7, -1, -1)]
    assert [(each.kind, each.size, each.peer, each.tag, each.comm) for each in zero.actions] == [
        (Kind.COMPUTE, 1500, 0, 0, 0),
        (Kind.SEND, 10, 1, 4, 2),
        (Kind.RECV, 0, 0, 0, 1),
    ]
    assert [each.request for each in zero.actions] == [0, 1, 2]  # what each waits for
    after = [(each.more & 0xFFFFFFFF, each.more >> 32) for each in zero.actions]
    found = [set(zero.successors[at : at + count]) for at, count in after]
    assert found == [{1, 2}, {2 | SUCCESSOR_OF_START}, set()]
    assert (zero.send_bytes, one.receive_bytes, zero.requests) == (10, 7, 2)


def test_parts_of_picoseconds_are_kept(tmp_path: Path) -> None:
    labels = [f"c{at}: calc 1\n" for at in range(10)]
    text = f"num_ranks 1\nrank 0 {{\n{''.join(labels)}}}\n"
    part = read(written(tmp_path, text), scale="1/3000")[0]
    assert sum(each.size for each in part.actions) == 10 // 3


GOAL = "num_ranks 2\nrank 0 {\nl: %s\n}\nrank 1 {\n}\n"
WRONG_GOAL = [
    (GOAL % "calc x", "a.goal:3: rank 0: 'l: calc x': allowed are [LABEL:] calc NS"),
    (GOAL % "send 8 to 1", "[LABEL:] send BYTESb to RANK"),
    (GOAL % "send 8b to 2", "a.goal:3: rank 0: rank 2; the trace has ranks 0 to 1"),
    (GOAL % "send 8b to -1", "rank -1; the trace has ranks 0 to 1"),
    (GOAL % "recv 8b to 1", "recv … to: send … to and recv … from are allowed"),
    (GOAL % "send 2147483648b to 1", "2147483648 bytes; the MPI library here counts 0 to"),
    (GOAL % "send 1b to 1 tag 2147483648", "tag 2147483648; 0 to 2147483647 are allowed"),
    (GOAL % "calc 1 cpu 256", "cpu and nic may be 0 to 255"),
    (GOAL % f"calc {10**19}", "computation of 10000000000000000000000 ps; up to"),
    (GOAL % "calc 1\nl: calc 2", "a.goal:4: rank 0: the label 'l' is defined above"),
    (GOAL % "calc 1\nl requires k", "the label 'k' is not defined above in this block"),
    (
        GOAL % "calc 1\nk: calc 1\nm: calc 1\nm requires k\nl requires k\nk irequires l",
        "a.goal:8: rank 0: k requires l: operations of this block wait for each other in a circle",
    ),
    (GOAL % "calc 1\nl requires l", "l requires l: operations of this block wait"),
    ("num_ranks 1\nrank 0 {\n", "a.goal:2: rank 0: the end; the block of this rank has no }"),
    ("num_ranks 2\nrank 0 {\n}\n", "a.goal:3: the end; rank 1 has no block"),
    ("num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n", "a.goal:4: rank 0 has a block above"),
    ("num_ranks 1\nrank 1 {\n}\n", "a.goal:2: rank 1; the trace has ranks 0 to 0"),
    ("num_ranks 0\n", "a.goal:1: 0 ranks; 1 to 65536 are allowed"),
    ("num_ranks 1\ncalc 1\n", "a.goal:2: 'calc 1': rank N { is expected"),
    ("num_ranks 1\nrank 0 {\n\0\n}\n", "a.goal:3: not a line of text"),
]


def test_a_binary_schedule(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes((4223).to_bytes(8, "little") + bytes(100))
    with pytest.raises(InputError, match=r"a\.bin: LogGOPSim's binary form; the text that txt2bin"):
        read(path)


@pytest.mark.parametrize(("text", "message"), WRONG_GOAL)
def test_a_wrong_schedule(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read(written(tmp_path, text))


# --- SMPI -------------------------------------------------------------------------------------

NOTHING = form.operator(Operator.NONE, Type.BYTE)
# A line of rank 0 of two, and what comes of it. Datatype 0 has 8 bytes, 1 has 4, 6 has 1.
LINES = [
    ("compute 1e3", [Action(Kind.COMPUTE, 1_000_000)]),
    ("compute 0.5", [Action(Kind.COMPUTE, 500)]),
    ("sleep 0.001", [Action(Kind.COMPUTE, 10**9)]),
    ("send 1 3 10 0", [Action(Kind.SEND, 80, 1, 3)]),
    ("recv 1 3 10 1", [Action(Kind.RECV, 40, 1, 3)]),
    ("recv -1 -1 0", [Action(Kind.RECV, BYTES_ANY, -1, -1)]),
    ("recv 1 3 -1", [Action(Kind.RECV, BYTES_ANY, 1, 3)]),
    ("sendRecv 2 1 3 1 1 0", [Action(Kind.SENDRECV, 8, 1, more=3, list=(1, 0, 24))]),
    ("barrier", [Action(Kind.BARRIER)]),
    ("bcast 5", [Action(Kind.BCAST, 5)]),
    ("bcast 5 1 0", [Action(Kind.BCAST, 40, 1)]),
    ("reduce 5 7 1 1", [Action(Kind.REDUCE, 20, 1, NOTHING), Action(Kind.COMPUTE, 7000)]),
    ("allreduce 5 7 0", [Action(Kind.ALLREDUCE, 40, 0, NOTHING), Action(Kind.COMPUTE, 7000)]),
    ("scan 5 0 0", [Action(Kind.SCAN, 40, 0, NOTHING)]),
    ("exscan 5 0", [Action(Kind.EXSCAN, 5, 0, NOTHING)]),
    (
        "reducescatter 1 2 3 1",
        [Action(Kind.REDUCE_SCATTER, 0, 0, NOTHING, more=2, list=(4, 8)),
         Action(Kind.COMPUTE, 3000)],
    ),
    ("gather 2 3 1 0 1", [Action(Kind.GATHER, 16, 1, more=12)]),
    ("allgather 2 3 0 1", [Action(Kind.ALLGATHER, 16, more=12)]),
    ("scatter 2 3 0 0 1", [Action(Kind.SCATTER, 16, more=12)]),
    ("alltoall 2 3", [Action(Kind.ALLTOALL, 2, more=3)]),
    ("gatherv 2 3 4 0 0 1", [Action(Kind.GATHERV, 16, more=2, list=(12, 16))]),
    ("gatherv 2 3 4 1 0 1", [Action(Kind.GATHERV, 16, 1)]),
    ("allgatherv 2 3 4", [Action(Kind.ALLGATHERV, 2, more=2, list=(3, 4))]),
    ("allgatherv 2 3 4 0 1", [Action(Kind.ALLGATHERV, 16, more=2, list=(12, 16))]),
    ("allgatherv 2 3 4 0 1 5 6", [Action(Kind.ALLGATHERV, 16, more=2, list=(12, 16))]),
    ("scatterv 2 3 4 0 0 1", [Action(Kind.SCATTERV, 16, more=2, list=(16, 24))]),
    ("alltoallv 9 1 2 9 3 4 1 0", [Action(Kind.ALLTOALLV, more=4, list=(4, 8, 24, 32))]),
    ("location file 3", []),
    ("comm_size 2", []),
]  # fmt: skip


@pytest.mark.parametrize(("line", "actions"), LINES)
def test_an_action_of_smpi(tmp_path: Path, line: str, actions: list[Action]) -> None:
    text = f"# a comment\n0 init\np1 init\n\n0 {line}\n0 finalize\n1 finalize\n"
    zero, one = read(written(tmp_path, text, "a.txt"))
    assert zero.actions == actions
    assert one.actions == []


def test_every_action_of_smpi_is_tested() -> None:
    of_requests = {"init", "finalize", "isend", "irecv", "wait", "waitall", "test"}
    alike = {"comm_dup", "comm_split"}
    tested = {line.split()[0] for line, _ in LINES}
    assert tested == set(smpi_ti._Rank.ACTIONS) - of_requests - alike


def test_requests_of_smpi(tmp_path: Path) -> None:
    text = """\
0 init 1
1 init
0 isend 1 5 2
0 isend 1 5 3
0 irecv -1 6 1
0 test 0 1 5
0 wait 0 1 5
0 isend 1 7 1
0 wait 1 0 6
0 waitall
0 isend 1 8 0
"""
    zero, one = read(written(tmp_path, text, "a.txt"))
    assert zero.actions == [
        Action(Kind.ISEND, 16, 1, 5, 0),  # `init 1`: of doubles
        Action(Kind.ISEND, 24, 1, 5, 1),
        Action(Kind.IRECV, 8, -1, 6, 2),
        Action(Kind.TEST, request=0),
        Action(Kind.WAIT, request=0),
        Action(Kind.ISEND, 8, 1, 7, 0),
        Action(Kind.WAIT, request=2),
        Action(Kind.WAITALL, more=2, list=(0, 1)),
        Action(Kind.ISEND, 0, 1, 8, 0),
        Action(Kind.WAITALL, more=1, list=(0,)),  # SimGrid waits at the end
    ]
    assert (zero.requests, one.requests) == (3, 0)


def test_a_file_a_rank(tmp_path: Path) -> None:
    """Listed by names as they were; in a folder that was moved; or the list alone is named."""
    folder = tmp_path / "trace"
    folder.mkdir()
    for rank in (0, 1):
        peer = 1 - rank
        written(folder, f"{rank} init\n{rank} send {peer} 0 {rank + 1}\n", f"r{rank}.txt")
    listed = written(folder, f"r0.txt\n{tmp_path}/old/r1.txt\n", "trace.txt")
    for path in (folder, listed):
        zero, one = read(path)
        assert (zero.actions, one.actions) == ([Action(Kind.SEND, 1, 1)], [Action(Kind.SEND, 2)])
    listed = written(folder, "elsewhere/r0.txt\nelsewhere/r1.txt\n", "trace.txt")
    assert len(read(listed)) == 2  # as SimGrid's own examples have it
    written(folder, "r0.txt\nr2.txt\n", "trace.txt")
    with pytest.raises(InputError, match=r"'r2.txt': no such file; a list has a file a rank"):
        read(folder)
    written(folder, "r0.txt\nr0.txt\n", "trace.txt")
    with pytest.raises(InputError, match=r"r0.txt:1: an action of rank 0 in the file of rank 1"):
        read(folder)


WRONG_SMPI = [
    ("migrate 1 0", "a.txt:3: rank 0: 'migrate' is not played; allowed are init, finalize"),
    ("send 2 0 1", "a.txt:3: rank 0: rank 2; the trace has ranks 0 to 1"),
    ("send 1 0", "send has 2 words: too few"),
    ("send 1 -1 5", "tag -1; 0 to"),
    ("send 1 0 1e10", "10000000000 bytes; the MPI library here counts"),
    ("send 1 0 1 99", "datatype 99 of send; there are -1 to 54"),
    ("bcast 1 2", "root 2; the trace has ranks 0 to 1"),
    ("compute -1", "'-1': a number that is not negative is expected"),
    ("compute nan", "'nan': a number that is not negative is expected"),
    ("compute 1e30", "computation of"),
    ("alltoall 2000000000 1", "a buffer of 4000000000 bytes"),
    ("wait 0 1 0", "wait 0 1 0: no isend or irecv of this source, destination and tag is open"),
    ("alltoallv 1 1 1", "alltoallv has 3 words: too few"),
]


@pytest.mark.parametrize(("line", "message"), WRONG_SMPI)
def test_a_wrong_line_of_smpi(tmp_path: Path, line: str, message: str) -> None:
    path = written(tmp_path, f"0 init\n1 init\n0 {line}\n", "a.txt")
    with pytest.raises(InputError, match=re.escape(message)):
        read(path)


def test_ranks_that_are_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, "0 init\n2 init\n", "a.txt")
    with pytest.raises(InputError, match=r"a.txt: rank 1 does nothing, not even init"):
        read(path)


def test_a_rate_of_operations(tmp_path: Path) -> None:
    path = written(tmp_path, "0 init\n0 compute 1000\n", "a.txt")
    assert read(path, scale="0.5", flops="4 Gf")[0].actions == [Action(Kind.COMPUTE, 125_000)]
    assert read(path, scale="0")[0].actions == []


# --- DUMPI ------------------------------------------------------------------------------------


def test_calls_of_dumpi(tmp_path: Path) -> None:
    """One after the other, with their times: what lies between two is computed."""
    zero, one = Writer(), Writer()
    for rank in (zero, one):
        rank.call("init", 0)
    zero.compute(500)
    zero.call("comm_rank", WORLD, 0)  # 1 us, which is computation
    zero.compute(700)
    zero.call("send", 3, INT, 1, 5, WORLD)
    zero.call("type_contiguous", 3, DOUBLE, 28)
    zero.call("isend", 2, 28, 1, 6, WORLD, 2)
    zero.call("irecv", 1, INT, -1, -1, WORLD, 3)
    zero.call("test", 3, 0)
    zero.call("waitany", 2, [2, 3], 1)
    zero.call("waitall", 2, [2, 1])
    zero.call("sendrecv", 1, INT, 1, 2, 2, INT, -2, 0, WORLD)
    zero.call("allreduce", 2, DOUBLE, SUM, WORLD)
    zero.call("gatherv", 0, 2, 1, INT, 0, WORLD, [1, 2], [0, 1], INT, form="iiihihIIh")
    zero.call("finalize")
    found = read(dumpi_files.write(tmp_path, [zero, one]))[0]
    assert found.actions == [
        Action(Kind.COMPUTE, 2_200_000),
        Action(Kind.SEND, 12, 1, 5),
        Action(Kind.COMPUTE, 1_000_000),
        Action(Kind.ISEND, 48, 1, 6, 0),
        Action(Kind.IRECV, 4, -1, -1, 1),
        Action(Kind.TEST, request=1),
        Action(Kind.WAIT, request=1),
        Action(Kind.WAIT, request=0),
        Action(Kind.SENDRECV, 4, 1, 2, more=3, list=((1 << 64) - 2, 0, 8)),
        Action(Kind.ALLREDUCE, 16, 0, form.operator(Operator.SUM, Type.DOUBLE)),
        Action(Kind.GATHERV, 4, 0, more=2, list=(4, 8)),
    ]
    assert (found.send_bytes, found.receive_bytes, found.requests) == (48, 16, 2)


def test_persistent_requests_and_communicators_of_dumpi(tmp_path: Path) -> None:
    rank = Writer()
    rank.call("init", 0)
    rank.call("send_init", 1, INT, 0, 5, 3, 2)
    rank.call("recv_init", 1, INT, 0, 5, 3, 3)
    rank.call("startall", 2, [3, 2])
    rank.call("waitsome", 2, [3, 2], 2, [0, 1])
    rank.call("request_free", 2)
    rank.call("comm_split", WORLD, -32766, 4, 1)
    rank.call("comm_dup", WORLD, 4)
    rank.call("comm_group", 4, 3)
    rank.call("group_incl", 3, 1, [0], 4)
    rank.call("comm_create", 4, 4, 5)
    rank.call("cart_create", 5, 2, [1, 1], [0, 1], 1, 6)
    rank.call("cart_sub", 2, 6, [1, 0], 7)
    rank.call("comm_free", 4)
    found = [each for each in read(dumpi_files.write(tmp_path, [rank]))[0].actions
             if each.kind is not Kind.COMPUTE]  # fmt: skip
    assert found == [
        Action(Kind.SEND_INIT, 4, 0, 5, 0, comm=1),
        Action(Kind.RECV_INIT, 4, 0, 5, 1, comm=1),
        Action(Kind.STARTALL, more=2, list=(1, 0)),
        Action(Kind.WAITALL, more=2, list=(1, 0)),
        Action(Kind.REQUEST_FREE, request=0),
        Action(Kind.COMM_SPLIT, peer=-1, tag=4, request=2),
        Action(Kind.COMM_DUP, request=3),
        Action(Kind.COMM_CREATE, request=4, more=1, comm=3, list=(0,)),
        Action(Kind.CART_CREATE, request=5, more=2, comm=4, list=(2, 3)),
        Action(Kind.CART_SUB, request=6, more=2, comm=5, list=(1, 0)),
        Action(Kind.COMM_FREE, request=3),
    ]


BEGUN = [("irecv", 1, INT, 0, 1, WORLD, 2), ("isend", 1, INT, 0, 1, WORLD, 3)]
WRONG_DUMPI: list[tuple[list[tuple[Any, ...]], str]] = [
    ([("win_free", 1)], "rank 0: call 2 (MPI_Win_free): it is not played"),
    ([("send", 1, 40, 0, 0, WORLD)], "(MPI_Send): datatype 40, whose size is not known"),
    ([("send", 1, INT, 0, 0, 9)], "communicator 9, which no call before has made"),
    ([("send", 1, INT, 1, 0, WORLD)], "(MPI_Send): rank 1; its communicator has ranks 0 to 0"),
    ([("wait", 7)], "request 7, which no call before has begun"),
    ([("barrier", WORLD), ("comm_create", WORLD, 8, 9)], "call 3 (MPI_Comm_create): of a group"),
    ([("send", -4, INT, 0, 0, WORLD)], "(MPI_Send): count -4; a count is not negative"),
    ([("send", 1, INT, -1, 0, WORLD)], "(MPI_Send): rank -1; its communicator has ranks 0 to 0"),
    ([("send", 1, INT, 0, -1, WORLD)], "(MPI_Send): tag -1 of what is sent"),
    ([("sendrecv", 1, INT, 0, 1, 2, INT, 1, 0, WORLD)], "(MPI_Sendrecv): rank 1; its communicator"),
    ([("bcast", 4, INT, 77, WORLD)], "(MPI_Bcast): root 77; its communicator has ranks 0 to 0"),
    ([("bcast", 4, INT, -5, WORLD)], "root -5; its communicator has ranks 0 to 0"),
    ([("reduce", 4, INT, SUM, 1, WORLD)], "(MPI_Reduce): root 1; its communicator"),
    ([("gather", 0, 4, INT, 1, WORLD)], "(MPI_Gather): root 1; its communicator"),
    ([("scatter", 0, 4, INT, 1, WORLD)], "(MPI_Scatter): root 1; its communicator"),
    ([("gather", 1, 4, INT, 0, WORLD)], "it says of itself that it is rank 1"),
    ([("reduce_scatter", 1, [-4], INT, SUM, WORLD)], "count -4; a count is not negative"),
    (
        [("reduce_scatter", 2, [5, 4], INT, SUM, WORLD)],
        "counts for 2 ranks; its communicator has 1",
    ),
    (
        [("gatherv", 0, 1, 1, INT, 0, WORLD, [], [], INT)],
        "(MPI_Gatherv): counts for 0 ranks; its communicator has 1 ranks",
    ),
    (
        [("gatherv", 0, 2, 1, INT, 0, WORLD, [1, 2], [0, 1], INT)],
        "(MPI_Gatherv): counts for 2 ranks; its communicator has 1 ranks",
    ),
    (
        [("alltoallv", 2, [1, 1], [0, 1], INT, [1, 1], [0, 1], INT, WORLD)],
        "(MPI_Alltoallv): counts for 2 ranks; its communicator has 1 ranks",
    ),
    (
        [("allgatherv", 0, 1, INT, [], [], INT, WORLD)],
        "(MPI_Allgatherv): counts for 0 ranks; its communicator has 1 ranks",
    ),
    ([*BEGUN, ("waitall", 3, [2, 2, 3])], "(MPI_Waitall): request 2 once more than it was begun"),
    ([*BEGUN, ("startall", 2, [3, 3])], "(MPI_Startall): request 3 once more than it was begun"),
    ([*BEGUN, ("waitsome", 2, [2, 3], 1, [9])], "(MPI_Waitsome): indices [9] of 2 requests"),
    ([*BEGUN, ("waitsome", 2, [2, 3], 2, [0, -1])], "indices [0, -1] of 2 requests"),
    ([*BEGUN, ("testsome", 2, [2, 3], 2, [1, 1])], "indices [1, 1] of 2 requests"),
    ([*BEGUN, ("waitany", 2, [2, 3], 2)], "(MPI_Waitany): indices [2] of 2 requests"),
    ([("cart_create", WORLD, 1, [-3], [0], 0, 8)], "dimensions [-3]; each has one rank at least"),
    ([("cart_create", WORLD, 1, [2], [0], 0, 8)], "dimensions [2] of a communicator of 1 ranks"),
    ([("cart_sub", 1, WORLD, [1], 8)], "1 dimensions of communicator 2, which has none"),
    ([("comm_split", WORLD, 0, 0, 8), ("comm_size", 8, 2)], "a communicator of 2 ranks"),
    ([("comm_free", WORLD)], "(MPI_Comm_free): of MPI_COMM_WORLD or MPI_COMM_SELF, which stay"),
    ([("type_contiguous", -5, INT, 40)], "(MPI_Type_contiguous): count -5; a count is not"),
]
FORMS = {"gatherv": "iiihihIIh"}  # of a root


@pytest.mark.parametrize(("calls", "message"), WRONG_DUMPI)
def test_a_wrong_call_of_dumpi(tmp_path: Path, calls: list[tuple[Any, ...]], message: str) -> None:
    rank = Writer()
    rank.call("init", 0)
    for name, *values in calls:
        rank.call(name, *values, form=FORMS.get(name, ""))
    path = dumpi_files.write(tmp_path, [rank])
    with pytest.raises(InputError, match=re.escape(message)) as error:
        read(path)
    assert f"trace-0000.bin: rank 0: call {len(calls) + 1} (MPI_" in str(error.value)


def test_requests_of_one_number(tmp_path: Path) -> None:
    """All of MPI_PROC_NULL have one handle in MPICH and Open MPI."""
    rank = Writer()
    rank.call("init", 0)
    for _ in range(2):
        rank.call("isend", 1, INT, -2, 0, WORLD, 2)
    rank.call("waitall", 2, [2, 2])
    rank.call("isend", 1, INT, -2, 0, WORLD, 2)
    rank.call("wait", 2)
    found = [each for each in read(dumpi_files.write(tmp_path, [rank]))[0].actions
             if each.kind in (Kind.WAIT, Kind.WAITALL)]  # fmt: skip
    assert found == [Action(Kind.WAITALL, more=2, list=(0, 1)), Action(Kind.WAIT, request=0)]


def test_no_mistake_of_the_reader_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python drops an exception of what a library in C has called."""
    writer = Writer()
    writer.call("init", 0)
    writer.call("barrier", WORLD)
    dumpi_files.write(tmp_path, [writer])
    file = tmp_path / "trace-0000.bin"

    def rank() -> dumpi_calls.Rank:
        part = form.Part(tmp_path / "rank-0", 0, 1)
        return dumpi_calls.Rank(file, 0, 1, part, Fraction(1))

    def fail(*_: object) -> None:
        raise KeyError("mistake")

    given: list[Exception] = []
    with monkeypatch.context() as patch:
        patch.setattr(dumpi_calls.Rank, "_barrier", fail)
        with dumpi_calls.reader(rank(), given.append) as trace:  # type: ignore[arg-type]
            trace.read_stream()
    assert [repr(each) for each in given] == ["KeyError('mistake')"]
    said: list[str] = []
    monkeypatch.setattr(dumpi_calls.Rank, "finish", fail)
    monkeypatch.setattr(os, "_exit", sys.exit)
    with pytest.raises(SystemExit):
        dumpi_calls._read(rank(), lambda **found: said.append(found["error"]))
    assert said == [f"{file}: rank 0: call 2 (MPI_Barrier): it can't be read: KeyError: 'mistake'"]


def test_the_package_is_named_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = dumpi_files.write(tmp_path, [Writer()])
    monkeypatch.setattr(dumpi, "PACKAGE", "no_such_package")
    with pytest.raises(InputError, match=r"need the Python package no_such_package: `pip install"):
        read(path)


def test_threads_of_dumpi(tmp_path: Path) -> None:
    rank = Writer()
    rank.call("init", 0)
    rank.call("barrier", WORLD, thread=1)
    with pytest.raises(InputError, match="by thread 1, after others by thread 0"):
        read(dumpi_files.write(tmp_path, [rank]))


def test_every_call_of_dumpi_is_played_or_has_a_reason() -> None:
    names = set(dumpi_files.CALLS) - {"pcontrol"}
    played = set(dumpi_calls.FAMILIES)
    assert played | dumpi_calls.LOCAL <= names
    assert not played & dumpi_calls.LOCAL
    for family in set(dumpi_calls.FAMILIES.values()):
        assert hasattr(dumpi_calls.Rank, f"_{family}")
    left_out = names - played - dumpi_calls.LOCAL
    of_other_topics = ("win_", "file_", "io", "info_", "grequest_", "type_", "pack_", "unpack_")
    assert {name for name in left_out if not name.startswith(of_other_topics)} == {
        *"cancel bsend_init ssend_init rsend_init comm_remote_size comm_remote_group".split(),
        *"intercomm_create intercomm_merge graph_create graphdims_get graph_get".split(),
        *"graph_neighbors_count graph_neighbors graph_map abort close_port comm_accept".split(),
        *"comm_connect comm_disconnect comm_get_parent comm_join comm_spawn".split(),
        *"comm_spawn_multiple lookup_name open_port publish_name unpublish_name".split(),
        *"accumulate get put alltoallw comm_call_errhandler status_set_cancelled".split(),
        *"status_set_elements register_datarep".split(),
    }  # fmt: skip


def test_damaged_files_of_dumpi(tmp_path: Path) -> None:
    """Whatever is in them: a message that names the file, or a trace, and no more."""
    rank = Writer()
    rank.call("init", 0)
    for tag in range(20):
        rank.call("isend", 1, INT, 0, tag, WORLD, 2)
        rank.call("waitall", 1, [2])
    path = dumpi_files.write(tmp_path, [rank])
    file = tmp_path / "trace-0000.bin"
    whole = file.read_bytes()
    for kept in (0, 4, 8, 60, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:kept])
        with pytest.raises(InputError, match=r"trace-0000\.bin: (damaged|not a file of libdumpi)"):
            read(path)
    seed = int(os.environ.get("SEED", "1"))
    print(f"SEED={seed}")
    chance = random.Random(seed)
    outcomes = set()
    for _ in range(6):
        changed = bytearray(whole)
        for _ in range(20):
            changed[chance.randrange(8, len(rank.body))] = chance.randrange(256)
        file.write_bytes(changed)
        try:
            read(path)
            outcomes.add("read")
        except InputError as error:
            outcomes.add("refused" if "trace-0000.bin" in str(error) else str(error))
    assert "refused" in outcomes
    assert outcomes <= {"read", "refused"}
    file.unlink()
    with pytest.raises(InputError, match=r"no file trace-0000\.bin, that of rank 0"):
        read(path)


# --- all of them ------------------------------------------------------------------------------


def test_long_computations_in_a_row(tmp_path: Path) -> None:
    """More than an action has room for: several."""
    lines = ["0 init", *["0 compute 4.6e15"] * 5, "0 finalize"]
    path = written(tmp_path, "\n".join(lines) + "\n", "a.txt")
    actions = read(path)[0].actions
    assert {action.kind for action in actions} == {Kind.COMPUTE}
    assert sum(action.size for action in actions) == 5 * 4_600_000_000_000_000_000
    assert all(action.size <= form.TIME_MAX_PS for action in actions)


def test_pieces_of_all_ranks_are_bounded(tmp_path: Path) -> None:
    for ranks in (1, 256, 1024, RANKS_MAX):
        part = form.Part(tmp_path / f"of-{ranks}", 0, ranks)
        most = 0
        for _ in range(min(form.PIECE, form.PIECES // ranks) // form.ACTION.size * 2 + 1):
            part.add(Kind.BARRIER)
            most = max(most, len(part._piece))
        assert most <= form.PIECE
        assert most * ranks <= form.PIECES
        assert part.path.stat().st_size > 0


def test_rules_hold_for_every_format(tmp_path: Path) -> None:
    """Also where a reader has not looked."""
    part = form.Part(tmp_path / "rank-0", 0, 4)
    part.sizes[2] = 2
    for kind in form.ROOTED - form.AT_ROOT_ALONE:
        part.add(kind, peer=3)
        with pytest.raises(InputError, match="root 4; its communicator has ranks 0 to 3"):
            part.add(kind, peer=4)
        with pytest.raises(InputError, match="root 2; its communicator has ranks 0 to 1"):
            part.add(kind, peer=2, comm=2)
    for kind in (form.SENDING | form.RECEIVING) - LISTS:
        with pytest.raises(InputError, match="rank 4; its communicator has ranks 0 to 3"):
            part.add(kind, peer=4)
        with pytest.raises(InputError, match="-1 bytes; 0 to 2147483647 are allowed"):
            part.add(kind, size=-1)
    for kind, lists in form.OF_EACH_RANK.items():
        part.add_list(kind, [1] * 4 * lists)
        part.add_list(kind, [1] * lists, comm=5)  # whose size is not known
        for wrong in ([1] * 3 * lists, [1] * 5 * lists, []):
            with pytest.raises(InputError, match=f"counts for {len(wrong) // lists} ranks"):
                part.add_list(kind, wrong)
        with pytest.raises(InputError, match="a block of -2 bytes"):
            part.add_list(kind, [1, 1, 1, -2] * lists)
        with pytest.raises(InputError, match="blocks of 4294967292 bytes together"):
            part.add_list(kind, [(1 << 30) - 1] * (4 * lists))
    for kind in form.OF_REQUESTS:
        with pytest.raises(InputError, match="one request twice"):
            part.add_list(kind, [1, 2, 1])


def test_a_full_disk_for_the_actions() -> None:
    part = form.Part(Path("/dev/full"), 0, 1)
    part.add(Kind.BARRIER)
    with pytest.raises(LostError, match=r"/dev/full: No space left on device: .*set TMPDIR to"):
        part.finish()


def test_what_is_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with pytest.raises(InputError, match="no such file"):
        playing.recognised(path)
    for content in (b"", b"\x7fELF\0\1\2", b"hello, world\n", b"\xff" * 100):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not a trace that is known by its beginning"):
            playing.recognised(path)
    with pytest.raises(InputError, match="not a trace that is known by its beginning"):
        playing.recognised(tmp_path)


@pytest.mark.parametrize("text", ["", "-1", "x", "1/0", "1e3", "nan", "0x1"])
def test_wrong_factors(text: str) -> None:
    with pytest.raises(InputError, match=f"--scale {text}: a number is expected"):
        playing.scale_of(text)
