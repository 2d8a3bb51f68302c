"""Samples of queries and the sizes that a precision needs, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.judging.sampling import Stratum
from assay.judging.topic_set_size import Spread, TopicSetSize
from assay.views import text
from assay.views.numbers import NO_VALUE
from assay.views.sections import Section, render_sections

_SOURCES = {"default": "assumed; give --variance or --pilot", "given": "given", "pilot": "of the pilot"}


def render_sample(
    counts: Mapping[str, int],
    population: str,
    strata: Sequence[Stratum],
    plan: TopicSetSize,
    style: str,
) -> str:
    """The strata of a sample and what it can tell."""
    head = ["stratum", "families", "sample", "inclusion probability", "share of traffic"]
    if style == "csv":
        return text.render_csv(head, [_exact_cells(stratum) for stratum in strata])
    rows = [_stratum_cells(stratum) for stratum in strata]
    section = Section("", [describe_sample(counts, population)], head, rows)
    return render_sections("Sample of queries", [section, *size_sections(plan)], style)


def describe_sample(counts: Mapping[str, int], population: str) -> str:
    """Return what the sample was drawn from, in one sentence.

    >>> describe_sample({"rows": 9, "queries": 5, "families": 4, "frame": 2, "sample": 1}, "hard queries")
    '1 of 2 families drawn: hard queries; the source has 4 families of 5 different queries in 9 rows'
    """
    sample = f"{counts['sample']:,} of {counts['frame']:,} families drawn" + (
        population and f": {population}"
    )
    source = f"{counts['families']:,} families of {counts['queries']:,} different queries"
    return f"{sample}; the source has {source} in {counts['rows']:,} rows"


def _stratum_cells(stratum: Stratum) -> list[str]:
    traffic = NO_VALUE if stratum.traffic is None else f"{100 * stratum.traffic:.1f} %"
    sizes = [f"{stratum.families:,}", f"{stratum.sample_size:,}"]
    return [stratum.name, *sizes, _format_range(stratum.lowest, stratum.highest), traffic]


def _format_range(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return NO_VALUE
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def _exact_cells(stratum: Stratum) -> list[str]:
    low, high = ("", "") if stratum.lowest is None else (repr(stratum.lowest), repr(stratum.highest))
    chances = low if low == high else f"{low} to {high}"
    traffic = "" if stratum.traffic is None else repr(stratum.traffic)
    return [stratum.name, str(stratum.families), str(stratum.sample_size), chances, traffic]


def render_plan(plan: TopicSetSize, style: str) -> str:
    """How many queries a precision needs."""
    if style == "csv":
        return text.render_csv(["precision", "queries"], _plan_rows(plan, is_plain=True))
    return render_sections("How many queries are needed", size_sections(plan), style)


def size_sections(plan: TopicSetSize) -> list[Section]:
    """How many queries each precision needs, and what the planned number reaches."""
    notes = [describe_spread(plan.spread)]
    if plan.n is not None:
        notes.insert(0, describe_planned(plan))
    return [Section("how many queries are needed", notes, ["precision", "queries"], _plan_rows(plan))]


def _plan_rows(plan: TopicSetSize, is_plain: bool = False) -> list[list[str]]:
    level, power = f"{100 * plan.level:g} %", f"{100 * plan.power:g} %"
    rows: list[tuple[str, int | None]] = [
        (f"a mean ± {width / 2:g} ({level} interval of width {width:g})", n)
        for width, n in plan.by_width.items()
    ]
    rows += [
        (f"a difference of {difference:g} between two systems, detected with a power of {power}", n)
        for difference, n in plan.by_difference.items()
    ]
    return [[name, NO_VALUE if n is None else str(n) if is_plain else f"{n:,}"] for name, n in rows]


def describe_planned(plan: TopicSetSize) -> str:
    """Return what the planned number of queries reaches, in one sentence."""
    width = NO_VALUE if plan.width is None else f"± {plan.width / 2:.3f}"
    difference = NO_VALUE if plan.difference is None else f"{plan.difference:.3f}"
    count = f"{plan.n:,} queries"
    if plan.effective_n is not None and plan.design_effect > 1.005:
        count += f" of unequal weights, worth {plan.effective_n:,.0f} of equal weight,"
    return f"{count} give a mean {width} and detect a difference of {difference}"


def describe_spread(spread: Spread) -> str:
    """Return which standard deviations the sizes rest on, in one sentence."""
    source = _SOURCES[spread.source]
    if spread.source == "pilot":
        systems = "1 system" if spread.systems == 1 else f"{spread.systems:,} systems"
        source += f": {spread.n:,} queries, {systems}"
    return (
        f"standard deviation {spread.scores:.3f} of the scores of queries and {spread.differences:.3f} of "
        f"differences between systems ({source})"
    )
