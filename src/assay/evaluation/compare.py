"""Baseline against candidates: every measure and slice, paired by query, corrected, read out in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.core.errors import InputError, UndecidableError
from assay.core.tables import Scores
from assay.core.texts import Floats, Ints
from assay.evaluation.configuration import differing
from assay.evaluation.evaluate import Counts, Ends, Evaluation, chosen, evaluate, quantile_of, unjudged_range
from assay.evaluation.overlap import DEEP, Overlap, overlap
from assay.evaluation.readings import Reading, read_out
from assay.evaluation.slices import Slice
from assay.measures import Measure, parse
from assay.stats import central
from assay.stats.comparison import Comparison, Subject, compare_columns
from assay.stats.families import CORRECTIONS, corrected, tukey
from assay.stats.paired import TESTS
from assay.stats.power import Size, size

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPARED = ("nDCG@10", "R@10", "P@10", "RR@10", "Robustness(delta=0.3)@10", "ZeroHit@10")
MARGIN = 0.01


class Mover(NamedTuple):
    """A query that got better or worse."""

    query_id: str
    baseline: float
    candidate: float

    @property
    def difference(self) -> float:
        """Candidate - baseline."""
        return self.candidate - self.baseline


class AllPairs(NamedTuple):
    """Two of many systems by one measure, corrected for all pairs (Tukey's HSD)."""

    measure: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Options:
    """How differences are tested."""

    test: str = "t"
    correction: str = "holm"
    margin: float = MARGIN
    level: float = 0.95
    seed: int = 0
    permutations: int | None = None
    paired: bool = True

    def __post_init__(self) -> None:
        for name, value, known in (
            ("test", self.test, tuple(TESTS)),
            ("correction", self.correction, CORRECTIONS),
        ):
            if value not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}, found {value!r}")
        if not 0 < self.level < 1:
            raise InputError(f"the level of an interval must lie between 0 and 1, found {self.level}")
        if not 0 < self.margin < 1:
            raise InputError(f"the margin must be above 0 and below 1, found {self.margin}")
        if self.permutations is not None and self.permutations < 1:
            raise InputError(f"expected at least one permutation, found {self.permutations}")


