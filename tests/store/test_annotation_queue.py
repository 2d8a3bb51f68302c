"""The queue of a project: quotas, leases, gold questions, and what raters can do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.judging.annotation.assignments import CLOSED, EXHAUSTED, FINISHED, PAUSED, WAITING, NoAssignment
from assay.store.annotation import AnnotationProjects
from assay.store.annotation_labels import read_counts, read_labels, read_progress
from assay.store.annotation_queue import AnnotationQueue
from assay.store.store import Store
from tests.annotations import Clock, create_project, judge_all, missing, open_queue, project_contents, shown


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A new store in a folder; tests/store/test_annotation_raters.py uses PostgreSQL too."""
    with Store(tmp_path / "store") as store:
        yield store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(store: Store, clock: Clock) -> AnnotationQueue:
    """A project of six pairs, each to be judged twice."""
    return open_queue(store, create_project(store), clock)


def grades(queue: AnnotationQueue) -> list[tuple[str, int, float | None]]:
    """The valid labels."""
    with queue.database.read_transaction() as connection:
        return [(label.rater, label.pair, label.grade) for label in read_labels(connection, queue.project)]


def test_a_rater_reads_the_texts_and_nothing_about_systems(queue: AnnotationQueue) -> None:
    assignment = shown(queue)
    assert assignment.query == {"text": f"what is {assignment.query_id}"}
    assert assignment.document["title"] == assignment.doc_id.upper()
    assert {"rank", "score", "system", "role", "gold_grade"}.isdisjoint(assignment.to_dict())


def test_a_pair_is_given_until_it_has_its_judgments(queue: AnnotationQueue) -> None:
    first, second = judge_all(queue, "ann"), judge_all(queue, "bob")
    assert first == second == sorted(first)
    assert len(first) == 6
    assert missing(queue, "cy") == FINISHED


def test_a_rater_never_gets_a_pair_twice(queue: AnnotationQueue) -> None:
    assert len(set(judge_all(queue, "ann"))) == 6
    assert missing(queue) == EXHAUSTED


def test_the_pair_that_was_shown_last_is_shown_again(queue: AnnotationQueue) -> None:
    assert shown(queue).pair == shown(queue).pair


def test_a_pair_that_is_being_judged_counts_toward_the_quota(store: Store, clock: Clock) -> None:
    queue = open_queue(store, create_project(store, project_contents(1), per_pair=1), clock)
    shown(queue, "ann")
    waiting = queue.next_assignment("bob")
    assert isinstance(waiting, NoAssignment)
    assert (waiting.reason, waiting.free_at) == (WAITING, shown(queue, "ann").expires_at)


def test_a_rater_who_goes_away_releases_the_pair(store: Store, clock: Clock) -> None:
    queue = open_queue(store, create_project(store, project_contents(1), per_pair=1), clock)
    pair = shown(queue, "ann").pair
    clock.wait(31 * 60)
    assert shown(queue, "bob").pair == pair
    queue.save_label("bob", pair, 2)
    with pytest.raises(InputError, match=r"given to others after 30 minutes.* nothing was saved"):
        queue.save_label("ann", pair, 1)
    assert grades(queue) == [("bob", pair, 2)]


def test_a_late_label_counts_if_there_is_still_room(queue: AnnotationQueue, clock: Clock) -> None:
    pair = shown(queue).pair
    clock.wait(1e6)
    queue.save_label("ann", pair, 1)
    assert grades(queue) == [("ann", pair, 1)]


def test_leaving_releases_the_pair_at_once(store: Store) -> None:
    queue = open_queue(store, create_project(store, project_contents(1), per_pair=1))
    released = shown(queue, "ann").pair
    queue.release("ann")
    assert shown(queue, "bob").pair == released


def test_a_skipped_pair_does_not_come_back(queue: AnnotationQueue) -> None:
    skipped = shown(queue).pair
    queue.skip("ann", skipped)
    assert skipped not in judge_all(queue, "ann")
    assert skipped in judge_all(queue, "bob")


def test_a_pair_for_later_comes_last(queue: AnnotationQueue) -> None:
    first = shown(queue).pair
    queue.later("ann", first)
    assert judge_all(queue, "ann")[-1] == first


def test_a_pair_that_cannot_be_rated_counts_with_its_reason(queue: AnnotationQueue) -> None:
    pair = shown(queue).pair
    with pytest.raises(InputError, match="expected the reason"):
        queue.cannot_rate("ann", pair, " ")
    queue.cannot_rate("ann", pair, "the text is cut")
    assert grades(queue) == [("ann", pair, None)]
    with queue.database.read_transaction() as connection:
        assert read_labels(connection, queue.project)[0].note == "the text is cut"


