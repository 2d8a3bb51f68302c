"""The values that are estimated: a measure of a run, of a difference of runs, or of the pairs themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.core.arrays import Bools, Floats, Ints
from assay.core.errors import MeasureError
from assay.core.groups import RunBlocks
from assay.evaluation.evaluate import bounds_of, parse_measures
from assay.evaluation.matching import Matches, match
from assay.judging.estimate.pairs import LabelledPairs
from assay.measures import Measure
from assay.measures.rankings import Rankings
from assay.stats.bounded_means import UNIT, Bounds

_TOP_ONLY = ("P", "DCG", "Success", "RR")  # measures that need no labels below their cutoff
_PAIR_MEASURE = re.compile(r"(?i)(grade|mean|relevant|p)(?:\(\s*(?:rel\s*=\s*)?(\d+)\s*\))?")
PAIR_MEASURES = ("grade", "relevant")


@dataclass(frozen=True)
class TargetValues:
    """What is estimated: its value for each query, or for each pair, by each kind of labels."""

    run: str  # empty: the pairs themselves
    measure: str
    baseline: str  # of a difference; else empty
    human: Floats  # by query, valid if all needed pairs of the query have a human label
    model: Floats  # by query
    needed: Bools  # the rows of pairs whose labels the value depends on
    human_parts: Floats | None  # by row: what a pair adds to the value of its query; None: not a sum
    model_parts: Floats | None
    reach: Floats | None  # by row: what a pair would add if it had the highest grade
    bounds: Bounds | None

    @property
    def is_of_pairs(self) -> bool:
        """Whether the value is a mean over pairs, not over queries."""
        return not self.run


def pair_values(pairs: LabelledPairs, measures: Sequence[str]) -> list[TargetValues]:
    """Return the mean grade or the share of relevant pairs, as asked for."""
    return [_pair_target(pairs, text) for text in dict.fromkeys(measures)]


def _pair_target(pairs: LabelledPairs, text: str) -> TargetValues:
    matched = _PAIR_MEASURE.fullmatch(text.strip())
    if matched is None:
        raise MeasureError(
            f"{text} needs a run; without one, expected grade (the mean grade of all pairs) or "
            "relevant(rel=1) (the share of pairs from this grade on)"
        )
    name, rel = matched[1].lower(), int(matched[2] or 1)
    is_grade = name in ("grade", "mean")
    if is_grade and matched[2]:
        raise MeasureError(
            f"{name} takes no parameters, found {text}; the share from a grade on is relevant(rel=1)"
        )
    human, model = (
        (grades if is_grade else grades >= rel).astype(np.float64) for grades in (pairs.human, pairs.model)
    )
    return TargetValues(
        run="",
        measure="grade" if is_grade else "relevant" + f"(rel={rel})" * (rel != 1),
        baseline="",
        human=_sum_by_query(pairs, human, pairs.has_both),
        model=_sum_by_query(pairs, model, pairs.has_model),
        needed=pairs.has_model,
        human_parts=human,
        model_parts=model,
        reach=np.ones(len(model)),
        bounds=None if is_grade else UNIT,
    )


def _sum_by_query(pairs: LabelledPairs, parts: Floats, rows: Bools) -> Floats:
    sums: Floats = np.bincount(pairs.query[rows], parts[rows], len(pairs.query_ids)).astype(np.float64)
    return sums


def run_values(
    pairs: LabelledPairs, runs: Sequence[RunBlocks], measures: Sequence[str | Measure]
) -> tuple[list[TargetValues], list[TargetValues]]:
    """Return the values of each run, and the differences of each later run from the first."""
    parsed = [_check_mean(measure) for measure in parse_measures(measures)]
    depths = sorted({m.depth for m in parsed if m.depth})
    values = []
    for run in runs:
        matches = match(pairs.table, run, depths)
        values.append([_run_target(pairs, run.name, matches, measure) for measure in parsed])
    differences = [
        _subtract(first, second)
        for later in values[1:]
        for first, second in zip(values[0], later, strict=True)
    ]
    return [target for targets in values for target in targets], differences


def _check_mean(measure: Measure) -> Measure:
    if measure.kind not in ("mean", "share") or measure.name in ("Judged", "RBPResidual", "infAP"):
        raise MeasureError(
            f"{measure} cannot be estimated from two kinds of labels: expected a measure of relevance that "
            "is a mean over queries, such as nDCG@10"
        )
    return measure


def _run_target(pairs: LabelledPairs, name: str, matches: Matches, measure: Measure) -> TargetValues:
    top = max(int(pairs.human.max()), int(pairs.model.max()), 1)
    human_parts, model_parts = (_parts(matches, measure, grades) for grades in (pairs.human, pairs.model))
    needed = pairs.has_model
    if measure.name in _TOP_ONLY or human_parts is not None:
        depth = measure.depth
        returned = np.zeros(len(needed), np.bool_)
        returned[matches.row if depth is None else matches.row[matches.rankings.rank <= depth]] = True
        needed = needed & returned
    return TargetValues(
        run=name,
        measure=str(measure),
        baseline="",
        human=measure.compute(_rankings(pairs, matches, pairs.human)),
        model=measure.compute(_rankings(pairs, matches, pairs.model)),
        needed=needed,
        human_parts=human_parts,
        model_parts=model_parts,
        reach=_parts(matches, measure, np.full(len(pairs.model), top)),
        bounds=bounds_of(measure),
    )


def _rankings(pairs: LabelledPairs, matches: Matches, grades: Ints) -> Rankings:
    """Return the rankings with the labels of one kind only."""
    r, rows = matches.rankings, np.flatnonzero(grades >= 0)
    kept = grades[matches.row] >= 0
    return Rankings(
        r.returned_counts,
        r.query[kept],
        r.rank[kept],
        grades[matches.row][kept],
        pairs.query[rows],
        grades[rows],
    )


def _parts(matches: Matches, measure: Measure, grades: Ints) -> Floats | None:
    """Return what each pair adds to a measure that is a sum over the pairs of a ranking."""
    if measure.name not in ("P", "DCG") and not (measure.name == "RBP" and measure.params.get("rel")):
        return None
    r, parts, number = matches.rankings, np.zeros(len(grades)), np.arange(len(matches.row))
    single = Rankings(
        r.returned_counts[r.query], number, r.rank, grades[matches.row], number, grades[matches.row]
    )
    parts[matches.row] = measure.compute(single)
    return parts


def _subtract(first: TargetValues, second: TargetValues) -> TargetValues:
    """Return the values of second - first."""
    bounds = first.bounds
    return TargetValues(
        run=second.run,
        measure=first.measure,
        baseline=first.run,
        human=second.human - first.human,
        model=second.model - first.model,
        needed=first.needed | second.needed,
        human_parts=_difference(second.human_parts, first.human_parts),
        model_parts=_difference(second.model_parts, first.model_parts),
        reach=_difference(second.reach, first.reach),
        bounds=None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0]),
    )


def _difference(second: Floats | None, first: Floats | None) -> Floats | None:
    return None if second is None or first is None else second - first
