"""What the functions return: figures as data frames, and a view for a notebook.

Times are simulated picoseconds, as in the files, unless a name says otherwise. Columns that a
machine does not fill are null, and whole numbers stay whole: data frames of messages have Arrow's
types.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chasqui import shares, simulation
from chasqui.api.errors import RunError
from chasqui.errors import InputError
from chasqui.report import data
from chasqui.text import simulated_time

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from chasqui.comparison import Row
    from chasqui.measurement import Measurement


BAR_MAX = 200  # [px] all of it


def frame(table: pyarrow.Table) -> pandas.DataFrame:
    """A table of Arrow's; what is null stays so, and no number becomes a fraction for that."""
    import pandas

    return table.to_pandas(types_mapper=pandas.ArrowDtype)


class Run:
    """One run: its directory, and what is there."""

    def __init__(self, directory: str | Path) -> None:
        """Of a run that is there. Raises InputError where none is."""
        self.directory = Path(directory)
        self._place = self.directory.absolute()  # what is read later is this run's still
        self.summary: dict[str, Any] = data.read_summary(self.directory)

    @classmethod
    def of(cls, result: simulation.Result) -> Run:
        """Of one that has just ended."""
        found = cls.__new__(cls)
        found.directory, found.summary = result.directory, result.summary
        found._place = result.directory.absolute()
        return found

    def __repr__(self) -> str:
        return f"<Run {self.directory}: {simulation.ending(self.summary)}>"

    @property
    def outcome(self) -> str:
        """How it ended: finished, aborted, deadlock, …"""
        return str(self.summary["outcome"])

    @property
    def status(self) -> int:
        """The exit status of `chasqui run`."""
        return simulation.Result(self.directory, self.summary).status

    def check(self) -> None:
        """Raises RunError where `chasqui run` would end with another status than 0."""
        if not self.status:
            return
        if not simulation.went_well(self.summary):
            raise RunError(f"{self.directory}: {simulation.ending(self.summary)}", self)
        lost = "".join(f"; {each}" for each in self.summary.get("lost", []))
        raise RunError(f"{self.directory}: exit status {self.status}{lost}", self)

    @property
    def time_ps(self) -> int:
        """Simulated time of the whole run."""
        return int(self.summary["time_ps"])

    @property
    def init_to_finalize_ps(self) -> int:
        """From when the last rank leaves MPI_Init until the last one enters MPI_Finalize."""
        return simulation.main_part_ps(self.summary)

    @cached_property
    def messages(self) -> pandas.DataFrame:
        """messages.parquet: a row a message, with its stages."""
        from chasqui import messages

        # By the name of a part of that module: with another every table in docs would be marked as
        # read by other code, which is to wait until they are measured anew.
        found, known = messages._table(self._place / "messages.parquet")
        return frame(found.select(known))

    @cached_property
    def stats(self) -> pandas.DataFrame:
        """stats.json: the counters of all parts, by name: value, unit, meaning."""
        import pandas

        found = list(_counters(data.read_stats(self._place)))
        columns = ["name", "value", "unit", "doc"]
        return pandas.DataFrame(found, columns=columns).set_index("name")

    @cached_property
    def ranks(self) -> pandas.DataFrame:
        """A row a rank: node, exit status, instructions, times, and where these went, as shares."""
        import pandas

        rows = []
        for rank in self.summary["ranks"]:
            whole = max(sum(rank["shares"].values()), 1)
            plain = {name: each for name, each in rank.items() if not isinstance(each, list | dict)}
            parts = {
                f"share_{n.removesuffix('_ps')}": ps / whole for n, ps in rank["shares"].items()
            }
            rows.append(plain | parts)
        return pandas.DataFrame(rows).set_index("rank")

    @cached_property
    def calls(self) -> pandas.DataFrame:
        """A row for each MPI function that a rank called: how often, and its time."""
        import pandas

        ranks = self.summary["ranks"]
        rows = [{"rank": rank["rank"], **call} for rank in ranks for call in rank["calls"]]
        return pandas.DataFrame(rows)

    @cached_property
    def stages(self) -> pandas.DataFrame:
        """The parts of the messages' lives, by name: what each is, its mean and its spread."""
        import pandas

        found = self.summary.get("stages") or []
        return pandas.DataFrame(found, columns=list(found[0]) if found else ["name"]).set_index(
            "name"
        )

    @cached_property
    def shares(self) -> dict[str, float]:
        """Where the time of all ranks together went, as shares that add up to 1."""
        return shares.of(self.summary)

    def output(self, rank: int = 0) -> str:
        """What a rank wrote to its standard output."""
        return self._text("stdout", rank)

    def errors(self, rank: int = 0) -> str:
        """What a rank wrote to its standard error."""
        return self._text("stderr", rank)

    def _text(self, stream: str, rank: int) -> str:
        ranks = len(self.summary["ranks"])
        if rank not in range(ranks):
            raise InputError(f"rank {rank}: {self.directory} has 0 to {ranks - 1}")
        path = self._place / f"{stream}.{rank}"
        try:
            return path.read_text(errors="replace")
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None

    def _repr_html_(self) -> str:
        facts = {
            "ended": simulation.ending(self.summary),
            "simulated time": simulated_time(self.time_ps),
            simulation.main_part_words(self.summary): simulated_time(self.init_to_finalize_ps),
            "messages": f"{self.summary['messages']:,}",
            "limited by": str(self.summary.get("limited_by", "-")),
            "directory": str(self.directory),
        }
        rows = "".join(
            f"<tr><th>{_text(n)}</th><td>{_text(each)}</td></tr>" for n, each in facts.items()
        )
        ranks = len(self.summary["ranks"])
        title = f"{self.summary['program']} on {self.summary['machine']}, {ranks} ranks"
        return f"<p><b>{_text(title)}</b></p><table>{rows}</table>{_bars(self.shares)}"


