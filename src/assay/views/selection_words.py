"""Sentences about a selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from assay.bench.selection.floors import Figure, FigureEstimate, Floor
from assay.bench.selection.selection import Candidate, Selection

_HELD_OUT = "on the held-out queries"
VERDICT_TEXTS = {
    "confirmed": f"confirmed: {_HELD_OUT}, every floor of recall and robustness holds with its whole "
    "interval",
    "cannot be decided": f"cannot be decided: {_HELD_OUT} the figures meet their floors, but not with their "
    "whole intervals; more queries would tell",
    "not confirmed": f"not confirmed: {_HELD_OUT} it misses a floor; raise the floor, or measure with "
    "more queries",
    "nothing to confirm": "nothing to confirm: no floor is on recall or robustness, and other figures are "
    "the same for all queries",
    "not held out": "not held out: these are the figures it was selected by",
}
_FITTED_TEXT = (
    "not held out: its parameters were found on all queries (by bench --recall or by tune), so no queries "
    "are independent of the choice"
)


def count_noun(n: int | str, noun: str) -> str:
    """Return a count with its noun in singular or plural.

    >>> count_noun(1, "pass"), count_noun(2, "pass"), count_noun("3 to 40", "query")
    ('1 pass', '2 passes', '3 to 40 queries')
    """
    number = n if isinstance(n, str) else f"{n:,}"
    if number == "1":
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{number} {noun[:-1]}ies"
    return f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def format_figure(figure: Figure, value: float) -> str:
    """Return the value of a figure as text.

    >>> format_figure(Figure("qps"), 12345.6), format_figure(Figure("recall"), 0.9)
    ('12,346', '0.9000')
    """
    if figure.is_per_query:
        return f"{value:.4f}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def format_estimate(figure: Figure, estimate: FigureEstimate | None) -> str:
    """Return a figure with its interval as text, or – if it is not known."""
    if estimate is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return format_figure(figure, estimate.value)
    value, low, high = (format_figure(figure, end) for end in (estimate.value, estimate.low, estimate.high))
    return f"{value} ({low} … {high})"


def explain_candidate(selection: Selection, candidate: Candidate) -> str:
    """Return why a trial was selected or not."""
    if candidate is selection.winner:
        rank = "highest" if selection.objective.higher_is_better else "lowest"
        trials = "trials that meet the floors" if selection.floors else "measured trials"
        return f"selected: the {rank} {selection.objective.name} of the {trials}"
    if candidate.exclusion:
        return candidate.exclusion
    if candidate.missed_floors:
        return "; ".join(_missed_text(floor, candidate) for floor in candidate.missed_floors)
    if candidate.dominated_by:
        return _dominated_text(selection, candidate)
    return _behind_text(selection, candidate)


def _missed_text(floor: Floor, candidate: Candidate) -> str:
    estimate = candidate.figures[floor.figure]
    shortfall = format_figure(floor.figure, candidate.shortfall(floor))
    text = f"misses {floor.description} by {shortfall}: {format_estimate(floor.figure, estimate)}"
    better_end = estimate and (estimate.high if floor.figure.higher_is_better else estimate.low)
    return text + ", whose better end meets it" * (better_end is not None and floor.is_met_by(better_end))


def _dominated_text(selection: Selection, candidate: Candidate) -> str:
    other = next(rival for rival in selection.candidates if rival.name == candidate.dominated_by)
    return f"dominated by {other.name}: " + ", ".join(
        _comparison_text(figure, other, candidate) for figure in candidate.better_in
    )


def _behind_text(selection: Selection, candidate: Candidate) -> str:
    """Return why a trial that no other dominates lost: by the objective or a later figure."""
    assert selection.winner is not None
    figure = next(
        (
            axis
            for axis in selection.axes
            if axis.is_better(selection.winner.value(axis), candidate.value(axis))
        ),
        None,
    )
    if figure is None:
        return "equal in every figure: the first by name was selected"
    return f"behind the winner: {_comparison_text(figure, candidate, selection.winner)}"


def _comparison_text(figure: Figure, candidate: Candidate, other: Candidate) -> str:
    """Return a figure of two trials, and whether their intervals overlap."""
    overlap_text = "their intervals overlap" if figure.is_per_query else "within the spread of passes"
    value, other_value = (format_figure(figure, trial.value(figure)) for trial in (candidate, other))
    text = f"{figure.name} {value} against {other_value}"
    return text + f" ({overlap_text})" * _intervals_overlap(candidate.figures[figure], other.figures[figure])


def _intervals_overlap(first: FigureEstimate | None, second: FigureEstimate | None) -> bool:
    ends = [first and first.low, first and first.high, second and second.low, second and second.high]
    low, high, other_low, other_high = ends
    if low is None or high is None or other_low is None or other_high is None:
        return False
    return low <= other_high and other_low <= high


def verdict_text(selection: Selection) -> str:
    """Return the verdict on the winner as one line."""
    if all(candidate.exclusion for candidate in selection.candidates):
        return f"no trial can be selected: {_exclusion_counts(selection)}"
    if selection.confirmation is None or selection.winner is None:
        return "no trial meets all floors"
    return _FITTED_TEXT if selection.winner.is_fitted else VERDICT_TEXTS[selection.confirmation.verdict]


def _exclusion_counts(selection: Selection) -> str:
    """Return the number of trials that cannot be selected, by reason."""
    kinds = Counter(_exclusion_kind(selection, candidate) for candidate in selection.candidates)
    return ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())


def _exclusion_kind(selection: Selection, candidate: Candidate) -> str:
    if candidate.trial.status in ("failed", "skipped"):
        return candidate.trial.status
    if candidate.trial.indexed is False:
        return "not indexed"
    if candidate.trial.k != selection.k:
        return "scored at another K"
    return "of other data" if candidate.is_of_other_data else "without a required figure"


def selection_notes(selection: Selection) -> list[str]:
    """Return notes that a reader of the table must know."""
    if all(candidate.exclusion for candidate in selection.candidates):
        return list(filter(None, [_unfinished_note(selection), _other_data_note(selection)]))
    notes = [
        _split_note(selection),
        _timing_note(selection),
        _unfinished_note(selection),
        _fitted_note(selection),
    ]
    for figure in selection.unknown_figures:
        notes.append(f"{figure.name} is not known for every trial, so it is not compared")
    if selection.winner is None:
        notes += [f"{floor.description}: {_nearest_text(selection, floor)}" for floor in selection.floors]
    if selection.price is not None:
        notes.append(
            f"cost is for a million queries at {selection.price:g} per hour, at the throughput shown"
        )
    notes += [_other_machine_note(selection), _other_data_note(selection)]
    trial_notes = dict.fromkeys(
        candidate.trial.note for candidate in selection.candidates if candidate.trial.reported
    )
    return [*filter(None, notes), *filter(None, trial_notes)]


def _other_machine_note(selection: Selection) -> str:
    """Return a note on trials measured on another machine, if others were measured on this one."""
    selectable = [candidate for candidate in selection.candidates if not candidate.exclusion]
    imported_names = [candidate.name for candidate in selectable if candidate.trial.source != "assay"]
    if not imported_names or len(imported_names) == len(selectable):
        return ""
    names = ", ".join(imported_names[:3]) + " …" * (len(imported_names) > 3)
    return (
        f"times and sizes of {names} were measured on another machine: compared with this sweep, they may "
        "show the machine rather than the index"
    )


def _other_data_note(selection: Selection) -> str:
    """Return how to select among trials that are not known to be of the same data."""
    count = sum(candidate.is_of_other_data for candidate in selection.candidates)
    if not count:
        return ""
    return (
        f"{count_noun(count, 'trial')} of other or unknown data, not selected: --data NAME states that the "
        "dataset NAME is the data to choose for, --data all chooses among the trials of all data"
    )


def _split_note(selection: Selection) -> str:
    if selection.split:
        choosing, held_out = len(selection.split.choosing_rows), len(selection.split.held_out_rows)
        role = "in the other part" if selection.winner and selection.winner.is_fitted else "held out"
        part = f"{held_out:,} others {role} (seed {selection.split.seed})"
        return f"K = {selection.k}; selected on {count_noun(choosing, 'query')}, {part}"
    if any(scored_trial.hits is not None for scored_trial in selection.study.scored_trials):
        return f"K = {selection.k}; selected on all queries: none were held out"
    queries = _sample_range(selection, "queries")
    query_text = (
        f"they are from {count_noun(queries, 'query')}" if queries else "the number of queries is not known"
    )
    return f"K = {selection.k}; single queries are not known: selected by the reported figures; {query_text}"


def _timing_note(selection: Selection) -> str:
    """Return a note on figures that are not computed from queries and so cannot be confirmed."""
    passes = _sample_range(selection, "passes")
    parts = [f"throughput is the median of {count_noun(passes, 'pass')} (minimum … maximum)"] * bool(passes)
    if passes == "1":
        parts = ["throughput is from one pass: its spread is not known"]
    if selection.split and not all(figure.is_per_query for figure in selection.axes):
        parts.append("throughput, latency and sizes are the same for both parts of the queries")
    return "; ".join(parts)


def _unfinished_note(selection: Selection) -> str:
    """Return a note on unfinished trials."""
    trials = [candidate.trial for candidate in selection.candidates if candidate.trial.status == "begun"]
    if not trials:
        return ""
    planned_passes = selection.study.metadata.get("options", {}).get("repetitions")
    passes = _format_range(trial.qps.repetitions if trial.qps else 0 for trial in trials)
    text = (
        f"{passes} of {count_noun(planned_passes, 'pass')}" if planned_passes else count_noun(passes, "pass")
    )
    return f"{count_noun(len(trials), 'trial')} unfinished: {text}; run the same bench command to continue"


def _fitted_note(selection: Selection) -> str:
    """Return a note on trials whose parameters were found on all queries."""
    count = sum(candidate.is_fitted for candidate in selection.candidates)
    if not count or not selection.split:
        return ""
    return f"{count_noun(count, 'trial')} with parameters found on all queries: none are held out for them"


def _sample_range(selection: Selection, unit: str) -> str:
    """Return the number of queries or passes of the figures, as one number or a range."""
    figures = [
        estimate for candidate in selection.candidates for estimate in candidate.figures.values() if estimate
    ]
    return _format_range(
        estimate.n for estimate in figures if estimate.over == unit and estimate.n is not None
    )


def _format_range(numbers: Iterable[int]) -> str:
    """Return the minimum and maximum of numbers as text, or one number if they are equal."""
    sorted_numbers = sorted(numbers)
    return " to ".join(f"{n:,}" for n in dict.fromkeys([*sorted_numbers[:1], *sorted_numbers[-1:]]))


def _nearest_text(selection: Selection, floor: Floor) -> str:
    """Return the trial that comes nearest to a floor."""
    selectable = [candidate for candidate in selection.candidates if not candidate.exclusion]
    figure = floor.figure
    best = (max if figure.higher_is_better else min)(
        selectable, key=lambda candidate: candidate.value(figure)
    )
    return f"the best is {format_estimate(figure, best.figures[figure])}, by {best.name}"


def selection_to_dict(selection: Selection) -> dict[str, Any]:
    """Return a selection with its explanations, with the keys that `assay select --format json` prints."""
    facts = selection.to_dict()
    explanations = [explain_candidate(selection, candidate) for candidate in selection.candidates]
    trials = [trial | {"why": text} for trial, text in zip(facts["trials"], explanations, strict=True)]
    return facts | {
        "words": verdict_text(selection),
        "trials": trials,
        "notes": selection_notes(selection),
    }
