"""Every measure against a tiny version of itself, on rankings of all kinds."""

import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given

from assay.core.errors import MeasureError
from assay.evaluation import evaluate
from assay.measures import DEFINITIONS, parse
from tests.reference_measures import (
    REFERENCE_MEASURES,
    QrelsAndRun,
    QrelsDict,
    RunDict,
    qrels_and_runs,
    quick,
    rank_documents,
    reference_value,
    returned_grades,
)

BINARY = ("P", "R", "F", "RR", "AP")
CUT = ("P@{}", "R@{}", "RCap@{}", "F@{}", "Success@{}", "RR@{}", "AP@{}", "DCG@{}", "nDCG@{}", "ERR@{}")
ALL = (
    *(text.format(k) for text in CUT for k in (1, 3, 10, 100)),
    *(*BINARY, "gmAP", "DCG", "nDCG", "Rprec", "bpref", "infAP", "ERR", "RBP", "Judged"),
    *(f"{name}(rel=2)" for name in (*BINARY, "gmAP", "Rprec", "bpref", "infAP", "11pt")),
    *(f"{name}(rel=3)@4" for name in (*BINARY, "RCap", "Success", "ZeroHit")),
    *("DCG(gain='exp')", "nDCG(gain='exp')", "DCG(gain='exp')@3", "nDCG(gain='exp')@3"),
    *("F(beta=0.5)", "F(beta=2.0)@3", "F(rel=2, beta=3.0)@5"),
    *("ERR(max_grade=2)", "ERR(max_grade=4)@3", "ERR(max_grade=1)@10"),
    *("RBP(p=0.5)", "RBP(p=0.8)@3", "RBP(rel=1)", "RBP(rel=2, p=0.95)@5"),
    *("RBPResidual", "RBPResidual(p=0.5)"),
    *(f"IPrec@{level / 10}" for level in range(11)),
    *("IPrec(rel=2)@0.5", "11pt", "Judged@1", "Judged@3", "Judged@100", "ZeroHit@1", "ZeroHit@3"),
    *(f"Robustness(delta={delta})@{k}" for delta in (0.01, 0.3, 0.5, 0.7, 1.0) for k in (1, 3, 10)),
    *("Quantile(R@3, 0.05)", "Quantile(Judged@3)", "Quantile(nDCG(gain='exp')@3, 0.9)"),
)
SOME_WORLD: QrelsAndRun = (
    {"q1": {"a": 3, "b": 0, "c": 1, "d": -1, "e": 2}, "q2": {"a": 0}, "q3": {"x": 1, "y": 2}, "q4": {"z": 1}},
    {"q1": {"b": 2.0, "a": 2.0, "u": 2.0, "e": 1.0, "d": 0.5}, "q2": {"a": 1.0}, "q3": {"v": 2.0, "y": 1.0}},
)


def assert_brute(qrels_and_run: QrelsAndRun, measures: Iterable[str]) -> None:
    qrels, run = qrels_and_run
    result = evaluate(qrels, run, measures)
    for query, scores in result.scores.to_dict().items():
        for measure, match_result in scores.items():
            target = reference_value(measure, qrels, run, query)
            assert match_result == (None if target is None else pytest.approx(target, abs=1e-12)), (
                query,
                measure,
            )


def test_every_measure_has_a_tiny_version() -> None:
    tried = {parse(text).name for text in ALL}
    ours = {name for name, result in DEFINITIONS.items() if not hasattr(result.formula, "own")}
    assert set(REFERENCE_MEASURES) | {"Quantile"} == ours == tried


@quick
@given(qrels_and_runs(lowest=-2, highest=4))
def test_every_measure_is_its_tiny_version(qrels_and_run: QrelsAndRun) -> None:
    assert_brute(qrels_and_run, ALL)


@pytest.mark.parametrize("measure", ALL)
def test_every_measure_alone_is_what_it_is_among_many(measure: str) -> None:
    assert_brute(SOME_WORLD, [measure])


@quick
@given(qrels_and_runs(lowest=-1))
def test_gm_ap_is_the_geometric_mean_of_values_not_below_a_hundred_thousandth(
    qrels_and_run: QrelsAndRun,
) -> None:
    qrels, run = qrels_and_run
    values = [max(reference_value("AP", qrels, run, query) or 0, 1e-5) for query in qrels]
    target = math.prod(values) ** (1 / len(values))
    assert evaluate(qrels, run, "gmAP").estimates["gmAP"].value == pytest.approx(target, rel=1e-12)


