"""Credit from logs: whose document was clicked, and what cannot be credited."""

from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError, UndecidableError
from assay.datasets.ubi import read_events
from assay.online.interleaving import probabilistic
from assay.online.interleaving.event_credits import credit_events
from assay.online.interleaving.page_credits import PageCredits
from tests.online.interleaving.logs import click, query, write_log

Records = list[dict[str, Any]]


def credited(tmp_path: Path, records: Records, **options: Any) -> PageCredits:
    return credit_events(read_events(write_log(tmp_path / "log.ndjson", records)), **options)


def totals(pages: PageCredits) -> dict[str, dict[str, float]]:
    users, rows = pages.of_users()
    return {
        user: dict(zip(pages.rankers, row, strict=True))
        for user, row in zip(users, rows.tolist(), strict=True)
    }


def problems(pages: PageCredits) -> dict[str, int]:
    return {problem.kind: problem.count for problem in pages.problems}


def test_a_click_counts_for_the_team_of_its_document(tmp_path: Path) -> None:
    records = [query("q1"), click("q1", "a"), click("q1", "b", 2), query("q2", "u2"), click("q2", "d")]
    pages = credited(tmp_path, records)
    assert totals(pages) == {"u1": {"new": 1, "old": 1}, "u2": {"new": 1, "old": 0}}
    assert (pages.method, pages.rankers) == ("team-draft", ("new", "old"))
    assert pages.counts == {"queries": 2, "queries_with_credit": 2, "users": 2, "clicks": 3}
    assert not pages.problems


def test_the_queries_of_a_user_are_added(tmp_path: Path) -> None:
    records = [query("q1"), query("q2"), click("q1", "a"), click("q2", "c"), click("q2", "d", 2)]
    assert totals(credited(tmp_path, records)) == {"u1": {"new": 1, "old": 2}}


def test_a_document_counts_once_on_a_page(tmp_path: Path) -> None:
    pages = credited(tmp_path, [query("q1"), click("q1", "a"), click("q1", "a", 9)])
    assert totals(pages) == {"u1": {"new": 0, "old": 1}}
    assert problems(pages) == {"document clicked again": 1}


def test_teams_on_the_hits_are_read(tmp_path: Path) -> None:
    record = query("q1", teams=None)
    del record["query_response_hit_ids"]
    record["query_response_objects_ids"] = [
        {"id": "a", "search_config": "old"},
        {"id": "b", "search_config": "new"},
    ]
    assert totals(credited(tmp_path, [record, click("q1", "b")])) == {"u1": {"new": 1, "old": 0}}


def test_the_credit_that_the_builder_logged_is_used(tmp_path: Path) -> None:
    shown = probabilistic({"old": ["a", "b"], "new": ["b", "c"]}, user="u1")
    attributes = shown.query_attributes()
    record = query("q1", teams=attributes.pop("team_by_doc"), **attributes)
    pages = credited(tmp_path, [record, click("q1", "b")])
    assert pages.method == "probabilistic"
    assert totals(pages)["u1"] == pytest.approx(shown.credit_by_doc["b"])


def test_clicks_on_shared_documents_are_not_credited(tmp_path: Path) -> None:
    pages = credited(tmp_path, [query("q1", uncredited_docs=["a"]), click("q1", "a")])
    assert totals(pages) == {}
    assert problems(pages) == {"click on a shared or filled rank": 1}


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ([query("q1"), click(None, "a")], "click without a query id"),
        ([query("q1"), click("q9", "a")], "click of an unknown query"),
        (
            [query("q1"), query("q2", teams=None), click("q2", "a")],
            "click on a query that is not interleaved",
        ),
        ([query("q1"), click("q1")], "click without a document"),
        ([query("q1"), click("q1", position={"ordinal": 1})], "click without a document"),
        ([query("q1"), click("q1", "z")], "click on a document that the list does not have"),
        ([query("q1", None), click("q1", "a")], "click on a query without a user"),
        ([query("q1"), click("q1", "a"), click("q1", "a")], "repeated event"),
        ([query("q1", teams={"a": "old", "b": ""}), click("q1", "b")], "click on a document without a team"),
    ],
)
def test_what_cannot_be_credited_is_counted_with_its_place(
    tmp_path: Path, records: Records, problem: str
) -> None:
    pages = credited(tmp_path, records)
    (found,) = pages.problems
    assert (found.kind, found.count) == (problem, 1)
    assert found.treatment.startswith(("not credited", "credited once"))
    assert found.example.startswith(f"{tmp_path}/log.ndjson:{len(records)}")


@pytest.mark.parametrize("record", [{"a": 1}, {"a": {"old": -1}}, {"a": {"old": float("inf")}}, "x"])
def test_a_credit_record_that_cannot_be_read_is_replaced_by_the_teams(tmp_path: Path, record: Any) -> None:
    pages = credited(tmp_path, [query("q1", credit_by_doc=record), click("q1", "a")])
    assert problems(pages) == {"credit record that cannot be read": 1}
    assert totals(pages) == {"u1": {"new": 0, "old": 1}}


def test_lists_of_several_experiments_are_refused_unless_one_is_named(tmp_path: Path) -> None:
    other = {"a": "old", "b": "third"}
    records = [
        query("q1", experiment_id="first"),
        query("q2", "u2", other, experiment_id="second"),
        click("q1", "b"),
        click("q2", "b"),
    ]
    with pytest.raises(InputError, match="lists of one experiment, found first, second; name one with"):
        credited(tmp_path, records)
    pages = credited(tmp_path, records, experiment="first")
    assert (pages.rankers, totals(pages)) == (("new", "old"), {"u1": {"new": 1, "old": 0}})
    assert problems(pages) == {"click on a query of another experiment": 1}
    with pytest.raises(InputError, match=r"'frist', found first, second; did you mean first\?"):
        credited(tmp_path, records, experiment="frist")


def test_other_actions_can_count_as_clicks(tmp_path: Path) -> None:
    purchase = {**click("q1", "a"), "action_name": "purchase"}
    pages = credited(tmp_path, [query("q1"), purchase, click("q1", "b", 2)], actions=("purchase",))
    assert totals(pages) == {"u1": {"new": 0, "old": 1}}


def test_a_log_without_teams_is_undecidable(tmp_path: Path) -> None:
    with pytest.raises(UndecidableError, match=r"expected queries with the team .* found 1 without it; log"):
        credited(tmp_path, [query("q1", teams=None), click("q1", "a")])
