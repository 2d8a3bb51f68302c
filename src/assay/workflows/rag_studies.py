"""Saved studies of answers against retrieval: save one, list them, and read one with its questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.core.errors import InputError
from assay.rag.answers import Answer
from assay.rag.contexts import CLOSED_BOOK, EXACT, PLACEHOLDERS
from assay.rag.failures import FailedQuestion, count_causes, failed_questions
from assay.rag.questions import Question
from assay.rag.study import RagStudy
from assay.rag.study_file import read_study
from assay.store.rag_studies import RagStudies, StoredStudy
from assay.store.store import Store
from assay.workflows.recording import SavedExperiment
from assay.workflows.store_location import store_url
from assay.workflows.stores import check_store, open_existing_store

_MOST_STUDIES = 50  # in the list


def check_study_saving(name: str, store: str | None) -> None:
    """Refuse a name or a store that a study cannot be saved under, before anything is paid."""
    if not name.strip():
        raise InputError("--save expects a name, found none")
    check_store(store_url(store))


def save_study(study: RagStudy, name: str, store: str | None) -> SavedExperiment:
    """Save a study in the store."""
    with Store(store_url(store)) as opened:
        return SavedExperiment(name, RagStudies(opened).save(name, study).id, opened.url)


def read_any_study(place: str, store: str | None = None) -> RagStudy:
    """Return the study of a file, or the one that is saved under a name or an id."""
    if Path(place).exists():
        return read_study(place)
    try:
        with open_existing_store(store) as opened:
            return RagStudies(opened).get(place).study
    except InputError as error:
        raise InputError(f"{place} is no file that can be read, and no saved study: {error}") from None


@dataclass(frozen=True)
class StudyList:
    """The saved studies, the newest first."""

    studies: Sequence[StoredStudy] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the studies as plain data, without their answers."""
        return {"studies": [_summary(stored) for stored in self.studies]}


def _summary(stored: StoredStudy) -> dict[str, Any]:
    keys = ("settings", "delta", "predictors", "configurations")
    return {
        "id": stored.id,
        "name": stored.name,
        "at": stored.at.isoformat(),
        "questions": len(stored.body["questions"]),
        **{key: stored.body[key] for key in keys},
    }


def list_studies(store: str | None) -> StudyList:
    """Return the newest saved studies."""
    with open_existing_store(store) as opened:
        return StudyList(RagStudies(opened).find(_MOST_STUDIES))


@dataclass(frozen=True)
class StudyDetail:
    """A saved study with the questions that fail."""

    stored: StoredStudy

    @property
    def study(self) -> RagStudy:
        """The study."""
        return self.stored.study

    @cached_property
    def failed(self) -> Sequence[FailedQuestion]:
        """The questions that are wrong with some configuration."""
        return failed_questions(self.study)

    def to_dict(self) -> dict[str, Any]:
        """Return the study as plain data, with why its questions fail."""
        return {
            "id": self.stored.id,
            "name": self.stored.name,
            "at": self.stored.at.isoformat(),
            **self.study.result_dict(),
            "causes": count_causes(self.study),
            "failed_questions": [question.to_dict() for question in self.failed],
        }


def read_study_detail(name: str, store: str | None) -> StudyDetail:
    """Return a saved study by its id or name."""
    with open_existing_store(store) as opened:
        return StudyDetail(RagStudies(opened).get(name))


@dataclass(frozen=True)
class QuestionDetail:
    """One question of a study: its answers with two configurations, and without documents."""

    stored: StoredStudy
    question: Question
    sides: Sequence[Answer]
    controls: Sequence[Answer]
    names: Sequence[str]  # configurations that it was asked with

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return {
            "study": self.stored.id,
            "question": self.question.id,
            "text": self.question.text,
            "answers": list(self.question.answers),
            "sides": [answer.to_dict() for answer in self.sides],
            "controls": [answer.to_dict() for answer in self.controls],
            "configurations": list(self.names),
        }


def read_question_detail(
    name: str, question: str, sides: tuple[str, str], store: str | None
) -> QuestionDetail:
    """Return a question with its answers by two configurations; empty names: those that differ, if any."""
    stored = read_study_detail(name, store).stored
    study = stored.study
    found = next((one for one in study.questions if one.id == question), None)
    if found is None:
        raise InputError(f"the study {stored.name!r} has no question {question!r}")
    based = {(a.configuration, a.question_id): a for a in study.based_answers}
    answers = {n: based[n, question] for n in study.families if (n, question) in based}
    unknown = [side for side in sides if side and side not in answers]
    if unknown:
        raise InputError(f"expected a configuration, one of {', '.join(answers)}; found {unknown[0]!r}")
    chosen = [answers[side] for side in _choose_sides(sides, list(answers.values()), study.correctness)]
    controls = [based[c, question] for c in (CLOSED_BOOK, PLACEHOLDERS) if (c, question) in based]
    return QuestionDetail(stored, found, chosen, controls, list(answers))


def _choose_sides(sides: tuple[str, str], answers: Sequence[Answer], correctness: str) -> list[str]:
    """Return the names of two configurations: those asked for, else a wrong one and a right one."""
    if not answers:
        return []
    ordered = sorted(answers, key=lambda a: (a.configuration == EXACT, a.correctness(correctness) or 0.0))
    wrong = min(ordered, key=lambda a: a.correctness(correctness) or 0.0)
    right = max(ordered, key=lambda a: (a.correctness(correctness) or 0.0, a is not wrong))
    return [sides[0] or wrong.configuration, sides[1] or right.configuration]
