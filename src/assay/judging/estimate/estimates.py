"""Estimates of measures from few human labels and many model labels, over all queries and by slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assay.core.arrays import Bools, Ints
from assay.core.errors import InputError, UndecidableError
from assay.core.groups import RunBlocks
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.evaluation.query_weights import read_weights
from assay.evaluation.slices import Slice, make_slices
from assay.judging.estimate.next_labels import NextLabels, choose_next
from assay.judging.estimate.pairs import LabelledPairs, join_labels
from assay.judging.estimate.sampling import PAIRS_OF_QUERIES, QUERIES, UNITS, Sampling, detect_sampling
from assay.judging.estimate.units import build_units
from assay.judging.estimate.values import PAIR_MEASURES, TargetValues, pair_values, run_values
from assay.measures import Measure
from assay.stats.prediction_powered import (
    FEWEST_TO_TUNE,
    LabelledUnits,
    PoweredEstimate,
    estimate_powered,
    undefined_estimate,
)

RUN_MEASURES = ("nDCG@10",)


@dataclass(frozen=True)
class SliceEstimate:
    """The estimate of one slice of the queries."""

    column: str
    value: str
    estimate: PoweredEstimate

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the slice."""
        return {"column": self.column, "slice": self.value, **self.estimate.to_dict()}


@dataclass(frozen=True)
class LabelEstimate:
    """The mean of a measure of a run (or of the pairs), or of a difference of two runs."""

    target: TargetValues
    sampling: Sampling
    estimate: PoweredEstimate
    labels: int  # pairs with human labels that were used
    units: int  # queries or pairs that the model labelled
    slices: tuple[SliceEstimate, ...] = ()

    @property
    def p(self) -> float | None:
        """Two-sided p of the hypothesis that a difference is 0; None for a single run."""
        spread = self.estimate.spread
        return spread.two_sided() if self.target.baseline and spread is not None else None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the estimate."""
        runs = {"baseline": self.target.baseline, "candidate": self.target.run}
        data: dict[str, Any] = runs if self.target.baseline else {"run": self.target.run or None}
        data |= {"measure": self.target.measure, **self.estimate.to_dict()}
        data |= {"p": self.p} if self.target.baseline else {}
        data |= {"unit": self.sampling.unit, "units": self.units, "human_labels": self.labels}
        data |= {"sampling": self.sampling.kind, "partial_queries": self.sampling.partial}
        if self.slices:
            data["slices"] = [part.to_dict() for part in self.slices]
        return data


@dataclass(frozen=True)
class LabelEstimates:
    """The estimates of all runs and measures, the differences from the first run, and what to judge next."""

    estimates: tuple[LabelEstimate, ...]
    differences: tuple[LabelEstimate, ...]
    next_labels: NextLabels
    pairs: LabelledPairs
    level: float
    is_fixed: bool
    sample_warnings: Sequence[str] = ()

    @cached_property
    def warnings(self) -> list[str]:
        """What a reader must know before trusting the estimates, each once."""
        texts = [e.sampling.warning for e in (*self.estimates, *self.differences)]
        if self.pairs.other_queries:
            count = self.pairs.other_queries
            subject = "1 query has" if count == 1 else f"{count:,} queries have"
            texts.append(
                f"{subject} human labels and none of the model, and {'is' if count == 1 else 'are'} left out"
            )
        texts += self.sample_warnings
        if self.pairs.unlabelled_in_pool:
            texts.append(
                f"{self.pairs.unlabelled_in_pool:,} pairs of the pool have no human label: they are taken as "
                "missing at random"
            )
        return list(dict.fromkeys(filter(None, texts)))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the estimates."""
        return {
            "estimates": [e.to_dict() for e in self.estimates],
            "differences": [e.to_dict() for e in self.differences],
            "judge_next": self.next_labels.to_list(),
            "level": self.level,
            "is_fixed": self.is_fixed,
            "warnings": self.warnings,
        }


def estimate_from_labels(
    model: Qrels,
    human: Qrels,
    runs: Sequence[RunBlocks] = (),
    measures: Sequence[str | Measure] = (),
    queries: Queries | None = None,
    by: Sequence[str] = (),
    *,
    documents: Documents | None = None,
    chances: Run | None = None,
    population: str = "judged",
    unit: str = "auto",
    level: float = 0.95,
    is_fixed: bool = False,
    next_count: int = 10,
    seed: int = 0,
) -> LabelEstimates:
    """Estimate measures of runs, or of the pairs if there are no runs, from labels of a model and of people.

    `chances` has the chance of each labelled pair to be chosen as its score. `unit`: query or pair, the unit
    that was drawn at random; auto: as the labels show. `population`: what the mean is of, if the query table
    is a sample (see `evaluate`). `is_fixed`: the result is for these queries only.

    >>> model = Qrels({f"q{i}": {"a": i % 3, "b": i % 2} for i in range(60)})
    >>> human = Qrels({f"q{i}": {"a": i % 3, "b": 0} for i in range(0, 60, 2)})
    >>> result = estimate_from_labels(model, human, measures=["grade"])
    >>> result.estimates[0].sampling.kind, result.estimates[0].estimate.combined.n
    ('queries', 30)
    """
    _check_options(unit, level)
    weights = read_weights(queries, model.query_ids, population)
    pairs = join_labels(model, human, chances, weights)
    targets, differences = _targets(pairs, runs, measures)
    texts = None if documents is None else documents.texts()
    slices = make_slices(dict.fromkeys(by), pairs.query_ids, queries, model, texts) if by else []
    estimator = _Estimator(pairs, slices, unit, level, is_fixed)
    single, differing = ([estimator.estimate(t) for t in group] for group in (targets, differences))
    estimated = [(e.target, e.sampling, e.estimate) for e in single + differing]
    next_labels = choose_next(pairs, estimated, next_count, seed)
    warnings = weights.warnings if weights else ()
    return LabelEstimates(tuple(single), tuple(differing), next_labels, pairs, level, is_fixed, warnings)


