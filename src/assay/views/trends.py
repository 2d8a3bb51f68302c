"""Trends in sentences and as plain data: why results are not comparable, and whether the newest is worse."""

from __future__ import annotations

from typing import Any

from assay.evaluation.comparability import ComparabilityReason
from assay.evaluation.trends import SkippedExperiment, Trend, TrendComparison, TrendPoint, WatchStatus
from assay.measures import parse
from assay.views.numbers import format_p_sentence, format_signed

_DIGEST_LENGTH = 32  # a value of this length without blanks is a digest, and is shortened
REFERENCES = {"level": "level since the last change", "best": "best", "previous": "previous"}


def describe_reason(reason: ComparabilityReason) -> str:
    """Return why two results are not comparable.

    >>> describe_reason(ComparabilityReason("tie policy", "a", None, "unknown"))
    'tie policy: cannot be known, the second does not say'
    """
    first, second = reason.first, reason.second
    if reason.topic == "no measure":
        return "they have no measure in common"
    if reason.topic == "not measured":
        where = "either" if first == second else "the first" if first is None else "the second"
        return f"{reason.aspect}: not measured in {where}"
    if reason.topic == "count":
        return f"{reason.aspect} of {reason.measures[0]}: {int(first or 0):,} and {int(second or 0):,}"
    if reason.topic == "parameter":
        names = " and ".join(reason.measures)
        return f"{reason.aspect} of {parse(reason.measures[0]).name}: {first} and {second} ({names})"
    if first is None or second is None:
        who = "the first does not say" if first is None else "the second does not say"
        return f"{reason.aspect}: cannot be known, {'neither says' if first == second else who}"
    before, after = (reason.names[0] or _shorten_digest(first), reason.names[1] or _shorten_digest(second))
    return f"{reason.aspect}: {before} and {after}"


def _shorten_digest(value: str) -> str:
    return value[:8] if len(value) >= _DIGEST_LENGTH and value.isalnum() else value


def describe_skipped(skipped: SkippedExperiment) -> str:
    """Return why an experiment is not part of a trend."""
    other = f", {skipped.counterpart} was" if skipped.counterpart else ""
    return f"{skipped.measure} was not measured{other}"


def describe_status(status: WatchStatus) -> str:
    """Return whether the newest experiment is worse, or why that cannot be told."""
    if status.comparison is not None and status.p is not None:
        return _describe_decision(status, status.comparison, status.p)
    if status.skipped is not None:
        name = f"{status.skipped.name} ({status.skipped.id})"
        return f"the newest, {name}: {describe_skipped(status.skipped)}"
    if status.reasons:
        reasons = "; ".join(map(describe_reason, status.reasons))
        return f"the newest cannot be compared with those before: {reasons}"
    return {
        "no experiment": f"no experiment that was asked for has {status.measure}",
        "single experiment": "there is only one experiment, and nothing to compare it with",
        "no interval": "neither scores of the queries nor intervals are kept",
        "no value": "the newest has no value, or shares no queries with those before",
    }[status.problem]


def _describe_decision(status: WatchStatus, comparison: TrendComparison, p: float) -> str:
    text = (
        f"{status.measure} {format_signed(comparison.difference)} against the "
        f"{REFERENCES[comparison.reference]} ({comparison.method}, {format_p_sentence(p)} after correction)"
    )
    beyond = f" by more than {status.margin:g}" if status.margin else ""
    if status.state == "regression":
        return f"worse{beyond}: {text}"
    if status.state == "cannot tell":
        return f"it looks worse{beyond}, but the queries cannot tell: {text}"
    return f"not shown to be worse{beyond}: {text}"


def trend_dict(trend: Trend, status: WatchStatus | None = None) -> dict[str, Any]:
    """Return a trend as plain data, with the keys that `assay experiments trend --format json` prints."""
    return {
        "measure": trend.measure,
        "column": trend.column or None,
        "slice": trend.slice_value or None,
        "level": trend.level,
        "points": [_point_dict(trend, point) for point in trend.points],
        "best": _comparison_dict(trend, trend.best),
        "previous": _comparison_dict(trend, trend.previous),
        "skipped": [
            {"id": s.id, "name": s.name, "at": s.at.isoformat(), "text": describe_skipped(s)}
            for s in trend.skipped
        ],
        "status": None if status is None else _status_dict(status),
    }


def _status_dict(status: WatchStatus) -> dict[str, Any]:
    return {"state": status.state, "text": describe_status(status), "exit_code": status.exit_code}


def _point_dict(trend: Trend, point: TrendPoint) -> dict[str, Any]:
    return {
        "id": point.id,
        "name": point.name,
        "at": point.at.isoformat(),
        "value": point.value,
        "low": point.low,
        "high": point.high,
        "n": point.n,
        "code": point.code,
        "configuration": dict(point.configuration),
        "reasons": [_reason_dict(reason) for reason in point.reasons],
        "doubts": [_reason_dict(reason) for reason in point.doubts],
        "regime": _comparison_dict(trend, point.level_comparison),
        "mark": point.mark,
        "differs": {key: {"before": a, "after": b} for key, (a, b) in point.setting_changes.items()},
    }


def _reason_dict(reason: ComparabilityReason) -> dict[str, Any]:
    return {
        "what": reason.aspect,
        "first": reason.first,
        "second": reason.second,
        "text": describe_reason(reason),
        "kind": reason.kind,
        "names": [name or None for name in reason.names],
    }


def _comparison_dict(trend: Trend, comparison: TrendComparison | None) -> dict[str, Any] | None:
    if comparison is None:
        return None
    return {
        "other": comparison.other,
        "difference": comparison.difference,
        "low": comparison.low,
        "high": comparison.high,
        "p": comparison.p,
        "corrected": comparison.corrected_p,
        "n": comparison.n,
        "how": comparison.method,
        "state": trend.state(comparison),
    }
