"""Trials as a table, as data, and while they run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.indexes.foreign.curves import published
from assay.indexes.study.observed import Observed
from assay.indexes.sweeps.plan import MODES
from assay.indexes.trials import Spread, Trial, spelled, to_dict, to_row
from assay.stats.intervals import Estimate
from assay.views import text
from assay.views.estimates import with_interval
from assay.views.fitting import fitted
from assay.views.sections import Section, render

FORMATS = ("table", "json", "csv", "md", "html")
_NONE = "–"
_REMARK = 45  # characters in a table; the rest is told below it


def trials_view(trials: Sequence[Trial], style: str, about: Mapping[str, Any] | None = None) -> str:
    """Trials in one of the formats."""
    ordered = ordered_trials(trials)
    if style == "json":
        return json.dumps(
            {**(about or {}), "trials": [to_dict(t) for t in ordered]}, ensure_ascii=False, indent=1
        )
    if style == "csv":
        rows = [to_row(t) for t in ordered]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return text.csv(names, [[_cell(row.get(name)) for name in names] for row in rows])
    return render("Trials", trial_sections(ordered), style)


def ordered_trials(trials: Sequence[Trial]) -> list[Trial]:
    """Trials by engine, build and recall; failed ones last."""
    return sorted(
        trials,
        key=lambda t: (
            t.status == "failed",
            MODES.index(t.mode) if t.mode in MODES else len(MODES),
            t.engine,
            spelled(t.build),
            (t.recall or _UNKNOWN).value or 0,
            t.offered or 0,
        ),
    )


_UNKNOWN = Estimate(None, None, None, 0.95, 0)


def trial_sections(trials: Sequence[Trial], narrow: bool = False) -> list[Section]:
    """Trials as tables: by the way they were asked, what the indexes cost, and what to know.

    Narrow ones fit a terminal: an index and its search are one column, and remarks stand below.
    """
    made = []
    for mode in dict.fromkeys(t.mode for t in trials):
        of_it = [t for t in trials if t.mode == mode]
        columns = _narrow(_columns(of_it)) if narrow else _columns(of_it)
        rows = [[column(t) for column in columns.values()] for t in of_it]
        made.append(Section(_TITLES.get(mode, mode), [], list(columns), rows))
    costs = _indexes(trials)
    if narrow:
        made, costs = [fitted(one) for one in made], [fitted(one, (0, 1)) for one in costs]
    said = [*notes(trials), *(_remarks(trials) if narrow else [])]
    return [*made, *costs, Section("What to know", said)]


def _narrow(columns: Mapping[str, Callable[[Trial], str]]) -> dict[str, Callable[[Trial], str]]:
    rest = {name: of for name, of in columns.items() if name not in ("engine", "build", "search", "remark")}
    return {"index": lambda t: t.label, **rest}


def _remarks(trials: Sequence[Trial]) -> list[str]:
    """What is out of the ordinary, by what it is; why trials failed is told already."""
    said: dict[str, list[str]] = {}
    for trial in trials:
        if remark(trial) and trial.status != "failed":
            said.setdefault(remark(trial), []).append(trial.label)
    return [f"{what}: {', '.join(labels)}" for what, labels in said.items()]


def _indexes(trials: Sequence[Trial]) -> list[Section]:
    """What each index costs; a row for each, whatever was asked of it."""
    columns: dict[str, Callable[[Trial], str]] = {
        "engine": lambda t: f"{t.engine} {t.version}".strip(),
        "build": lambda t: spelled(t.build) or _NONE,
        "threads": lambda t: _number(t.threads),
        "build s": lambda t: _or_reported(t, "build_seconds", _seconds),
        "memory MB": lambda t: _or_reported(t, "memory_bytes", _megabytes),
        "disk MB": lambda t: _or_reported(t, "disk_bytes", _megabytes),
    }
    rows = dict.fromkeys(tuple(column(t) for column in columns.values()) for t in trials)
    known = [row for row in rows if any(cell != _NONE for cell in row[3:])]
    return [Section("The indexes", [], list(columns), known)] if known else []


_TITLES = {
    "single": "One query at a time (closed loop)",
    "batch": "All queries in one batch",
    "open": "By schedule (open loop): latency from the intended start",
    "capacity": "Capacity: the highest rate that meets the objective",
}


def _columns(trials: Sequence[Trial]) -> dict[str, Callable[[Trial], str]]:
    k = next((t.k for t in trials if t.recall), trials[0].k)
    made: dict[str, Callable[[Trial], str]] = {
        "engine": lambda t: t.engine,
        "build": lambda t: spelled(t.build) or _NONE,
        "search": lambda t: spelled(t.search) or _NONE,
        f"R@{k}": lambda t: _estimate(t.recall) if t.recall else _stated_recall(t, k),
        f"Robustness-0.9@{k}": lambda t: _robustness(t, k),
        "no hit": lambda t: _number(t.zero_hits),
    }
    made |= _asked(trials)
    made["QPS (least … most)"] = lambda t: _spread(t.qps) if t.qps else _reported(t, "qps", _rate)
    for name in ("p50_ms", "p99_ms"):
        if any(t.latency or name in t.reported for t in trials):
            made[name.replace("_", " ")] = lambda t, name=name: _latency(t, name)  # type: ignore[misc]
    if any(remark(t) for t in trials):
        made["remark"] = remark
    return made


def _asked(trials: Sequence[Trial]) -> dict[str, Callable[[Trial], str]]:
    """How was asked, as far as it is not the usual."""
    made: dict[str, Callable[[Trial], str]] = {}
    if any((t.threads or 1) > 1 for t in trials):
        made["threads"] = lambda t: _number(t.threads)
    if any(t.asking.get("clients", 1) > 1 for t in trials):
        made["clients"] = lambda t: _number(t.asking.get("clients"))
    if any(t.offered for t in trials):
        made["offered/s"] = lambda t: _rate(t.offered)
    if any(t.mode == "capacity" for t in trials):
        made["objective"] = _objective
        made["capacity/s"] = lambda t: _spread(t.capacity)
    return made


def _robustness(trial: Trial, k: int) -> str:
    """Robustness at δ = .9, marked where others state it, with its K where the column is of another."""
    if trial.robustness(0.9):
        return _estimate(trial.robustness(0.9))
    stated = _estimate(Observed(trial, published=published(trial)).robustness(0.9))
    return stated if stated == _NONE else f"{stated} *" + f" (K = {trial.k})" * (trial.k != k)


def _objective(trial: Trial) -> str:
    asked = trial.asking
    return f"p{asked['percentile']:g} ≤ {asked['within_ms']:g} ms" if "percentile" in asked else _NONE


def remark(trial: Trial) -> str:
    """What is out of the ordinary in a trial."""
    said = []
    if trial.status == "failed":
        return f"failed: {text.shorten(' '.join(trial.reason.split()), 70)}"
    if trial.indexed is False:
        said.append("not indexed")
    if trial.saturated:
        said.append("saturated")
    if trial.mode == "capacity" and trial.status == "done" and trial.capacity is None:
        said.append("no rate met the objective")
    if trial.errors:
        said.append(f"{trial.errors} errors")
    if trial.status == "begun":
        passes = trial.qps.repetitions if trial.qps else 0
        said.append(f"begun: {passes} pass{'es' * (passes != 1)}")
    return ", ".join([*said, *[text.shorten(trial.note, _REMARK)] * bool(trial.note)])


def notes(trials: Sequence[Trial]) -> list[str]:
    """What a reader of the table must know and does not see in it."""
    failed = [t for t in trials if t.status == "failed"]
    said = []
    for name, reason in dict.fromkeys((t.label, t.reason) for t in failed):
        modes = dict.fromkeys(t.mode for t in failed if (t.label, t.reason) == (name, reason))
        said.append(f"{name} ({', '.join(modes)}) failed: {' '.join(reason.split())}")
    said += dict.fromkeys(f"{t.engine}: {t.note}" for t in trials if len(t.note) > _REMARK)
    if any(t.indexed is False for t in trials):
        names = ", ".join(
            dict.fromkeys(f"{t.engine} {spelled(t.build)}".strip() for t in trials if t.indexed is False)
        )
        said.append(
            f"not indexed: {names} missed nothing at the smallest search there is, so it answers by brute "
            "force: its recall says nothing about an index"
        )
    if any(t.latency and t.latency.get("p99_ms") is None for t in trials):
        said.append("p99 is withheld below 1,000 samples, p99.9 below 10,000")
    undefined = max((t.undefined or 0 for t in trials), default=0)
    if undefined:
        said.append(f"{undefined} queries have no truth: they have no recall and are left out")
    short = max((t.short or 0 for t in trials), default=0)
    if short:
        said.append(
            f"{short} queries have fewer true neighbours than K, so that none can reach a recall of 1: "
            "`assay truth audit` says more"
        )
    if any(t.reported for t in trials):
        said.append("* as its own harness reported it; not measured here")
    policies = ", ".join(dict.fromkeys(t.policy for t in trials if t.recall))
    if policies:
        said.append(f"hits by the policy: {policies}")
    return said


def _or_reported(trial: Trial, name: str, shown: Callable[[Any], str]) -> str:
    value = getattr(trial, name)
    return _reported(trial, name, shown) if value is None else shown(value)


def _reported(trial: Trial, name: str, shown: Callable[[Any], str]) -> str:
    """What others say of a trial, marked as such."""
    value = trial.reported.get(name)
    return _NONE if value is None else f"{shown(value)} *"


def _stated_recall(trial: Trial, k: int) -> str:
    """A recall as reported, with its K where the column is of another."""
    other = trial.k != k and "recall" in trial.reported
    return _reported(trial, "recall", _share) + f" (K = {trial.k})" * other


def _latency(trial: Trial, name: str) -> str:
    return _ms(trial.latency.get(name)) if trial.latency else _reported(trial, name, _ms)


def _estimate(found: Estimate | None) -> str:
    return _NONE if found is None else with_interval(found)


def _spread(found: Spread | None) -> str:
    if found is None:
        return _NONE
    if found.repetitions == 1:
        return _rate(found.median)
    return f"{_rate(found.median)} ({_rate(found.low)} … {_rate(found.high)})"


def _rate(value: float | None) -> str:
    if value is None:
        return _NONE
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _ms(value: float | None) -> str:
    return _NONE if value is None else f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def _number(value: int | None) -> str:
    return _NONE if value is None else f"{value:,}"


def _seconds(value: float | None) -> str:
    return _NONE if value is None else f"{value:.1f}"


def _megabytes(value: float | None) -> str:
    return _NONE if value is None else f"{value / 2**20:,.1f}"


def _cell(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


LiveRow = tuple[str, str, str, str, str, float | None, float | None, float | None]


def live_table(rows: Sequence[LiveRow], k: int, width: int = 118) -> str:
    """Trials while they run: what each is, its state, recall, queries per second, median latency.

    Where that is too wide, the parameters of building are cut short first.
    """
    head = ["engine", "build", "search", "mode", "state", f"R@{k}", "QPS", "p50 ms"]
    cells = [
        [engine, build or _NONE, search or _NONE, mode, state, _share(recall), _rate(qps), _ms(p50)]
        for engine, build, search, mode, state, recall, qps, p50 in rows
    ]
    for column in (1, 2, 0):
        over = max(map(len, text.table(head, cells).splitlines())) - width
        if over > 0:
            most = max(len(head[column]), max(len(row[column]) for row in cells) - over)
            for row in cells:
                row[column] = text.shorten(row[column], most)
    return text.table(head, cells)


def _share(value: float | None) -> str:
    return _NONE if value is None else f"{value:.4f}"


def told_in_words(figures: tuple[float | None, float | None, float | None], k: int) -> str:
    """Recall, queries per second and the median latency in one line."""
    recall, qps, p50 = figures
    said = [f"R@{k} {_share(recall)}", f"{_rate(qps)} queries per second"]
    return ", ".join(said + [f"p50 {_ms(p50)} ms"] * (p50 is not None))
