"""The loss waterfall of a search: at which stage relevant documents are lost, and what each stage allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.evaluation.stage_losses import FOUND, LossPart, RecallCeiling, StageEffect, StageLosses
from assay.stats.intervals import Estimate
from assay.views import text
from assay.views.numbers import NARROW_MARK, NO_VALUE, end_digits, narrow_notes
from assay.views.sections import Section, render_sections

_QUERIES_SHOWN = 3  # queries named next to a bar
_BAR_WIDTH = 16  # of the longest bar


class SlicedLosses(NamedTuple):
    """The losses of a search, and the parts of each slice by name."""

    losses: StageLosses
    slices: Mapping[str, Sequence[LossPart]] = {}


def render_losses(losses_by_name: Mapping[str, SlicedLosses], style: str) -> str:
    """Loss waterfalls by name in one of the formats."""
    return render_sections("Where relevant documents are lost", loss_sections(losses_by_name), style)


def loss_sections(losses_by_name: Mapping[str, SlicedLosses]) -> list[Section]:
    """Each waterfall as bars, and the recall that each stage still allows."""
    sections = []
    for name, (losses, slices) in losses_by_name.items():
        parts, n = losses.parts(), len(losses.query_ids)
        total = sum(part.documents for part in parts)
        title = f"{name}: where {total:,} relevant documents of {n:,} queries went"
        excluded = (
            f"{losses.excluded_queries:,} judged queries without an answer from it or from exact search"
        )
        notes = [f"left out: {excluded}"] * bool(losses.excluded_queries)
        sections.append(_bar_section(title, parts, notes))
        head = ["after", "recall still possible", "change"]
        ceilings = losses.ceilings()
        changes = [*(c.change for c in ceilings), *(step.change for step in losses.steps)]
        marks = narrow_notes(change for change in changes if change is not None)
        sections.append(Section("", marks, head, [_ceiling_row(ceiling) for ceiling in ceilings]))
        sections += _step_sections(losses)
        sections += [_bar_section(f"{name}, {slice_name}", parts) for slice_name, parts in slices.items()]
    return sections


def _bar_section(title: str, parts: Sequence[LossPart], notes: Sequence[str] = ()) -> Section:
    head = ["where", "documents", "share of all", "", "queries, most lost first"]
    longest = max((part.share.value or 0 for part in parts), default=0) or 1
    return Section(title, list(notes), head, [_bar_row(part, longest) for part in parts])


def _bar_row(part: LossPart, longest: float) -> list[str]:
    length = round(_BAR_WIDTH * (part.share.value or 0) / longest)
    query_names = "" if part.name == FOUND else _format_queries(part.queries)
    return [part.name, f"{part.documents:,}", _format_estimate(part.share), "█" * length, query_names]


def _format_queries(queries: Sequence[str]) -> str:
    remainder = f" and {len(queries) - _QUERIES_SHOWN:,} more" if len(queries) > _QUERIES_SHOWN else ""
    return text.shorten(", ".join(queries[:_QUERIES_SHOWN]), 22) + remainder


def _ceiling_row(ceiling: RecallCeiling) -> list[str]:
    change = NO_VALUE if ceiling.change is None else _format_estimate(ceiling.change, "+")
    return [ceiling.name, _format_estimate(ceiling.recall), change]


def _step_sections(losses: StageLosses) -> list[Section]:
    """The documents that each stage of a pipeline added to the shown results and removed from them."""
    if not any(step.against for step in losses.steps):
        return []
    head = ["if this were shown", "recall", "against", "change", "gained", "lost"]
    return [Section("", [], head, [_step_row(step) for step in losses.steps])]


def _step_row(step: StageEffect) -> list[str]:
    if step.change is None:
        return [step.name, _format_estimate(step.recall), NO_VALUE, NO_VALUE, NO_VALUE, NO_VALUE]
    change = _format_estimate(step.change, "+")
    return [
        step.name,
        _format_estimate(step.recall),
        str(step.against),
        change,
        f"{step.added_documents:,}",
        f"{step.removed_documents:,}",
    ]


def _format_estimate(estimate: Estimate, sign: str = "") -> str:
    if estimate.value is None:
        return NO_VALUE
    value, digits = f"{estimate.value:{sign}.3f}", min(3, end_digits(estimate))
    bounds = [None if v is None else f"{v:{sign}.{digits}f}" for v in (estimate.low, estimate.high)]
    mark = NARROW_MARK * estimate.is_narrow
    formatted = value if None in bounds else f"{value} ({bounds[0]} … {bounds[1]}{mark})"
    return str(formatted).replace("-", "−")


def describe_query_losses(losses: StageLosses, query: str) -> str:
    """At which stages the relevant documents of a query were lost, in one line.

    >>> from assay.core.tables import Qrels, Run
    >>> from assay.evaluation.stage_losses import Checkpoint, trace_losses
    >>> checkpoint = Checkpoint("shown", "cut off", Run({"q": {"a": 1}}))
    >>> losses = trace_losses(Qrels({"q": {"a": 1, "b": 1}}), [checkpoint])
    >>> describe_query_losses(losses, "q")
    '1 of 2 relevant found; 1 cut off'
    """
    counts: dict[str, Any] = dict(losses.of_query(query))
    retrieved, total = counts.pop(FOUND, 0), sum(losses.of_query(query).values())
    return "; ".join(
        [f"{retrieved} of {total} relevant found", *(f"{n} {name}" for name, n in counts.items())]
    )
