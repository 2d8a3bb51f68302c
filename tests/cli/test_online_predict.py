"""assay online predict: from a store or a table to tables, JSON, CSV and exit codes."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from assay.cli import call
from assay.store.store import Store
from tests.online.interleaving.logs import click, query, write_log
from tests.online.planted_tests import TEXTS, Planted

OFFLINE = [0.01, 0.03, 0.05, 0.02, 0.06, 0.04]
ONLINE = [-0.05, 0.06, 0.1, 0.04, 0.12, 0.08]  # the first won offline and lost online
PLANTED = Planted({"nDCG@10": OFFLINE, "R@10": OFFLINE[::-1]}, ONLINE, judged_days_before=200)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with six A/B tests; only to be read."""
    folder = tmp_path_factory.mktemp("predict") / "store"
    with Store(folder) as opened:
        PLANTED.save(opened)
    return str(folder)


def test_json_has_the_measures_the_best_and_the_reversals(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["online", "predict", "--store", store, "--format", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [*result] == ["tests", "least_tests", "measures", "best", "pairs", "reversals", "skipped"]
    assert (result["tests"], len(result["pairs"])) == (6, 12)
    assert result["best"]["measure"] == "nDCG@10"
    (entry,) = result["reversals"]
    statuses = {suspect["name"]: suspect["status"] for suspect in entry["suspects"]}
    assert [name for name, status in statuses.items() if status == "yes"] == ["stale_labels"]


def test_the_table_warns_of_the_reversal_with_its_suspects(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["online", "predict", "--store", store]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "nDCG@10 has the highest correlation of 2 measures over 6 tests" in out
    assert "warning: t0 won offline (nDCG@10 " in out
    assert "and lost online (−5.00 %, −6.00 % … −4.00 %)" in out
    assert "stale labels: likely: half of the 60 judgments were older than 200 days (limit 90)" in out
    assert "changed corpus: not supported: baseline and candidate and dataset have the same documents" in out


def test_csv_is_a_table_that_the_command_reads(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["online", "predict", "--store", store, "--format", "csv"]) == 0
    table = tmp_path / "past.csv"
    table.write_text(capsys.readouterr().out)
    assert len([*csv.DictReader(table.read_text().splitlines())]) == 12
    assert call(["online", "predict", "--store", store, "--format", "json"]) == 0
    of_store = json.loads(capsys.readouterr().out)
    assert call(["online", "predict", str(table), "--format", "json"]) == 0
    of_table = json.loads(capsys.readouterr().out)
    assert of_table["measures"] == of_store["measures"]
    assert call(["online", "predict", str(table), "-m", "R@10"]) == 0
    assert "a table says nothing of labels" in capsys.readouterr().out


def test_too_few_tests_are_exit_code_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(tmp_path / "store") as opened:
        replace(PLANTED, offline={"nDCG@10": OFFLINE[:2]}, online=ONLINE[:2]).save(opened)
    assert call(["online", "predict", "--store", f"{tmp_path}/store"]) == 3
    out = " ".join(capsys.readouterr().out.split())
    assert "cannot be decided: 2 tests have both differences, and 5 are the least" in out
    assert "warning: t0 won offline" in out


def test_tests_without_experiments_are_named_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store(tmp_path / "store") as opened:
        opened.save_ab_test("title boost", {"metrics": []}, {})
    assert call(["online", "predict", "--store", f"{tmp_path}/store"]) == 3
    out = " ".join(capsys.readouterr().out.split())
    assert "cannot be decided: 0 tests have both differences" in out
    assert (
        "title boost is left out: it has no relative difference of this metric, or several candidates" in out
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["nothere.csv"], "nothere.csv: cannot be read"),
        (["ab.csv"], "ab.csv:1: expected the columns test, measure, offline, online; found a, b"),
        (["--store", "nothere"], "nothere"),
        (["--level", "3"], "--level expects a number between 0 and 1, found 3"),
        (["-m", "nGCD@10"], "nGCD"),
    ],
)
def test_wrong_use_is_exit_code_2(
    options: list[str],
    message: str,
    store: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ab.csv").write_text("a,b\n1,2\n")
    argv = options if "--store" in options else [*options, "--store", store]
    assert call(["online", "predict", *argv]) == 2
    assert message in capsys.readouterr().err


def test_saved_online_metrics_keep_the_searches_that_suspects_are_checked_against(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [*TEXTS[:20] * 6, "vpn", " "]
    records = [{**query(f"q{n}", f"u{n}", None), "user_query": text} for n, text in enumerate(texts)]
    write_log(tmp_path / "log.ndjson", [*records, click("q0", "a")])
    with Store(tmp_path / "store") as opened:
        replace(PLANTED, searches={}).save(opened)
    log = ["online", "metrics", f"{tmp_path}/log.ndjson", "-m", "ctr"]
    assert call([*log, "--save", "fortnight", "--store", f"{tmp_path}/store"]) == 0
    capsys.readouterr()
    assert call(["online", "predict", "--store", f"{tmp_path}/store"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "to have the shares of the searches of fortnight" in out
    assert "99 % of the searches are judged queries" in out
