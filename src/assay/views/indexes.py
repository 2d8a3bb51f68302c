"""Sentences about the choice of an index, shorter than those of a report: a table stands below them."""

from __future__ import annotations

from typing import NamedTuple

from assay.bench.selection.floors import Figure, Floor
from assay.bench.selection.selection import Candidate, Selection
from assay.views.selection_words import count_noun, format_estimate, format_figure, verdict_text

_NAMES = {
    "qps": "queries per second",
    "capacity": "queries per second within the objective",
    "memory_mb": "memory in MB",
    "build_seconds": "seconds to build",
    "p99_ms": "p99 in ms",
}


class NearChoice(NamedTuple):
    """A trial that would be chosen if one floor were lower."""

    candidate: Candidate
    floor: Floor


def name_figure(figure: Figure) -> str:
    """Return a figure in words.

    >>> name_figure(Figure("qps")), name_figure(Figure("recall"))
    ('queries per second', 'recall')
    """
    return _NAMES.get(figure.name, figure.name)


def describe_choice(selection: Selection) -> str:
    """Return which trial is chosen, with its value of the objective."""
    winner, objective = selection.winner, selection.objective
    if winner is None:
        floors = " and ".join(floor.description for floor in selection.floors)
        return f"None is chosen: no trial has {floors}" if floors else "None can be chosen"
    value = format_figure(objective, winner.value(objective))
    return f"Chosen: {winner.name}, {value} {name_figure(objective)}"


def describe_confirmation(selection: Selection) -> str:
    """Return what held-out queries say about the winner, with intervals and n."""
    confirmation = selection.confirmation
    if confirmation is None:
        return verdict_text(selection)
    checks = [
        f"{check.floor.figure.name} {format_estimate(check.floor.figure, check.estimate)}"
        for check in confirmation.checks
        if check.floor.figure.is_per_query
    ]
    verdict = verdict_text(selection)
    if not checks or confirmation.verdict == "not held out" or selection.split is None:
        return _capitalize(verdict)
    n = len(selection.split.held_out_rows)
    kind = verdict.partition(":")[0]
    return f"{_capitalize(kind)} on {count_noun(n, 'held-out query')}: {', '.join(checks)}"


def describe_second(selection: Selection) -> str:
    """Return the trial that comes next, if there is one that reaches the floors."""
    eligible = [candidate for candidate in selection.candidates if candidate.is_eligible]
    if len(eligible) < 2:
        return ""
    objective = selection.objective
    ends = [candidate.value(objective) for candidate in eligible[1:]]
    best = eligible[1 + ends.index(max(ends) if objective.higher_is_better else min(ends))]
    value = format_figure(objective, best.value(objective))
    return f"Second: {best.name} with {value} {name_figure(objective)}"


def describe_near(selection: Selection, near: NearChoice | None) -> str:
    """Return which floor, if it were a little lower, would change the choice."""
    if near is None:
        return ""
    figure, objective = near.floor.figure, selection.objective
    value = format_figure(figure, near.candidate.value(figure))
    gain = format_figure(objective, near.candidate.value(objective))
    name = near.candidate.name
    return f"Were {figure.name} {value} enough, {name} would be chosen with {gain} {name_figure(objective)}"


def count_eligible(selection: Selection) -> str:
    """Return how many trials reach all floors."""
    selectable = [candidate for candidate in selection.candidates if not candidate.exclusion]
    reaching = sum(candidate.is_eligible for candidate in selectable)
    return f"{reaching} of {count_noun(len(selectable), 'trial')} reach all floors"


def _capitalize(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
