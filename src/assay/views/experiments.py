"""Experiments as a list, in full, by what differs, and as a trend; also as JSON, CSV, Markdown and HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from assay.core.records import Experiment, Metric
from assay.core.trends import Against, Point, Reason, Status, Trend
from assay.evaluation.configuration import differing, flat
from assay.evaluation.readings import shown_p, signed
from assay.views import text
from assay.views.estimates import p_value
from assay.views.evaluation import exact, number
from assay.views.sections import Section, render

FEW = 4  # settings that still fit beside a list
_PREFERRED = ("nDCG@10", "R@10")
_MARKS = {"break": "┄ break", "better": "▲ better", "worse": "▼ worse", "": ""}


def listing(experiments: Sequence[Experiment], style: str, measures: Sequence[str] = ()) -> str:
    """Experiments, one a line."""
    if style == "json":
        return _json({"experiments": [to_dict(e) for e in experiments]})
    shown = list(measures) or _measures(experiments)
    settings = differing({e.id: e.configuration for e in experiments})
    few = list(settings) if style == "csv" or len(settings) <= FEW else []
    head = ["id", "name", "at", *shown, *few, "tags", "pin"]
    value = exact if style == "csv" else number
    rows = []
    for e in experiments:
        found = [e.metric(measure) for measure in shown]
        values = [value(m.value if m else None) for m in found]
        cells = [_plain(settings[key][e.id], style) for key in few]
        at = e.at.isoformat() if style == "csv" else moment(e.at)
        rows.append([e.id, e.name, at, *values, *cells, " ".join(e.tags), "pinned" if e.pinned else ""])
    if style == "csv":
        return text.csv(head, rows)
    return render("Experiments", [Section("", () if rows else ["no experiment"], head, rows)], style)


def _measures(experiments: Sequence[Experiment]) -> list[str]:
    """The measures that a list shows where none is asked for."""
    there = dict.fromkeys(m.measure for e in experiments for m in e.metrics if not m.column)
    return [name for name in _PREFERRED if name in there] or list(there)[:2]


def moment(at: datetime) -> str:
    """A time for people.

    >>> moment(datetime(2026, 1, 31, 12, 5))
    '2026-01-31 12:05'
    """
    return f"{at:%Y-%m-%d %H:%M}"


def _plain(value: Any, style: str = "table") -> str:
    if value is None:
        return "" if style == "csv" else "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def to_dict(e: Experiment) -> dict[str, Any]:
    """An experiment as plain data, with the keys that `assay experiments show --format json` prints."""
    made = {name: value for name, value in vars(e).items() if name != "metrics"}
    gone = e.deleted_at and e.deleted_at.isoformat()
    metrics = [_metric(m) for m in e.metrics]
    return {"id": e.id, **made, "at": e.at.isoformat(), "deleted_at": gone, "metrics": metrics}


def _metric(m: Metric) -> dict[str, Any]:
    part = {"measure": m.measure, "column": m.column or None, "slice": m.value_of or None}
    return {**part, "value": m.value, "low": m.low, "high": m.high, "n": m.n}


def _json(made: Any) -> str:
    return json.dumps(made, indent=1, ensure_ascii=False)


def experiment(e: Experiment, style: str) -> str:
    """All that is known of an experiment."""
    if style == "json":
        return _json(to_dict(e))
    if style == "csv":
        head = ["id", "name", "at", "measure", "column", "slice", "value", "low", "high", "n"]
        rows = [[e.id, e.name, e.at.isoformat(), *m[:3], *map(exact, m[3:6]), _count(m.n)] for m in e.metrics]
        return text.csv(head, rows)
    return render(f"Experiment {e.name}", _sections(e, style), style)


def _count(n: int | None) -> str:
    return "" if n is None else str(n)


def _sections(e: Experiment, style: str) -> list[Section]:
    said = [f"{e.name} ({e.id}), {moment(e.at)} UTC, saved by assay {e.kind}"]
    said += [f"version of the code: {e.code}"] * bool(e.code)
    said += [f"tags: {', '.join(e.tags)}"] * bool(e.tags)
    said += ["pinned"] * e.pinned + ["deleted"] * (e.deleted_at is not None)
    said += [f"note: {e.note}"] * bool(e.note)
    parts = [Section("", said), _metrics(e, style)]
    for title, found in _spaces(e).items():
        rows = [[key, _plain(value)] for key, value in flat(found).items()]
        parts.append(Section(title, (), ["", "value"], rows))
    return parts


def _spaces(e: Experiment) -> dict[str, Mapping[str, Any]]:
    """What an experiment says beside its measures."""
    return {
        "configuration": e.configuration,
        "latency": e.latency,
        "figures": e.figures,
        "how it was measured": e.policy,
        "tables by digest": e.digests,
        "what else was found": e.result,
        "environment": e.environment,
    }


def _metrics(e: Experiment, style: str) -> Section:
    sliced = any(m.column for m in e.metrics)
    spans = [(m.low, m.value, m.high) for m in e.metrics]
    axis = _axis([v for span in spans for v in span if v is not None], whole=True)
    drawn = style == "table"
    head = ["measure", *["slice"] * sliced, "value", "interval", "n", *[_scale(axis)] * drawn]
    rows = []
    for m in e.metrics:
        part = f"{m.column}: {m.value_of}" if m.column else "all"
        cells = [m.measure, *[part] * sliced, number(m.value), _interval(m.low, m.high), _count(m.n) or "–"]
        rows.append([*cells, *[text.bar(m.low, m.value, m.high, *axis)] * drawn])
    return Section("", (), head, rows, spans, axis)


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{number(low)} … {number(high)}"


def _axis(values: Sequence[float], whole: bool = False) -> tuple[float, float]:
    """The ends of the axis: 0 to 1 and what lies outside, or only as far as the values go."""
    if whole or not values:
        return min([0.0, *values]), max([1.0, *values])
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _scale(axis: tuple[float, float]) -> str:
    low, high = (f"{end:.3g}" for end in axis)
    return f"{low}{'┄' * (text.BAR - len(low + high))}{high}"


def differences(experiments: Sequence[Experiment], style: str) -> str:
    """Only what is not the same in all experiments."""
    found = differing({f"{e.name} ({e.id})": _everything(e) for e in experiments})
    if style == "json":
        return _json({"differences": found})
    names = [f"{e.name} ({e.id})" for e in experiments]
    rows = [[key, *(_plain(row[name], style) for name in names)] for key, row in found.items()]
    if style == "csv":
        return text.csv(["what", *names], rows)
    notes = [] if rows else ["they do not differ"]
    return render("What differs", [Section("", notes, ["what", *names], rows)], style)


def _everything(e: Experiment) -> dict[str, Any]:
    """All of an experiment that may differ, under one name each."""
    spaces = {
        "params": e.configuration,
        "latency": e.latency,
        "figures": e.figures,
        "policy": e.policy,
        "digests": e.digests,
        "environment": e.environment,
    }
    made: dict[str, Any] = {"code": e.code, "note": e.note or None, "tags": " ".join(e.tags) or None}
    for m in e.metrics:
        part = f"[{m.column}={m.value_of}]" if m.column else ""
        made[f"metrics.{m.measure}{part}"] = None if m.value is None else round(m.value, 6)
    return made | flat({name: found for name, found in spaces.items() if found})


def trend(made: Trend, style: str, status: Status | None = None) -> str:
    """A measure over time, with its breaks and changes."""
    if style == "json":
        return _json(_trend_dict(made, status))
    if style == "csv":
        return text.csv(*_trend_csv(made))
    part = f" of {made.column}: {made.value_of}" if made.column else ""
    sections = [
        Section("", [f"{status.state}: {status.text}"] if status else []),
        _series(made, style),
        Section("what changed", [_told(p, made) for p in made.points if p.mark]),
        Section("the newest", _newest(made)),
        Section("how far to trust it", _doubts(made)),
    ]
    return render(f"Trend of {made.measure}{part}", sections, style)


def _series(made: Trend, style: str) -> Section:
    spans = [(p.low, p.value, p.high) for p in made.points]
    axis = _axis([v for span in spans for v in span if v is not None])
    drawn = style == "table"
    head = ["id", "name", "at", made.measure, "n", *[_scale(axis)] * drawn, "against regime", "p", ""]
    rows = []
    for point, span in zip(made.points, spans, strict=True):
        held = point.regime
        cells = [point.id, point.name, moment(point.at), number(point.value), _count(point.n) or "–"]
        cells += [text.bar(*span, *axis)] * drawn
        cells += [signed(held.difference) if held else "–", p_value(held.corrected if held else None)]
        rows.append([*cells, _MARKS[point.mark]])
    return Section(
        "", () if rows else [f"no experiment that was asked for has {made.measure}"], head, rows, spans, axis
    )


def _told(point: Point, made: Trend) -> str:
    """A break or a change in words, with what differs from the point before."""
    head = f"{moment(point.at)} {point.name} ({point.id})"
    if point.mark == "break":
        why = "; ".join(reason.text for reason in point.reasons)
        return f"{head}: not comparable with what came before: {why}{_changed(point)}"
    moved = _cited(point.regime, made.measure) if point.regime else ""
    return f"{head}: {point.mark} than the points before: {moved}{_changed(point) or '; no setting differs'}"


def _changed(point: Point) -> str:
    said = [f"{key} {_plain(a)} → {_plain(b)}" for key, (a, b) in point.differs.items()]
    return f"; changed: {', '.join(said)}" if said else ""


def _cited(held: Against, measure: str) -> str:
    """A difference with its interval and p."""
    ends = "" if held.low is None or held.high is None else f" ({signed(held.low)} … {signed(held.high)})"
    p = "" if held.corrected is None else f", {shown_p(held.corrected)}"
    return f"{measure} {signed(held.difference)}{ends}{p}, {held.how}"


def _newest(made: Trend) -> list[str]:
    """The last point against the best and the one before."""
    found = (("the best before", made.best), ("the one before", made.previous))
    return [f"against {what} ({held.other}): {_cited(held, made.measure)}" for what, held in found if held]


def _doubts(made: Trend) -> list[str]:
    """What is not known of the series, said once each."""
    said = dict.fromkeys(reason.text for point in made.points for reason in point.doubts)
    left = [f"{s.name} ({s.id}) is left out: {s.text}" for s in made.skipped[-3:]]
    more = len(made.skipped) - len(left)
    return [*said, *left, *[f"{more:,} more are left out"] * (more > 0)]


def _trend_dict(made: Trend, status: Status | None) -> dict[str, Any]:
    """A trend as plain data, with the keys that `assay experiments trend --format json` prints."""
    told = {"state": status.state, "text": status.text, "exit_code": status.exit_code} if status else None
    return {
        "measure": made.measure,
        "column": made.column or None,
        "slice": made.value_of or None,
        "level": made.level,
        "points": [_point(p) for p in made.points],
        "best": _against(made.best),
        "previous": _against(made.previous),
        "skipped": [
            {"id": s.id, "name": s.name, "at": s.at.isoformat(), "text": s.text} for s in made.skipped
        ],
        "status": told,
    }


def _point(p: Point) -> dict[str, Any]:
    plain = asdict(p) | {"at": p.at.isoformat(), "configuration": dict(p.configuration)}
    plain |= {"reasons": [_reason(r) for r in p.reasons], "doubts": [_reason(r) for r in p.doubts]}
    differs = {key: {"before": a, "after": b} for key, (a, b) in p.differs.items()}
    return plain | {"regime": _against(p.regime), "differs": differs}


def _reason(reason: Reason) -> dict[str, Any]:
    return reason._asdict()


def _against(held: Against | None) -> dict[str, Any] | None:
    if held is None:
        return None
    keys = ("other", "difference", "low", "high", "p", "corrected", "n", "how")
    return {key: getattr(held, key) for key in keys}


def _trend_csv(made: Trend) -> tuple[list[str], list[list[str]]]:
    head = ["id", "name", "at", "measure", "value", "low", "high", "n", "code", "mark", "difference", "p"]
    head += ["corrected_p", "why", "changed"]
    rows = []
    for p in made.points:
        held = p.regime
        ends = (held.difference, held.p, held.corrected) if held else (None, None, None)
        cells = [p.id, p.name, p.at.isoformat(), made.measure, *map(exact, (p.value, p.low, p.high))]
        cells += [_count(p.n), p.code or "", p.mark, *map(exact, ends)]
        rows.append([*cells, "; ".join(r.text for r in p.reasons), _changed(p).removeprefix("; changed: ")])
    return head, rows
