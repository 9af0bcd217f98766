"""`chasqui spe-cc`."""

from __future__ import annotations

from pathlib import Path

import click

from chasqui import local_store
from chasqui.errors import InputError


@click.command(
    "spe-cc",
    context_settings={"ignore_unknown_options": True},
    epilog="Example: chasqui spe-cc -O2 sum.spe.c -o sum.elf",
)
@click.option(
    "--store",
    metavar="BYTES",
    default=local_store.STORE_BYTES,
    show_default=True,
    help="Length of the local store (cell.element.store).",
)
@click.option("--sizes", is_flag=True, help="Print bytes of text, data and stack.")
@click.option("--library", is_flag=True, help="Print where the host's library, spe.c, is; no more.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(store: int, sizes: bool, library: bool, arguments: tuple[str, ...]) -> None:
    """Compile and link C programs for the cores with local stores of the machine cell.

    -o names the image (spe.elf, if it does not); other options are the compiler's. A program of the
    host's has the image in it (SPE_EMBED in spe.h), or opens it (spe_image_open); it is linked with
    spe.c."""
    if library:
        return click.echo(str(local_store.LIBRARY.resolve()))
    sources, flags, image = _apart(list(arguments))
    if not sources:
        raise InputError("spe-cc: no C file was named")
    for source in sources:
        if not source.is_file():
            raise InputError(f"{source}: no such file")
    local_store.link(sources, image, flags or ["-O2"], store)
    if sizes:
        text, data, bss, end = local_store.sizes(image)
        stack = store - (end - local_store.ADDRESS)
        click.echo(f"text {text}, data {data}, zeroed {bss}, stack {stack} bytes")
    return None


def _apart(arguments: list[str]) -> tuple[list[Path], list[str], Path]:
    """C files, the compiler's options, and what -o names."""
    image = Path("spe.elf")
    if "-o" in arguments:
        at = arguments.index("-o")
        if at + 1 == len(arguments):
            raise InputError("spe-cc: -o names no file")
        image = Path(arguments[at + 1])
        del arguments[at : at + 2]
    flags = [each for each in arguments if each.startswith("-")]
    return [Path(each) for each in arguments if not each.startswith("-")], flags, image


def commands() -> dict[str, click.Command]:
    return {"spe-cc": command}
