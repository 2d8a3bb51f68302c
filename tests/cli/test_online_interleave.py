"""assay online interleave: from logs and tables to JSON, tables, exit codes and the store."""

import csv
import json
from pathlib import Path

import pytest

from assay.cli import call
from assay.store.store import Store
from assay.workflows.simulated_traffic import TrafficRequest, write_traffic
from tests.online.interleaving.logs import click, query, write_log

KEYS = ["method", "queries", "baseline", "candidate", "users", "wins", "losses", "ties", "preference"]
KEYS += ["win_share", "p", "corrected_p", "test", "tests", "winner", "rankers", "counts", "problems"]


@pytest.fixture(scope="module")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The help centre's traffic: an A/B test, and users of interleaved lists."""
    folder = tmp_path_factory.mktemp("traffic")
    write_traffic(TrafficRequest(folder=str(folder), users=300, interleaved_users=300, dirt=0.01))
    return folder


@pytest.fixture
def few(tmp_path: Path) -> str:
    return write_log(tmp_path / "few.ndjson", [query("q1"), click("q1", "b")])


def test_json_has_the_documented_keys(traffic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["online", "interleave", f"{traffic}/interleaved.ndjson", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert [*result] == KEYS
    assert (result["baseline"], result["candidate"], result["winner"]) == (
        "baseline",
        "candidate",
        "candidate",
    )
    assert result["users"] == result["wins"] + result["losses"] + result["ties"]
    assert result["preference"]["n"] == result["users"]
    assert err == ""


def test_the_table_names_the_winner_and_the_irregularities(
    traffic: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = f"{traffic}/interleaved.ndjson"
    assert call(["online", "interleave", log, "--beside-ab", f"{traffic}/ab_test.ndjson"]) == 0
    out = capsys.readouterr().out
    assert "users prefer candidate (p < 0.001)" in out
    assert "A/B           clicks per query" in out
    assert "click on a shared or filled rank" in out
    assert "not JSON" in out


def test_csv_has_one_row_for_each_candidate(traffic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["online", "interleave", f"{traffic}/interleaved.ndjson", "--format", "csv"]) == 0
    (row,) = csv.DictReader(capsys.readouterr().out.splitlines())
    assert float(row["low"]) < float(row["preference"]) < float(row["high"])
    assert float(row["p_wilcoxon"]) < 0.05


def test_three_rankers_have_two_comparisons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "credits.csv"
    rows = [f"u{user},q,{team},1" for user in range(9) for team in ("A", "B", "C")[user % 2 :]]
    table.write_text("\n".join(["user,query,team,credits", *rows]))
    assert call(["online", "interleave", str(table), "--format", "json"]) == 0
    comparisons = json.loads(capsys.readouterr().out)["comparisons"]
    assert [row["candidate"] for row in comparisons] == ["B", "C"]
    assert call(["online", "interleave", str(table)]) == 0
    assert "p is corrected for the number of candidates (Holm)" in capsys.readouterr().out


def test_credits_in_json_lines_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        {"user": f"u{n}", "query": "q", "credits": {"old": n % 3 == 0, "new": n % 3 > 0}} for n in range(30)
    ]
    (tmp_path / "credits.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert call(["online", "interleave", f"{tmp_path}/credits.jsonl", "--baseline", "old"]) == 0
    assert "of 30 users with a credit, 20 prefer new, 10 old" in " ".join(capsys.readouterr().out.split())


def test_too_few_users_are_exit_code_3(few: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["online", "interleave", few, "--format", "json"]) == 3
    assert json.loads(capsys.readouterr().out)["p"] is None
    assert call(["online", "interleave", few]) == 3
    assert "expected two or more users with a credit to say anything, found 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("records", "code", "message"),
    [
        ([query("q1", teams=None), click("q1", "a")], 3, "expected queries with the team of each result"),
        ([], 2, "is empty; expected queries and events"),
        ([{"a": 1}], 2, "expected UBI queries (user_query) and events (action_name)"),
        (
            [query("q1", teams={"a": "old"}), click("q1", "a")],
            2,
            "the teams of two or more rankers, found old",
        ),
    ],
)
def test_broken_logs_are_refused(
    tmp_path: Path, records: list[object], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.ndjson"
    log.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    assert call(["online", "interleave", str(log)]) == code
    assert message in capsys.readouterr().err


def test_wrong_options_are_refused(few: str, capsys: pytest.CaptureFixture[str]) -> None:
    for options, message in (
        (["--baseline", "odl"], "expected a ranker of new, old, found 'odl'; did you mean old?"),
        (["--level", "95"], "--level must be between 0 and 1, found 95"),
        (["--column", "clientid=visitor"], "found clientid=visitor; did you mean client_id?"),
        (["--offline", "a", "b"], "--offline expects --save NAME"),
    ):
        assert call(["online", "interleave", few, *options]) == 2
        assert message in capsys.readouterr().err


def test_the_result_is_kept_with_its_experiments(
    traffic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 b 1\n")
    (tmp_path / "old.run").write_text("q1 Q0 a 1 1 t\nq2 Q0 b 1 1 t\n")
    store = ["--store", str(tmp_path / "store")]
    for name in ("main", "branch"):
        assert call(["eval", f"{tmp_path}/qrels", f"{tmp_path}/old.run", "--save", name, *store]) == 0
    log = f"{traffic}/interleaved.ndjson"
    assert call(["online", "interleave", log, "--save", "lists", "--offline", "main", "branch", *store]) == 0
    assert "saved lists as " in capsys.readouterr().err
    with Store(str(tmp_path / "store")) as kept:
        (record,) = kept.interleavings()
        assert record.body["winner"] == "candidate"
        assert record.links["candidate"] == kept.get("branch").id
    assert call(["online", "interleave", log, "--save", "x", "--offline", "main", "brunch", *store]) == 2
    assert "brunch" in capsys.readouterr().err


def test_a_list_is_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("old", "new"):
        (tmp_path / f"{name}.txt").write_text("a\nb\nc\n" if name == "old" else "b\nd\n")
    argv = ["online", "interleave", "build", f"{tmp_path}/old.txt", f"{tmp_path}/new.txt", "--user", "u1"]
    assert call([*argv, "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [row["doc_id"] for row in shown["documents"]] == [*shown["query_attributes"]["team_by_doc"]]
    assert call([*argv, "--method", "balanced"]) == 0
    assert "2 documents without credit" in capsys.readouterr().out
    assert call([*argv, "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("rank,document,team,credit of old,credit of new\n1,")
    assert call([*argv[:4]]) == 2
    assert "expected two or more lists, found 1" in capsys.readouterr().err
