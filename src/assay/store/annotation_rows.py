"""The rows of assignments and labels: what each statement of the queue of a project shares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, func, insert, or_, select, update

from assay.core.errors import InputError
from assay.judging.annotation.progress import is_right_answer
from assay.judging.annotation.project import COUNTED, GOLD, AnnotationProject
from assay.store.records import BATCH_SIZE
from assay.store.schema import (
    annotation_assignments,
    annotation_labels,
    annotation_pairs,
    annotation_raters,
)

OPEN, LABELLED, SKIPPED, LATER = "open", "labelled", "skipped", "later"  # states of an assignment
_MAX_RATER_CHARACTERS = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_pairs, _assignments, _labels = annotation_pairs.c, annotation_assignments.c, annotation_labels.c


class GoldCount(NamedTuple):
    """How many gold questions a rater answered, and how many of them right."""

    judged: int
    right: int

    def is_too_low(self, project: AnnotationProject) -> bool:
        """Return whether the rater is paused.

                >>> from assay.judging.annotation.project import parse_grade
        >>> grades = (parse_grade("0 no"), parse_grade("1 yes"))
        >>> project = AnnotationProject("p", grades, gold_least=2, gold_accuracy=0.7)
        >>> [GoldCount(*count).is_too_low(project) for count in [(1, 0), (2, 1), (4, 3)]]
                [False, True, False]
        """
        is_enough = self.judged >= project.gold_least
        return is_enough and self.right / self.judged < project.gold_accuracy - 1e-9


def to_microseconds(at: datetime) -> int:
    """Return a time in microseconds since 1970."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def from_microseconds(microseconds: int) -> datetime:
    """Return the time of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)


def check_rater(rater: str) -> None:
    """Raise InputError if a text is not the name of a rater."""
    if not rater.strip() or len(rater) > _MAX_RATER_CHARACTERS or not rater.isprintable():
        raise InputError(f"expected the name of a rater, found {rater[:40]!r}")


def used_places(record_id: str, pair: int | ColumnElement[int], now: int, except_rater: str) -> Select[Any]:
    """Return the query that counts the labels of a pair and those that other raters are about to give."""
    others = annotation_assignments.alias("others").c
    is_held = (others.state == OPEN) & (others.expires_at > now)
    return select(func.count()).where(
        others.record == record_id,
        others.pair == pair,
        others.rater != except_rater,
        or_(others.state == LABELLED, is_held),
    )


def count_gold(connection: Connection, project: AnnotationProject, rater: str) -> GoldCount:
    """Count the answers of a rater to gold questions, since the rater was last let go on."""
    raters = annotation_raters.c
    resumed_at = connection.execute(
        select(raters.resumed_at).where(raters.record == project.id, raters.rater == rater)
    ).scalar()
    since = resumed_at or 0
    answers = [
        (label.grade, gold_grade)
        for gold_grade, label in _gold_answers(connection, project, rater)
        if label.at > since
    ]
    right = sum(is_right_answer(grade, gold, project.gold_tolerance) for grade, gold in answers)
    return GoldCount(len(answers), right)


def _gold_answers(
    connection: Connection, project: AnnotationProject, rater: str
) -> Iterator[tuple[float, Any]]:
    """Yield the known grade and the valid label of each gold question that a rater answered."""
    own = known_states(connection, project, GOLD, rater)
    labels = {
        state.label: number
        for number, state in own.items()
        if state.state == LABELLED and state.label is not None
    }
    gold = select(_pairs.number, _pairs.gold_grade).where(_pairs.record == project.id, _pairs.role == GOLD)
    grades = {row.number: row.gold_grade for row in connection.execute(gold)} if labels else {}
    for numbers in _parts(list(labels)):
        query = select(_labels.number, _labels.grade, _labels.at).where(
            _labels.record == project.id, _labels.number.in_(numbers)
        )
        for label in connection.execute(query):
            yield grades[labels[label.number]], label


class PairState(NamedTuple):
    """The state of a pair for a rater, and the number of the label."""

    state: str
    label: int | None


def known_numbers(connection: Connection, project: AnnotationProject, role: str) -> list[int]:
    """Return the numbers of the gold questions or of the training pairs."""
    query = select(_pairs.number).where(_pairs.record == project.id, _pairs.role == role)
    return list(connection.execute(query).scalars())


def known_states(
    connection: Connection, project: AnnotationProject, role: str, rater: str
) -> dict[int, PairState]:
    """Return the states of the gold questions or the training pairs that a rater has had.

    The pairs are looked up one by one: a rater may have had many thousands of others.
    """
    states: dict[int, PairState] = {}
    for numbers in _parts(known_numbers(connection, project, role)):
        query = select(_assignments.pair, _assignments.state, _assignments.label).where(
            _assignments.record == project.id, _assignments.rater == rater, _assignments.pair.in_(numbers)
        )
        states |= {row.pair: PairState(row.state, row.label) for row in connection.execute(query)}
    return states


def _parts(numbers: Sequence[int]) -> Iterable[Sequence[int]]:
    return (numbers[start : start + BATCH_SIZE] for start in range(0, len(numbers), BATCH_SIZE))


def append_label(connection: Connection, **values: Any) -> int:
    """Append a row to the history of a project, and return its number."""
    last = select(func.max(_labels.number)).where(_labels.record == values["record"])
    number = int(connection.execute(last).scalar() or 0) + 1
    if "\0" in values["note"]:
        raise InputError("the note contains a NUL character, which not every database can store: remove it")
    connection.execute(insert(annotation_labels).values(number=number, **values))
    return number


def place_label(connection: Connection, key: tuple[str, int, str], **values: Any) -> None:
    """Change the state of a pair for a rater, or create it."""
    record_id, pair, rater = key
    own = (_assignments.record == record_id) & (_assignments.pair == pair) & (_assignments.rater == rater)
    if not connection.execute(update(annotation_assignments).where(own).values(values)).rowcount:
        row = {"record": record_id, "pair": pair, "rater": rater, **values}
        connection.execute(insert(annotation_assignments).values(row))


def refresh_fullness(connection: Connection, project: AnnotationProject, number: int) -> None:
    """Write down whether a pair has all its judgments."""
    judged = select(func.count()).where(
        _assignments.record == project.id, _assignments.pair == number, _assignments.state == LABELLED
    )
    is_full = connection.execute(judged).scalar_one() >= project.per_pair
    owner = (_pairs.record == project.id) & (_pairs.number == number) & (_pairs.role == COUNTED)
    connection.execute(update(annotation_pairs).where(owner).values(is_full=is_full))
