"""Large files of qrels and runs, read a whole column at a time by Polars.

Nothing is explained here: a file that Polars or the table refuses is read again row by row by the
reader of its format, which says which line is wrong and why.
"""

import os
from collections.abc import Mapping
from typing import Any

from assay.core.errors import TableError
from assay.core.tables import Qrels, Run
from assay.datasets.formats import Kind
from assay.datasets.sources import Source

LARGE = 8 << 20


def is_large(source: Source) -> bool:
    """Whether loading Polars pays for this file (a packed one counts a few times its size)."""
    if not os.path.isfile(source.path):
        return False
    times = 5 if source.path.endswith((".gz", ".zst")) else 1
    return times * os.path.getsize(source.path) > LARGE


def read_large(
    source: Source, kind: Kind, columns: Mapping[str, str], scan: Mapping[str, Any] | None
) -> Qrels | Run | None:
    """The table, or None where it has to be read row by row; without `scan` the rows are JSON."""
    import polars as pl

    data: Any = source.path if source.is_plain() else source.read()
    try:
        if scan is None:
            frame = pl.read_ndjson(data, infer_schema_length=1000)
        else:
            frame = pl.read_csv(data, infer_schema=False, **scan)
        found = Qrels(frame, columns) if kind == "qrels" else Run(frame, columns, name=source.name)
    except (pl.exceptions.PolarsError, TableError):
        return None
    named = "" not in found.query_ids and bool(found.groups.ids.lengths.all())
    return found if named else None  # a file may not leave an id empty
