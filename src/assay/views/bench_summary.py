"""What a report finds, in a few sentences: the main finding first, then the advice and its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.bench.studies.advice import FamilyAdvice, TailStep, UntriedParameter
from assay.bench.studies.findings import StudyFindings, TrialFindings
from assay.bench.studies.pooled_families import PooledRatio
from assay.views.numbers import (
    format_bounds,
    format_estimate,
    format_ratio,
    format_short,
    shorten_measure,
)
from assay.views.sections import Section

_STEPS_SHOWN = 6


def summary_section(findings: StudyFindings) -> Section:
    """The main finding and what it rests on."""
    lines = [main_finding(findings), *map(_describe_families, findings.advice.families[1:])]
    lines += [_describe_information(findings), _describe_failing(findings)]
    lines += [_describe_step(findings), _describe_untried(findings)]
    return Section("In short", list(dict.fromkeys(filter(None, lines))))


def main_finding(findings: StudyFindings) -> str:
    """The most important finding as one sentence."""
    if pooled := _nearest_pooled(findings):
        return _describe_pooled(pooled, findings)
    if findings.advice.families:
        return _describe_families(findings.advice.families[0])
    return _describe_best(findings)


def _nearest_pooled(findings: StudyFindings) -> PooledRatio | None:
    """The ratio of the first two families at the δ of the report, else at the nearest."""
    known = [ratio for ratio in findings.pooled if ratio.first or ratio.second]
    return min(known, key=lambda ratio: abs(ratio.delta - findings.delta), default=None)


def pooled_sentences(findings: StudyFindings) -> list[str]:
    """The pooled failures of every two families at every δ, one sentence each."""
    known = [ratio for ratio in findings.pooled if ratio.first or ratio.second]
    return [_describe_pooled(ratio, findings) for ratio in known]


def _describe_pooled(pooled: PooledRatio, findings: StudyFindings) -> str:
    first, second = pooled.families
    if pooled.ratio.value is not None and pooled.ratio.value < 1 and pooled.first:
        first, second = second, first
        ratio = 1 / pooled.ratio.value
        bounds = [
            None if end is None else 1 / end for end in (pooled.ratio.high, pooled.ratio.low) if end != 0
        ]
    else:
        ratio, bounds = pooled.ratio.value or 0.0, [pooled.ratio.low, pooled.ratio.high]
    rates = dict(zip(pooled.families, (pooled.first, pooled.second), strict=True))
    near = f"At a mean recall of {findings.recall:g} ± {findings.pooling_tolerance:g}"
    shares = f"({_percent(rates[first])} against {_percent(rates[second])})"
    if not rates[second] or not ratio:
        fails, never = (first, second) if rates[first] else (second, first)
        return (
            f"{near}, {_percent(rates[fails])} of the queries stay below δ = {pooled.delta:g} with {fails} "
            f"indexes, and none with {never} indexes."
        )
    is_known = len(bounds) == 2 and None not in bounds
    interval = f" ({format_bounds(bounds[0], bounds[1], format_ratio)})" if is_known else ""
    return (
        f"{near}, {first} indexes leave {format_ratio(ratio)}{interval} times as many queries below "
        f"δ = {pooled.delta:g} as {second} indexes {shares}."
    )


def _percent(share: float) -> str:
    return f"{share:.2%}" if share >= 0.001 or not share else f"{share:.3%}"


def _describe_families(advice: FamilyAdvice) -> str:
    best, *others = advice.families
    shares = " and ".join(f"{other.robustness:.4f} with {other.family}" for other in others)
    return (
        f"For δ = {advice.delta:g}, {best.family} indexes serve the most queries near a mean recall of "
        f"{advice.recall:g}: {best.robustness:.4f}, against {shares}."
    )


def _describe_best(findings: StudyFindings) -> str:
    """The configuration with the fewest failing queries, if there is nothing to compare families by."""
    known = [trial for trial in findings.trials if trial.failure.value is not None]
    if not known:
        return ""
    best = min(known, key=lambda trial: trial.failure.value or 0.0)
    return (
        f"The fewest queries stay below δ = {findings.delta:g} with {best.label}: "
        f"{format_estimate(best.failure, interval_digits=4)}, at a mean recall of "
        f"{format_estimate(best.recall)}."
    )


def _describe_information(findings: StudyFindings) -> str:
    known = [entry for entry in findings.information if entry.r2 is not None]
    if not known:
        return ""
    least = min(known, key=lambda entry: entry.r2 or 0.0)
    return (
        f"The mean recall says least about {shorten_measure(least.measure)}: r² is {least.r2:.2f} across "
        f"{least.n} configurations."
    )


def _describe_failing(findings: StudyFindings) -> str:
    if findings.failing is None or not findings.failing.everywhere:
        return ""
    count = len(findings.failing.everywhere)
    verb = "query fails" if count == 1 else "queries fail"
    return f"{count:,} {verb} on every index at δ = {findings.delta:g}: these are hard, whatever the index."


def _describe_step(findings: StudyFindings) -> str:
    """The change of one parameter that lowered failures most, and what it cost."""
    if not findings.advice.steps:
        return ""
    best = max(
        findings.advice.steps,
        key=lambda step: (step.first_failure.value or 0.0) - (step.second_failure.value or 0.0),
    )
    cost = (
        f", at {format_short(best.first_qps)} and {format_short(best.second_qps)} queries per second"
        if best.first_qps and best.second_qps
        else ""
    )
    return (
        f"What raised the tail most is {best.parameter} of {best.engine}: from {best.before:g} to "
        f"{best.after:g}, {_percent(best.first_failure.value or 0.0)} and then "
        f"{_percent(best.second_failure.value or 0.0)} stay below δ = {findings.delta:g}{cost}."
    )


def _describe_untried(findings: StudyFindings) -> str:
    """The parameters that could raise the tail and that no two trials differ in."""
    names = [f"{entry.parameter} of {entry.engine}" for entry in findings.advice.untried]
    return f"Not varied here, and worth measuring: {', '.join(names)}." if names else ""


def advice_sections(findings: StudyFindings) -> list[Section]:
    """Which family to choose at which δ, what raised the tail here, and what was not tried."""
    labels = _labels(findings)
    families = [
        [f"{advice.delta:g}", one.family, f"{one.configurations:,}", f"{one.robustness:.4f}"]
        for advice in findings.advice.families
        for one in advice.families
    ]
    near = f"the mean of the configurations with a mean recall of {findings.recall:g} ± "
    sections = [
        Section(
            "Which family serves which δ",
            [f"{near}{findings.pooling_tolerance:g}, the best family of each δ first"],
            ["δ", "family", "configurations", "robustness"],
            families,
        ),
        _steps(findings.advice.steps, labels, findings.delta),
        _untried(findings.advice.untried),
    ]
    return [section for section in sections if section.rows]


def _labels(findings: StudyFindings) -> Mapping[str, str]:
    trials: Sequence[TrialFindings] = findings.trials
    return {trial.key: trial.label for trial in trials}


def _steps(steps: Sequence[TailStep], labels: Mapping[str, str], delta: float) -> Section:
    best = sorted(steps, key=lambda step: (step.second_failure.value or 0) - (step.first_failure.value or 0))
    rows = [
        [
            labels.get(step.first, step.engine),
            f"{step.parameter} {step.before:g} → {step.after:g}",
            format_estimate(step.first_failure, interval_digits=4),
            format_estimate(step.second_failure, interval_digits=4),
            f"{format_short(step.first_qps)} → {format_short(step.second_qps)}",
        ]
        for step in best[:_STEPS_SHOWN]
    ]
    notes = [f"the largest step of each parameter on these data, and the share below δ = {delta:g}"]
    head = ["from", "change", "below δ before", "below δ after", "QPS"]
    return Section("What raised the tail", notes, head, rows)


def _untried(untried: Sequence[UntriedParameter]) -> Section:
    rows = [[entry.engine, entry.parameter, entry.effect] for entry in untried]
    notes = ["parameters that these trials do not vary; measure them before you rely on them"]
    return Section("What else could raise the tail", notes, ["engine", "parameter", "why"], rows)
