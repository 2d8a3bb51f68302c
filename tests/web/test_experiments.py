"""The table of experiments: columns, order, groups, the pinned baseline, saved filters and the trend."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from assay.core.tables import Scores
from assay.store.store import Store
from tests.stores import QUERIES, experiment
from tests.web.dashboards import open_dashboard, token_of

START = datetime(2026, 1, 1, tzinfo=UTC)
VALUES = {"base": 0.5, "high": 0.8, "low": 0.2, "equal": 0.5}


def save_rows(folder: Path) -> Path:
    """Save a baseline, which is pinned, a better and a worse system, and one with other judgments."""
    noise = 0.02 * np.random.default_rng(0).random(len(QUERIES))
    with Store(folder) as store:
        for place, (name, value) in enumerate(VALUES.items()):
            values = value + noise
            saved = experiment(
                name,
                round(float(values.mean()), 4),
                id=f"{name}-id",
                at=START + timedelta(days=place),
                configuration={"ef": 16 * (place + 1), "model": "e5"},
                latency={"p95_ms": 10.0 - place},
                tags=("nightly",) if place % 2 else (),
                policy={"ties": "id", "missing": "0", "formulas": "1"},
                digests={"qrels": ("b" if name == "equal" else "a") * 64},
            )
            store.put(saved, Scores(QUERIES, {"nDCG@10": values}))
        store.annotate("base-id", pinned=True)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return save_rows(tmp_path)


@pytest.fixture
def client(store: Path) -> TestClient:
    client = open_dashboard(store)
    client.headers.update(token_of(client))
    return client


def names(client: TestClient, **parameters: str) -> list[str]:
    data = client.get("/experiments.json", params=parameters).json()
    return [one["name"] for one in data["experiments"]]


def test_the_pinned_baseline_is_first_and_the_others_differ_from_it(client: TestClient) -> None:
    page = client.get("/experiments").text
    assert re.findall(r'<tr data-href="/experiments/(\w+)-id"', page) == ["base", "equal", "low", "high"]
    data = client.get("/experiments.json").json()
    assert data["baseline"]["name"] == "base"
    states = {name: one["state"] for name, one in data["differences"].items()}
    assert states == {"high-id": "better", "low-id": "worse", "equal-id": None}
    assert "not comparable" in page
    assert data["differences"]["high-id"]["difference"]["value"] == pytest.approx(0.3)


def test_the_verdict_is_that_of_the_corrected_comparison(client: TestClient) -> None:
    parameters = {"baseline": "base-id", "candidate": ["high-id", "low-id"]}
    compared = client.get("/compare.json", params=parameters).json()
    rows = {one["name"]: one["comparisons"][0] for one in compared["candidates"]}
    shown = client.get("/experiments.json").json()["differences"]
    for name in ("high", "low"):
        assert shown[f"{name}-id"] == rows[name]


def test_rows_are_sorted_by_any_figure(client: TestClient) -> None:
    assert names(client, sort="nDCG@10", baseline="none") == ["high", "equal", "base", "low"]
    assert names(client, sort="latency.p95_ms", baseline="none") == ["equal", "low", "high", "base"]
    assert names(client, sort="params.ef", reverse="true", baseline="none")[0] == "equal"
    assert (
        "no experiment has RR@7" in client.get("/experiments.json", params={"sort": "RR@7"}).json()["error"]
    )


def test_columns_are_chosen_or_those_that_differ(client: TestClient) -> None:
    chosen = client.get("/experiments.json", params={"column": ["latency.p95_ms", "R@10"]}).json()
    assert chosen["columns"] == ["latency.p95_ms", "R@10"]
    assert {"nDCG@10", "params.ef", "figures.cost_per_1k_queries"} <= set(chosen["available_columns"])
    differing = client.get("/experiments.json", params={"differences": "true"}).json()["columns"]
    assert "params.ef" in differing
    assert "params.model" not in differing


def test_rows_are_grouped_by_a_tag_or_a_setting(client: TestClient) -> None:
    page = client.get("/experiments", params={"group": "tag", "baseline": "none"}).text
    assert re.findall(r'class="stick">(\w+) <span class="faint">(\d)', page) == [
        ("nightly", "2"),
        ("none", "2"),
    ]
    by_setting = client.get("/experiments.json", params={"group": "params.ef"}).json()["groups"]
    assert by_setting == {"high-id": "32", "low-id": "48", "equal-id": "64"}
    assert client.get("/experiments.json", params={"group": "colour"}).status_code == 400


def test_a_page_holds_its_rows_and_names_the_next(client: TestClient) -> None:
    first = client.get("/experiments", params={"baseline": "none", "limit": 2}).text
    assert "offset=2" in first
    assert names(client, baseline="none", limit="2", offset="2") == ["high", "base"]
    assert client.get("/experiments.json", params={"limit": 100_000}).status_code == 400


def test_the_trend_of_a_series_breaks_where_the_data_changed(client: TestClient, store: Path) -> None:
    with Store(store) as opened:
        for day in range(4):
            saved = experiment(
                "series", 0.4, at=START + timedelta(days=day), digests={"qrels": str(day // 2) * 64}
            )
            opened.put(saved, Scores(QUERIES, {"nDCG@10": np.full(len(QUERIES), 0.4)}))
    page = client.get("/experiments", params={"series": "series"}).text
    assert "nDCG@10 of series" in page
    assert "1 break: the data changed" in page
    assert page.count('<polyline class="ln"') == 2


def test_a_filter_is_saved_opened_and_removed(client: TestClient) -> None:
    form = {"name": "<b>Nightly</b>", "address": "where=tag+%3D+%27nightly%27"}
    client.post("/experiments/filters", data=form)
    page = client.get(f"/experiments?{form['address']}").text
    assert "&lt;b&gt;Nightly" in page
    assert "<b>Nightly" not in page
    assert re.search(r'href="/experiments\?where=tag[^"]*" aria-current="true"', page)
    client.post("/experiments/filters", data={**form, "remove": "true"})
    assert "Nightly&lt;" not in client.get("/experiments").text
    assert client.post("/experiments/filters", data={"name": " "}).status_code == 400


def test_no_match_is_told_from_an_empty_store(client: TestClient, tmp_path: Path) -> None:
    page = client.get("/experiments", params={"where": "name = 'x'", "baseline": "none"}).text
    assert "No experiment matches the filter" in page
    Store(tmp_path / "empty").database.close()
    assert "No experiment here yet" in open_dashboard(tmp_path / "empty").get("/experiments").text


def test_all_rows_are_exported_with_intervals(client: TestClient) -> None:
    response = client.get("/experiments.csv", params={"limit": 1, "column": "R@10"})
    assert response.headers["content-type"].startswith("text/csv")
    head, *rows = response.text.splitlines()
    assert head == "id,name,at,kind,tags,pinned,note,R@10,R@10 low,R@10 high,R@10 n"
    assert len(rows) == 4
