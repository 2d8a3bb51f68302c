"""May it ship: the rules held against what was measured, and what decided.

A rule holds where the whole interval lies on the right side of its threshold, fails where it is shown
to lie on the wrong side, and is undecided between: a threshold inside the noise decides nothing. All
rules must hold for a gate to pass, so a pass needs no correction (an intersection-union test; Berger
1982); a failure is one alarm among many, and is corrected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from assay.core.errors import InputError
from assay.core.texts import Floats
from assay.evaluation.compare import Comparisons, Options, compare_evaluations, named
from assay.evaluation.evaluate import Evaluation, evaluate, quantile_of
from assay.evaluation.readings import shown_p, signed
from assay.evaluation.rules import Rule, Rules, read_rules
from assay.evaluation.slices import Slice
from assay.measures import Measure
from assay.stats import Estimate, estimate
from assay.stats.comparison import Comparison
from assay.stats.families import corrected
from assay.stats.intervals import order_statistic
from assay.stats.power import needed
from assay.stats.thresholds import Sides, share_sides, sides

EXIT_CODES = {"passed": 0, "failed": 1, "undecided": 3}


@dataclass(frozen=True)
class Check:
    """One rule held against all queries or one slice."""

    rule: Rule
    slice: str
    value: Estimate  # of the candidate; of the improvement, where the rule compares
    holds: float | None  # p against the rule: small, it is shown to hold
    fails: float | None  # p for the rule: small, it is shown to fail
    deviation: float | None = None
    figure: bool = False  # a single figure, which has no interval
    losers: tuple[str, ...] = ()
    corrected: float | None = None  # p of the failure, corrected for all rules
    status: str = "undecided"  # passed, failed, undecided, skipped

    @property
    def text(self) -> str:
        """What was found, in words."""
        e = self.value
        if self.status == "skipped":
            return f"not looked at: {e.n} queries, the rule asks for {self.rule.min_n}"
        if e.value is None:
            return "no value: too few queries, or the measure is undefined for them"
        shown = signed if self.rule.compares else _plain
        ends = "" if e.low is None or e.high is None else f" ({shown(e.low)} … {shown(e.high)})"
        n = "a single figure, no interval" if self.figure else f"n {e.n:,}"
        return f"{shown(e.value)}{ends}, {n}{self._why()}"

    def _why(self) -> str:
        if self.status == "failed" and self.corrected is not None and not self.figure:
            worse = "worse than the baseline" if self.rule.condition == "no_worse_than" else "short of it"
            return f": {worse}, {shown_p(self.corrected)}"
        return ": too near to tell" if self.status == "undecided" else ""

    @property
    def advice(self) -> str:
        """What to do about it; empty where it holds."""
        if self.status == "failed":
            if self.losers:
                return f"look at the queries that lost most, such as {', '.join(self.losers)} (assay compare)"
            gap = abs((self.value.value or 0.0) - self.rule.threshold)
            where = " (assay failures shows the queries behind it)" if self.rule.subject == "measure" else ""
            return f"it lies {gap:.4g} on the wrong side of {self.rule.threshold:g}{where}"
        if self.status != "undecided":
            return ""
        enough = self.enough
        if enough is None:
            return "measure more queries, or widen the margin"
        return f"about {enough:,} queries would tell, were the value to stay; or widen the margin"

    @property
    def enough(self) -> int | None:
        """How many queries would decide, were the value and its spread to stay."""
        edge = -self.rule.threshold if self.rule.condition == "no_worse_than" else self.rule.threshold
        if self.value.value is None or not self.deviation or abs(self.value.value - edge) < 1e-6:
            return None
        return needed(abs(self.value.value - edge), self.deviation, 1 - self.value.level)


def _plain(value: float) -> str:
    return f"{value:.4f}"


@dataclass(frozen=True)
class Verdict:
    """Passed, failed or undecided, with what decided."""

    status: str
    words: str
    checks: list[Check]
    queries: int
    outweighed: list[Check] = field(default_factory=list)
    comparisons: Comparisons | None = field(default=None, repr=False)

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
    """Refuse rules about what was not given."""
    if rules.compare and baseline is None:
        first = next(rule.name for rule in rules.rules if rule.compares)
        raise InputError(f"the rule “{first}” compares with a baseline: give one")
    for rule in rules.rules:
        if rule.subject in ("latency", "slo_ms") and (
            measured.latencies is None or not len(measured.latencies)
        ):
            raise InputError(f"the rule “{rule.name}” needs the candidate's latencies: give them")
        if rule.subject == "figure" and rule.of not in measured.figures:
            have = ", ".join(measured.figures) or "none"
            raise InputError(f"the rule “{rule.name}” needs the figure {rule.of!r}; there is {have}")


def gate_evaluations(rules: Rules, evaluations: Sequence[Evaluation], measured: Measured) -> Verdict:
    """Hold rules against evaluations: the candidate's, the last, and the baseline's before it."""
    candidate = evaluations[-1]
    options = Options(rules.test, rules.correction, level=rules.level, seed=rules.seed)
    comparisons = compare_evaluations(evaluations, options) if len(evaluations) > 1 else None
    checks = [
        check for rule in rules.rules for check in _checks(rule, rules, candidate, comparisons, measured)
    ]
    checks = _decided(checks, rules)
    n = len(candidate.scores.query_ids)
    if n < rules.min_queries:
        words = (
            f"cannot be decided: {n:,} judged queries, the rules ask for {rules.min_queries:,} (min_queries)"
        )
        return Verdict("undecided", words, checks, n, comparisons=comparisons)
    status, words, outweighed = settle(checks, rules.undecided)
    return Verdict(status, words, checks, n, outweighed, comparisons)


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
        return Check(rule, where, value, row.not_inferior(rule.threshold), row.below(0.0), row.deviation)
    return Check(rule, where, value, row.above(rule.threshold), row.below(rule.threshold), row.deviation)


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def _alone(rule: Rule, values: Floats, candidate: Evaluation, where: str) -> Check:
    """A value of the candidate held against a rule."""
    assert isinstance(rule.of, Measure)
    q = quantile_of(rule.of)
    value = estimate(values, rule.of.kind, candidate.level, candidate.seed, q)
    known = values[~np.isnan(values)]
    deviation = float(known.std(ddof=1)) if len(known) > 1 else None
    return Check(
        rule, where, value, *_turned(rule, sides(values, rule.of.kind, rule.threshold, q)), deviation
    )


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
    value, low, high = (ends.get(name) for name in ("value", "low", "high"))
    if not isinstance(value, int | float):
        raise InputError(f"the figure {rule.of!r} must be a number, found {given!r}")
    lowest, highest = (value if end is None else end for end in (low, high))
    holds, fails = (lowest >= rule.threshold, highest < rule.threshold)
    if rule.condition == "at_most":
        holds, fails = (highest <= rule.threshold, lowest > rule.threshold)
    made = Estimate(value, low, high, level, 1)
    return Check(rule, "all", made, float(not holds), float(not fails), figure=low is None)


def _decided(checks: list[Check], rules: Rules) -> list[Check]:
    """The checks with their failures corrected and their status."""
    alpha = (1 - rules.level) / 2  # a side of the interval that is shown
    looked_at = [check for check in checks if check.status != "skipped"]
    ps, _ = corrected([check.fails for check in looked_at], [], rules.correction)
    by_check = dict(zip(map(id, looked_at), ps, strict=True))
    made = []
    for check in checks:
        p = by_check.get(id(check))
        if check.status == "skipped":
            status = "skipped"
        elif check.holds is not None and check.holds <= alpha:
            status = "passed"
        else:
            status = "failed" if p is not None and p <= alpha else "undecided"
        made.append(replace(check, corrected=p, status=status))
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
    named_ = "; ".join(f"{c.rule.name} ({c.slice}): {c.text}" for c in those)
    levels = {check.rule.priority for check in checks}
    better = [c for c in checks if c.rule.condition == "better_by" and c.status == "passed"]
    said = f"{what}: {named_}"
    if len(levels) > 1:
        said += f"; priority {priority} decides"
    if better and what == "failed":
        gains = "; ".join(f"{c.rule.name} ({c.slice}), priority {c.rule.priority}" for c in better)
        said += f", although {gains} holds"
    return said


def _outweighing(won: list[Check], later: list[Check]) -> str:
    gains = "; ".join(f"{c.rule.name} ({c.value.value:+.4f})" for c in won)
    losses = "; ".join(f"{c.rule.name} ({c.slice}, priority {c.rule.priority}): {c.text}" for c in later)
    return f"passed: {gains} holds at priority {won[0].rule.priority} and outweighs {losses}"


def _passed(checks: Sequence[Check]) -> str:
    open_ = [c for c in checks if c.status == "undecided"]
    held = sum(c.status == "passed" for c in checks)
    skipped = sum(c.status == "skipped" for c in checks)
    said = f"passed: {held} of {len(checks)} checks hold"
    said += f', {len(open_)} undecided and let through (undecided = "pass")' * bool(open_)
    return said + f", {skipped} slices too small to look at" * bool(skipped)
