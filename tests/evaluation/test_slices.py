"""Which queries belong together."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.tables import Documents
from assay.evaluation import evaluate
from assay.evaluation.slices import frequency_bands, length_band
from tests.reference_measures import quick


def slice_counts(column: str, table: dict[str, list[Any]] | None = None, **options: Any) -> dict[str, int]:
    """How many queries each slice has; query i is named q{i}."""
    count = len(next(iter(table.values()))) if table else 3
    ids = [f"q{i}" for i in range(count)]
    qrels = {query: {"a": 1} for query in ids}
    queries = {"query_id": ids, **table} if table else None
    result = evaluate(qrels, {"q0": {"a": 1.0}}, "RR", queries, [column], **options)
    assert sum(part.n for part in result.slice_estimates) == count
    return {part.value: part.n for part in result.slice_estimates}


def test_any_column_makes_slices_in_a_settled_order() -> None:
    assert slice_counts("kind", {"kind": ["faq", "error", "faq", None]}) == {
        "error": 1,
        "faq": 2,
        "(none)": 1,
    }
    assert list(slice_counts("level", {"level": [10, 2, 1, 2]})) == ["1", "2", "10"]
    assert slice_counts("new", {"new": [True, False, True]}) == {"False": 1, "True": 2}


def test_queries_that_the_table_lacks_are_a_slice_of_their_own() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    result = evaluate(qrels, {"q1": {"a": 1.0}}, "RR", {"query_id": ["q1"], "kind": ["x"]}, ["kind"])
    assert [(part.value, part.n) for part in result.slice_estimates] == [("x", 1), ("(none)", 1)]


def test_several_columns_are_sliced_one_after_the_other() -> None:
    qrels = {"q0": {"a": 1}, "q1": {"a": 1}}
    queries = {"query_id": ["q0", "q1"], "x": ["b", "a"], "y": ["c", "c"]}
    result = evaluate(qrels, {"q0": {"a": 1.0}}, "RR", queries, ["y", "x"])
    match_result = [(part.column, part.value, part.estimates["RR"].value) for part in result.slice_estimates]
    assert match_result == [("y", "c", 0.5), ("x", "a", 0.0), ("x", "b", 1.0)]


def test_slices_rest_on_the_queries_that_are_counted() -> None:
    table = {"query_id": ["q0", "q1"], "x": ["a", "b"]}
    result = evaluate(
        {"q0": {"a": 1}, "q1": {"a": 1}}, {"q1": {"a": 1.0}}, "RR", table, ["x"], only_common=True
    )
    match_result = [(part.value, part.n, part.estimates["RR"].value) for part in result.slice_estimates]
    assert match_result == [("a", 0, None), ("b", 1, 1.0)]


def test_bands_are_the_same_for_every_run_also_over_common_queries() -> None:
    qrels = {f"q{i}": {"a": 1} for i in range(20)}
    table = {"query_id": list(qrels), "frequency": list(range(20, 0, -1))}
    rare = {query: {"a": 1.0} for query in list(qrels)[12:]}
    result = evaluate(qrels, rare, "RR", table, ["frequency"], only_common=True)
    assert [(part.value, part.n) for part in result.slice_estimates] == [
        ("head", 0),
        ("torso", 0),
        ("tail", 8),
    ]


@pytest.mark.parametrize("form", [dict, pl.DataFrame, Documents])
def test_documents_are_a_table_or_a_text_for_each(form: Callable[..., object]) -> None:
    qrels, queries = {"q": {"a": 1}}, {"query_id": ["q"], "text": ["reset"]}
    documents = form({"doc_id": ["a"], "text": ["Reset it"]})
    for form_of_it in (documents, {"a": "Reset it"}):
        result = evaluate(qrels, {"q": ["a"]}, "RR", queries, ["intent"], documents=form_of_it)
        assert [part.value for part in result.slice_estimates] == ["exact"]


def test_head_is_the_top_twentieth_and_tail_the_bottom_half() -> None:
    assert slice_counts("frequency", {"frequency": list(range(100, 0, -1))}) == {
        "head": 5,
        "torso": 45,
        "tail": 50,
    }
    labels = frequency_bands(list(range(100, 0, -1)))
    assert labels == ["head"] * 5 + ["torso"] * 45 + ["tail"] * 50


def test_ties_fall_to_the_rarer_side() -> None:
    assert frequency_bands([9, 9, 9, 1]) == ["tail"] * 4
    assert frequency_bands([5] * 10) == ["tail"] * 10
    assert frequency_bands([9] + [5] * 9) == ["head"] + ["tail"] * 9
    assert frequency_bands([100] * 6 + [50] * 44 + [1] * 50) == ["torso"] * 50 + ["tail"] * 50
    assert frequency_bands([9, 7, 2, 2, 2, 1]) == ["head", "torso", "tail", "tail", "tail", "tail"]


@quick
@given(st.lists(st.integers(1, 30) | st.none(), min_size=1, max_size=60))
def test_equal_frequencies_are_never_parted_and_head_is_never_too_large(counts: list[int | None]) -> None:
    labels = frequency_bands(counts)
    expected_values = [count for count in counts if count is not None]
    by_count = {
        count: {label for c, label in zip(counts, labels, strict=True) if c == count} for count in counts
    }
    assert all(len(result) == 1 for result in by_count.values())
    assert labels.count("head") <= -(-len(expected_values) // 20)
    assert labels.count("tail") >= len(expected_values) / 2
    ranks = [
        ("head", "torso", "tail").index(label)
        for _, label in sorted(zip(expected_values, filter(None, labels), strict=True))
    ]
    assert ranks == sorted(ranks, reverse=True)


def test_frequencies_that_are_missing_belong_nowhere() -> None:
    assert frequency_bands([None, 5, float("nan"), 1]) == [None, "head", None, "tail"]
    assert frequency_bands([None]) == [None]
    assert frequency_bands(["7", "1"]) == ["head", "tail"]


def test_a_frequency_that_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match="the column frequency must be numbers, found 'often'"):
        slice_counts("frequency", {"frequency": [1, "often", 3]})


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("vpn", "1-2 words"),
        ("reset  password", "1-2 words"),
        ("how to reset it", "3-5 words"),
        ("one two three four five six", "6-9 words"),
        ("a b c d e f g h i", "6-9 words"),
        ("a b c d e f g h i j", "10+ words"),
    ],
)
def test_length_is_told_in_words(text: str, label: str) -> None:
    assert length_band(text) == label
    assert length_band(None) is None


def test_lengths_stand_from_short_to_long() -> None:
    texts = ["a b c d e f g h i j", "a b c", "a", "a b c d e f", None]
    assert list(slice_counts("length", {"text": texts})) == [
        "1-2 words",
        "3-5 words",
        "6-9 words",
        "10+ words",
        "(none)",
    ]


def test_a_column_of_the_table_comes_before_one_that_is_made() -> None:
    assert slice_counts("length", {"text": ["a b c", "a"], "length": ["long", "short"]}) == {
        "long": 1,
        "short": 1,
    }


def test_intent_is_exact_where_a_relevant_document_has_every_word() -> None:
    texts = ["Reset the PASSWORD", "forgot my login", "the of", "reset password now", None]
    table: dict[str, list[Any]] = {"text": texts}
    documents = {"a": "How a password is reset: press Reset.", "b": "forgot login"}
    result = slice_counts("intent", table, documents=documents)
    assert result == {"exact": 1, "semantic": 2, "(none)": 2}


def test_intent_looks_at_relevant_documents_that_are_known_only() -> None:
    qrels = {"q1": {"a": 0, "b": 1}, "q2": {"gone": 1}}
    queries = {"query_id": ["q1", "q2"], "text": ["reset", "reset"]}
    documents = Documents({"doc_id": ["a", "b"], "title": ["reset", "Login"], "text": ["", "help"]})
    result = evaluate(qrels, {"q1": {"a": 1.0}}, "RR", queries, ["intent"], documents=documents)
    assert [(part.value, part.n) for part in result.slice_estimates] == [("semantic", 1), ("(none)", 1)]


def test_a_column_of_many_numbers_is_cut_into_quarters() -> None:
    result = slice_counts("age", {"age": list(range(100))})
    assert result == {"0 to 25 (below)": 25, "25 to 50 (below)": 25, "50 to 75 (below)": 25, "75 to 99": 25}
    assert len(slice_counts("age", {"age": list(range(12))})) == 12


@pytest.mark.parametrize("start", [0.0, 1e6, 1e9, -1e7, 1e15])
@pytest.mark.parametrize("step", [1.0, 0.25])
def test_quarters_keep_their_names_apart_and_in_order(start: float, step: float) -> None:
    result = slice_counts("at", {"at": [start + step * i for i in range(40)]})
    assert list(result.values()) == [10, 10, 10, 10]


def test_numbers_that_are_missing_are_in_no_quarter() -> None:
    ages: list[Any] = [float("nan") if i % 4 == 0 else None if i % 4 == 1 else i / 8 for i in range(40)]
    result = slice_counts("age", {"age": ages})
    assert result["(none)"] == 20
    assert len(result) == 5


def test_numbers_that_are_mostly_one_value_make_fewer_slices() -> None:
    result = slice_counts("clicks", {"clicks": [0] * 60 + list(range(1, 41))})
    assert result == {"0 to 16 (below)": 75, "16 to 40": 25}


@pytest.mark.parametrize(
    ("column", "table", "problem"),
    [
        (
            "kind",
            None,
            "slicing by 'kind' needs a query table: --queries (queries= in Python, data.queries in",
        ),
        ("knd", {"kind": ["a"]}, "there is no column 'knd' in the query table; it has kind"),
        ("x", {"text": ["a"]}, "there is no column 'x' in the query table; it has length, intent"),
        (
            "intent",
            {"text": ["a"]},
            "slicing by 'intent' needs the documents' text: give it with --documents",
        ),
        ("length", {"kind": ["a"]}, "there is no column 'length' in the query table; it has kind"),
    ],
)
def test_a_slice_that_cannot_be_made_says_what_it_needs(
    column: str, table: dict[str, list[Any]] | None, problem: str
) -> None:
    with pytest.raises(InputError) as caught:
        slice_counts(column, table)
    assert problem in str(caught.value)


def test_intent_does_not_look_at_case() -> None:
    queries = {"query_id": ["q"], "text": ["Straße sperren"]}
    result = evaluate(
        {"q": {"a": 1}}, {"q": ["a"]}, "RR", queries, "intent", documents={"a": "STRASSE SPERREN"}
    )
    assert result.slice_estimates[0].value == "exact"
