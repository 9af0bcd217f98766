"""What a shell is offered when it completes a command: names that exist.

Use this when a command gets an argument that names a machine, a parameter or an experiment.
"""

from __future__ import annotations

import pytest
from conftest import Run

pytestmark = pytest.mark.core


def offered(chasqui: Run, line: str) -> list[str]:
    """What bash is told when TAB is pressed behind `line`."""
    words = line.split(" ")
    variables = {
        "_CHASQUI_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = chasqui(env=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("chasqui fid", ["plain,fidelity"]),
        ("chasqui run --mac", ["plain,--machine"]),
        ("chasqui run -m voyager/f", ["plain,voyager/flush"]),
        ("chasqui sweep -m net", ["plain,netcache", "plain,netcache/ldtct"]),
        ("chasqui compare loggp voyager-m", ["plain,voyager-modern"]),
        ("chasqui logp -m ./my.t", ["file,./my.t"]),
        ("chasqui export mpinp-modern/d", ["plain,mpinp-modern/dpu"]),
        ("chasqui run -m voyager --set voyager.dma.", ["plain,voyager.dma.setup="]),
        ("chasqui run --set loggp.lat", ["plain,loggp.latency="]),
        ("chasqui run --mpi coll.allr", ["plain,coll.allreduce="]),
        ("chasqui info loggp loggp.ga", ["plain,loggp.gap", "plain,loggp.gap_per_byte"]),
        ("chasqui info nowhere loggp.", []),
        ("chasqui experiment voyager/a", ["plain,voyager/am"]),
        ("chasqui experiment voyag", ["plain,voyager", "plain,voyager/mechanisms"]),
    ],
)
def test_names_that_exist_are_offered(chasqui: Run, line: str, found: list[str]) -> None:
    assert set(found) <= set(offered(chasqui, line))
    if not found:
        assert not offered(chasqui, line)


def test_bash_is_told_how_to_ask(chasqui: Run) -> None:
    done = chasqui(env={"_CHASQUI_COMPLETE": "bash_source"})
    assert "_CHASQUI_COMPLETE=bash_complete" in done.stdout
