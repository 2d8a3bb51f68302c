"""All documents of one query judged at once: what is given, what is held, and where a rater goes on."""

import pytest

from assay.core.errors import InputError
from assay.judging.annotation.arrangement import arrange_pairs
from assay.judging.annotation.assignments import FINISHED, WAITING, NoAssignment, QueryAssignment
from assay.judging.annotation.project import ProjectPair
from assay.store.annotation import ProjectContents
from assay.store.annotation_labels import read_labels
from assay.store.annotation_queue import AnnotationQueue
from assay.store.store import Store
from tests.annotations import Clock, create_project, open_queue, project_contents, shown, shown_query


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(store: Store, clock: Clock) -> AnnotationQueue:
    """A project of six pairs of two queries, each to be judged once."""
    return open_queue(store, create_project(store, per_pair=1), clock)


def numbers(answer: QueryAssignment) -> list[int]:
    return [pair.assignment.pair for pair in answer.pairs]


def judge_query(queue: AnnotationQueue, rater: str) -> list[int]:
    """Judge one document after the other of the query that a rater is given."""
    given = numbers(shown_query(queue, rater))
    for number in given:
        queue.save_label(rater, number, 1)
    return given


def test_a_rater_gets_all_documents_of_one_query(queue: AnnotationQueue) -> None:
    answer = shown_query(queue)
    assert len({pair.assignment.query_id for pair in answer.pairs}) == 1
    assert len({pair.assignment.doc_id for pair in answer.pairs}) == 3
    assert numbers(answer) == sorted(numbers(answer))
    assert answer.current.pair == numbers(answer)[0]
    assert answer.current.document["text"] == f"all of {answer.current.doc_id}"


def test_grades_stay_beside_what_is_left(queue: AnnotationQueue) -> None:
    first, second, third = numbers(shown_query(queue))
    queue.save_label("ann", first, 2)
    queue.cannot_rate("ann", second, "no text")
    answer = shown_query(queue)
    assert numbers(answer) == [first, second, third]
    assert [(pair.grade, pair.is_unrateable) for pair in answer.pairs] == [
        (2, False),
        (None, True),
        (None, False),
    ]
    assert answer.current.pair == third


def test_the_documents_of_a_query_are_held_for_one_rater(queue: AnnotationQueue) -> None:
    ann, bob = judge_query(queue, "ann"), numbers(shown_query(queue, "bob"))
    assert set(ann).isdisjoint(bob)
    waiting = queue.query_assignment("cy")
    assert isinstance(waiting, NoAssignment)
    assert waiting.reason == WAITING
    for number in bob:
        queue.save_label("bob", number, 0)
    assert queue.query_assignment("cy") == NoAssignment(FINISHED)


def test_what_is_held_too_long_goes_to_others_and_late_labels_are_refused(
    queue: AnnotationQueue, clock: Clock
) -> None:
    first, *others = numbers(shown_query(queue, "ann"))
    queue.save_label("ann", first, 1)
    clock.wait(31 * 60)
    assert judge_query(queue, "bob") == others
    with pytest.raises(InputError, match="given to others after 30 minutes"):
        queue.save_label("ann", others[0], 2)
    assert set(numbers(shown_query(queue, "ann"))).isdisjoint(others)
    with queue.database.read_transaction() as connection:
        labels = read_labels(connection, queue.project)
    assert [(label.rater, label.pair) for label in labels] == [("ann", first), *(("bob", n) for n in others)]


def test_a_label_that_was_taken_back_is_current_and_the_others_stay_held(
    queue: AnnotationQueue, clock: Clock
) -> None:
    given = numbers(shown_query(queue))
    queue.save_label("ann", given[1], 1)
    assert shown_query(queue, after=given[1]).current.pair == given[2]
    clock.wait(1)
    assert queue.undo("ann") == given[1]
    clock.wait(1)
    assert set(numbers(shown_query(queue, "bob"))).isdisjoint(given)
    answer = shown_query(queue)
    assert (answer.current.pair, numbers(answer)) == (given[1], given)


def test_a_label_of_the_query_before_can_be_taken_back(queue: AnnotationQueue, clock: Clock) -> None:
    first = judge_query(queue, "ann")
    second = numbers(shown_query(queue))
    clock.wait(1)
    queue.undo("ann")
    answer = shown_query(queue)
    assert (answer.current.pair, numbers(answer)) == (first[-1], first)
    queue.save_label("ann", first[-1], 0)
    assert numbers(shown_query(queue, after=first[-1])) == second


def test_a_rater_goes_on_after_the_pair_that_was_judged_and_then_from_the_beginning(
    queue: AnnotationQueue,
) -> None:
    first, second, third = numbers(shown_query(queue))
    assert shown_query(queue, after=first).current.pair == second
    queue.save_label("ann", third, 1)
    assert shown_query(queue, after=third).current.pair == first


def test_documents_set_aside_come_back_together_at_the_end(queue: AnnotationQueue) -> None:
    first, second, third = numbers(shown_query(queue))
    queue.later("ann", first)
    queue.later("ann", second)
    assert numbers(shown_query(queue)) == [third]
    queue.save_label("ann", third, 1)
    assert set(judge_query(queue, "ann")).isdisjoint([first, second, third])
    answer = shown_query(queue)
    assert numbers(answer) == [first, second, third]
    assert not any(pair.is_judged for pair in answer.pairs[:2])


def test_a_skipped_document_is_left_to_others(queue: AnnotationQueue) -> None:
    first, *others = numbers(shown_query(queue))
    queue.skip("ann", first)
    assert numbers(shown_query(queue)) == others
    assert first in numbers(shown_query(queue, "bob")) + numbers(shown_query(queue, "cy"))


def test_pairs_one_by_one_go_on_with_those_that_are_held(queue: AnnotationQueue) -> None:
    given = numbers(shown_query(queue))
    one_by_one = []
    for _ in given:
        one_by_one.append(shown(queue).pair)
        queue.save_label("ann", one_by_one[-1], 1)
    assert one_by_one == given


def test_training_comes_alone_and_gold_questions_among_the_documents_of_their_query(store: Store) -> None:
    known = [ProjectPair("q0", f"g{n}", gold_grade=2.0) for n in range(3)]
    pairs = arrange_pairs([ProjectPair("q0", f"d{n}") for n in range(4)], known, 1, seed=0)
    queue = open_queue(store, create_project(store, ProjectContents(pairs, {}, {})))
    (training,) = shown_query(queue).pairs
    assert training.assignment.is_training
    queue.save_label("ann", training.assignment.pair, 2)
    answer = shown_query(queue)
    assert len(answer.pairs) == 4 + 2
    assert {"role", "gold_grade"}.isdisjoint(answer.pairs[0].to_dict())


def test_at_most_fifty_documents_are_held_at_once(store: Store) -> None:
    queue = open_queue(store, create_project(store, project_contents(120)))
    given = numbers(shown_query(queue))
    assert len(given) == 50
    queue.save_label("ann", given[0], 1)
    assert len(numbers(shown_query(queue))) == 51
