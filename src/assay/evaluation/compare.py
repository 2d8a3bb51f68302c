"""Comparison of candidates with a baseline: every measure and slice, paired by query and corrected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.core.errors import InputError, UndecidableError
from assay.core.score_order import ScoreOrder
from assay.core.tables import Scores
from assay.evaluation.configuration import differing_settings
from assay.evaluation.evaluate import (
    DEFAULT_ORDER,
    Counts,
    Evaluation,
    UnjudgedRange,
    evaluate,
    parse_measures,
    quantile_of,
    unjudged_range,
)
from assay.evaluation.overlap import OVERLAP_DEPTH, Overlap, measure_overlap
from assay.evaluation.readings import Reading, interpret
from assay.evaluation.slices import Slice
from assay.measures import Measure, parse
from assay.stats import central_value
from assay.stats.comparison import Comparison, Subject, compare_columns
from assay.stats.corrections import CORRECTIONS, PairDifference, correct_p_values, tukey
from assay.stats.paired_differences import subtract, subtract_means
from assay.stats.paired_tests import TESTS
from assay.stats.power import BenchmarkSize, assess_size

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPARISON_MEASURES = ("nDCG@10", "R@10", "P@10", "RR@10", "Robustness(delta=0.3)@10", "ZeroHit@10")
DEFAULT_MARGIN = 0.01


class Mover(NamedTuple):
    """A query that got better or worse."""

    query_id: str
    baseline: float
    candidate: float

    @property
    def difference(self) -> float:
        """Candidate - baseline."""
        return subtract_means(self.candidate, self.baseline)


class SystemPair(NamedTuple):
    """The difference of two systems by one measure, corrected for all pairs (Tukey's HSD)."""

    measure: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class ComparisonOptions:
    """How differences are tested."""

    test: str = "t"
    correction: str = "holm"
    margin: float = DEFAULT_MARGIN
    level: float = 0.95
    seed: int = 0
    permutations: int | None = None
    paired: bool = True

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("test", self.test, tuple(TESTS)),
            ("correction", self.correction, CORRECTIONS),
        ):
            if value not in choices:
                raise InputError(f"{name} must be one of {', '.join(choices)}, found {value!r}")
        if not 0 < self.level < 1:
            raise InputError(f"the level of an interval must lie between 0 and 1, found {self.level}")
        if not 0 < self.margin < 1:
            raise InputError(f"the margin must be above 0 and below 1, found {self.margin}")
        if self.permutations is not None and self.permutations < 1:
            raise InputError(f"expected at least one permutation, found {self.permutations}")


