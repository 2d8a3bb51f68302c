"""Trials as tables, as data, and as a live table while they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.bench.studies.robustness_columns import published_distribution
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.sweeps.cases import REQUEST_MODES
from assay.bench.trials import (
    DEFAULT_DELTA,
    PassSpread,
    Trial,
    format_parameters,
    number_order,
    to_dict,
    to_row,
)
from assay.stats.intervals import Estimate
from assay.views import text
from assay.views.numbers import NO_VALUE, format_count, format_estimate, format_short, format_value
from assay.views.sections import Section, render_sections
from assay.views.terminal_tables import fit_to_terminal, shorten_labels

FORMATS = ("table", "csv", "md", "html", "latex")
_MAX_REMARK = 45  # characters in a table; longer remarks are below it


def render_trials(
    trials: Sequence[Trial],
    style: str,
    about: Mapping[str, Any] | None = None,
    delta: float = DEFAULT_DELTA,
) -> str:
    """Trials in one of the formats, with robustness at δ in tables."""
    if style == "csv":
        rows = [to_row(t) for t in sort_trials(trials)]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return text.render_csv(names, [[_cell(row.get(name)) for name in names] for row in rows])
    sections = trial_sections(sort_trials(trials), metadata=about, delta=delta)
    return render_sections("Trials", sections, style)


def with_defaults(trials: Sequence[Trial], metadata: Mapping[str, Any]) -> list[Trial]:
    """Trials with the default values of the parameters that other trials of their engine set, or of all."""
    return [
        replace(
            trial,
            build=_with_default_values(trial, "build", trials, metadata),
            search=_with_default_values(trial, "search", trials, metadata),
        )
        for trial in trials
    ]


def _with_default_values(
    trial: Trial, kind: str, trials: Sequence[Trial], metadata: Mapping[str, Any]
) -> dict[str, Any]:
    if trial.source != "assay":
        return dict(getattr(trial, kind))
    defaults = metadata.get("engines", {}).get(trial.engine, {}).get(kind, {})
    names = {name for other in trials if other.engine == trial.engine for name in getattr(other, kind)}
    values = {name: value for name, value in defaults.items() if value != ""}
    shown_defaults = {name: value for name, value in values.items() if name in names or not names}
    return shown_defaults | dict(getattr(trial, kind))


def trials_dict(trials: Sequence[Trial], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of trials with the metadata of their sweep."""
    return {**metadata, "trials": [to_dict(trial) for trial in sort_trials(trials)]}


def sort_trials(trials: Sequence[Trial]) -> list[Trial]:
    """Trials by engine, build and recall; failed ones last."""
    return sorted(
        trials,
        key=lambda t: (
            t.status == "failed",
            REQUEST_MODES.index(t.mode) if t.mode in REQUEST_MODES else len(REQUEST_MODES),
            t.engine,
            number_order(format_parameters(t.build)),
            (t.recall or _UNKNOWN).value or 0,
            t.offered or 0,
        ),
    )


_UNKNOWN = Estimate(None, None, None, 0.95, 0)


def trial_sections(
    trials: Sequence[Trial],
    narrow: bool = False,
    metadata: Mapping[str, Any] | None = None,
    delta: float = DEFAULT_DELTA,
) -> list[Section]:
    """Trials as one table for each request mode, the costs of the indexes, and notes.

    Narrow tables fit a terminal: an index and its search are one column, and remarks are below. Tables show
    the default values that the metadata of the sweep has; notes name trials as they were requested.
    """
    tables, shown_trials = [], sort_trials(with_defaults(trials, metadata or {}))
    for mode in dict.fromkeys(t.mode for t in shown_trials):
        trials_of_mode = [t for t in shown_trials if t.mode == mode]
        columns = _columns(trials_of_mode, delta)
        columns = _narrow_columns(columns) if narrow else columns
        rows = [[column(t) for column in columns.values()] for t in trials_of_mode]
        tables.append(Section(_TITLES.get(mode, mode), [], list(columns), rows))
    costs = _index_sections(shown_trials)
    if narrow:
        tables, costs = (
            [fit_to_terminal(table) for table in tables],
            [fit_to_terminal(table, (0, 1)) for table in costs],
        )
    notes_shown = [*trial_notes(trials), *(_remarks(trials) if narrow else [])]
    return [*tables, *costs, Section("Notes", notes_shown)]


def _narrow_columns(columns: Mapping[str, Callable[[Trial], str]]) -> dict[str, Callable[[Trial], str]]:
    rest = {name: of for name, of in columns.items() if name not in ("engine", "build", "search", "remark")}
    return {"index": lambda t: t.label, **rest}


