"""What the tests of annotation share, and the processes of raters that they start, and kill.

rate STORE PROJECT RATERS SEED   so many raters at once, each in a process, judge until there is no pair left;
                                 a line for each label that was acknowledged: rater, pair and grade
kill STORE PROJECT KILLS         one rater after the other, each killed while it saves
"""

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from assay.judging.annotation.arrangement import arrange_pairs
from assay.judging.annotation.assignments import WAITING, Assignment, NoAssignment, QueryAssignment
from assay.judging.annotation.project import AnnotationProject, Grade, ProjectPair
from assay.store.annotation import AnnotationProjects, ProjectContents
from assay.store.annotation_queue import AnnotationQueue
from assay.store.store import Store

GRADES = (Grade(0, "no"), Grade(1, "partly"), Grade(2, "yes"))


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def project_contents(pairs: int = 6, gold: int = 0, training: int = 0, seed: int = 0) -> ProjectContents:
    """Pairs of two queries; gold pairs are of a query of their own, with grade 2."""
    plain = [ProjectPair(f"q{n % 2}", f"d{n}") for n in range(pairs)]
    known = [ProjectPair("gold", f"g{n}", gold_grade=2.0, gold_note="it answers") for n in range(gold)]
    arranged = arrange_pairs(plain, known, training, seed)
    queries = {pair.query_id: {"text": f"what is {pair.query_id}"} for pair in arranged}
    documents = {
        pair.doc_id: {"title": pair.doc_id.upper(), "text": f"all of {pair.doc_id}"} for pair in arranged
    }
    return ProjectContents(arranged, queries, documents)


def create_project(
    store: Store, contents: ProjectContents | None = None, name: str = "shop", **settings: Any
) -> AnnotationProject:
    """A new project in a store."""
    project = AnnotationProject(name, GRADES, **settings)
    return AnnotationProjects(store).create(project, contents or project_contents())


def open_queue(store: Store, project: AnnotationProject, clock: Clock | None = None) -> AnnotationQueue:
    """The queue of a project."""
    return AnnotationQueue(store.database, project, clock or (lambda: datetime.now(UTC)))


def shown(queue: AnnotationQueue, rater: str = "ann") -> Assignment:
    """The pair that a rater is given."""
    assignment = queue.next_assignment(rater)
    assert isinstance(assignment, Assignment), assignment
    return assignment


def shown_query(queue: AnnotationQueue, rater: str = "ann", after: int | None = None) -> QueryAssignment:
    """The pairs of a query that a rater is given at once."""
    answer = queue.query_assignment(rater, after)
    assert isinstance(answer, QueryAssignment), answer
    return answer


def missing(queue: AnnotationQueue, rater: str = "ann") -> str:
    """The reason why a rater is given nothing."""
    assignment = queue.next_assignment(rater)
    assert isinstance(assignment, NoAssignment), assignment
    return assignment.reason


def judge_all(queue: AnnotationQueue, rater: str, grades: Sequence[float] = (1.0,)) -> list[int]:
    """Judge until there is nothing left; the pairs in their order."""
    pairs = []
    while isinstance(assignment := queue.next_assignment(rater), Assignment):
        pairs.append(assignment.pair)
        queue.save_label(rater, assignment.pair, grades[len(pairs) % len(grades)])
    return pairs


def rate(url: str, name: str, raters: str, seed: str) -> None:
    """Start all raters at once, each in a process that needs no start of Python."""
    Store(url).database.close()  # what it loads is loaded once
    (ready, ready_end), (start, start_end) = os.pipe(), os.pipe()
    children = []
    for number in range(int(raters)):
        child = os.fork()
        if not child:
            os.close(start_end)
            with Store(url) as store:
                os.write(ready_end, b".")
                os.read(start, 1)  # until all have opened the store
                by_query = number % 4 == 0
                _rate_until_done(store, name, f"rater{number}", random.Random(f"{seed} {number}"), by_query)
            os._exit(0)
        children.append(child)
    for _ in children:
        os.read(ready, 1)
    os.close(start_end)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    sys.exit(0 if codes == [0] * len(codes) else f"raters ended with {codes}")


def _rate_until_done(store: Store, name: str, rater: str, rng: random.Random, by_query: bool) -> None:
    queue = AnnotationQueue(store.database, AnnotationProjects(store).get(name))
    while True:
        answer = queue.query_assignment(rater) if by_query else queue.next_assignment(rater)
        if isinstance(answer, QueryAssignment):
            answer = rng.choice([one.assignment for one in answer.pairs if not one.is_judged])
        if isinstance(answer, Assignment):
            _act(queue, rater, answer.pair, rng)
        elif answer.reason != WAITING:
            return
        time.sleep(rng.uniform(0, 0.03))


def _act(queue: AnnotationQueue, rater: str, pair: int, rng: random.Random) -> None:
    """Judge a pair, or now and then skip it, set it aside, or change one's mind."""
    action = rng.random()
    if action < 0.05:
        queue.skip(rater, pair)
    elif action < 0.1:
        queue.later(rater, pair)
    else:
        grade = rng.choice(GRADES).value
        queue.save_label(rater, pair, grade)
        os.write(1, f"{rater} {pair} {grade:g}\n".encode())
        if action > 0.95:
            undone = queue.undo(rater)
            os.write(1, f"{rater} {undone} undone\n".encode())


def kill(url: str, name: str, kills: str) -> None:
    """Let each of several raters judge until it is killed."""
    Store(url).database.close()  # what it loads is loaded once
    rng, longest = random.Random(7), 0.05
    for number in range(int(kills)):
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            _rate_for_ever(url, name, f"rater{number}", writer)
        os.close(writer)
        os.read(reader, 1)  # it has begun to save
        os.close(reader)
        time.sleep(rng.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _rate_for_ever(url: str, name: str, rater: str, began: int) -> None:
    with Store(url) as store:
        queue = AnnotationQueue(store.database, AnnotationProjects(store).get(name))
        os.close(began)
        while isinstance(assignment := queue.next_assignment(rater), Assignment):
            queue.save_label(rater, assignment.pair, 1.0)
            os.write(1, f"{rater} {assignment.pair} 1\n".encode())
    os._exit(0)


if __name__ == "__main__":
    verbs: dict[str, Callable[..., None]] = {"rate": rate, "kill": kill}
    verbs[sys.argv[1]](*sys.argv[2:])
