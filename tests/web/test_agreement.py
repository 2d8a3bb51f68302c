"""The page Agreement: how far raters agree, and decisions where they differ."""

import shutil
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.workflows.annotation import (
    CannotRateRequest,
    RaterRequest,
    SaveLabelRequest,
    cannot_rate,
    next_assignment,
    project_judgments,
    save_label,
)
from tests.web.dashboards import create_annotation_project, open_dashboard, save_experiments, token_of
from tests.web.labels import save_labels

SOURCE = {"dataset": "people"}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    save_labels(folder)
    return folder


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "copy"))


@pytest.fixture
def client(folder: Path) -> TestClient:
    client = open_dashboard(folder / "store")
    client.headers.update(token_of(client))
    return client


def dispute(client: TestClient, show: str = "open") -> dict[str, str]:
    """Return the form of the first disagreement."""
    data = client.get("/agreement.json", params={**SOURCE, "show": show}).json()
    first = data["disputes"]["rows"][0]
    fields = {name: first[name] for name in ("query_id", "doc_id")}
    return {"source": data["source"], "rater": "dee", **fields}


def test_without_labels_the_page_says_how_to_make_them(tmp_path: Path) -> None:
    client = open_dashboard(save_experiments(tmp_path))
    assert "assay judge create NAME" in client.get("/agreement").text
    assert client.get("/agreement.json").json()["agreement"] is None


def test_the_matrix_has_kappa_with_interval_and_n(client: TestClient) -> None:
    page = client.get("/agreement", params={**SOURCE, "by": "category"}).text
    pair = client.get("/agreement.json", params=SOURCE).json()["agreement"]["pairs"][0]
    assert (pair["a"], pair["b"], pair["n"]) == ("rater 1", "rater 2", 120)
    kappa = pair["kappa"]
    words = f"κ {kappa['value']:.4f} ({kappa['low']:.4f} … {kappa['high']:.4f}), n 120"
    assert f'title="rater 1 and rater 2: {words}"' in page
    assert "category: a" in page


def test_disagreements_show_texts_and_no_names_of_raters(client: TestClient) -> None:
    page = client.get("/agreement", params=SOURCE).text
    case = page.partition('class="case"')[2]
    assert "24 of 120 pairs with two labels, 0 decided" in page
    assert "text &lt;i&gt;" in case
    assert "rater 1" not in case
    assert "Who decides?" in case


def test_a_decision_is_the_label_of_an_adjudicator(client: TestClient, folder: Path) -> None:
    form = dispute(client)
    page = client.post("/agreement/decide", data={**form, "grade": "1"}).text
    assert "24 of 120 pairs with two labels, 1 decided" in page
    project = client.get("/agreement.json", params=SOURCE).json()["disputes"]["project"]
    rows = project_judgments(project, str(folder / "store")).frame
    assert rows.select("query_id", "doc_id", "judge", "grade").rows() == [
        (form["query_id"], form["doc_id"], "adjudicator dee", 1.0)
    ]
    assert dispute(client, "decided")["doc_id"] == form["doc_id"]


def test_a_pair_that_cannot_be_rated_keeps_the_reason(client: TestClient) -> None:
    client.post("/agreement/cannot-rate", data={**dispute(client), "reason": "no text"})
    row = client.get("/agreement.json", params={**SOURCE, "show": "decided"}).json()["disputes"]["rows"][0]
    assert row["decision"] == {"judge": "adjudicator dee", "grade": None, "note": "no text"}


def test_a_decision_is_taken_back_and_given_once(client: TestClient) -> None:
    form = dispute(client)
    client.post("/agreement/decide", data={**form, "grade": "1"})
    second = client.post("/agreement/decide", data={**form, "rater": "eve", "grade": "0"})
    assert second.status_code == 400
    assert "adjudicator dee has decided this pair already" in second.text
    client.post("/agreement/undo", data=form)
    assert client.get("/agreement.json", params=SOURCE).json()["disputes"]["decided"] == 0
    assert "has decided nothing" in client.post("/agreement/undo", data=form).text


def test_wrong_decisions_are_refused(client: TestClient) -> None:
    form = dispute(client)
    assert "found 9" in client.post("/agreement/decide", data={**form, "grade": "9"}).text
    assert "found none" in client.post("/agreement/decide", data={**form, "rater": "", "grade": "1"}).text
    other = {**form, "doc_id": "nothing", "grade": "1"}
    assert "there is nothing to decide" in client.post("/agreement/decide", data=other).text
    both = client.get("/agreement.json", params={"project": "a", "dataset": "b"})
    assert "found both" in both.json()["error"]


def test_disputes_of_a_project_grow_with_its_labels(folder: Path, client: TestClient) -> None:
    store = str(folder / "store")
    create_annotation_project(folder, folder / "store")
    for grades in ((0.0, 2.0), (1.0, 0.0)):
        query, doc = judge_next(store, grades)
        form = {"source": "project:shop", "rater": "dee", "query_id": query, "doc_id": doc, "grade": "1"}
        page = client.post("/agreement/decide", data=form)
        assert "Every disagreement is decided" in page.text
    assert len(project_judgments("shop-adjudication", store)) == 2


def judge_next(store: str, grades: tuple[float, float]) -> tuple[str, str]:
    """Let two raters judge their next pair, which is the same; return its query and document."""
    for rater, grade in zip(("r1", "r2"), grades, strict=True):
        pair = next_assignment(RaterRequest(name="shop", rater=rater, store=store)).assignment
        assert pair is not None
        save_label(SaveLabelRequest(name="shop", rater=rater, pair=pair.pair, grade=grade, store=store))
    assert pair is not None
    return pair.query_id, pair.doc_id


def test_hostile_notes_are_text(folder: Path, client: TestClient) -> None:
    store = str(folder / "store")
    create_annotation_project(folder, folder / "store", per_pair=3)
    for rater, grade in (("r1", 0.0), ("r2", 2.0), ("<b>r3", None)):
        pair = next_assignment(RaterRequest(name="shop", rater=rater, store=store)).assignment
        assert pair is not None
        if grade is None:
            hostile = "<script>x</script>"
            cannot_rate(
                CannotRateRequest(name="shop", rater=rater, pair=pair.pair, reason=hostile, store=store)
            )
        else:
            save_label(SaveLabelRequest(name="shop", rater=rater, pair=pair.pair, grade=grade, store=store))
    page = client.get("/agreement", params={"project": "shop", "rater": "<i>dee"}).text
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page
    assert "<b>r3" not in page
    assert "<i>dee" not in page
