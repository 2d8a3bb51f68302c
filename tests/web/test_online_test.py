"""The page of one A/B test: the sample ratio first, then guardrails, metrics, time and slices."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.web.dashboards import open_dashboard, save_experiments
from tests.web.online_evidence import analyse, read_table, save_test


def open_test(folder: Path, *, at: str = "t", **options: Any) -> TestClient:
    """Keep a test by the name `t`, and return a client of its dashboard."""
    save_test(folder / "store", at, analyse(**options))
    return open_dashboard(folder / "store")


def edited(**fields: Any) -> dict[str, Any]:
    """Return the JSON of a test with other values in some fields."""
    body: dict[str, Any] = json.loads(json.dumps(analyse(days=2).to_dict()))
    return {**body, **fields}


def test_the_sample_ratio_comes_before_guardrails_and_metrics(tmp_path: Path) -> None:
    page = open_test(tmp_path).get("/online/tests/t").text
    places = [page.index(f"<h2>{title}") for title in ("Sample ratio", "Guardrails", "Metrics", "Over time")]
    assert places == sorted(places)
    assert "The sample ratio holds: candidate 8,400, control 8,400" in page


def test_a_wrong_sample_ratio_is_said_with_the_missing_units(tmp_path: Path) -> None:
    page = open_test(tmp_path, shares={"control": 0.5, "candidate": 0.45}).get("/online/tests/t").text
    assert "<h2>Unhealthy</h2>" in page
    assert page.count("not to be trusted: see the status above") == 2
    assert page.count(">not trusted<") == 5  # three metrics and two slices
    assert ">better<" not in page
    assert "The sample ratio is wrong: candidate 7,560, control 8,400 instead of" in page
    assert "candidate: 420 missing (5.3 %)" in page


def test_guardrails_hold_within_their_margin_and_are_breached_beyond_it(tmp_path: Path) -> None:
    client = open_test(tmp_path)
    save_test(tmp_path / "store", "slow", analyse(slowdown=0.1))
    rows = [read_table(client, f"/online/tests/{name}", 2)[0] for name in ("t", "slow")]
    assert [row[3] for row in rows] == ["holds", "breached"]
    assert "margin 5 %" in rows[0][0]


def test_metrics_are_relative_to_the_control_with_interval_p_and_n(tmp_path: Path) -> None:
    rows = read_table(open_test(tmp_path), "/online/tests/t", 3)
    (goal,) = (row for row in rows if row[0] == "click_through")
    assert goal[1:4] == ["+5.37 %", "+2.92 % to +7.82 %", "better"]
    assert goal[-2:] == ["16,800", "Welch, always valid"]


def test_intervals_over_time_are_those_of_all_units_until_each_day(tmp_path: Path) -> None:
    client = open_test(tmp_path, days=3)
    page = client.get("/online/tests/t").text
    assert "all units until each day, always-valid intervals" in page
    rows = read_table(client, "/online/tests/t", 4)
    assert [(row[0], row[-1]) for row in rows] == [
        ("2026-03-01", "1,200"),
        ("2026-03-02", "2,400"),
        ("2026-03-03", "3,600"),
    ]


def test_another_metric_is_chosen_for_time_and_slices(tmp_path: Path) -> None:
    page = open_test(tmp_path).get("/online/tests/t", params={"metric": "reformulation"}).text
    assert "relative difference of reformulation over 14 points" in page
    assert "<option selected>reformulation</option>" in page
    assert "reformulation by device: no difference of the effect is shown" in page


def test_saved_looks_are_shown_over_time_if_the_test_has_no_days(tmp_path: Path) -> None:
    body = edited(over_time=[], days=[])
    ids = [save_test(tmp_path / "store", "t", body) for _ in range(3)]
    page = open_dashboard(tmp_path / "store").get("/online/tests/t").text
    assert "relative difference of click_through over 3 points" in page
    assert all(f'href="/online/tests/{record}"' in page for record in ids)
    first = open_dashboard(tmp_path / "store").get(f"/online/tests/{ids[0]}").text
    assert "One look only" in first


def test_a_running_test_says_how_many_units_and_days_are_missing(tmp_path: Path) -> None:
    progress = {
        "n": 1200,
        "planned_n": 3000,
        "fraction": 0.4,
        "units_left": 1800,
        "days_left": 3,
        "basis": "plan",
    }
    save_test(tmp_path / "store", "t", edited(status="3 days left", progress=progress))
    page = open_dashboard(tmp_path / "store").get("/online/tests/t").text
    assert "<h2>3 days left</h2>" in page
    assert "1,200 of 3,000 units, 1,800 missing, 3 days left" in page


def test_phases_are_listed_with_their_shares(tmp_path: Path) -> None:
    phases = [
        {"first": "2026-03-01", "last": "2026-03-03", "observed": {"control": 900, "candidate": 100}},
        {"first": "2026-03-04", "last": "2026-03-09", "observed": {"control": 500, "candidate": 500}},
    ]
    save_test(tmp_path / "store", "t", edited(phases=phases))
    page = open_dashboard(tmp_path / "store").get("/online/tests/t").text
    assert "<h2>Phases</h2>" in page
    assert "90.0 %" in page


def test_what_is_undefined_is_a_dash(tmp_path: Path) -> None:
    body = edited()
    unknown = {"value": None, "low": None, "high": None, "n": 0}
    row = body["metrics"][0] | {"relative": unknown, "difference": unknown, "control": unknown}
    row |= {"corrected_p": None, "direction": None, "treatment": unknown, "reason": "no values"}
    save_test(tmp_path / "store", "t", {**body, "metrics": [row], "verdicts": [], "over_time": []})
    page = open_dashboard(tmp_path / "store").get("/online/tests/t").text
    (cells,) = re.findall('<th scope="row" class="stick">click_through.*?</tr>', page)
    assert cells.count("–</") == 5  # the difference, its interval, both values and p
    assert "no values" in cells


@pytest.mark.parametrize("body", [{}, {"status": "No data", "srm": {}, "metrics": []}])
def test_a_test_without_data_is_a_page(tmp_path: Path, body: dict[str, Any]) -> None:
    save_test(tmp_path / "store", "t", body)
    page = open_dashboard(tmp_path / "store").get("/online/tests/t").text
    assert "<h2>No data</h2>" in page
    assert "No metric could be compared." in page


def test_tests_and_their_offline_experiments_link_to_each_other(tmp_path: Path) -> None:
    store = save_experiments(tmp_path)
    test = save_test(store, "t", analyse(days=2), "words", "vectors")
    client = open_dashboard(store)
    page = client.get("/online/tests/t").text
    experiment = client.get("/experiments/vectors.json").json()
    assert f'href="/experiments/{experiment["id"]}"' in page
    assert "Compare offline" in page
    system = re.search('data-sys="(.)"><svg.*?</svg>vectors', page)
    assert system is not None
    assert re.search(f'class="key" data-sys="{system[1]}"><svg.*?</svg>candidate', page)
    assert [(one["id"], one["role"]) for one in experiment["online"]] == [(test, "candidate")]
    assert f'href="/online/tests/{test}"' in client.get("/experiments/vectors").text


def test_a_name_with_a_slash_has_a_page_and_an_unknown_one_is_an_error(tmp_path: Path) -> None:
    client = open_test(tmp_path, at="team/release 1", days=2)
    assert client.get("/online/tests/team/release 1").status_code == 200
    assert client.get("/online/tests/team/release 1.json").json()["name"] == "team/release 1"
    assert client.get("/online/tests/team").status_code == 400