@dataclass(frozen=True)
class Comparisons:
    """A baseline and its candidates, compared."""

    baseline: str
    candidates: list[str]
    measures: tuple[Measure, ...]
    rows: list[Comparison]
    options: Options
    scores: dict[str, Scores] = field(repr=False)
    counts: dict[str, Counts] = field(default_factory=dict)
    unjudged: dict[str, dict[str, Ends]] = field(default_factory=dict)  # system, measure
    overlaps: dict[str, Overlap] = field(default_factory=dict)
    configuration: dict[str, dict[str, Any]] = field(default_factory=dict)  # only what differs
    left_out: int = 0  # queries that not all systems have
    slices: list[Slice] = field(default_factory=list, repr=False)
    evaluations: tuple[Evaluation, ...] = field(default=(), repr=False)  # the baseline's first

    def __repr__(self) -> str:
        names = ", ".join(self.candidates)
        said = ", ".join(reading.key for reading in self.readings)
        return f"Comparisons({self.baseline!r} against {names}: {len(self.rows)} comparisons; {said})"

    def of(self, candidate: str) -> list[Comparison]:
        """The comparisons of one candidate."""
        return [row for row in self.rows if row.candidate_name == candidate]

    def find(
        self, measure: Measure | str, candidate: str | None = None, column: str = "", value: str = ""
    ) -> Comparison:
        """One comparison: of all queries, unless a slice is named; of the first candidate, unless named.

        >>> made = compare({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["x", "a"], "q2": ["b"]},
        ...                {"q1": ["a"], "q2": ["b"]}, ["RR@10"])
        >>> made.find("RR@10").difference.value
        0.25
        """
        wanted = (str(parse(measure)), candidate or self.candidates[0], column, value)
        for row in self.rows:
            if (row.measure, row.candidate_name, row.column, row.value) == wanted:
                return row
        asked = f"{wanted[1]!r} by {wanted[0]} in {column or 'all'}{value and ': '}{value}"
        raise InputError(
            f"nothing was compared of {asked}; expected one of {', '.join(self.candidates)} "
            f"by {', '.join(map(str, self.measures))}"
        )

    @cached_property
    def readings(self) -> list[Reading]:
        """What the numbers mean, in words."""
        return [reading for name in self.candidates for reading in self._readings(name)]

    def _readings(self, name: str) -> list[Reading]:
        before, after = (self.unjudged.get(system, {}) for system in (self.baseline, name))
        ranges = {measure: (before[measure], after[measure]) for measure in before if measure in after}
        return read_out(self.of(name), self.options.margin, ranges)

    @cached_property
    def sizes(self) -> dict[str, dict[str, Size]]:
        """What this set of queries can tell, for each candidate and measure."""
        alpha = 1 - self.options.level
        made: dict[str, dict[str, Size]] = {}
        for row in self.rows:
            if not row.column and row.deviation is not None:
                made.setdefault(row.candidate_name, {})[row.measure] = size(
                    row.difference.n, row.deviation, self.options.margin, alpha
                )
        return made

    @cached_property
    def all_pairs(self) -> list[AllPairs]:
        """Every two of three systems or more, by every measure that is a mean over the queries."""
        names = [self.baseline, *self.candidates]
        made = []
        for measure in self.measures if len(names) > 2 and self.options.paired else ():
            values = np.column_stack([self.scores[name][measure] for name in names])
            values = values[~np.isnan(values).any(axis=1)]
            if measure.kind in ("mean", "share") and len(values) > 1:
                pairs = tukey(values, self.options.level)
                made += [AllPairs(str(measure), names[p.first], names[p.second], *p[2:]) for p in pairs]
        return made

    def movers(
        self,
        candidate: str | None = None,
        measure: Measure | str | None = None,
        n: int = 5,
        part: Slice | None = None,
    ) -> tuple[list[Mover], list[Mover]]:
        """The queries (of one slice) that got most better and those that got most worse, by one measure."""
        if not self.options.paired:
            return [], []
        chosen_measure = self.measures[0] if measure is None else parse(measure)
        self.find(chosen_measure, candidate)  # or say that it was not compared
        before = self.scores[self.baseline]
        after = self.scores[candidate or self.candidates[0]]
        rows = np.arange(len(before.query_ids)) if part is None else np.array(part.rows, np.int64)
        gain = (after[chosen_measure] - before[chosen_measure])[rows]
        gain = np.nan_to_num(-gain if chosen_measure.lower_is_better else gain)

        def moved(places: Ints) -> Iterator[Mover]:
            for row in rows[places].tolist():
                ends = float(before[chosen_measure][row]), float(after[chosen_measure][row])
                yield Mover(before.query_ids[row], *ends)

        up, down = (np.argsort(way, kind="stable")[:n] for way in (-gain, gain))
        return list(moved(up[gain[up] > 0])), list(moved(down[gain[down] < 0]))


def compare(
    qrels: Any,
    baseline: Any,
    candidates: Any,
    measures: Iterable[Measure | str] | Measure | str = COMPARED,
    queries: Any = None,
    by: Sequence[str] = (),
    *,
    documents: Any = None,
    only_common: bool = False,
    configurations: Mapping[str, Mapping[str, Any]] | None = None,
    test: str = "t",
    correction: str = "holm",
    margin: float = MARGIN,
    level: float = 0.95,
    seed: int = 0,
    permutations: int | None = None,
) -> Comparisons:
    """Compare a baseline run with one candidate or a list of them, per measure and slice.

    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    >>> before, after = {"q1": ["a"], "q2": ["x", "b"], "q3": ["x"]}, {"q1": ["a"], "q2": ["b"], "q3": ["c"]}
    >>> compare(qrels, before, after, ["RR@10"]).find("RR@10").wins
    2
    """
    options = Options(test, correction, margin, level, seed, permutations)
    several = isinstance(candidates, list | tuple) and not _is_rows(candidates)
    given = list(candidates) if several else [candidates]
    if not given:
        raise InputError("expected at least one candidate, found none")
    wanted = chosen(measures)
    made = [
        evaluate(qrels, run, wanted, queries, by, documents=documents, level=level, seed=seed, keep=DEEP)
        for run in (baseline, *given)
    ]
    return compare_evaluations(named(made), options, only_common, configurations or {})


