"""Rows of comma-separated values."""

import csv
from io import StringIO

from hypothesis import given
from hypothesis import strategies as st

from assay.core.csv_rows import format_csv_row, quote_cell
from tests.reference_measures import quick

CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@quick
@given(st.lists(CELLS, min_size=2))
def test_the_csv_module_reads_the_same_cells(cells: list[str]) -> None:
    assert next(csv.reader(StringIO(format_csv_row(cells), newline=""))) == cells


def test_cells_with_line_breaks_are_quoted() -> None:
    assert format_csv_row(["a\rb", "c\nd"]) == '"a\rb","c\nd"'
    assert quote_cell('a "b"') == '"a ""b"""'
