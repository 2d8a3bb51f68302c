"""Interleaving as tables and sentences: which ranker users prefer, and what could not be credited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from assay.core.events import Problem
from assay.online.interleaving import InterleavedList
from assay.online.interleaving.preference import Interleaving, Preference
from assay.online.interleaving.sensitivity import ABSensitivity, Sensitivity
from assay.stats import Estimate
from assay.views import text
from assay.views.clicks import problem_section
from assay.views.html import IntervalPlot, PlotRow
from assay.views.numbers import (
    NO_VALUE,
    format_bounds,
    format_count,
    format_exact,
    format_interval,
    format_p,
    format_p_sentence,
    format_percent,
    format_signed,
    format_value,
    narrow_notes,
)
from assay.views.sections import Section, render_sections
from assay.views.selection_words import count_noun

FORMATS = ("table", "csv", "md", "html", "latex")
_METHODS = {
    "team-draft": "team draft: a click counts 1 for the team of the document",
    "probabilistic": "probabilistic: a click counts for each ranker by the chance that it contributed the "
    "document",
    "balanced": "balanced: a click counts for the ranker that places the document higher, less the mean "
    "credit of the rank",
    "credits": "credits as they are in the table",
}


class InterleavingResult(Protocol):
    """What is shown: the preferences, the problems, and the users that an A/B test would need."""

    @property
    def interleaving(self) -> Interleaving: ...  # noqa: D102

    @property
    def problems(self) -> Sequence[Problem]: ...  # noqa: D102

    @property
    def sensitivity(self) -> Sensitivity | None: ...  # noqa: D102


def render_interleaving(result: InterleavingResult, style: str) -> str:
    """Return an interleaving in one of the styles."""
    if style == "csv":
        return text.render_csv(*_csv_rows(result.interleaving.preferences))
    return render_sections("Interleaving", report_sections(result), style)


def report_sections(result: InterleavingResult) -> list[Section]:
    """Return the preferences, what they mean, the A/B test beside them, and the problems of the log."""
    interleaving = result.interleaving
    return [
        _preference_section(interleaving.preferences),
        Section("what it means", [describe_preference(p) for p in interleaving.preferences]),
        _sensitivity_section(result.sensitivity),
        Section("how it was computed", _notes(interleaving)),
        problem_section(result.problems),
    ]


def _preference_section(preferences: Sequence[Preference]) -> Section:
    head = ["baseline", "candidate", "users", "wins", "ties", "losses", "preference"]
    head += ["95 % interval" if _is_usual(preferences) else "interval", "p"]
    head += ["corrected"] if len(preferences) > 1 else []
    rows = [
        [
            p.baseline,
            p.candidate,
            *map(format_count, (p.users, p.wins, p.ties, p.losses)),
            NO_VALUE if p.preference.value is None else format_signed(p.preference.value),
            format_interval(p.preference, format_signed),
            format_p(p.p),
            *([format_p(p.corrected_p)] if len(preferences) > 1 else []),
        ]
        for p in preferences
    ]
    spans = [
        PlotRow(
            "",
            f"{p.candidate} against {p.baseline}",
            (p.preference.value, p.preference.low, p.preference.high),
        )
        for p in preferences
    ]
    plot = IntervalPlot("preference, from −1 to +1; 0: neither", spans, (-1.0, 1.0))
    return Section("", narrow_notes(p.preference for p in preferences), head, rows, plot=plot)


def _is_usual(preferences: Sequence[Preference]) -> bool:
    return all(p.preference.level == 0.95 for p in preferences)


def describe_preference(preference: Preference) -> str:
    """Return which ranker users prefer, as a sentence."""
    p, pair = preference.corrected_p, f"{preference.baseline} and {preference.candidate}"
    if p is None:
        return (
            f"{pair}: expected two or more users with a credit to say anything, found "
            f"{format_count(preference.users)}"
        )
    winner = preference.winner()
    share = (
        f"{preference.candidate} has {format_percent(preference.win_share)} of the credit of the mean user"
    )
    counts = (
        f"of {format_count(preference.users)} users with a credit, {format_count(preference.wins)} prefer "
        f"{preference.candidate}, {format_count(preference.losses)} {preference.baseline}, and "
        f"{format_count(preference.ties)} neither"
    )
    if winner is None:
        return f"no preference between {pair} is shown ({format_p_sentence(p)}): {share}; {counts}"
    return f"users prefer {winner} ({format_p_sentence(p)}): {share}; {counts}"


def _notes(interleaving: Interleaving) -> list[str]:
    counts = interleaving.counts
    names = (name.strip() for name in interleaving.method.split(","))
    notes = [_METHODS.get(name, name) for name in names]
    notes.append(
        f"{count_noun(counts['queries'], 'interleaved query')} of {count_noun(counts['users'], 'user')}; "
        f"with a credited click: {format_count(counts['queries_with_credit'])}"
    )
    preference = interleaving.preferences[0]
    others = ", ".join(
        f"{name} {format_p(p)}" for name, p in preference.p_values.items() if name != preference.test
    )
    notes.append(
        f"the unit is the user: (candidate − baseline) / (candidate + baseline) of its credits; the test is "
        f"{preference.test}, the interval Student's{others and f'; p of the other tests: {others}'}"
    )
    if len(interleaving.preferences) > 1:
        notes.append("p is corrected for the number of candidates (Holm)")
    if interleaving.method != "credits":
        notes.append(
            "clicks on documents that the rankers place alike at the top, and on ranks where one of them may "
            "have no more documents, count for neither"
        )
    return notes


def _sensitivity_section(sensitivity: Sensitivity | None) -> Section:
    if sensitivity is None:
        return Section("")
    head = ["experiment", "metric", "difference", "p", "users needed", "interval", "times as many"]
    own = sensitivity.interleaving
    rows = [["interleaving", "preference", "", "", _users(own.value), _users_interval(own), "1"]]
    rows += [_ab_row(metric) for metric in sensitivity.metrics]
    return Section("beside the A/B test", _sensitivity_notes(sensitivity), head, rows)


def _ab_row(metric: ABSensitivity) -> list[str]:
    difference, times = metric.difference, metric.times_as_many
    ratio = NO_VALUE if times.value is None else f"{times.value:.1f}"
    bounds = format_bounds(times.low, times.high, lambda end: f"{end:.1f}")
    return [
        "A/B",
        metric.metric,
        NO_VALUE if difference.value is None else format_signed(difference.value),
        format_p(metric.p),
        _users(metric.users_needed.value),
        _users_interval(metric.users_needed),
        f"{ratio} ({bounds})" if times.value is not None else ratio,
    ]


def _sensitivity_notes(sensitivity: Sensitivity) -> list[str]:
    counts = ", ".join(f"{name} {format_count(n)}" for name, n in sensitivity.users.items())
    notes = [
        f"users needed to find a difference as large as the measured one, with a power of "
        f"{sensitivity.power:g} at α {sensitivity.alpha:g}, those without a credited click included; "
        f"measured with users: {counts}",
        "an end of – is unknown: the difference may be 0, and then no number of users finds it",
    ]
    unsure = [m.metric for m in sensitivity.metrics if m.p is None or m.p > sensitivity.alpha]
    if unsure:
        notes.append(
            f"the A/B test shows no difference in {', '.join(unsure)}: its number of users is a guess"
        )
    return notes


def _users(value: float | None) -> str:
    return NO_VALUE if value is None else format_count(round(value))


def _users_interval(estimate: Estimate) -> str:
    return format_bounds(estimate.low, estimate.high, lambda end: format_count(round(end)))


def _csv_rows(preferences: Sequence[Preference]) -> tuple[list[str], list[list[str]]]:
    head = ["baseline", "candidate", "users", "wins", "losses", "ties", "preference", "low", "high", "n"]
    head += [f"p_{name}" for name in preferences[0].p_values]
    rows = []
    for p in preferences:
        counts = [str(n) for n in (p.users, p.wins, p.losses, p.ties)]
        ends = [format_exact(end) for end in p.preference[:3]]
        tests = [format_exact(value) for value in p.p_values.values()]
        tests.append(format_exact(p.corrected_p))
        rows.append([p.baseline, p.candidate, *counts, *ends, str(p.preference.n), *tests])
    return [*head, "corrected_p"], rows


def render_list(shown: InterleavedList, style: str) -> str:
    """Return an interleaved list in one of the styles."""
    head = ["rank", "document", "team", *(f"credit of {ranker}" for ranker in shown.rankers)]
    if style == "csv":
        exact = [
            [str(rank), doc, team, *(repr(credit) for credit in row)]
            for rank, (doc, team, row) in enumerate(_rows(shown), 1)
        ]
        return text.render_csv(head, exact)
    rows = [
        [str(rank), doc, team, *(format_value(credit) for credit in row)]
        for rank, (doc, team, row) in enumerate(_rows(shown), 1)
    ]
    notes = [_METHODS[shown.method], *_uncredited_notes(shown.credit_by_doc)]
    return render_sections("Interleaved list", [Section("", notes, head, rows)], style)


def _rows(shown: InterleavedList) -> list[tuple[str, str, tuple[float, ...]]]:
    return list(zip(shown.documents, shown.teams, shown.credits, strict=True))


def _uncredited_notes(credit_by_doc: Mapping[str, Mapping[str, float]]) -> list[str]:
    count = sum(not row for row in credit_by_doc.values())
    if not count:
        return []
    return [
        f"{count_noun(count, 'document')} without credit: placed alike at the top, or on a rank "
        "where one of them may have no more"
    ]
