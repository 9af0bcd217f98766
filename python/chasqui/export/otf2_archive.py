"""OTF2, the format of Score-P, Vampir and Scalasca, by its own library (PyPI's `otf2`).

A location a thread of a rank, in a group a rank, in a system tree of machine and nodes. A tick of
the clock is a picosecond. Regions are the program, from the start of each rank to its end, and MPI
calls, with their roles. Messages of collectives are there, too, in a communicator of their own; so
there are no events of collectives as a whole.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from chasqui.errors import InputError, LostError
from chasqui.export import trace as traces
from chasqui.export.trace import Event, Thread, Trace

NAME = "traces"
ANCHOR = f"{NAME}.otf2"
CREATOR = "chasqui export"
PICOSECONDS = 10**12  # a second
# Role of a call's region, by its name: the first that matches.
ROLES = (
    ("BARRIER", r"MPI_I?barrier.*"),
    ("COLL_ONE2ALL", r"MPI_I?(bcast|scatter)v?.*"),
    ("COLL_ALL2ONE", r"MPI_I?(reduce|gatherv?)(_init)?"),
    ("COLL_ALL2ALL", r"MPI_I?(all|reduce_scatter|neighbor_all).*"),
    ("COLL_OTHER", r"MPI_I?(ex)?scan.*"),
    ("POINT2POINT", r"MPI_I?([bsr]?send|m?recv|m?probe|sendrecv).*|MPI_(wait|test|start).*"),
)


def package() -> Any:
    try:
        import otf2
    except ImportError:
        raise InputError(
            "--to otf2 needs the Python package otf2: `pip install 'chasqui-sim[export]'`, or "
            "`pip install otf2`"
        ) from None
    return otf2


def write(trace: Trace, path: Path) -> str:
    otf2 = package()
    from _otf2.ErrorCodes import Error

    try:
        return _Archive(otf2, trace, path).write()
    except Error as error:
        raise LostError(f"the archive could not be written: {error}") from None


def is_own(path: Path) -> bool:
    """Whether this wrote the archive in the folder, and there is nothing else."""
    names = {each.name for each in path.iterdir()}
    if not ANCHOR in names <= {ANCHOR, f"{NAME}.def", NAME}:
        return False
    text = (path / ANCHOR).read_bytes()
    return b"OTF2" in text[:16] and CREATOR.encode() in text


class _Archive:
    def __init__(self, otf2: Any, trace: Trace, path: Path) -> None:
        self.otf2, self.trace, self.path = otf2, trace, path
        self.regions: dict[str, Any] = {}
        self.communicators: dict[tuple[int, int], tuple[Any, dict[int, int]]] = {}
        self.events = 0

    def write(self) -> str:
        with self.otf2.writer.open(
            str(self.path), archive_name=NAME, timer_resolution=PICOSECONDS
        ) as archive:
            archive.creator = CREATOR
            archive.machine_name = self.trace.run.machine
            archive.description = f"{self.trace.program(0)} on {self.trace.run.machine}, simulated"
            self.definitions = archive.definitions
            locations = self._locations()
            self._communicators([each for each, thread in locations if thread.number == 0])
            for location, thread in locations:
                self._thread(archive.event_writer_from_location(location), thread)
        return f"{self.events:,} events, {len(locations)} locations"

    def _locations(self) -> list[tuple[Any, Thread]]:
        definitions = self.definitions
        machine = definitions.system_tree_node(self.trace.run.machine, class_name="machine")
        nodes: dict[int, Any] = {}
        groups = []
        for rank, each in enumerate(self.trace.run.summary["ranks"]):
            number = each["node"]
            if number not in nodes:
                nodes[number] = definitions.system_tree_node(
                    f"node {number}", class_name="node", parent=machine
                )
            groups.append(
                definitions.location_group(f"rank {rank}", system_tree_parent=nodes[number])
            )
        return [
            (definitions.location(_name(thread), group=groups[thread.rank]), thread)
            for thread in self.trace.threads
        ]

    def _communicators(self, locations: list[Any]) -> None:
        """One a context. Its members are the ranks that have sent or received in its
        communicator; all of them in MPI_COMM_WORLD."""
        members: dict[int, set[int]] = {0: set(range(self.trace.ranks))}
        contexts = {(0, 0)}
        for message in self.trace.messages:
            number, part = traces.communicator(message)
            assert message.destination is not None
            members.setdefault(number, set()).update((message.source, message.destination))
            contexts.add((number, part))
        otf2 = self.otf2
        mpi = otf2.Paradigm.MPI
        # All ranks, from which the groups are numbered.
        self.definitions.group(
            "MPI", group_type=otf2.GroupType.COMM_LOCATIONS, paradigm=mpi, members=locations
        )
        groups: dict[int, Any] = {}
        for number, part in sorted(contexts):
            ranks = sorted(members[number])
            if number not in groups:
                groups[number] = self.definitions.group(
                    traces.communicator_name(number, 0),
                    group_type=otf2.GroupType.COMM_GROUP,
                    paradigm=mpi,
                    members=[locations[rank] for rank in ranks],
                )
            name = traces.communicator_name(number, part)
            found = self.definitions.comm(name, group=groups[number])
            place = {rank: at for at, rank in enumerate(ranks)}
            self.communicators[number, part] = (found, place)

    def _region(self, name: str, is_mpi: bool = True) -> Any:
        if name not in self.regions:
            role = role_of(name) if is_mpi else "FUNCTION"
            paradigm = self.otf2.Paradigm.MPI if is_mpi else self.otf2.Paradigm.COMPILER
            self.regions[name] = self.definitions.region(
                name, region_role=getattr(self.otf2.RegionRole, role), paradigm=paradigm
            )
        return self.regions[name]

    def _thread(self, out: Any, thread: Thread) -> None:
        program = self._region(self.trace.program(thread.rank), is_mpi=False)
        first = thread.calls[0].enter_ps if thread.number else 0
        out.enter(first, program)
        for call, events in thread.parts():
            if call is not None:
                out.enter(call.enter_ps, self._region(call.name))
            for event in events:
                self._event(out, event)
            if call is not None:
                out.leave(call.leave_ps, self._region(call.name))
            self.events += len(events) + (2 if call else 0)
        out.leave(thread.end_ps, program)
        self.events += 2

    def _event(self, out: Any, event: Event) -> None:
        message = self.trace.messages[event.message]
        found, place = self.communicators[traces.communicator(message)]
        what = (found, traces.tag(message), message.bytes or 0)
        is_apart = message.wait_call_ps is not None
        if event.kind == traces.SEND:
            assert message.destination is not None
            out.mpi_send(event.at_ps, place[message.destination], *what)
        elif event.kind == traces.POST:
            if is_apart:
                out.mpi_irecv_request(event.at_ps, event.message)
            else:
                self.events -= 1
        elif is_apart:
            out.mpi_irecv(event.at_ps, place[message.source], *what, event.message)
        else:
            out.mpi_recv(event.at_ps, place[message.source], *what)


def role_of(name: str) -> str:
    return next((role for role, of in ROLES if re.fullmatch(of, name, re.IGNORECASE)), "FUNCTION")


def _name(thread: Thread) -> str:
    return f"rank {thread.rank}" + (f", thread {thread.number}" if thread.number else "")
