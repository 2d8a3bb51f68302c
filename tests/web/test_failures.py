"""The page Failures: causes, slices, losses and queries of a stored experiment, and annotation of them."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.core.tables import Qrels
from assay.evaluation.stage_losses import Checkpoint, trace_losses
from assay.store.rankings import ShownTables, put_shown_tables
from assay.store.store import Store
from assay.workflows.annotation import ProjectRequest, progress
from assay.workflows.evaluate import EvaluateRequest, evaluate
from assay.workflows.inputs import TableFiles
from assay.workflows.recording import SaveRequest
from assay.workflows.saving import save
from assay.workflows.stored_losses import losses_table
from tests.web.dashboards import open_dashboard, save_experiments, token_of

MEASURE: dict[str, str | float] = {"measure": "RR@10", "below": 0.9}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return save_experiments(tmp_path)


@pytest.fixture
def client(store: Path) -> TestClient:
    return open_dashboard(store)


def test_without_rankings_it_says_how_to_keep_them(tmp_path: Path) -> None:
    with Store(str(tmp_path / "store")) as store:
        assert store.list() == []
    client = open_dashboard(tmp_path / "store")
    assert "assay eval QRELS RUN" in client.get("/failures").text
    assert client.get("/failures.json").json() == {"experiment": None}


def test_queries_below_the_threshold_have_causes_and_evidence(client: TestClient) -> None:
    value = client.get("/failures.json", params={"experiment": "words", **MEASURE}).json()
    assert (value["failing"], value["n"], len(value["shown"])) == (6, 6, 6)
    assert value["missing"] == []
    page = client.get("/failures", params={"experiment": "words", **MEASURE}).text
    assert "6 of 6 queries are below 0.9 by RR@10: 100.0 %" in page
    assert "wrong order" in page
    assert "category: a" in page
    assert 'data-href="/queries/q0?experiment=' in page


def test_a_cause_or_a_slice_filters_the_queries(client: TestClient) -> None:
    base = {"experiment": "words", **MEASURE}
    by_slice = client.get("/failures.json", params={**base, "column": "category", "value": "a"}).json()
    assert by_slice["shown"] == ["q0", "q2", "q4"]
    assert client.get("/failures.json", params={**base, "cause": "near miss"}).json()["shown"] == []
    assert (
        "No failing query matches the filter"
        in client.get("/failures", params={**base, "cause": "near miss"}).text
    )


def test_a_run_without_failures_says_so(client: TestClient) -> None:
    page = client.get("/failures", params={"experiment": "vectors", **MEASURE}).text
    assert "No query fails" in page
    assert "Send" not in page


def test_losses_by_stage_lead_to_the_queries(store: Path) -> None:
    with Store(str(store)) as opened:
        experiment = opened.get("words")
        qrels = Qrels({f"q{n}": {"a": 2} for n in range(6)})
        shown = {f"q{n}": ["a"] if n else [] for n in range(6)}
        losses = losses_table(trace_losses(qrels, [Checkpoint("index", "lost by the index", shown)]))
        digests = {**experiment.digests, **put_shown_tables(opened, ShownTables(losses=losses))}
        assert digests["losses"] == losses.digest
        saved = opened.put(type(experiment)(name="pipeline", kind="run", digests=digests))
    client = open_dashboard(store)
    base = {"experiment": saved.id, **MEASURE}
    assert "lost by the index" in client.get("/failures", params=base).text
    value = client.get("/failures.json", params={**base, "stage": "lost by the index"}).json()
    assert value["shown"] == ["q0"]
    assert [part["documents"] for part in value["losses"]["parts"]] == [1, 5]


def test_shown_queries_are_sent_to_annotation(client: TestClient, store: Path) -> None:
    form = {"experiment": "words", "query": ["q0", "q1"]}
    headers = {**token_of(client), "Accept": "application/json"}
    answer = client.post("/failures/annotate", data=form, headers=headers).json()
    assert answer["location"] == "/annotate/failures%20of%20words"
    project = progress(ProjectRequest(name="failures of words", store=str(store))).project
    assert project.counts == {
        "counted": 2,
        "gold": 0,
        "training": 0,
    }  # document x of each query; a and b are judged
    assert [grade.name for grade in project.grades] == ["not relevant", "partly relevant", "relevant"]
    second = client.post("/failures/annotate", data=form, headers=headers).json()
    assert second["project"] == "failures of words 2"
    turn = client.get("/annotate/failures of words", params={"rater": "rater 1"}).text
    assert "Title x" in turn


def test_only_pages_of_this_dashboard_can_send(client: TestClient) -> None:
    assert client.post("/failures/annotate", data={"experiment": "words", "query": "q0"}).status_code == 403


def test_what_was_not_kept_is_named(tmp_path: Path, store: Path) -> None:
    files = TableFiles(qrels=str(tmp_path / "qrels.txt"), runs=[str(tmp_path / "words.run")])
    result = evaluate(EvaluateRequest(files=files, measures=["RR@10"], with_recordings=True))
    save(SaveRequest(name="bare", store=str(store)), result.recordings)
    client = open_dashboard(store)
    page = client.get("/failures", params={"experiment": "bare", **MEASURE}).text
    assert "the texts of documents of bare are not kept" in page
    headers = {**token_of(client), "Accept": "application/json"}
    refused = client.post("/failures/annotate", data={"experiment": "bare", "query": "q0"}, headers=headers)
    assert refused.status_code == 422
    assert "raters read them" in refused.json()["error"]


def test_an_experiment_without_rankings_shows_what_is_missing(store: Path) -> None:
    with Store(str(store)) as opened:
        old = opened.get("words")
        opened.put(type(old)(name="old", metrics=old.metrics, digests={"scores": old.digests["scores"]}))
    page = open_dashboard(store).get("/failures", params={"experiment": "old"}).text
    assert "the rankings of old are not kept" in page
    assert "the judgments of old are not kept" in page


@pytest.mark.parametrize(
    ("parameters", "status", "problem"),
    [
        ({"experiment": "none"}, 400, "no experiment 'none'"),
        ({"measure": "nDCG@100"}, 422, "needs more documents than are kept"),
        ({"below": 3}, 400, "threshold"),
        ({"stage": "space"}, 400, "stage: expected one of"),
        ({"below": "low"}, 422, "below"),
    ],
)
def test_a_wrong_address_is_refused(
    client: TestClient, parameters: dict[str, str | float], status: int, problem: str
) -> None:
    response = client.get("/failures.json", params=parameters)
    assert response.status_code == status
    assert problem in response.json()["error"]


def test_texts_of_queries_are_text(tmp_path: Path) -> None:
    store = save_experiments(tmp_path)
    queries = tmp_path / "queries.jsonl"
    queries.write_text(queries.read_text().replace("reset 0", "<img src=x onerror=alert(1)>"))
    files = TableFiles(
        qrels=str(tmp_path / "qrels.txt"), runs=[str(tmp_path / "words.run")], queries=str(queries)
    )
    result = evaluate(EvaluateRequest(files=files, measures=["RR@10"], with_recordings=True))
    save(SaveRequest(name="<b>x</b>", store=str(store)), result.recordings)
    page = open_dashboard(store).get("/failures", params=MEASURE).text
    assert "<img src=x" not in page
    assert "<b>x</b>" not in page
    assert "&lt;img src=x" in page


def test_the_frequency_of_queries_makes_head_torso_and_tail(tmp_path: Path) -> None:
    store = save_experiments(tmp_path)
    queries = tmp_path / "queries.jsonl"
    lines = queries.read_text().splitlines()
    queries.write_text("".join(f'{line[:-1]}, "frequency": {9**n}}}\n' for n, line in enumerate(lines)))
    files = TableFiles(
        qrels=str(tmp_path / "qrels.txt"), runs=[str(tmp_path / "words.run")], queries=str(queries)
    )
    result = evaluate(EvaluateRequest(files=files, measures=["RR@10"], with_recordings=True))
    save(SaveRequest(name="counted", store=str(store)), result.recordings)
    page = open_dashboard(store).get("/failures", params=MEASURE).text
    assert "frequency: head" in page
    assert "frequency: tail" in page
