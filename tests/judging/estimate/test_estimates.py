"""Estimates of measures from labels of people and of a model: units, slices, differences, refusals."""

from pathlib import Path

import numpy as np
import pytest

from assay import Qrels, evaluate, read
from assay.core.errors import InputError, MeasureError, UndecidableError
from assay.core.tables import Queries, Run
from assay.judging.estimate.estimates import LabelEstimate, estimate_from_labels
from assay.stats.prediction_powered import LabelledUnits, estimate_powered

Labels = dict[str, dict[str, float]]
DOCS = 12


def collection(queries: int = 120, seed: int = 0) -> tuple[Labels, Labels, list[Run]]:
    """Labels of people, labels of a model that errs upwards, and the runs of two systems."""
    rng = np.random.default_rng(seed)
    human, model = Labels(), Labels()
    runs: list[Labels] = [{}, {}]
    for number in range(queries):
        grades = rng.integers(0, 4, DOCS)
        noisy = np.clip(grades + rng.integers(-1, 3, DOCS), 0, 3)
        names = [f"d{i}" for i in range(DOCS)]
        human[f"q{number}"] = dict(zip(names, grades.tolist(), strict=True))
        model[f"q{number}"] = dict(zip(names, noisy.tolist(), strict=True))
        for run, noise in zip(runs, (2.5, 1.0), strict=True):
            scores = grades + rng.normal(0, noise, DOCS)
            run[f"q{number}"] = dict(zip(names, scores.tolist(), strict=True))
    return human, model, [Run(run, name=name) for run, name in zip(runs, ("old", "new"), strict=True)]


HUMAN, MODEL, RUNS = collection()


def some_queries(n: int, seed: int = 0) -> Labels:
    chosen = np.random.default_rng(seed).choice(list(HUMAN), n, replace=False)
    return {query: HUMAN[query] for query in chosen.tolist()}


def some_pairs(share: float, seed: int = 0) -> Labels:
    rng = np.random.default_rng(seed)
    parts = {q: {d: g for d, g in docs.items() if rng.random() < share} for q, docs in HUMAN.items()}
    return {query: docs for query, docs in parts.items() if docs}


def only(estimates: tuple[LabelEstimate, ...]) -> LabelEstimate:
    (estimate,) = estimates
    return estimate


def test_whole_queries_are_the_units_of_ndcg() -> None:
    human = some_queries(40)
    result = estimate_from_labels(Qrels(MODEL), Qrels(human), RUNS[:1], ["nDCG@10"])
    truth, predicted = (
        evaluate(Qrels(labels), RUNS[0], ["nDCG@10"]).scores["nDCG@10"] for labels in (HUMAN, MODEL)
    )
    rows = [list(MODEL).index(query) for query in MODEL if query in human]
    expected = estimate_powered([LabelledUnits(truth[rows], predicted[rows], predicted)], bounds=(0.0, 1.0))
    e = only(result.estimates)
    assert e.estimate.combined[:3] == pytest.approx(expected.combined[:3])
    assert e.estimate.model_only.value == pytest.approx(predicted.mean())
    assert e.estimate.human_only.value == pytest.approx(truth[rows].mean())
    assert (e.sampling.unit, e.sampling.kind, e.units, e.labels) == ("query", "queries", 120, 40 * DOCS)


def test_a_difference_is_paired_by_query() -> None:
    result = estimate_from_labels(Qrels(MODEL), Qrels(some_queries(60)), RUNS, ["nDCG@5", "AP"])
    assert [(e.target.run, e.target.measure) for e in result.estimates] == [
        (run, measure) for run in ("old", "new") for measure in ("nDCG@5", "AP")
    ]
    first = result.differences[0]
    values = [evaluate(Qrels(HUMAN), run, ["nDCG@5"]).scores["nDCG@5"].mean() for run in RUNS]
    low, high = first.estimate.combined.low, first.estimate.combined.high
    assert (first.target.baseline, first.target.run) == ("old", "new")
    assert low is not None
    assert high is not None
    assert 0 < low <= values[1] - values[0] <= high
    assert first.p is not None
    assert first.p < 0.01


