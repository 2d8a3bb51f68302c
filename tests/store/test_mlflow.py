"""Experiments become runs of MLflow."""

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assay.core.errors import MissingExtraError, StoreError
from assay.core.records import Experiment, Metric
from assay.store.mlflow import ExportCounts, clean_name, clean_names, export_mlflow, metric_values
from assay.store.store import Store
from tests.stores import experiment, scores


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of an MLflow that keeps its runs in files."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    return mlflow.MlflowClient(tracking_uri=(tmp_path / "runs").as_uri())


def runs(client: Any, name: str = "search") -> list[Any]:
    return list(client.search_runs([client.get_experiment_by_name(name).experiment_id]))


def test_an_experiment_becomes_a_run(tmp_path: Path, client: Any) -> None:
    with Store(tmp_path / "a") as store:
        made = store.put(experiment(), scores())
        assert export_mlflow(store, client.tracking_uri, "search") == ExportCounts(1, 0)
    run = runs(client)[0]
    assert run.info.run_name == "hnsw"
    assert run.info.start_time == made.at.timestamp() * 1000
    assert run.data.metrics["ndcg_at_10"] == 0.4
    assert run.data.metrics["category/faq/recall_at_10"] == pytest.approx(0.7)
    assert run.data.metrics["latency_p95_ms"] == 12.5
    assert run.data.metrics["cost_per_1k_queries"] == 0.3
    params = {"index_type": "hnsw", "top_k": "10", "hnsw.ef": "64", "exact": "false"}
    assert run.data.params == params
    assert run.data.tags["mlflow.note.content"] == "a note"
    assert run.data.tags["assay.tags"] == "nightly"
    assert run.data.tags["assay.digest.scores"] == scores().digest


def test_the_scores_of_each_query_are_an_artifact(tmp_path: Path, client: Any) -> None:
    with Store(tmp_path / "a") as store:
        store.put(experiment(), scores())
        export_mlflow(store, client.tracking_uri, "search")
    path = client.download_artifacts(runs(client)[0].info.run_id, "scores.parquet", str(tmp_path))
    assert pl.read_parquet(path)["R@10"].to_list() == scores()["R@10"].tolist()


def test_a_second_export_does_not_repeat(tmp_path: Path, client: Any) -> None:
    with Store(tmp_path / "a") as store:
        store.put(experiment("a"))
        assert export_mlflow(store, client.tracking_uri, "search") == ExportCounts(1, 0)
        store.put(experiment("b"))
        assert export_mlflow(store, client.tracking_uri, "search") == ExportCounts(1, 1)
    assert sorted(run.info.run_name for run in runs(client)) == ["a", "b"]


def test_a_filter_chooses_what_goes_to_mlflow(tmp_path: Path, client: Any) -> None:
    with Store(tmp_path / "a") as store:
        store.put(experiment("a"))
        store.put(experiment("b"))
        assert export_mlflow(store, client.tracking_uri, "search", "name = 'b'") == ExportCounts(1, 0)


def test_more_than_mlflow_takes_at_once_goes_in_parts(tmp_path: Path, client: Any) -> None:
    many = {f"p{number}": number for number in range(250)}
    with Store(tmp_path / "a") as store:
        store.put(Experiment("many", configuration={**many, "long": "x" * 7000}))
        export_mlflow(store, client.tracking_uri, "search")
    assert len(runs(client)[0].data.params) == 251


def test_a_server_that_is_not_there_is_told(tmp_path: Path, client: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with Store(tmp_path / "a") as store, pytest.raises(StoreError, match="MLflow at http://127"):
        export_mlflow(store, "http://127.0.0.1:9", "search")


def test_without_mlflow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with Store(tmp_path / "a") as store, pytest.raises(MissingExtraError, match=r"assay-search\[mlflow\]"):
        export_mlflow(store, "sqlite:///m.db", "search")


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("nDCG(gain='exp')@10", "nDCG_gain__exp__at_10"), ("größe/a b", "gr__e/a b"), ("@", "at"), ("///", "_")],
)
def test_names_are_cleaned_to_what_mlflow_allows(name: str, allowed: str) -> None:
    assert clean_name(name) == allowed


def test_two_names_that_look_alike_once_clean_stay_two() -> None:
    assert clean_names({"a(1)": 1, "a[1]": 2}) == {"a_1": 1, "a_1_2": 2}


def test_what_is_undefined_is_left_out() -> None:
    assert metric_values(
        Experiment("a", metrics=(Metric("AP", "", "", None), Metric("R@5", "", "", 0.5)))
    ) == {"recall_at_5": 0.5}
