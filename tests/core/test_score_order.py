"""The order of a run by its scores."""

from pathlib import Path

from assay import evaluate
from assay.core.score_order import ScoreOrder
from assay.core.tables import Run
from assay.datasets import open_run

QRELS = {"q1": {"a": 1}, "q2": {"b": 1}}
DISTANCES = {"q1": {"a": 0.1, "x": 0.5}, "q2": {"x": 0.9, "b": 0.2}}


def test_the_lowest_score_is_the_first_if_lower_is_better() -> None:
    order = ScoreOrder(lower_is_better=True)
    assert evaluate(QRELS, DISTANCES, ["RR"]).estimates["RR"].value == 0.5
    assert evaluate(QRELS, DISTANCES, ["RR"], order=order).estimates["RR"].value == 1.0


def test_one_run_of_several_can_have_its_own_order() -> None:
    run = ScoreOrder(lower_is_better=True).apply(Run(DISTANCES, name="distances"))
    assert run.name == "distances"
    assert evaluate(QRELS, run, ["RR"]).estimates["RR"].value == 1.0


def test_scores_that_are_equal_in_single_precision_are_ties() -> None:
    run = {"q1": {"a": 1.00000001, "x": 1.0}, "q2": {"b": 1e300, "x": 1e290}}
    single = evaluate(QRELS, run, ["RR"], order=ScoreOrder(single_precision=True))
    assert evaluate(QRELS, run, ["RR"]).estimates["RR"].value == 1.0
    assert single.scores["RR"].tolist() == [0.5, 0.5]  # the larger id is first


def test_a_file_is_ordered_in_the_same_way_as_a_table(tmp_path: Path) -> None:
    path = tmp_path / "distances.run"
    path.write_text("q1 Q0 a 1 0.1 t\nq1 Q0 x 2 0.5 t\nq2 Q0 x 2 0.9 t\nq2 Q0 b 1 0.2 t\n")
    order = ScoreOrder(lower_is_better=True)
    assert evaluate(QRELS, open_run(path), ["RR"], order=order).estimates["RR"].value == 1.0
