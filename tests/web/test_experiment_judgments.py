"""Who gave what grade to the documents that an experiment shows."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.web.dashboards import open_dashboard, save_experiments
from tests.web.labels import QUERIES, save_judged, save_labels


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with an experiment `judged` on the labels of two people."""
    store = save_labels(tmp_path)
    save_judged(store, tmp_path, "dataset:people")
    return store


@pytest.fixture
def client(store: Path) -> TestClient:
    return open_dashboard(store)


def test_every_shown_document_has_the_grades_of_its_judges(client: TestClient) -> None:
    data = client.get("/experiments/judged/judgments.json").json()
    assert (data["total"], data["judged"], data["next"]) == (3 * QUERIES, 3 * QUERIES, 50)
    assert [one["judge"] for one in data["judges"]] == ["rater 1", "rater 2"]
    assert [one["labels"] for one in data["judges"]] == [3 * QUERIES] * 2
    first = data["pairs"][0]
    assert (first["query_id"], first["query"], first["rank"], first["doc_id"]) == ("q0", "reset 0", 1, "b")
    assert first["labels"] == {"rater 1": 0.0, "rater 2": 1.0}
    assert first["grade"] is None


def test_pairs_come_in_pages(client: TestClient) -> None:
    page = client.get("/experiments/judged/judgments", params={"offset": 100}).text
    assert "101 to 120 of 120" in page
    assert "120 of the 120 documents" in page
    assert 'href="?offset=50#pairs"' in page
    assert "no document" in client.get("/experiments/judged/judgments", params={"offset": 10**9}).text


def test_what_is_not_kept_is_named(tmp_path: Path) -> None:
    client = open_dashboard(save_experiments(tmp_path))
    assert client.get("/experiments/words/judgments.json").json()["lacks"] == ["labels by judge"]
    assert "Not kept: labels by judge" in client.get("/experiments/words/judgments").text


def test_labels_beside_the_qrels_of_a_folder_are_kept(tmp_path: Path) -> None:
    store, folder = save_experiments(tmp_path), tmp_path / "set"
    (folder / "qrels").mkdir(parents=True)
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta\t2\n")
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "reset 1"}\n')
    label = '{"query_id": "q1", "doc_id": "a", "judge": "ann", "grade": 2, "note": "says so"}\n'
    (folder / "judgments.jsonl").write_text(label)
    save_judged(store, tmp_path, str(folder), with_texts=False)
    client = open_dashboard(store)
    pairs = client.get("/experiments/judged/judgments.json").json()["pairs"]
    labels = {pair["doc_id"]: pair["labels"] for pair in pairs if pair["query_id"] == "q1"}
    assert labels == {"b": {}, "a": {"ann": 2.0}, "x": {}}
    assert "says so" not in client.get("/queries/q1.json?experiment=judged").text
