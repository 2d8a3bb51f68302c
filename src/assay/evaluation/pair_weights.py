"""What each judgment stands for, from the inclusion probabilities of the pool it comes from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.core.errors import InputError
from assay.core.pair_probabilities import PairProbabilities
from assay.core.tables import Qrels
from assay.evaluation.matching import Matches
from assay.measures.sampled import SampledRankings


class PairWeights(NamedTuple):
    """The weight and the stratum of each judgment, row by row of the qrels."""

    weights: Floats
    strata: Ints
    sizes: Ints  # how many pairs were drawn from each stratum; 0 for a pair that is drawn by itself
    outside: int  # judgments that are not in the pool: they count as certain
    unlabelled: int  # pairs of the pool without a label

    @property
    def is_certain(self) -> bool:
        """Whether all pairs came into the pool with probability 1, so that nothing is to be weighted."""
        return bool((self.weights == 1).all())

    @property
    def warnings(self) -> list[str]:
        """What a reader of the values must know."""
        texts = []
        if self.outside:
            texts.append(f"{self.outside:,} judged pairs are not in the pool, and count as drawn for certain")
        if self.unlabelled:
            problem = "have no label, and count as irrelevant: values are too low"
            texts.append(f"{self.unlabelled:,} pairs of the pool {problem}")
        return texts

    def to_dict(self) -> dict[str, int | float]:
        """Return what the judgments stand for."""
        return {
            "judged": len(self.weights),
            "stands_for": float(self.weights.sum()),
            "outside": self.outside,
            "unlabelled": self.unlabelled,
        }

    def sample(self, matches: Matches) -> SampledRankings:
        """Return the rankings of a run with the weights of their judgments."""
        return SampledRankings(matches.rankings, matches.row, self.weights, self.strata, self.sizes)


def weigh_pairs(qrels: Qrels, pool: PairProbabilities) -> PairWeights:
    """Return the weights of judgments; those outside the pool were judged for certain."""
    numbers = _judgment_rows(qrels)
    rows = np.array(
        [numbers.get(pair, -1) for pair in zip(pool.query_ids, pool.doc_ids, strict=True)], np.int64
    )
    is_judged = rows >= 0
    if not is_judged.any():
        raise InputError("the pool has none of the judged pairs: check that both use the same ids")
    codes = _stratum_codes(pool)
    _check_equal(codes, pool.probabilities)
    count = int(codes.max()) + 1
    outside = len(numbers) - int(is_judged.sum())
    weights, strata = np.ones(len(qrels)), np.arange(count, count + len(qrels))
    weights[rows[is_judged]] = 1 / pool.probabilities[is_judged]
    strata[rows[is_judged]] = codes[is_judged]
    sizes = np.concatenate([np.bincount(codes, minlength=count), np.ones(len(qrels), np.int64)])
    if pool.strata is None:
        sizes[:count] = 0
    return PairWeights(weights, strata, sizes, outside, int((~is_judged).sum()))


def _judgment_rows(qrels: Qrels) -> dict[tuple[str, str], int]:
    """Return the row of each judgment; a grade below 0 is none."""
    queries = np.repeat(np.arange(len(qrels.query_ids)), qrels.groups.lengths).tolist()
    docs, grades = qrels.doc_ids.strings, qrels.grades.tolist()
    return {
        (qrels.query_ids[query], doc): row
        for row, (query, doc, grade) in enumerate(zip(queries, docs, grades, strict=True))
        if grade >= 0
    }


def _stratum_codes(pool: PairProbabilities) -> Ints:
    """Return the number of the stratum of each pair; of independent pairs each has its own."""
    if pool.strata is None:
        return np.arange(len(pool))
    numbers: dict[tuple[str, str], int] = {}
    keys = zip(pool.query_ids, pool.strata, strict=True)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def _check_equal(codes: Ints, probabilities: Floats) -> None:
    """Raise InputError if the pairs of a stratum have different probabilities."""
    first = np.zeros(int(codes.max()) + 1)
    first[codes] = probabilities
    if (np.abs(first[codes] - probabilities) > 1e-9).any():
        raise InputError(
            "the pairs of one query and stratum must have the same inclusion_probability; "
            "leave the column stratum out if pairs were drawn independently"
        )