def _remarks(trials: Sequence[Trial]) -> list[str]:
    """The remarks with the trials they apply to; the reasons of failures are in the notes already."""
    labels_by_remark: dict[str, list[str]] = {}
    for trial in trials:
        if remark(trial) and trial.status != "failed":
            labels_by_remark.setdefault(remark(trial), []).append(trial.label)
    return [f"{remark_text}: {', '.join(labels)}" for remark_text, labels in labels_by_remark.items()]


def _index_sections(trials: Sequence[Trial]) -> list[Section]:
    """The costs of each index, one row for each."""
    columns: dict[str, Callable[[Trial], str]] = {
        "engine": lambda t: f"{t.engine} {t.version}".strip(),
        "build": lambda t: format_parameters(t.build) or NO_VALUE,
        "threads": lambda t: format_count(t.threads),
        "build s": lambda t: _format_or_reported(t, "build_seconds", _format_seconds),
        "memory MB": lambda t: _format_or_reported(t, "memory_bytes", _format_megabytes),
        "disk MB": lambda t: _format_or_reported(t, "disk_bytes", _format_megabytes),
    }
    rows = dict.fromkeys(tuple(column(t) for column in columns.values()) for t in trials)
    measured_rows = [row for row in rows if any(cell != NO_VALUE for cell in row[3:])]
    return [Section("Indexes", [], list(columns), measured_rows)] if measured_rows else []


_TITLES = {
    "single": "One query at a time (closed loop)",
    "batch": "All queries in one batch",
    "open": "At a fixed rate (open loop): latency from the intended start",
    "capacity": "Capacity: the highest rate that meets the objective",
}


def _columns(trials: Sequence[Trial], delta: float) -> dict[str, Callable[[Trial], str]]:
    k = next((t.k for t in trials if t.recall), trials[0].k)
    columns: dict[str, Callable[[Trial], str]] = {
        "engine": lambda t: t.engine,
        "build": lambda t: format_parameters(t.build) or NO_VALUE,
        "search": lambda t: format_parameters(t.search) or NO_VALUE,
        f"R@{k}": lambda t: _format_estimate(t.recall) if t.recall else _format_reported_recall(t, k),
        f"Robustness-{delta:g}@{k}": lambda t: _format_robustness(t, k, delta),
        "no hit": lambda t: format_count(t.zero_hits),
    }
    columns |= _request_columns(trials)
    columns["QPS (min … max)"] = lambda t: (
        _format_spread(t.qps) if t.qps else _format_reported(t, "qps", format_short)
    )
    for name in ("p50_ms", "p99_ms"):
        if any(t.latency or name in t.reported for t in trials):
            columns[name.replace("_", " ")] = lambda t, name=name: _format_latency(t, name)  # type: ignore[misc]
    if any(remark(t) for t in trials):
        columns["remark"] = remark
    return columns


def _request_columns(trials: Sequence[Trial]) -> dict[str, Callable[[Trial], str]]:
    """The columns of the dataset and the request mode that differ from the default."""
    columns: dict[str, Callable[[Trial], str]] = {}
    if any(t.dataset for t in trials):
        columns["dataset"] = lambda t: t.dataset or NO_VALUE
    if any((t.threads or 1) > 1 for t in trials):
        columns["threads"] = lambda t: format_count(t.threads)
    if any(t.request.get("clients", 1) > 1 for t in trials):
        columns["clients"] = lambda t: format_count(t.request.get("clients"))
    if any(t.offered for t in trials):
        columns["offered/s"] = lambda t: format_short(t.offered)
    if any(t.mode == "capacity" for t in trials):
        columns["objective"] = _format_objective
        columns["capacity/s"] = lambda t: _format_spread(t.capacity)
    return columns


def _format_robustness(trial: Trial, k: int, delta: float) -> str:
    """Robustness at δ, marked if it was reported by others, with its K if the column has another."""
    if trial.robustness(delta):
        return _format_estimate(trial.robustness(delta))
    reported = _format_estimate(
        ScoredTrial(trial, published_distribution=published_distribution(trial)).robustness(delta)
    )
    return reported if reported == NO_VALUE else f"{reported} *" + f" (K = {trial.k})" * (trial.k != k)


def _format_objective(trial: Trial) -> str:
    request = trial.request
    return (
        f"p{request['percentile']:g} ≤ {request['within_ms']:g} ms" if "percentile" in request else NO_VALUE
    )


def remark(trial: Trial) -> str:
    """Anything unusual about a trial."""
    parts = []
    if trial.status == "failed":
        return f"failed: {text.shorten(' '.join(trial.reason.split()), 70)}"
    if trial.indexed is False:
        parts.append("not indexed")
    if trial.saturated:
        parts.append("saturated")
    if trial.mode == "capacity" and trial.status == "done" and trial.capacity is None:
        parts.append("no rate met the objective")
    if trial.errors:
        parts.append(f"{trial.errors} errors")
    if trial.status == "begun":
        passes = trial.qps.repetitions if trial.qps else 0
        parts.append(f"incomplete: {passes} pass{'es' * (passes != 1)}")
    return ", ".join([*parts, *[text.shorten(trial.note, _MAX_REMARK)] * bool(trial.note)])


