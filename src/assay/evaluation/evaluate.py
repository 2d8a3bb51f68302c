"""Scores of a run for each query, and estimates for each measure and slice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.core.errors import InputError
from assay.core.pair_probabilities import PairProbabilities
from assay.core.score_order import ScoreOrder
from assay.core.tables import Documents, Qrels, Queries, Run, Scores, none_for_nan
from assay.evaluation.matching import Matches, match
from assay.evaluation.order_warnings import order_warnings
from assay.evaluation.pair_weights import PairWeights, weigh_pairs
from assay.evaluation.query_weights import QueryWeights, has_unequal_probabilities, read_weights
from assay.measures import Measure, parse
from assay.measures.sampled import compute_sampled
from assay.stats import Estimate, central_value, estimate
from assay.stats.bounded_means import UNIT, Bounds
from assay.stats.weighted import weighted_central_value, weighted_estimate

if TYPE_CHECKING:
    from assay.evaluation.slices import Slice

UnjudgedRange = tuple[
    float | None, float | None
]  # if the unjudged documents were irrelevant, and if they were relevant
DEFAULT_ORDER = ScoreOrder()
DEFAULT_MEASURES = ("nDCG@10", "R@10", "RR@10", "Robustness(delta=0.3)@10", "ZeroHit@10")


class Counts(NamedTuple):
    """How many queries were evaluated, and how many could not be."""

    judged_queries: int
    missing_from_run: int
    unjudged_in_run: int
    ties_at_cutoff: int
    without_relevant: int
    judged_returned: int  # judged documents that were returned, over all queries


class SliceEstimates(NamedTuple):
    """The estimates of one slice."""

    column: str
    value: str
    n: int
    estimates: dict[str, Estimate]
    unjudged: dict[str, UnjudgedRange]


class Evaluation:
    """The scores of one run. Estimates are computed on first access."""

    def __init__(
        self,
        name: str,
        measures: tuple[Measure, ...],
        scores: Scores,
        counts: Counts,
        slices: Sequence[Slice] = (),
        ranges: Mapping[str, tuple[Floats, Floats]] | None = None,
        level: float = 0.95,
        seed: int = 0,
        matches: Matches | None = None,
        order: ScoreOrder = DEFAULT_ORDER,
        warnings: Sequence[str] = (),
        weights: QueryWeights | None = None,
        pairs: PairWeights | None = None,
    ) -> None:
        self.name, self.measures, self.scores, self.counts = name, measures, scores, counts
        self.matches = matches  # the ranks of the judged documents, by the queries of the qrels
        self.slices, self.ranges, self.level, self.seed = slices, ranges or {}, level, seed
        self.order = order  # in which the documents were ranked
        self.warnings = warnings  # reasons to doubt that the scores are of the ranking that was meant
        self.weights = weights  # what each query stands for, in the order of the scores; None: all the same
        self.pairs = pairs  # what each judgment stands for, if not all were judged for certain

    def with_name(self, name: str) -> Evaluation:
        """Return the same evaluation under another name."""
        renamed = copy(self)
        renamed.name = name
        return renamed

    def restrict_to(self, rows: Ints | None) -> Evaluation:
        """Return the evaluation of the judged queries at these rows; None: of all."""
        if rows is None:
            return self
        part = copy(self)
        part.scores = self.scores.take(rows)
        part.ranges = {m: (low[rows], high[rows]) for m, (low, high) in self.ranges.items()}
        part.slices = [each.restrict_to(rows) for each in self.slices]
        part.weights = None if self.weights is None else self.weights.restrict_to(rows)
        return part

    def __repr__(self) -> str:
        values = ((m, self._central_value(m, self.scores[m])) for m in self.measures)
        summaries = ", ".join(f"{m} undefined" if v is None else f"{m} {v:.4f}" for m, v in values)
        warnings = "".join(f"; warning: {warning}" for warning in self.warnings)
        return f"Evaluation({self.name!r}, {self.counts.judged_queries:,} queries: {summaries}{warnings})"

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Each measure over all queries."""
        return {str(m): self._estimate(m, self.scores[m]) for m in self.measures}

    @cached_property
    def slice_estimates(self) -> list[SliceEstimates]:
        """Each measure over each slice."""
        return [self._estimate_slice(part) for part in self.slices]

    def _estimate_slice(self, part: Slice) -> SliceEstimates:
        rows = np.array(part.rows, np.int64)
        estimates = {str(m): self._estimate(m, self.scores[m][rows], rows) for m in self.measures}
        return SliceEstimates(part.column, part.value, len(rows), estimates, self._central_ranges(rows))

    def _estimate(self, measure: Measure, values: Floats, rows: Ints | None = None) -> Estimate:
        q, bounds = quantile_of(measure), bounds_of(measure) if self.pairs is None else None
        sample = None if self.weights is None else self.weights.sample_of(rows)
        if sample is None:
            return estimate(values, measure.kind, self.level, q, bounds)
        return weighted_estimate(values, sample, measure.kind, self.level, q, bounds)

    def _central_value(self, measure: Measure, values: Floats, rows: Ints | None = None) -> float | None:
        sample = None if self.weights is None else self.weights.sample_of(rows)
        if sample is None:
            return central_value(values, measure.kind, quantile_of(measure))
        return weighted_central_value(values, sample, measure.kind, quantile_of(measure))

    @cached_property
    def unjudged(self) -> dict[str, UnjudgedRange]:
        """Each measure if all unjudged documents in its top k were irrelevant, and if all were relevant."""
        return self._central_ranges(np.arange(len(self.scores.query_ids)))

    def _central_ranges(self, rows: Ints) -> dict[str, UnjudgedRange]:
        central_ranges: dict[str, UnjudgedRange] = {}
        for m in self.measures if self.ranges else ():
            irrelevant, relevant = (self._central_value(m, v[rows], rows) for v in self.ranges[str(m)])
            central_ranges[str(m)] = (irrelevant, relevant)
        return central_ranges

    def worst(self, measure: Measure | str | None = None, n: int = 5) -> list[tuple[str, float]]:
        """The queries with the worst values of a measure (by default the first)."""
        scored_measure = self.measures[0] if measure is None else parse(measure)
        if scored_measure not in self.measures:
            names = ", ".join(map(str, self.measures))
            raise InputError(
                f"expected one of the measures that were computed ({names}), found {scored_measure}"
            )
        values = self.scores[scored_measure]
        order = np.argsort(-values if scored_measure.lower_is_better else values, kind="stable")[:n]
        return [(self.scores.query_ids[i], float(values[i])) for i in order if values[i] == values[i]]

    def to_dict(self, per_query: bool = False) -> dict[str, Any]:
        """The evaluation as plain data, with the keys that `assay eval --format json` prints."""
        data: dict[str, Any] = {
            "name": self.name,
            "counts": self.counts._asdict(),
            "mean": _estimates_to_dict(self.estimates, self.unjudged),
        }
        if self.weights is not None and self.weights.sample is not None:
            data["weights"] = self.weights.to_dict()
        if self.pairs is not None:
            data["pool"] = self.pairs.to_dict()
        if self.slices:
            data["slices"] = [
                {"column": s.column, "value": s.value, "n": s.n}
                | {"mean": _estimates_to_dict(s.estimates, s.unjudged)}
                for s in self.slice_estimates
            ]
        if per_query:
            data["per_query"] = self.scores.to_dict()
        if per_query and self.ranges:
            data["per_query_unjudged"] = self._ranges_per_query()
        return data

    def _ranges_per_query(self) -> dict[str, dict[str, dict[str, float | None]]]:
        ends = {m: (none_for_nan(low), none_for_nan(high)) for m, (low, high) in self.ranges.items()}
        return {
            query: {m: {"irrelevant": low[i], "relevant": high[i]} for m, (low, high) in ends.items()}
            for i, query in enumerate(self.scores.query_ids)
        }