def _is_rows(given: Sequence[Any]) -> bool:
    """Whether a list holds the rows of one run rather than several runs."""
    first = given[0] if given else None
    return isinstance(first, Mapping) and all(isinstance(v, str | int | float) for v in first.values())


def named(evaluations: list[Evaluation]) -> list[Evaluation]:
    """The evaluations with names that differ: runs without a name of their own are called by their part."""
    names = [e.name for e in evaluations]
    if len(set(names)) < len(names):
        many = len(names) > 2
        for place, evaluation in enumerate(evaluations):
            evaluation.name = f"candidate {place}" if place and many else "candidate" if place else "baseline"
    return evaluations


def compare_evaluations(
    evaluations: Sequence[Evaluation],
    options: Options,
    only_common: bool = False,
    configurations: Mapping[str, Mapping[str, Any]] | None = None,
) -> Comparisons:
    """Compare evaluations of the same judgments, the first of them the baseline."""
    unknown = set(configurations or {}) - {e.name for e in evaluations}
    if unknown:
        names = ", ".join(e.name for e in evaluations)
        raise InputError(f"expected configurations of {names}, found one of {', '.join(sorted(unknown))}")
    kept = _kept(evaluations, only_common)
    scores = {e.name: e.scores.take(kept) for e in evaluations}
    slices = [part.among(kept) for part in evaluations[0].slices]
    first = evaluations[0]
    made = compare_scores(
        scores[first.name],
        {e.name: scores[e.name] for e in evaluations[1:]},
        slices,
        baseline_name=first.name,
        options=options,
    )
    tops = [e.matches.top for e in evaluations if e.matches is not None]
    likeness = [overlap(tops[0], top, level=options.level, seed=options.seed, kept=kept) for top in tops[1:]]
    return replace(
        made,
        counts={e.name: e.counts for e in evaluations},
        unjudged={e.name: _ranges(e, kept) for e in evaluations},
        overlaps=dict(zip(made.candidates, likeness, strict=True)) if likeness else {},
        configuration=differing(configurations or {}),
        left_out=len(first.scores.query_ids) - len(kept),
        evaluations=tuple(evaluations),
    )


def _kept(evaluations: Sequence[Evaluation], only_common: bool) -> Ints:
    """The queries that are compared, by their place."""
    rows = np.arange(len(evaluations[0].scores.query_ids))
    if not only_common:
        return rows
    returned = [e.matches.returned for e in evaluations if e.matches is not None]
    kept = rows[np.logical_and.reduce(returned)]
    if not len(kept):
        raise UndecidableError("no judged query is in all runs; check that they answer the same queries")
    return kept


def _ranges(evaluation: Evaluation, kept: Ints) -> dict[str, Ends]:
    """The unjudged range of each measure that looks at a top k only."""
    made: dict[str, Ends] = {}
    for m in evaluation.measures if evaluation.matches is not None else ():
        if m.depth and m.name != "Judged" and evaluation.matches is not None:
            low, high = unjudged_range(m, evaluation.matches)
            made[str(m)] = tuple(central(v[kept], m.kind, quantile_of(m)) for v in (low, high))  # type: ignore[assignment]
    return made