class Comparison:
    """One program on several machines; `comparison["voyager"]` is the run there."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(row.machine for row in self._rows)}>"

    @cached_property
    def runs(self) -> dict[str, Run]:
        """The runs, by machine, of machines on which the program could start."""
        return {row.machine: Run.of(row.result) for row in self._rows if row.result}

    def __getitem__(self, machine: str) -> Run:
        return self.runs[machine]

    @cached_property
    def table(self) -> pandas.DataFrame:
        """A row a machine: outcome, times, speed-up, shares, means of the messages' stages, and the
        LogGP figures if they were measured."""
        import pandas

        from chasqui import comparison

        rows = [comparison.flat(entry) for entry in comparison.as_json(self._rows)]
        return pandas.DataFrame(rows).set_index("machine")

    @cached_property
    def stages(self) -> pandas.DataFrame:
        """Where the messages' lives went: a row a stage, a column a machine, means in ns."""
        import pandas

        from chasqui import comparison

        names = comparison.stage_names(self._rows)
        columns = {row.machine: [row.mean_ns(name) for name in names] for row in self._rows}
        return pandas.DataFrame({"of": list(names.values()), **columns}, index=list(names))

    @cached_property
    def shares(self) -> pandas.DataFrame:
        """Where the ranks' time went: a row a part, a column a machine, shares of the whole run."""
        import pandas

        return pandas.DataFrame({name: run.shares for name, run in self.runs.items()})

    def _repr_html_(self) -> str:
        columns = ["outcome", "init_to_finalize_ps", "speed_up", "mpi_share", "time_ps", "messages"]
        return "".join(
            str(each.to_html())
            for each in (self.table[[*columns, "latency_ns"]], self.shares, self.stages)
        )


