"""Means of the population that judged queries were drawn from."""

import pytest

from assay.core.errors import InputError, UndecidableError
from assay.core.tables import Queries
from assay.evaluation import evaluate
from tests.reference_measures import QrelsDict, RunDict

QRELS: QrelsDict = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}, "q4": {"a": 1}}
RUN: RunDict = {"q1": {"a": 1.0}, "q2": {"x": 1.0}, "q3": {"a": 1.0}, "q4": {"x": 2.0, "a": 1.0}}


def table(**columns: list[object]) -> Queries:
    return Queries({"query_id": ["q1", "q2", "q3", "q4"][: len(next(iter(columns.values())))], **columns})


def test_means_are_weighted_by_one_over_the_probability() -> None:
    queries = table(inclusion_probability=[0.5, 0.25, 0.5, 1.0])
    result = evaluate(QRELS, RUN, ["RR"], queries, population="queries")
    assert result.estimates["RR"].value == pytest.approx((2 * 1 + 4 * 0 + 2 * 1 + 1 * 0.5) / 9)
    assert result.to_dict()["weights"]["total"] == 9
    assert "0.5000" in repr(result)


def test_slices_and_ranges_are_weighted_too() -> None:
    queries = table(inclusion_probability=[0.5, 0.25, 0.5, 1.0], kind=["a", "a", "b", "b"])
    result = evaluate(QRELS, RUN, ["P@1"], queries, ["kind"], population="queries", unjudged=True)
    assert [part.estimates["P@1"].value for part in result.slice_estimates] == pytest.approx([1 / 3, 2 / 3])
    assert result.unjudged["P@1"] == pytest.approx((4 / 9, 1.0))


def test_traffic_weights_by_frequency() -> None:
    queries = table(inclusion_probability=[0.5, 0.25, 0.5, 1.0], frequency=[10, 1, 1, 1])
    value = evaluate(QRELS, RUN, ["RR"], queries, population="traffic").estimates["RR"].value
    assert value == pytest.approx((20 + 2 + 0.5) / (20 + 4 + 2 + 1))
    whole = evaluate(QRELS, RUN, ["RR"], table(frequency=[10, 1, 1, 1]), population="traffic")
    assert whole.estimates["RR"].value == pytest.approx((10 + 1 + 0.5) / 13)


def test_judged_queries_outside_the_sample_are_left_out() -> None:
    queries = table(inclusion_probability=[0.5, 0.25], kind=["a", "b"])
    result = evaluate(QRELS, RUN, ["RR"], queries, ["kind"], population="queries")
    assert list(result.scores.query_ids) == ["q1", "q2"]
    assert result.estimates["RR"].value == pytest.approx(2 / 6)
    assert [part.value for part in result.slices] == ["a", "b"]
    assert result.warnings[0].startswith("2 judged queries are not in the sample")


def test_equal_probabilities_change_no_number() -> None:
    plain = evaluate(QRELS, RUN, ["RR", "Success@1"])
    equal = evaluate(
        QRELS, RUN, ["RR", "Success@1"], table(inclusion_probability=[0.2] * 4), population="queries"
    )
    assert equal.estimates == plain.estimates
    assert "weights" not in equal.to_dict()
    assert equal.warnings == plain.warnings


def test_without_weights_unequal_probabilities_are_a_warning() -> None:
    result = evaluate(QRELS, RUN, ["RR"], table(inclusion_probability=[0.5, 0.25, 0.5, 1.0]))
    assert result.estimates == evaluate(QRELS, RUN, ["RR"]).estimates
    assert "not weighted" in result.warnings[0]


def test_only_common_and_a_sample_work_together() -> None:
    queries = table(inclusion_probability=[0.5, 0.25, 0.5])
    run: RunDict = {query: RUN[query] for query in ("q2", "q3", "q4")}
    result = evaluate(QRELS, run, ["RR"], queries, population="queries", only_common=True)
    assert list(result.scores.query_ids) == ["q2", "q3"]
    assert result.estimates["RR"].value == pytest.approx(2 / 6)


@pytest.mark.parametrize("chance", [0, 1.5, "x", True, -0.1])
def test_a_wrong_probability_is_refused(chance: object) -> None:
    with pytest.raises(InputError, match="above 0, at most 1"):
        evaluate(QRELS, RUN, ["RR"], table(inclusion_probability=[chance, 1, 1, 1]), population="queries")


def test_what_is_missing_is_named() -> None:
    with pytest.raises(InputError, match="the population must be one of"):
        evaluate(QRELS, RUN, ["RR"], population="all")
    with pytest.raises(InputError, match="column frequency"):
        evaluate(QRELS, RUN, ["RR"], table(inclusion_probability=[0.5] * 4), population="traffic")
    with pytest.raises(InputError, match="frequency of query 'q2'"):
        evaluate(QRELS, RUN, ["RR"], table(frequency=[1, 0, 1, 1]), population="traffic")
    with pytest.raises(UndecidableError, match="none of the judged queries"):
        evaluate(QRELS, RUN, ["RR"], table(inclusion_probability=[None] * 4), population="queries")
