"""The rows from which the charts of a benchmark are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.bench.selection.tradeoff import TradeoffPlane
from assay.bench.studies.difficulty import DifficultyRelation
from assay.bench.studies.distribution import RecallDistribution
from assay.bench.studies.families import FailureRatio, family_of_trial
from assay.bench.studies.findings import recall_percentile
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.severity import Severity
from assay.bench.trials import label
from assay.stats.intervals import Estimate
from assay.views.numbers import NO_VALUE

DELTAS = (0.1, 0.3, 0.5, 0.7, 0.9)
_SAME_PLACE = 3  # decimals of two marks that cover each other
PERCENTILES = (0.1, 1, 5, 10, 25, 50)
FEATURES = {
    "relative_contrast": "relative contrast (low is hard)",
    "lid": "local dimension (high is hard)",
    "hubness": "hubness",
    "outlyingness": "distance from the base (high is hard)",
}
_NAMES = {"recall": "mean recall", "qps": "queries per second"}
Rows = list[dict[str, Any]]
Curve = Sequence[tuple[float, Estimate]]  # δ and the share of queries that reach it
Colours = Mapping[str, str]  # by engine


def identity_columns(result: ScoredTrial, colours: Colours) -> dict[str, Any]:
    """The columns that every row of a configuration has."""
    trial = result.trial
    return {
        "configuration": trial.label,
        "engine": trial.engine,
        "family": family_of_trial(trial),
        "colour": colours[trial.engine],
    }


def number_rings(rows: Rows, x: str, y: str) -> Rows:
    """The rows with how many engines before have a mark at the same place of the same panel."""
    engines: dict[tuple[Any, ...], list[str]] = {}
    for row in rows:
        place = (row.get("panel"), *(float(f"{row[axis]:.{_SAME_PLACE}g}") for axis in (x, y)))
        here = engines.setdefault(place, [])
        if row["engine"] not in here:
            here.append(row["engine"])
        row["ring"] = here.index(row["engine"])
    return rows


def line_widths(curves: Sequence[Sequence[float | None]]) -> list[float]:
    """The width of each line, wider for each line after it that covers it."""
    rounded = [[None if value is None else round(value, _SAME_PLACE) for value in curve] for curve in curves]
    return [2.0 + 3.0 * rounded[at + 1 :].count(curve) for at, curve in enumerate(rounded)]


def histogram_rows(observed: Sequence[ScoredTrial], colours: Colours) -> Rows:
    """One row for each recall that a query can have."""
    rows: Rows = []
    for result, spread in distributions(observed):
        half = 0.45 / spread.k
        for hits, queries in enumerate(spread.counts.tolist()):
            recall = hits / spread.k
            edges = {"recall": recall, "low": recall - half, "high": recall + half}
            rows.append({**identity_columns(result, colours), **edges, "queries": queries})
    return rows


def curve_rows(curves: Sequence[tuple[ScoredTrial, Curve]], colours: Colours) -> Rows:
    """One row for each δ."""
    widths = line_widths([[reached.value for _, reached in curve] for _, curve in curves])
    return [
        {**identity_columns(result, colours), "delta": delta, **_value_and_bounds(reached), "width": width}
        for (result, curve), width in zip(curves, widths, strict=True)
        for delta, reached in curve
    ]


def recall_rows(
    observed: Sequence[ScoredTrial],
    colours: Colours,
    k: int,
    deltas: Sequence[float] = DELTAS,
    groups: Mapping[str, str] | None = None,
) -> Rows:
    """One row for each configuration and δ; `groups` names by key the configurations that a line joins."""
    rows: Rows = []
    for delta in deltas:
        for result in observed:
            reached = result.robustness(delta)
            if reached.value is not None:
                build = label(result.trial.engine, result.trial.build, {})
                group = (groups or {}).get(result.trial.key, build)
                place = {"group": group, "panel": f"Robustness-{delta:g}@{k}", "recall": result.recall.value}
                rows.append({**identity_columns(result, colours), **place, **_value_and_bounds(reached)})
    return number_rings(rows, "recall", "value")


def percentile_rows(observed: Sequence[ScoredTrial], colours: Colours) -> Rows:
    """One row for each percentile; percentiles of less than one query are left out."""
    return [
        {
            **identity_columns(result, colours),
            "percentile": f"{percent:g} %",
            **_value_and_bounds(recall_percentile(spread, percent / 100)),
        }
        for result, spread in distributions(observed)
        for percent in PERCENTILES
        if percent / 100 * spread.n >= 1
    ]


def ratio_rows(ratios_by_pair: Mapping[str, Sequence[FailureRatio]]) -> Rows:
    """One row for each pair and δ; if one of the two never failed, the row has the known bound."""
    bounds = [end for ratios in ratios_by_pair.values() for ratio in ratios for end in ratio.ratio[:3] if end]
    bottom = min(bounds, default=1.0) / 2
    return [
        {"pair": pair, "delta": f"{ratio.delta:g}", **position, "interval": _interval(ratio.ratio)}
        for pair, ratios in ratios_by_pair.items()
        for ratio in ratios
        if (position := _ratio_position(ratio.ratio, bottom)) is not None
    ]


def _ratio_position(ratio: Estimate, bottom: float) -> dict[str, Any] | None:
    """The position of a ratio on a logarithmic axis, where the bottom represents 0."""
    value, low, high = ratio.value, ratio.low, ratio.high
    if value:
        kind = "measured, an end unknown" if low is None or high is None else "measured"
        low = value if low is None else max(low, bottom)
        return {"kind": kind, "ratio": value, "low": low, "high": high or value}
    end, kind = (low, "at least") if value is None else (high, "at most")
    return {"kind": kind, "ratio": end, "low": end, "high": end} if end else None


def _interval(estimate: Estimate) -> str:
    return " … ".join(NO_VALUE if end is None else f"{end:.3g}" for end in (estimate.low, estimate.high))


def severity_rows(severities: Sequence[tuple[ScoredTrial, Severity]]) -> Rows:
    """One row for each band of true ranks, and one for answers outside of them."""
    rows: Rows = []
    for result, severity in severities:
        outside, inside = severity.outside.value or 0.0, sum(severity.bands)
        edges = zip(severity.edges, severity.edges[1:], severity.bands, strict=False)
        shares = {f"{a + 1}–{b}": (1 - outside) * count / max(1, inside) for a, b, count in edges}
        shares[f"beyond {severity.edges[-1]}"] = outside
        for place, (band, share) in enumerate(shares.items()):
            row = {"configuration": result.trial.label, "band": band, "place": place, "share": share}
            rows.append(row | {"low": None, "high": None})
        if severity.outside.low is not None and severity.outside.high is not None:
            rows[-1] |= {"low": 1 - severity.outside.high, "high": 1 - severity.outside.low}
    return rows


def plane_rows(planes: Sequence[TradeoffPlane], observed: Sequence[ScoredTrial], colours: Colours) -> Rows:
    """One row for each configuration that reaches the floor of a plane."""
    by_key = {result.trial.key: result for result in observed}
    rows = [
        {
            **identity_columns(by_key[point.key], colours),
            "panel": describe_floor(plane),
            "x": point.x,
            "y": point.y,
            "x_name": _NAMES.get(plane.x, plane.x),
            "y_name": _NAMES.get(plane.y, plane.y),
            "best": point.on_front,
        }
        for plane in planes
        for point in plane.points
    ]
    return number_rings(rows, "x", "y")


def describe_floor(plane: TradeoffPlane) -> str:
    """The floor of a plane as text."""
    floor = f"{plane.floor:,.0f}" if plane.fixed == "qps" else f"{plane.floor:.4g}"
    return f"{_NAMES.get(plane.fixed, plane.fixed)} at least {floor}"


def difficulty_rows(
    results_with_relations: Sequence[tuple[ScoredTrial, Sequence[DifficultyRelation]]], colours: Colours
) -> Rows:
    """One row for each quarter of the queries by each measure of difficulty."""
    return [
        {
            **identity_columns(result, colours),
            "feature": FEATURES.get(relation.feature, relation.feature),
            "quarter": quarter,
            **_value_and_bounds(share),
            "n": share.n,
        }
        for result, relations in results_with_relations
        for relation in relations
        for quarter, share in enumerate(relation.quartiles, 1)
        if share.value is not None
    ]


def distributions(observed: Sequence[ScoredTrial]) -> list[tuple[ScoredTrial, RecallDistribution]]:
    """The trials with a known distribution of recall over queries."""
    return [
        (result, result.distribution)
        for result in observed
        if result.distribution is not None and result.distribution.n
    ]


def _value_and_bounds(estimate: Estimate) -> dict[str, float | None]:
    """A value with the bounds of its interval, or with itself as both bounds if there is none."""
    low = estimate.value if estimate.low is None else estimate.low
    return {
        "value": estimate.value,
        "low": low,
        "high": estimate.value if estimate.high is None else estimate.high,
    }
