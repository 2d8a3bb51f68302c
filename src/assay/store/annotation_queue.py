"""The queue of an annotation project: which pair a rater judges next, and what raters said.

Every method is one transaction that holds the project: of several raters, one at a time changes it. A pair
that is shown is held for its rater until a time; judged and held together never exceed the quota.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, exists, func, insert, select

from assay.core.errors import InputError
from assay.core.suggestions import did_you_mean
from assay.judging.annotation.arrangement import gold_order, is_gold_due
from assay.judging.annotation.assignments import (
    CLOSED,
    EXHAUSTED,
    FINISHED,
    PAUSED,
    WAITING,
    Assignment,
    NoAssignment,
    QueryAssignment,
    QueryPair,
    SavedLabel,
)
from assay.judging.annotation.project import COUNTED, GOLD, TRAINING, AnnotationProject
from assay.store.annotation_rows import (
    LABELLED,
    LATER,
    OPEN,
    SKIPPED,
    append_label,
    check_rater,
    count_gold,
    from_microseconds,
    known_numbers,
    known_states,
    place_label,
    refresh_fullness,
    to_microseconds,
    used_places,
)
from assay.store.annotation_shown import hold_pairs, read_assignments
from assay.store.database import Database
from assay.store.schema import (
    annotation_assignments,
    annotation_labels,
    annotation_pairs,
    annotation_projects,
    annotation_raters,
)

_pairs, _assignments, _labels = annotation_pairs.c, annotation_assignments.c, annotation_labels.c

_MOST_AT_ONCE = 50  # pairs of one query that are held for a rater, and as many that are judged


def _utc_now() -> datetime:
    return datetime.now(UTC)


class AnnotationQueue:
    """The pairs of a project as one rater after the other gets and judges them."""

    def __init__(
        self, database: Database, project: AnnotationProject, clock: Callable[[], datetime] = _utc_now
    ) -> None:
        self.database, self.project, self.clock = database, project, clock

    @contextmanager
    def _transaction(self, rater: str) -> Iterator[_Turn]:
        check_rater(rater)
        with self.database.write_transaction() as connection:
            yield _Turn(connection, self.project, rater, to_microseconds(self.clock()))

    def next_assignment(self, rater: str) -> Assignment | NoAssignment:
        """Return the pair that the rater judges next: the one shown last if it was not judged yet."""
        with self._transaction(rater) as turn:
            refusal = turn.refusal()
            if refusal is not None:
                return refusal
            number = turn.choose()
            return turn.missing_reason() if number is None else turn.show(number)

    def query_assignment(self, rater: str, after: int | None = None) -> QueryAssignment | NoAssignment:
        """Return the pairs of one query that the rater judges at once, with those that it has judged.

        The query is that of the next pair. All its free pairs are held for the rater; the current one is
        the first that is not judged after the pair `after`, if that is of the same query.
        """
        with self._transaction(rater) as turn:
            refusal = turn.refusal()
            if refusal is not None:
                return refusal
            number = turn.choose()
            return turn.missing_reason() if number is None else turn.show_query(number, after)

    def save_label(self, rater: str, pair: int, grade: float, note: str = "") -> SavedLabel:
        """Save the grade of a pair that the rater was given; a later one takes the place of the earlier."""
        self.project.check_grade(grade)
        with self._transaction(rater) as turn:
            return turn.judge(pair, "grade", grade, note)

    def cannot_rate(self, rater: str, pair: int, reason: str) -> SavedLabel:
        """Save that the rater cannot rate a pair, and why; it counts as one of its judgments."""
        if not reason.strip():
            raise InputError("expected the reason why the pair cannot be rated, found none")
        with self._transaction(rater) as turn:
            return turn.judge(pair, "cannot_rate", None, reason.strip())

    def skip(self, rater: str, pair: int, note: str = "") -> None:
        """Leave a pair to others: the rater is not given it again."""
        with self._transaction(rater) as turn:
            turn.set_aside(pair, "skip", SKIPPED, note)

    def later(self, rater: str, pair: int) -> None:
        """Set a pair aside: the rater is given it again after all others, if nobody else judged it."""
        with self._transaction(rater) as turn:
            turn.set_aside(pair, "later", LATER, "")

    def undo(self, rater: str) -> int:
        """Take back what the rater did last; the next assignment is that pair. Returns its number."""
        with self._transaction(rater) as turn:
            return turn.undo()

    def release(self, rater: str) -> None:
        """Let others have the pair that the rater was shown and did not judge."""
        with self._transaction(rater) as turn:
            turn.release()

    def count_labels(self, rater: str) -> tuple[int, int]:
        """Return how many pairs a rater judged, and the number of counted labels of all raters.

        Gold questions count among the pairs of the rater, who could tell them by a number that stays.
        """
        is_labelled = (_assignments.record == self.project.id) & (_assignments.state == LABELLED)
        of_all = select(func.count()).where(is_labelled)
        with self.database.read_transaction() as connection:
            own = connection.execute(of_all.where(_assignments.rater == rater)).scalar_one()
            total = connection.execute(of_all).scalar_one()
            for role in (GOLD, TRAINING):
                numbers = select(_pairs.number).where(_pairs.record == self.project.id, _pairs.role == role)
                total -= connection.execute(of_all.where(_assignments.pair.in_(numbers))).scalar_one()
            training = known_states(connection, self.project, TRAINING, rater).values()
        return own - sum(state.state == LABELLED for state in training), total

    def resume(self, rater: str) -> None:
        """Let a rater go on who was paused; answers to gold questions before now no longer pause."""
        with self._transaction(rater) as turn:
            owner = (annotation_raters.c.record == self.project.id) & (annotation_raters.c.rater == rater)
            turn.check_known()
            turn.connection.execute(delete(annotation_raters).where(owner))
            row = {"record": self.project.id, "rater": rater, "resumed_at": turn.now}
            turn.connection.execute(insert(annotation_raters).values(row))


class _Turn:
    """One transaction of one rater, which holds the project."""

    def __init__(self, connection: Connection, project: AnnotationProject, rater: str, now: int) -> None:
        self.connection, self.project, self.rater, self.now = connection, project, rater, now
        owner = annotation_projects.c.record == project.id
        lock = select(annotation_projects.c.closed_at).where(owner).with_for_update()
        self.is_closed = connection.execute(lock).scalar_one() is not None

    def check_known(self) -> None:
        """Refuse a rater who was never shown a pair: the name is perhaps mistyped."""
        of_all = select(_assignments.rater).where(_assignments.record == self.project.id).distinct()
        raters = sorted(self.connection.execute(of_all).scalars())
        if self.rater not in raters:
            names = did_you_mean(self.rater, raters) or f"there are {', '.join(raters) or 'none'}"
            raise InputError(f"project {self.project.name} has no rater {self.rater!r}; {names}")

    def refusal(self) -> NoAssignment | None:
        """Return why the rater gets nothing at all; None if nothing stands against it."""
        if self.is_closed:
            return NoAssignment(CLOSED)
        gold = count_gold(self.connection, self.project, self.rater)
        if gold.is_too_low(self.project):
            return NoAssignment(PAUSED, gold_judged=gold.judged, gold_right=gold.right)
        return None

    def choose(self) -> int | None:
        """Return the number of the pair to judge next, None if there is none."""
        number = self._open_pair()
        if number is None:
            counted = _first(self._counted_pairs())
            number = None if counted is None else _first(chain(self._known_pairs(), (counted,)))
        return number

    def _counted_pairs(self) -> Iterator[int | None]:
        yield self._fresh_pair(after=self._last_number())
        yield self._fresh_pair(after=-1)
        yield self._later_pair()

    def _known_pairs(self) -> Iterator[int | None]:
        """Yield what comes before the next counted pair: training, or a gold question if one is due."""
        yield self._known_pair(TRAINING)
        yield self._training_for_later()
        if self._is_gold_due():
            yield self._known_pair(GOLD)

    def _own(self, *states: str) -> ColumnElement[bool]:
        """Which assignments are of the rater, and in one of the states if any is named."""
        own = (_assignments.record == self.project.id) & (_assignments.rater == self.rater)
        return own & _assignments.state.in_(states) if states else own

    def _is_pair(self, number: int) -> ColumnElement[bool]:
        return (_pairs.record == self.project.id) & (_pairs.number == number)

    def _scalar(self, query: Select[Any]) -> Any:
        return self.connection.execute(query.limit(1)).scalar()

    def _open_pair(self) -> int | None:
        """Return the pair that was shown last of those that are not judged, unless others have taken it."""
        used = used_places(self.project.id, _pairs.number, self.now, self.rater).scalar_subquery()
        query = (
            select(_pairs.number)
            .join(annotation_assignments, _joins_pair())
            .where(self._own(OPEN), (_pairs.role != COUNTED) | (used < self.project.per_pair))
            .order_by(_assignments.shown_at.desc(), _pairs.number)
        )
        return self._scalar(query)  # type: ignore[no-any-return]

    def _has_room(self, number: int) -> bool:
        """Return whether a label of this rater for a pair does not exceed the quota."""
        role = self._scalar(select(_pairs.role).where(self._is_pair(number)))
        used = self._scalar(used_places(self.project.id, number, self.now, except_rater=self.rater))
        return role != COUNTED or int(used) < self.project.per_pair

    def _known_pair(self, role: str) -> int | None:
        """Return a training pair or a gold question that the rater has not had."""
        states = known_states(self.connection, self.project, role, self.rater)
        numbers = [n for n in known_numbers(self.connection, self.project, role) if n not in states]
        return next(iter(gold_order(self.project, self.rater, numbers)), None)

    def _training_for_later(self) -> int | None:
        """Return a training pair that the rater has set aside."""
        states = known_states(self.connection, self.project, TRAINING, self.rater)
        numbers = [number for number, state in states.items() if state.state == LATER]
        return next(iter(gold_order(self.project, self.rater, numbers)), None)

    def _numbers(self, role: str, condition: ColumnElement[bool]) -> list[int]:
        query = select(_pairs.number).where(_pairs.record == self.project.id, _pairs.role == role, condition)
        return list(self.connection.execute(query).scalars())

    def _is_gold_due(self) -> bool:
        judged = int(self._scalar(select(func.count()).where(self._own(LABELLED, SKIPPED))))
        gold, training = (
            sum(
                state.state in (LABELLED, SKIPPED)
                for state in known_states(self.connection, self.project, role, self.rater).values()
            )
            for role in (GOLD, TRAINING)
        )
        return is_gold_due(self.project, self.rater, judged - gold - training, gold)

    def _last_number(self) -> int:
        """Return the number of the last counted pair that the rater has had, −1 if there is none."""
        known = select(_pairs.number).where(_pairs.record == self.project.id, _pairs.role != COUNTED)
        query = select(_assignments.pair).where(self._own(), _assignments.pair.not_in(known))
        number = self._scalar(query.order_by(_assignments.pair.desc()))
        return -1 if number is None else int(number)

    def _fresh_pair(self, after: int) -> int | None:
        """Return the first pair that the rater has not had and that has room."""
        own = exists().where(self._own(), _assignments.pair == _pairs.number)
        query = self._pairs_with_room().where(_pairs.number > after, ~own).order_by(_pairs.number)
        return self._scalar(query)  # type: ignore[no-any-return]

    def _later_pair(self) -> int | None:
        query = (
            self._pairs_with_room()
            .join(annotation_assignments, _joins_pair())
            .where(self._own(LATER))
            .order_by(_assignments.label)
        )
        return self._scalar(query)  # type: ignore[no-any-return]

    def _pairs_with_room(self) -> Select[tuple[int]]:
        return select(_pairs.number).where(_pairs.record == self.project.id, self._counts_and_has_room())

    def _counts_and_has_room(self) -> ColumnElement[bool]:
        """Which pairs are counted and lack a judgment that nobody is about to give."""
        used = used_places(self.project.id, _pairs.number, self.now, self.rater).scalar_subquery()
        return (_pairs.role == COUNTED) & _pairs.is_full.is_(False) & (used < self.project.per_pair)

    def missing_reason(self) -> NoAssignment:
        """Return why there is no pair for the rater."""
        pending = self._numbers(COUNTED, _pairs.is_full.is_(False))
        if not pending:
            return NoAssignment(FINISHED)
        own = set(
            self.connection.execute(select(_assignments.pair).where(self._own(LABELLED, SKIPPED))).scalars()
        )
        if own.issuperset(pending):
            return NoAssignment(EXHAUSTED)
        held = select(func.min(_assignments.expires_at)).where(
            _assignments.record == self.project.id,
            _assignments.state == OPEN,
            _assignments.expires_at > self.now,
        )
        free_at = self.connection.execute(held).scalar()
        return NoAssignment(WAITING, None if free_at is None else from_microseconds(free_at))

    def show(self, number: int) -> Assignment:
        """Hold a pair for the rater, and return what to read of it."""
        return self._show_all([number])[0]

    def _show_all(self, numbers: Sequence[int]) -> list[Assignment]:
        expires_at = self.now + round(self.project.lease_minutes * 60e6)
        hold_pairs(self.connection, (self.project.id, self.rater), numbers, self.now, expires_at)
        return read_assignments(self.connection, self.project.id, numbers, self.now, expires_at)

    def show_query(self, number: int, after: int | None) -> QueryAssignment:
        """Hold a pair and the free ones of its query, in the order of the project."""
        row = self.connection.execute(select(annotation_pairs).where(self._is_pair(number))).one()
        if row.role == TRAINING:
            assignment = self.show(number)
            return QueryAssignment(assignment, (QueryPair(assignment),))
        numbers = {number, *self._free_of_query(number, row.query_id)}
        free = {one.pair: one for one in self._show_all(sorted(numbers))}
        pairs = [*self._judged_of_query(row.query_id), *map(QueryPair, free.values())]
        start = after if after is not None and row.query_id == self._query_of(after) else number - 1
        current = next((pair for pair in free if pair > start), number)
        return QueryAssignment(free[current], tuple(sorted(pairs, key=lambda pair: pair.assignment.pair)))

    def _query_of(self, number: int) -> str | None:
        return self._scalar(select(_pairs.query_id).where(self._is_pair(number)))  # type: ignore[no-any-return]

    def _free_of_query(self, number: int, query_id: str) -> list[int]:
        """Return the pairs of a query that can be held; those set aside only if the pair itself is one."""
        is_later = self._own(LATER) & (_assignments.pair == number)
        had = [LABELLED, SKIPPED, LATER]
        if self.connection.execute(select(_assignments.pair).where(is_later)).first() is not None:
            had.remove(LATER)
        own = exists().where(self._own(*had), _assignments.pair == _pairs.number)
        of_query = (
            select(_pairs.number)
            .where(_pairs.record == self.project.id, _pairs.query_id == query_id, ~own)
            .where((_pairs.role == GOLD) | self._counts_and_has_room())
            .order_by(_pairs.number)
        )
        return list(self.connection.execute(of_query.limit(_MOST_AT_ONCE)).scalars())

    def _judged_of_query(self, query_id: str) -> list[QueryPair]:
        """Return the pairs of a query that the rater has judged, with their grades."""
        query = (
            select(_assignments.pair, _labels.grade, _labels.action)
            .join(annotation_labels, _is_valid_label())
            .join(annotation_pairs, _joins_pair())
            .where(self._own(LABELLED), _pairs.query_id == query_id, _pairs.role != TRAINING)
            .order_by(_labels.number.desc())
            .limit(_MOST_AT_ONCE)
        )
        rows = {row.pair: row for row in self.connection.execute(query)}
        assignments = read_assignments(self.connection, self.project.id, list(rows), self.now, self.now)
        return [QueryPair(a, rows[a.pair].grade, rows[a.pair].action != "grade") for a in assignments]

    def _assignment(self, number: int) -> Row[Any]:
        """Return the row of a pair that the rater was given; InputError if it was not, or is lost."""
        if self.is_closed:
            raise InputError(f"project {self.project.name} is closed: nothing was saved")
        own = self._own() & (_assignments.pair == number)
        row = self.connection.execute(select(annotation_assignments).where(own)).first()
        if row is None:
            raise InputError(f"pair {number} was not given to {self.rater}: ask for the next pair first")
        if row.state != LABELLED and not self._has_room(number):
            raise InputError(
                f"pair {number} was given to others after {self.project.lease_minutes:g} minutes, and has "
                f"its {self.project.per_pair} judgments: nothing was saved; go on with the next pair"
            )
        return row

    def judge(self, number: int, action: str, grade: float | None, note: str) -> SavedLabel:
        """Append a label, and make it the valid one of the rater for the pair."""
        row = self._assignment(number)
        label = append_label(
            self.connection,
            record=self.project.id,
            pair=number,
            rater=self.rater,
            action=action,
            grade=grade,
            note=note,
            shown_at=row.shown_at,
            at=self.now,
        )
        place_label(self.connection, (self.project.id, number, self.rater), state=LABELLED, label=label)
        refresh_fullness(self.connection, self.project, number)
        pair = self.connection.execute(select(annotation_pairs).where(self._is_pair(number))).one()
        answer = (pair.gold_grade, pair.gold_note) if pair.role == TRAINING else (None, "")
        return SavedLabel(number, pair.query_id, pair.doc_id, label, from_microseconds(self.now), *answer)

    def set_aside(self, number: int, action: str, state: str, note: str) -> None:
        """Record that the rater does not judge a pair, or not now."""
        row = self._assignment(number)
        if row.state == LABELLED:
            raise InputError(f"{self.rater} has judged pair {number}: undo that first")
        label = self._append(number, action, row.shown_at, note)
        place_label(self.connection, (self.project.id, number, self.rater), state=state, label=label)

    def _append(self, number: int, action: str, shown_at: int | None, note: str = "") -> int:
        values = {"record": self.project.id, "pair": number, "rater": self.rater, "action": action}
        return append_label(self.connection, **values, grade=None, note=note, shown_at=shown_at, at=self.now)

    def undo(self) -> int:
        """Take back the last action of the rater."""
        query = (
            select(_assignments.pair)
            .join(annotation_labels, _is_valid_label())
            .where(self._own(LABELLED, SKIPPED, LATER), _labels.source == "")
            .order_by(_labels.number.desc())
        )
        number = self._scalar(query)
        if number is None:
            raise InputError(
                f"{self.rater} has done nothing in project {self.project.name} that can be undone"
            )
        row = self._assignment(number)
        self._append(number, "undo", None)
        self.show(number)
        if row.state == LABELLED:
            refresh_fullness(self.connection, self.project, number)
        return int(number)

    def release(self) -> None:
        """Remove the assignments of the rater that were not judged."""
        self.connection.execute(delete(annotation_assignments).where(self._own(OPEN)))


def _first(numbers: Iterable[int | None]) -> int | None:
    return next((number for number in numbers if number is not None), None)


def _is_valid_label() -> ColumnElement[bool]:
    return (_labels.record == _assignments.record) & (_labels.number == _assignments.label)


def _joins_pair() -> ColumnElement[bool]:
    return (_assignments.record == _pairs.record) & (_assignments.pair == _pairs.number)
