"""Who is counted, how sure it is, and what comes out."""

import numpy as np
import pytest
from scipy.stats import binomtest

from assay.core.errors import InputError, UndecidableError
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.evaluation import DEFAULT_MEASURES, evaluate
from tests.reference_measures import QrelsDict, RunDict

QRELS: QrelsDict = {"q1": {"a": 1}, "q2": {"a": 1, "b": 1}, "q3": {"z": 0}, "q4": {"a": 2}}
RUN: RunDict = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 3.0, "b": 2.0}, "q3": {"a": 1.0}, "q9": {"a": 1.0}}
COUNTS = {"judged_queries", "missing_from_run", "unjudged_in_run", "ties_at_cutoff"}  # design/cli.md


def many(n: int = 120, seed: int = 0) -> tuple[QrelsDict, RunDict]:
    rng = np.random.default_rng(seed)
    qrels = {f"q{i}": {f"d{doc}": 1 for doc in rng.permutation(30)[:5]} for i in range(n)}
    run = {query: {f"d{doc}": float(rng.random()) for doc in range(30)} for query in qrels}
    return qrels, run


def test_a_judged_query_missing_from_the_run_counts_zero() -> None:
    result = evaluate(QRELS, RUN, "RR")
    assert result.scores.to_dict()["q4"] == {"RR": 0.0}
    assert result.estimates["RR"].value == (1 + 0.5 + 0 + 0) / 4
    assert result.estimates["RR"].n == 4


def test_a_run_query_that_nobody_judged_is_left_out() -> None:
    result = evaluate(QRELS, RUN, "RR")
    assert list(result.scores.query_ids) == ["q1", "q2", "q3", "q4"]
    assert result.counts.unjudged_in_run == 1


def test_only_common_leaves_missing_queries_out() -> None:
    result = evaluate(QRELS, RUN, ["RR", "ZeroHit@5"], only_common=True, unjudged=True)
    assert list(result.scores.query_ids) == ["q1", "q2", "q3"]
    assert result.estimates["RR"].value == (1 + 0.5 + 0) / 3
    assert len(result.ranges["RR"][0]) == 3
    assert result.counts.missing_from_run == 1


def test_both_counts_are_always_shown() -> None:
    counts = evaluate(QRELS, RUN, "RR").counts
    assert (counts.judged_queries, counts.missing_from_run, counts.unjudged_in_run) == (4, 1, 1)
    assert counts.without_relevant == 1


def test_a_query_with_an_empty_result_is_missing() -> None:
    counts = evaluate({"q1": {"a": 1}, "q2": {"a": 1}}, {"q1": {"a": 1.0}, "q2": {}}, "RR").counts
    assert counts.missing_from_run == 1


def test_a_query_without_judgments_is_not_judged() -> None:
    result = evaluate({"q1": {"a": 1}, "q2": {}}, {"q1": {"a": 1.0}, "q2": {"a": 1.0}}, "RR")
    assert (result.counts.judged_queries, result.counts.unjudged_in_run) == (1, 1)
    assert result.estimates["RR"].value == 1.0


def test_ties_that_cross_a_cutoff_are_counted_by_query() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}, "q4": {"a": 1}}
    run = {
        "q1": {"a": 3.0, "b": 2.0, "c": 2.0},  # crosses 2
        "q2": {"a": 3.0, "b": 3.0, "c": 2.0},  # crosses 1
        "q3": {"a": 3.0, "b": 2.0, "c": 1.0},
        "q9": {"a": 1.0, "b": 1.0, "c": 1.0},  # crosses both, but nobody judged it
    }
    assert evaluate(qrels, run, "P@2").counts.ties_at_cutoff == 1
    assert evaluate(qrels, run, "P@1").counts.ties_at_cutoff == 1
    assert evaluate(qrels, run, ["P@1", "R@2"]).counts.ties_at_cutoff == 2
    assert evaluate(qrels, run, ["P@3", "AP"]).counts.ties_at_cutoff == 0


def test_a_run_that_shares_no_query_cannot_be_decided() -> None:
    with pytest.raises(UndecidableError, match="run 'mine' shares no query with the qrels") as caught:
        evaluate({"q1": {"a": 1}}, Run({"1": {"a": 1.0}}, name="mine"), "RR")
    assert caught.value.exit_code == 3
    assert "expected ids such as q1, found 1;" in str(caught.value)


def test_the_worst_by_a_measure_that_was_not_computed_is_refused() -> None:
    with pytest.raises(InputError, match=r"expected one of the measures .*\(RR\), found nDCG@10"):
        evaluate(QRELS, RUN, "RR").worst("nDCG@10")


@pytest.mark.parametrize("level", [0, 1, 95, -0.5])
def test_a_level_outside_zero_and_one_is_refused(level: float) -> None:
    with pytest.raises(InputError, match="must lie between 0 and 1"):
        evaluate(QRELS, RUN, "RR", level=level)