@dataclass(frozen=True)
class Comparisons:
    """The comparisons of candidates with a baseline."""

    baseline: str
    candidates: list[str]
    measures: tuple[Measure, ...]
    rows: list[Comparison]
    options: ComparisonOptions
    scores: dict[str, Scores] = field(repr=False)
    counts: dict[str, Counts] = field(default_factory=dict)
    unjudged: dict[str, dict[str, UnjudgedRange]] = field(default_factory=dict)  # system, measure
    overlaps: dict[str, Overlap] = field(default_factory=dict)
    configuration: dict[str, dict[str, Any]] = field(default_factory=dict)  # only what differs
    excluded_queries: int = 0  # the number of queries that not all systems have
    slices: list[Slice] = field(default_factory=list, repr=False)
    evaluations: tuple[Evaluation, ...] = field(default=(), repr=False)  # the baseline's first

    def __repr__(self) -> str:
        names = ", ".join(self.candidates)
        keys = ", ".join(reading.key for reading in self.readings)
        return f"Comparisons({self.baseline!r} against {names}: {len(self.rows)} comparisons; {keys})"

    def of_candidate(self, candidate: str) -> list[Comparison]:
        """The comparisons of one candidate."""
        return [row for row in self.rows if row.candidate_name == candidate]

    def find(
        self, measure: Measure | str, candidate: str | None = None, column: str = "", value: str = ""
    ) -> Comparison:
        """One comparison: over all queries or one slice, of the first candidate unless one is named.

        >>> made = compare({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["x", "a"], "q2": ["b"]},
        ...                {"q1": ["a"], "q2": ["b"]}, ["RR@10"])
        >>> made.find("RR@10").difference.value
        0.25
        """
        key = (str(parse(measure)), candidate or self.candidates[0], column, value)
        for row in self.rows:
            if (row.measure, row.candidate_name, row.column, row.value) == key:
                return row
        target = f"{key[1]!r} by {key[0]} in {column or 'all'}{value and ': '}{value}"
        raise InputError(
            f"there is no comparison of {target}; expected one of {', '.join(self.candidates)} "
            f"by {', '.join(map(str, self.measures))}"
        )

    @cached_property
    def readings(self) -> list[Reading]:
        """What the differences mean."""
        return [reading for name in self.candidates for reading in self._readings(name)]

    def _readings(self, name: str) -> list[Reading]:
        before, after = (self.unjudged.get(system, {}) for system in (self.baseline, name))
        ranges = {measure: (before[measure], after[measure]) for measure in before if measure in after}
        return interpret(self.of_candidate(name), self.options.margin, ranges)

    @cached_property
    def sizes(self) -> dict[str, dict[str, BenchmarkSize]]:
        """What this set of queries can be used for, by candidate and measure."""
        alpha = 1 - self.options.level
        sizes: dict[str, dict[str, BenchmarkSize]] = {}
        for row in self.rows:
            if not row.column and row.deviation is not None:
                sizes.setdefault(row.candidate_name, {})[row.measure] = assess_size(
                    row.difference.n, row.deviation, self.options.margin, alpha
                )
        return sizes

    @cached_property
    def all_pairs(self) -> list[SystemPair]:
        """All pairs of three or more systems, by every measure that is a mean over the queries."""
        names = [self.baseline, *self.candidates]
        system_pairs = []
        for measure in self.measures if len(names) > 2 and self.options.paired else ():
            values = np.column_stack([self.scores[name][measure] for name in names])
            values = values[~np.isnan(values).any(axis=1)]
            if measure.kind in ("mean", "share") and len(values) > 1:
                pairs = tukey(values, self.options.level)
                system_pairs += [_name_pair(measure, names, pair) for pair in pairs]
        return system_pairs

    def movers(
        self,
        candidate: str | None = None,
        measure: Measure | str | None = None,
        n: int = 5,
        part: Slice | None = None,
    ) -> tuple[list[Mover], list[Mover]]:
        """The queries (of one slice) that improved most and those that lost most, by one measure."""
        if not self.options.paired:
            return [], []
        scored_measure = self.measures[0] if measure is None else parse(measure)
        self.find(scored_measure, candidate)  # raises an error if it was not compared
        before = self.scores[self.baseline]
        after = self.scores[candidate or self.candidates[0]]
        rows = np.arange(len(before.query_ids)) if part is None else np.array(part.rows, np.int64)
        gain = subtract(after[scored_measure], before[scored_measure])[rows]
        gain = np.nan_to_num(-gain if scored_measure.lower_is_better else gain)

        def movers_at(places: Ints) -> Iterator[Mover]:
            for row in rows[places].tolist():
                ends = float(before[scored_measure][row]), float(after[scored_measure][row])
                yield Mover(before.query_ids[row], *ends)

        best, worst = (np.argsort(order, kind="stable")[:n] for order in (-gain, gain))
        return list(movers_at(best[gain[best] > 0])), list(movers_at(worst[gain[worst] < 0]))


def _name_pair(measure: Measure, names: Sequence[str], pair: PairDifference) -> SystemPair:
    low, high = (max(-1.0, pair.low), min(1.0, pair.high)) if measure.is_bounded else (pair.low, pair.high)
    return SystemPair(str(measure), names[pair.first], names[pair.second], pair.difference, low, high, pair.p)


def compare(
    qrels: Any,
    baseline: Any,
    candidates: Any,
    measures: Iterable[Measure | str] | Measure | str = COMPARISON_MEASURES,
    queries: Any = None,
    by: Sequence[str] = (),
    *,
    documents: Any = None,
    only_common: bool = False,
    configurations: Mapping[str, Mapping[str, Any]] | None = None,
    test: str = "t",
    correction: str = "holm",
    margin: float = DEFAULT_MARGIN,
    level: float = 0.95,
    seed: int = 0,
    permutations: int | None = None,
    order: ScoreOrder = DEFAULT_ORDER,
) -> Comparisons:
    """Compare a baseline run with one candidate or a list of them, per measure and slice.

    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    >>> before, after = {"q1": ["a"], "q2": ["x", "b"], "q3": ["x"]}, {"q1": ["a"], "q2": ["b"], "q3": ["c"]}
    >>> compare(qrels, before, after, ["RR@10"]).find("RR@10").wins
    2
    """
    options = ComparisonOptions(test, correction, margin, level, seed, permutations)
    is_list = isinstance(candidates, list | tuple) and not _is_rows(candidates)
    runs = list(candidates) if is_list else [candidates]
    if not runs:
        raise InputError("expected at least one candidate, found none")
    parsed_measures = parse_measures(measures)
    inputs = {"documents": documents, "level": level, "seed": seed, "keep": OVERLAP_DEPTH, "order": order}
    evaluations = [evaluate(qrels, run, parsed_measures, queries, by, **inputs) for run in (baseline, *runs)]
    return compare_evaluations(name_distinctly(evaluations), options, only_common, configurations or {})


