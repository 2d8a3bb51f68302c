"""Behind the mean recall: comparison at matched recall, severity of failures, and difficulty of queries."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from assay.bench.studies.findings import StudyFindings, TrialFindings
from assay.views.bench_chart_rows import FEATURES
from assay.views.bench_summary import summary_section
from assay.views.numbers import format_estimate
from assay.views.study import finding_sections
from assay.web.page import Action, Context, Page, Parameters, View
from assay.web.plots import Axis
from assay.workflows.indexes import FindingsRequest, IndexFindings, NoTrials, find_behind_recall
from assay.workflows.system_numbers import number_systems

_SHOWN = ("At the same mean recall", "Families at the same mean recall", "What raised the tail")
_MOST_SHOWN = 8  # trials in a chart; all are in the tables


class FindingsParameters(Parameters):
    """The trials and the thresholds."""

    bench: str = ""
    mode: str = ""
    delta: float = 0.1
    at_most: float = 0.3


def read(context: Context, parameters: FindingsParameters) -> IndexFindings | NoTrials:
    """Return what the trials show beyond their mean recall."""
    request = FindingsRequest(
        bench=parameters.bench,
        mode=parameters.mode or None,
        delta=parameters.delta,
        at_most=parameters.at_most,
        benches=context.benches,
        store=context.store,
    )
    return find_behind_recall(request)


def present(context: Context, value: IndexFindings | NoTrials, parameters: FindingsParameters) -> View:
    """Return the tables of the report, and charts of severity and difficulty."""
    if isinstance(value, NoTrials):
        return View("Behind the mean recall", "assay bench --help", {"is_empty": True})
    findings = value.findings
    engines = {each.trial.key: each.trial.engine for each in value.study.scored_trials}
    numbers = number_systems(list(dict.fromkeys(engines.values())), context.store)
    by_key = {key: numbers[engine] for key, engine in engines.items()}
    *tables, notes = finding_sections(findings, "md")
    labels = {trial.label: by_key[trial.key] for trial in findings.trials}
    words = ["assay bench report", shlex.quote(value.source.path), f"--delta {findings.delta:g}"]
    parts = {
        "is_empty": False,
        "source": value.source.name,
        "delta": findings.delta,
        "at_most": findings.at_most,
        "summary": summary_section(findings).notes,
        "matched": [table for table in tables if table.title in _SHOWN],
        "tables": [table for table in tables if table.title not in _SHOWN],
        "labels": labels,
        "notes": notes.notes,
        "severity": _severity(findings, by_key),
        "difficulty": _difficulty(findings, by_key),
    }
    command = " ".join(words) if value.source.path else "assay experiments list --where 'kind = bench'"
    return View("Behind the mean recall", command, parts)


def _severity(findings: StudyFindings, numbers: dict[str, int]) -> list[dict[str, Any]]:
    """Return for each trial with failing queries where their answers lie among the true neighbours."""
    rows = []
    for trial in findings.trials:
        severity = trial.severity
        if severity is None or severity.outside.value is None:
            continue
        outside, total = severity.outside.value, sum(severity.bands)
        names = [f"{low + 1}–{high}" for low, high in pairwise(severity.edges)]
        shares = [(1 - outside) * count / max(1, total) for count in severity.bands]
        parts = _stack([*zip(names, shares, strict=True), (f"beyond {severity.edges[-1]}", outside)])
        words = ", ".join(f"{part['name']} {part['share']:.0%}" for part in parts)
        rows.append(
            {
                "name": trial.label,
                "number": numbers[trial.key],
                "queries": severity.failed,
                "parts": parts,
                "words": words,
                "outside": format_estimate(severity.outside),
            }
        )
    return rows[:_MOST_SHOWN]


def _stack(shares: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    """Return parts of one bar, each after the one before."""
    parts, start = [], 0.0
    for place, (name, share) in enumerate(shares):
        width = round(100 * share, 2)
        parts.append({"name": name, "share": share, "x": round(start, 2), "width": width, "place": place})
        start += width
    return parts


def _difficulty(findings: StudyFindings, numbers: dict[str, int]) -> list[dict[str, Any]]:
    """Return the share of failing queries by quarter of each feature, one chart for each feature."""
    trials = [each for each in findings.trials if each.relations and each.failure.value][:_MOST_SHOWN]
    numbers = _numbers_apart(trials, numbers)
    charts = []
    for name in dict.fromkeys(relation.feature for trial in trials for relation in trial.relations):
        lines = [line for trial in trials if (line := _quarter_line(trial, name)) is not None]
        ends = [value for _, values in lines for value in values if value is not None]
        axis = Axis(0.0, 1.05 * (max(ends, default=0.0) or 1.0))
        series = [
            {
                "number": numbers[trial.key],
                "name": trial.label,
                "points": " ".join(
                    f"{12.5 + 25 * at},{100 - axis.place(v)}" for at, v in enumerate(values) if v is not None
                ),
                "marks": [
                    (12.5 + 25 * at, 100 - axis.place(v), f"{trial.label}, quarter {at + 1}: {v:.2%}")
                    for at, v in enumerate(values)
                    if v is not None
                ],
            }
            for trial, values in lines
        ]
        ticks = [(axis.place(tick), f"{tick:.3g}") for tick in axis.ticks()]
        charts.append({"name": FEATURES.get(name, name), "series": series, "y_ticks": ticks})
    return charts


def _numbers_apart(trials: Sequence[TrialFindings], numbers: dict[str, int]) -> dict[str, int]:
    """Return the number of each trial: that of its engine, or its place if trials share an engine."""
    own = [numbers[trial.key] for trial in trials]
    if len(set(own)) == len(own):
        return numbers
    return {trial.key: place for place, trial in enumerate(trials, 1)}


def _quarter_line(trial: TrialFindings, feature: str) -> tuple[TrialFindings, list[float | None]] | None:
    relation = next((one for one in trial.relations if one.feature == feature), None)
    return None if relation is None else (trial, [share.value for share in relation.quartiles])


PAGES = (Page("/indexes/findings", "", "index_findings.html", read, present, FindingsParameters),)
ACTIONS: tuple[Action, ...] = ()