def test_no_measure_is_refused() -> None:
    with pytest.raises(InputError, match="expected at least one measure"):
        evaluate(QRELS, RUN, [])


def test_a_measure_asked_for_twice_is_given_once() -> None:
    result = evaluate(QRELS, RUN, ["RR", "MRR", "P(rel=1)@5", "P@5"])
    assert list(result.scores.values) == ["RR", "P@5"]


def test_the_default_measures_are_those_of_the_command() -> None:
    assert [str(measure) for measure in evaluate(QRELS, RUN).measures] == list(DEFAULT_MEASURES)


def test_what_is_undefined_is_none_and_not_counted() -> None:
    result = evaluate(QRELS, RUN, ["RCap@5", "ZeroHit@5", "Robustness-0.5@5", "Judged@5"])
    scores = result.scores.to_dict()
    assert scores["q3"]["RCap@5"] is None
    assert scores["q3"]["ZeroHit@5"] is None
    assert scores["q4"]["Judged@5"] is None
    assert {name: e.n for name, e in result.estimates.items()} == {
        "RCap@5": 3,
        "ZeroHit@5": 3,
        "Robustness(delta=0.5)@5": 3,
        "Judged@5": 3,
    }


def test_a_measure_that_no_query_defines_is_none_with_n_zero() -> None:
    estimate = evaluate({"q": {"a": 0}}, {"q": {"a": 1.0}}, "RCap@5").estimates["RCap@5"]
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (None, None, None, 0)


def test_the_plain_form_has_the_keys_that_the_command_prints() -> None:
    result = evaluate(QRELS, Run(RUN, name="mine"), ["RR", "P@5"]).to_dict(per_query=True)
    assert list(result) == ["name", "counts", "mean", "per_query"]
    assert result["name"] == "mine"
    assert set(result["counts"]) == COUNTS | {"without_relevant", "judged_returned"}
    assert list(result["mean"]) == ["RR", "P@5"]
    assert set(result["mean"]["RR"]) == {"value", "low", "high", "n"}
    assert result["per_query"]["q2"] == {"RR": 0.5, "P@5": 0.2}


def test_the_plain_form_has_slices_and_ranges_when_they_were_asked_for() -> None:
    queries = {"query_id": ["q1", "q2"], "kind": ["x", "y"]}
    result = evaluate(QRELS, RUN, "RR", queries, ["kind"], unjudged=True).to_dict()
    assert "per_query" not in result
    assert [(s["column"], s["value"], s["n"]) for s in result["slices"]] == [
        ("kind", "x", 1),
        ("kind", "y", 1),
        ("kind", "(none)", 2),
    ]
    for place in (result, *result["slices"]):
        assert set(place["mean"]["RR"]) == {"value", "low", "high", "n", "unjudged"}
        assert set(place["mean"]["RR"]["unjudged"]) == {"irrelevant", "relevant"}


def test_each_slice_and_each_query_has_its_own_range() -> None:
    queries = {"query_id": ["q1", "q2", "q3", "q4"], "kind": ["x", "y", "y", "y"]}
    result = evaluate(QRELS, RUN, "P@2", queries, ["kind"], unjudged=True)
    assert {part.value: part.unjudged["P@2"] for part in result.slice_estimates} == {
        "x": (0.5, 1.0),
        "y": (pytest.approx(0.5 / 3), pytest.approx((1.0 + 0.5 + 0.0) / 3)),
    }
    ranges = result.to_dict(per_query=True)["per_query_unjudged"]
    assert ranges["q2"] == {"P@2": {"irrelevant": 0.5, "relevant": 1.0}}
    assert ranges["q4"] == {"P@2": {"irrelevant": 0.0, "relevant": 0.0}}


def test_an_evaluation_shows_what_its_estimates_say() -> None:
    result = evaluate(QRELS, Run(RUN, name="mine"), ["RR", "RCap@5", "gmAP", "Quantile(RR, 0.0)"])
    assert repr(result) == (
        "Evaluation('mine', 4 queries: RR 0.3750, RCap@5 0.5000, gmAP 0.0022, Quantile(RR, 0.0) 0.0000)"
    )
    assert result.estimates["gmAP"].value == pytest.approx((1 * 0.25 * 1e-5 * 1e-5) ** 0.25)


def test_the_worst_queries_come_first_and_undefined_ones_never() -> None:
    result = evaluate(QRELS, RUN, ["RR", "RCap@5"])
    assert result.worst(n=2) == [("q3", 0.0), ("q4", 0.0)]
    assert result.worst("RCap@5", n=9) == [("q4", 0.0), ("q2", 0.5), ("q1", 1.0)]
    assert [query for query, _ in result.worst(n=9)] == ["q3", "q4", "q2", "q1"]