def _is_rows(items: Sequence[Any]) -> bool:
    """Whether a list contains the rows of one run rather than several runs."""
    first = items[0] if items else None
    return isinstance(first, Mapping) and all(isinstance(v, str | int | float) for v in first.values())


def name_distinctly(evaluations: list[Evaluation]) -> list[Evaluation]:
    """The evaluations under names that differ: if names are equal, baseline and candidate are used."""
    names = [e.name for e in evaluations]
    if len(set(names)) == len(names):
        return evaluations
    candidates = [f"candidate {place}" for place in range(1, len(names))]
    names = ["baseline", *(candidates if len(candidates) > 1 else ["candidate"])]
    return [evaluation.with_name(name) for evaluation, name in zip(evaluations, names, strict=True)]


def compare_evaluations(
    evaluations: Sequence[Evaluation],
    options: ComparisonOptions,
    only_common: bool = False,
    configurations: Mapping[str, Mapping[str, Any]] | None = None,
) -> Comparisons:
    """Compare evaluations of the same judgments, the first of them the baseline."""
    unknown = set(configurations or {}) - {e.name for e in evaluations}
    if unknown:
        names = ", ".join(e.name for e in evaluations)
        raise InputError(f"expected configurations of {names}, found one of {', '.join(sorted(unknown))}")
    rows = _compared_rows(evaluations, only_common)
    scores = {e.name: e.scores.take(rows) for e in evaluations}
    slices = [part.restrict_to(rows) for part in evaluations[0].slices]
    first = evaluations[0]
    comparisons = compare_scores(
        scores[first.name],
        {e.name: scores[e.name] for e in evaluations[1:]},
        slices,
        baseline_name=first.name,
        options=options,
    )
    tops = [e.matches.top for e in evaluations if e.matches is not None and e.matches.top.depth]
    overlap_values = [measure_overlap(tops[0], top, level=options.level, rows=rows) for top in tops[1:]]
    return replace(
        comparisons,
        counts={e.name: e.counts for e in evaluations},
        unjudged={e.name: _unjudged_ranges(e, rows) for e in evaluations},
        overlaps=dict(zip(comparisons.candidates, overlap_values, strict=True)) if overlap_values else {},
        configuration=differing_settings(configurations or {}),
        excluded_queries=len(first.scores.query_ids) - len(rows),
        evaluations=tuple(evaluations),
    )


def _compared_rows(evaluations: Sequence[Evaluation], only_common: bool) -> Ints:
    """The rows of the queries that are compared."""
    rows = np.arange(len(evaluations[0].scores.query_ids))
    if not only_common:
        return rows
    in_run = [e.matches.in_run for e in evaluations if e.matches is not None]
    common_rows = rows[np.logical_and.reduce(in_run)]
    if not len(common_rows):
        raise UndecidableError("no judged query is in all runs; check that they answer the same queries")
    return common_rows


def _unjudged_ranges(evaluation: Evaluation, rows: Ints) -> dict[str, UnjudgedRange]:
    """The unjudged range of each measure that has a cutoff."""
    ranges: dict[str, UnjudgedRange] = {}
    for m in evaluation.measures if evaluation.matches is not None else ():
        if m.depth and m.name != "Judged" and evaluation.matches is not None:
            low, high = unjudged_range(m, evaluation.matches)
            ranges[str(m)] = tuple(central_value(v[rows], m.kind, quantile_of(m)) for v in (low, high))  # type: ignore[assignment]
    return ranges


