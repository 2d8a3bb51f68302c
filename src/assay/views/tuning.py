"""What tuning tried and found."""

from __future__ import annotations

import json

from assay.indexes.choice.selection import Selection
from assay.indexes.choice.space import Tuning
from assay.indexes.choice.tuning import Tried, Tuned
from assay.indexes.choice.words import amount
from assay.views.sections import Section, render
from assay.views.selection import FORMATS, selection_view

__all__ = ["FORMATS", "tried_in_words", "tuning_view"]
STATES = ("met", "missed", "skipped", "failed")
_WORDS = {"met": "met the floors", "missed": "missed a floor", "skipped": "skipped", "failed": "failed"}


def tuning_view(made: Selection, tuned: Tuned, style: str) -> str:
    """What was found and what was tried, in one of the formats; as CSV, the trials alone."""
    if style == "csv":
        return selection_view(made, style)
    if style == "json":
        tried = [{**one._asdict(), "drawn": dict(one.drawn)} for one in tuned.tried]
        counts = {state: tuned.count(state) for state in STATES}
        tuning = {
            "tried": tried,
            "counts": counts,
            "new": tuned.new,
            "ended": tuned.ended,
            "finalists": tuned.finalists,
        }
        return json.dumps({**made.to_dict(), "tuning": tuning}, ensure_ascii=False, indent=1)
    parts = [selection_view(made, style), render("What was tried", _sections(tuned), style)]
    return "\n\n".join(parts)


def _sections(tuned: Tuned) -> list[Section]:
    counts = ", ".join(f"{tuned.count(state)} {_WORDS[state]}" for state in STATES if tuned.count(state))
    before = len(tuned.tried) - tuned.new
    head = f"{len(tuned.tried)} configurations" + f" ({before} of them before)" * bool(before)
    left = [[one.label, one.said] for one in tuned.tried if one.state == "skipped"]
    said = [f"{head}: {counts}", f"it ended because {tuned.ended}"]
    if tuned.finalists:
        said.append(
            f"the best {tuned.finalists} were timed anew, in turns, and chosen from by these passes alone"
        )
    return [
        Section("What was tried", said),
        Section("Skipped", [], ["index", "why"], left),
    ]


def tried_in_words(number: int, tuning: Tuning, one: Tried, best: bool) -> str:
    """One configuration in a line."""
    aim = tuning.objective
    value = "" if one.value is None else f"{aim.name} {amount(aim, one.value)}"
    told = ", ".join(filter(None, [value, one.said, "the best so far" * best]))
    return f"{number}/{tuning.budget} {one.state}: {one.label}" + f": {told}" * bool(told)