def test_no_seed_changes_the_digits() -> None:
    qrels, run = many()
    first = evaluate(qrels, run, ["AP", "gmAP", "Success@3", "Quantile(AP, 0.1)"], seed=3)
    second = evaluate(qrels, run, first.measures, seed=4)
    assert first.to_dict(per_query=True) == second.to_dict(per_query=True)


def test_the_order_of_queries_changes_estimates_no_more_than_chance() -> None:
    qrels, run = many()
    reversed_values = dict(reversed(qrels.items()))
    measures = ["AP", "nDCG@10", "Success@3", "Quantile(AP, 0.1)"]
    first, second = (
        evaluate(qrels, run, measures),
        evaluate(reversed_values, dict(reversed(run.items())), measures),
    )
    assert first.scores.digest == second.scores.digest
    for measure in measures:
        a, b = first.estimates[measure], second.estimates[measure]
        assert a.value == pytest.approx(b.value, rel=1e-12)
        width = (a.high or 0) - (a.low or 0)
        assert abs((a.low or 0) - (b.low or 0)) + abs((a.high or 0) - (b.high or 0)) < 0.2 * width
    assert first.estimates["Success@3"] == second.estimates["Success@3"]
    assert first.estimates["Quantile(AP, 0.1)"] == second.estimates["Quantile(AP, 0.1)"]


def test_shares_get_the_exact_interval_and_means_stay_between_0_and_1() -> None:
    qrels, run = many(40)
    estimates = evaluate(qrels, run, ["Success@3", "R@3"], level=0.9).estimates
    exact = binomtest(round(40 * (estimates["Success@3"].value or 0)), 40).proportion_ci(0.9)
    assert estimates["Success@3"][1:3] == pytest.approx((exact.low, exact.high))
    assert estimates["R@3"].level == 0.9
    assert 0 < (estimates["R@3"].low or 0) < (estimates["R@3"].value or 0) < (estimates["R@3"].high or 0) < 1
    few = evaluate({"a": {"x": 1}, "b": {"x": 1, "y": 1}}, {"a": ["x"], "b": ["x"]}, ["nDCG@10"]).estimates
    assert 0 < (few["nDCG@10"].low or 0) < 0.2
    assert 0.95 < (few["nDCG@10"].high or 0) <= 1.0


def test_a_mean_without_known_bounds_is_marked_if_its_interval_may_be_too_narrow() -> None:
    few = evaluate({"a": {"x": 3}, "b": {"x": 1}}, {"a": ["x"], "b": ["x"]}, ["DCG@10", "nDCG@10"])
    data = few.to_dict()["mean"]
    assert data["DCG@10"]["too_narrow"] is True
    assert list(data["nDCG@10"]) == ["value", "low", "high", "n"]


def test_queries_may_come_as_a_table_of_their_own() -> None:
    queries = Queries({"query_id": ["q1", "q2", "q3", "q4"], "kind": ["x", "x", "y", "y"]})
    result = evaluate(QRELS, RUN, "RR", queries, ["kind"])
    assert [(s.value, s.n, s.estimates["RR"].value) for s in result.slice_estimates] == [
        ("x", 2, 0.75),
        ("y", 2, 0.0),
    ]


def test_the_worst_queries_are_those_with_the_highest_values_where_lower_is_better() -> None:
    result = evaluate({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["a"], "q2": ["x"]}, ["ZeroHit@10"])
    assert result.worst(n=1) == [("q2", 1.0)]


def test_a_collection_brings_its_queries_and_documents() -> None:
    from assay.datasets import Collection

    queries = Queries({"query_id": ["q"], "text": ["reset it"], "team": ["x"]})
    documents = Documents({"doc_id": ["a"], "text": ["Reset it now"]})
    match_result = Collection(queries, Qrels({"q": {"a": 1}}), documents)
    result = evaluate(match_result, {"q": ["a"]}, "RR", by=["team", "intent"])
    assert [part.value for part in result.slice_estimates] == ["x", "exact"]


def test_a_query_table_of_other_queries_is_refused() -> None:
    with pytest.raises(InputError, match="none of the judged queries"):
        evaluate({"q": {"a": 1}}, {"q": ["a"]}, "RR", {"z": "text"}, ["length"])


def test_a_run_may_name_the_queries_by_their_texts() -> None:
    queries = {"q1": "reset my password", "q2": "invoice"}
    run = {"reset my password": ["a"], "something else": ["b"]}
    result = evaluate({"q1": {"a": 1}, "q2": {"b": 1}}, run, "RR", queries)
    assert result.scores.to_dict() == {"q1": {"RR": 1.0}, "q2": {"RR": 0.0}}
    assert (result.counts.missing_from_run, result.counts.unjudged_in_run) == (1, 1)
