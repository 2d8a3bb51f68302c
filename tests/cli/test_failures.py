"""assay failures: what it prints, where, and its exit codes."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli import call as run

QRELS = "q1 0 a 1\nq1 0 x 0\nq2 0 c 1\nq2 0 x 0\nq3 0 d 1\nq3 0 x 0\n"
RUN = "q1 Q0 a 1 0.9 t\nq2 Q0 x 1 0.9 t\nq2 Q0 c 2 0.8 t\nq3 Q0 x 1 0.9 t\n"
QUERIES = "query_id\ttext\tteam\nq1\treset\tone\nq2\tinvoice, please\ttwo\nq3\tE-4012\ttwo\n"
DOCUMENTS = "doc_id\ttext\na\tReset it\nc\tAn invoice\nd\tThe code E-4012\nx\tOther\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in (("qrels.txt", QRELS), ("bm25.run", RUN), ("queries.tsv", QUERIES)):
        (tmp_path / name).write_text(content)
    (tmp_path / "documents.tsv").write_text(DOCUMENTS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


ALL = ("--queries", "queries.tsv", "--documents", "documents.tsv", "--by", "team")


def call_failures(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["failures", "qrels.txt", "bm25.run", "-m", "R@1", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_report_names_score_causes_slices_and_queries(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call_failures(capsys, *ALL)
    assert code == 0
    assert out.startswith("bm25: R@1 0.3333 (")
    assert "below 0.5: 2 of 3 queries, 66.7 % (9.4 … 99.2)" in out
    assert "near miss                1   0.50  rerank the first 100" in out
    assert "team: two" in out
    assert "q3 0.0000 “E-4012”\n- exact term missed: d has “e-4012”, which none of the top 1 has" in out
    assert "not checked: ANN loss: give the run of exact search: --exact" in err


def test_recall_at_ten_has_its_recommended_level(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call_failures(capsys, "-m", "R@10")
    assert "level to aim for: 0.13 below a tuned search (0.80)" in out


def test_lines_fit_a_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "qrels.txt").write_text(QRELS + "".join(f"q3 0 {'long-id-' * 4}{i} 1\n" for i in range(9)))
    _, out, _ = call_failures(capsys, *ALL)
    assert max(map(len, out.splitlines())) <= 120


def test_json_is_the_documented_shape(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_failures(capsys, *ALL, "--format", "json")
    plain = json.loads(out)
    assert (code, err) == (0, "")
    assert (plain["name"], plain["measure"], plain["failing"]) == ("bm25", "R@1", 2)
    assert [query["cause"] for query in plain["queries"]] == ["near miss", "exact term missed"]
    assert plain["standing"] is None
    assert plain["unknown"] == [{"what": "ANN loss", "give": "the run of exact search: --exact"}]


def test_csv_has_a_row_for_each_evidence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = call_failures(capsys, *ALL, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["query_id"], row["team"], row["place"], row["cause"]) for row in rows] == [
        ("q2", "two", "1", "near miss"),
        ("q3", "two", "1", "exact term missed"),
    ]
    assert rows[0]["text"] == "invoice, please"
    assert rows[1]["documents"] == "d"
    assert "not checked" in err


@pytest.mark.parametrize(("style", "start"), [("md", "## Failures"), ("html", "<!doctype html>")])
def test_reports_are_complete_in_one_file(
    folder: Path, capsys: pytest.CaptureFixture[str], style: str, start: str
) -> None:
    _, out, err = call_failures(capsys, *ALL, "--format", style)
    assert out.startswith(start)
    assert "rerank the first 100" in out
    assert "ANN loss: give the run of exact search: --exact" in out
    assert (err, "http" in out) == ("", False)


def test_some_queries_are_shown_and_a_note_says_where_the_others_are(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, err = call_failures(capsys, "--show", "1")
    assert "the worst 1 of 2" in out
    assert "q3 0.0000" not in out
    assert "every failing query: --format csv" in err
    assert "the worst" not in call_failures(capsys, "--show", "0")[1]


def test_no_failing_query_is_no_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bm25.run").write_text("q1 Q0 a 1 0.9 t\nq2 Q0 c 1 0.8 t\nq3 Q0 d 1 0.9 t\n")
    code, out, err = call_failures(capsys)
    assert (code, err) == (0, "")
    assert "no query is below 0.5: none of 3 fails" in out
    assert json.loads(call_failures(capsys, "--format", "json")[1])["queries"] == []


def test_exact_search_shows_what_the_index_lost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "flat.run").write_text("q3 Q0 d 1 0.9 t\n")
    code, out, err = call_failures(capsys, "--exact", "flat.run")
    assert code == 0
    assert "ANN loss: exact search has in its top 1: d (rank 1)" in out
    assert "raise ef or nprobe" in out
    assert "ANN loss" not in err


def test_values_above_the_threshold_fail_if_lower_is_better(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = call_failures(capsys, "-m", "ZeroHit@1")
    assert "above 0.5: 2 of 3 queries" in out


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["-m", "nDGC@10"], 2, "did you mean nDCG?"),
        (["--below", "1.5"], 2, "must be above 0, at most 1, found 1.5"),
        (["--below", "high"], 2, "invalid float value"),
        (["--show", "-1"], 2, "--show must be 0 or more"),
        (["--depth", "0"], 2, "the depth must be"),
        (["--by", "team"], 2, "--queries"),
        (["--exact", "none.run"], 2, "none.run: cannot be read"),
        (["--exact", "bm25.run"], 2, "given twice"),
        (["--level", "95"], 2, "between 0 and 1"),
    ],
)
def test_wrong_use_says_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str], argv: list[str], code: int, words: str
) -> None:
    got, out, err = call_failures(capsys, *argv)
    assert (got, out) == (code, "")
    assert words in err


def test_no_query_in_common_exits_with_3(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bm25.run").write_text("z9 Q0 a 1 1.0 t\n")
    code, out, err = call_failures(capsys)
    assert (code, out) == (3, "")
    assert "shares no query" in err


def test_document_ids_that_never_match_are_warned_about(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bm25.run").write_text("q1 Q0 D-a 1 0.9 t\n")
    code, _, err = call_failures(capsys, "--format", "json")
    assert code == 0
    assert "warning: no document that bm25 returned was ever judged" in err


def test_a_run_from_standard_input_is_read_once(folder: Path) -> None:
    command = [str(Path(sys.executable).parent / "assay"), "failures", "qrels.txt", "-", "-m", "R@1", *ALL]
    done = subprocess.run(command, input=RUN, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("stdin: R@1 0.3333")
    assert "exact term missed" in done.stdout
