"""Charts of trials, drawn from rows. Whatever differs in colour also differs in shape, dash or position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.views.chart_style import (
    COLOURS,
    ChartSpec,
    Row,
    chart_spec,
    colour_by,
    dash_by_family,
    legend_below,
    load_altair,
    new_chart,
    panel_by,
    shape_by_family,
    tooltips,
    unique_values,
)


def histogram(rows: Sequence[Row]) -> ChartSpec:
    """Histograms of the recall of queries, one panel for each configuration.

    Rows: configuration, colour, recall, low, high (the bar's edges), queries.
    """
    alt = load_altair()
    roots = alt.Scale(type="sqrt", domainMax=1.25 * max(row["queries"] for row in rows), nice=False)
    base = new_chart(rows)
    bars = base.mark_bar(stroke=None).encode(
        x=alt.X("low:Q", title="recall of a query", scale=alt.Scale(zero=False, nice=False)),
        x2="high:Q",
        y=alt.Y("queries:Q", title="queries (square-root scale)", scale=roots),
        y2=alt.datum(0),
        color=colour_by("configuration", rows, legend=None),
        tooltip=["configuration:N", "recall:Q", "queries:Q"],
    )
    layers = [bars]
    if len({row["recall"] for row in rows}) <= 21:
        middle = alt.X("recall:Q", title="recall of a query")
        layers.append(
            base.mark_text(dy=-6, fontSize=9)
            .transform_filter("datum.queries > 0")
            .encode(x=middle, y="queries:Q", text=alt.Text("queries:Q", format=","))
        )
    panels = alt.layer(*layers).properties(width=285, height=170)
    lines = {"labelExpr": "split(datum.label, ' / ')", "labelLimit": 290}
    return chart_spec(own_axes(panels.facet(facet=panel_by("configuration", rows, **lines), columns=3)))


def curve(rows: Sequence[Row]) -> ChartSpec:
    """Robustness at every δ with its interval, and next to it the part at low δ on its own scale.

    Rows: configuration, colour, family, delta, value, low, high.
    """
    low = [row for row in rows if row["delta"] <= 0.5]
    zoomed = [_bands(low, "the hardest queries: δ up to 0.5")] * bool(low)
    return chart_spec(load_altair().concat(_bands(rows, "every δ"), *zoomed, columns=2))


def _bands(rows: Sequence[Row], title: str) -> Any:
    alt = load_altair()
    base = new_chart(rows).encode(
        x=alt.X("delta:Q", title="δ: the recall that a query must reach", scale=alt.Scale(zero=False)),
        color=colour_by("configuration", rows, legend=legend_below()),
    )
    share = alt.Y("low:Q", title="share of queries that reach it", scale=alt.Scale(zero=False))
    band = base.mark_area(opacity=0.2).encode(y=share, y2="high:Q")
    line = base.mark_line().encode(
        y="value:Q", strokeDash=dash_by_family(rows), strokeWidth=alt.StrokeWidth("width:Q", scale=None)
    )
    size = 30 if len(unique_values("delta", rows)) <= 20 else 0
    point = base.mark_point(filled=True, size=size, opacity=1).encode(
        y="value:Q", tooltip=tooltips("configuration:N", "family:N", "delta:Q", "value", "low", "high")
    )
    return alt.layer(band, line, point).properties(width=400, height=260, title=title)


def own_axes(faceted: Any) -> Any:
    """Panels that have both axes each, so that none must be read against another."""
    return faceted.resolve_axis(x="independent", y="independent")


def points_and_rings(marks: Any, rows: Sequence[Row], is_faint: str = "false") -> list[Any]:
    """Points, and around them a ring for each other point at the same place.

    Rows: ring, 0 for the first of the points at one place, and counted from there. `is_faint` is the test of
    rows that step back.
    """
    alt = load_altair()
    faint = alt.value(0.45)
    shown = alt.when("datum.ring > 0").then(alt.value(0)).when(is_faint).then(faint).otherwise(alt.value(1))
    points = marks.mark_point(filled=True, size=55).encode(opacity=shown)
    if not any(row["ring"] for row in rows):
        return [points]
    shown = alt.when("datum.ring === 0").then(alt.value(0)).when(is_faint).then(faint).otherwise(alt.value(1))
    size = alt.Size("ring:Q", scale=alt.Scale(domain=[0, 4], range=[55, 800]), legend=None)
    rings = marks.mark_point(filled=False, strokeWidth=2).encode(size=size, opacity=shown)
    return [rings, points]


def against_recall(rows: Sequence[Row]) -> ChartSpec:
    """Robustness-δ against mean recall, one panel for each δ and one mark for each configuration.

    Rows: configuration, engine, colour, family, group (of one index), panel, recall, value, low, high.
    """
    alt = load_altair()
    base = new_chart(rows).encode(
        x=alt.X("recall:Q", title="mean recall", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5)),
        color=colour_by("engine", rows),
    )
    whisker = base.mark_rule(strokeOpacity=0.6).encode(
        y=alt.Y("low:Q", title="share of queries"), y2="high:Q"
    )
    line = base.mark_line(strokeWidth=1, strokeOpacity=0.5).encode(y="value:Q", detail="group:N")
    marks = base.encode(
        y=alt.Y("value:Q", scale=alt.Scale(zero=False)),
        shape=shape_by_family(rows),
        tooltip=tooltips("configuration:N", "family:N", "recall", "value", "low", "high"),
    )
    layers = [whisker, line, *points_and_rings(marks, rows)]
    panels = alt.layer(*layers).properties(width=250, height=220)
    faceted = panels.facet(facet=panel_by("panel", rows), columns=3)
    return chart_spec(own_axes(faceted).resolve_scale(y="independent"))


def information(rows: Sequence[Row]) -> ChartSpec:
    """How much mean recall says about each measure: r² across configurations, one bar for each measure.

    Rows: measure, r2, n.
    """
    alt = load_altair()
    base = new_chart(rows).encode(
        x=alt.X("r2:Q", title="r² against mean recall", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("measure:N", title=None, sort=unique_values("measure", rows), axis=alt.Axis(labelLimit=300)),
    )
    bars = base.mark_bar(color=COLOURS[0]).encode(
        tooltip=tooltips("measure:N", "r2", alt.Tooltip("n:Q", title="configurations"))
    )
    labels = base.mark_text(align="left", dx=4).encode(text=alt.Text("r2:Q", format=".2f"))
    return chart_spec(alt.layer(bars, labels).properties(width=520, height=alt.Step(24)))


def ratios(rows: Sequence[Row]) -> ChartSpec:
    """How many times as many queries fail on one index as on another, with intervals.

    Rows: pair, delta (text), ratio, low, high, interval (text), and kind: at least or at most if one of the
    two never failed and the ratio has only one bound.
    """
    alt = load_altair()
    base = new_chart(rows)
    positioned = base.encode(y=alt.Y("delta:N", title="δ", sort=unique_values("delta", rows)))
    log = alt.Scale(type="log", nice=False, padding=16)
    x = alt.X("ratio:Q", title="times as many failures (logarithmic)", scale=log)
    equal_line = base.mark_rule(strokeDash=[4, 3], opacity=0.6).encode(x=alt.datum(1))
    span = positioned.mark_rule(strokeWidth=2, color=COLOURS[0]).encode(
        x=alt.X("low:Q", title="", scale=log), x2="high:Q"
    )
    shapes = {"at least": "triangle-right", "at most": "triangle-left", "measured": "circle"}
    kinds = unique_values("kind", rows)
    shape_scale = alt.Scale(domain=kinds, range=[shapes.get(kind, "cross") for kind in kinds])
    point = positioned.mark_point(filled=True, size=80, opacity=1, color=COLOURS[0]).encode(
        x=x,
        shape=alt.Shape("kind:N", title=None, scale=shape_scale),
        tooltip=tooltips("pair:N", "delta:N", "kind:N", "ratio", "interval:N"),
    )
    panels = alt.layer(equal_line, span, point).properties(width=260, height=alt.Step(26))
    lines = {"labelExpr": "split(replace(datum.label, ' over ', '|over '), '|')"}
    return chart_spec(own_axes(panels.facet(facet=panel_by("pair", rows, **lines), columns=3)))


def severity(rows: Sequence[Row]) -> ChartSpec:
    """True ranks of the answers to failing queries, one bar for each configuration.

    Rows: configuration, band, place (of the band), share; the nearest band first and the answers outside
    last, with low and high, the interval of the position where the last band begins.
    """
    alt = load_altair()
    bands = unique_values("band", rows)
    scale = alt.Scale(domain=bands, range=_shades(len(bands)))
    base = new_chart(rows).encode(
        y=alt.Y(
            "configuration:N",
            title=None,
            sort=unique_values("configuration", rows),
            axis=alt.Axis(labelLimit=420),
        )
    )
    share = alt.X(
        "share:Q",
        title="share of what failing queries were given",
        axis=alt.Axis(format="%"),
        scale=alt.Scale(domain=[0, 1]),
    )
    bars = base.mark_bar().encode(
        x=share,
        color=alt.Color("band:N", title="place in the true order", scale=scale),
        order="place:Q",
        tooltip=tooltips("configuration:N", "band:N", "share"),
    )
    span = base.mark_rule(strokeWidth=3, color="black").encode(x="low:Q", x2="high:Q")
    return chart_spec(alt.layer(bars, span).properties(width=520, height=alt.Step(34)))


def _shades(count: int) -> list[str]:
    """Blue for the nearest band, paler with distance, and orange for answers outside."""
    blues = ("#0b4f8a", "#3f7fb8", "#79a9d1", "#b0cce6", "#d9e6f2")
    return [*blues[: count - 1], COLOURS[5]]


def planes(rows: Sequence[Row]) -> ChartSpec:
    """A trade-off of three figures: one panel for each of them held at a floor, with the other two as axes.

    Rows: configuration, engine, colour, family, best (whether no other is better in both), panel, x, y and
    their names x_name, y_name.
    """
    alt = load_altair()
    panels = []
    for panel_title in unique_values("panel", rows):
        panel_rows = [row for row in rows if row["panel"] == panel_title]
        panels.append(_plane(panel_rows, panel_title, rows))
    return chart_spec(alt.concat(*panels, columns=2).resolve_scale(color="shared", shape="shared"))


def _plane(rows: Sequence[Row], title: str, all_rows: Sequence[Row]) -> Any:
    alt = load_altair()
    names = [rows[0]["x_name"], rows[0]["y_name"]]
    x, y = (
        {"title": name, **value_axis([row[axis] for row in rows])}
        for name, axis in zip(names, "xy", strict=True)
    )
    base = new_chart(rows).encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y))
    front = (
        base.mark_line(strokeWidth=1, strokeDash=[4, 3], color="currentColor", opacity=0.6)
        .transform_filter("datum.best")
        .encode(order="x:Q")
    )
    marks = base.encode(
        color=colour_by("engine", all_rows),
        shape=shape_by_family(all_rows),
        tooltip=tooltips(
            "configuration:N",
            "family:N",
            *(alt.Tooltip(f"{a}:Q", title=n, format=".4~g") for a, n in zip("xy", names, strict=True)),
        ),
    )
    layers = [front, *points_and_rings(marks, all_rows, "!datum.best")]
    return alt.layer(*layers).properties(width=300, height=220, title=title)


def value_axis(values: Sequence[float]) -> dict[str, Any]:
    """The scale of an axis: logarithmic if the largest value is many times the smallest."""
    alt = load_altair()
    if min(values) > 0 and max(values) > 5 * min(values):
        scale = alt.Scale(type="log", nice=False, padding=8)
        return {"scale": scale, "axis": alt.Axis(format="~s", tickCount=4)}
    return {"scale": alt.Scale(zero=False), "axis": alt.Axis(tickCount=4)}


def percentiles(rows: Sequence[Row]) -> ChartSpec:
    """Low percentiles of the recall of queries, one line for each configuration.

    Rows: configuration, colour, family, percentile (text), value, low, high.
    """
    alt = load_altair()
    names = unique_values("percentile", rows)
    base = new_chart(rows).encode(
        x=alt.X("percentile:N", sort=names, title="percentile of queries", axis=alt.Axis(labelAngle=0)),
        color=colour_by("configuration", rows, legend=legend_below()),
    )
    recall = alt.Y("low:Q", title="recall", scale=alt.Scale(domain=[0, 1]))
    span = base.mark_rule(strokeWidth=2, opacity=0.5).encode(y=recall, y2="high:Q")
    line = base.mark_line().encode(y="value:Q", strokeDash=dash_by_family(rows))
    point = base.mark_point(filled=True, size=60, opacity=1).encode(
        y="value:Q", tooltip=tooltips("configuration:N", "family:N", "percentile:N", "value", "low", "high")
    )
    return chart_spec(alt.layer(span, line, point).properties(width=520, height=220))


def difficulty(rows: Sequence[Row]) -> ChartSpec:
    """The share of failing queries in each quarter by a measure of difficulty, one panel for each measure.

    Rows: feature, quarter (1 to 4), configuration, colour, family, value, low, high, n.
    """
    alt = load_altair()
    base = new_chart(rows).encode(
        x=alt.X("quarter:O", title="quarter of queries, by the measure", axis=alt.Axis(labelAngle=0)),
        color=colour_by("configuration", rows, legend=legend_below()),
    )
    share = alt.Y("low:Q", title="share of queries that fail", axis=alt.Axis(format="~%"))
    span = base.mark_rule(strokeWidth=2, opacity=0.5).encode(y=share, y2="high:Q")
    line = base.mark_line().encode(y="value:Q")
    point = base.mark_point(filled=True, size=60, opacity=1).encode(
        y="value:Q",
        shape=shape_by_family(rows),
        tooltip=tooltips(
            "feature:N", "quarter:O", "configuration:N", "family:N", "value", "low", "high", "n:Q"
        ),
    )
    panels = alt.layer(span, line, point).properties(width=215, height=200)
    return chart_spec(own_axes(panels.facet(facet=panel_by("feature", rows), columns=3)))
