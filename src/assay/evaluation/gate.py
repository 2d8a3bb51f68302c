"""May it ship: the rules held against what was measured, and what decided.

A rule holds where the whole interval lies on the right side of its threshold, fails where it is shown
to lie on the wrong side, and is undecided between: a threshold inside the noise decides nothing. The
interval that is shown and the test behind it must agree. All rules must hold for a gate to pass, so a
pass needs no correction (an intersection-union test; Berger 1982); a failure is one alarm among many,
and is corrected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from assay.core.errors import ConfigurationError
from assay.core.settings import is_number
from assay.core.texts import Floats
from assay.evaluation.checks import Check
from assay.evaluation.compare import Comparisons, Options, compare_evaluations, named
from assay.evaluation.evaluate import Counts, Evaluation, evaluate, quantile_of
from assay.evaluation.rules import Rule, Rules, read_rules
from assay.evaluation.slices import Slice
from assay.measures import Measure
from assay.stats import Estimate, estimate
from assay.stats.comparison import Comparison
from assay.stats.families import corrected
from assay.stats.intervals import order_statistic
from assay.stats.thresholds import Sides, share_sides, sides

EXIT_CODES = {"passed": 0, "failed": 1, "undecided": 3}


@dataclass(frozen=True)
class Verdict:
    """Passed, failed or undecided, with what decided."""

    status: str
    words: str
    checks: list[Check]
    queries: int
    outweighed: list[Check] = field(default_factory=list)
    comparisons: Comparisons | None = field(default=None, repr=False)
    counts: dict[str, Counts] = field(default_factory=dict, repr=False)  # by run, the baseline's first
    level: float = 0.95
    evaluation: Evaluation | None = field(default=None, repr=False)  # of the candidate

    def __repr__(self) -> str:
        return f"Verdict({self.status!r}, {len(self.checks)} checks, {self.queries:,} queries)"

    @property
    def exit_code(self) -> int:
        """What the command line leaves with."""
        return EXIT_CODES[self.status]


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
) -> Verdict:
    """Hold rules against a candidate run, and against its baseline where they compare.

    `latencies` are the candidate's, in ms, one a request; `figures` are numbers such as costs.

    >>> rules = {"rules": [{"measure": "R@10", "at_least": 0.5}]}
    >>> verdict = gate(rules, {f"q{i}": {"a": 1} for i in range(40)}, {f"q{i}": ["a"] for i in range(40)})
    >>> verdict.status
    'passed'
    """
    known = rules if isinstance(rules, Rules) else read_rules(rules)
    measured = Measured(latencies, figures or {})
    _check_given(known, baseline, measured)
    runs = [candidate] if baseline is None else [baseline, candidate]
    made = [
        evaluate(
            qrels,
            run,
            known.measures or ("R@10",),
            queries,
            known.by,
            documents=documents,
            level=known.level,
            seed=known.seed,
        )
        for run in runs
    ]
    return gate_evaluations(known, named(made), measured)


class Measured(NamedTuple):
    """What was measured of the candidate beside its scores."""

    latencies: Sequence[float] | Floats | None = None
    figures: Mapping[str, Any] = {}


def _check_given(rules: Rules, baseline: Any, measured: Measured) -> None:
    """Refuse rules about what was not given, all at once."""
    problems = missing(rules, baseline, measured.latencies, measured.figures)
    if measured.latencies is not None and not _are_latencies(measured.latencies):
        problems["candidate.latencies"] = "expected numbers of 0 ms or more, at least one"
    if problems:
        raise ConfigurationError(problems)


def missing(rules: Rules, baseline: Any, latencies: Any, figures: Mapping[str, Any]) -> dict[str, str]:
    """What rules need and was not given, by field."""
    problems: dict[str, str] = {}
    for rule in rules.rules:
        if rule.compares and baseline is None:
            said = f"the rule “{rule.name}” compares with a baseline: give its run (or --baseline)"
            problems.setdefault("baseline.run", said)
        if rule.subject in ("latency", "slo_ms") and latencies is None:
            problems.setdefault("candidate.latencies", f"the rule “{rule.name}” needs them: give them")
        if rule.subject == "figure" and rule.of not in figures:
            have = ", ".join(figures) or "none"
            problems.setdefault(
                f"candidate.figures.{rule.of}", f"the rule “{rule.name}” needs it; there is {have}"
            )
    return problems | wrong_figures(figures)


def wrong_figures(figures: Mapping[str, Any]) -> dict[str, str]:
    """The figures that are neither a number nor a table of value, low and high, by field."""
    return {
        f"candidate.figures.{name}": f"expected a number, or {{value, low, high}} in order, found {given!r}"
        for name, given in figures.items()
        if not _is_figure(given)
    }


def _is_figure(given: Any) -> bool:
    ends = given if isinstance(given, Mapping) else {"value": given}
    known: list[Any] = [ends[name] for name in ("low", "value", "high") if name in ends]
    good = "value" in ends and ends.keys() <= {"low", "value", "high"} and all(map(is_number, known))
    return good and known == sorted(known)


def _are_latencies(given: Sequence[float] | Floats) -> bool:
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        return False
    return values.ndim == 1 and len(values) > 0 and bool((np.isfinite(values) & (values >= 0)).all())


def gate_evaluations(rules: Rules, evaluations: Sequence[Evaluation], measured: Measured) -> Verdict:
    """Hold rules against evaluations: the candidate's, the last, and the baseline's before it."""
    candidate = evaluations[-1]
    options = Options(correction=rules.correction, level=rules.level, seed=rules.seed)
    comparisons = compare_evaluations(evaluations, options) if len(evaluations) > 1 else None
    checks = [
        check for rule in rules.rules for check in _checks(rule, rules, candidate, comparisons, measured)
    ]
    checks = _decided(checks, rules)
    n = len(candidate.scores.query_ids)
    status, words, outweighed = settle(checks, rules.undecided)
    if n < rules.min_queries:
        asked = f"the rules ask for {rules.min_queries:,} (min_queries)"
        words = f"cannot be decided: {n:,} judged queries, {asked}: judge more queries"
        status, outweighed = "undecided", []
    counts = {e.name: e.counts for e in evaluations}
    return Verdict(status, words, checks, n, outweighed, comparisons, counts, rules.level, candidate)


def _checks(
    rule: Rule, rules: Rules, candidate: Evaluation, comparisons: Comparisons | None, measured: Measured
) -> Iterator[Check]:
    """A rule held against all that it asks for."""
    if rule.subject == "figure":
        yield _figure(rule, measured.figures[str(rule.of)], rules.level)
    elif rule.subject in ("latency", "slo_ms"):
        yield _latency(rule, np.asarray(measured.latencies, np.float64), rules.level)
    else:
        yield _measure(rule, candidate, comparisons, None)
        for part in candidate.slices:
            if part.column in rule.by:
                yield _measure(rule, candidate, comparisons, part)


def _measure(rule: Rule, candidate: Evaluation, comparisons: Comparisons | None, part: Slice | None) -> Check:
    assert isinstance(rule.of, Measure)
    where = f"{part.column}: {part.value}" if part else "all"
    if rule.compares and comparisons is not None:
        place = (part.column, part.value) if part else ("", "")
        check = _compared(rule, comparisons.find(rule.of, None, *place), where)
        losers = comparisons.movers(measure=rule.of, n=3, part=part)[1]
        check = replace(check, losers=tuple(mover.query_id for mover in losers))
    else:
        values = candidate.scores[rule.of]
        check = _alone(rule, values if part is None else values[part.rows], candidate, where)
    small = part is not None and check.value.n < rule.min_n
    return replace(check, status="skipped") if small else check


def _compared(rule: Rule, row: Comparison, where: str) -> Check:
    """A difference held against a rule."""
    e = row.difference
    low, high = (e.low, e.high) if not row.lower_is_better else (_minus(e.high), _minus(e.low))
    value = Estimate(row.improvement, low, high, e.level, e.n)
    if rule.condition == "no_worse_than":
        holds, fails = row.not_inferior(rule.threshold), row.below(-rule.threshold)
        return Check(rule, where, value, holds, fails, row.deviation)
    return Check(rule, where, value, row.above(rule.threshold), row.below(rule.threshold), row.deviation)


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def _alone(rule: Rule, values: Floats, candidate: Evaluation, where: str) -> Check:
    """A value of the candidate held against a rule."""
    assert isinstance(rule.of, Measure)
    q = quantile_of(rule.of)
    value = estimate(values, rule.of.kind, candidate.level, candidate.seed, q)
    found = sides(values, rule.of.kind, rule.threshold, q, past=rule.condition == "at_most")
    known = values[~np.isnan(values)]
    summed = rule.of.kind in ("mean", "share") and len(known) > 1
    deviation = float(known.std(ddof=1)) if summed else None
    return Check(rule, where, value, *_turned(rule, found), deviation)


def _turned(rule: Rule, found: Sides) -> Sides:
    """p for holding and for failing: `at_most` holds below."""
    return Sides(found.below, found.above) if rule.condition == "at_most" else found


def _latency(rule: Rule, latencies: Floats, level: float) -> Check:
    """Latencies held against a rule: p95 is at most 200 ms where 95 % of the requests take at most that."""
    if rule.subject == "slo_ms":
        within = (latencies <= float(str(rule.of))).astype(np.float64)
        value = estimate(within, "share", level)
        found = share_sides(int(within.sum()), len(within), rule.threshold)
        return Check(rule, "all", value, *_turned(rule, found), float(within.std()))
    value = order_statistic(latencies, rule.percentile, level)
    found = share_sides(int((latencies <= rule.threshold).sum()), len(latencies), rule.percentile)
    at_most = rule.condition == "at_most"
    return Check(rule, "all", value, *(found if at_most else Sides(found.below, found.above)))


def _figure(rule: Rule, given: Any, level: float) -> Check:
    """A single figure, or one with an interval of its own ({"value", "low", "high"})."""
    ends = given if isinstance(given, Mapping) else {"value": given}
    value, low, high = ends["value"], ends.get("low"), ends.get("high")
    lowest, highest = (value if end is None else end for end in (low, high))
    holds, fails = (lowest >= rule.threshold, highest < rule.threshold)
    if rule.condition == "at_most":
        holds, fails = (highest <= rule.threshold, lowest > rule.threshold)
    made = Estimate(value, low, high, level, 1)
    return Check(rule, "all", made, float(not holds), float(not fails), figure=low is None and high is None)


def _decided(checks: list[Check], rules: Rules) -> list[Check]:
    """The checks with their failures corrected and their status."""
    alpha = (1 - rules.level) / 2  # a side of the interval that is shown
    # a figure is not drawn at random: it raises no false alarm, and others do not pay for it
    looked_at = [c for c in checks if c.status != "skipped" and c.rule.subject != "figure"]
    ps, _ = corrected([check.fails for check in looked_at], [], rules.correction)
    by_check = dict(zip(map(id, looked_at), ps, strict=True))
    family = len(looked_at) if rules.correction != "none" else 1
    made = []
    for check in checks:
        p = by_check.get(id(check), check.fails)
        if check.status == "skipped":
            status = "skipped"
        elif check.clear == 1 and check.holds is not None and check.holds <= alpha:
            status = "passed"
        else:
            status = "failed" if check.clear == -1 and p is not None and p <= alpha else "undecided"
        made.append(replace(check, corrected=p, status=status, family=family))
    return made


def settle(checks: Sequence[Check], undecided: str = "hold") -> tuple[str, str, list[Check]]:
    """The verdict, in words, and the checks that were outweighed.

    Priorities are gone through from 1 on. A failure fails the gate, and what is undecided leaves it so
    (or as the policy says). Where all rules of a priority hold and one of them shows an improvement
    (better_by), that outweighs whatever rules of later priorities say.
    """
    for priority in sorted({check.rule.priority for check in checks}):
        at = [check for check in checks if check.rule.priority == priority]
        failed = [c for c in at if c.status == "failed" or (c.status == "undecided" and undecided == "fail")]
        if failed:
            return "failed", _words("failed", failed, priority, checks), []
        open_ = [c for c in at if c.status == "undecided"]
        if open_ and undecided == "hold":
            return "undecided", _words("cannot be decided", open_, priority, checks), []
        won = [c for c in at if c.rule.condition == "better_by" and c.status == "passed"]
        later = [c for c in checks if c.rule.priority > priority and c.status in ("failed", "undecided")]
        if won and later and not open_:
            return "passed", _outweighing(won, later), later
    return "passed", _passed(checks), []


def _words(what: str, those: list[Check], priority: int, checks: Sequence[Check]) -> str:
    named_ = _listed([f"{c.rule.name} ({c.slice}): {c.text}" for c in those])
    levels = {check.rule.priority for check in checks}
    several = len(levels) > 1
    better = [c for c in checks if c.rule.condition == "better_by" and c.status == "passed"]
    said = f"{what}: {named_}" + f"; priority {priority} decides" * several
    if several:
        better = [c for c in better if c.rule.priority != priority]
    if better and what == "failed":
        at = f", priority {better[0].rule.priority}" * several
        gains = _listed([f"{c.rule.name} ({c.slice}{at})" for c in better])
        said += f", although this holds: {gains}"
    return said


def _listed(items: list[str], most: int = 3) -> str:
    """The first few, and how many more there are."""
    more = [f"and {len(items) - most} more"] * (len(items) > most)
    return "; ".join([*items[:most], *more])


def _outweighing(won: list[Check], later: list[Check]) -> str:
    gains = _listed([f"{c.rule.name} ({c.slice}): {c.text}" for c in won])
    losses = _listed([f"{c.rule.name} ({c.slice}, priority {c.rule.priority}): {c.text}" for c in later])
    return f"passed: priority {won[0].rule.priority} decides: {gains}; this outweighs {losses}"


def _passed(checks: Sequence[Check]) -> str:
    open_ = [c for c in checks if c.status == "undecided"]
    held = sum(c.status == "passed" for c in checks)
    skipped = sum(c.status == "skipped" for c in checks)
    said = f"passed: {held} of {len(checks)} checks hold"
    said += f', {len(open_)} undecided and let through (undecided = "pass")' * bool(open_)
    return said + f", {skipped} slice{'s' * (skipped > 1)} too small to look at" * bool(skipped)
