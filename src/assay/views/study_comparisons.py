"""What compares families, data sets and parameters, as tables."""

from __future__ import annotations

from assay.bench.studies.findings import StudyFindings
from assay.bench.studies.parameter_studies import ParameterStudy
from assay.bench.studies.pooled_families import PooledRatio
from assay.bench.studies.recall_correlation import DELTAS
from assay.bench.studies.side_by_side import DataSetFindings, EngineCurve
from assay.stats.intervals import Estimate
from assay.views.numbers import NO_VALUE, format_bounds, format_estimate, format_ratio, format_short
from assay.views.sections import Section


def pooled_section(findings: StudyFindings) -> Section:
    """How many times as often one family fails as another, on each data set."""
    rows = [
        [
            name_data_set(data_set, findings),
            f"{pooled.delta:g}",
            f"{pooled.families[0]} ({pooled.configurations[0]})",
            f"{pooled.families[1]} ({pooled.configurations[1]})",
            f"{pooled.first:.4f}",
            f"{pooled.second:.4f}",
            format_pooled_ratio(pooled),
        ]
        for data_set in findings.data_sets
        for pooled in data_set.pooled
    ]
    notes = [
        "the mean share below δ of all configurations of a family with a mean recall of "
        f"{findings.recall:g} ± {findings.pooling_tolerance:g}; their number is in parentheses",
    ]
    head = ["data", "δ", "first", "second", "below δ, first", "second", "times as often"]
    return Section("Families at the same mean recall", notes, head, rows)


def format_pooled_ratio(pooled: PooledRatio) -> str:
    """The ratio with its interval if it is known."""
    ratio = pooled.ratio
    if ratio.value is None:
        return NO_VALUE if ratio.low is None else f"at least {format_ratio(ratio.low)}"
    if ratio.low is None and ratio.high is None:
        return format_ratio(ratio.value)
    return f"{format_ratio(ratio.value)} ({format_bounds(ratio.low, ratio.high, format_ratio)})"


def name_data_set(data_set: DataSetFindings, findings: StudyFindings) -> str:
    """The name of a data set, with its K if there are several."""
    ks = {each.k for each in findings.data_sets}
    return f"{data_set.dataset}, K = {data_set.k}" if len(ks) > 1 else data_set.dataset


def reranking_section(findings: StudyFindings) -> Section:
    """What is among all answers of trials with more than K answers."""
    rows = [
        [
            entry.label,
            f"{entry.depth:,}",
            f"{entry.queries:,}",
            format_estimate(entry.nearest),
            format_estimate(entry.any_of_five),
            format_estimate(entry.whole),
            format_estimate(entry.recall),
            format_estimate(entry.reranked_recall),
        ]
        for entry in findings.reranking
    ]
    k = findings.k
    notes = [
        f"of the queries with recall ≤ {findings.at_most:g} at {k}, the share whose nearest neighbour, any "
        f"of the five nearest, or all {k} are among the answers, so that exact reranking returns them"
    ]
    head = ["index", "answers", "queries", "nearest", "any of 5", f"all {k}", f"R@{k}", "reranked"]
    return Section("Retrieve more and rerank", notes, head, rows)


def data_set_sections(findings: StudyFindings) -> list[Section]:
    """Robustness curves and r² of every data set and K, if there are several."""
    if len(findings.data_sets) < 2:
        return []
    return [_curves_side_by_side(findings), information_by_data_set(findings)]


def _curves_side_by_side(findings: StudyFindings) -> Section:
    steps = [
        step
        for step in DELTAS
        if any(_at(curve, step).value is not None for each in findings.data_sets for curve in each.curves)
    ]
    rows = [
        [
            name_data_set(data_set, findings),
            curve.engine,
            _format_share(curve.recall),
            *(_format_share(_at(curve, step)) for step in steps),
        ]
        for data_set in findings.data_sets
        for curve in data_set.curves
    ]
    notes = [f"the configuration of each engine whose mean recall is nearest to {findings.recall:g}"]
    head = ["data", "engine", "recall", *(f"{step:g}" for step in steps)]
    return Section("Robustness-δ side by side", notes, head, rows)


def _at(curve: EngineCurve, delta: float) -> Estimate:
    """Robustness at δ; without single queries only at the δ that are stated."""
    exact = (share for step, share in curve.curve if abs(step - delta) < 1e-9)
    return next(exact, Estimate(None, None, None, 0.95, 0))


def _format_share(share: Estimate) -> str:
    return NO_VALUE if share.value is None else f"{share.value:.4f}"


def information_by_data_set(findings: StudyFindings) -> Section:
    """r² of each measure with the mean recall, one column for each data set."""
    known = [each for each in findings.data_sets if any(entry.r2 is not None for entry in each.information)]
    values = [{entry.measure.partition("@")[0]: entry for entry in each.information} for each in known]
    measures = [
        name
        for name in dict.fromkeys(name for column in values for name in column)
        if any(name in column and column[name].r2 is not None for column in values)
    ]
    rows = [
        [name, *(_format_r2(column[name].r2 if name in column else None) for column in values)]
        for name in measures
    ]
    low, high = findings.recall_range
    counts = [max((entry.n for entry in each.information), default=0) for each in known]
    configurations = ", ".join(
        f"{count} of {name_data_set(each, findings)}" for count, each in zip(counts, known, strict=True)
    )
    notes = [f"over configurations with a mean recall of {low:g} to {high:g}: {configurations}"]
    head = ["measure", *(name_data_set(each, findings) for each in known)]
    return Section("r² with the mean recall, side by side", notes, head, rows)


def _format_r2(r2: float | None) -> str:
    return NO_VALUE if r2 is None else f"{r2:.2f}"


def parameter_sections(findings: StudyFindings) -> list[Section]:
    """One table for each engine: robustness by the search parameter, one row for each other setting."""
    return [
        _parameter_section(study, findings)
        for study in findings.parameter_studies
        if any(point.robustness.value is not None for line in study.lines for point in line.points)
    ]


def _parameter_section(study: ParameterStudy, findings: StudyFindings) -> Section:
    rows = [
        [
            line.setting or study.engine,
            f"{point.value:g}",
            format_estimate(point.recall),
            format_estimate(point.robustness),
            NO_VALUE if point.qps is None else format_short(point.qps),
        ]
        for line in study.lines
        for point in line.points
    ]
    name = f"Robustness-{findings.delta:g}@{findings.k}"
    head = ["setting", study.parameter, f"R@{findings.k}", name, "QPS"]
    return Section(f"{study.engine} by {study.parameter}", [], head, rows)


def frontier_section(findings: StudyFindings) -> Section:
    """The best trade-offs with throughput that each engine reaches."""
    rows = [
        [point.label, frontier.figure, f"{point.value:.4f}", format_short(point.qps)]
        for frontier in findings.frontiers
        for point in frontier.points
    ]
    notes = ["no other configuration of the engine is better in the figure and as fast"]
    return Section("Frontiers with throughput", notes, ["index", "figure", "value", "QPS"], rows)