def _targets(
    pairs: LabelledPairs, runs: Sequence[RunBlocks], measures: Sequence[str | Measure]
) -> tuple[list[TargetValues], list[TargetValues]]:
    """Return the values to estimate, and the differences between runs."""
    if runs:
        return run_values(pairs, runs, measures or RUN_MEASURES)
    return pair_values(pairs, [str(m) for m in measures or PAIR_MEASURES]), []


def _check_options(unit: str, level: float) -> None:
    if unit not in UNITS:
        raise InputError(f"expected one of {', '.join(UNITS)} as the unit, found {unit!r}")
    if not 0 < level < 1:
        raise InputError(f"the level of an interval must lie between 0 and 1, found {level}")


@dataclass(frozen=True)
class _Estimator:
    """The labels, the slices and the options that all estimates share."""

    pairs: LabelledPairs
    slices: Sequence[Slice]
    unit: str
    level: float
    is_fixed: bool

    def estimate(self, target: TargetValues) -> LabelEstimate:
        """Return the estimate of one value, stratified by the slices, and that of each slice."""
        sampling = detect_sampling(self.pairs, target, self.unit)
        everything = np.ones(len(self.pairs.query_ids), np.bool_)
        drawn = sampling.complete if sampling.kind == QUERIES else self.pairs.labelled_counts > 0
        rows = self.pairs.has_both & target.needed & drawn[self.pairs.query]
        is_by_query = sampling.kind in (QUERIES, PAIRS_OF_QUERIES)
        counts = drawn if is_by_query else np.bincount(self.pairs.query[rows], minlength=len(drawn))
        strata = _merge_small(_cells(self.slices, len(drawn)), counts.astype(np.int64))
        overall = self._powered(target, sampling, strata, everything)
        if overall is None:
            raise UndecidableError(
                f"{target.measure} is undefined: no pair that it depends on has labels of both people and "
                "the model"
            )
        slices = tuple(self._slice(target, sampling, part) for part in self.slices)
        units = len(everything) if is_by_query else int(target.needed.sum())
        return LabelEstimate(target, sampling, overall, int(rows.sum()), units, slices)

    def _slice(self, target: TargetValues, sampling: Sampling, part: Slice) -> SliceEstimate:
        queries = np.zeros(len(self.pairs.query_ids), np.bool_)
        queries[part.rows] = True
        powered = self._powered(target, sampling, [queries], queries)
        return SliceEstimate(part.column, part.value, powered or undefined_estimate(self.level))

    def _powered(
        self, target: TargetValues, sampling: Sampling, strata: Sequence[Bools], queries: Bools
    ) -> PoweredEstimate | None:
        numbers = np.cumsum(queries) - 1
        built = [build_units(self.pairs, target, sampling, part, numbers) for part in strata]
        units: list[LabelledUnits] = [part for part in built if part is not None]
        if not units:
            return None
        clusters = int(queries.sum()) if units[0].clusters is not None else 0
        return estimate_powered(units, self.level, target.bounds, is_fixed=self.is_fixed, clusters=clusters)


def _cells(slices: Sequence[Slice], size: int) -> Ints:
    """Return the number of the cell of each query: queries in a cell share all slices."""
    cells = np.zeros(size, np.int64)
    for number, part in enumerate(slices):
        cells[part.rows] = cells[part.rows] * (len(slices) + 1) + number + 1
        _, cells = np.unique(cells, return_inverse=True)
    return cells


def _merge_small(cells: Ints, counts: Ints) -> list[Bools]:
    """Return the queries of each stratum; cells with few labelled units are one stratum."""
    totals = np.bincount(cells, counts)
    strata = [cells == number for number in np.flatnonzero(totals >= FEWEST_TO_TUNE)]
    rest = np.isin(cells, np.flatnonzero(totals < FEWEST_TO_TUNE))
    if not strata:
        return [rest]
    if rest.any() and counts[rest].sum() < FEWEST_TO_TUNE:
        smallest = min(range(len(strata)), key=lambda number: int(counts[strata[number]].sum()))
        strata[smallest] = strata[smallest] | rest
    elif rest.any():
        strata.append(rest)
    return strata
