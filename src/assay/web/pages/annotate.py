"""Judge the pairs of a project, one pair or one query at a time, by one key for each grade."""

from __future__ import annotations

import shlex
from typing import Any, Literal
from urllib.parse import quote, urlencode

from assay.core.errors import InputError
from assay.judging.annotation.assignments import QueryPair
from assay.judging.annotation.project import default_keys
from assay.views.annotation import describe_refusal
from assay.web.page import Action, Context, Page, Parameters, Result, Role, View
from assay.workflows.annotation import (
    CannotRateRequest,
    ListProjectsRequest,
    NextQueryRequest,
    PairRequest,
    ProjectOverviews,
    RaterRequest,
    RaterTurn,
    SaveLabelRequest,
    cannot_rate,
    later,
    list_overviews,
    next_assignment,
    next_query,
    save_label,
    skip,
    undo,
)

_REASONS = (
    "I do not understand the query",
    "I cannot read the document",
    "There is not enough to go by",
)
_EXCERPT = 280  # characters of a document among those of a query
_LONGEST = 5000  # characters of a document that can be opened there


class ProjectsParameters(Parameters):
    """All projects are shown."""


class TurnParameters(Parameters):
    """The project and the rater."""

    name: str = ""  # part of the path
    rater: str = ""
    by: Literal["", "query"] = ""  # query: all pairs of one query at once
    after: int | None = None  # the pair of a query after which to go on
    answer: str = ""  # what was right, after a training pair


class PairForm(Parameters):
    """The pair that a rater acts on."""

    name: str = ""  # part of the path
    rater: str = ""
    by: Literal["", "query"] = ""
    pair: int


class GradeForm(PairForm):
    """The grade of a pair."""

    grade: float
    note: str = ""


class ReasonForm(PairForm):
    """Why a pair cannot be rated."""

    reason: str


class RaterForm(Parameters):
    """A rater of a project."""

    name: str = ""  # part of the path
    rater: str = ""
    by: Literal["", "query"] = ""


def read_projects(context: Context, parameters: ProjectsParameters) -> ProjectOverviews:
    """Return the projects with their progress."""
    return list_overviews(ListProjectsRequest(store=context.store))


def present_projects(context: Context, value: ProjectOverviews, parameters: ProjectsParameters) -> View:
    """Return the projects, open ones first."""
    projects = sorted(value.projects, key=lambda progress: progress.closed_at is not None)
    return View("Annotate", "assay judge projects", {"projects": projects, "user": context.user})


class NoRater:
    """What is shown before a rater has given a name."""

    def to_dict(self) -> dict[str, Any]:
        """Return that a name is missing."""
        return {"rater": None}


def read_turn(context: Context, parameters: TurnParameters) -> RaterTurn | NoRater:
    """Return the pair, or the pairs of the query, that the rater judges next."""
    rater = _rater(context, parameters.rater)
    if not rater:
        return NoRater()
    request = {"name": parameters.name, "rater": rater, "store": context.store}
    if parameters.by:
        return next_query(NextQueryRequest(**request, after=parameters.after))
    return next_assignment(RaterRequest(**request))


def present_turn(context: Context, value: RaterTurn | NoRater, parameters: TurnParameters) -> View:
    """Return the pair, the grades with their keys, and the progress."""
    name, base = parameters.name, f"/annotate/{quote(parameters.name, safe='')}"
    if isinstance(value, NoRater):
        empty = {"turn": None, "base": base, "name": name, "by": parameters.by}
        return View(name, f"assay judge work {shlex.quote(name)}", empty)
    parts = {
        "turn": value,
        "name": name,
        "base": base,
        "by": parameters.by,
        "pairs": [_row(pair) for pair in value.pairs],
        "grade_keys": list(default_keys(value.grades).items()),
        "reasons": _REASONS,
        "answer": parameters.answer,
        "refusal": describe_refusal(value.refusal, value.name) if value.refusal else "",
    }
    words = f"assay judge work {shlex.quote(name)} --rater {shlex.quote(value.rater)}"
    return View(f"Annotate {name}", words, parts)


def _row(pair: QueryPair) -> dict[str, Any]:
    """Return a pair with the beginning of its text, which is all of it if the rest is empty."""
    text = pair.assignment.document.get("text", "")
    words = " ".join(text.split())
    if len(words) <= _EXCERPT:
        return {"pair": pair, "excerpt": words, "text": "", "left": 0}
    excerpt = f"{words[:_EXCERPT].rsplit(' ', 1)[0]} …"
    return {"pair": pair, "excerpt": excerpt, "text": text[:_LONGEST], "left": max(0, len(text) - _LONGEST)}


def _rater(context: Context, rater: str) -> str:
    """Return who judges: the person who is logged in, or without a login the name that was given."""
    return context.user or rater.strip()


def _pair(context: Context, form: PairForm) -> dict[str, Any]:
    rater = _rater(context, form.rater)
    if not rater:
        raise InputError("expected the name of a rater, found none")
    return {"name": form.name, "rater": rater, "pair": form.pair, "store": context.store}


def _next(
    form: PairForm | RaterForm, message: str = "", answer: str = "", after: int | None = None
) -> Result:
    """Return the next turn; where a query is judged at once, it goes on after a pair."""
    values = {"rater": form.rater, "by": form.by, "after": after if form.by else None, "answer": answer}
    query = urlencode({key: value for key, value in values.items() if value not in ("", None)})
    return Result(f"/annotate/{quote(form.name, safe='')}?{query}", message)


def _save_label(context: Context, form: GradeForm) -> Result:
    saved = save_label(SaveLabelRequest(**_pair(context, form), grade=form.grade, note=form.note))
    answer = "" if saved.answer is None else f"the right grade is {saved.answer:g}. {saved.answer_note}"
    return _next(form, f"saved {form.grade:g}", answer, form.pair)


def _cannot_rate(context: Context, form: ReasonForm) -> Result:
    cannot_rate(CannotRateRequest(**_pair(context, form), reason=form.reason))
    return _next(form, "saved that the pair cannot be rated", after=form.pair)


def _skip(context: Context, form: PairForm) -> Result:
    skip(PairRequest(**_pair(context, form)))
    return _next(form, "left to other raters", after=form.pair)


def _later(context: Context, form: PairForm) -> Result:
    later(PairRequest(**_pair(context, form)))
    return _next(form, "set aside", after=form.pair)


def _undo(context: Context, form: RaterForm) -> Result:
    undo(RaterRequest(name=form.name, rater=_rater(context, form.rater), store=context.store))
    return _next(form, "taken back")


PAGES = (
    Page(
        "/annotate",
        "Annotate",
        "projects.html",
        read_projects,
        present_projects,
        ProjectsParameters,
        Role.JUDGE,
        "A",
    ),
    Page("/annotate/{name:path}", "", "annotate.html", read_turn, present_turn, TurnParameters, Role.JUDGE),
)
ACTIONS = (
    Action("/annotate/{name:path}/grade", GradeForm, _save_label, Role.JUDGE),
    Action("/annotate/{name:path}/cannot-rate", ReasonForm, _cannot_rate, Role.JUDGE),
    Action("/annotate/{name:path}/skip", PairForm, _skip, Role.JUDGE),
    Action("/annotate/{name:path}/later", PairForm, _later, Role.JUDGE),
    Action("/annotate/{name:path}/undo", RaterForm, _undo, Role.JUDGE),
)