def estimate_measure(measure: Measure, values: Floats, level: float) -> Estimate:
    """Aggregate the values of a measure, with an interval."""
    return estimate(values, measure.kind, level, quantile_of(measure), bounds_of(measure))


def bounds_of(measure: Measure) -> Bounds | None:
    """The bounds of the values of a measure; None if they are unknown."""
    return UNIT if measure.is_bounded else None


def quantile_of(measure: Measure) -> float:
    """The share q of a quantile; 0.5 for other measures."""
    return float(measure.params.get("q", 0.5))


def _estimates_to_dict(estimates: dict[str, Estimate], unjudged: dict[str, UnjudgedRange]) -> dict[str, Any]:
    """Estimates as plain data."""
    data: dict[str, Any] = {}
    for measure, e in estimates.items():
        data[measure] = e.to_dict() | ({"too_narrow": True} if e.is_narrow else {})
        if measure in unjudged:
            irrelevant, relevant = unjudged[measure]
            data[measure]["unjudged"] = {"irrelevant": irrelevant, "relevant": relevant}
    return data


def evaluate(
    qrels: Any,
    run: Any,
    measures: Iterable[Measure | str] | Measure | str = DEFAULT_MEASURES,
    queries: Any = None,
    by: Sequence[str] = (),
    *,
    documents: Any = None,
    only_common: bool = False,
    unjudged: bool = False,
    level: float = 0.95,
    seed: int = 0,
    keep: int = 0,
    order: ScoreOrder = DEFAULT_ORDER,
    population: str = "judged",
    pool: PairProbabilities | None = None,
) -> Evaluation:
    """Score a run against judgments (or a collection with judgments), per query and per slice.

    `keep` is the number of documents of each query whose ids are kept, for comparing runs; `order` says
    how scores order documents. `population` says what the means are of: the judged queries, equally
    (`judged`), or by the inclusion probabilities of the query table all different queries (`queries`) or all
    issued ones (`traffic`). `pool` has the inclusion probabilities of judgments.

    >>> result = evaluate({"q1": {"a": 1}}, {"q1": {"a": 0.9, "b": 0.1}}, ["RR@10"])
    >>> result.estimates["RR@10"].value
    1.0
    """
    parsed_measures = parse_measures(measures)
    if not 0 < level < 1:
        raise InputError(f"the level of an interval must lie between 0 and 1, found {level}")
    qrels, table, documents = unpack_judgments(qrels, queries, documents)
    source = order.apply(run if hasattr(run, "blocks") else Run(run))
    matches = match(qrels, source, sorted({m.depth for m in parsed_measures if m.depth}), table, keep)
    weights = read_weights(table, qrels.query_ids, population)
    pairs = _weigh_pairs(qrels, pool, unjudged)
    scores = Scores(qrels.query_ids, {str(m): _compute(m, matches, pairs) for m in parsed_measures})
    ranges = {str(m): unjudged_range(m, matches) for m in parsed_measures} if unjudged else {}
    parts = _slices(by, table, qrels, documents, weights) if by else []
    warnings = order_warnings(matches.score_changes, source.rank_changes, order) + _qrels_warnings(
        qrels, table
    )
    warnings += _sample_warnings(table, weights, pairs)
    extras = (level, seed, matches, order, warnings, weights, pairs)
    result = Evaluation(source.name, parsed_measures, scores, _counts(matches), parts, ranges, *extras)
    return result.restrict_to(_rows_to_keep(matches, weights, only_common))


