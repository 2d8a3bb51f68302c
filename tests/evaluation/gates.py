"""Rules held against values made for the purpose."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from assay.core.arrays import Floats
from assay.core.tables import Scores
from assay.decisions.checks import Check
from assay.decisions.rules import read_rules
from assay.evaluation.evaluate import Counts, Evaluation
from assay.evaluation.gate import CandidateMeasurements, GateVerdict, gate_evaluations
from assay.evaluation.slices import Slice
from assay.measures import parse

N = 100
QUARTERS = [Slice("team", name, list(range(25 * i, 25 * i + 25))) for i, name in enumerate("abcd")]
Columns = Mapping[str, Sequence[Floats]]  # by measure, the baseline's (if any) and the candidate's


def spread(mean: float, deviation: float, n: int = N) -> Floats:
    """n values of a normal distribution with just this mean and standard deviation."""
    z = stats.norm.ppf((np.arange(n) + 0.5) / n)
    result: Floats = mean + deviation * (z - z.mean()) / z.std(ddof=1)
    return np.random.default_rng(0).permutation(result)


def share(hits: int, n: int = N) -> Floats:
    return np.random.default_rng(0).permutation(np.arange(n) < hits).astype(np.float64)


def moved_scores(by: float, deviation: float = 0.1, n: int = N) -> tuple[Floats, Floats]:
    """A baseline, and a candidate whose queries moved by so much."""
    before = np.random.default_rng(1).uniform(0.4, 0.6, n)
    return before, before + spread(by, deviation, n)


def make_evaluations(columns: Columns, parts: Sequence[Slice] = (), level: float = 0.95) -> list[Evaluation]:
    """Evaluations with these values."""
    measures = tuple(parse(name) for name in columns)
    first = next(iter(columns.values()))
    result = []
    for place, name in enumerate(["baseline", "candidate"][-len(first) :]):
        values = {str(m): column[place] for m, column in zip(measures, columns.values(), strict=True)}
        ids = [f"q{i}" for i in range(len(first[0]))]
        counts = Counts(len(ids), 0, 0, 0, 0, 0)
        result.append(Evaluation(name, measures, Scores(ids, values), counts, parts, level=level))
    return result


def gate_values(
    rules: dict[str, Any] | list[dict[str, Any]],
    columns: Columns | None = None,
    parts: Sequence[Slice] = (),
    measurements: CandidateMeasurements | None = None,
    **settings: Any,
) -> GateVerdict:
    """Rules held against values."""
    options = rules if isinstance(rules, list) else [rules]
    expected_values = read_rules({"rules": options, **settings})
    result = make_evaluations(columns or {"R@10": [spread(0.5, 0.1)]}, parts, expected_values.level)
    return gate_evaluations(expected_values, result, measurements or CandidateMeasurements())


def only_check(verdict: GateVerdict) -> Check:
    (check,) = verdict.checks
    return check


def latencies(slow: int, n: int = 1000) -> Floats:
    """So many requests of 300 ms, the others of 100 ms."""
    return np.where(np.arange(n) < slow, 300.0, 100.0)
