"""The gate: whether a candidate run may be released, by rules over its scores, latencies and figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Floats
from assay.core.errors import ConfigurationError
from assay.core.score_order import ScoreOrder
from assay.core.settings import is_number
from assay.decisions.checks import (
    Check,
    check_comparison,
    check_estimate,
    check_figure,
    check_same_results,
)
from assay.decisions.rules import Rule, Rules, read_rules
from assay.decisions.verdict import Verdict, decide
from assay.evaluation.compare import ComparisonOptions, Comparisons, compare_evaluations, name_distinctly
from assay.evaluation.evaluate import (
    DEFAULT_ORDER,
    Counts,
    Evaluation,
    bounds_of,
    estimate_measure,
    evaluate,
    quantile_of,
)
from assay.evaluation.slices import Slice
from assay.measures import Measure
from assay.stats import estimate
from assay.stats.intervals import order_statistic
from assay.stats.thresholds import Sides, share_sides, sides


@dataclass(frozen=True, repr=False)
class GateVerdict(Verdict):
    """The verdict on a candidate run, with the evaluations and comparisons it rests on."""

    comparisons: Comparisons | None = None
    counts: dict[str, Counts] = field(default_factory=dict)  # by run, the baseline first
    evaluation: Evaluation | None = None  # of the candidate

    @property
    def evaluations(self) -> Sequence[Evaluation]:
        """The evaluations of the runs, the baseline's first."""
        if self.comparisons is not None:
            return self.comparisons.evaluations
        return () if self.evaluation is None else (self.evaluation,)


class CandidateMeasurements(NamedTuple):
    """What was measured of the candidate in addition to its scores."""

    latencies: Sequence[float] | Floats | None = None
    figures: Mapping[str, Any] = {}


def gate(
    rules: Rules | Mapping[str, Any],
    qrels: Any,
    candidate: Any,
    baseline: Any = None,
    queries: Any = None,
    *,
    documents: Any = None,
    latencies: Sequence[float] | Floats | None = None,
    figures: Mapping[str, Any] | None = None,
    order: ScoreOrder = DEFAULT_ORDER,
) -> GateVerdict:
    """Check rules on a candidate run, and on its difference from a baseline run if they compare.

    `latencies` are the candidate's, in ms, one per request; `figures` are numbers such as costs.

    >>> rules = {"rules": [{"measure": "R@10", "at_least": 0.5}]}
    >>> verdict = gate(rules, {f"q{i}": {"a": 1} for i in range(40)}, {f"q{i}": ["a"] for i in range(40)})
    >>> verdict.status
    'passed'
    """
    parsed_rules = rules if isinstance(rules, Rules) else read_rules(rules)
    measurements = CandidateMeasurements(latencies, figures or {})
    _check_inputs(parsed_rules, baseline, measurements)
    runs = [candidate] if baseline is None else [baseline, candidate]
    evaluations = evaluate_for_rules(parsed_rules, qrels, runs, queries, documents, order)
    return gate_evaluations(parsed_rules, evaluations, measurements)


def evaluate_for_rules(
    rules: Rules,
    qrels: Any,
    runs: Sequence[Any],
    queries: Any = None,
    documents: Any = None,
    order: ScoreOrder = DEFAULT_ORDER,
) -> list[Evaluation]:
    """Evaluate runs by the measures and slices of the rules, under names that differ."""
    measures = rules.measures or ("R@10",)
    options = {"documents": documents, "level": rules.level, "seed": rules.seed, "order": order}
    return name_distinctly([evaluate(qrels, run, measures, queries, rules.by, **options) for run in runs])


def _check_inputs(rules: Rules, baseline: Any, measurements: CandidateMeasurements) -> None:
    """Raise an error that lists all inputs which the rules need and which are missing or invalid."""
    problems = missing_inputs(rules, baseline, measurements.latencies, measurements.figures)
    if measurements.latencies is not None and not _are_latencies(measurements.latencies):
        problems["candidate.latencies"] = "expected numbers of 0 ms or more, at least one"
    if problems:
        raise ConfigurationError(problems)


def missing_inputs(rules: Rules, baseline: Any, latencies: Any, figures: Mapping[str, Any]) -> dict[str, str]:
    """Return the inputs that the rules need and that are missing or invalid, by field."""
    problems: dict[str, str] = {}
    for rule in rules.rules:
        if rule.compares and baseline is None:
            problem = f"the rule “{rule.name}” compares with a baseline: give its run (or --baseline)"
            problems.setdefault("baseline.run", problem)
        if rule.subject in ("latency", "slo_ms") and latencies is None:
            problems.setdefault("candidate.latencies", f"the rule “{rule.name}” needs them: give them")
        if rule.subject == "figure" and rule.of not in figures:
            names = ", ".join(figures) or "none"
            problems.setdefault(
                f"candidate.figures.{rule.of}", f"the rule “{rule.name}” needs it; there is {names}"
            )
    return problems | invalid_figures(figures)


def invalid_figures(figures: Mapping[str, Any]) -> dict[str, str]:
    """Return the figures that are neither a number nor a table of value, low and high, by field."""
    return {
        f"candidate.figures.{name}": f"expected a number, or {{value, low, high}} in order, found {figure!r}"
        for name, figure in figures.items()
        if not _is_figure(figure)
    }


