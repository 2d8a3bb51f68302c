"""Large files of qrels and runs, read column by column with Polars.

Errors are not explained here: a file that Polars or the table rejects is read again row by row by the
reader of its format, which reports the line and the problem.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from assay.core.errors import TableError
from assay.core.tables import Qrels, Run
from assay.datasets.formats import Kind
from assay.datasets.input_files import InputFile


def read_large(
    source: InputFile, kind: Kind, columns: Mapping[str, str], csv_options: Mapping[str, Any] | None
) -> Qrels | Run | None:
    """Return the table, or None if it must be read row by row; without `csv_options` the rows are JSON."""
    data: Any = source.path if source.is_plain() else source.read()
    try:
        if csv_options is None:
            frame = pl.read_ndjson(data, infer_schema_length=1000)
        else:
            frame = pl.read_csv(data, infer_schema=False, **csv_options)
        table = Qrels(frame, columns) if kind == "qrels" else Run(frame, columns, name=source.name)
    except (pl.exceptions.PolarsError, TableError):
        return None
    has_ids = "" not in table.query_ids and bool(table.groups.ids.lengths.all())
    return table if has_ids else None  # ids in a file must not be empty
