"""Scores of queries in files."""

import json
from pathlib import Path

import pytest

from assay.core.errors import FormatError
from assay.datasets.score_files import read_scores

CSV = "query_id,run,category,nDCG@10,R@10\nq1,a,x,0.5,1\nq1,b,x,0.25,0\nq2,a,y,,1\n"


def test_the_csv_of_eval_is_read_by_system_and_measure(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(CSV)
    assert read_scores(str(tmp_path / "s.csv")) == {"a": {"q1": 0.5}, "b": {"q1": 0.25}}
    assert read_scores(str(tmp_path / "s.csv"), "R@10") == {"a": {"q1": 1.0, "q2": 1.0}, "b": {"q1": 0.0}}


def test_the_json_of_eval_is_read(tmp_path: Path) -> None:
    data = {"runs": [{"name": "a", "per_query": {"q1": {"RR": 1.0}, "q2": {"RR": None}}}]}
    (tmp_path / "s.json").write_text(json.dumps(data, indent=1))
    assert read_scores(str(tmp_path / "s.json")) == {"a": {"q1": 1.0}}


def test_a_plain_table_is_one_system(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"qid": "q1", "score": 0.5}\n')
    assert read_scores(str(tmp_path / "s.jsonl")) == {"": {"q1": 0.5}}


@pytest.mark.parametrize(
    ("text", "measure", "problem"),
    [
        (CSV, "nDCG@1", "did you mean nDCG@10"),
        ("query_id,run\nq1,a\n", None, "expected a column of scores"),
        ("query_id,RR\n", None, "expected rows of scores"),
        ('{"runs": [{"name": "a"}]}', None, "assay eval --per-query"),
        ('{"a": 1}\n', None, "expected a column query_id"),
    ],
)
def test_wrong_files_say_what_is_expected(
    tmp_path: Path, text: str, measure: str | None, problem: str
) -> None:
    (tmp_path / "s").write_text(text)
    with pytest.raises(FormatError, match=problem):
        read_scores(str(tmp_path / "s"), measure)