def compare_scores(
    baseline: Scores,
    candidates: Mapping[str, Scores],
    slices: Sequence[Slice] = (),
    *,
    baseline_name: str = "baseline",
    options: ComparisonOptions | None = None,
) -> Comparisons:
    """Compare scores that were computed elsewhere, measure by measure.

    If paired, the queries that all have are compared; if not (`ComparisonOptions(paired=False)`), each
    system has its own queries. Slices are by the baseline's queries.
    """
    options = options or ComparisonOptions()
    if baseline_name in candidates:
        raise InputError(
            f"expected a candidate with a name that differs from the baseline's, found {baseline_name!r}"
        )
    scores_by_name = {
        name: _with_canonical_names(scores)
        for name, scores in {baseline_name: baseline, **candidates}.items()
    }
    measures = _shared_measures(scores_by_name)
    before = len(baseline.query_ids)
    if options.paired:
        scores_by_name, slices = _align_queries(scores_by_name, slices)
    elif slices:
        raise InputError("slices need paired queries; compare each slice separately")
    rows = _compare_all(scores_by_name, baseline_name, measures, slices, options)
    excluded_count = before - len(scores_by_name[baseline_name].query_ids)
    names = list(candidates)
    return Comparisons(
        baseline_name, names, measures, rows, options, scores_by_name, excluded_queries=excluded_count
    )


def _compare_all(
    scores_by_name: Mapping[str, Scores],
    baseline_name: str,
    measures: Sequence[Measure],
    slices: Sequence[Slice],
    options: ComparisonOptions,
) -> list[Comparison]:
    """The comparisons of all candidates, the slices of a measure after each other."""
    subjects = [Subject(str(m), m.kind, quantile_of(m), m.lower_is_better, m.is_bounded) for m in measures]
    candidates = [name for name in scores_by_name if name != baseline_name]
    baseline = scores_by_name[baseline_name]
    rows = []
    for name in candidates:
        for part in (None, *slices):
            rows += _compare_slice(subjects, baseline, scores_by_name[name], part, name, options)
    rows = [replace(row, baseline_name=baseline_name) for row in _correct_rows(rows, options.correction)]
    place = {pair: i for i, pair in enumerate((name, str(m)) for name in candidates for m in measures)}
    return sorted(rows, key=lambda row: place[row.candidate_name, row.measure])


def _with_canonical_names(scores: Scores) -> Scores:
    """The scores under the canonical names of their measures: ndcg_cut_10 is nDCG@10."""
    return Scores(scores.query_ids, {str(parse(name)): values for name, values in scores.values.items()})


def _shared_measures(scores_by_name: Mapping[str, Scores]) -> tuple[Measure, ...]:
    """The measures that all scores have."""
    first, *others = scores_by_name.values()
    names = [name for name in first.values if all(name in scores.values for scores in others)]
    if not names:
        raise UndecidableError("the scores share no measure; compute the same measures for all")
    return tuple(parse(name) for name in names)


def _align_queries(
    scores_by_name: Mapping[str, Scores], slices: Sequence[Slice]
) -> tuple[dict[str, Scores], list[Slice]]:
    """The scores of the queries that all have, in the same order."""
    first, *others = scores_by_name.values()
    if all(list(scores.query_ids) == list(first.query_ids) for scores in others):
        return dict(scores_by_name), list(slices)
    common = set(first.query_ids).intersection(*(scores.query_ids for scores in others))
    if not common:
        raise UndecidableError("the scores share no query; check that all use the same query ids")
    order = [query for query in first.query_ids if query in common]
    aligned_scores = {}
    for name, scores in scores_by_name.items():
        row = {query: i for i, query in enumerate(scores.query_ids)}
        aligned_scores[name] = scores.take(np.array([row[query] for query in order]))
    kept_rows = np.array([i for i, query in enumerate(first.query_ids) if query in common])
    return aligned_scores, [part.restrict_to(kept_rows) for part in slices]


def _compare_slice(
    subjects: list[Subject],
    baseline: Scores,
    candidate: Scores,
    part: Slice | None,
    name: str,
    options: ComparisonOptions,
) -> list[Comparison]:
    """The comparisons of one candidate in one slice, or over all queries."""

    def table(scores: Scores) -> Floats:
        columns = [scores[s.measure] for s in subjects]
        return np.column_stack(columns if part is None else [c[part.rows] for c in columns])

    comparisons = compare_columns(
        subjects,
        table(baseline),
        table(candidate),
        paired=options.paired,
        test=options.test,
        level=options.level,
        seed=options.seed,
        permutations=options.permutations,
    )
    column, value = (part.column, part.value) if part else ("", "")
    return [replace(row, candidate_name=name, column=column, value=value) for row in comparisons]


def _correct_rows(rows: list[Comparison], correction: str) -> list[Comparison]:
    """The comparisons with p corrected for all of them together."""
    overall = [row for row in rows if not row.column]
    parts = [row for row in rows if row.column]
    ps = correct_p_values([row.p for row in overall], [row.p for row in parts], correction)
    pairs = zip((*overall, *parts), (*ps[0], *ps[1]), strict=True)
    return [replace(row, corrected_p=p) for row, p in pairs]
