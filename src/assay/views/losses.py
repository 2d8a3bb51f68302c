"""The waterfall of a search: where relevant documents were lost, and how much each stage still allows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.evaluation.losses import FOUND, Ceiling, Losses, Part, Step
from assay.stats.intervals import Estimate
from assay.views import text
from assay.views.sections import Section, render

FORMATS = ("table", "json", "md", "html")
_NONE = "–"
_SHOWN = 3  # queries named beside a bar
_WIDTH = 16  # of the longest bar


class Bars(NamedTuple):
    """A waterfall, and those of its slices by what they are called."""

    losses: Losses
    slices: Mapping[str, Sequence[Part]] = {}


def losses_view(found: Mapping[str, Bars], style: str) -> str:
    """The waterfalls of some searches, by name, in one of the formats."""
    if style == "json":
        made = {name: one.losses.to_dict() for name, one in found.items()}
        return json.dumps(made, ensure_ascii=False, indent=1)
    return render("Where relevant documents are lost", sections(found), style)


def sections(found: Mapping[str, Bars]) -> list[Section]:
    """A waterfall as bars, and what each stage still allows."""
    made = []
    for name, (one, slices) in found.items():
        parts, n = one.parts(), len(one.query_ids)
        total = sum(part.documents for part in parts)
        title = f"{name}: where {total:,} relevant documents of {n:,} queries went"
        notes = (
            [f"left out: {one.left_out:,} judged queries without an answer, of it or of exact search"]
            if one.left_out
            else []
        )
        made.append(_bars(title, parts, notes))
        head = ["after", "recall that is still possible", "change"]
        made.append(Section("", [], head, [_ceiling(ceiling) for ceiling in one.ceilings()]))
        made += _steps(one)
        made += [_bars(f"{name}, {called}", parts) for called, parts in slices.items()]
    return made


def _bars(title: str, parts: Sequence[Part], notes: Sequence[str] = ()) -> Section:
    head = ["where", "documents", "share of all", "", "queries, most lost first"]
    longest = max((part.share.value or 0 for part in parts), default=0) or 1
    return Section(title, list(notes), head, [_bar(part, longest) for part in parts])


def _bar(part: Part, longest: float) -> list[str]:
    length = round(_WIDTH * (part.share.value or 0) / longest)
    named = "" if part.name == FOUND else _named(part.queries)
    return [part.name, f"{part.documents:,}", _spelled(part.share), "█" * length, named]


def _named(queries: Sequence[str]) -> str:
    more = f" and {len(queries) - _SHOWN:,} more" if len(queries) > _SHOWN else ""
    return text.shorten(", ".join(queries[:_SHOWN]), 22) + more


def _ceiling(ceiling: Ceiling) -> list[str]:
    change = _NONE if ceiling.change is None else _spelled(ceiling.change, "+")
    return [ceiling.name, _spelled(ceiling.recall), change]


def _steps(found: Losses) -> list[Section]:
    """What each stage of a pipeline added to what would be shown, and took away."""
    if not any(step.against for step in found.steps):
        return []
    head = ["were this shown", "recall", "against", "change", "came in", "left"]
    return [Section("", [], head, [_step(step) for step in found.steps])]


def _step(step: Step) -> list[str]:
    if step.change is None:
        return [step.name, _spelled(step.recall), _NONE, _NONE, _NONE, _NONE]
    change = _spelled(step.change, "+")
    return [step.name, _spelled(step.recall), str(step.against), change, f"{step.came:,}", f"{step.left:,}"]


def _spelled(found: Estimate, sign: str = "") -> str:
    if found.value is None:
        return _NONE
    value, *ends = [None if v is None else f"{v:{sign}.3f}" for v in (found.value, found.low, found.high)]
    told = value if None in ends else f"{value} ({ends[0]} … {ends[1]})"
    return str(told).replace("-", "−")


def lost_at(found: Losses, query: str) -> str:
    """Where the relevant documents of a query were lost, in one line.

    >>> from assay.core.tables import Qrels, Run
    >>> from assay.evaluation.losses import Checkpoint, losses
    >>> shown = Checkpoint("shown", "cut off", Run({"q": {"a": 1}}))
    >>> lost_at(losses(Qrels({"q": {"a": 1, "b": 1}}), [shown]), "q")
    '1 of 2 relevant found; 1 cut off'
    """
    counts: dict[str, Any] = dict(found.of_query(query))
    there, total = counts.pop(FOUND, 0), sum(found.of_query(query).values())
    return "; ".join([f"{there} of {total} relevant found", *(f"{n} {name}" for name, n in counts.items())])
