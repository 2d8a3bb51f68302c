"""Tables of pages as CSV."""

from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.store.store import Store
from assay.web.exports import table_of_page
from tests.stores import experiment
from tests.web.dashboards import open_dashboard, save_experiments

PAGE = """
<table><thead><tr><th><span>tick</span></th><th>name</th><th colspan="2">value ↓</th></tr></thead>
<tbody><tr><td><input></td><th>a &amp; b</th><td>−0.25</td>
<td><svg aria-label="0.1 to 0.2"><text>x</text></svg></td></tr>
<tr><td></td><th>c</th><td>–</td><td></td></tr></tbody></table><table><tr><td>second</td></tr></table>
"""


def test_a_table_is_read_without_controls_and_with_the_labels_of_charts() -> None:
    head, rows = table_of_page(PAGE, 1)
    assert head == ["name", "value", ""]
    assert rows == [["a & b", "-0.25", "0.1 to 0.2"], ["c", "", ""]]
    assert table_of_page(PAGE, 0) == (head, rows)
    assert table_of_page(PAGE, 2).rows == [["second"]]


def test_a_table_that_is_not_there_is_an_error() -> None:
    with pytest.raises(InputError, match="this page has 2 tables to export, found the number 3"):
        table_of_page(PAGE, 3)


def test_every_page_with_a_table_has_an_export(tmp_path: Path) -> None:
    client = open_dashboard(save_experiments(tmp_path))
    parameters = {"baseline": "words", "candidate": "vectors"}
    assert "RR@10" in client.get("/compare.csv", params=parameters).text
    queries = client.get("/compare.csv", params={**parameters, "table": 2}).text
    assert queries.splitlines()[1].startswith("q0,reset 0,0.5000,1.0000,+0.5000")
    assert client.get("/experiments/words.csv").status_code == 200
    assert client.get("/queries/q1.csv").status_code == 200


def test_no_exported_cell_is_a_formula(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.put(experiment("=cmd|' /C calc'!A0", note="@SUM(1)", tags=("+1+cmd",)))
    client = open_dashboard(tmp_path)
    for table in (0, 1):
        text = client.get("/experiments.csv", params={"table": table}).text
        assert "'=cmd" in text
        assert ",@SUM" not in text
        assert ",+1" not in text
