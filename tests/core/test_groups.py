"""The ranking rule: higher score first, then the larger id by its bytes."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.groups import DictGroups, DocIds, Groups, Segments, bisect, order_by_id
from assay.core.parallel import ordered_map
from assay.core.strings import StringColumn
from assay.core.tables import Run
from assay.evaluation import evaluate
from tests.core.test_strings import collision
from tests.reference_measures import IDS, RunDict, quick, rank_documents

SCORES = st.sampled_from([3.0, 1.5, 1.0, 0.0, -0.0, -2.0, float("inf"), float("-inf"), 1e-300]) | st.floats(
    allow_nan=False
)
DOCS = st.sampled_from(IDS) | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
RUNS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(DOCS, SCORES, min_size=1), min_size=1
)

TIED = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from(IDS), st.sampled_from([1.0, 0.5]), min_size=1, max_size=6),
    min_size=1,
)


def as_groups(run: RunDict) -> Groups:
    offsets = np.cumsum([0, *map(len, run.values())])
    ids = StringColumn.from_strings([doc for docs in run.values() for doc in docs])
    return Groups(list(run), offsets, ids, np.array([s for docs in run.values() for s in docs.values()]))


def ranks(segments: Segments, run: RunDict) -> dict[str, dict[str, int]]:
    """Return the rank of every document."""
    pairs = [(place, doc) for place, docs in enumerate(run.values()) for doc in sorted(docs)]
    groups = np.array([place for place, _ in pairs])
    present, rank = segments.rank_documents(
        groups, DocIds(StringColumn.from_strings([doc for _, doc in pairs]))
    )
    assert present.tolist() == list(range(len(pairs)))
    ranks_by_query: dict[str, dict[str, int]] = {query: {} for query in run}
    for (place, doc), number in zip(pairs, rank.tolist(), strict=True):
        ranks_by_query[list(run)[place]][doc] = number
    return ranks_by_query


@quick
@given(RUNS)
def test_ranks_are_those_of_a_sorted_list(run: RunDict) -> None:
    expected = {
        query: {doc: i for i, doc in enumerate(rank_documents(docs), 1)} for query, docs in run.items()
    }
    assert ranks(as_groups(run), run) == expected
    assert ranks(DictGroups(run), run) == expected


@quick
@given(st.lists(DOCS, unique=True, min_size=1, max_size=40))
def test_ties_are_broken_by_the_larger_id_in_byte_order(docs: list[str]) -> None:
    order = order_by_id(StringColumn.from_strings(docs), np.array([0, len(docs)]))
    assert [docs[row] for row in order] == sorted(docs, key=str.encode, reverse=True)


@pytest.mark.parametrize("seed", range(5))
def test_ties_of_long_ids_in_many_queries_are_broken_in_byte_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    docs = ["x" * int(rng.integers(0, 30)) + str(number) for number in range(400)]
    cuts = np.unique(rng.integers(0, 400, 12))
    offsets = np.concatenate(([0], cuts[cuts > 0], [400]))
    order = order_by_id(StringColumn.from_strings(docs), offsets)
    for first, last in pairwise(offsets):
        ids = [docs[row] for row in order[first:last]]
        assert ids == sorted(docs[first:last], key=str.encode, reverse=True)


def test_a_document_that_was_not_returned_has_no_rank() -> None:
    run = {"q1": {"a": 1.0}, "q2": {"b": 1.0}}
    for segments in (as_groups(run), DictGroups(run)):
        present, rank = segments.rank_documents(
            np.array([0, 0, 1]), DocIds(StringColumn.from_strings(["b", "a", "b"]))
        )
        assert (present.tolist(), rank.tolist()) == ([1, 2], [1, 1])


@quick
@given(TIED, st.integers(1, 4))
def test_a_tie_crosses_a_cutoff_if_both_sides_have_the_same_score(run: RunDict, cutoff: int) -> None:
    expected = []
    for docs in run.values():
        scores = sorted(docs.values(), reverse=True)
        expected.append(len(scores) > cutoff and scores[cutoff - 1] == scores[cutoff])
    assert as_groups(run).ties_at([cutoff]).tolist() == expected
    assert DictGroups(run).ties_at([cutoff]).tolist() == expected


@quick
@given(RUNS | TIED, st.integers(1, 9))
def test_the_first_documents_are_those_of_a_sorted_list(run: RunDict, depth: int) -> None:
    expected = [rank_documents(docs)[:depth] for docs in run.values()]
    for segments in (as_groups(run), DictGroups(run)):
        counts, ids = segments.top(np.arange(len(run)), depth)
        assert counts.tolist() == [len(docs) for docs in expected]
        assert ids.tolist() == [doc for docs in expected for doc in docs]


def test_the_first_documents_are_returned_for_the_requested_queries_in_their_order() -> None:
    run = {"q1": {"a": 1.0, "b": 2.0}, "q2": {"c": 1.0, "d": 1.0, "e": 1.0}, "q3": {"f": 1.0}}
    for segments in (as_groups(run), DictGroups(run)):
        for groups, expected in (([2, 0], ["f", "b"]), ([1], ["e"]), ([], [])):
            counts, ids = segments.top(np.array(groups, np.int64), 1)
            assert (counts.tolist(), ids.tolist()) == ([1] * len(groups), expected)


@quick
@given(RUNS | TIED, st.integers(1, 9), st.booleans())
def test_a_match_keeps_the_first_documents_of_each_judged_query(
    run: RunDict, keep: int, scattered: bool
) -> None:
    query_ids = [*reversed(run), "never asked"]
    rows = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    rows = [*rows[::2], *rows[1::2]] if scattered else rows
    frame = pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row")
    for given_run in (run, Run(frame)):
        matches = evaluate({query: {"a": 1} for query in query_ids}, given_run, "RR", keep=keep).matches
        assert matches is not None
        top = [matches.top[place] for place in range(len(query_ids))]
        assert top == [rank_documents(run.get(query, {}))[:keep] for query in query_ids]


def test_a_match_keeps_no_documents_by_default() -> None:
    matches = evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "RR").matches
    assert matches is not None
    assert matches.top[0] == []


def test_documents_with_the_same_key_are_distinguished() -> None:
    short = "doc7"
    long = collision(short)
    run = {"q": {short: 1.0, "other": 2.0, long: 3.0}}
    assert ranks(as_groups(run), run) == {"q": {long: 1, "other": 2, short: 3}}
    present, _ = as_groups({"q": {long: 1.0}}).rank_documents(
        np.array([0]), DocIds(StringColumn.from_strings([short]))
    )
    assert not len(present)


def test_documents_with_the_same_key_are_not_duplicates() -> None:
    short, long = "doc7", collision("doc7")
    assert as_groups({"q": {short: 1.0, long: 2.0}}).find_duplicate() is None
    for docs in ([short, long, short], [long, short, short], [short, long, long], [long, short, long]):
        frame = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": docs, "score": [3.0, 2.0, 1.0]})
        with pytest.raises(ValueError, match="appears twice in query 'q'"):
            Run(frame)


def test_queries_with_the_same_key_are_distinguished() -> None:
    short, long = "query7", collision("query7")
    frame = pl.DataFrame(
        {"query_id": [short, long, short], "doc_id": ["a", "a", "b"], "score": [1.0, 2.0, 3.0]}
    )
    assert Run(frame).to_dict() == {short: {"a": 1.0, "b": 3.0}, long: {"a": 2.0}}
    assert evaluate({long: {"a": 1}}, Run(frame), "RR").estimates["RR"].value == 1.0


@pytest.mark.parametrize("rows", [1, 3, 7, 1000])
def test_blocks_contain_complete_queries_and_every_row(rows: int) -> None:
    run = {f"q{i}": {f"d{j}": float(j) for j in range(1 + i % 4)} for i in range(20)}
    blocks = list(as_groups(run).split(rows))
    sizes = [
        (query, int(length))
        for block in blocks
        for query, length in zip(block.query_ids, block.lengths, strict=True)
    ]
    assert sizes == [(query, len(docs)) for query, docs in run.items()]
    assert [doc for block in blocks for doc in block.ids.tolist()] == [
        d for docs in run.values() for d in docs
    ]


@quick
@given(st.lists(st.integers(0, 9), max_size=20), st.integers(-1, 10))
def test_bisect_finds_the_first_position_that_does_not_precede_the_goal(
    numbers: list[int], goal: int
) -> None:
    values = np.array(sorted(numbers), np.float64)
    positions = bisect(
        values, np.array([0]), np.array([len(values)]), np.array([float(goal)]), lambda v, g: v < g
    )
    assert positions.tolist() == [sum(number < goal for number in numbers)]


def test_results_of_threads_are_in_order() -> None:
    assert list(ordered_map(lambda x: x * x, range(200))) == [x * x for x in range(200)]


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def fails(number: int) -> int:
        return 1 // (number - 50)

    with pytest.raises(ZeroDivisionError):
        list(ordered_map(fails, range(200)))
