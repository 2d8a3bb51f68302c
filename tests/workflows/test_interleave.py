"""analyse_interleaving and build_list: logs, tables of credits, runs, and what is refused."""

import csv
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from assay.core.errors import FormatError, InputError, UndecidableError
from assay.core.tables import Run
from assay.datasets import write
from assay.online.simulation import INTERLEAVED, TrafficSettings, simulate
from assay.workflows.interleave import BuildRequest, InterleaveRequest, analyse_interleaving, build_list
from tests.online.interleaving.logs import click, collection, query, same_list, write_log


@pytest.fixture
def log(tmp_path: Path) -> str:
    records = []
    for number in range(8):
        user = f"u{number}"
        records += [query(f"q{number}", user), click(f"q{number}", "a" if number == 0 else "b", number)]
    return write_log(tmp_path / "log.ndjson", [*records, click(None, "a", 50)])


def test_a_log_becomes_a_preference_with_its_problems(log: str) -> None:
    result = analyse_interleaving(InterleaveRequest(events=[log], baseline="old")).to_dict()
    assert (result["wins"], result["losses"], result["ties"], result["users"]) == (7, 1, 0, 8)
    assert result["preference"]["value"] == 0.75
    assert result["tests"]["sign"] == pytest.approx(2 * 9 / 2**8)
    assert {"click without a query id", "event without a query id"} <= {p["kind"] for p in result["problems"]}
    assert result["winner"] is None
    assert "beside_ab" not in result


def test_the_places_of_problems_are_written(log: str, tmp_path: Path) -> None:
    output = tmp_path / "problems.csv"
    analyse_interleaving(InterleaveRequest(events=[log], problems_output=str(output)))
    rows = [row for row in csv.reader(output.read_text().splitlines()) if "click without a query id" in row]
    assert len(rows) == 1
    assert "17" in rows[0]


def test_the_problems_do_not_replace_the_log(log: str) -> None:
    with pytest.raises(InputError, match="is also read, and would be lost"):
        analyse_interleaving(InterleaveRequest(events=[log], problems_output=log))


def test_the_columns_of_another_log_can_be_named(tmp_path: Path) -> None:
    rows = [
        {"page": "q1", "visitor": "u1", "at": "2026-01-05T10:00:00Z", "action": "search", "doc": None},
        {"page": "q1", "visitor": "u1", "at": "2026-01-05T10:00:09Z", "action": "click", "doc": "b"},
    ]
    frame = pl.DataFrame(rows).with_columns(
        teams=pl.lit('{"a": "old", "b": "new"}'), hit_ids=pl.lit('["a", "b"]')
    )
    frame.write_parquet(tmp_path / "log.parquet")
    names = {"query_id": "page", "client_id": "visitor", "object_id": "doc", "team_by_doc": "teams"}
    result = analyse_interleaving(InterleaveRequest(events=[str(tmp_path / "log.parquet")], columns=names))
    assert result.to_dict()["counts"] == {"queries": 1, "queries_with_credit": 1, "users": 1, "clicks": 1}
    assert not result.is_decidable


def test_the_ab_test_may_be_in_the_same_log(tmp_path: Path) -> None:
    documents = [f"d{number}" for number in range(10)]
    rankings = {"old": same_list(documents[::-1]), "new": same_list(documents)}
    settings = TrafficSettings(users=150, arms={"old": 1.0, "new": 1.0, INTERLEAVED: 1.0})
    log = str(simulate(rankings, *collection(), settings).write(tmp_path / "all.ndjson"))
    request = InterleaveRequest(events=[log], baseline="old", beside_ab=[])
    beside = analyse_interleaving(request).to_dict()["beside_ab"]
    assert sum(beside["users"].values()) == 150
    assert beside["interleaving"]["users_needed"]["value"] > 0
    assert next(row["metric"] for row in beside["ab"]) == "clicks per query"
    assert analyse_interleaving(replace(request, beside_ab=[log])).to_dict()["beside_ab"] == beside


def test_a_table_of_credits_beside_an_ab_test_needs_the_log_of_it(tmp_path: Path) -> None:
    table = tmp_path / "credits.csv"
    table.write_text("user,query,old,new\nu1,q1,1,0\nu2,q1,0,1\n")
    with pytest.raises(InputError, match="--beside-ab expects the log of an A/B test beside a table"):
        analyse_interleaving(InterleaveRequest(events=[str(table)], beside_ab=[]))
    with pytest.raises(InputError, match="--experiment chooses lists of a log"):
        analyse_interleaving(InterleaveRequest(events=[str(table)], experiment="e"))
    with pytest.raises(FormatError, match="is a table of credits among other files"):
        analyse_interleaving(InterleaveRequest(events=[str(table), str(table)]))


def test_a_log_without_interleaved_lists_cannot_be_decided(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.ndjson", [query("q1", teams=None), click("q1", "a")])
    with pytest.raises(UndecidableError, match="expected queries with the team of each result"):
        analyse_interleaving(InterleaveRequest(events=[log]))


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    write(Run({"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 2.0, "d": 1.0}}), tmp_path / "old.run")
    write(Run({"q1": {"b": 2.0, "x": 1.0}, "q2": {"d": 2.0, "y": 1.0}}), tmp_path / "new.run")
    return [str(tmp_path / "old.run"), str(tmp_path / "new.run")]


def test_a_list_is_built_from_a_query_of_two_runs(runs: list[str]) -> None:
    assert {*build_list(BuildRequest(lists=runs)).documents} == {"a", "b", "x"}
    found = build_list(BuildRequest(lists=runs, query="q2", names=["A", "B"]))
    assert {*found.documents} == {"c", "d", "y"}
    assert found.rankers == ("A", "B")


def test_lists_are_read_from_lines(tmp_path: Path, runs: list[str]) -> None:
    (tmp_path / "lines").write_text("p\n\nq\n")
    assert {*build_list(BuildRequest(lists=[runs[0], str(tmp_path / "lines")])).documents} == {*"abpq"}


def test_lists_of_one_name_are_numbered(runs: list[str]) -> None:
    assert build_list(BuildRequest(lists=[runs[0], runs[0]])).rankers == ("old-1", "old-2")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query": "q9"}, "expected documents of the query 'q9', found queries such as 'q1'"),
        ({"names": ["A"]}, "expected 2 names, one for each list, found 1"),
        ({"length": 0}, "--length must be 1 or more, found 0"),
        ({"method": "draft"}, "expected a method of team-draft, probabilistic, balanced"),
    ],
)
def test_wrong_lists_are_refused(runs: list[str], options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_list(BuildRequest(lists=runs, **options))  # type: ignore[arg-type]


def test_a_list_that_is_no_text_is_refused(tmp_path: Path, runs: list[str]) -> None:
    (tmp_path / "bytes").write_bytes(b"a\n\xff\n")
    with pytest.raises(FormatError, match="bytes:2: expected UTF-8 text"):
        build_list(BuildRequest(lists=[runs[0], str(tmp_path / "bytes")]))
