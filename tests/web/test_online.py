"""The page Online: all tests, interleaving and metrics of a store."""

from pathlib import Path

from tests.web.dashboards import open_dashboard, save_experiments
from tests.web.online_evidence import analyse, save_interleaving, save_metrics, save_test


def test_a_store_without_online_evidence_says_what_fills_it(tmp_path: Path) -> None:
    page = open_dashboard(save_experiments(tmp_path)).get("/online").text
    assert "No online evidence here yet" in page
    assert "assay online ab EVENTS --save NAME --offline BASELINE CANDIDATE" in page


def test_tests_are_listed_with_status_sample_ratio_goal_and_units(tmp_path: Path) -> None:
    store = tmp_path / "store"
    save_test(store, "release 1", analyse())
    client = open_dashboard(store)
    (test,) = client.get("/online.json").json()["tests"]
    assert test["name"] == "release 1"
    assert test["status"] == "Ready to ship"
    row = client.get("/online.csv").text.splitlines()[1].split(",")
    assert row[:5] == ["release 1", "Ready to ship", "p 1.000", "click_through", "+5.37 %"]


def test_only_the_newest_look_at_a_test_is_listed(tmp_path: Path) -> None:
    store = tmp_path / "store"
    save_test(store, "release 1", analyse(effect=-0.05))
    newest = save_test(store, "release 1", analyse())
    tests = open_dashboard(store).get("/online.json").json()["tests"]
    assert [(test["id"], test["status"]) for test in tests] == [(newest, "Ready to ship")]


def test_interleaving_and_metrics_are_shown_with_their_n(tmp_path: Path) -> None:
    store = tmp_path / "store"
    save_interleaving(store)
    save_metrics(store)
    page = open_dashboard(store).get("/online").text
    assert "interleaved" in page
    assert "click_through over 5 points" in page
    assert "1,006" in page
    assert "missing_id: 3" in page
