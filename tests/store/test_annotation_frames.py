"""The labels of a project as columns: the same as the rows, whatever raters do between two calls."""

import random
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from assay.judging.annotation.project import COUNTED, AnnotationProject
from assay.store import annotation_frames, annotation_labels
from assay.store.annotation_frames import find_label_state, read_label_frame, read_label_state
from assay.store.annotation_labels import read_labels, read_overview, read_progress
from assay.store.annotation_queue import AnnotationQueue
from assay.store.store import Store
from tests.annotations import Clock, create_project, judge_all, open_queue, project_contents, shown


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as store:
        yield store


def rows(store: Store, project: AnnotationProject) -> list[tuple[Any, ...]]:
    """The valid labels row by row."""
    with store.database.read_transaction() as connection:
        return [tuple(row) for row in read_labels(connection, project)]


def columns(store: Store, project: AnnotationProject) -> list[tuple[Any, ...]]:
    """The valid labels as columns."""
    names = ("pair", "query_id", "doc_id", "role", "gold_grade", "rater", "grade", "note", "source")
    with store.database.read_transaction() as connection:
        frame = read_label_frame(connection, find_label_state(connection, store.database, project))
    return frame.select(*names, "shown_at", "at").rows()


def act(queue: AnnotationQueue, rater: str, rng: random.Random) -> None:
    """Do something that a rater may do."""
    pair = shown(queue, rater).pair
    action = rng.choice(["grade", "grade", "grade", "skip", "later", "undo", "cannot"])
    if action == "grade":
        queue.save_label(rater, pair, rng.choice([0.0, 1.0, 2.0]), rng.choice(["", "a note"]))
    elif action == "cannot":
        queue.cannot_rate(rater, pair, "it is cut")
    elif action == "undo":
        judged = any(label[5] == rater for label in rows_of(queue))
        queue.undo(rater) if judged else queue.skip(rater, pair)
    else:
        getattr(queue, action)(rater, pair)


def rows_of(queue: AnnotationQueue) -> list[Any]:
    with queue.database.read_transaction() as connection:
        return list(read_labels(connection, queue.project))


@pytest.mark.parametrize("seed", range(3))
def test_the_columns_are_the_rows_after_whatever_raters_do(store: Store, seed: int) -> None:
    rng = random.Random(seed)
    project = create_project(store, project_contents(30, gold=3), gold_every=5, per_pair=3)
    queue = open_queue(store, project, Clock())
    assert columns(store, project) == rows(store, project) == []
    for step in range(30):
        act(queue, rng.choice(["ann", "bob"]), rng)
        if step % 3 == 0:
            assert columns(store, project) == rows(store, project)
    assert columns(store, project) == rows(store, project) != []


def test_only_pairs_that_changed_are_read_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    project = create_project(store)
    queue = open_queue(store, project)
    queue.save_label("ann", shown(queue).pair, 1.0)
    assert columns(store, project) == rows(store, project)
    monkeypatch.setattr(annotation_frames, "_read_all", None)
    queue.save_label("ann", shown(queue).pair, 2.0)
    assert len(columns(store, project)) == 2
    queue.undo("ann")
    assert columns(store, project) == rows(store, project)


def test_a_state_changes_with_every_label_that_changes(store: Store) -> None:
    project = create_project(store)
    queue = open_queue(store, project)
    states = [read_label_state(store.database, project)]
    queue.save_label("ann", shown(queue).pair, 1.0)
    states.append(read_label_state(store.database, project))
    queue.undo("ann")
    states.append(read_label_state(store.database, project))
    assert len(set(states)) == 3
    assert states[-1] == read_label_state(store.database, project)


def test_progress_is_that_of_the_labels_counted_one_by_one(store: Store) -> None:
    project = create_project(store, project_contents(12, gold=3), gold_every=5)
    queue = open_queue(store, project)
    judge_all(queue, "ann", [0.0, 1.0, 2.0])
    judge_all(queue, "bob", [0.0, 2.0, 2.0, 1.0])
    progress = read_progress(store.database, project)
    labels = rows_of(queue)
    for rater in progress.raters:
        own = [label for label in labels if label.rater == rater.rater and label.role == COUNTED]
        seconds = [(label.at - label.shown_at).total_seconds() for label in own]
        assert rater.labels == len(own)
        assert rater.seconds == pytest.approx(median(seconds))
    grades = defaultdict(list)
    for label in labels:
        if label.role == COUNTED:
            grades[label.pair].append(label.grade)
    same = [[a == b for a, b in combinations(given, 2)] for given in grades.values() if len(given) > 1]
    shares = [sum(one) / len(one) for one in same]
    assert progress.agreement.value == pytest.approx(sum(shares) / len(shares), abs=1e-12)
    assert progress.agreement.n == len(shares) == 12


def test_an_overview_is_the_progress_without_what_needs_all_labels(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = create_project(store, project_contents(12))
    queue = open_queue(store, project)
    judge_all(queue, "ann", [0.0, 1.0, 2.0])
    judge_all(queue, "bob", [0.0, 2.0, 2.0, 1.0])
    progress, overview = read_progress(store.database, project), read_overview(store.database, project)
    assert (overview.labels, overview.full_pairs) == (progress.labels, progress.full_pairs)
    assert list(overview.raters) == ["ann", "bob"]
    assert overview.agreement == progress.agreement
    monkeypatch.setattr(annotation_labels, "OVERVIEW_PAIRS", 5)
    queue.undo("bob")
    assert read_overview(store.database, project).agreement.n == 5