def _compute(measure: Measure, matches: Matches, pairs: PairWeights | None) -> Floats:
    if pairs is None:
        return measure.compute(matches.rankings)
    return compute_sampled(measure, pairs.sample(matches))


def _weigh_pairs(qrels: Qrels, pool: PairProbabilities | None, unjudged: bool) -> PairWeights | None:
    """Return the weights of judgments; None if all count the same."""
    pairs = None if pool is None else weigh_pairs(qrels, pool)
    if pairs is None or pairs.is_certain:
        return None
    if unjudged:
        raise InputError(
            "--unjudged and a pool with probabilities below 1 exclude each other: its weights already count "
            "the pairs that were not drawn"
        )
    return pairs


def _rows_to_keep(matches: Matches, weights: QueryWeights | None, only_common: bool) -> Ints | None:
    """Return the judged queries that count; None if all do."""
    is_kept = matches.in_run if only_common else np.ones(len(matches.in_run), np.bool_)
    if weights is not None and weights.outside:
        is_kept = is_kept & np.isin(np.arange(len(is_kept)), weights.rows)
    return None if is_kept.all() else np.flatnonzero(is_kept)


def _sample_warnings(
    queries: Queries | None, weights: QueryWeights | None, pairs: PairWeights | None
) -> list[str]:
    """Return what a reader must know of queries and judgments that were drawn at random."""
    warnings = [] if pairs is None else pairs.warnings
    if weights is not None:
        return warnings + weights.warnings
    if has_unequal_probabilities(queries):
        warnings.append(
            "the queries were drawn with unequal inclusion_probability, and the means are not "
            "weighted by them"
        )
    return warnings


