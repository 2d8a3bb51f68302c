"""Credits that were computed elsewhere: the forms of tables, and rows that cannot be read."""

import json
from pathlib import Path

import polars as pl
import pytest

from assay.core.errors import FormatError
from assay.datasets.input_files import InputFile
from assay.online.interleaving.credit_table import is_credit_table, read_credit_table
from assay.online.interleaving.page_credits import PageCredits

FORMS = {
    "long.csv": "user,query,team,credits\nu1,q1,old,1\nu1,q1,new,2\nu2,q2,new,1\n",
    "wide.csv": "user_id,query_id,old,new\nu1,q1,1,2\nu2,q2,0,1\n",
    "tabs.tsv": "user\tquery\tteam\tcredits\nu1\tq1\told\t1\nu1\tq1\tnew\t2\nu2\tq2\tnew\t1\n",
    "lines.jsonl": '{"user": "u1", "query": "q1", "credits": {"old": 1, "new": 2}}\n'
    '{"user": "u2", "query": "q2", "credits": {"new": 1}}\n',
    "text.csv": 'user,query,credits\nu1,q1,"{""old"": 1, ""new"": 2}"\nu2,q2,"{""new"": 1}"\n',
}


def written(tmp_path: Path, name: str, text: str) -> InputFile:
    (tmp_path / name).write_text(text)
    return InputFile(str(tmp_path / name))


def totals(pages: PageCredits) -> dict[str, list[float]]:
    users, rows = pages.of_users()
    return dict(zip(users, rows.tolist(), strict=True))


@pytest.mark.parametrize("name", FORMS)
def test_each_form_of_a_table_has_the_same_credits(tmp_path: Path, name: str) -> None:
    source = written(tmp_path, name, FORMS[name])
    assert is_credit_table(source)
    pages = read_credit_table(source)
    assert pages.rankers == ("new", "old")
    assert totals(pages) == {"u1": [2, 1], "u2": [1, 0]}
    assert (pages.counts["queries"], pages.counts["users"], pages.problems) == (2, 2, ())


def test_parquet_has_the_same_credits(tmp_path: Path) -> None:
    frame = pl.DataFrame({"client_id": ["u1", "u2"], "query": ["q1", "q2"], "old": [1, 0], "new": [2, 1]})
    frame.write_parquet(tmp_path / "credits.parquet")
    assert totals(read_credit_table(InputFile(str(tmp_path / "credits.parquet")))) == {
        "u1": [2, 1],
        "u2": [1, 0],
    }


def test_a_signed_number_is_for_the_candidate_and_below_zero_for_the_baseline(tmp_path: Path) -> None:
    pages = read_credit_table(
        written(tmp_path, "signed.csv", "user,query,credit\nu1,q1,-1\nu2,q2,0.5\nu3,q3,0\n")
    )
    assert pages.rankers == ("baseline", "candidate")
    assert totals(pages) == {"u1": [1, 0], "u2": [0, 0.5]}
    assert pages.counts["users"] == 3


def test_rows_that_cannot_be_read_are_counted_with_their_lines(tmp_path: Path) -> None:
    rows = [",q1,old,1", "u1,q1,old,x", "u1,q1,new,-1", "u1,q2,old,nan", "u1,q3,old,1", "u1,q3,new,1"]
    text = "\n".join(["user,query,team,credits", *rows])
    pages = read_credit_table(written(tmp_path, "broken.csv", text))
    found = {problem.kind: (problem.count, problem.example) for problem in pages.problems}
    assert found == {
        "row without a number of credits": (3, f"{tmp_path}/broken.csv:3: q1"),
        "row without a user": (1, f"{tmp_path}/broken.csv:2: q1"),
    }
    assert totals(pages) == {"u1": [1, 1]}


def test_credits_of_one_ranker_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="credits of two or more rankers, found only those of 'old'"):
        read_credit_table(written(tmp_path, "one.csv", "user,query,team,credits\nu1,q1,old,1\n"))


def test_a_log_of_events_is_no_table_of_credits(tmp_path: Path) -> None:
    event = {"action_name": "click", "query_id": "q1", "client_id": "u1", "timestamp": "2026-01-05T10:00:00Z"}
    assert not is_credit_table(written(tmp_path, "log.ndjson", json.dumps(event) + "\n"))
    assert not is_credit_table(written(tmp_path, "empty.csv", ""))
