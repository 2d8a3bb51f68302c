"""The charts of a report that compare data sets, parameters and engines, with sentences about them."""

from __future__ import annotations

from assay.bench.studies.findings import StudyFindings
from assay.bench.studies.parameter_studies import ParameterStudy
from assay.bench.studies.side_by_side import DataSetFindings
from assay.views import study_charts
from assay.views.bench_chart_rows import Colours, Rows, line_widths, number_rings
from assay.views.chart_page import PagePart
from assay.views.numbers import format_short, shorten_measure
from assay.views.sections import Section
from assay.views.study_comparisons import information_by_data_set, name_data_set


def comparison_parts(findings: StudyFindings, colours: Colours) -> list[PagePart]:
    """The parts that have data."""
    parts = (
        _heatmap(findings),
        _side_by_side(findings, colours),
        _parameters(findings),
        _frontiers(findings, colours),
    )
    return [part for part in parts if part is not None]


def _heatmap(findings: StudyFindings) -> PagePart | None:
    rows = [
        {
            "measure": shorten_measure(entry.measure.partition("@")[0]),
            "data": name_data_set(data_set, findings),
            "r2": entry.r2,
            "n": entry.n,
        }
        for data_set in findings.data_sets
        for entry in data_set.information
        if entry.r2 is not None
    ]
    if len({row["data"] for row in rows}) < 2:
        return None
    lines = [
        "A pale cell is a measure of which the mean recall says little on these data: look at it on its own.",
        f"r² is {information_by_data_set(findings).notes[0]}.",
    ]
    return PagePart(
        Section("r² with the mean recall, data sets side by side", lines), [study_charts.heatmap(rows)]
    )


def _side_by_side(findings: StudyFindings, colours: Colours) -> PagePart | None:
    if len(findings.data_sets) < 2:
        return None
    rows = [row for each in findings.data_sets for row in _curve_rows(each, findings, colours)]
    if not rows:
        return None
    lines = [
        f"The configuration of each engine whose mean recall is nearest to {findings.recall:g}: curves that "
        "cross have queries at both ends, which the mean does not show."
    ]
    title = "Robustness of queries, side by side"
    return PagePart(Section(title, lines), [study_charts.curves_side_by_side(rows)])


def _curve_rows(data_set: DataSetFindings, findings: StudyFindings, colours: Colours) -> Rows:
    curves = [curve for curve in data_set.curves if curve.curve]
    widths = line_widths([[share.value for _, share in curve.curve] for curve in curves])
    return [
        {
            "panel": name_data_set(data_set, findings),
            "configuration": curve.label,
            "engine": curve.engine,
            "family": curve.family,
            "colour": colours[curve.engine],
            "delta": delta,
            "value": share.value,
            "width": width,
        }
        for curve, width in zip(curves, widths, strict=True)
        for delta, share in curve.curve
    ]


def _parameters(findings: StudyFindings) -> PagePart | None:
    studies = [study for study in findings.parameter_studies if len(study.lines[0].points) > 1]
    rows = [row for study in studies for row in _setting_rows(study, findings)]
    if not rows:
        return None
    lines = [
        "A line joins the configurations that differ in the search parameter alone.",
        *(_describe_study(study, findings) for study in studies),
    ]
    return PagePart(Section("Robustness by parameters", lines), [study_charts.parameter_lines(rows)])


def _describe_study(study: ParameterStudy, findings: StudyFindings) -> str:
    """Where the curves of an engine begin and where its best one ends."""
    values = [
        (point.robustness.value, point.value, line.setting)
        for line in study.lines
        for point in line.points
        if point.robustness.value is not None
    ]
    if not values:
        return f"{study.engine}: robustness at δ = {findings.delta:g} is not known."
    (low, first, first_setting), (high, last, last_setting) = min(values), max(values)
    return (
        f"{study.engine}: Robustness-{findings.delta:g} rises from {low:.4f} ({study.parameter}={first:g}"
        f"{' ' * bool(first_setting)}{first_setting}) to {high:.4f} ({study.parameter}={last:g}"
        f"{' ' * bool(last_setting)}{last_setting})."
    )


def _setting_rows(study: ParameterStudy, findings: StudyFindings) -> Rows:
    return [
        {
            "panel": study.engine,
            "parameter": study.parameter,
            "y_name": f"Robustness-{findings.delta:g}@{findings.k}",
            "configuration": f"{line.setting} {study.parameter}={point.value:g}".strip(),
            "setting": line.setting,
            "place": place,
            "x": point.value,
            "recall": point.recall.value,
            "value": point.robustness.value,
            "low": point.robustness.value if point.robustness.low is None else point.robustness.low,
            "high": point.robustness.value if point.robustness.high is None else point.robustness.high,
        }
        for place, line in enumerate(study.lines)
        for point in line.points
        if point.robustness.value is not None
    ]


def _frontiers(findings: StudyFindings, colours: Colours) -> PagePart | None:
    names = {"recall": "mean recall"}
    rows = number_rings(
        [
            {
                "panel": names.get(frontier.figure, frontier.figure),
                "configuration": point.label,
                "engine": frontier.engine,
                "family": frontier.family,
                "colour": colours[frontier.engine],
                "x": point.value,
                "y": point.qps,
            }
            for frontier in findings.frontiers
            for point in frontier.points
        ],
        "x",
        "y",
    )
    if len(rows) < 2:
        return None
    fastest = max(rows, key=lambda row: row["y"])
    line = (
        "Each line has the configurations of an engine than which no other of it is better in the figure and "
        f"as fast. The fastest is {fastest['configuration']}, with {format_short(fastest['y'])} queries per "
        "second."
    )
    return PagePart(Section("Frontiers with throughput", [line]), [study_charts.frontiers(rows)])
