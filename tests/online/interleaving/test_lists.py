"""Interleaved lists: what each has in common, and that random clicks prefer no ranker."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.online.interleaving import (
    METHODS,
    InterleavedList,
    balanced,
    interleave,
    probabilistic,
    team_draft,
)
from tests.online.interleaving.draw_trees import all_outcomes

DOCS = st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True)
PAIRS = st.fixed_dictionaries({"old": DOCS, "new": DOCS})
FEW = st.lists(st.sampled_from("abcde"), max_size=4, unique=True)
Rankings = dict[str, list[str]]


def shown(method: str, rankings: Rankings, length: int = 10, user: str = "u1") -> InterleavedList:
    return interleave(method, rankings, length, salt="exp-1", query="vpn", user=user)


@pytest.mark.parametrize("method", METHODS)
@given(rankings=PAIRS, length=st.integers(0, 12), user=st.text(max_size=3))
def test_a_list_has_as_many_different_documents_as_the_rankers_have(
    method: str, rankings: Rankings, length: int, user: str
) -> None:
    union = {doc for docs in rankings.values() for doc in docs}
    found = shown(method, rankings, length, user)
    assert len(found) == len({*found.documents}) == min(length, len(union))
    assert {*found.documents} <= union


@pytest.mark.parametrize("method", METHODS)
@given(rankings=PAIRS, user=st.text(max_size=3))
def test_each_shown_document_has_a_team_that_ranks_it_and_a_credit(
    method: str, rankings: Rankings, user: str
) -> None:
    found = shown(method, rankings, user=user)
    assert all(doc in rankings[team] for doc, team in found.team_by_doc.items())
    assert [*found.credit_by_doc] == [*found.team_by_doc] == [*found.documents]
    assert all(credit >= 0 for row in found.credits for credit in row)
    json.dumps(found.query_attributes(), allow_nan=False)


@pytest.mark.parametrize("method", ["team-draft", "balanced"])
@given(rankings=PAIRS, length=st.integers(0, 12), user=st.text(max_size=3))
def test_a_list_has_the_first_documents_of_each_ranker(
    method: str, rankings: Rankings, length: int, user: str
) -> None:
    documents = {*shown(method, rankings, length, user).documents}
    tops = {
        name: next((n for n, doc in enumerate(docs) if doc not in documents), len(docs))
        for name, docs in rankings.items()
    }
    assert documents == {doc for name, docs in rankings.items() for doc in docs[: tops[name]]}


@given(rankings=st.fixed_dictionaries(dict.fromkeys("ABC", DOCS)), user=st.text(max_size=3))
def test_a_team_draft_picks_each_team_once_in_a_round_until_one_has_nothing_left(
    rankings: Rankings, user: str
) -> None:
    found = team_draft(rankings, 24, user=user)
    for begin in range(0, len(found), 3):
        before = {*found.documents[:begin]}
        left = [{*docs} - before for docs in rankings.values()]
        if all(len(docs) >= 3 for docs in left):
            assert {*found.teams[begin : begin + 3]} == {"A", "B", "C"}


@pytest.mark.parametrize("method", METHODS)
def test_a_list_that_runs_out_does_not_end_the_draft(method: str) -> None:
    rankings = {"old": ["a"], "new": ["b", "c", "d", "e"]}
    assert {*shown(method, rankings).documents} == {"a", "b", "c", "d", "e"}
    assert {*shown(method, {"old": [], "new": ["b", "c"]}).documents} == {"b", "c"}


@pytest.mark.parametrize("method", ["team-draft", "probabilistic"])
def test_the_draft_goes_on_for_the_rankers_that_are_left(method: str) -> None:
    rankings = {"A": [], "B": ["a", "b"], "C": ["c"]}
    assert Counter(shown(method, rankings).teams) == {"B": 2, "C": 1}


def credit_by_rank(method: str, rankings: Rankings, length: int) -> list[list[float]]:
    """Return the mean credit of each ranker at each rank, over all random choices."""
    means = [[0.0] * len(rankings) for _ in range(length)]
    total = 0.0
    for chance, found in all_outcomes(lambda: interleave(method, rankings, length)):
        total += chance
        for row, credit in zip(means, found.credits, strict=False):
            row[:] = [mean + chance * value for mean, value in zip(row, credit, strict=True)]
    assert total == pytest.approx(1)
    return means


@pytest.mark.parametrize("method", METHODS)
@given(rankings=st.fixed_dictionaries({"old": FEW, "new": FEW}))
def test_a_click_that_depends_on_the_rank_alone_prefers_neither_of_two_rankers(
    method: str, rankings: Rankings
) -> None:
    for old, new in credit_by_rank(method, rankings, 4 if method == "probabilistic" else 5):
        assert old == pytest.approx(new)


@pytest.mark.parametrize("method", ["team-draft", "probabilistic"])
@given(
    rankings=st.fixed_dictionaries(
        {name: st.lists(st.sampled_from("abcd"), max_size=3, unique=True) for name in "ABC"}
    )
)
def test_a_click_that_depends_on_the_rank_alone_prefers_none_of_three_rankers(
    method: str, rankings: Rankings
) -> None:
    for row in credit_by_rank(method, rankings, 3):
        assert row == pytest.approx([row[0]] * 3)


@pytest.mark.parametrize("method", METHODS)
def test_equal_rankings_earn_equal_credit(method: str) -> None:
    for user in "abcdef":
        found = shown(method, {"old": ["a", "b", "c"], "new": ["a", "b", "c"]}, user=user)
        assert all(row[0] == row[1] for row in found.credits)


def lists_of(method: str, rankings: Rankings, length: int) -> dict[str, float]:
    chances: Counter[str] = Counter()
    for chance, found in all_outcomes(lambda: interleave(method, rankings, length)):
        chances["".join(found.documents)] += chance  # type: ignore[assignment]
    return {docs: round(chance, 9) for docs, chance in chances.items()}


# The lists that the tests of the package interleaving (mpkato) expect of these rankings; where it ends a
# list because a ranker has run out, ours goes on.
@pytest.mark.parametrize(
    ("method", "new", "length", "expected"),
    [
        ("team-draft", "bc", 2, {"ab", "ba"}),
        ("team-draft", "bc", 3, {"abc", "bac"}),
        ("team-draft", "cd", 2, {"ac", "ca"}),
        ("team-draft", "cd", 3, {"acb", "acd", "cab", "cad"}),
        ("balanced", "bc", 2, {"ab", "ba"}),
        ("balanced", "cd", 2, {"ac", "ca"}),
        ("balanced", "bc", 3, {"abc", "bac"}),
        ("balanced", "cd", 3, {"acb", "cad"}),
    ],
)
def test_the_possible_lists_are_those_of_another_implementation(
    method: str, new: str, length: int, expected: set[str]
) -> None:
    chances = lists_of(method, {"old": [*"ab"], "new": [*new]}, length)
    assert {*chances} == expected
    assert {*chances.values()} == {1 / len(expected)}


def test_three_rankers_draft_the_lists_of_another_implementation() -> None:
    rankings = {"A": [*"ab"], "B": [*"bc"], "C": [*"cd"]}
    assert {*lists_of("team-draft", rankings, 2)} == {"ab", "ac", "ba", "bc", "ca", "cb"}
    disjoint = {"A": [*"ab"], "B": [*"cd"], "C": [*"ef"]}
    assert {*lists_of("team-draft", disjoint, 2)} == {"ac", "ae", "ca", "ce", "ea", "ec"}


def credit_of(rankings: Rankings, documents: str) -> InterleavedList:
    return next(
        found
        for _, found in all_outcomes(lambda: probabilistic(rankings, len(documents)))
        if "".join(found.documents) == documents
    )


def test_probabilistic_credit_is_the_chance_of_each_allocation() -> None:
    """Of the lists (1 2) and (2 3), the allocations of the list (1 2) are as 1 to 1 / 1.125."""
    found = credit_of({"old": [*"ab"], "new": [*"bc"]}, "ab")
    both_old, one_each = 1 / 1.125 * 1, 1 / 1.125 * (1 / 1.125)
    assert found.credits[0] == (1.0, 0.0)
    assert found.credits[1][0] == pytest.approx(both_old / (both_old + one_each))


def test_probabilistic_clicks_prefer_the_ranker_that_other_implementations_prefer() -> None:
    found = credit_of({"old": [*"abcd"], "new": [*"bcda"]}, "abcd")
    old, new = (sum(found.credits[rank][ranker] for rank in (1, 2)) for ranker in (0, 1))
    assert new > old


def test_probabilistic_credit_orders_three_rankers_as_another_implementation() -> None:
    found = credit_of({"A": [*"ab"], "B": [*"ba"], "C": [*"bc"]}, "ab")
    totals = [sum(row[ranker] for row in found.credits) for ranker in range(3)]
    assert totals[0] > totals[1] > totals[2]


def test_the_chance_to_be_first_in_a_probabilistic_list_falls_with_the_cube_of_the_rank() -> None:
    chances = lists_of("probabilistic", {"old": [*"abcd"], "new": [*"abcd"]}, 1)
    total = 1 + 1 / 8 + 1 / 27 + 1 / 64
    assert chances == pytest.approx(
        {"a": 1 / total, "b": 1 / 8 / total, "c": 1 / 27 / total, "d": 1 / 64 / total}
    )


def test_balanced_credit_is_free_of_the_bias_of_its_lists() -> None:
    """With (a b c) and (b c a), a click on any document but the first of `old` is for `new`."""
    rankings = {"old": [*"abc"], "new": [*"bca"]}
    for user in "abcdefgh":
        found = balanced(rankings, user=user)
        assert found.credits[2] == (0.0, 0.0)  # c is preferred by `new` whoever goes first
        assert {found.credit_by_doc["a"].get("old"), found.credit_by_doc["b"].get("new")} == {1.0}


def test_documents_that_all_rankers_place_alike_at_the_top_have_no_credit() -> None:
    found = team_draft({"old": [*"abcd"], "new": [*"abdc"]}, user="u")
    assert [sum(row) for row in found.credits] == [0, 0, 1, 1]
    assert found.query_attributes()["uncredited_docs"] == ["a", "b"]


def test_a_request_always_gets_the_same_list_and_requests_differ() -> None:
    rankings = {"old": [*"abcdefgh"], "new": [*"hgfedcba"]}
    first = shown("team-draft", rankings)
    assert shown("team-draft", rankings) == first
    assert len({shown("team-draft", rankings, user=str(n)).teams for n in range(50)}) > 5


def test_repeated_documents_of_a_ranker_count_once() -> None:
    assert team_draft({"old": ["a", "a", "b"], "new": ["a", "a"]}).documents == ("a", "b")


@pytest.mark.parametrize(
    ("method", "rankings", "length", "message"),
    [
        ("team-draft", {"old": ["a"]}, 3, "needs two or more rankers, found 1"),
        ("balanced", {"A": ["a"], "B": ["b"], "C": ["c"]}, 3, "needs two rankers, found 3; use team_draft"),
        ("probabilistic", {"old": ["a"], "new": ["b"]}, -1, "expected a length of 0 or more, found -1"),
        ("teamdraft", {"old": ["a"], "new": ["b"]}, 3, "expected a method of team-draft, probabilistic"),
    ],
)
def test_wrong_use_is_refused(method: str, rankings: Any, length: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        interleave(method, rankings, length)


def test_the_builder_runs_without_any_installed_library() -> None:
    source = Path(assay.__file__).parents[1]
    code = (
        f"import sys; sys.path.insert(0, {str(source)!r})\n"
        "from assay.online.interleaving import METHODS, interleave\n"
        "for name in METHODS: interleave(name, {'old': ['a', 'b'], 'new': ['c']}).query_attributes()\n"
        "outside = {name.partition('.')[0] for name in sys.modules} - {*sys.stdlib_module_names}\n"
        "print(sorted(outside))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("['__main__', 'assay']\n", "")


def preference_of(found: InterleavedList, ranks: set[int]) -> float | None:
    """Return the preference of a user who clicks on these ranks, None without a credit."""
    rows = [row for rank, row in enumerate(found.credits) if rank in ranks]
    old, new = (sum(row[ranker] for row in rows) for ranker in (0, 1))
    return (new - old) / (new + old) if new + old > 0 else None


def preferences_of(
    method: str, rankings: Rankings, length: int, ranks: set[int]
) -> list[tuple[float, float | None]]:
    """Return the chance of each draw with the preference of a user who clicks on these ranks."""
    outcomes = all_outcomes(lambda: interleave(method, rankings, length))
    return [(chance, preference_of(found, ranks)) for chance, found in outcomes]


@pytest.mark.parametrize("method", METHODS)
@given(rankings=st.fixed_dictionaries({"old": FEW, "new": FEW}), ranks=st.sets(st.integers(0, 3)))
def test_a_user_who_clicks_on_some_ranks_prefers_neither_ranker_on_average(
    method: str, rankings: Rankings, ranks: set[int]
) -> None:
    """Not only the credits of each rank are fair, but also their ratio, which is what is tested."""
    found = preferences_of(method, rankings, 4, ranks)
    assert sum(chance * (value or 0.0) for chance, value in found) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("method", ["team-draft", "balanced"])
@given(rankings=st.fixed_dictionaries({"old": FEW, "new": FEW}), ranks=st.sets(st.integers(0, 3)))
def test_opposite_preferences_of_such_a_user_are_equally_likely(
    method: str, rankings: Rankings, ranks: set[int]
) -> None:
    """The sign test and Wilcoxon's test need it; probabilistic credit does not have it."""
    chances: dict[float, float] = {}
    for chance, value in preferences_of(method, rankings, 4, ranks):
        chances[round(value or 0.0, 9)] = chances.get(round(value or 0.0, 9), 0.0) + chance
    assert all(chances.get(-value, 0.0) == pytest.approx(chance) for value, chance in chances.items())
