"""The page Compare: measures and slices, and the queries by the size of their difference."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.web.dashboards import open_dashboard, save_experiments

PAIR = {"baseline": "words", "candidate": "vectors"}


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    return open_dashboard(save_experiments(tmp_path))


def test_without_experiments_it_says_where_to_choose_them(client: TestClient) -> None:
    assert "Tick two or more experiments" in client.get("/compare").text
    assert client.get("/compare.json").json() == {"candidates": []}


def test_differences_are_shown_by_measure_and_slice(client: TestClient) -> None:
    page = client.get("/compare", params={**PAIR, "by": "category"}).text
    assert "category: a" in page
    assert "+0.5000" in page
    assert "assay experiments compare" in page


def test_queries_are_filtered_and_link_to_the_query(client: TestClient) -> None:
    better = client.get("/compare", params={**PAIR, "show": "better"}).text
    worse = client.get("/compare", params={**PAIR, "show": "worse"}).text
    assert 'data-href="/queries/q0?experiment=' in better
    assert "reset 0" in better
    assert 'data-href="/queries/' not in worse


def test_an_unknown_experiment_is_an_error_that_names_it(client: TestClient) -> None:
    response = client.get("/compare.json", params={"baseline": "words", "candidate": "pictures"})
    assert response.status_code == 400
    assert "there is no experiment 'pictures'" in response.json()["error"]


def test_experiments_of_one_name_are_told_apart_by_their_dates(tmp_path: Path) -> None:
    store = save_experiments(tmp_path)
    save_experiments(tmp_path)
    client = open_dashboard(store)
    experiments = client.get("/experiments.json").json()["experiments"]
    second, first = (e["id"] for e in experiments if e["name"] == "words")
    date = f'<span class="faint small">{experiments[0]["at"][:10]} '
    assert client.get("/compare", params={"baseline": first, "candidate": second}).text.count(date) == 2
    assert date not in client.get("/compare", params=PAIR).text
