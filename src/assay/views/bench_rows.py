"""What the figures of a benchmark are drawn from: trials as plain rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.indexes.choice.tradeoff import Plane
from assay.indexes.study.difficulty import Relation
from assay.indexes.study.families import Ratio, family_of
from assay.indexes.study.findings import percentile
from assay.indexes.study.observed import Distribution, Observed
from assay.indexes.study.severity import Severity
from assay.indexes.trials import label
from assay.stats.intervals import Estimate

DELTAS = (0.1, 0.5, 0.9)
PERCENTILES = (0.1, 1, 5, 10, 25, 50)
FEATURES = {
    "relative_contrast": "relative contrast (low is hard)",
    "lid": "local dimension (high is hard)",
    "hubness": "hubness",
    "outlyingness": "distance from the base (high is hard)",
}
_NAMES = {"recall": "mean recall", "qps": "queries per second"}
Rows = list[dict[str, Any]]
Curve = Sequence[tuple[float, Estimate]]  # δ, and the share of queries that reach it
Colours = Mapping[str, str]  # by engine


def named(one: Observed, colours: Colours) -> dict[str, Any]:
    """What every row of a configuration has."""
    trial = one.trial
    return {
        "configuration": trial.label,
        "engine": trial.engine,
        "family": family_of(trial),
        "colour": colours[trial.engine],
    }


def histogram_rows(observed: Sequence[Observed], colours: Colours) -> Rows:
    """A row for each recall that a query can have."""
    made: Rows = []
    for one, spread in spreads(observed):
        half = 0.45 / spread.k
        for hits, queries in enumerate(spread.counts.tolist()):
            recall = hits / spread.k
            edges = {"recall": recall, "low": recall - half, "high": recall + half}
            made.append({**named(one, colours), **edges, "queries": queries})
    return made


def curve_rows(curves: Sequence[tuple[Observed, Curve]], colours: Colours) -> Rows:
    """A row for each δ."""
    return [
        {**named(one, colours), "delta": delta, **_ends(reached)}
        for one, curve in curves
        for delta, reached in curve
    ]


def recall_rows(observed: Sequence[Observed], colours: Colours, k: int) -> Rows:
    """A row for each configuration and δ."""
    made: Rows = []
    for delta in DELTAS:
        for one in observed:
            reached = one.robustness(delta)
            if reached.value is not None:
                group = label(one.trial.engine, one.trial.build, {})
                place = {"group": group, "panel": f"Robustness-{delta:g}@{k}", "recall": one.recall.value}
                made.append({**named(one, colours), **place, **_ends(reached)})
    return made


def percentile_rows(observed: Sequence[Observed], colours: Colours) -> Rows:
    """A row for each percentile; one that is of less than a query is left out."""
    return [
        {**named(one, colours), "percentile": f"{percent:g} %", **_ends(percentile(spread, percent / 100))}
        for one, spread in spreads(observed)
        for percent in PERCENTILES
        if percent / 100 * spread.n >= 1
    ]


def ratio_rows(found: Mapping[str, Sequence[Ratio]]) -> Rows:
    """A row for each pair and δ; where one of both never failed, the end that is known."""
    every = [end for ratios in found.values() for each in ratios for end in each.ratio[:3] if end]
    bottom = min(every, default=1.0) / 2
    return [
        {"pair": pair, "delta": f"{each.delta:g}", **drawn, "interval": _interval(each.ratio)}
        for pair, ratios in found.items()
        for each in ratios
        if (drawn := _ratio(each.ratio, bottom)) is not None
    ]


def _ratio(found: Estimate, bottom: float) -> dict[str, Any] | None:
    """Where a ratio stands on a logarithmic axis, on which there is no infinity, and the bottom is for 0."""
    value, low, high = found.value, found.low, found.high
    if value:
        kind = "measured, an end unknown" if low is None or high is None else "measured"
        low = value if low is None else max(low, bottom)
        return {"kind": kind, "ratio": value, "low": low, "high": high or value}
    end, kind = (low, "at least") if value is None else (high, "at most")
    return {"kind": kind, "ratio": end, "low": end, "high": end} if end else None


def _interval(found: Estimate) -> str:
    return " … ".join("–" if end is None else f"{end:.3g}" for end in (found.low, found.high))


def severity_rows(found: Sequence[tuple[Observed, Severity]]) -> Rows:
    """A row for each band of the true order, and one for what is outside of it."""
    made: Rows = []
    for one, of_it in found:
        outside, inside = of_it.outside.value or 0.0, sum(of_it.bands)
        edges = zip(of_it.edges, of_it.edges[1:], of_it.bands, strict=False)
        shares = {f"{a + 1}–{b}": (1 - outside) * count / max(1, inside) for a, b, count in edges}
        shares[f"beyond {of_it.edges[-1]}"] = outside
        for place, (band, share) in enumerate(shares.items()):
            row = {"configuration": one.trial.label, "band": band, "place": place, "share": share}
            made.append(row | {"low": None, "high": None})
        if of_it.outside.low is not None and of_it.outside.high is not None:
            made[-1] |= {"low": 1 - of_it.outside.high, "high": 1 - of_it.outside.low}
    return made


def plane_rows(planes: Sequence[Plane], observed: Sequence[Observed], colours: Colours) -> Rows:
    """A row for each configuration that reaches the floor of a plane."""
    by_key = {one.trial.key: one for one in observed}
    return [
        {
            **named(by_key[point.key], colours),
            "panel": floor_words(plane),
            "x": point.x,
            "y": point.y,
            "x_name": _NAMES.get(plane.x, plane.x),
            "y_name": _NAMES.get(plane.y, plane.y),
            "best": point.on_front,
        }
        for plane in planes
        for point in plane.points
    ]


def floor_words(plane: Plane) -> str:
    """What is held in a plane."""
    least = f"{plane.floor:,.0f}" if plane.fixed == "qps" else f"{plane.floor:.4g}"
    return f"{_NAMES.get(plane.fixed, plane.fixed)} at least {least}"


def difficulty_rows(found: Sequence[tuple[Observed, Sequence[Relation]]], colours: Colours) -> Rows:
    """A row for each quarter of the queries by each measure of difficulty."""
    return [
        {
            **named(one, colours),
            "feature": FEATURES.get(relation.feature, relation.feature),
            "quarter": quarter,
            **_ends(share),
            "n": share.n,
        }
        for one, relations in found
        for relation in relations
        for quarter, share in enumerate(relation.quartiles, 1)
        if share.value is not None
    ]


def spreads(observed: Sequence[Observed]) -> list[tuple[Observed, Distribution]]:
    """Those of which the recall of queries is known."""
    return [
        (one, one.distribution) for one in observed if one.distribution is not None and one.distribution.n
    ]


def _ends(found: Estimate) -> dict[str, float | None]:
    """A value with its interval; one without any stands for itself."""
    low = found.value if found.low is None else found.low
    return {"value": found.value, "low": low, "high": found.value if found.high is None else found.high}
