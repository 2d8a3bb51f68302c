"""Charts that compare data sets, parameters and engines, drawn from rows."""

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
from assay.views.charts import own_axes, points_and_rings, value_axis

_PALE, _DARK = "#eef3f8", "#0b4f8a"
_SETTING_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")


def heatmap(rows: Sequence[Row]) -> ChartSpec:
    """r² of each measure with the mean recall, one column for each data set.

    Rows: measure, data, r2, n.
    """
    alt = load_altair()
    base = new_chart(rows).encode(
        x=alt.X("data:N", title=None, sort=unique_values("data", rows), axis=alt.Axis(labelAngle=-20)),
        y=alt.Y("measure:N", title=None, sort=unique_values("measure", rows), axis=alt.Axis(labelLimit=200)),
    )
    scale = alt.Scale(domain=[0, 1], range=[_PALE, _DARK])
    cells = base.mark_rect(stroke="currentColor", strokeOpacity=0.25).encode(
        color=alt.Color("r2:Q", title="r² with the mean recall", scale=scale, legend=legend_of_shades()),
        tooltip=tooltips("data:N", "measure:N", "r2", alt.Tooltip("n:Q", title="configurations")),
    )
    text = base.mark_text(fontSize=12).encode(
        text=alt.Text("r2:Q", format=".2f"),
        color=alt.condition("datum.r2 > 0.62", alt.value("white"), alt.value("#1b1f24")),
    )
    return chart_spec(alt.layer(cells, text).properties(width=alt.Step(95), height=alt.Step(26)))


def legend_of_shades() -> Any:
    """The legend of a continuous colour, below the chart."""
    return load_altair().Legend(orient="bottom", gradientLength=200)


def curves_side_by_side(rows: Sequence[Row]) -> ChartSpec:
    """Robustness at every δ, one panel for each data set and K.

    Rows: panel, configuration, engine, colour, family, delta, value, width.
    """
    alt = load_altair()
    base = new_chart(rows).encode(
        x=alt.X("delta:Q", title="δ", scale=alt.Scale(zero=False)),
        y=alt.Y("value:Q", title="share of queries that reach it", scale=alt.Scale(zero=False)),
        color=colour_by("engine", rows, legend=legend_below()),
    )
    line = base.mark_line().encode(
        strokeDash=dash_by_family(rows), strokeWidth=alt.StrokeWidth("width:Q", scale=None)
    )
    size = 28 if len(unique_values("delta", rows)) <= 20 else 0
    point = base.mark_point(filled=True, size=size, opacity=1).encode(
        tooltip=tooltips("panel:N", "configuration:N", "delta:Q", "value")
    )
    panels = alt.layer(line, point).properties(width=330, height=220)
    faceted = panels.facet(facet=panel_by("panel", rows), columns=2)
    return chart_spec(own_axes(faceted).resolve_scale(y="independent"))


def parameter_lines(rows: Sequence[Row]) -> ChartSpec:
    """Robustness by a search parameter, one panel for each engine and one line for each other setting.

    Rows: panel, parameter, configuration, setting, place (of the setting), x, value, low, high, recall,
    y_name.
    """
    panels = [
        _parameter_panel([row for row in rows if row["panel"] == name])
        for name in unique_values("panel", rows)
    ]
    concatenated = load_altair().concat(*panels, columns=2)
    return chart_spec(concatenated.resolve_scale(color="independent", shape="independent"))


def _parameter_panel(rows: Sequence[Row]) -> Any:
    alt = load_altair()
    settings = unique_values("setting", rows)
    colours = alt.Scale(domain=settings, range=[COLOURS[at % len(COLOURS)] for at in range(len(settings))])
    shapes = alt.Scale(
        domain=settings, range=[_SETTING_SHAPES[at % len(_SETTING_SHAPES)] for at in range(len(settings))]
    )
    legend = alt.Legend(orient="bottom", columns=2) if settings != [""] else None
    values = sorted({row["x"] for row in rows})
    scale = value_axis(values)["scale"]
    axis = alt.Axis(values=values, format="~g", labelOverlap="parity")
    base = new_chart(rows).encode(
        x=alt.X("x:Q", title=rows[0]["parameter"], scale=scale, axis=axis),
        color=alt.Color("setting:N", title=None, scale=colours, legend=legend),
    )
    share = alt.Y("low:Q", title=rows[0]["y_name"], scale=alt.Scale(zero=False))
    whisker = base.mark_rule(strokeOpacity=0.6).encode(y=share, y2="high:Q")
    line = base.mark_line(strokeWidth=1.5).encode(y="value:Q")
    point = base.mark_point(filled=True, size=50, opacity=1).encode(
        y="value:Q",
        shape=alt.Shape("setting:N", title=None, scale=shapes, legend=legend),
        tooltip=tooltips("configuration:N", "recall", "value", "low", "high"),
    )
    return alt.layer(whisker, line, point).properties(width=330, height=220, title=rows[0]["panel"])


def frontiers(rows: Sequence[Row]) -> ChartSpec:
    """The best trade-offs of a figure with throughput, one panel for each figure and a line for each engine.

    Rows: panel, configuration, engine, colour, family, x, y, ring.
    """
    alt = load_altair()
    names = unique_values("panel", rows)
    panels = []
    for name in names:
        panel_rows = [row for row in rows if row["panel"] == name]
        base = new_chart(panel_rows).encode(
            x=alt.X("x:Q", title=name, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5)),
            y=alt.Y("y:Q", title="queries per second", **value_axis([row["y"] for row in panel_rows])),
            color=colour_by("engine", rows, legend=legend_below(symbolType="circle", symbolSize=80)),
        )
        line = base.mark_line(strokeWidth=1.5).encode(detail="engine:N")
        marks = base.encode(
            shape=shape_by_family(rows),
            tooltip=tooltips("configuration:N", "family:N", "x", alt.Tooltip("y:Q", format=",.0f")),
        )
        layers = [line, *points_and_rings(marks, rows)]
        panels.append(alt.layer(*layers).properties(width=380, height=250, title=name))
    concatenated = alt.concat(*panels, columns=2)
    return chart_spec(concatenated.resolve_scale(color="shared", shape="shared"))
