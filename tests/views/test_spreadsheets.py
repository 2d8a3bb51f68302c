"""CSV that a spreadsheet opens runs nothing and keeps every number."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.views.spreadsheets import escape_formula, render_safe_csv


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\n=1", "=cmd|'/C x'!A0"]
)
def test_a_formula_begins_with_an_apostrophe(cell: str) -> None:
    assert escape_formula(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "-0.25", "+3", "1e-9", "-inf", "reset", "a=b", "–"])
def test_numbers_and_words_stay_as_they_are(cell: str) -> None:
    assert escape_formula(cell) == cell


@given(st.lists(st.text(alphabet="=+-@\t\r\n,\"';a1. "), min_size=2, max_size=4))
def test_no_cell_of_a_table_is_a_formula(cells: list[str]) -> None:
    text = render_safe_csv(cells, [cells])
    rows = list(csv.reader(io.StringIO(text, newline="")))
    for cell, written in zip(cells, rows[0], strict=True):
        assert written.lstrip("'") == cell.lstrip("'")
        assert not written.lstrip(" \n").startswith(("=", "@", "\t", "\r"))
