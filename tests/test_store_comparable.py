"""Two results that are not comparable: each reason is caught and named."""

from dataclasses import replace
from typing import Any

import pytest

from assay.core.records import Experiment, Metric
from assay.core.trends import Reason
from assay.store.comparable import counterpart, reasons
from assay.store.saving import POLICY


def measured(*measures: str, n: int = 40, **fields: Any) -> Experiment:
    """An experiment with these measures, on the same data by the same policy as all others."""
    metrics = tuple(Metric(name, "", "", 0.5, 0.4, 0.6, n) for name in measures or ("nDCG@10", "P@10"))
    given = {"digests": {"qrels": "a" * 32, "queries": "b" * 32}, "policy": POLICY, "metrics": metrics}
    return Experiment("x", **{**given, **fields})


def blocking(a: Experiment, b: Experiment, measure: str | None = None) -> list[Reason]:
    return [reason for reason in reasons(a, b, measure) if reason.blocks]


def test_the_same_way_of_measuring_is_comparable() -> None:
    assert reasons(measured(), measured()) == []
    assert reasons(measured(), measured(configuration={"ef": 80}), "nDCG@10") == []


@pytest.mark.parametrize("measure", [None, "P@10"])
def test_another_dataset_is_caught_and_named(measure: str | None) -> None:
    (found,) = blocking(measured(), measured(digests={"qrels": "c" * 32, "queries": "b" * 32}), measure)
    assert found.what == "judgments"
    assert (found.first, found.second) == ("a" * 32, "c" * 32)
    assert found.text == "judgments: aaaaaaaa and cccccccc"


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
    (found,) = blocking(measured(), measured(policy=POLICY | {key: value}), measure)
    assert found.what == what
    assert (found.first, found.second) == (str(POLICY[key]), str(value))
    assert found.text.startswith(f"{what}: ")


@pytest.mark.parametrize("measure", [None, "P@10"])
def test_another_relevance_threshold_is_caught_and_named(measure: str | None) -> None:
    (found,) = blocking(measured("nDCG@10", "P@10"), measured("nDCG@10", "P(rel=2)@10"), measure)
    assert found.what == "relevance threshold"
    assert (found.first, found.second) == ("rel=1", "rel=2")
    assert found.text == "relevance threshold of P: rel=1 and rel=2 (P@10 and P(rel=2)@10)"


def test_the_threshold_is_named_in_the_order_of_the_two() -> None:
    (found,) = blocking(measured("P(rel=2)@10"), measured("P@10"), "P@10")
    assert (found.first, found.second) == ("rel=2", "rel=1")


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
    (found,) = blocking(measured(first), measured(second))
    assert (found.what, (found.first, found.second)) == (what, ends)


def test_what_one_of_them_did_not_measure_cannot_be_compared_by_it() -> None:
    (found,) = blocking(measured("nDCG@10", "R@10"), measured("nDCG@10"), "R@10")
    assert found.text == "R@10: not measured in the second"
    assert blocking(measured("nDCG@10", "R@10"), measured("nDCG@10")) == []


def test_nothing_in_common_cannot_be_compared() -> None:
    (found,) = blocking(measured("R@10"), measured("nDCG@10"))
    assert found.text == "they have no measure in common"


def test_another_number_of_queries_is_said_once() -> None:
    (found,) = blocking(measured(n=40), measured(n=38))
    assert found.text == "number of queries of nDCG@10: 40 and 38"


def test_other_queries_are_a_note_where_the_judgments_agree() -> None:
    other = measured(digests={"qrels": "a" * 32, "queries": "d" * 32})
    (found,) = reasons(measured(), other)
    assert (found.what, found.kind, found.blocks) == ("queries and their slices", "note", False)


def test_other_queries_block_a_slice() -> None:
    part = Metric("R@10", "category", "faq", 0.5, 0.4, 0.6, 10)
    first = measured(metrics=(part,))
    other = replace(first, digests={"qrels": "a" * 32, "queries": "d" * 32})
    found = reasons(first, other, "R@10", column="category", value="faq")
    assert [reason.what for reason in found if reason.blocks] == ["queries and their slices"]


def test_what_one_does_not_say_cannot_be_known() -> None:
    (found,) = reasons(measured(), measured(digests={}))
    assert found.text == "judgments: cannot be known, the second does not say"
    assert (found.kind, found.blocks) == ("unknown", True)


def test_what_neither_says_is_only_a_doubt() -> None:
    found = reasons(measured(digests={}, policy={}), measured(digests={}, policy={}))
    assert {reason.kind for reason in found} == {"unknown"}
    assert not any(reason.blocks for reason in found)
    assert all("neither says" in reason.text for reason in found)


def test_a_measure_of_ones_own_is_known_by_its_name_alone() -> None:
    assert counterpart("NobodyKnows", ["P@10"]) is None
    assert counterpart("P@10", ["NobodyKnows"]) is None
    (found,) = blocking(measured("NobodyKnows"), measured("P@10"), "NobodyKnows")
    assert found.text == "NobodyKnows: not measured in the second"
