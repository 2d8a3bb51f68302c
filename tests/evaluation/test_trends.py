"""Trends of experiments and scores that lie in memory."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from assay.core.arrays import Floats
from assay.core.records import Experiment, Metric
from assay.core.tables import Scores
from assay.evaluation.trends import make_trend
from assay.views.experiments import render_trend
from assay.views.trends import trend_dict

N = 200
START = datetime(2026, 1, 1, tzinfo=UTC)
HARD = np.random.default_rng(7).random(N)  # what makes a query hard stays
QUERY_IDS = [f"q{i}" for i in range(N)]


def nights(count: int) -> list[Experiment]:
    """Experiments on the same data by the same policy, one per night."""
    return [
        Experiment(
            "nightly",
            START + timedelta(days=day),
            metrics=(Metric("R@10", "", "", 0.5, None, None, N),),
            digests={"qrels": "a" * 32},
            policy={"formulas": 1, "ties": "id", "missing": "0"},
        )
        for day in range(count)
    ]


def test_false_alarms_stay_few_over_many_flat_series() -> None:
    """Of 100 flat series of 40 points, about 5 may have any alarm; of 4,000 points alone, 200 would."""
    rng, alarms, experiments = np.random.default_rng(1), 0, nights(40)

    def read_scores(experiment: Experiment, measure: str) -> Scores:
        values: Floats = HARD + rng.normal(0, 0.1, N)
        return Scores(QUERY_IDS, {measure: values})

    for _ in range(100):
        alarms += bool(make_trend(experiments, read_scores, "R@10").changes)
    assert alarms <= 10


def test_without_scores_nothing_is_compared_by_query() -> None:
    trend = make_trend(nights(3), lambda experiment, measure: None, "R@10")
    assert [point.mark for point in trend.points] == ["", "", ""]
    assert trend.previous is not None
    assert trend.previous.method == "no interval"


def test_scores_are_read_once_for_each_experiment_and_not_for_slices() -> None:
    calls: list[str] = []

    def read_scores(experiment: Experiment, measure: str) -> Scores:
        calls.append(experiment.id)
        return Scores(QUERY_IDS, {measure: HARD})

    experiments = nights(4)
    make_trend(experiments, read_scores, "R@10")
    assert calls == [e.id for e in experiments]
    make_trend(experiments, read_scores, "R@10", column="team", value="a")
    assert len(calls) == 4


def test_a_fall_of_a_measure_of_which_less_is_better_is_better() -> None:
    values = [0.3, 0.2]
    experiments = [
        replace(e, metrics=(Metric("ZeroHit@10", "", "", v, v - 0.01, v + 0.01, N),))
        for e, v in zip(nights(2), values, strict=True)
    ]
    trend = make_trend(experiments, lambda e, measure: None, "ZeroHit@10")
    assert [point.mark for point in trend.points] == ["", "better"]
    assert trend.previous is not None
    assert trend.state(trend.previous) == "better"
    assert trend_dict(trend)["previous"]["state"] == "better"
    assert "against the previous one" in render_trend(trend, "table")
    assert ": better: ZeroHit@10 −0.1000" in " ".join(render_trend(trend, "table").split())
