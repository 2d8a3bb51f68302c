"""The page Judges: a model's labels against people's, estimates from both, and what to judge next."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.workflows.annotation import ProjectRequest, progress
from assay.workflows.estimate import EstimateRequest, estimate
from assay.workflows.inputs import TableFiles
from tests.web.dashboards import open_dashboard, save_experiments, token_of
from tests.web.labels import save_labels

SETS = {"human": "dataset:people", "model": "dataset:model"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_labels(tmp_path_factory.mktemp("judges"))


@pytest.fixture(scope="module")
def client(store: Path) -> TestClient:
    client = open_dashboard(store)
    client.headers.update(token_of(client))
    return client


def test_without_labels_the_page_says_how_to_store_them(tmp_path: Path) -> None:
    assert "No labels are stored yet" in open_dashboard(save_experiments(tmp_path)).get("/judges").text


def test_sets_are_chosen_among_qrels_and_judges(client: TestClient) -> None:
    page = client.get("/judges").text
    assert "#rater 1" in page
    assert "its labels" in page
    assert "Choose labels of people" in page


def test_the_confusion_counts_pairs_with_both_labels(client: TestClient) -> None:
    data = client.get("/judges.json", params=SETS).json()
    assert data["confusion"]["scale"] == [0, 1, 2]
    assert sum(map(sum, data["confusion"]["counts"])) == 60
    assert data["confusion"]["counts"][2] == [0, 0, 20]
    page = client.get("/judges", params={**SETS, "by": "category"}).text
    assert "it grades higher" in page
    assert "By category" in page


def test_estimates_are_by_both_by_people_and_by_the_model(client: TestClient) -> None:
    data = client.get("/judges.json", params={**SETS, "measure": "P@2"}).json()
    (first, second) = data["estimates"][0]["estimates"]
    assert {first["run"], second["run"]} == {"words", "vectors"}
    assert first["human_only"]["n"] == 20
    assert first["model_only"]["n"] == 40
    assert first["combined"]["low"] <= first["combined"]["value"] <= first["combined"]["high"]


def test_estimates_are_those_of_the_command(client: TestClient, store: Path) -> None:
    folder = store.parent
    runs = [str(folder / f"{name}.run") for name in ("vectors", "words")]
    files = TableFiles(qrels=str(folder / "model.qrels"), runs=runs)
    request = EstimateRequest(files=files, human=str(folder / "people.qrels"), measures=["P@2"])
    expected = {e.target.run: e.estimate.to_dict() for e in estimate(request).estimates.estimates}
    data = client.get("/judges.json", params={**SETS, "measure": "P@2"}).json()["estimates"][0]["estimates"]
    assert {row["run"]: row["combined"] for row in data} == {
        run: powered["combined"] for run, powered in expected.items()
    }


def test_one_judge_can_stand_for_people(client: TestClient) -> None:
    sets = {"human": "dataset:people#rater 2", "model": "dataset:people#rater 1"}
    data = client.get("/judges.json", params=sets).json()
    assert sum(map(sum, data["confusion"]["counts"])) == 120
    wrong = client.get("/judges.json", params={**sets, "model": "dataset:people#rater 9"})
    assert "has no judge 'rater 9'" in wrong.json()["error"]


def test_how_much_to_judge_next_is_chosen_and_its_queries_are_linked(client: TestClient) -> None:
    parameters = {**SETS, "measure": "P@2", "next": "6"}
    chosen = client.get("/judges.json", params=parameters).json()["judge_next"]
    page = client.get("/judges", params=parameters).text
    assert 'name="next" min="0" max="10000" value="6"' in page
    assert f"Make an annotation project of these {len(chosen)} pairs" in page
    assert all(f'href="/queries/{pair["query_id"]}"' in page for pair in chosen)


def test_what_to_judge_next_becomes_a_project(client: TestClient, store: Path) -> None:
    chosen = client.get("/judges.json", params={**SETS, "next": 6}).json()["judge_next"]
    page = client.post("/judges/next", data={**SETS, "next": "6", "name": "next week", "per_pair": "2"})
    assert page.url.path == "/annotate/next week"
    project = progress(ProjectRequest(name="next week", store=str(store)))
    assert project.pairs == len(chosen)
    assert project.project.per_pair == 2
    again = client.post("/judges/next", data={**SETS, "next": "6", "name": "next week"})
    assert "choose another name" in again.text


def test_what_cannot_be_estimated_is_said(client: TestClient) -> None:
    deep = client.get("/judges.json", params={**SETS, "measure": "nDCG@100"})
    assert "cutoff of at most 20" in deep.json()["error"]
    same = client.get("/judges.json", params={**SETS, "model": SETS["human"]})
    assert "two different sets of labels" in same.json()["error"]
    hostile = client.get("/judges", params={"human": "dataset:<script>", "model": "dataset:model"})
    assert hostile.status_code == 400
    assert "<script>'" not in hostile.text
