"""Unjudged documents at the top, and systems that the pool favours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.core.tables import Qrels, Run
from assay.datasets import open_run, read
from assay.evaluation import evaluate
from assay.judging.checks import INFO, WARNING, EvaluationSet, RunTop
from assay.judging.checks.faults.false_negatives import find
from tests.judging.checks.evaluation_sets import clean_set, kinds

QUERIES = [f"q{i}" for i in range(30)]


def biased_set() -> EvaluationSet:
    """Return a set that was pooled from run a alone; run b returns as many others."""
    qrels = Qrels({q: {f"a{i}": i % 2 for i in range(10)} for q in QUERIES})
    first = Run({q: {f"a{i}": float(-i) for i in range(10)} for q in QUERIES}, name="a")
    second = Run(
        {q: {f"{'ab'[i % 2]}{i}": float(-i) for i in range(10 if q != "q0" else 9)} for q in QUERIES},
        name="b",
    )
    return EvaluationSet(qrels, runs=[RunTop.from_run(first), RunTop.from_run(second)])


def test_a_run_that_the_pool_lacks_is_found_with_its_judged_share() -> None:
    findings = {finding.kind: finding for finding in find(biased_set())}
    risk, bias = findings["false_negative_risk"], findings["pool_bias"]
    assert risk.severity == bias.severity == WARNING
    assert "judged shares: b 50" in risk.message
    assert risk.count == 29 * 5 + 4
    assert risk.examples[0]["run"] == "b"
    assert (bias.examples[0]["favoured"], bias.examples[0]["other"]) == ("a", "b")
    assert bias.examples[0]["difference"]["value"] == pytest.approx(0.5, abs=0.01)


def test_runs_that_are_judged_alike_show_no_bias() -> None:
    findings = list(find(clean_set(7, runs=3)))
    assert "pool_bias" not in kinds(findings)
    assert all(finding.severity == INFO for finding in findings)


def test_leaving_a_run_out_is_the_score_without_its_own_labels() -> None:
    qrels = Qrels({q: {"x": 1, "y": 1, "z": 0} for q in QUERIES})
    first = Run({q: {"x": 2.0, "z": 1.0} for q in QUERIES}, name="first")
    second = Run({q: {"y": 2.0, "z": 1.0} for q in QUERIES}, name="second")
    data = EvaluationSet(qrels, runs=[RunTop.from_run(first), RunTop.from_run(second)])
    effect = next(f for f in find(data) if f.kind == "leave_one_run_out")
    with_own = evaluate(qrels, first, ["nDCG@10"]).estimates["nDCG@10"].value or 0
    without = Qrels({q: {"y": 1, "z": 0} for q in QUERIES})
    expected = with_own - (evaluate(without, first, ["nDCG@10"]).estimates["nDCG@10"].value or 0)
    assert effect.examples[0]["loss"]["value"] == pytest.approx(expected)
    assert (effect.severity, effect.count) == (INFO, 60)


def test_submitted_runs_of_trec_are_judged_to_rank_10_and_not_to_100(shared: Path) -> None:
    folder = shared / "trec_dl2019"
    qrels = read(folder / "2019qrels-pass.txt", "qrels")
    runs = [RunTop.from_run(open_run(folder / f"input.{name}.gz")) for name in ("bm25base_p", "p_bert")]
    data = EvaluationSet(qrels, runs=runs)
    assert kinds(find(data)) == ["leave_one_run_out"]
    deeper = {finding.kind: finding for finding in find(replace(data, k=100))}
    assert deeper["false_negative_risk"].severity == WARNING


def test_without_runs_nothing_is_known() -> None:
    assert not list(find(EvaluationSet(Qrels({"q": {"a": 1}}))))
    other = RunTop.from_run(Run({"p": {"a": 1.0}}))
    assert not list(find(EvaluationSet(Qrels({"q": {"a": 1}}), runs=[other])))
