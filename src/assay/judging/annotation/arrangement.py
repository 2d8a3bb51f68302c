"""The order in which raters see pairs: shuffled by the seed, with gold questions among them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b

from assay.core.errors import InputError
from assay.judging.annotation.project import COUNTED, GOLD, TRAINING, AnnotationProject, ProjectPair


def arrange_pairs(
    pairs: Sequence[ProjectPair], gold: Sequence[ProjectPair], training: int, seed: int
) -> list[ProjectPair]:
    """Return all pairs with their roles, shuffled by the seed; the order of the input does not matter.

    Some pairs with a known grade are training pairs, the others gold questions. They are not counted, and
    their places among the other pairs do not tell raters which they are.

    >>> known = [ProjectPair("q", "a", gold_grade=1.0), ProjectPair("q", "b", gold_grade=0.0)]
    >>> arranged = arrange_pairs([ProjectPair("q", "c"), ProjectPair("q", "a")], known, 1, seed=0)
    >>> sorted(pair.role for pair in arranged)
    ['counted', 'gold', 'training']
    """
    if training > len(gold):
        raise InputError(
            f"{training} training pairs need as many pairs with a known grade, found {len(gold)} gold pairs"
        )
    known = {pair[:2] for pair in gold}
    counted = [pair for pair in pairs if pair[:2] not in known]
    if not counted:
        raise InputError("expected pairs to judge besides the gold pairs, found none")
    questions = _shuffle(gold, seed, GOLD)
    roles = [TRAINING] * training + [GOLD] * (len(questions) - training)
    questions = [pair._replace(role=role) for pair, role in zip(questions, roles, strict=True)]
    return _shuffle([*questions, *(pair._replace(role=COUNTED) for pair in counted)], seed, "all")


def _shuffle(pairs: Sequence[ProjectPair], seed: int, salt: str) -> list[ProjectPair]:
    shuffled = sorted(pairs, key=lambda pair: pair[:2])
    random.Random(f"{seed} {salt}").shuffle(shuffled)
    return shuffled


def count_roles(project: AnnotationProject, pairs: Sequence[ProjectPair]) -> AnnotationProject:
    """Return the project with the number of its pairs of each role."""
    counts: Mapping[str, int] = {
        role: sum(pair.role == role for pair in pairs) for role in (COUNTED, GOLD, TRAINING)
    }
    return replace(project, counts=counts)


def is_gold_due(project: AnnotationProject, rater: str, judged: int, gold_judged: int) -> bool:
    """Return whether the next pair of a rater is a gold question.

    Among each `gold_every` pairs there is one, at a place that follows from the seed and the rater.
    """
    block, place = divmod(judged + gold_judged, project.gold_every)
    is_pending = gold_judged <= block
    return is_pending and place >= _draw(project, rater, str(block)) % project.gold_every


def gold_order(project: AnnotationProject, rater: str, numbers: Sequence[int]) -> list[int]:
    """Return the numbers of the gold questions in the order in which a rater sees them."""
    return sorted(numbers, key=lambda number: _draw(project, rater, f"gold {number}"))


def _draw(project: AnnotationProject, rater: str, salt: str) -> int:
    """Return a number that follows from the seed, the rater and a salt, on every machine."""
    text = repr((project.seed, rater, salt)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest())