def unpack_judgments(qrels: Any, queries: Any, documents: Any) -> tuple[Qrels, Queries | None, Any]:
    """Return judgments and queries as tables; a collection has queries and documents, too."""
    if hasattr(qrels, "qrels"):
        queries = qrels.queries if queries is None else queries
        documents = qrels.documents if documents is None else documents
        qrels = qrels.qrels
    qrels = qrels if isinstance(qrels, Qrels) else Qrels(qrels)
    return qrels, None if queries is None else Queries.from_data(queries), documents


def _slices(
    by: Sequence[str],
    queries: Queries | None,
    qrels: Qrels,
    documents: Any,
    weights: QueryWeights | None,
) -> list[Slice]:
    """The slices of all judged queries (or of those in a sample), which are the same for every run."""
    from assay.evaluation.slices import make_slices

    if queries is not None and queries.row_by_id.keys().isdisjoint(qrels.query_ids):
        raise InputError(
            f"the query table has none of the judged queries: expected ids such as {qrels.query_ids[0]!r}, "
            f"found {queries.ids[0]!r}; check that both use the same query ids"
        )
    columns = dict.fromkeys([by] if isinstance(by, str) else by)
    parts = make_slices(columns, qrels.query_ids, queries, qrels, _texts(documents))
    if weights is None or not weights.outside:
        return parts
    return [part for part in parts if not weights.lacks(part.rows)]


def _texts(documents: Any) -> Mapping[str, str] | None:
    """The text of each document, from {document: text} or a table."""
    is_text_mapping = isinstance(documents, Mapping) and all(
        isinstance(text, str) for text in documents.values()
    )
    return documents if documents is None or is_text_mapping else Documents.from_data(documents).texts()


def parse_measures(measures: Iterable[Measure | str] | Measure | str) -> tuple[Measure, ...]:
    """The measures, each once."""
    items = [measures] if isinstance(measures, str | Measure) else list(measures)
    if not items:
        raise InputError("expected at least one measure, such as nDCG@10, found none")
    return tuple(dict.fromkeys(parse(item) for item in items))


def _qrels_warnings(qrels: Qrels, queries: Queries | None) -> list[str]:
    """A warning if queries were given with no documents."""
    empty = qrels.empty_queries
    if not empty:
        return []
    has_texts = queries is not None and queries.has_derived_ids and "text" in queries.columns
    names = queries.column("text", empty[:3]) if queries is not None and has_texts else empty[:3]
    examples = ", ".join(map(str, names)) + (", …" if len(empty) > 3 else "")
    subject = "1 query has" if len(empty) == 1 else f"{len(empty):,} queries have"
    return [f"{subject} no judged documents in the file and no score: {examples}"]


def _counts(matches: Matches) -> Counts:
    return Counts(
        judged_queries=len(matches.in_run),
        missing_from_run=int((~matches.in_run).sum()),
        unjudged_in_run=len(matches.unjudged_queries),
        ties_at_cutoff=int(matches.has_tie.sum()),
        without_relevant=int((matches.rankings.relevant(1) == 0).sum()),
        judged_returned=len(matches.rankings.query),
    )


def unjudged_range(measure: Measure, matches: Matches) -> tuple[Floats, Floats]:
    """The values if every unjudged document in the top k were irrelevant, and if all were relevant."""
    rankings = matches.rankings
    irrelevant = measure.compute(rankings.with_unjudged_as(0, measure.depth))
    best = max(rankings.top_grade, least_relevant(measure))
    relevant = measure.compute(rankings.with_unjudged_as(best, measure.depth))
    return irrelevant, relevant


def least_relevant(measure: Measure) -> int:
    """The lowest grade that the measure counts as relevant."""
    inner = measure.params.get("of", measure)
    return int(inner.params.get("rel") or 1)
