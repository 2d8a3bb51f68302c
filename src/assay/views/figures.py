"""Figures of trials, drawn from plain rows: what differs in colour differs in shape, dash or place too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.views.marks import (
    COLOURS,
    Figure,
    Row,
    below,
    chart,
    coloured,
    dashed,
    drawn,
    library,
    ordered,
    panel,
    shaped,
    tip,
)


def histogram(rows: Sequence[Row]) -> Figure:
    """How many queries have which recall, a panel for each configuration.

    Rows: configuration, colour, recall, low, high (the bar's edges), queries.
    """
    alt = library()
    roots = alt.Scale(type="sqrt", domainMax=1.25 * max(row["queries"] for row in rows), nice=False)
    base = chart(rows)
    bars = base.mark_bar(stroke=None).encode(
        x=alt.X("low:Q", title="recall of a query", scale=alt.Scale(zero=False, nice=False)),
        x2="high:Q",
        y=alt.Y("queries:Q", title="queries (square-root scale)", scale=roots),
        y2=alt.datum(0),
        color=coloured("configuration", rows, legend=None),
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
    return drawn(panels.facet(facet=panel("configuration", rows, **lines), columns=3))


def curve(rows: Sequence[Row]) -> Figure:
    """Robustness at every δ with its band, and beside it the part at low δ on a scale of its own.

    Rows: configuration, colour, family, delta, value, low, high.
    """
    low = [row for row in rows if row["delta"] <= 0.5]
    zoomed = [_bands(low, "the hardest queries: δ up to 0.5")] * bool(low)
    return drawn(library().hconcat(_bands(rows, "every δ"), *zoomed))


def _bands(rows: Sequence[Row], title: str) -> Any:
    alt = library()
    base = chart(rows).encode(
        x=alt.X("delta:Q", title="δ: the recall that a query must reach", scale=alt.Scale(zero=False)),
        color=coloured("configuration", rows, legend=below()),
    )
    share = alt.Y("low:Q", title="share of queries that reach it", scale=alt.Scale(zero=False))
    band = base.mark_area(opacity=0.2).encode(y=share, y2="high:Q")
    line = base.mark_line().encode(y="value:Q", strokeDash=dashed(rows))
    size = 30 if len(ordered("delta", rows)) <= 20 else 0
    point = base.mark_point(filled=True, size=size, opacity=1).encode(
        y="value:Q", tooltip=tip("configuration:N", "family:N", "delta:Q", "value", "low", "high")
    )
    return alt.layer(band, line, point).properties(width=420, height=260, title=title)


def against_recall(rows: Sequence[Row]) -> Figure:
    """Robustness-δ against mean recall, a panel for each δ, a mark for each configuration.

    Rows: configuration, engine, colour, family, group (of one index), panel, recall, value, low, high.
    """
    alt = library()
    base = chart(rows).encode(
        x=alt.X("recall:Q", title="mean recall", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5)),
        color=coloured("engine", rows),
    )
    whisker = base.mark_rule(strokeOpacity=0.6).encode(
        y=alt.Y("low:Q", title="share of queries"), y2="high:Q"
    )
    line = base.mark_line(strokeWidth=1, strokeOpacity=0.5).encode(y="value:Q", detail="group:N")
    point = base.mark_point(size=55, filled=True, opacity=1).encode(
        y=alt.Y("value:Q", scale=alt.Scale(zero=False)),
        shape=shaped(rows),
        tooltip=tip("configuration:N", "family:N", "recall", "value", "low", "high"),
    )
    panels = alt.layer(whisker, line, point).properties(width=260, height=240)
    faceted = panels.facet(column=panel("panel", rows))
    return drawn(faceted.resolve_scale(y="independent"))


def information(rows: Sequence[Row]) -> Figure:
    """How much of a measure mean recall tells already: r² across configurations, a bar for each measure.

    Rows: measure, r2, n.
    """
    alt = library()
    base = chart(rows).encode(
        x=alt.X("r2:Q", title="r² against mean recall", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("measure:N", title=None, sort=ordered("measure", rows), axis=alt.Axis(labelLimit=300)),
    )
    bars = base.mark_bar(color=COLOURS[0]).encode(
        tooltip=tip("measure:N", "r2", alt.Tooltip("n:Q", title="configurations"))
    )
    said = base.mark_text(align="left", dx=4).encode(text=alt.Text("r2:Q", format=".2f"))
    return drawn(alt.layer(bars, said).properties(width=520, height=alt.Step(24)))


def ratios(rows: Sequence[Row]) -> Figure:
    """How many times as many queries fail in one index as in another, with intervals.

    Rows: pair, delta (a text), ratio, low, high, interval (a text), and kind: at least or at most where one
    of both never failed and the ratio has one end only.
    """
    alt = library()
    base = chart(rows)
    placed = base.encode(y=alt.Y("delta:N", title="δ", sort=ordered("delta", rows)))
    log = alt.Scale(type="log", nice=False, padding=16)
    x = alt.X("ratio:Q", title="times as many failures (logarithmic)", scale=log)
    one = base.mark_rule(strokeDash=[4, 3], opacity=0.6).encode(x=alt.datum(1))
    span = placed.mark_rule(strokeWidth=2, color=COLOURS[0]).encode(
        x=alt.X("low:Q", title="", scale=log), x2="high:Q"
    )
    shapes = {"at least": "triangle-right", "at most": "triangle-left", "measured": "circle"}
    kinds = ordered("kind", rows)
    told = alt.Scale(domain=kinds, range=[shapes.get(kind, "cross") for kind in kinds])
    point = placed.mark_point(filled=True, size=80, opacity=1, color=COLOURS[0]).encode(
        x=x,
        shape=alt.Shape("kind:N", title=None, scale=told),
        tooltip=tip("pair:N", "delta:N", "kind:N", "ratio", "interval:N"),
    )
    panels = alt.layer(one, span, point).properties(width=260, height=alt.Step(26))
    lines = {"labelExpr": "split(replace(datum.label, ' over ', '|over '), '|')"}
    return drawn(panels.facet(facet=panel("pair", rows, **lines), columns=3))


def severity(rows: Sequence[Row]) -> Figure:
    """Where in the true order the answers of failing queries lie, a bar for each configuration.

    Rows: configuration, band, place (of the band), share; the nearest band first, and what is outside last,
    with low and high, between which its beginning lies.
    """
    alt = library()
    bands = ordered("band", rows)
    scale = alt.Scale(domain=bands, range=_shades(len(bands)))
    base = chart(rows).encode(
        y=alt.Y(
            "configuration:N", title=None, sort=ordered("configuration", rows), axis=alt.Axis(labelLimit=420)
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
        tooltip=tip("configuration:N", "band:N", "share"),
    )
    span = base.mark_rule(strokeWidth=3, color="black").encode(x="low:Q", x2="high:Q")
    return drawn(alt.layer(bars, span).properties(width=520, height=alt.Step(34)))


def _shades(count: int) -> list[str]:
    """Blue for what is near, paler with distance, and orange for what is outside."""
    blues = ("#0b4f8a", "#3f7fb8", "#79a9d1", "#b0cce6", "#d9e6f2")
    return [*blues[: count - 1], COLOURS[5]]


def planes(rows: Sequence[Row]) -> Figure:
    """A trade-off with each of three axes held at a floor in turn: the other two, a panel for each.

    Rows: configuration, engine, colour, family, best (whether no other is better in both), and, in `panel`,
    x, y, with their names x_name, y_name.
    """
    alt = library()
    shown = []
    for one in ordered("panel", rows):
        of_it = [row for row in rows if row["panel"] == one]
        shown.append(_plane(of_it, one, rows))
    return drawn(alt.hconcat(*shown).resolve_scale(color="shared", shape="shared"))


def _plane(rows: Sequence[Row], one: str, every: Sequence[Row]) -> Any:
    alt = library()
    names = [rows[0]["x_name"], rows[0]["y_name"]]
    x, y = ({"title": name, **_axis(rows, axis)} for name, axis in zip(names, "xy", strict=True))
    base = chart(rows).encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y))
    front = (
        base.mark_line(strokeWidth=1, strokeDash=[4, 3], color="currentColor", opacity=0.6)
        .transform_filter("datum.best")
        .encode(order="x:Q")
    )
    point = base.mark_point(filled=True, size=60).encode(
        color=coloured("engine", every),
        shape=shaped(every),
        opacity=alt.condition("datum.best", alt.value(1), alt.value(0.45)),
        tooltip=tip(
            "configuration:N",
            "family:N",
            *(alt.Tooltip(f"{a}:Q", title=n, format=".4~g") for a, n in zip("xy", names, strict=True)),
        ),
    )
    return alt.layer(front, point).properties(width=260, height=240, title=one)


def _axis(rows: Sequence[Row], axis: str) -> dict[str, Any]:
    """Logarithmic where the largest is many times the least."""
    alt, found = library(), [row[axis] for row in rows]
    if min(found) > 0 and max(found) > 5 * min(found):
        return {"scale": alt.Scale(type="log"), "axis": alt.Axis(format="~s", tickCount=4)}
    return {"scale": alt.Scale(zero=False), "axis": alt.Axis(tickCount=4)}


def percentiles(rows: Sequence[Row]) -> Figure:
    """The recall that the worst so many percent stay below, a line for each configuration.

    Rows: configuration, colour, family, percentile (a text), value, low, high.
    """
    alt = library()
    names = ordered("percentile", rows)
    base = chart(rows).encode(
        x=alt.X("percentile:N", sort=names, title="percentile of queries", axis=alt.Axis(labelAngle=0)),
        color=coloured("configuration", rows, legend=below()),
    )
    recall = alt.Y("low:Q", title="recall", scale=alt.Scale(domain=[0, 1]))
    span = base.mark_rule(strokeWidth=2, opacity=0.5).encode(y=recall, y2="high:Q")
    line = base.mark_line().encode(y="value:Q", strokeDash=dashed(rows))
    point = base.mark_point(filled=True, size=60, opacity=1).encode(
        y="value:Q", tooltip=tip("configuration:N", "family:N", "percentile:N", "value", "low", "high")
    )
    return drawn(alt.layer(span, line, point).properties(width=520, height=220))


def difficulty(rows: Sequence[Row]) -> Figure:
    """The share of failing queries in each quarter of them by a measure of difficulty, a panel for each.

    Rows: feature, quarter (1 to 4), configuration, colour, family, value, low, high, n.
    """
    alt = library()
    base = chart(rows).encode(
        x=alt.X("quarter:O", title="quarter of queries, by the measure", axis=alt.Axis(labelAngle=0)),
        color=coloured("configuration", rows, legend=below()),
    )
    share = alt.Y("low:Q", title="share of queries that fail", axis=alt.Axis(format="~%"))
    span = base.mark_rule(strokeWidth=2, opacity=0.5).encode(y=share, y2="high:Q")
    line = base.mark_line().encode(y="value:Q")
    point = base.mark_point(filled=True, size=60, opacity=1).encode(
        y="value:Q",
        shape=shaped(rows),
        tooltip=tip("feature:N", "quarter:O", "configuration:N", "family:N", "value", "low", "high", "n:Q"),
    )
    panels = alt.layer(span, line, point).properties(width=215, height=200)
    return drawn(panels.facet(facet=panel("feature", rows), columns=4))
