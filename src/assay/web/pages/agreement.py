"""How far raters agree, and the pairs on which they differ, decided in place."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import urlencode

from pydantic import Field

from assay.core.errors import InputError
from assay.judging.agreement import AgreementReport
from assay.judging.annotation.project import default_keys
from assay.stats import Estimate
from assay.views.agreement_notes import describe_suspicion, reliability_notes
from assay.views.stored_labels import judge_kappa, list_coefficients, main_kappa, title_agreement
from assay.web.page import Action, Context, Page, Parameters, Result, View
from assay.workflows.judgment_inputs import DATASET, PROJECT
from assay.workflows.stored_agreement import (
    PAGE_SIZE,
    SHOWN,
    DecideRequest,
    DisputeList,
    StoredAgreement,
    StoredAgreementRequest,
    UndoDecisionRequest,
    decide,
    measure_stored_agreement,
    undo,
)

_MOST_RATERS = 24  # in the matrix
_MOST_SLICES = 40
_HEAT_STEPS = 10
_TERMINAL_NOTES = ("suspicious", "see whether")  # shown elsewhere, or about options of the command
UNIT_AXIS = (-0.02, 1.02)  # points at 0 and 1 are not cut


class AgreementParameters(Parameters):
    """The labels, the slices, and the disagreement that is open."""

    project: str = ""
    dataset: str = ""
    by: str = ""
    show: str = "open"
    offset: int = Field(default=0, ge=0)
    at: int = Field(default=0, ge=0)  # the position of the open disagreement on its page
    rater: str = ""  # who decides

    @property
    def source(self) -> str:
        """The source as workflows name it; empty: none was chosen."""
        if self.project and self.dataset:
            raise InputError("expected a project or a dataset, found both")
        return (
            f"{PROJECT}{self.project}" if self.project else f"{DATASET}{self.dataset}" if self.dataset else ""
        )


class PairForm(Parameters):
    """The pair that is decided, and where the list is."""

    source: str
    rater: str = ""
    query_id: str = ""
    doc_id: str = ""
    show: str = "open"
    by: str = ""
    offset: int = 0
    at: int = 0


class GradeForm(PairForm):
    """The grade of the pair."""

    grade: float
    note: str = ""


class ReasonForm(PairForm):
    """Why the pair cannot be rated."""

    reason: str


def read(context: Context, parameters: AgreementParameters) -> StoredAgreement:
    """Return how far the raters of a source agree."""
    return measure_stored_agreement(
        StoredAgreementRequest(
            source=parameters.source,
            by=[parameters.by] if parameters.by else (),
            show=parameters.show,
            offset=parameters.offset,
            store=context.store,
        )
    )


def present(context: Context, value: StoredAgreement, parameters: AgreementParameters) -> View:
    """Return the matrix, the raters, the slices and the disagreements."""
    choices = [source for source in value.sources if len(source.judges) > 1]
    parts: dict[str, Any] = {"agreement": value, "choices": choices, "report": value.report}
    if value.source is None:
        return View("Agreement", "assay judge agreement project:NAME", parts)
    command = f"assay judge agreement {value.source.reference}"
    if value.report is None or value.disputes is None:
        return View("Agreement", command, parts)
    report = value.report
    kappa = main_kappa(report)
    notes = reliability_notes(report)
    parts |= {
        "matrix": build_matrix(report),
        "state": judge_kappa(kappa),
        "title": title_agreement(report),
        "evidence": notes[0] if notes else "",
        "notes": [note for note in notes[1:] if not note.startswith(_TERMINAL_NOTES)],
        "unit": UNIT_AXIS,
        "suspicious": [describe_suspicion(pair) for pair in report.suspicious],
        "coefficients": list_coefficients(report.agreement),
        "bias_axis": _bias_axis([summary.bias for summary in report.rater_summaries]),
        "slices": report.slices[:_MOST_SLICES],
        "columns": [name for name in value.columns if name != "inclusion_probability"],
    }
    rater = context.user or parameters.rater.strip()
    parts |= _disputes(value.source.reference, value.disputes, parameters, rater)
    return View("Agreement", command + (f" --by {parameters.by}" if parameters.by else ""), parts)


def build_matrix(report: AgreementReport) -> dict[str, Any]:
    """Return κ of each two raters, with the step of the hue from 0 to 9; of many raters the most active."""
    labels = {summary.name: summary.labels for summary in report.rater_summaries}
    names = sorted(sorted(report.raters, key=lambda name: -labels[name])[:_MOST_RATERS])
    pairs = report.pairs
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for row in range(len(pairs)):
        first, second = pairs.names(row)
        kappa, raw = pairs.kappa["none"].estimate(row), pairs.agreement.estimate(row)
        cell = {"kappa": kappa, "raw": raw, "heat": _heat(kappa.value), "first": first, "second": second}
        cells[first, second] = cells[second, first] = cell
    table = [cells[a, b] for place, a in enumerate(names) for b in names[place + 1 :] if (a, b) in cells]
    return {"names": names, "cells": cells, "rows": table, "hidden": len(report.raters) - len(names)}


def _heat(value: float | None) -> int:
    """Return the step of the hue of a κ.

    >>> [_heat(value) for value in (None, -0.2, 0.55, 1.0)]
    [0, 0, 5, 9]
    """
    return 0 if value is None else min(_HEAT_STEPS - 1, max(0, int(_HEAT_STEPS * value)))


def _bias_axis(biases: list[Estimate]) -> tuple[float, float]:
    ends = [abs(end) for bias in biases for end in bias[:3] if end is not None]
    reach = max([0.05, *ends])
    return -reach, reach


def _disputes(
    source: str, disputes: DisputeList, parameters: AgreementParameters, rater: str
) -> dict[str, Any]:
    """Return the list of disagreements and the one that is open."""
    at = min(parameters.at, max(0, len(disputes.rows) - 1))
    kind, _, name = source.partition(":")
    base = {kind: name, "by": parameters.by, "rater": parameters.rater}
    hidden = {"source": source, "rater": rater, "show": parameters.show, "by": parameters.by}
    current = disputes.rows[at] if disputes.rows else None
    following = disputes.offset + PAGE_SIZE
    return {
        "disputes": disputes,
        "base": base,
        "at": at,
        "current": current,
        "given": [] if current is None else sorted(Counter(current.disagreement.grades.values()).items()),
        "hidden": {**hidden, "offset": disputes.offset, "at": at},
        "grade_keys": list(default_keys(disputes.grades).items()),
        "rater": rater,
        "shown": SHOWN,
        "previous": max(0, disputes.offset - PAGE_SIZE) if disputes.offset else None,
        "next": following if following < disputes.total else None,
    }


def _decide(context: Context, form: GradeForm) -> Result:
    return _save(context, form, form.grade, form.note)


def _cannot_rate(context: Context, form: ReasonForm) -> Result:
    if not form.reason.strip():
        raise InputError("expected the reason why the pair cannot be rated, found none")
    return _save(context, form, None, form.reason.strip())


def _save(context: Context, form: PairForm, grade: float | None, note: str) -> Result:
    saved = decide(
        DecideRequest(
            source=form.source,
            adjudicator=_rater(context, form),
            query_id=form.query_id,
            doc_id=form.doc_id,
            grade=grade,
            note=note,
            store=context.store,
        )
    )
    step = 0 if form.show == "open" else 1  # an open disagreement leaves the list when it is decided
    words = "cannot be rated" if grade is None else f"{grade:g}"
    return _back(form, form.at + step, f"decided: {words}", saved.to_dict())


def _undo(context: Context, form: PairForm) -> Result:
    request = UndoDecisionRequest(source=form.source, adjudicator=_rater(context, form), store=context.store)
    return _back(form, form.at, "taken back", undo(request).to_dict())


def _rater(context: Context, form: PairForm) -> str:
    """Return who decides: the person who is logged in, or without a login the name that was given."""
    return context.user or form.rater


def _back(form: PairForm, at: int, message: str, value: dict[str, Any]) -> Result:
    kind, _, name = form.source.partition(":")
    fields: dict[str, Any] = {kind: name, "by": form.by, "rater": form.rater, "show": form.show}
    fields |= {"offset": form.offset or "", "at": at or ""}
    query = urlencode({key: field for key, field in fields.items() if field != ""})
    return Result(f"/agreement?{query}", message, value)


PAGES = (
    Page(
        "/agreement", "Agreement", "agreement.html", read, present, AgreementParameters, key="K", is_long=True
    ),
)
ACTIONS = (
    Action("/agreement/decide", GradeForm, _decide),
    Action("/agreement/cannot-rate", ReasonForm, _cannot_rate),
    Action("/agreement/undo", PairForm, _undo),
)
