"""assay online metrics: from a log to JSON, tables, exit codes and the store."""

import csv
import json
from pathlib import Path

import pytest

from assay.cli import call
from assay.online.telemetry import EventClient, FileSink
from assay.store.store import Store

FEW = ["-m", "ctr", "-m", "mrr"]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A log of four users, half of whom click."""
    monkeypatch.chdir(tmp_path)
    with EventClient(FileSink("log.ndjson")) as client:
        for number in range(4):
            user = f"u{number}"
            query_id = client.query("vpn", client_id=user, hit_ids=["a", "b"], variant="AB"[number % 2])
            if number % 2:
                client.event("click", query_id=query_id, client_id=user, object_id="b", rank=2)
    with open("log.ndjson", "a") as file:
        file.write('{"action_na')
    return "log.ndjson"


def test_json_has_the_documented_keys(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["online", "metrics", log, *FEW, "--by", "variant", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert [*result["metrics"]] == ["ctr", "mrr"]
    assert [*result["metrics"]["ctr"]] == ["value", "low", "high", "n"]
    assert (result["metrics"]["ctr"]["value"], result["metrics"]["ctr"]["n"]) == (0.5, 4)
    counts = {"queries": 4, "events": 2, "clients": 4, "sessions": 0, "units": 4}
    assert {name: result["counts"][name] for name in counts} == counts
    (problem,) = result["problems"]
    assert (problem["kind"], problem["count"]) == ("not JSON", 1)
    assert problem["example"] == 'log.ndjson:7: {"action_na'
    assert [part["value"] for part in result["by"]] == ["A", "B"]
    assert err == ""


def test_the_table_says_what_was_computed_and_what_was_odd(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["online", "metrics", log]) == 0
    out = capsys.readouterr().out
    assert "4 queries, 2 events, 4 clients, 0 sessions; intervals are over 4 units (client)" in out
    assert "dwell leaves out 2 censored clicks" in out
    assert "the log names no sessions: they were split after 30 minutes" in out
    assert "completion: the log has no such action" in out
    assert "not JSON      1  left out   log.ndjson:7" in out


def test_csv_has_a_row_for_each_metric_and_slice(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["online", "metrics", log, *FEW, "--by", "day", "--format", "csv"]) == 0
    rows = [*csv.DictReader(capsys.readouterr().out.splitlines())]
    assert [(row["metric"], row["column"]) for row in rows] == [
        (metric, column) for column in ("", "day") for metric in ("ctr", "mrr")
    ]


def test_metrics_are_kept_in_the_store(log: str, tmp_path: Path) -> None:
    place = str(tmp_path / "store")
    assert call(["online", "metrics", log, *FEW, "--save", "week 1", "--store", place]) == 0
    with Store(place) as store:
        (record,) = store.online_metrics()
    assert record.name == "week 1"
    assert record.body["metrics"]["ctr"]["value"] == 0.5


def test_the_log_of_the_project_needs_no_file(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("assay.toml").write_text('[online.events]\npaths = "log.ndjson"\n')
    assert call(["online", "metrics", "-m", "ctr", "--bots", "off", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["queries"] == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["absent.ndjson"], "absent.ndjson: cannot be read: No such file or directory"),
        ([], "expected a log of events"),
        (["log.ndjson", "-m", "ctrr"], "there is no online metric 'ctrr'; did you mean ctr?"),
        (
            ["log.ndjson", "--by", "varient"],
            "--by: there is no column varient of a query; did you mean variant?",
        ),
        (["log.ndjson", "--column", "qid"], "--column expects NAME=COLUMN"),
        (["log.ndjson", "--column", "clientid=x"], "did you mean client_id?"),
        (["log.ndjson", "--bots", "some"], "bot rules are off, default, or some of queries_per_day=N"),
        (["log.ndjson", "--level", "95"], "--level must be between 0 and 1, found 95"),
        (["log.ndjson", "--winsorise", "99"], "--winsorise expects a quantile between 0.5 and 1"),
        (["--url", "duckdb://log.ndjson"], "--url needs --queries-table, --events-table or both"),
    ],
)
def test_wrong_use_is_exit_code_2(
    log: str, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert call(["online", "metrics", *options]) == 2
    assert message in capsys.readouterr().err


def interrupt(*_: object) -> None:
    """Fail as a query of DuckDB does that Ctrl-C interrupts."""
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as error:
        raise RuntimeError("Query interrupted") from error


def test_ctrl_c_ends_a_query_of_the_database(
    log: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.online.units.fetch_rows", interrupt)
    assert call(["online", "metrics", log]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_ctrl_c_ends_the_sums_of_units(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "units.csv"
    path.write_text("unit_id,variant,x\na,control,1\n")
    monkeypatch.setattr("assay.online.ab.unit_sums.choose_columns", interrupt)
    assert call(["online", "ab", str(path)]) == 130
    assert capsys.readouterr().err == "interrupted\n"