def test_pairs_are_the_units_of_the_mean_grade() -> None:
    result = estimate_from_labels(Qrels(MODEL), Qrels(some_pairs(0.2)), measures=["grade", "relevant(rel=2)"])
    truth = np.array([g for docs in HUMAN.values() for g in docs.values()])
    for e, value in zip(result.estimates, (truth.mean(), (truth >= 2).mean()), strict=True):
        combined, alone = e.estimate.combined, e.estimate.model_only
        assert e.sampling.kind == "pairs"
        assert combined.low is not None
        assert combined.high is not None
        assert combined.low <= value <= combined.high < (alone.low or 0)


def test_single_pairs_correct_a_sum_over_the_ranking() -> None:
    for is_fixed in (False, True):
        result = estimate_from_labels(
            Qrels(MODEL), Qrels(some_pairs(0.3)), RUNS, ["P(rel=2)@5", "DCG@10"], is_fixed=is_fixed
        )
        for e in (*result.estimates, *result.differences):
            truth = [evaluate(Qrels(HUMAN), run, [e.target.measure]).scores[e.target.measure] for run in RUNS]
            by_name = {"old": truth[0].mean(), "new": truth[1].mean()}
            value = by_name[e.target.run] - (by_name[e.target.baseline] if e.target.baseline else 0)
            combined = e.estimate.combined
            assert (e.sampling.unit, e.sampling.kind) == ("pair", "pairs")
            assert combined.low is not None
            assert combined.high is not None
            assert abs((combined.value or 9) - value) < 0.75 * (combined.high - combined.low)


def test_a_measure_that_is_no_sum_is_refused_with_single_pairs() -> None:
    with pytest.raises(UndecidableError, match=r"nDCG@10 is not a sum .* label whole queries, use P@k"):
        estimate_from_labels(Qrels(MODEL), Qrels(some_pairs(0.2)), RUNS[:1], ["nDCG@10"])


def test_labels_from_the_top_of_a_ranking_are_refused_as_a_sample_of_pairs() -> None:
    best = {q: dict(sorted(docs.items(), key=lambda pair: -pair[1])[:4]) for q, docs in MODEL.items()}
    human = {q: {d: HUMAN[q][d] for d in docs} for q, docs in best.items()}
    with pytest.raises(UndecidableError, match=r"not a random sample.*--pairs POOL"):
        estimate_from_labels(Qrels(MODEL), Qrels(human), measures=["grade"])
    result = estimate_from_labels(Qrels(MODEL), Qrels(human), measures=["grade"], unit="pair")
    assert "not a random sample" in result.warnings[0]


def test_labels_of_the_top_suffice_for_a_measure_of_the_top() -> None:
    ranked = {q: sorted(docs, key=lambda d: -docs[d])[:3] for q, docs in RUNS[0].to_dict().items()}
    chosen = list(HUMAN)[::3]
    human = {q: {d: HUMAN[q][d] for d in ranked[q]} for q in chosen}
    e = only(estimate_from_labels(Qrels(MODEL), Qrels(human), RUNS[:1], ["RR(rel=2)@3"]).estimates)
    assert (e.sampling.kind, e.estimate.combined.n, e.sampling.partial) == ("queries", 40, 0)


