"""Annotation projects: which pairs of a query and a document people judge, and by which rules."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from assay.core.errors import InputError

COUNTED, GOLD, TRAINING = "counted", "gold", "training"  # what the labels of a pair are for
_GRADE = re.compile(r"\s*(-?\d+(?:\.\d+)?)(?:\s*[=:]\s*|\s+|$)(.*)")


class Grade(NamedTuple):
    """A grade that raters can give."""

    value: float
    name: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the grade."""
        return self._asdict()


def parse_grade(text: str) -> Grade:
    """Return the grade of a number and a name, such as "2 fully relevant".

    >>> parse_grade("2 fully relevant"), parse_grade("0=no")
    (Grade(value=2.0, name='fully relevant'), Grade(value=0.0, name='no'))
    """
    match = _GRADE.fullmatch(text)
    if match is None:
        raise InputError(f"a grade is a number and a name, such as '2 relevant', found {text!r}")
    return Grade(float(match[1]), match[2].strip())


class ProjectPair(NamedTuple):
    """A pair of a query and a document to judge, at its place in the shuffled order."""

    query_id: str
    doc_id: str
    role: str = COUNTED
    gold_grade: float | None = None  # the known answer of a gold question or of a training pair
    gold_note: str = ""  # why it is the answer
    inclusion_probability: float | None = None  # of the pair in its pool


@dataclass(frozen=True)
class AnnotationProject:
    """A project of annotation: guidelines, grades, how many people judge each pair, and gold questions."""

    name: str
    grades: tuple[Grade, ...]
    per_pair: int = 2  # judgments of each pair
    guidelines: str = ""
    seed: int = 0  # of the order of the pairs
    lease_minutes: float = 30.0  # after which a pair that was shown and not judged is free again
    gold_every: int = 10  # one gold question among so many pairs
    gold_accuracy: float = 0.7  # the share of right answers below which a rater is paused
    gold_least: int = 5  # answers to gold questions before a rater can be paused
    gold_tolerance: float = 0.0  # how far from the known grade an answer may be
    counts: Mapping[str, int] = field(default_factory=dict)  # pairs by role
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    tags: tuple[str, ...] = ()
    note: str = ""
    pinned: bool = False
    deleted_at: datetime | None = None
    id: str = ""  # assigned by the store

    def __post_init__(self) -> None:
        if not self.name.strip() or "@" in self.name or ":" in self.name:
            raise InputError(f"a project expects a name without @ and :, found {self.name!r}")
        values = [grade.value for grade in self.grades]
        if len(set(values)) < 2 or len(set(values)) < len(values):
            listed = ", ".join(f"{value:g}" for value in values) or "none"
            raise InputError(f"a project expects at least two different grades, found {listed}")
        for name, (least, most) in _LIMITS.items():
            value = getattr(self, name)
            if not least <= value <= most or not math.isfinite(value):
                bound = f"at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
                raise InputError(f"{name.replace('_', ' ')} must be {bound}, found {value:g}")

    def check_grade(self, value: float) -> Grade:
        """Return the grade with this number; InputError if raters cannot give it."""
        for grade in self.grades:
            if grade.value == value:
                return grade
        raise InputError(f"project {self.name} has the grades {self.describe_grades()}, found {value:g}")

    def describe_grades(self) -> str:
        """Return the grades with their names, as `--grades` takes them."""
        return ", ".join(f"{grade.value:g} {grade.name}".strip() for grade in self.grades)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the project."""
        times = {"at": self.at.isoformat(), "deleted_at": self.deleted_at and self.deleted_at.isoformat()}
        return {"id": self.id, **vars(self), **times, "grades": [grade.to_dict() for grade in self.grades]}


_LIMITS = {
    "per_pair": (1, 1000),
    "lease_minutes": (0.1, 60 * 24 * 30),
    "gold_every": (2, 10_000),
    "gold_accuracy": (0, 1),
    "gold_least": (1, 10_000),
    "gold_tolerance": (0, math.inf),
}


def default_keys(grades: Sequence[Grade]) -> dict[str, Grade]:
    """Return a key for each grade: its own digit, or its place if a grade has no single digit.

    >>> [list(default_keys([Grade(low, ""), Grade(5, "")])) for low in (0, -1)]
    [['0', '5'], ['1', '2']]
    """
    own = [f"{grade.value:g}" for grade in grades]
    if all(len(key) == 1 for key in own):
        return dict(zip(own, grades, strict=True))
    places = "123456789abdefhijknortvwxyz"  # without the keys of commands
    if len(grades) > len(places):
        raise InputError(f"at most {len(places)} grades can be given by key, found {len(grades)}")
    return dict(zip(places, grades, strict=False))
