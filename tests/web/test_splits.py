"""A service fetches the signed splits of a real server: it obeys a rollback, and outlives the server."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.rollout.served_splits import SplitSource
from assay.rollout.split_client import SplitClient
from tests.rollout.logs import NAME, act, start
from tests.web.browser import run_server
from tests.web.dashboards import open_dashboard

KEY = "a key for the tests only"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A rollout at its A/B test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_SPLITS_KEY", KEY)
    for name in ("ASSAY_TOKEN", "ASSAY_SPLITS_FILE"):
        monkeypatch.delenv(name, raising=False)
    store = start(tmp_path)
    act(store, "advance")
    return store


def wait_for(condition: Callable[[], bool]) -> bool:
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_a_service_obeys_a_rollback_and_outlives_the_server(store: str, tmp_path: Path) -> None:
    source = SplitSource(tmp_path / "splits.json", KEY, refresh_seconds=0)

    def arms() -> set[str]:
        split = source.split(NAME)
        return {split.assign(f"user-{n}").arm for n in range(50)} if split else set()

    with run_server(store) as (process, address):
        client = SplitClient(f"{address}/splits", source, KEY, seconds=0.1).start()
        try:
            assert arms() == {"control", "treatment"}
            act(store, "rollback", reason="slow")
            assert wait_for(lambda: arms() == {"control"})
            process.terminate()
            process.wait(20)
            assert wait_for(lambda: "refused" in client.problem or "Connection" in client.problem)
            assert arms() == {"control"}
        finally:
            client.close()


def test_unchanged_splits_are_not_sent_again(store: str) -> None:
    dashboard = open_dashboard(Path(store))
    mark = dashboard.get("/splits").headers["ETag"]
    assert dashboard.get("/splits", headers={"If-None-Match": mark}).status_code == 304
    act(store, "hold")
    assert dashboard.get("/splits", headers={"If-None-Match": mark}).status_code == 200


def test_without_a_key_nothing_is_given_out(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_SPLITS_KEY")
    response = open_dashboard(Path(store)).get("/splits", headers={"accept": "application/json"})
    assert response.status_code == 400
    assert "ASSAY_SPLITS_KEY must have the key" in response.json()["error"]


def test_metrics_are_text_that_prometheus_reads(store: str) -> None:
    response = open_dashboard(Path(store)).get("/metrics")
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert f'assay_rollout_coverage_ratio{{rollout="{NAME}"}} 0.5' in response.text
