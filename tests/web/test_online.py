"""The page Online: all tests, interleaving and metrics of a store."""

from pathlib import Path
from typing import Any

import pytest

from assay.core.online_records import ONLINE_METRICS
from assay.workflows.online_saving import SaveOnlineRequest, save_online
from tests.web.dashboards import open_dashboard, save_experiments
from tests.web.online_evidence import (
    DEFINITION,
    VARIANTS,
    analyse,
    read_table,
    save_interleaving,
    save_metrics,
    save_releases,
    save_test,
)


def save_log(store: Path, name: str, value: float, definition: str = DEFINITION) -> None:
    """Keep the metrics of a log without days."""
    e = {"value": value, "low": value - 0.01, "high": value + 0.01, "n": 900}
    by = [{"column": "variant", "value": v, "units": 450, "metrics": {"ctr": e}} for v in ("old", "new")]
    body: dict[str, Any] = {"metrics": {"ctr": e}, "by": by, "definitions": {"ctr": definition}}
    save_online(ONLINE_METRICS, body, SaveOnlineRequest(name=name, store=str(store)))


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
    (row,) = read_table(client, "/online")
    assert row[:4] == ["release 1", "Ready to ship", "click_through", "+5.37 %"]
    assert row[5:7] == ["p 1.000", "16,800"]


def test_only_the_newest_look_at_a_test_is_listed(tmp_path: Path) -> None:
    store = tmp_path / "store"
    save_test(store, "release 1", analyse(effect=-0.05))
    newest = save_test(store, "release 1", analyse())
    tests = open_dashboard(store).get("/online.json").json()["tests"]
    assert [(test["id"], test["status"]) for test in tests] == [(newest, "Ready to ship")]


def test_failing_tests_are_the_first_sentence(tmp_path: Path) -> None:
    store = tmp_path / "store"
    save_test(store, "good", analyse())
    save_test(store, "slow", analyse(slowdown=0.1))
    client = open_dashboard(store)
    assert "<h2>slow: Guardrails failing</h2>" in client.get("/online").text
    save_test(store, "lopsided", analyse(shares={"control": 0.5, "candidate": 0.4}))
    page = client.get("/online").text
    assert "<h2>2 tests need a decision</h2><p>lopsided: Unhealthy; slow: Guardrails failing</p>" in page


def test_metrics_are_shown_over_days_by_variant_and_with_irregular_records(tmp_path: Path) -> None:
    store = tmp_path / "store"
    save_interleaving(store)
    save_metrics(store)
    client = open_dashboard(store)
    page = client.get("/online").text
    assert "click_through over 5 points" in page
    assert DEFINITION in page
    assert read_table(client, "/online", 5) == [["missing_id", "3", "left out", "log.ndjson:7"]]
    metrics = read_table(client, "/online", 3)
    assert metrics[0][2:] == ["0.4300", "0.4200", "0.4400", "5,000"]
    assert metrics[1] == ["zero_result", "", "", "", "", "0"]
    slices = read_table(client, "/online", 4)
    assert slices == [[f"variant: {v}", "0.4200", "0.4000 to 0.4400", "2,500"] for v in VARIANTS]


def test_logs_of_one_name_are_one_series_by_variant(tmp_path: Path) -> None:
    for value in (0.3, 0.4):
        save_log(tmp_path / "store", "shop", value)
    page = open_dashboard(tmp_path / "store").get("/online").text
    assert page.count("<polyline") == 3  # two variants, and the line beside the name of the metric
    assert "data changed" not in page


def test_changed_definitions_break_the_line_and_say_so(tmp_path: Path) -> None:
    for value, definition in ((0.3, DEFINITION), (0.3, DEFINITION), (0.5, "clicks by all queries")):
        save_log(tmp_path / "store", "shop", value, definition)
    page = open_dashboard(tmp_path / "store").get("/online").text
    assert "data changed" in page
    assert ": the definition changed</p>" in page


def test_logs_of_several_names_are_chosen_from_a_list(tmp_path: Path) -> None:
    save_log(tmp_path / "store", "shop", 0.31)
    save_log(tmp_path / "store", "help", 0.62)
    client = open_dashboard(tmp_path / "store")
    assert "0.6200" in client.get("/online").text
    page = client.get("/online", params={"name": "shop"}).text
    assert "0.3100" in page
    assert "<option selected>shop</option>" in page


@pytest.mark.parametrize("parameters", [{"metric": "no such"}, {"name": "no such"}])
def test_a_metric_that_is_not_there_is_replaced_by_the_first(
    tmp_path: Path, parameters: dict[str, str]
) -> None:
    save_metrics(tmp_path / "store")
    assert (
        "click_through over 5 points"
        in open_dashboard(tmp_path / "store").get("/online", params=parameters).text
    )


def test_what_offline_predicts_is_said_in_short(tmp_path: Path) -> None:
    save_releases(tmp_path / "store")
    assert "nDCG@10 predicts the online difference" in open_dashboard(tmp_path / "store").get("/online").text