def _is_figure(figure: Any) -> bool:
    ends = figure if isinstance(figure, Mapping) else {"value": figure}
    numbers: list[Any] = [ends[name] for name in ("low", "value", "high") if name in ends]
    has_valid_keys = "value" in ends and ends.keys() <= {"low", "value", "high"}
    return has_valid_keys and all(map(is_number, numbers)) and numbers == sorted(numbers)


def _are_latencies(latencies: Sequence[float] | Floats) -> bool:
    try:
        values = np.asarray(latencies, np.float64)
    except (TypeError, ValueError):
        return False
    return values.ndim == 1 and len(values) > 0 and bool((np.isfinite(values) & (values >= 0)).all())


def gate_evaluations(
    rules: Rules, evaluations: Sequence[Evaluation], measurements: CandidateMeasurements
) -> GateVerdict:
    """Check rules on evaluations: the last is the candidate's, the one before it the baseline's."""
    candidate = evaluations[-1]
    options = ComparisonOptions(correction=rules.correction, level=rules.level, seed=rules.seed)
    comparisons = compare_evaluations(evaluations, options) if len(evaluations) > 1 else None
    checks = [
        check
        for rule in rules.rules
        for check in _check_rule(rule, rules, candidate, comparisons, measurements)
    ]
    verdict = decide(checks, rules, len(candidate.scores.query_ids))
    counts = {e.name: e.counts for e in evaluations}
    return GateVerdict(**vars(verdict), comparisons=comparisons, counts=counts, evaluation=candidate)


def _check_rule(
    rule: Rule,
    rules: Rules,
    candidate: Evaluation,
    comparisons: Comparisons | None,
    measurements: CandidateMeasurements,
) -> Iterator[Check]:
    """Check a rule on its subject, on all queries and in each slice that it names."""
    if rule.subject == "figure":
        yield check_figure(rule, measurements.figures[str(rule.of)], rules.level)
    elif rule.subject in ("latency", "slo_ms"):
        yield _check_latency(rule, np.asarray(measurements.latencies, np.float64), rules.level)
    else:
        yield _check_measure(rule, candidate, comparisons, None)
        for part in candidate.slices:
            if part.column in rule.by:
                yield _check_measure(rule, candidate, comparisons, part)


def _check_measure(
    rule: Rule, candidate: Evaluation, comparisons: Comparisons | None, part: Slice | None
) -> Check:
    assert isinstance(rule.of, Measure)
    if rule.compares and comparisons is not None:
        slice_key = (part.column, part.value) if part else ("", "")
        check = check_comparison(rule, comparisons.find(rule.of, None, *slice_key))
        if _returned_the_same(comparisons.evaluations):
            check = check_same_results(check)
        losers = comparisons.movers(measure=rule.of, n=3, part=part)[1]
        check = replace(check, losers=tuple(mover.query_id for mover in losers))
    else:
        check = _check_score(rule, rule.of, candidate, part)
    is_small = part is not None and check.value.n < rule.min_n
    return replace(check, status="skipped") if is_small else check


def _returned_the_same(evaluations: Sequence[Evaluation]) -> bool:
    """Return whether two runs have the same judged documents at the same ranks, and as many others."""
    first, second = (evaluation.matches for evaluation in evaluations)
    if first is None or second is None:
        return False
    pairs = (
        (first.row, second.row),
        (first.rankings.rank, second.rankings.rank),
        (first.rankings.returned_counts, second.rankings.returned_counts),
    )
    return all(np.array_equal(a, b) for a, b in pairs)


def _check_score(rule: Rule, measure: Measure, candidate: Evaluation, part: Slice | None) -> Check:
    """Check the candidate's own value of a measure."""
    values = candidate.scores[measure] if part is None else candidate.scores[measure][part.rows]
    q = quantile_of(measure)
    value = estimate_measure(measure, values, candidate.level)
    is_past = rule.condition == "at_most"
    both_sides = sides(values, measure.kind, rule.threshold, q, past=is_past, bounds=bounds_of(measure))
    defined = values[~np.isnan(values)]
    has_deviation = measure.kind in ("mean", "share") and len(defined) > 1
    deviation = float(defined.std(ddof=1)) if has_deviation else None
    label = f"{part.column}: {part.value}" if part else "all"
    return check_estimate(rule, value, both_sides, label=label, deviation=deviation)


def _check_latency(rule: Rule, latencies: Floats, level: float) -> Check:
    """Check latencies: p95 is at most 200 ms if 95 % of the requests take at most that."""
    if rule.subject == "slo_ms":
        is_within = (latencies <= float(str(rule.of))).astype(np.float64)
        value = estimate(is_within, "share", level)
        both_sides = share_sides(int(is_within.sum()), len(is_within), rule.threshold)
        return check_estimate(rule, value, both_sides, deviation=float(is_within.std()))
    value = order_statistic(latencies, rule.percentile, level)
    share = share_sides(int((latencies <= rule.threshold).sum()), len(latencies), rule.percentile)
    return check_estimate(rule, value, Sides(above=share.below, below=share.above))
