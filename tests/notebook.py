"""Executes docs/notebook.ipynb: `python tests/notebook.py` puts what its cells show into it."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat

NOTEBOOK = Path(__file__).resolve().parent.parent / "docs" / "notebook.ipynb"
LIMIT_S = 300
# Of what a cell shows: texts. Pictures depend on who draws them, and views on how pandas does.
SHOWN = "text/plain"
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def executed(place: Path) -> Any:
    """The notebook with what its cells show when they are executed in the folder `place`."""
    content = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(
        content, timeout=LIMIT_S, resources={"metadata": {"path": str(place)}}
    )
    client.execute()
    for cell in content.cells:
        cell.metadata.pop("execution", None)  # at what time of day it ran
    content.metadata.pop("language_info", None)
    return content


def texts(content: Any) -> list[list[str]]:
    """What the cells show and print, as texts."""
    found = []
    for cell in content.cells:
        if cell.cell_type != "code":
            continue
        shown = [each.get("text") or each.get("data", {}).get(SHOWN, "") for each in cell.outputs]
        # How wide columns are is a matter of pandas' version.
        found.append([" ".join(ADDRESS.sub("", text).split()) for text in shown])
    return found


def main() -> int:
    with tempfile.TemporaryDirectory() as place:
        nbformat.write(executed(Path(place)), NOTEBOOK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
