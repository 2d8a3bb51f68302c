"""The result of tuning: the selection and the configurations tried."""

from __future__ import annotations

from typing import Any

from assay.bench.selection.selection import Selection
from assay.bench.tuning.space import TuningSpace
from assay.bench.tuning.tuner import TuningAttempt, TuningResult
from assay.views.sections import Section, render_sections
from assay.views.selection import FORMATS, render_selection, selection_dict
from assay.views.selection_words import format_figure

__all__ = ["FORMATS", "describe_attempt", "render_tuning"]
TRIAL_STATES = ("met", "missed", "skipped", "failed")
_STATE_TEXTS = {"met": "met the floors", "missed": "missed a floor", "skipped": "skipped", "failed": "failed"}


def render_tuning(selection: Selection, tuning_result: TuningResult, style: str) -> str:
    """The selection and the configurations tried, in one of the formats; as CSV, only the trials."""
    if style == "csv":
        return render_selection(selection, style)
    parts = [
        render_selection(selection, style),
        render_sections("What was tried", _sections(tuning_result), style),
    ]
    return "\n\n".join(parts)


def tuning_dict(selection: Selection, tuning_result: TuningResult) -> dict[str, Any]:
    """The JSON of a selection with the configurations tried."""
    attempts = [attempt.to_dict() for attempt in tuning_result.attempts]
    tuning = {
        "tried": attempts,
        "counts": {state: tuning_result.count(state) for state in TRIAL_STATES},
        "new": tuning_result.new_attempts,
        "ended": tuning_result.end_reason,
        "finalists": tuning_result.finalists,
    }
    return {**selection_dict(selection), "tuning": tuning}


def _sections(tuning_result: TuningResult) -> list[Section]:
    counts = ", ".join(
        f"{tuning_result.count(state)} {_STATE_TEXTS[state]}"
        for state in TRIAL_STATES
        if tuning_result.count(state)
    )
    before = len(tuning_result.attempts) - tuning_result.new_attempts
    head = f"{len(tuning_result.attempts)} configurations" + f" ({before} of them earlier)" * bool(before)
    skipped_rows = [
        [attempt.label, attempt.reason] for attempt in tuning_result.attempts if attempt.state == "skipped"
    ]
    notes = [f"{head}: {counts}", f"it stopped because {tuning_result.end_reason}"]
    if tuning_result.finalists:
        notes.append(
            f"the best {tuning_result.finalists} were timed again in turn, and the selection is based on "
            "these passes only"
        )
    return [
        Section("What was tried", notes),
        Section("Skipped", [], ["index", "why"], skipped_rows),
    ]


def describe_attempt(number: int, tuning: TuningSpace, attempt: TuningAttempt, is_best: bool) -> str:
    """One configuration in one line."""
    objective = tuning.objective
    value = "" if attempt.value is None else f"{objective.name} {format_figure(objective, attempt.value)}"
    details = ", ".join(filter(None, [value, attempt.reason, "the best so far" * is_best]))
    return f"{number}/{tuning.budget} {attempt.state}: {attempt.label}" + f": {details}" * bool(details)