def compare_scores(
    baseline: Scores,
    candidates: Mapping[str, Scores],
    slices: Sequence[Slice] = (),
    *,
    baseline_name: str = "baseline",
    options: Options | None = None,
) -> Comparisons:
    """Compare scores that were worked out elsewhere, measure by measure.

    Paired, a query counts that all have; not paired (`Options(paired=False)`), each has queries of its own.
    Slices are by the baseline's queries.
    """
    options = options or Options()
    if baseline_name in candidates:
        raise InputError(
            f"expected a candidate with a name of its own, found the baseline's, {baseline_name!r}"
        )
    everyone = {name: _spelled(scores) for name, scores in {baseline_name: baseline, **candidates}.items()}
    measures = _shared_measures(everyone)
    before = len(baseline.query_ids)
    if options.paired:
        everyone, slices = _aligned(everyone, slices)
    elif slices:
        raise InputError("slices need paired queries; compare each slice by itself")
    subjects = [Subject(str(m), m.kind, quantile_of(m), m.lower_is_better) for m in measures]
    rows = []
    for name in candidates:
        for part in (None, *slices):
            rows += _compared(subjects, everyone[baseline_name], everyone[name], part, name, options)
    rows = [replace(row, baseline_name=baseline_name) for row in _corrected(rows, options.correction)]
    place = {(name, str(m)): i for i, (name, m) in enumerate((n, m) for n in candidates for m in measures)}
    rows.sort(key=lambda row: place[row.candidate_name, row.measure])  # the slices of a measure together
    left_out = before - len(everyone[baseline_name].query_ids)
    return Comparisons(baseline_name, list(candidates), measures, rows, options, everyone, left_out=left_out)


def _spelled(scores: Scores) -> Scores:
    """The scores under the names that measures have here: ndcg_cut_10 is nDCG@10."""
    return Scores(scores.query_ids, {str(parse(name)): values for name, values in scores.values.items()})


def _shared_measures(everyone: Mapping[str, Scores]) -> tuple[Measure, ...]:
    """The measures that all scores have."""
    first, *others = everyone.values()
    shared = [name for name in first.values if all(name in scores.values for scores in others)]
    if not shared:
        raise UndecidableError("the scores share no measure; compute the same measures for all")
    return tuple(parse(name) for name in shared)


def _aligned(
    everyone: Mapping[str, Scores], slices: Sequence[Slice]
) -> tuple[dict[str, Scores], list[Slice]]:
    """The scores of the queries that all have, in one order."""
    first, *others = everyone.values()
    if all(list(scores.query_ids) == list(first.query_ids) for scores in others):
        return dict(everyone), list(slices)
    common = set(first.query_ids).intersection(*(scores.query_ids for scores in others))
    if not common:
        raise UndecidableError("the scores share no query; check that all use the same query ids")
    order = [query for query in first.query_ids if query in common]
    made = {}
    for name, scores in everyone.items():
        row = {query: i for i, query in enumerate(scores.query_ids)}
        made[name] = scores.take(np.array([row[query] for query in order]))
    kept = np.array([i for i, query in enumerate(first.query_ids) if query in common])
    return made, [part.among(kept) for part in slices]


def _compared(
    subjects: list[Subject],
    baseline: Scores,
    candidate: Scores,
    part: Slice | None,
    name: str,
    options: Options,
) -> list[Comparison]:
    """The comparisons of one candidate in one slice, or over all queries."""

    def table(scores: Scores) -> Floats:
        columns = [scores[s.measure] for s in subjects]
        return np.column_stack(columns if part is None else [c[part.rows] for c in columns])

    made = compare_columns(
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
    return [replace(row, candidate_name=name, column=column, value=value) for row in made]


def _corrected(rows: list[Comparison], correction: str) -> list[Comparison]:
    """The comparisons with p corrected for all that are asked at once."""
    whole = [row for row in rows if not row.column]
    parts = [row for row in rows if row.column]
    ps = corrected([row.p for row in whole], [row.p for row in parts], correction)
    made = zip((*whole, *parts), (*ps[0], *ps[1]), strict=True)
    return [replace(row, corrected=p) for row, p in made]