def test_inclusion_probabilities_correct_a_sample_of_easy_pairs() -> None:
    rng, truth = np.random.default_rng(5), np.mean([g for d in HUMAN.values() for g in d.values()])
    chances = {q: {d: 0.6 if g >= 2 else 0.15 for d, g in docs.items()} for q, docs in MODEL.items()}
    human = {q: {d: g for d, g in docs.items() if rng.random() < chances[q][d]} for q, docs in HUMAN.items()}
    human = {q: docs for q, docs in human.items() if docs}
    drawn = {q: {d: chances[q][d] for d in docs} for q, docs in human.items()}
    e = only(
        estimate_from_labels(Qrels(MODEL), Qrels(human), measures=["grade"], chances=Run(drawn)).estimates
    )
    naive = np.mean([g for d in human.values() for g in d.values()])
    assert abs(naive - truth) > 0.3
    assert abs((e.estimate.human_only.value or 0) - truth) < 0.15
    assert (e.estimate.combined.low or 9) <= truth <= (e.estimate.combined.high or 0)
    del drawn[next(iter(drawn))]
    with pytest.raises(InputError, match="expected an inclusion_probability for every labelled pair"):
        estimate_from_labels(Qrels(MODEL), Qrels(human), measures=["grade"], chances=Run(drawn))


def test_pairs_of_some_queries_have_the_query_as_their_unit() -> None:
    rng = np.random.default_rng(1)
    chosen = rng.choice(list(HUMAN), 40, replace=False).tolist()
    human = {q: {d: HUMAN[q][d] for d in rng.choice(list(HUMAN[q]), 5, replace=False)} for q in chosen}
    result = estimate_from_labels(Qrels(MODEL), Qrels(human), RUNS[:1], ["P(rel=2)@10"])
    e = only(result.estimates)
    truth = evaluate(Qrels(HUMAN), RUNS[0], ["P(rel=2)@10"]).scores["P(rel=2)@10"].mean()
    assert (e.sampling.kind, e.estimate.combined.n) == ("pairs of drawn queries", 40)
    assert (e.estimate.combined.low or 9) <= truth <= (e.estimate.combined.high or 0)
    pairs = only(estimate_from_labels(Qrels(MODEL), Qrels(human), measures=["grade"]).estimates)
    assert pairs.sampling.unit == "query"


def test_as_many_pairs_of_each_query_are_weighted_by_the_size_of_the_query() -> None:
    rng = np.random.default_rng(2)
    sizes = {q: 4 if number % 2 else DOCS for number, q in enumerate(HUMAN)}
    model = {q: dict(list(docs.items())[: sizes[q]]) for q, docs in MODEL.items()}
    human = {q: {d: HUMAN[q][d] for d in rng.choice(list(docs), 3, False)} for q, docs in model.items()}
    e = only(estimate_from_labels(Qrels(model), Qrels(human), measures=["grade"]).estimates)
    truth = np.mean([HUMAN[q][d] for q, docs in model.items() for d in docs])
    assert e.sampling.kind == "pairs of each query"
    assert (e.estimate.combined.low or 9) <= truth <= (e.estimate.combined.high or 0)


def test_slices_are_strata_and_have_estimates_of_their_own() -> None:
    queries = Queries({"query_id": list(MODEL), "kind": ["a" if i % 3 else "b" for i in range(len(MODEL))]})
    result = estimate_from_labels(
        Qrels(MODEL), Qrels(some_queries(60)), RUNS[:1], ["nDCG@10"], queries, ["kind"]
    )
    e = only(result.estimates)
    parts = {part.value: part.estimate.combined for part in e.slices}
    assert set(parts) == {"a", "b"}
    assert sum(part.n for part in parts.values()) == e.estimate.combined.n == 60
    shared = (80 * (parts["a"].value or 0) + 40 * (parts["b"].value or 0)) / 120
    assert e.estimate.combined.value == pytest.approx(shared, abs=0.01)
    assert e.to_dict()["slices"][0]["column"] == "kind"


def test_a_slice_without_human_labels_is_undefined() -> None:
    human = some_queries(40)
    queries = Queries({"query_id": list(MODEL), "seen": ["yes" if q in human else "no" for q in MODEL]})
    result = estimate_from_labels(Qrels(MODEL), Qrels(human), RUNS[:1], ["nDCG@10"], queries, ["seen"])
    parts = {part.value: part.estimate for part in only(result.estimates).slices}
    assert parts["no"].combined[:3] == (None, None, None)
    assert parts["yes"].combined.n == 40