@quick
@given(qrels_and_runs(lowest=-1))
def test_a_quantile_is_the_least_value_that_enough_queries_do_not_exceed(qrels_and_run: QrelsAndRun) -> None:
    qrels, run = qrels_and_run
    expected_values = sorted(reference_value("R@3", qrels, run, query) or 0.0 for query in qrels)
    for q in (0.0, 0.05, 0.25, 0.5, 0.75, 0.99, 1.0):
        target = next(
            v
            for v in expected_values
            if sum(x <= v for x in expected_values) >= q * len(expected_values) - 1e-9
        )
        measure = f"Quantile(R@3, {q})"
        estimates = evaluate(qrels, run, measure).estimates
        assert estimates[str(parse(measure))].value == pytest.approx(target, abs=1e-12)


def unjudged_become(grade: int, depth: int | None, qrels: QrelsDict, run: RunDict) -> QrelsDict:
    """The qrels, had somebody given this grade to the unjudged documents down to the depth."""
    result = {query: dict(docs) for query, docs in qrels.items()}
    for query, docs in result.items():
        top = rank_documents(run.get(query, {}))[:depth]
        docs.update({doc: grade for doc in top if docs.get(doc, -1) < 0})
    return result


@quick
@given(qrels_and_runs(lowest=-1))
def test_the_range_of_the_unjudged_supposes_all_irrelevant_and_all_relevant(
    qrels_and_run: QrelsAndRun,
) -> None:
    qrels, run = qrels_and_run
    result = evaluate(qrels, run, ALL, unjudged=True)
    top = max(grade for docs in qrels.values() for grade in docs.values())
    for measure in result.measures:
        best = max(top, measure.params.get("of", measure).params.get("rel") or 1)
        for grade, match_result in zip((0, best), result.ranges[str(measure)], strict=True):
            supposed = unjudged_become(grade, measure.depth, qrels, run)
            target = [reference_value(measure, supposed, run, query) for query in qrels]
            expected = np.array([np.nan if v is None else v for v in target])
            np.testing.assert_allclose(match_result, expected, atol=1e-12, err_msg=str(measure))


def test_the_range_is_summed_up_as_the_measure_is() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1, "b": 0}}
    run = {"q1": {"x": 2.0, "a": 1.0}, "q2": {"a": 2.0, "b": 1.0}}
    result = evaluate(qrels, run, ["P@2", "RR", "Success@1", "Quantile(P@2, 0.0)"], unjudged=True)
    assert result.unjudged["P@2"] == (0.5, 0.75)
    assert result.unjudged["RR"] == (0.75, 1.0)
    assert result.unjudged["Success@1"] == (0.5, 1.0)
    assert result.unjudged["Quantile(P@2, 0.0)"] == (0.5, 0.5)


def test_no_range_is_given_unless_it_is_asked_for() -> None:
    assert evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "RR").unjudged == {}


def test_err_keeps_its_digits_over_many_queries() -> None:
    rng = np.random.default_rng(1)
    docs = [f"d{i}" for i in range(10)]
    qrels = {f"q{q}": dict(zip(docs, rng.integers(0, 4, 10).tolist(), strict=True)) for q in range(5000)}
    run = {query: {doc: float(-i) for i, doc in enumerate(docs)} for query in qrels}
    result = evaluate(qrels, run, "ERR@10").scores["ERR@10"]
    for row in (0, 2500, 4999):
        assert result[row] == pytest.approx(reference_value("ERR@10", qrels, run, f"q{row}"), abs=1e-11)


def test_a_ranking_of_nothing_known_has_no_grades() -> None:
    assert returned_grades({"q": {"a": 1}}, {}, "q") == []
    assert evaluate({"q": {"a": 1}, "p": {"a": 1}}, {"p": {"a": 1.0}}, "Judged@5").scores.to_dict() == {
        "q": {"Judged@5": None},
        "p": {"Judged@5": 1.0},
    }


def test_very_high_grades_have_an_err_and_no_exponential_gain() -> None:
    qrels, run = {"q": {"a": 5000, "b": 1}}, {"q": ["b", "a"]}
    assert evaluate(qrels, run, "ERR@10").scores["ERR@10"].tolist() == [0.5]
    for measure in ("nDCG(gain='exp')@10", "DCG(gain='exp')"):
        with pytest.raises(MeasureError, match="a grade of at most 1000, found 5000"):
            evaluate(qrels, run, measure)


def test_f_tends_to_precision_and_to_recall() -> None:
    measures = ["F(beta=1e-200)@2", "P@2", "F(beta=1e200)@2", "R@2"]
    low, p, high, r = evaluate({"q": ["a", "c", "d"]}, {"q": ["a", "b"]}, measures).scores.values.values()
    assert (low.tolist(), high.tolist()) == (p.tolist(), r.tolist())