class LogP:
    """A machine's LogGP figures."""

    def __init__(self, found: Measurement) -> None:
        self.machine, self.directory = found.machine, found.directory
        self._found = found

    def __repr__(self) -> str:
        figures = (f"{name} {row.sign} {row.value_ns}" for name, row in self.figures.iterrows())
        return f"<LogP of {self.machine} [ns]: {', '.join(figures)}>"

    @cached_property
    def figures(self) -> pandas.DataFrame:
        """L, o_send, o_recv, g [ns] and G [ns a byte]: value, whether that is it (=) or a bound
        (<=), and the reason of one that is a bound or was not seen."""
        import pandas

        figures = self._found.figures
        overheads = {"o_send": figures.o_send, "o_recv": figures.o_recv}
        rows = {name: (_ns(each.value), each.sign) for name, each in figures.machine.items()}
        rows |= {name: (_ns(each.mean), "=") for name, each in overheads.items()}
        cells = [
            {
                "figure": name,
                "value_ns": rows[name][0],
                "sign": rows[name][1],
                "reason": figures.reasons.get(name, ""),
            }
            for name in ("L", "o_send", "o_recv", "g", "G")
        ]
        return pandas.DataFrame(cells).set_index("figure")

    @cached_property
    def sizes(self) -> pandas.DataFrame:
        """A row a size [bytes]: means of the times [ns], bandwidth [MB/s], what limits a stream."""
        import pandas

        rows = [
            {
                "bytes": each.bytes,
                **{f"{name}_ns": _ns(sample.mean) for name, sample in each.samples.items()},
                "bandwidth_MBps": float(each.bandwidth) / 1e6,
                "limited_by": each.limited_by,
            }
            for each in self._found.figures.sizes
        ]
        return pandas.DataFrame(rows).set_index("bytes")

    def _repr_html_(self) -> str:
        return f"<p><b>{_text(self.machine)}</b></p>{self.figures.to_html()}{self.sizes.to_html()}"


class Sweep:
    """A sweep: its table, and the runs of its points."""

    def __init__(self, directory: str | Path) -> None:
        """Of one that is done. Raises InputError where none is."""
        from chasqui.sweeping import store

        self.directory = Path(directory)
        self._place = self.directory.absolute()
        self.table = frame(store.read_table(self.directory))

    def __repr__(self) -> str:
        return f"<Sweep {self.directory}: {len(self.table)} points>"

    def run(self, row: int) -> Run:
        """The run of a row of the table, which begins with row 0."""
        if not 0 <= row < len(self.table):
            last = len(self.table) - 1
            raise InputError(f"row {row} of {self.directory}: there are 0 to {last}")
        name = self.table.iloc[row]["directory"]
        if not isinstance(name, str) or not name:
            raise InputError(f"row {row} of {self.directory}: {self.table.iloc[row]['message']}")
        found = Run(self._place / name)
        found.directory = self.directory / name
        return found

    def _repr_html_(self) -> str:
        return str(self.table.to_html())


def _counters(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any, str, str]]:
    """The counters below a part: dotted name, value, unit, meaning."""
    for name, each in tree.items():
        if not isinstance(each, dict):
            continue
        if "value" in each and "unit" in each:
            yield f"{path}{name}", each["value"], each["unit"], each["doc"]
        else:
            yield from _counters(each, f"{path}{name}.")


def _ns(ps: Any) -> float | None:
    return None if ps is None else float(ps) / 1000


def _text(of: object) -> str:
    return html.escape(str(of))


def _bars(parts: Mapping[str, float]) -> str:
    """Shares as bars, the largest first."""
    bar = '<div style="background:#888;height:.7em;width:{width:.0f}px"></div>'
    rows = "".join(
        f"<tr><th>{_text(name)}</th><td>{share:.1%}</td>"
        f"<td>{bar.format(width=BAR_MAX * share)}</td></tr>"
        for name, share in sorted(parts.items(), key=lambda item: -item[1])
        if share >= shares.LEAST
    )
    return f"<table>{rows}</table>"
