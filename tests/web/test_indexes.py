"""The page Indexes: the choice by floors, why others lost, and what the mean recall hides."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.web.access import Access
from assay.web.app import create_app
from assay.workflows.bench import bench
from tests.web.dashboards import open_dashboard, save_experiments
from tests.web.trials import save_known_trials
from tests.workflows.sweeps import bench_request, prepare_folder


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    store = save_experiments(tmp_path)
    save_known_trials(store)
    return open_dashboard(store)


def winner(client: TestClient, **parameters: float) -> str:
    value = client.get("/indexes.json", params=parameters).json()["winner"]
    return str(value)


def test_without_trials_it_says_how_to_get_some(tmp_path: Path) -> None:
    client = open_dashboard(save_experiments(tmp_path))
    assert "assay bench bench.toml --save" in client.get("/indexes").text
    assert "No trials" in client.get("/indexes/findings").text
    assert client.get("/indexes.json").json() == {"benches": [], "trials": []}


def test_floors_in_the_address_choose_another_index(client: TestClient) -> None:
    assert winner(client, recall=0.0) == "engines.quick M=8 / ef=8"
    assert winner(client, recall=0.89) == "engines.even M=8 / ef=9"
    assert winner(client, recall=0.93) == "engines.uneven M=8 / ef=10"
    assert winner(client, recall=0.93, robustness=0.99) == "engines.exact M=8 / ef=10"
    assert winner(client, recall=0.93, robustness=0.99, qps=2500) == "None"


def test_the_banner_has_the_confirmation_and_the_table_says_why_others_lost(client: TestClient) -> None:
    page = client.get("/indexes", params={"recall": 0.89, "robustness": 0.99}).text
    assert "Chosen: engines.even M=8 / ef=9, 15,000 queries per second" in page
    assert "Cannot be decided on 100 held-out queries: recall 0.9000" in page
    assert "misses robustness-0.3 at least 0.99" in page
    assert "Were recall 0.7950 enough, engines.quick" not in page  # two floors stand against it
    assert "floor: recall 0.89" in page


def test_a_floor_that_one_index_just_misses_is_named(client: TestClient) -> None:
    page = client.get("/indexes", params={"recall": 0.89}).text
    assert "Were recall 0.79" in page
    assert "engines.quick M=8 / ef=8 would be chosen with 30,000 queries per second" in page


def test_findings_compare_at_the_same_mean_recall(client: TestClient) -> None:
    page = client.get("/indexes/findings").text
    assert "Behind the mean" in page
    labels = [trial["label"] for trial in client.get("/indexes/findings.json").json()["trials"]]
    assert "engines.uneven M=8 / ef=10" in labels


def test_findings_begin_with_the_main_one_and_its_evidence(client: TestClient) -> None:
    page = client.get("/indexes/findings").text
    assert page.index("<h2>In short</h2>") < page.index("All tables of the report")
    assert {"pooled", "frontiers", "advice"} <= set(client.get("/indexes/findings.json").json())


@pytest.mark.parametrize(
    ("parameters", "status", "problem"),
    [
        ({"bench": "../etc"}, 400, "no trials are named"),
        ({"objective": "beauty"}, 400, "unknown figure"),
        ({"recall": 2}, 400, "expected a number from 0 to 1"),
        ({"delta": 0}, 400, "delta"),
        ({"recall": "high"}, 422, "recall"),
        ({"folder": "/tmp"}, 422, "folder"),
        ({"mode": "batch"}, 400, "no trial has the request mode batch"),
    ],
)
def test_a_wrong_address_is_refused(
    client: TestClient, parameters: dict[str, str], status: int, problem: str
) -> None:
    response = client.get("/indexes.json", params=parameters)
    assert response.status_code == status
    assert problem in response.json()["error"]


def test_names_of_trials_are_text(tmp_path: Path) -> None:
    store = save_experiments(tmp_path)
    save_known_trials(store, "<script>alert(1)</script>")
    page = open_dashboard(store).get("/indexes").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_a_folder_is_shown_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_folder(tmp_path, monkeypatch)
    bench(bench_request())
    store = save_experiments(tmp_path)
    app = create_app(Access(str(store), {"swept": "swept"}))
    client = TestClient(app, base_url="http://127.0.0.1:8765")
    value = client.get("/indexes.json", params={"bench": "swept", "recall": 0.9}).json()
    assert value["winner"] == "misbehaving / rows=1500"
    assert "1,500 vectors × 8" in client.get("/indexes").text
    assert "assay select swept --floor recall=0.9" in client.get("/indexes").text
    assert "Which queries are hard" in client.get("/indexes/findings").text