def test_queries_that_only_people_labelled_are_left_out_and_counted() -> None:
    human = {**some_queries(30), "other": {"x": 1.0}}
    result = estimate_from_labels(Qrels(MODEL), Qrels(human), RUNS[:1], ["nDCG@10"])
    assert only(result.estimates).estimate.combined.n == 30
    assert result.warnings == ["1 query has human labels and none of the model, and is left out"]


def test_a_sample_of_queries_is_weighted_as_in_an_evaluation() -> None:
    chances = [0.1 if number % 4 else 0.9 for number in range(len(MODEL))]
    table = Queries({"query_id": list(MODEL), "inclusion_probability": chances})

    def score(labels: Labels, measure: str) -> float:
        result = evaluate(Qrels(labels), RUNS[0], [measure], table, population="queries")
        return result.estimates[measure].value or 0.0

    for measure, human in (("nDCG@10", some_queries(50)), ("P(rel=2)@5", some_pairs(0.3)), ("AP", HUMAN)):
        result = estimate_from_labels(
            Qrels(MODEL), Qrels(human), RUNS[:1], [measure], table, population="queries"
        )
        e = only(result.estimates).estimate
        assert e.model_only.value == pytest.approx(score(MODEL, measure))
        is_complete = human is HUMAN
        assert e.combined.value == pytest.approx(score(HUMAN, measure), abs=1e-9 if is_complete else 0.09)


def test_pairs_of_the_pool_without_a_human_label_are_counted() -> None:
    human, pool = some_pairs(0.2), {q: dict.fromkeys(docs, 0.2) for q, docs in HUMAN.items()}
    result = estimate_from_labels(Qrels(MODEL), Qrels(human), measures=["grade"], chances=Run(pool))
    missing = sum(map(len, HUMAN.values())) - sum(map(len, human.values()))
    assert result.warnings[0].startswith(f"{missing:,} pairs of the pool have no human label")


def test_wrong_use_says_what_is_expected() -> None:
    model, human = Qrels(MODEL), Qrels(some_queries(20))
    with pytest.raises(MeasureError, match=r"nDCG@10 needs a run; without one, expected grade"):
        estimate_from_labels(model, human, measures=["nDCG@10"])
    with pytest.raises(MeasureError, match="gmAP cannot be estimated from two kinds of labels"):
        estimate_from_labels(model, human, RUNS, ["gmAP"])
    with pytest.raises(UndecidableError, match="check that both use the same ids"):
        estimate_from_labels(model, Qrels({"q1": {"other": 1}}), measures=["grade"])
    with pytest.raises(InputError, match="as the unit, found 'document'"):
        estimate_from_labels(model, human, unit="document")
    with pytest.raises(InputError, match="between 0 and 1, found 95"):
        estimate_from_labels(model, human, level=95)


def test_the_interval_of_rag25_covers_where_that_of_the_model_does_not(shared: Path) -> None:
    folder = shared / "rag25_judgments"
    human = read(folder / "qrels.rag25.test.txt", "qrels")
    model = read(folder / "qrels.rag25.test-umbrela2.txt", "qrels")
    labels = human.frame
    truth, covering, alone, widths = float(labels["grade"].mean()), 0, 0, []  # type: ignore[arg-type]
    for seed in range(60):
        sample = Qrels(labels.sample(300, seed=seed))
        e = only(estimate_from_labels(model, sample, measures=["grade"], next_count=0).estimates).estimate
        covering += (e.combined.low or 9) <= truth <= (e.combined.high or 0)
        alone += (e.model_only.low or 9) <= truth <= (e.model_only.high or 0)
        widths.append(e.width_ratio or 9)
    assert covering >= 53
    assert alone == 0
    assert 0.8 < np.mean(widths) < 0.93
