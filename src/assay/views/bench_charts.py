"""The charts of a benchmark report, each with sentences made from the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from assay.bench.selection.tradeoff import TradeoffPlane
from assay.bench.studies.families import FAMILIES, FailureRatio, failure_ratio, family_of_trial
from assay.bench.studies.findings import StudyFindings, TrialFindings, recall_percentile
from assay.bench.studies.matched_pairs import MatchedPair
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.side_by_side import CURVE_TOLERANCE, nearest_by_engine
from assay.bench.studies.study import Study
from assay.bench.trials import robustness_name
from assay.views import bench_chart_rows as rows
from assay.views import charts
from assay.views.bench_comparison_charts import comparison_parts
from assay.views.bench_summary import pooled_sentences
from assay.views.chart_page import PagePart
from assay.views.chart_style import engine_colours
from assay.views.numbers import NO_VALUE, format_bounds, format_estimate, format_ratio, shorten_measure
from assay.views.sections import Section

RATIOS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
_MAX_PANELS = 12  # of ratios; all pairs are in the table


@dataclass(frozen=True)
class ReportData:
    """The data of a report: trials, findings, and the planes of the trade-off."""

    study: Study
    findings: StudyFindings
    planes: Sequence[TradeoffPlane] = ()

    @property
    def recall(self) -> float:
        """The mean recall at which trials are compared."""
        return self.findings.recall

    @cached_property
    def by_key(self) -> dict[str, ScoredTrial]:
        """The comparable trials by key."""
        keys = {finding.key for finding in self.findings.trials}
        results = [result for result in self.study.scored_trials if result.trial.key in keys]
        return {result.trial.key: result for result in sorted(results, key=_sort_key)}

    @cached_property
    def pairs(self) -> list[MatchedPair]:
        """For each two engines the matched pair nearest to the target; pairs of different families first."""
        pairs: dict[str, MatchedPair] = {}
        for pair in sorted(self.findings.matched, key=lambda pair: _rank(pair, self.recall)):
            pairs.setdefault(_engine_names(self, pair), pair)
        return list(pairs.values())

    @cached_property
    def compared_recall(self) -> float:
        """The mean recall to compare at: that of the first matched pair if it is near the target."""
        levels = (sum(recall.value or 0.0 for recall in pair.recalls) / 2 for pair in self.pairs[:1])
        return next((level for level in levels if abs(level - self.recall) <= CURVE_TOLERANCE), self.recall)

    @cached_property
    def results_near_target(self) -> list[ScoredTrial]:
        """For each engine and family the configuration with the nearest mean recall within the tolerance."""
        return nearest_by_engine(list(self.by_key.values()), self.compared_recall)

    @cached_property
    def colours(self) -> dict[str, str]:
        """A colour for each engine."""
        others = (curve.engine for data_set in self.findings.data_sets for curve in data_set.curves)
        return engine_colours([*(result.trial.engine for result in self.by_key.values()), *others])

    def finding(self, result: ScoredTrial) -> TrialFindings:
        """The finding of a trial."""
        return next(finding for finding in self.findings.trials if finding.key == result.trial.key)


def _sort_key(result: ScoredTrial) -> tuple[int, str, float]:
    return FAMILIES.index(family_of_trial(result.trial)), result.trial.engine, result.recall.value or 0.0


def describe_recall(data: ReportData) -> list[str]:
    """For how many queries each configuration near the target finds nothing, and for how many everything."""
    return [
        f"At a mean recall of {spread.mean:.3f}, {result.trial.label} finds nothing for "
        f"{spread.counts[0]:,} of {spread.n:,} queries, and all {spread.k} for {spread.counts[-1]:,}."
        for result, spread in rows.distributions(data.results_near_target)
    ]


def chart_parts(data: ReportData) -> list[PagePart]:
    """The parts of the report that have data."""
    parts = (
        _distribution(data),
        _against_recall(data),
        _information(data),
        *comparison_parts(data.findings, data.colours),
        _ratios(data),
        _severity(data),
        _tradeoff(data),
        _percentiles(data),
        _difficulty(data),
    )
    return [part for part in parts if part is not None]


def _distribution(data: ReportData) -> PagePart | None:
    title = f"Recall of queries, at a mean recall near {data.recall:g}"
    if not data.results_near_target:
        if not data.by_key:
            return None
        message = f"no configuration has a mean recall within {CURVE_TOLERANCE:g} of {data.recall:g}"
        return PagePart(Section(title, [f"{message}, so none is shown: choose another recall with --recall"]))
    curves = [(result, curve) for result in data.results_near_target if (curve := data.finding(result).curve)]
    if not curves:
        return None
    histogram = rows.histogram_rows(data.results_near_target, data.colours)
    charts_drawn = [charts.histogram(histogram)] if histogram else []
    charts_drawn.append(charts.curve(rows.curve_rows(curves, data.colours)))
    return PagePart(
        Section(title, [*describe_recall(data), *_describe_curve_ends(curves), *_unmatched_note(data)]),
        charts_drawn,
    )


def _unmatched_note(data: ReportData) -> list[str]:
    """A warning if the configurations drawn do not have the same mean recall."""
    recalls = [result.recall.value or 0.0 for result in data.results_near_target]
    difference = max(recalls) - min(recalls)
    return [
        f"Their mean recalls differ by up to {difference:.3f}, and a higher recall means fewer failures: "
        "measure them at the same one (assay bench --recall)."
    ] * (difference > data.findings.tolerance)


def _describe_curve_ends(curves: Sequence[tuple[ScoredTrial, rows.Curve]]) -> list[str]:
    """The best and the worst configuration at the lowest and at the highest δ."""
    if len(curves) < 2:
        return []
    lines = []
    for end in (0, -1):
        (last, worst), *_, (first, best) = sorted(
            ((result, curve[end]) for result, curve in curves), key=lambda pair: pair[1][1].value or 0
        )
        if best[1].value == worst[1].value:
            lines.append(
                f"At δ = {best[0]:g} all reach it for the same share of queries, {format_estimate(best[1])}."
            )
            continue
        lines.append(
            f"At δ = {best[0]:g} the most queries reach it with {first.trial.label}, "
            f"{format_estimate(best[1])}; the fewest with {last.trial.label}, {format_estimate(worst[1])}."
        )
    return lines


def _against_recall(data: ReportData) -> PagePart | None:
    deltas = sorted({*rows.DELTAS, data.findings.delta})
    groups = {
        point.key: f"{study.engine} {study.family} {line.setting}"
        for study in data.findings.parameter_studies
        for line in study.lines
        for point in line.points
    }
    recall_rows = rows.recall_rows(list(data.by_key.values()), data.colours, data.findings.k, deltas, groups)
    if not recall_rows:
        return None
    r2 = {
        information.measure: information.r2
        for information in data.findings.information
        if information.r2 is not None
    }
    names = (robustness_name(delta, data.findings.k) for delta in deltas)
    text = ", ".join(f"{r2[name]:.2f} for {shorten_measure(name)}" for name in names if name in r2)
    lines = [f"r² with the mean recall is {text}."] * bool(text)
    head = (
        "Each mark is a configuration; if marks with the same mean recall differ, the mean hides something."
    )
    return PagePart(
        Section("Robustness against mean recall", [head, *lines]), [charts.against_recall(recall_rows)]
    )


def _information(data: ReportData) -> PagePart | None:
    information = sorted(
        (entry.r2, shorten_measure(entry.measure), entry.n)
        for entry in data.findings.information
        if entry.r2 is not None
    )
    if not information:
        return None
    (lowest, first, n), (highest, last, _) = information[0], information[-1]
    chart = charts.information([{"measure": name, "r2": r2, "n": of} for r2, name, of in information])
    note = (
        f"Across {n} configurations, the mean recall says least about {first} (r² {lowest:.2f}) and most "
        f"about {last} (r² {highest:.2f}): a measure with a low r² is worth looking at on its own."
    )
    return PagePart(Section("Which measures say more than the mean recall", [note]), [chart])


def _ratios(data: ReportData) -> PagePart | None:
    pairs = data.pairs
    ratios_by_pair = {pair: _ratios_by_delta(data, pair) for pair in pairs[:_MAX_PANELS]}
    ratio_rows = rows.ratio_rows(
        {_engine_names(data, pair): ratios for pair, ratios in ratios_by_pair.items()}
    )
    if not ratio_rows:
        return None
    lines = [
        f"{_describe_pair(data, pair)}: {', '.join(map(_describe_ratio, (ratios[0], ratios[-1])))}."
        for pair, ratios in ratios_by_pair.items()
    ]
    note = "How many times as often the first index fails as the second, at the same mean recall."
    lines = [*pooled_sentences(data.findings), *lines]
    remaining = len(pairs) - len(ratios_by_pair)
    lines += [f"{remaining} more pairs of engines are in the table below."] * bool(remaining)
    return PagePart(
        Section("Failures of one index over another", [note, *lines]), [charts.ratios(ratio_rows)]
    )


def _rank(pair: MatchedPair, target: float) -> tuple[bool, float]:
    return pair.families[0] == pair.families[1], abs((pair.recalls[0].value or 0) - target)


def _engine_names(data: ReportData, pair: MatchedPair) -> str:
    engines = (data.by_key[key].trial.engine for key in (pair.first, pair.second))
    return " over ".join(f"{engine} ({kind})" for engine, kind in zip(engines, pair.families, strict=True))


def _describe_pair(data: ReportData, pair: MatchedPair) -> str:
    first, second = (data.by_key[key].trial.label for key in (pair.first, pair.second))
    recalls = " and ".join(f"{recall.value:.3f}" for recall in pair.recalls)
    return f"{first} over {second} (mean recall {recalls})"


def _ratios_by_delta(data: ReportData, pair: MatchedPair) -> list[FailureRatio]:
    first, second = data.by_key[pair.first], data.by_key[pair.second]
    ratios = (failure_ratio(first, second, delta) for delta in RATIOS)
    return [ratio for ratio in ratios if ratio.first.value is not None and ratio.second.value is not None]


def _describe_ratio(comparison: FailureRatio) -> str:
    ratio, at = comparison.ratio, f"at δ = {comparison.delta:g}"
    counts = f"{_percent(comparison.first.value)} against {_percent(comparison.second.value)}"
    if ratio.value is None:
        bound = f"more than {format_ratio(ratio.low)} times {at} ({counts})" if ratio.low else ""
        return bound or f"neither fails {at}"
    has_interval = (ratio.low, ratio.high) != (None, None)
    interval = f", {format_bounds(ratio.low, ratio.high, format_ratio)}" if has_interval else ""
    return f"{format_ratio(ratio.value)} times {at} ({counts}{interval})"


def _severity(data: ReportData) -> PagePart | None:
    severities = [
        (result, severity)
        for result in data.results_near_target
        if (severity := data.finding(result).severity) is not None
    ]
    failed = [(result, severity) for result, severity in severities if severity.outside.value is not None]
    if not failed:
        return None
    lines = [
        f"{result.trial.label}: of the answers to the {severity.failed:,} queries with recall ≤ "
        f"{data.findings.at_most:g}, {format_estimate(severity.outside)} lie beyond the "
        f"{severity.edges[-1]} nearest."
        for result, severity in failed
    ]
    without_failures = [result.trial.label for result, severity in severities if not severity.failed]
    lines += [f"No such query: {', '.join(without_failures)}."] * bool(without_failures)
    lines.append("The line is the interval of the position where the last band begins.")
    return PagePart(Section("How bad the failures are", lines), [charts.severity(rows.severity_rows(failed))])


def _tradeoff(data: ReportData) -> PagePart | None:
    results = list(data.by_key.values())
    planes = [plane for plane in data.planes if plane.points]
    if not planes:
        return None
    lines = [_describe_front(plane, len(results)) for plane in planes]
    chart = charts.planes(rows.plane_rows(planes, results, data.colours))
    return PagePart(Section("The trade-off, with one of three figures held at a floor", lines), [chart])


def _describe_front(plane: TradeoffPlane, of: int) -> str:
    best = _join_or([point.label for point in plane.points if point.on_front])
    remaining = f"With {rows.describe_floor(plane)}, {len(plane.points)} of {of} configurations remain"
    return f"{remaining}; none is better in both other figures than {best}."


def _percentiles(data: ReportData) -> PagePart | None:
    percentile_rows = rows.percentile_rows(data.results_near_target, data.colours)
    if not percentile_rows:
        return None
    worst = [
        f"{result.trial.label} {format_estimate(recall_percentile(spread, 0.01), 2, 2)}"
        for result, spread in rows.distributions(data.results_near_target)
        if spread.n >= 100
    ]
    note = "The recall below which at most this share of queries falls"
    line = f"{note}; at 1 %: {', '.join(worst)}." if worst else f"{note}."
    return PagePart(Section("Percentiles of recall", [line]), [charts.percentiles(percentile_rows)])


def _difficulty(data: ReportData) -> PagePart | None:
    results_with_relations = [
        (result, data.finding(result).relations)
        for result in data.results_near_target
        if data.finding(result).relations
    ]
    difficulty_rows = rows.difficulty_rows(results_with_relations, data.colours)
    if not difficulty_rows:
        return None
    relations = [
        (abs(r.correlation.value), r, result)
        for result, result_relations in results_with_relations
        for r in result_relations
        if r.correlation.value
    ]
    note = (
        f"The share of queries whose recall is below {data.findings.delta:g}, in each quarter of the "
        "queries: the first has the lowest values of a measure, the last the highest."
    )
    lines = []
    if relations:
        _, strongest, result = max(relations, key=lambda relation: relation[0])
        lines.append(
            f"Recall correlates most with {rows.FEATURES[strongest.feature]}: rank correlation "
            f"{format_estimate(strongest.correlation)} for {result.trial.label}."
        )
    return PagePart(Section("Which queries are hard", [note, *lines]), [charts.difficulty(difficulty_rows)])


def _join_or(labels: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(labels[:-1]), labels[-1])))


def _percent(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:.2%}"
