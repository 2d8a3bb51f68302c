"""Decisions of adjudicators, and pairs that are added to a project."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.judging.annotation.project import AnnotationProject, ProjectPair
from assay.store.annotation import AnnotationProjects, ProjectContents
from assay.store.annotation_decisions import (
    add_pairs,
    find_pair,
    read_pair_ids,
    read_project_texts,
    read_raters,
    save_decision,
    undo_decision,
)
from assay.store.annotation_labels import read_labels, read_progress
from assay.store.store import Store
from tests.annotations import GRADES

PAIR = ("q1", "a")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as store:
        yield store


@pytest.fixture
def project(store: Store) -> AnnotationProject:
    contents = ProjectContents(
        [ProjectPair(*PAIR), ProjectPair("q1", "b")], {"q1": {"text": "vpn"}}, {"a": {}, "b": {}}
    )
    return AnnotationProjects(store).create(
        AnnotationProject(name="decisions", grades=GRADES, per_pair=1), contents
    )


def grades_of(store: Store, project: AnnotationProject) -> list[tuple[str, str, float | None]]:
    with store.database.read_transaction() as connection:
        return [(row.doc_id, row.rater, row.grade) for row in read_labels(connection, project)]


def test_a_decision_is_the_label_of_its_adjudicator(store: Store, project: AnnotationProject) -> None:
    save_decision(store.database, project, PAIR, "adjudicator dee", 2.0, "clear")
    assert grades_of(store, project) == [("a", "adjudicator dee", 2.0)]
    assert read_progress(store.database, project).full_pairs == 1
    assert read_raters(store.database, project) == {"adjudicator dee": 1}


def test_an_adjudicator_may_change_a_decision_and_nobody_else(
    store: Store, project: AnnotationProject
) -> None:
    save_decision(store.database, project, PAIR, "adjudicator dee", 2.0)
    save_decision(store.database, project, PAIR, "adjudicator dee", None, "no text")
    assert grades_of(store, project) == [("a", "adjudicator dee", None)]
    with pytest.raises(InputError, match="adjudicator dee has decided this pair already"):
        save_decision(store.database, project, PAIR, "adjudicator eve", 1.0)


def test_the_last_decision_is_taken_back(store: Store, project: AnnotationProject) -> None:
    for doc in "ab":
        save_decision(store.database, project, ("q1", doc), "adjudicator dee", 1.0)
    assert undo_decision(store.database, project, "adjudicator dee") == ("q1", "b")
    assert grades_of(store, project) == [("a", "adjudicator dee", 1.0)]
    assert read_progress(store.database, project).full_pairs == 1
    with pytest.raises(InputError, match="has decided nothing"):
        undo_decision(store.database, project, "adjudicator eve")


@pytest.mark.parametrize(
    ("pair", "grade", "problem"), [(PAIR, 7.0, "found 7"), (("q1", "z"), 1.0, "has no pair")]
)
def test_what_a_project_does_not_have_is_refused(
    store: Store, project: AnnotationProject, pair: tuple[str, str], grade: float, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        save_decision(store.database, project, pair, "adjudicator dee", grade)


def test_a_closed_project_takes_no_decision(store: Store, project: AnnotationProject) -> None:
    AnnotationProjects(store).set_closed(project, is_closed=True)
    with pytest.raises(InputError, match="assay judge close decisions --reopen"):
        save_decision(store.database, project, PAIR, "adjudicator dee", 1.0)


def test_pairs_are_added_once_after_the_others(store: Store, project: AnnotationProject) -> None:
    contents = ProjectContents(
        [ProjectPair(*PAIR), ProjectPair("q2", "c")], {"q2": {"text": "mail"}}, {"c": {"title": "C"}}
    )
    for _ in range(2):
        project = add_pairs(store.database, project, contents)
    assert read_pair_ids(store.database, project).rows() == [PAIR, ("q1", "b"), ("q2", "c")]
    assert find_pair(store.database, project, "q2", "c") == 2
    assert AnnotationProjects(store).get("decisions").counts["counted"] == 3
    assert read_project_texts(store.database, project, "query", ["q2", "q9"]) == {"q2": {"text": "mail"}}
