"""Two results that are not comparable: each reason is caught and named."""

from dataclasses import replace
from typing import Any

import pytest

from assay.core.records import Experiment, Metric
from assay.evaluation.comparability import ComparabilityReason, comparability_reasons, find_counterpart
from assay.store.provenance import POLICY
from assay.views.trends import describe_reason


def make_experiment(*measures: str, n: int = 40, **fields: Any) -> Experiment:
    """An experiment with these measures, on the same data by the same policy as all others."""
    metrics = tuple(Metric(name, "", "", 0.5, 0.4, 0.6, n) for name in measures or ("nDCG@10", "P@10"))
    settings = {"digests": {"qrels": "a" * 32, "queries": "b" * 32}, "policy": POLICY, "metrics": metrics}
    return Experiment("x", **{**settings, **fields})


def blocking_reasons(a: Experiment, b: Experiment, measure: str | None = None) -> list[ComparabilityReason]:
    return [reason for reason in comparability_reasons(a, b, measure) if reason.blocks]


def test_the_same_way_of_measuring_is_comparable() -> None:
    assert comparability_reasons(make_experiment(), make_experiment()) == []
    assert (
        comparability_reasons(make_experiment(), make_experiment(configuration={"ef": 80}), "nDCG@10") == []
    )


@pytest.mark.parametrize("measure", [None, "P@10"])
def test_another_dataset_is_caught_and_named(measure: str | None) -> None:
    (result,) = blocking_reasons(
        make_experiment(), make_experiment(digests={"qrels": "c" * 32, "queries": "b" * 32}), measure
    )
    assert result.aspect == "judgments"
    assert (result.first, result.second) == ("a" * 32, "c" * 32)
    assert describe_reason(result) == "judgments: aaaaaaaa and cccccccc"


@pytest.mark.parametrize("measure", [None, "P@10"])
@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("formulas", 2, "version of the formulas"),
        ("ties", "smaller document id", "tie policy"),
        ("missing", "left out", "what a query missing from the run counts"),
    ],
)
def test_another_way_of_measuring_is_caught_and_named(
    key: str, value: Any, what: str, measure: str | None
) -> None:
    (result,) = blocking_reasons(make_experiment(), make_experiment(policy=POLICY | {key: value}), measure)
    assert result.aspect == what
    assert (result.first, result.second) == (str(POLICY[key]), str(value))
    assert describe_reason(result).startswith(f"{what}: ")


@pytest.mark.parametrize("measure", [None, "P@10"])
def test_another_relevance_threshold_is_caught_and_named(measure: str | None) -> None:
    (result,) = blocking_reasons(
        make_experiment("nDCG@10", "P@10"), make_experiment("nDCG@10", "P(rel=2)@10"), measure
    )
    assert result.aspect == "relevance threshold"
    assert (result.first, result.second) == ("rel=1", "rel=2")
    assert describe_reason(result) == "relevance threshold of P: rel=1 and rel=2 (P@10 and P(rel=2)@10)"


def test_the_threshold_is_named_in_the_order_of_the_two() -> None:
    (result,) = blocking_reasons(make_experiment("P(rel=2)@10"), make_experiment("P@10"), "P@10")
    assert (result.first, result.second) == ("rel=2", "rel=1")


@pytest.mark.parametrize(
    ("first", "second", "what", "ends"),
    [
        ("nDCG@10", "nDCG(gain='exp')@10", "gain", ("gain=linear", "gain=exp")),
        ("Robustness(delta=0.3)@10", "Robustness(delta=0.5)@10", "delta", ("delta=0.3", "delta=0.5")),
    ],
)
def test_other_parameters_are_named_by_themselves(
    first: str, second: str, what: str, ends: tuple[str, str]
) -> None:
    (result,) = blocking_reasons(make_experiment(first), make_experiment(second))
    assert (result.aspect, (result.first, result.second)) == (what, ends)


def test_what_one_of_them_did_not_measure_cannot_be_compared_by_it() -> None:
    (result,) = blocking_reasons(make_experiment("nDCG@10", "R@10"), make_experiment("nDCG@10"), "R@10")
    assert describe_reason(result) == "R@10: not measured in the second"
    assert blocking_reasons(make_experiment("nDCG@10", "R@10"), make_experiment("nDCG@10")) == []


def test_nothing_in_common_cannot_be_compared() -> None:
    (result,) = blocking_reasons(make_experiment("R@10"), make_experiment("nDCG@10"))
    assert describe_reason(result) == "they have no measure in common"


def test_another_number_of_queries_is_said_once() -> None:
    (result,) = blocking_reasons(make_experiment(n=40), make_experiment(n=38))
    assert describe_reason(result) == "number of queries of nDCG@10: 40 and 38"


def test_other_queries_are_a_note_where_the_judgments_agree() -> None:
    other = make_experiment(digests={"qrels": "a" * 32, "queries": "d" * 32})
    (result,) = comparability_reasons(make_experiment(), other)
    assert (result.aspect, result.kind, result.blocks) == ("queries and their slices", "note", False)


def test_other_queries_block_a_slice() -> None:
    part = Metric("R@10", "category", "faq", 0.5, 0.4, 0.6, 10)
    first = make_experiment(metrics=(part,))
    other = replace(first, digests={"qrels": "a" * 32, "queries": "d" * 32})
    result = comparability_reasons(first, other, "R@10", column="category", value="faq")
    assert [reason.aspect for reason in result if reason.blocks] == ["queries and their slices"]


def test_what_one_does_not_say_cannot_be_known() -> None:
    (result,) = comparability_reasons(make_experiment(), make_experiment(digests={}))
    assert describe_reason(result) == "judgments: cannot be known, the second does not say"
    assert (result.kind, result.blocks) == ("unknown", True)


def test_what_neither_says_is_only_a_doubt() -> None:
    result = comparability_reasons(
        make_experiment(digests={}, policy={}), make_experiment(digests={}, policy={})
    )
    assert {reason.kind for reason in result} == {"unknown"}
    assert not any(reason.blocks for reason in result)
    assert all("neither says" in describe_reason(reason) for reason in result)


def test_a_measure_of_ones_own_is_known_by_its_name_alone() -> None:
    assert find_counterpart("NobodyKnows", ["P@10"]) is None
    assert find_counterpart("P@10", ["NobodyKnows"]) is None
    (result,) = blocking_reasons(make_experiment("NobodyKnows"), make_experiment("P@10"), "NobodyKnows")
    assert describe_reason(result) == "NobodyKnows: not measured in the second"
