"""The page Home: what got worse, gates, slices, open work, the newest experiments."""

import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from assay.core.records import Experiment, Metric
from assay.core.tables import Scores
from assay.store.store import Store
from tests.stores import QUERIES, experiment
from tests.web.dashboards import create_annotation_project, open_dashboard, save_experiments
from tests.web.online_evidence import read_table


def test_an_empty_store_says_what_fills_it(tmp_path: Path) -> None:
    Store(tmp_path).database.close()
    page = open_dashboard(tmp_path).get("/").text
    assert "No experiment here yet" in page
    assert "assay eval QRELS RUN --save NAME" in page


def test_experiments_and_open_work_are_listed(tmp_path: Path) -> None:
    store = save_experiments(tmp_path)
    create_annotation_project(tmp_path, store)
    data = open_dashboard(store).get("/index.json").json()
    page = open_dashboard(store).get("/").text
    assert [one["name"] for one in data["experiments"]] == ["vectors", "words"]
    assert "Nothing is shown to have got worse" in page
    assert "0 of 8 labels" in page


def test_a_trend_that_fell_is_the_first_sentence(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    with Store(tmp_path) as store:
        for day, value in enumerate((0.8, 0.8, 0.8, 0.3), 1):
            values = value + 0.05 * rng.random(len(QUERIES))
            at = datetime(2026, 1, day, tzinfo=UTC)
            saved = experiment("nightly", float(values.mean()), id=f"night-{day}", at=at)
            store.put(saved, Scores(QUERIES, {"nDCG@10": values}))
    page = open_dashboard(tmp_path).get("/").text
    assert "nightly got worse" in page
    assert "worse −0.50" in page
    assert "since 2026-01-04" in page
    assert 'href="/compare?baseline=night-3&amp;candidate=night-4"' in page
    assert "baseline=night-3&amp;candidate=night-4" in open_dashboard(tmp_path).get("/experiments").text


def test_failed_gates_and_low_slices_are_shown(tmp_path: Path) -> None:
    metrics = (
        Metric("nDCG@10", "", "", 0.6, 0.5, 0.7, 100),
        Metric("nDCG@10", "category", "tail", 0.2, 0.1, 0.3, 40),
        Metric("nDCG@10", "category", "head", 0.7, 0.5, 0.8, 60),
    )
    result = {"verdict": "failed", "words": "R@10 fell"}
    with Store(tmp_path) as store:
        store.put(Experiment("release", kind="gate", metrics=metrics, result=result))
    page = open_dashboard(tmp_path).get("/").text
    assert "The gate of release failed" in page
    assert "category: tail" in page
    assert "category: head" not in page


def test_the_latest_experiments_show_the_measure_by_which_they_are_followed(tmp_path: Path) -> None:
    names = ("AP", "P@5", "R@10", "nDCG@10")
    with Store(tmp_path) as store:
        store.put(Experiment("nightly", metrics=tuple(Metric(name, "", "", 0.5) for name in names)))
        store.put(Experiment("other", metrics=(Metric("P@5", "", "", 0.5), Metric("R@10", "", "", 0.25))))
    page = open_dashboard(tmp_path).get("/").text.partition("Latest experiments")[2]
    assert re.findall('<th class="n" scope="col">(.*?)</th>', page) == ["nDCG@10", "R@10", "P@5"]
    rows = read_table(open_dashboard(tmp_path), "/index")
    assert [row[2:5] for row in rows] == [["", "0.2500", "0.5000"], ["0.5000"] * 3]
