"""Annotation projects: lists, progress, and what a rater reads in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap

from assay.core.records import JsonObject
from assay.judging.annotation.assignments import (
    CLOSED,
    EXHAUSTED,
    FINISHED,
    PAUSED,
    WAITING,
    Assignment,
    NoAssignment,
)
from assay.judging.annotation.outside_labels import LabelImport
from assay.judging.annotation.progress import ProjectProgress, RaterProgress
from assay.judging.annotation.project import AnnotationProject, Grade
from assay.views import text
from assay.views.experiments import format_time
from assay.views.numbers import NO_VALUE, format_exact, format_percent, format_short
from assay.views.sections import Section, render_sections

_PLAIN_FIELDS = ("title", "text")  # shown without their names
_IMPORT_KINDS = {
    "added": "added",
    "changed": "changed",
    "unchanged": "unchanged",
    "over_quota": "left out: the pair has its judgments",
    "unknown_pairs": "left out: the pair is not in the project",
}
COMMAND_KEYS: Mapping[str, str] = {
    "s": "skip",
    "l": "later",
    "c": "can't rate",
    "u": "undo",
    "m": "whole text",
    "g": "guidelines",
    "p": "progress",
    "q": "quit",
}


def render_projects(projects: Sequence[ProjectProgress], style: str) -> str:
    """Annotation projects, one per line."""
    head = ["project", "at", "state", "pairs", "labels", "wanted", "raters", "note"]
    rows = [
        [
            p.project.name,
            p.project.at.isoformat() if style == "csv" else format_time(p.project.at),
            _state(p),
            *map(str, (p.pairs, p.labels, p.wanted, len(p.raters))),
            p.project.note,
        ]
        for p in projects
    ]
    if style == "csv":
        return text.render_csv(head, rows)
    return render_sections("Projects", [Section("", () if rows else ["no project"], head, rows)], style)


def _state(progress: ProjectProgress) -> str:
    if progress.closed_at is not None:
        return "closed"
    return "finished" if progress.pairs == progress.full_pairs else "open"


def render_project(project: AnnotationProject, style: str) -> str:
    """A project that was created, with what it was created from."""
    head, rows = ["setting", "value"], _settings(project)
    if style == "csv":
        return text.render_csv(head, rows)
    return render_sections("Project", [Section("", (), head, rows)], style)


def _settings(project: AnnotationProject) -> list[list[str]]:
    counts = project.counts
    return [
        ["project", project.name],
        ["grades", project.describe_grades()],
        ["pairs to judge", str(counts.get("counted", 0))],
        ["judgments of each", str(project.per_pair)],
        ["gold questions", str(counts.get("gold", 0))],
        ["training pairs", str(counts.get("training", 0))],
        ["guidelines", f"{len(project.guidelines.split())} words" if project.guidelines else "none"],
        ["seed", str(project.seed)],
    ]


def render_progress(progress: ProjectProgress, style: str) -> str:
    """How far a project is, and what each rater has done."""
    head = ["rater", "labels", "can't rate", "skipped", "later", "s/label", "gold", "gold n", "state"]
    rows = [_rater_cells(rater, style) for rater in progress.raters]
    if style == "csv":
        return text.render_csv(head, rows)
    return render_sections("Progress", [Section("", _progress_notes(progress), head, rows)], style)


def _rater_cells(rater: RaterProgress, style: str) -> list[str]:
    counts = (rater.labels, rater.cannot_rate, rater.skipped, rater.later)
    is_csv = style == "csv"
    gold = format_exact(rater.gold.value) if is_csv else NO_VALUE
    if rater.gold.n and not is_csv:
        gold = format_percent(rater.gold)
    seconds = format_exact(rater.seconds) if is_csv else format_short(rater.seconds)
    return [
        rater.rater,
        *map(str, counts),
        seconds,
        gold,
        str(rater.gold.n),
        "paused" if rater.is_paused else "",
    ]


def _progress_notes(progress: ProjectProgress) -> list[str]:
    project = progress.project
    share = f" ({100 * progress.labels / progress.wanted:.0f} %)" if progress.wanted else ""
    notes = [
        f"{project.name} ({_state(progress)}): {progress.labels:,} of {progress.wanted:,} labels{share}; "
        f"{progress.full_pairs:,} of {progress.pairs:,} pairs have their {project.per_pair} judgments"
    ]
    if progress.agreement.n:
        notes.append(
            f"raters agree on {format_percent(progress.agreement)} of {progress.agreement.n:,} pairs with "
            f"two grades or more; `assay judge agreement project:{project.name}` says how much is chance"
        )
    paused = [rater.rater for rater in progress.raters if rater.is_paused]
    if paused:
        notes.append(
            f"paused, with less than {100 * project.gold_accuracy:.0f} % right answers to gold questions: "
            f"{', '.join(paused)}; `assay judge resume {project.name} --rater NAME` lets them go on"
        )
    return notes


def describe_refusal(refusal: NoAssignment, project: str, gold_accuracy: float | None = None) -> str:
    """Return why a rater is given no pair, in one sentence.

    >>> describe_refusal(NoAssignment("closed"), "shop")
    'project shop is closed: nothing more is judged'
    """
    least = "" if gold_accuracy is None else f" (at least {100 * gold_accuracy:.0f} % are expected)"
    free_at = f" at {refusal.free_at:%H:%M} UTC" if refusal.free_at else " later"
    return {
        CLOSED: f"project {project} is closed: nothing more is judged",
        FINISHED: "all pairs have their judgments: nothing is left to judge",
        EXHAUSTED: "you have judged or skipped every pair that is left: the others need other raters",
        WAITING: f"other raters are judging the pairs that are left: some may be free again{free_at}",
        PAUSED: (
            f"you are paused: {refusal.gold_right} of your {refusal.gold_judged} answers to questions with a "
            f"known grade were right{least}; read the guidelines again and ask the owner of the project, who "
            "can let you go on"
        ),
    }[refusal.reason]


def describe_answer(grade: float | None, answer: float, note: str, grades: Sequence[Grade]) -> str:
    """Return whether the label of a training pair is right, and what is.

    >>> describe_answer(0.0, 2.0, "it has the steps", [Grade(0, "no"), Grade(2, "yes")])
    'training: the known grade is 2 yes, not 0 no: it has the steps'
    """
    names = {value: f"{value:g} {name}".strip() for value, name in grades}
    why = f": {clean(note)}" if note else ""
    if grade == answer:
        return f"training: right, {names[answer]}{why}"
    found = "no grade" if grade is None else names[grade]
    return f"training: the known grade is {names[answer]}, not {found}{why}"


def render_assignment(assignment: Assignment, width: int, height: int | None = None) -> str:
    """Return a pair as a rater reads it in a terminal, with at most `height` lines of the document."""
    query = _field_lines(assignment.query, width)
    document = _field_lines(assignment.document, width) or ["(this document has no text)"]
    hidden = 0 if height is None else max(0, len(document) - height)
    if hidden:
        document = [*document[: len(document) - hidden], f"… {hidden} more lines: m shows them"]
    head = f"query {clean(assignment.query_id)}"
    rule = "─" * max(0, width - len(head) - 1)
    body = [f"document {clean(assignment.doc_id)}", *(f"  {line}" for line in document)]
    return "\n".join([f"{head} {rule}", *(f"  {line}" for line in query), "", *body])


def _field_lines(fields: JsonObject, width: int) -> list[str]:
    lines: list[str] = []
    for name, value in fields.items():
        content = str(value) if name in _PLAIN_FIELDS else f"{name}: {value}"
        for paragraph in content.splitlines():
            lines += wrap(clean(paragraph), max(20, width - 4)) or [""]
    return lines


def clean(words: str) -> str:
    """Return a text without control characters, which could change the terminal.

    >>> clean("a\\x1b[2Jb\\tc")
    'a [2Jb c'
    """
    return text.remove_line_breaks(words)


def render_keys(keys: Mapping[str, Grade]) -> str:
    """Return what each key does, in two lines.

    >>> print(render_keys({"0": Grade(0, "no"), "1": Grade(1, "yes")}).splitlines()[0])
    0 no · 1 yes
    """
    grades = [
        f"{key} {grade.name}".strip()
        if key == f"{grade.value:g}"
        else f"{key} → {grade.value:g} {grade.name}"
        for key, grade in keys.items()
    ]
    return " · ".join(grades) + "\n" + " · ".join(f"{key} {name}" for key, name in COMMAND_KEYS.items())


def render_import(result: LabelImport, project: str, style: str) -> str:
    """What became of labels made elsewhere."""
    head = ["labels", "count", "such as"]
    rows = [
        [name, str(getattr(result, kind)), " ".join(result.examples.get(kind, ()))]
        for kind, name in _IMPORT_KINDS.items()
    ]
    if style == "csv":
        return text.render_csv(head, rows)
    return render_sections(f"Import to {project}", [Section("", (), head, rows)], style)
