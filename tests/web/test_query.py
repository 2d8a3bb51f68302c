"""The page of one query: ranked lists side by side, grades, and the scores over time."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.web.dashboards import open_dashboard, save_experiments


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    return open_dashboard(save_experiments(tmp_path))


def test_two_lists_are_shown_with_grades_and_escaped_texts(client: TestClient) -> None:
    page = client.get("/queries/q1").text
    assert "reset 1" in page
    assert "The best documents are at rank 2 in words; rank 1 in vectors" in page
    assert "Title a" in page
    assert "text &lt;i&gt;a&lt;/i&gt;" in page
    assert "not judged" in page


def test_the_data_has_lists_grades_and_history(client: TestClient) -> None:
    data = client.get("/queries/q1.json").json()
    ranked = {one["name"]: [d["doc_id"] for d in one["documents"]] for one in data["lists"]}
    assert ranked == {"words": ["b", "a", "x"], "vectors": ["a", "b", "x"]}
    assert data["grades"] == {"a": 2, "b": 0}
    assert [score["value"] for score in data["history"]] == [0.5, 1.0]
    assert data["columns"] == {"category": "b"}


def test_an_unknown_query_is_an_error(client: TestClient) -> None:
    response = client.get("/queries/q99.json")
    assert response.status_code == 400
    assert "no experiment in" in response.json()["error"]