def test_the_last_label_is_valid_and_the_history_is_kept(queue: AnnotationQueue) -> None:
    pair = shown(queue).pair
    numbers = [queue.save_label("ann", pair, grade).number for grade in (0, 2)]
    assert numbers == [1, 2]
    assert grades(queue) == [("ann", pair, 2)]


def test_undo_gives_the_pair_back(queue: AnnotationQueue) -> None:
    first = shown(queue).pair
    queue.save_label("ann", first, 1)
    second = shown(queue).pair
    assert queue.undo("ann") == first
    assert grades(queue) == []
    assert shown(queue).pair == first
    queue.save_label("ann", first, 2)
    assert shown(queue).pair == second


def test_undo_goes_back_step_by_step(queue: AnnotationQueue) -> None:
    pairs = []
    for action in (queue.skip, queue.later):
        pairs.append(shown(queue).pair)
        action("ann", pairs[-1])
    assert [queue.undo("ann"), queue.undo("ann")] == pairs[::-1]
    with pytest.raises(InputError, match=r"nothing .* that can be undone"):
        queue.undo("ann")


def test_a_full_pair_is_open_again_after_undo(queue: AnnotationQueue) -> None:
    judge_all(queue, "ann")
    judge_all(queue, "bob")
    undone = queue.undo("bob")
    assert missing(queue, "cy") == WAITING  # it is held for the rater who took the label back
    queue.release("bob")
    assert shown(queue, "cy").pair == undone


def test_a_grade_or_a_pair_that_is_not_there_is_refused(queue: AnnotationQueue) -> None:
    with pytest.raises(InputError, match="has the grades 0 no, 1 partly, 2 yes, found 7"):
        queue.save_label("ann", 0, 7)
    with pytest.raises(InputError, match="pair 3 was not given to ann"):
        queue.save_label("ann", 3, 1)
    with pytest.raises(InputError, match="expected the name of a rater"):
        queue.next_assignment(" ")


def test_a_closed_project_takes_no_label(store: Store, queue: AnnotationQueue) -> None:
    pair = shown(queue).pair
    AnnotationProjects(store).set_closed(queue.project, True)
    assert missing(queue) == CLOSED
    with pytest.raises(InputError, match="project shop is closed: nothing was saved"):
        queue.save_label("ann", pair, 1)
    AnnotationProjects(store).set_closed(queue.project, False)
    queue.save_label("ann", pair, 1)


def test_training_comes_first_shows_the_answer_and_is_not_counted(store: Store) -> None:
    project = create_project(store, project_contents(3, gold=2, training=2), per_pair=1)
    queue = open_queue(store, project)
    for _ in range(2):
        assignment = shown(queue)
        assert assignment.is_training
        saved = queue.save_label("ann", assignment.pair, 0)
        assert (saved.answer, saved.answer_note) == (2, "it answers")
    assert not shown(queue).is_training
    assert queue.save_label("ann", shown(queue).pair, 0).answer is None
    assert read_progress(store.database, project).labels == 1


def test_every_rater_gets_gold_questions_among_the_pairs(store: Store) -> None:
    project = create_project(store, project_contents(12, gold=3), gold_every=5)
    queue = open_queue(store, project)
    orders = [judge_all(queue, rater, [2.0]) for rater in ("ann", "bob")]
    assert all(len(order) == 15 for order in orders)
    assert orders[0] != orders[1]
    progress = read_progress(store.database, project)
    assert [(rater.gold.value, rater.gold.n) for rater in progress.raters] == [(1.0, 3), (1.0, 3)]
    assert (progress.labels, progress.full_pairs) == (24, 12)


def test_labels_are_counted_as_in_the_progress_without_being_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = create_project(store, project_contents(12, gold=3), gold_every=5)
    judge_all(open_queue(store, project), "ann", [2.0])
    progress = read_progress(store.database, project).to_dict()
    monkeypatch.setattr("assay.store.annotation_labels.read_labels", None)
    counts = read_counts(store.database, project).to_dict()
    assert (counts["labels"], counts["wanted"], counts["full_pairs"]) == (12, 24, 0)
    assert counts == {name: progress[name] for name in counts}


def test_wrong_answers_to_gold_questions_pause_a_rater(store: Store) -> None:
    project = create_project(store, project_contents(40, gold=10), gold_every=4, gold_least=3)
    queue = open_queue(store, project)
    judged = judge_all(queue, "ann", [0.0])
    assert len(judged) < 15
    refusal = queue.next_assignment("ann")
    assert refusal == NoAssignment(PAUSED, gold_judged=3, gold_right=0)
    assert read_progress(store.database, project).raters[0].is_paused
    queue.resume("ann")
    shown(queue)


def test_the_order_follows_from_the_seed() -> None:
    orders = [project_contents(20, seed=seed).pairs for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
