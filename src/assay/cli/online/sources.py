"""The option that names the columns of a log."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from assay.core.errors import InputError
from assay.core.suggestions import did_you_mean


def add_columns(part: argparse.ArgumentParser) -> None:
    """Add the option that names the columns of a log."""
    part.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help="the log's own name of a column, such as client_id=visitor; may be repeated",
    )


def column_names(texts: Sequence[str], names: Iterable[str]) -> dict[str, str]:
    """Return the columns of a log by our names."""
    known, columns = [*names], {}
    for text in texts:
        name, separator, column = text.partition("=")
        if not separator or not column or name not in known:
            hint = did_you_mean(name, known) or f"names: {', '.join(known)}"
            raise InputError(f"--column expects NAME=COLUMN, found {text}; {hint}")
        columns[name] = column
    return columns
