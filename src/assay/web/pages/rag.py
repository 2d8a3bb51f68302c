"""Studies of answers against retrieval: accuracy by configuration, the δ curve, the questions that fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from assay.rag.failures import CAUSES, count_causes
from assay.rag.study import ConfigurationResult, RagStudy
from assay.views.rag import configuration_rows, describe_controls, describe_delta, describe_predictors
from assay.views.rag_failures import CAUSE_WORDS, describe_answer, describe_failure
from assay.web.page import Action, Context, Page, Parameters, View
from assay.web.rag_charts import accuracy_chart, curve_chart
from assay.workflows.rag_studies import (
    QuestionDetail,
    StudyDetail,
    StudyList,
    list_studies,
    read_question_detail,
    read_study_detail,
)
from assay.workflows.system_numbers import number_systems

_SHOWN_QUESTIONS = 100
_DEFAULT_DELTA = 0.3


class StudyParameters(Parameters):
    """The study, and the δ of the chart of robustness."""

    study: str = ""  # part of the path
    delta: float | None = None  # None: the δ of the study


class QuestionParameters(Parameters):
    """The question, and the two configurations that are compared."""

    study: str = ""  # part of the path
    question: str = ""
    left: str = ""  # empty: one that is wrong
    right: str = ""  # empty: one that is right


def _read_list(context: Context, parameters: Parameters) -> StudyList:
    return list_studies(context.store)


def _present_list(context: Context, value: StudyList, parameters: Parameters) -> View:
    rows = [
        {
            "name": stored.name,
            "at": stored.at,
            "address": f"/rag/{stored.id}",
            "settings": stored.body["settings"],
            "questions": len(stored.body["questions"]),
            "configurations": len(stored.body["configurations"]),
            "delta": stored.body["delta"],
            "best": next((p for p in stored.body["predictors"] if p["r2"] is not None), None),
        }
        for stored in value.studies
    ]
    return View("RAG", "assay rag run --save NAME", {"studies": rows})


def _read(context: Context, parameters: StudyParameters) -> StudyDetail:
    return read_study_detail(parameters.study, context.store)


def _present(context: Context, value: StudyDetail, parameters: StudyParameters) -> View:
    study = value.study
    numbers = number_systems([c.name for c in study.configurations], context.store)
    choice = study.delta
    parts = {
        "stored": value.stored,
        "address": f"/rag/{quote(value.stored.id, safe='')}",
        "settings": study.settings,
        "title": describe_delta(choice, study.k),
        "evidence": " ".join([*describe_predictors(study.predictors), *_control_words(study)]),
        "has_delta": choice.delta.value is not None,
        "numbers": numbers,
        "keys": [(c.name, numbers[c.name], c.is_control) for c in study.configurations],
        **_accuracy_parts(study, numbers, parameters.delta),
        "curves": _curves(study),
        "table": configuration_rows(study),
        "configurations": study.configurations,
        "predictors": study.predictors,
        "causes": CAUSES,
        "cause_words": CAUSE_WORDS,
        "cause_counts": count_causes(study),
        "failed": [(one, describe_failure(one)) for one in value.failed[:_SHOWN_QUESTIONS]],
        "more_failed": max(0, len(value.failed) - _SHOWN_QUESTIONS),
        "asked": len(study.questions),
    }
    return View(f"RAG study {value.stored.name}", f"assay rag show {value.stored.name}", parts)


def _control_words(study: RagStudy) -> list[str]:
    words = describe_controls(study)
    return [f"{'; '.join(words).capitalize()}."] if words else []


def _accuracy_parts(study: RagStudy, numbers: dict[str, int], wanted: float | None) -> dict[str, Any]:
    """Return accuracy against mean recall and against the robustness of a δ."""
    configurations = study.configurations
    deltas = list(configurations[0].robustness) if configurations else []
    chosen = wanted if wanted is not None else study.delta.delta.value or _DEFAULT_DELTA
    delta = min(deltas, key=lambda d: abs(d - chosen), default=_DEFAULT_DELTA)
    recall = {c.name: c.recall for c in configurations}
    robustness = {c.name: c.robustness[delta] for c in configurations}
    k = study.k
    return {
        "deltas": deltas,
        "delta": delta,
        "recall_chart": accuracy_chart(configurations, recall, f"mean recall@{k}", numbers),
        "robustness_chart": accuracy_chart(configurations, robustness, f"Robustness-{delta:g}@{k}", numbers),
        "figures": [_figures(c, delta) for c in configurations],
    }


def _figures(configuration: ConfigurationResult, delta: float) -> dict[str, Any]:
    return {"configuration": configuration, "robustness": configuration.robustness[delta]}


def _curves(study: RagStudy) -> Sequence[dict[str, Any]]:
    """Return the curve that δ is chosen by first, then the other."""
    names = {
        "true neighbours removed at random": study.removal_curve,
        "recall as the configurations had it": study.observed_curve,
    }
    return [
        {
            "name": name,
            "curve": curve,
            "chart": curve_chart(curve, study.delta if curve is study.curve else None),
            "is_used": curve is study.curve,
        }
        for name, curve in names.items()
        if curve is not None
    ]


def _read_question(context: Context, parameters: QuestionParameters) -> QuestionDetail:
    sides = (parameters.left, parameters.right)
    return read_question_detail(parameters.study, parameters.question, sides, context.store)


def _present_question(context: Context, value: QuestionDetail, parameters: QuestionParameters) -> View:
    study = value.stored.study
    relevant = set((study.relevant or {}).get(value.question.id, ()))
    parts = {
        "stored": value.stored,
        "address": f"/rag/{quote(value.stored.id, safe='')}",
        "question": value.question,
        "names": value.names,
        "numbers": number_systems(list(value.names), context.store),
        "sides": [(answer, describe_answer(answer, study.correctness)) for answer in value.sides],
        "controls": [(answer, describe_answer(answer, study.correctness)) for answer in value.controls],
        "excerpts": study.excerpts,
        "relevant": relevant,
        "truth": set(study.truth.get(value.question.id, ())),
    }
    title = f"{value.question.id} in {value.stored.name}"
    return View(title, f"assay rag show {value.stored.name} --format json", parts)


PAGES = (
    Page("/rag", "RAG", "rag.html", _read_list, _present_list, key="R"),
    Page("/rag/{study}", "", "rag_study.html", _read, _present, StudyParameters),
    Page(
        "/rag/{study}/question",
        "",
        "rag_question.html",
        _read_question,
        _present_question,
        QuestionParameters,
    ),
)
ACTIONS: tuple[Action, ...] = ()
