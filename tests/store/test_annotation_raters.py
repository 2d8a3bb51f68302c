"""Many raters at once, and raters that are killed: no pair exceeds its quota, and nothing is lost."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import select

from assay.judging.annotation.assignments import FINISHED, NoAssignment
from assay.judging.annotation.project import AnnotationProject
from assay.store.annotation_labels import read_labels, read_progress
from assay.store.schema import annotation_labels
from assay.store.store import Store
from tests import annotations
from tests.annotations import create_project, judge_all, open_queue, project_contents, shown

RATERS, PAIRS, PER_PAIR = 20, 16, 3
Label = tuple[str, int]


def run(verb: str, *arguments: str) -> list[tuple[Label, str]]:
    """What raters in processes of their own said was saved: rater, pair and grade, in order."""
    command = [sys.executable, "-m", "tests.annotations", verb, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(annotations.__file__).parents[1])
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    return [((rater, int(pair)), grade) for rater, pair, grade in lines]


def valid_labels(store: Store, project: AnnotationProject) -> list[tuple[Label, str]]:
    with store.database.read_transaction() as connection:
        return [((x.rater, x.pair), f"{x.grade:g}") for x in read_labels(connection, project)]


def history(store: Store) -> list[tuple[Label, str]]:
    """Every label that was ever saved, in order."""
    query = select(annotation_labels).order_by(annotation_labels.c.number)
    with store.database.read_transaction() as connection:
        rows = connection.execute(query).all()
    actions = {"undo": "undone"}
    return [
        ((row.rater, row.pair), actions.get(row.action) or f"{row.grade:g}")
        for row in rows
        if row.action in ("grade", "undo")
    ]


def test_one_rater_after_the_other_is_served_alike_by_every_database(store: Store) -> None:
    project = create_project(store, project_contents(5, gold=2, training=1), gold_every=3)
    queue = open_queue(store, project)
    first = shown(queue).pair
    queue.later("ann", first)
    queue.skip("ann", shown(queue).pair)
    assert queue.undo("ann") == shown(queue).pair
    for rater in ("ann", "bob"):
        assert len(judge_all(queue, rater, [2.0])) >= 7
    assert read_progress(store.database, project).full_pairs == 5
    assert queue.count_labels("ann") == (6, 10)
    queue.resume("ann")
    assert queue.next_assignment("cy") == NoAssignment(FINISHED)


def test_twenty_raters_at_once_keep_the_quota_and_lose_nothing(place: str, store: Store) -> None:
    project = create_project(store, project_contents(PAIRS), per_pair=PER_PAIR)
    acknowledged = run("rate", place, "shop", str(RATERS), "1")
    saved = valid_labels(store, project)
    last = dict(acknowledged)  # of each rater's labels for a pair, the last
    assert dict(saved) == {label: grade for label, grade in last.items() if grade != "undone"}
    assert len(saved) == len(dict(saved)) == PAIRS * PER_PAIR
    assert Counter(pair for (_, pair), _ in saved) == dict.fromkeys(range(PAIRS), PER_PAIR)
    graded = [(label, grade) for label, grade in history(store) if grade != "undone"]
    assert Counter(graded) == Counter(x for x in acknowledged if x[1] != "undone")


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_raters_killed_while_they_save_lose_nothing_acknowledged(place: str, store: Store) -> None:
    _survive_kills(place, store, kills=25)


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_raters_killed_while_they_save_lose_nothing_in_postgresql(place: str, store: Store) -> None:
    _survive_kills(place, store, kills=10)


def _survive_kills(place: str, store: Store, kills: int) -> None:
    project = create_project(store, project_contents(2000), per_pair=kills + 1, lease_minutes=60)
    acknowledged = run("kill", place, "shop", str(kills))
    saved = valid_labels(store, project)
    assert set(acknowledged) <= set(saved)
    assert len(saved) == len(set(saved)) <= len(acknowledged) + kills  # the last of each may be unsaid
    assert [x for x in saved if x in set(acknowledged)] == acknowledged
