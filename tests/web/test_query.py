"""The page of one query: ranked lists side by side, grades, and the scores over time."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.cli import call
from assay.workflows.annotation import ListProjectsRequest, list_projects
from assay.workflows.evaluate import EvaluateRequest, evaluate
from assay.workflows.inputs import TableFiles
from assay.workflows.recording import SaveRequest
from assay.workflows.saving import save
from tests.online.interleaving.logs import click, query, write_log
from tests.web.dashboards import open_dashboard, save_experiments, token_of
from tests.web.labels import save_judged, save_labels


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


def test_unjudged_documents_of_both_lists_are_sent_to_annotation(client: TestClient, tmp_path: Path) -> None:
    assert "Send 1 unjudged to annotation" in client.get("/queries/q1").text
    headers = token_of(client) | {"Accept": "application/json"}
    form = {"query": "q1", "experiment": ["words", "vectors"]}
    answer = client.post("/queries/annotate", data=form, headers=headers).json()
    assert answer["location"] == "/annotate/query%20q1"
    turn = client.get("/annotate/query q1.json", params={"rater": "rater 1"}).json()
    assert turn["wanted"] == 1
    assert turn["assignment"]["doc_id"] == "x"
    assert turn["assignment"]["query"] == {"text": "reset 1"}
    assert turn["assignment"]["document"]["title"] == "Title x"
    (progress,) = list_projects(ListProjectsRequest(store=str(tmp_path / "store"))).projects
    assert [grade.name for grade in progress.project.grades] == [
        "not relevant",
        "partly relevant",
        "relevant",
    ]


def test_a_query_whose_documents_are_all_judged_is_not_sent(client: TestClient, tmp_path: Path) -> None:
    qrels = tmp_path / "qrels.txt"
    qrels.write_text(qrels.read_text() + "q1 0 x 0\n")
    files = TableFiles(qrels=str(qrels), runs=[str(tmp_path / "words.run")])
    result = evaluate(EvaluateRequest(files=files, measures=["RR@10"], with_recordings=True))
    save(SaveRequest(name="judged", store=str(tmp_path / "store")), result.recordings)
    assert "to annotation" not in client.get("/queries/q1", params={"experiment": "judged"}).text
    form = {"query": "q1", "experiment": "judged"}
    refused = client.post("/queries/annotate", data=form, headers=token_of(client))
    assert refused.status_code == 400
    assert "every document among the first 10 of this query is judged" in refused.text


def test_who_gave_what_grade_is_shown_first_for_the_documents_that_are_shown(tmp_path: Path) -> None:
    store = save_labels(tmp_path)
    save_judged(store, tmp_path, "dataset:people")
    client = open_dashboard(store)
    page = client.get("/queries/q5?experiment=judged").text
    table = page[page.index("Judgments by judge") :]
    assert table.index("rater 1") < table.index("rater 2") < table.index("Title b") < table.index("Title x")
    labels = client.get("/queries/q5.json?experiment=judged").json()["judgments"]
    assert {"doc_id": "a", "judge": "rater 2", "grade": 1.0} in labels
    assert len(labels) == 6


def test_labels_by_judge_that_were_not_kept_are_missing(client: TestClient) -> None:
    assert "Labels by judge were not kept" in client.get("/queries/q1").text
    assert client.get("/queries/q1.json").json()["judgments"] is None


def test_clicks_of_a_saved_log_are_shown_with_their_rates(client: TestClient, tmp_path: Path) -> None:
    assert "No clicks: no log with clicks is kept" in client.get("/queries/q1").text
    shown = {"user_query": "RESET  1", "query_response_hit_ids": ["a", "x"]}
    pages = [{**query(f"u{n}", f"c{n}", teams=None), **shown} for n in range(20)]
    clicks = [click(f"u{n}", "a") | {"client_id": f"c{n}"} for n in range(0, 20, 2)]
    log, store = write_log(tmp_path / "log.ndjson", [*pages, *clicks]), str(tmp_path / "store")
    assert call(["online", "metrics", log, "--save", "march", "--store", store]) == 0
    kept = client.get("/queries/q1.json").json()["clicks"]
    first, second = kept["documents"]
    assert (kept["log"], first["doc_id"], first["impressions"], first["clicks"]) == ("march", "a", 20, 10)
    assert (first["ctr"]["value"], first["ctr"]["n"], second["ctr"]["value"]) == (0.5, 20, 0)
    page = client.get("/queries/q1").text
    assert "log march" in page[page.index('id="clicks"') :]
    assert "is not among the most frequent of march" in client.get("/queries/q2").text
