"""Checks and verdicts in sentences: what was found, what decided, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from assay.decisions.checks import Check
from assay.decisions.verdict import Verdict
from assay.views.numbers import NARROW_MARK, end_digits, format_p_sentence, format_signed

_MAX_FACTOR = 100  # more than this many times the present number of queries is not worth advising
_FAILURES = {
    "at_least": "below it",
    "at_most": "above it",
    "not_worse_than": "worse by more than that",
    "better_by": "not better by that",
}
_FORMATS: dict[str, Callable[[float], str]] = {
    "measure": "{:.4f}".format,
    "slo_ms": "{:.4f}".format,
    "latency": "{:,.1f} ms".format,
    "figure": "{:.6g}".format,
}


def describe_check(check: Check) -> str:
    """Return the value that was found, with its interval and why the rule does not hold."""
    e = check.value
    if check.status == "skipped":
        return f"skipped: {e.n} queries, the rule requires {check.rule.min_n}"
    if e.value is None:
        return "no value: too few queries, or the measure is undefined for them"
    form = format_signed if check.rule.compares else _FORMATS[check.rule.subject]
    form_end = partial(format_signed, digits=end_digits(e)) if check.rule.compares else form
    low, high = ("–" if end is None else form_end(end) for end in (e.low, e.high))
    is_single = e.has_no_interval
    mark = NARROW_MARK * e.is_narrow
    ends = "" if is_single else f" ({low} … {high}{mark})"
    figure = "a single figure, no interval" if is_single else "a figure"
    n = figure if check.rule.subject == "figure" else f"n {e.n:,}"
    return f"{form(e.value)}{ends}, {n}{_explain_status(check)}"


def _explain_status(check: Check) -> str:
    if check.status == "failed" and check.corrected_p is not None and check.rule.subject != "figure":
        return f": {_FAILURES[check.rule.condition]}, {format_p_sentence(check.corrected_p)}"
    if check.has_same_results:
        return ": both returned the same judged documents at the same ranks"
    if check.status != "undecided":
        return ""
    if not check.has_enough_queries:
        return ": not decided with so few judged queries"
    if check.side == -1 and not check.is_at_boundary:
        return f": {_FAILURES[check.rule.condition]}, but not shown after correction{_describe_p(check)}"
    if check.looks_worse:
        return ": worse, but too close to tell whether by more than that"
    if check.value.has_no_interval:
        return ": too few to tell"
    return ": too close to tell"


def _describe_p(check: Check) -> str:
    return "" if check.corrected_p is None else f" ({format_p_sentence(check.corrected_p)})"


def describe_advice(check: Check) -> str:
    """Return what to do about a check; an empty text if it holds."""
    if check.status == "failed":
        if check.losers:
            return _name_losers(check)
        gap = abs((check.value.value or 0.0) - check.rule.threshold)
        source = " (assay failures shows the queries behind it)" if check.rule.subject == "measure" else ""
        return f"it lies {gap:.4g} on the wrong side of {check.rule.threshold:g}{source}"
    if check.status != "undecided":
        return ""
    advice = _advise_undecided(check)
    return f"{_name_losers(check)}; {advice}" if check.looks_worse and check.losers else advice


def _name_losers(check: Check) -> str:
    return f"look at the queries that lost most, such as {', '.join(check.losers)} (assay compare)"


def _advise_undecided(check: Check) -> str:
    """Return what would decide an undecided check."""
    move = "widen the margin" if check.rule.condition == "not_worse_than" else "move the threshold"
    unit = "requests" if check.rule.subject in ("latency", "slo_ms") else "queries"
    if check.value.value is None:
        return f"judge {unit} for which {check.rule.of} is defined"
    if check.rule.subject == "figure":
        return f"measure it more precisely, or {move}"
    if not check.has_enough_queries:
        return "judge more queries"
    if check.is_at_boundary:
        return f"it lies on the threshold, where no number of {unit} can tell: {move}"
    if check.side or check.value.has_no_interval:
        return f"measure more {unit}"
    deciding_n = check.deciding_n
    if deciding_n is None or deciding_n <= check.value.n:
        return f"measure more {unit}, or {move}"
    if deciding_n > _MAX_FACTOR * check.value.n:
        return f"it lies so close that even {_MAX_FACTOR} times as many {unit} would not tell: {move}"
    where = "" if check.slice == "all" else " of this slice"
    now = f"now {check.value.n:,}; if the value stays the same"
    return f"about {deciding_n:,} {unit}{where} would tell ({now}); or {move}"


def describe_verdict(verdict: Verdict) -> str:
    """Return the verdict in one sentence, with the checks that decided."""
    if not verdict.has_enough_queries:
        required = f"the rules require {verdict.min_n:,} (min_queries)"
        return f"cannot be decided: {verdict.n:,} judged queries, {required}: judge more queries"
    if verdict.outweighed:
        return _describe_outweighing(verdict)
    return _describe_decisive(verdict) if verdict.decisive else _describe_passed(verdict.checks)


def _describe_decisive(verdict: Verdict) -> str:
    """Return what failed or is undecided, and the improvements that do not outweigh it."""
    outcome = "failed" if verdict.status == "failed" else "cannot be decided"
    priority = verdict.decisive[0].rule.priority
    has_priorities = len({check.rule.priority for check in verdict.checks}) > 1
    names = _join_first([f"{c.rule.name} ({c.slice}): {describe_check(c)}" for c in verdict.decisive])
    weight = "decides" if verdict.status == "failed" else "comes first"
    text = f"{outcome}: {names}" + f"; priority {priority} {weight}" * has_priorities
    better = [c for c in verdict.checks if c.rule.condition == "better_by" and c.status == "passed"]
    if has_priorities:
        better = [c for c in better if c.rule.priority != priority]
    if better and verdict.status == "failed":
        suffix = f", priority {better[0].rule.priority}" * has_priorities
        gains = _join_first([f"{c.rule.name} ({c.slice}{suffix})" for c in better])
        text += f", although this holds: {gains}"
    return text


def _describe_outweighing(verdict: Verdict) -> str:
    gains = _join_first([f"{c.rule.name} ({c.slice}): {describe_check(c)}" for c in verdict.decisive])
    losses = _join_first(
        [
            f"{c.rule.name} ({c.slice}, priority {c.rule.priority}): {describe_check(c)}"
            for c in verdict.outweighed
        ]
    )
    return f"passed: priority {verdict.decisive[0].rule.priority} decides: {gains}; this outweighs {losses}"


def _describe_passed(checks: Sequence[Check]) -> str:
    counts = {
        status: sum(c.status == status for c in checks) for status in ("passed", "undecided", "skipped")
    }
    text = f"passed: {counts['passed']} of {len(checks)} checks hold"
    if counts["undecided"]:
        text += f', {counts["undecided"]} undecided and let through (undecided = "pass")'
    if counts["skipped"]:
        text += f", {counts['skipped']} slice{'s' * (counts['skipped'] > 1)} too small and skipped"
    return text


def _join_first(items: list[str], most: int = 3) -> str:
    """Return the first items, and how many more there are."""
    more = [f"and {len(items) - most} more"] * (len(items) > most)
    return "; ".join([*items[:most], *more])