def trial_notes(trials: Sequence[Trial]) -> list[str]:
    """What a reader of the table must know and cannot see in it."""
    failed = [t for t in trials if t.status == "failed"]
    notes = []
    for name, reason in dict.fromkeys((t.label, t.reason) for t in failed):
        modes = dict.fromkeys(t.mode for t in failed if (t.label, t.reason) == (name, reason))
        notes.append(f"{name} ({', '.join(modes)}) failed: {' '.join(reason.split())}")
    notes += dict.fromkeys(f"{t.engine}: {t.note}" for t in trials if len(t.note) > _MAX_REMARK)
    if any(t.indexed is False for t in trials):
        names = ", ".join(
            dict.fromkeys(
                f"{t.engine} {format_parameters(t.build)}".strip() for t in trials if t.indexed is False
            )
        )
        notes.append(
            f"not indexed: {names} missed nothing with the smallest search setting, so it answers by brute "
            "force: its recall says nothing about an index"
        )
    if any(t.latency and t.latency.get("p99_ms") is None for t in trials):
        notes.append("p99 is not reported below 1,000 samples, p99.9 below 10,000")
    undefined = max((t.undefined or 0 for t in trials), default=0)
    if undefined:
        notes.append(f"{undefined} queries have no truth: they have no recall and are left out")
    short = max((t.short or 0 for t in trials), default=0)
    if short:
        notes.append(
            f"{short} queries have fewer true neighbours than K, so they cannot reach a recall of 1: "
            "`assay truth audit` says more"
        )
    if any(t.reported for t in trials):
        notes.append("* as its own harness reported it; not measured here")
    policies = ", ".join(dict.fromkeys(t.policy for t in trials if t.recall))
    if policies:
        notes.append(f"hit rule: {policies}")
    return notes


def _format_or_reported(trial: Trial, name: str, formatter: Callable[[Any], str]) -> str:
    value = getattr(trial, name)
    return _format_reported(trial, name, formatter) if value is None else formatter(value)


def _format_reported(trial: Trial, name: str, formatter: Callable[[Any], str]) -> str:
    """A value that others reported for a trial, marked as such."""
    value = trial.reported.get(name)
    return NO_VALUE if value is None else f"{formatter(value)} *"


def _format_reported_recall(trial: Trial, k: int) -> str:
    """A reported recall, with its K if the column has another."""
    has_other_k = trial.k != k and "recall" in trial.reported
    return _format_reported(trial, "recall", format_value) + f" (K = {trial.k})" * has_other_k


def _format_latency(trial: Trial, name: str) -> str:
    return (
        format_short(trial.latency.get(name))
        if trial.latency
        else _format_reported(trial, name, format_short)
    )


def _format_estimate(estimate: Estimate | None) -> str:
    return NO_VALUE if estimate is None else format_estimate(estimate)


def _format_spread(spread: PassSpread | None) -> str:
    if spread is None:
        return NO_VALUE
    if spread.repetitions == 1:
        return format_short(spread.median)
    return f"{format_short(spread.median)} ({format_short(spread.low)} … {format_short(spread.high)})"


def _format_seconds(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:.1f}"


def _format_megabytes(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value / 2**20:,.1f}"


def _cell(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


LiveRow = tuple[str, str, str, str, str, float | None, float | None, float | None]


def render_live_table(rows: Sequence[LiveRow], k: int, width: int = 118) -> str:
    """Trials while they run: their configuration, state, recall, queries per second and median latency.

    If that is too wide, the build parameters are shortened first.
    """
    head = ["engine", "build", "search", "mode", "state", f"R@{k}", "QPS", "p50 ms"]
    cells = [
        [
            engine,
            build or NO_VALUE,
            search or NO_VALUE,
            mode,
            state,
            format_value(recall),
            format_short(qps),
            format_short(p50),
        ]
        for engine, build, search, mode, state, recall, qps, p50 in rows
    ]
    for column in (1, 2, 0):
        excess = max(map(len, text.render_table(head, cells).splitlines())) - width
        if excess > 0:
            max_length = max(len(head[column]), max(len(row[column]) for row in cells) - excess)
            short = shorten_labels([row[column] for row in cells], max_length)
            for row, label in zip(cells, short, strict=True):
                row[column] = label
    return text.render_table(head, cells)


def describe_progress(figures: tuple[float | None, float | None, float | None], k: int) -> str:
    """Recall, queries per second and median latency in one line."""
    recall, qps, p50 = figures
    parts = [f"R@{k} {format_value(recall)}", f"{format_short(qps)} queries per second"]
    return ", ".join(parts + [f"p50 {format_short(p50)} ms"] * (p50 is not None))
