"""Reasons to doubt that the scores of a run order its documents as its system did."""

from pathlib import Path

import pytest

from assay import compare, evaluate, failures, gate
from assay.core.score_order import ScoreOrder
from assay.datasets import open_run, read

LOWER = ScoreOrder(lower_is_better=True)
QRELS = {"q1": {"d1": 1}, "q2": {"d1": 1}}


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def trec_lines(scores: list[float]) -> str:
    rows = [f"q{q} Q0 d{rank} {rank} {score} t" for q in (1, 2) for rank, score in enumerate(scores, 1)]
    return "\n".join(rows)


def test_scores_that_rise_with_the_rank_are_reported_with_the_remedy(tmp_path: Path) -> None:
    path = write(tmp_path / "a.run", trec_lines([0.1, 0.2, 0.4]))
    result = evaluate(QRELS, open_run(path), ["RR"])
    assert len(result.warnings) == 1
    assert result.warnings[0].startswith("its scores contradict its rank column in 4 of the first 4 pairs")
    assert "--lower-is-better" in result.warnings[0]
    assert "run:rank=rank" in result.warnings[0]
    assert "warning: its scores contradict" in repr(result)


def test_the_remedies_give_the_order_of_the_ranks_and_no_warning(tmp_path: Path) -> None:
    path = write(tmp_path / "a.run", trec_lines([0.1, 0.2, 0.4]))
    lower = evaluate(QRELS, open_run(path), ["RR"], order=LOWER)
    by_rank = evaluate(QRELS, open_run(path, columns={"rank": "rank"}), ["RR"])
    assert lower.estimates["RR"].value == by_rank.estimates["RR"].value == 1.0
    assert not lower.warnings
    assert not by_rank.warnings
    assert read(path, "run", columns={"rank": "rank"}).to_dict()["q1"] == {"d1": -1, "d2": -2, "d3": -3}


def test_an_order_that_contradicts_the_ranks_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "a.run", trec_lines([3.0, 2.0, 1.0]))
    assert not evaluate(QRELS, open_run(path), ["RR"]).warnings
    assert "leave out --lower-is-better" in evaluate(QRELS, open_run(path), ["RR"], order=LOWER).warnings[0]


def test_some_contradicting_ranks_are_reported_and_rows_in_any_order_are_not(tmp_path: Path) -> None:
    path = write(tmp_path / "kept-scores.run", trec_lines([5.0, 4.0, 4.5, 3.0]))
    assert "in 2 of the first 6 pairs" in evaluate(QRELS, open_run(path), ["RR"]).warnings[0]
    reverse = write(tmp_path / "a.run", "\n".join(reversed(trec_lines([9.0, 8, 7, 6, 5, 4, 3]).split("\n"))))
    assert not evaluate(QRELS, open_run(reverse), ["RR"]).warnings


def test_constant_scores_are_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "a.run", trec_lines([1.0, 1.0, 1.0]))
    warnings = evaluate(QRELS, open_run(path), ["RR"]).warnings
    assert len(warnings) == 1
    assert warnings[0].startswith("in 2 of 2 queries all documents have the same score")
    assert not evaluate(QRELS, {"q1": {"d1": 1.0}}, ["RR"]).warnings


def test_rows_from_the_worst_score_to_the_best_are_reported_without_ranks() -> None:
    run = {q: {f"d{place}": place / 10 for place in range(1, 8)} for q in QRELS}
    assert evaluate(QRELS, run, ["RR"]).warnings[0].startswith("its rows are listed from the worst score")
    assert not evaluate(QRELS, {"q1": {"d2": 0.1, "d1": 0.3}}, ["RR"]).warnings  # too few to say


def test_comparisons_failures_and_verdicts_have_the_warnings_and_the_order() -> None:
    run = {q: {f"d{place}": place / 10 for place in range(1, 8)} for q in QRELS}
    rules = {"rules": [{"measure": "RR", "at_least": 0.9}]}
    assert all(e.warnings for e in compare(QRELS, run, run, ["RR"]).evaluations)
    assert failures(QRELS, run, "RR").evaluation.warnings
    assert all(e.warnings for e in gate(rules, QRELS, run, run).evaluations)
    assert compare(QRELS, run, run, ["RR"], order=LOWER).find("RR").baseline == 1.0
    assert not failures(QRELS, run, "RR", order=LOWER, exact=run).failing
    verdict = gate(rules, QRELS, run, order=LOWER)
    assert verdict.evaluations[0].estimates["RR"].value == 1.0


@pytest.mark.parametrize("run", ["bm25base_p", "p_bert", "ICT-BERT2"])
def test_submitted_runs_give_no_warning(shared: Path, run: str) -> None:
    folder = shared / "trec_dl2019"
    qrels = read(folder / "2019qrels-pass.txt", "qrels")
    assert not evaluate(qrels, open_run(folder / f"input.{run}.gz"), ["RR"]).warnings
