"""assay online plan: what it prints, and its exit codes."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from assay.cli import call as run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [f"u{i},2026-01-{1 + i // 50:02d},{i % 5 == 0:d},{i % 7}" for i in range(350)]
    Path("units.csv").write_text("unit_id,day,clicked,visits\n" + "\n".join(rows) + "\n")
    return tmp_path


def call(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["online", "plan", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def call_json(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    code, out, err = call(capsys, *argv, "--format", "json")
    assert (code, err) == (0, "")
    body: dict[str, Any] = json.loads(out)
    return body


def test_units_before_a_test_need_no_variant(capsys: pytest.CaptureFixture[str]) -> None:
    body = call_json(capsys, "units.csv", "--mde", "10%", "--mde", "0.05")
    clicked, visits = body["metrics"]
    assert (clicked["metric"], clicked["baseline"]["value"], clicked["baseline"]["n"]) == (
        "clicked",
        0.2,
        350,
    )
    assert clicked["deviation"] == pytest.approx(0.4)
    assert [effect["absolute"] for effect in clicked["effects"]] == pytest.approx([0.02, 0.05])
    assert body["units_by_day"] == [50.0] * 7
    assert clicked["effects"][0]["days"] == -(-clicked["effects"][0]["n"] // 50)
    assert [d["days"] for d in visits["durations"]] == [7, 14, 21, 28]


def test_a_baseline_is_typed(capsys: pytest.CaptureFixture[str]) -> None:
    body = call_json(capsys, "--baseline", "0.2", "--mde", "10%", "--units-per-day", "50")
    (metric,) = body["metrics"]
    assert metric["baseline"] == {"value": 0.2, "low": None, "high": None, "n": 0}
    assert metric["effects"][0]["n"] == pytest.approx(12_560, abs=5)
    assert metric["effects"][0]["days"] == 252


def test_sums_are_the_past_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    body = {"variants": [{"name": "all", "n": 5000, "metrics": {"ctr": {"sum": 1000}}}]}
    Path("sums.json").write_text(json.dumps(body))
    (metric,) = call_json(capsys, "sums.json", "--looks", "5", "--units", "5000")["metrics"]
    assert (metric["baseline"]["n"], metric["durations"][0]["n"]) == (5000, 5000)


@pytest.mark.parametrize("style", ["table", "md", "html", "latex", "csv"])
def test_every_format_has_the_units(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "--baseline", "0.2", "--mde", "10%", "--format", style)
    assert code == 0
    if style == "csv":
        (row,) = csv.DictReader(io.StringIO(out))
        assert (row["metric"], row["effect"], row["is_relative"]) == ("metric", "0.1", "true")
    else:
        assert "12,55" in out or "12,56" in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "expected past data (a log, units or sums) or --baseline VALUE, found neither"),
        (["units.csv", "--baseline", "0.1"], "or --baseline VALUE, found both"),
        (["--baseline", "3"], "--deviation"),
        (["units.csv", "--mde", "0%"], "--mde expects a difference above 0"),
        (["units.csv", "--metric", "click"], "there is no column click"),
        (["units.csv", "--looks", "3", "--watch"], "found both"),
    ],
)
def test_wrong_use_says_what_to_do(argv: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, *argv)
    assert (code, out) == (2, "")
    assert message in err


def test_a_metric_that_does_not_vary_cannot_be_planned(capsys: pytest.CaptureFixture[str]) -> None:
    Path("same.csv").write_text("unit_id,x\na,1\nb,1\nc,1\n")
    code, out, _ = call(capsys, "same.csv")
    assert code == 3
    assert "the spread of units is unknown" in out
