"""messages.parquet as a table of Arrow's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from chasqui.errors import InputError
from chasqui.files import check_regular, damaged
from chasqui.messages import NAMES, STAGES

if TYPE_CHECKING:
    import pyarrow


def table(path: Path) -> pyarrow.Table:
    """The columns that are known, in the record's order. Raises InputError where there is no such
    file, or it is damaged."""
    import pyarrow.parquet

    check_regular(path)
    try:
        found = pyarrow.parquet.read_table(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; `chasqui run` writes it") from None
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise damaged(str(path), str(error).partition("\n")[0]) from None
    return found.select([name for name in (*NAMES, *STAGES) if name in found.column_names])
