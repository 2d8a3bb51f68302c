"""What the labels of a model are worth: published agreement, bias, order of systems, thresholds."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.errors import InputError, UndecidableError
from assay.core.judgments import Judgments
from assay.core.tables import Qrels, Queries, Run
from assay.datasets import read
from assay.datasets.judgment_files import read_judgments
from assay.judging.llm.requirements import check_requirements, parse_requirements
from assay.judging.llm.worth import JudgeWorth, WorthOptions, compute_worth
from assay.measures import parse

HUMAN = {f"q{q}": {f"d{d}": (q + d) % 4 for d in range(6)} for q in range(10)}


def judged(shift: int = 0, human: dict[str, dict[str, int]] = HUMAN) -> Judgments:
    rows = [(q, d, "m", float(min(3, g + shift))) for q, docs in human.items() for d, g in docs.items()]
    return Judgments.from_rows(rows)


def run(name: str, seed: int, noise: float) -> Run:
    rng = np.random.default_rng(seed)
    return Run(
        {q: {d: g + noise * rng.normal() for d, g in docs.items()} for q, docs in HUMAN.items()}, name=name
    )


RUNS = [run(f"s{i}", i, noise) for i, noise in enumerate((0.1, 0.5, 1, 2, 4, 9))]


def worth(judgments: Judgments, **options: Any) -> JudgeWorth:
    return compute_worth(judgments, Qrels(HUMAN), WorthOptions()._replace(**options))


@pytest.mark.parametrize(
    ("labels", "published"),
    [
        ("llm_dev_baseline_qrel_prompt_order__0123", "published_kappa_dev_baseline_qrel_prompt_order__0123"),
        ("llm_llm4eval_dev_qrel_exam_rubric", "published_kappa_llm4eval_dev_qrel_exam_rubric"),
    ],
)
def test_kappa_is_the_published_one(shared: Path, labels: str, published: str) -> None:
    folder = shared / "llmjudge_dev"
    human = read(folder / "llm4eval_dev_qrel_2024.txt", "qrels")
    value = compute_worth(read_judgments(folder / f"{labels}.txt"), human, WorthOptions())
    score = re.search(r"kappa score: ([\d.]+)", (folder / f"{published}.txt").read_text())
    assert score
    assert value.agreement.kappa.value == pytest.approx(float(score[1]), abs=1e-6)


def test_weighted_kappas_raw_agreement_and_bias_are_the_published_ones(shared: Path) -> None:
    folder = shared / "rag25_judgments"
    human = read(folder / "qrels.rag25.test.txt", "qrels")
    labels = read_judgments(folder / "qrels.rag25.test-umbrela2.txt")
    agreement = compute_worth(labels, human, WorthOptions()).agreement
    figures = [agreement.kappa, agreement.kappa_linear, agreement.kappa_quadratic, agreement.agreement]
    assert [f.value for f in figures] == pytest.approx([0.233316, 0.372877, 0.491811, 0.4412], abs=5e-5)
    assert agreement.n == 10_284
    assert agreement.bias.value is not None
    assert agreement.bias.value > 0.1


def test_a_perfect_judge_orders_systems_as_people_do() -> None:
    value = worth(judged(), runs=RUNS, measures=(parse("nDCG@3"),), top=3)
    assert value.agreement.kappa.value == 1
    assert value.agreement.bias.value == 0
    (order,) = value.orders
    assert (order.tau.value, order.tau_top.value, len(order.top)) == (1, 1, 3)


def test_a_lenient_judge_has_a_bias_and_a_confusion_above_the_diagonal() -> None:
    value = worth(judged(shift=1))
    assert value.agreement.bias.value == pytest.approx(0.75, abs=0.1)
    assert all(model >= human for human, model, _ in value.confusion)


def test_a_judge_without_variation_has_no_kappa() -> None:
    constant = Judgments.from_rows([(q, d, "m", 2) for q, docs in HUMAN.items() for d in docs])
    value = worth(constant, runs=RUNS, measures=(parse("nDCG@3"),))
    assert value.agreement.kappa.value == pytest.approx(0)
    ones = {q: dict.fromkeys(docs, 2) for q, docs in HUMAN.items()}
    alike = compute_worth(constant, Qrels(ones), WorthOptions())
    assert alike.agreement.kappa.value is None
    assert alike.agreement.agreement.value == 1


def test_pairs_without_a_label_are_counted_and_not_graded() -> None:
    rows = [(q, d, "m", None if d == "d0" else 1.0) for q, docs in HUMAN.items() for d in docs]
    value = worth(Judgments.from_rows(rows))
    assert value.agreement.n == 50
    assert value.unlabelled.value == pytest.approx(1 / 6)
    nothing = Judgments.from_rows([(q, "d0", "m", None) for q in HUMAN])
    assert worth(nothing).agreement.kappa.value is None


def test_slices_are_those_of_the_queries() -> None:
    queries = Queries({"query_id": list(HUMAN), "text": ["x"] * 10, "kind": ["a"] * 4 + ["b"] * 6})
    parts = worth(judged(), queries=queries, by=("kind",)).slices
    assert [(part.value, part.agreement.n) for part in parts] == [("a", 24), ("b", 36)]


def test_labels_of_other_pairs_cannot_be_compared() -> None:
    with pytest.raises(UndecidableError, match="no pair has both a label of people and one of the model"):
        worth(Judgments.from_rows([("x", "y", "m", 1)]))


def test_thresholds_hold_only_if_the_whole_interval_does() -> None:
    rules = parse_requirements(["kappa=0.9", "bias=0.1", "tau=0.5"])
    perfect = worth(judged(), runs=RUNS, measures=(parse("nDCG@3"),))
    lenient = worth(judged(shift=1))
    for value, statuses in ((perfect, ["passed"] * 3), (lenient, ["failed", "failed", "undecided"])):
        verdict = check_requirements(rules, value.figures(), value.agreement.n, 0.95)
        found = [check.status for check in verdict.checks]
        assert found == statuses or (value is perfect and found[1] == "undecided")


def test_a_wrong_threshold_is_refused_with_a_suggestion() -> None:
    with pytest.raises(InputError, match="did you mean kappa"):
        parse_requirements(["kapa=0.4"])
    with pytest.raises(InputError, match="expected a number, found 'high'"):
        parse_requirements(["kappa=high"])
