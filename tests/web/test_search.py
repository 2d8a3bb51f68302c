"""Search: every kind of thing by text, escaped."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.store.store import Store
from tests.web.dashboards import create_annotation_project, open_dashboard, save_experiments


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    store = save_experiments(tmp_path)
    create_annotation_project(tmp_path, store)
    with Store(store) as opened:
        opened.annotate("words", note="größer <b>as before</b>", add_tags=["nightly"])
    return open_dashboard(store)


def find(client: TestClient, text: str) -> dict[str, list[str]]:
    data = client.get("/search.json", params={"text": text}).json()
    keys = {"queries": "query_id", "documents": "doc_id", "experiments": "name"}
    return {kind: [one[key] for one in data[kind]] for kind, key in keys.items()}


def test_queries_documents_experiments_and_projects_are_found_in_any_case(client: TestClient) -> None:
    assert find(client, "RESET 3")["queries"] == ["q3"]
    assert find(client, "title B")["documents"] == ["b"]
    assert find(client, "Night")["experiments"] == ["words"]
    assert find(client, "größer")["experiments"] == ["words"]
    assert client.get("/search.json", params={"text": "SHO"}).json()["projects"] == ["shop"]


def test_results_link_to_their_pages_and_are_escaped(client: TestClient) -> None:
    page = client.get("/search", params={"text": "reset 3"}).text
    assert 'data-href="/queries/q3"' in page
    hostile = client.get("/search", params={"text": "<i>"}).text
    assert "<mark>&lt;i&gt;</mark>" in hostile
    assert "<i>" not in hostile


def test_signs_of_patterns_are_only_signs(client: TestClient) -> None:
    assert find(client, "%") == {"queries": [], "documents": [], "experiments": []}
    assert "Nothing has" in client.get("/search", params={"text": "a_b.*["}).text


def test_nothing_is_searched_without_a_text_and_no_book_is(client: TestClient) -> None:
    assert "Search queries, documents" in client.get("/search").text
    assert client.get("/search.json", params={"text": "x" * 201}).status_code == 400
