"""`chasqui logp`: measures a machine's LogGP figures."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chasqui.cli import options
from chasqui.errors import InputError

if TYPE_CHECKING:
    from chasqui.measurement import Measurement

HELP = """Measures L, o, g and G of a machine: for each message size the overheads of sending and
receiving, latency end to end, L, gap between the messages of a stream [ns and cycles of the node's
clock], and bandwidth [MB/s, 10^6 bytes].

They come from the records of simulated messages: nothing is fitted, and measuring the machine
`loggp` returns its parameters exactly. `chasqui.loggp` documents every formula.

\b
Examples:
  chasqui logp --machine voyager
  chasqui logp --machine loggp --set loggp.latency='2 us' --sizes 8,1024,65536 --json
"""
BYTES_MAX = 1 << 28
OVERLAP = (
    "L below 0: the receiver is busy with a message before its send returns, and o_send and o_recv "
    "overlap by that much"
)
SIZES_MAX = 4000  # tags stay below 2^15, the least upper bound that MPI promises


def commands() -> dict[str, click.Command]:
    return {"logp": logp}


@click.command("logp", help=HELP, context_settings=options.SETTINGS)
@options.machine()
@options.sets()
@click.option(
    "--sizes", metavar="BYTES,...",
    help="Message sizes [bytes] (default: 1,8,64,512,4096,16384,65536).",
)  # fmt: skip
@click.option("--out", "directory", metavar="DIR", help="Keep the run directory, as DIR.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; times in ps.")
def logp(
    machine: str, sets: tuple[str, ...], sizes: str | None, directory: str | None, as_json: bool
) -> int:
    from chasqui import measurement

    chosen = parse_sizes(sizes) if sizes else list(measurement.DEFAULT_SIZES)
    found = measurement.measure(
        machine, chosen, options.check_sets(sets), Path(directory) if directory else None
    )
    if as_json:
        import json

        print(json.dumps(measurement.as_json(found), indent=2))
    else:
        print("\n".join(report(found)))
    return 0


def parse_sizes(text: str) -> list[int]:
    """`1,8,64` as numbers, in order, each once."""
    sizes = []
    for part in text.replace(",", " ").split():
        if not part.isdecimal() or int(part) > BYTES_MAX:
            raise InputError(
                f"--sizes {text}: {part!r} is not a number of bytes (0 to {BYTES_MAX})"
            )
        sizes.append(int(part))
    if not 0 < len(sizes) <= SIZES_MAX:
        raise InputError(f"--sizes {text!r}: 1 to {SIZES_MAX} sizes are allowed")
    return sorted(set(sizes))


def report(found: Measurement) -> list[str]:
    """The table, in ns and in cycles, and the figures of the machine."""
    from chasqui.text import ns, number, table

    figures = found.figures
    header = ["bytes", "o_send", "o_recv", "latency", "L", "gap", "MB/s", "limited by"]
    lines = [f"{found.machine}: times in ns"]
    rows = []
    for each in figures.sizes:
        times = (each.o_send_ps, each.o_recv_ps, each.latency_ps, each.l_ps, each.gap_ps)
        rows.append(
            [
                f"{each.bytes:,}",
                *(ns(ps) for ps in times),
                number(float(each.bandwidth) / 1e6, 4),
                each.limited_by,
            ]
        )
    lines.append(table(header, rows, left=(7,)))
    if found.clock_ps:
        lines += ["", f"the same in cycles of the node's clock ({ns(found.clock_ps)} ns)"]
        rows = []
        for each in figures.sizes:
            times = (each.o_send_ps, each.o_recv_ps, each.latency_ps, each.l_ps, each.gap_ps)
            rows.append(
                [f"{each.bytes:,}", *(_cycles(Fraction(ps), found.clock_ps) for ps in times)]
            )
        lines.append(table(header[:6], rows, left=()))
    if any(each.l_ps < 0 for each in figures.sizes):
        lines += ["", OVERLAP]
    lines += ["", summary(found)]
    if found.directory:
        lines.append(f"run directory: {found.directory}")
    return lines


def _cycles(ps: Fraction, clock_ps: Fraction) -> str:
    return f"{float(ps / clock_ps):,.1f}".removesuffix(".0")


def summary(found: Measurement) -> str:
    """One line: L, o, g, G."""
    from chasqui.text import ns

    figures = found.figures
    gap, per_byte = ("<=" if h else "=" for h in (figures.g_hidden, figures.g_per_byte_hidden))
    rate = f" ({10**6 / float(figures.g_per_byte_ps):,.1f} MB/s)" if figures.g_per_byte_ps else ""
    return (
        f"L = {ns(figures.l_ps)} ns   o_send = {ns(figures.o_send_ps)} ns   "
        f"o_recv = {ns(figures.o_recv_ps)} ns   g {gap} {ns(figures.g_ps)} ns   "
        f"G {per_byte} {ns(figures.g_per_byte_ps)} ns/byte{rate}"
    )
