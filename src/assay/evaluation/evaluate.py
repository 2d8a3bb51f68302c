"""Qrels + run + measures → scores for each query, and estimates for each measure and slice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.core.errors import InputError
from assay.core.groups import Blocks
from assay.core.tables import Documents, Qrels, Queries, Run, Scores, known
from assay.core.texts import Floats, Ints
from assay.evaluation.matching import Matches, match
from assay.measures import Measure, parse
from assay.stats import Estimate, central, estimate

if TYPE_CHECKING:
    from assay.evaluation.slices import Slice

Ends = tuple[float | None, float | None]  # were the unjudged irrelevant, and were they relevant
DEFAULT_MEASURES = ("nDCG@10", "R@10", "RR@10", "Robustness(delta=0.3)@10", "ZeroHit@10")


class Counts(NamedTuple):
    """How many queries stand behind the numbers, and which could not speak."""

    judged_queries: int
    missing_from_run: int
    unjudged_in_run: int
    ties_at_cutoff: int
    without_relevant: int
    judged_returned: int  # documents, over all queries


class SliceEstimates(NamedTuple):
    """The estimates of one slice."""

    column: str
    value: str
    n: int
    estimates: dict[str, Estimate]
    unjudged: dict[str, Ends]


class Evaluation:
    """The scores of one run. Estimates are worked out when they are asked for."""

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
    ) -> None:
        self.name, self.measures, self.scores, self.counts = name, measures, scores, counts
        self.matches = matches  # where the judged documents stand, by the qrels' queries
        self.slices, self.ranges, self.level, self.seed = slices, ranges or {}, level, seed

    def __repr__(self) -> str:
        values = ((m, central(self.scores[m], m.kind, quantile_of(m))) for m in self.measures)
        shown = ", ".join(f"{m} undefined" if v is None else f"{m} {v:.4f}" for m, v in values)
        return f"Evaluation({self.name!r}, {self.counts.judged_queries:,} queries: {shown})"

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Each measure over all queries."""
        return {str(m): self._estimate(m, self.scores[m]) for m in self.measures}

    @cached_property
    def by(self) -> list[SliceEstimates]:
        """Each measure over each slice."""
        return [self._slice(part) for part in self.slices]

    def _slice(self, part: Slice) -> SliceEstimates:
        rows = np.array(part.rows, np.int64)
        made = {str(m): self._estimate(m, self.scores[m][rows]) for m in self.measures}
        return SliceEstimates(part.column, part.value, len(rows), made, self._ends(rows))

    def _estimate(self, measure: Measure, values: Floats) -> Estimate:
        return estimate(values, measure.kind, self.level, self.seed, quantile_of(measure))

    @cached_property
    def unjudged(self) -> dict[str, Ends]:
        """Each measure, were all unjudged documents in its top k irrelevant, and were all relevant."""
        return self._ends(np.arange(len(self.scores.query_ids)))

    def _ends(self, rows: Ints) -> dict[str, Ends]:
        made: dict[str, Ends] = {}
        for m in self.measures if self.ranges else ():
            irrelevant, relevant = (central(v[rows], m.kind, quantile_of(m)) for v in self.ranges[str(m)])
            made[str(m)] = (irrelevant, relevant)
        return made

    def worst(self, measure: Measure | str | None = None, n: int = 5) -> list[tuple[str, float]]:
        """The queries that do worst by a measure (the first one, unless named)."""
        chosen = self.measures[0] if measure is None else parse(measure)
        if chosen not in self.measures:
            computed = ", ".join(map(str, self.measures))
            raise InputError(f"expected one of the measures that were computed ({computed}), found {chosen}")
        values = self.scores[chosen]
        order = np.argsort(-values if chosen.lower_is_better else values, kind="stable")[:n]
        return [(self.scores.query_ids[i], float(values[i])) for i in order if values[i] == values[i]]

    def to_dict(self, per_query: bool = False) -> dict[str, Any]:
        """The evaluation as plain data, with the keys that `assay eval --format json` prints."""
        made: dict[str, Any] = {
            "name": self.name,
            "counts": self.counts._asdict(),
            "mean": _plain(self.estimates, self.unjudged),
        }
        if self.slices:
            made["slices"] = [
                {"column": s.column, "value": s.value, "n": s.n} | {"mean": _plain(s.estimates, s.unjudged)}
                for s in self.by
            ]
        if per_query:
            made["per_query"] = self.scores.to_dict()
        if per_query and self.ranges:
            made["per_query_unjudged"] = self._ranges_per_query()
        return made

    def _ranges_per_query(self) -> dict[str, dict[str, dict[str, float | None]]]:
        ends = {m: (known(low), known(high)) for m, (low, high) in self.ranges.items()}
        return {
            query: {m: {"irrelevant": low[i], "relevant": high[i]} for m, (low, high) in ends.items()}
            for i, query in enumerate(self.scores.query_ids)
        }


def quantile_of(measure: Measure) -> float:
    """The share that a quantile asks for."""
    return float(measure.params.get("q", 0.5))


def _plain(estimates: dict[str, Estimate], unjudged: dict[str, Ends]) -> dict[str, Any]:
    """Estimates as plain data."""
    made: dict[str, Any] = {}
    for measure, e in estimates.items():
        made[measure] = e.to_dict()
        if measure in unjudged:
            irrelevant, relevant = unjudged[measure]
            made[measure]["unjudged"] = {"irrelevant": irrelevant, "relevant": relevant}
    return made


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
) -> Evaluation:
    """Score a run against judgments (or a collection that holds some), per query and per slice.

    `keep` keeps the ids of the first so many documents of each query, for those who compare them.

    >>> result = evaluate({"q1": {"a": 1}}, {"q1": {"a": 0.9, "b": 0.1}}, ["RR@10"])
    >>> result.estimates["RR@10"].value
    1.0
    """
    wanted = chosen(measures)
    if not 0 < level < 1:
        raise InputError(f"the level of an interval must lie between 0 and 1, found {level}")
    if hasattr(qrels, "qrels"):  # a collection: what lies beside the judgments comes with them
        queries = qrels.queries if queries is None else queries
        documents = qrels.documents if documents is None else documents
        qrels = qrels.qrels
    qrels = qrels if isinstance(qrels, Qrels) else Qrels(qrels)
    source: Blocks = run if hasattr(run, "blocks") else Run(run)
    table = None if queries is None else Queries.of(queries)
    matches = match(qrels, source, sorted({m.depth for m in wanted if m.depth}), table, keep)
    scores = Scores(qrels.query_ids, {str(m): m.compute(matches.rankings) for m in wanted})
    ranges = {str(m): unjudged_range(m, matches) for m in wanted} if unjudged else {}
    counts = _counts(matches)
    parts = _slices(by, table, qrels, documents) if by else []
    if only_common and counts.missing_from_run:
        kept = np.flatnonzero(matches.returned)
        scores = scores.take(kept)
        ranges = {m: (low[kept], high[kept]) for m, (low, high) in ranges.items()}
        parts = [part.among(kept) for part in parts]
    return Evaluation(source.name, wanted, scores, counts, parts, ranges, level, seed, matches)


def _slices(
    by: Sequence[str],
    queries: Queries | None,
    qrels: Qrels,
    documents: Any,
) -> list[Slice]:
    """The slices of all judged queries, so that they are the same for every run."""
    from assay.evaluation.slices import slices

    if queries is not None and queries.row.keys().isdisjoint(qrels.query_ids):
        raise InputError(
            f"the query table has none of the judged queries: expected ids such as {qrels.query_ids[0]!r}, "
            f"found {queries.ids[0]!r}; check that both use the same query ids"
        )
    return slices(
        dict.fromkeys([by] if isinstance(by, str) else by), qrels.query_ids, queries, qrels, _texts(documents)
    )


def _texts(documents: Any) -> Mapping[str, str] | None:
    """The text of each document, given as {document: text} or as a table."""
    plain = isinstance(documents, Mapping) and all(isinstance(text, str) for text in documents.values())
    return documents if documents is None or plain else Documents.of(documents).texts()


def chosen(measures: Iterable[Measure | str] | Measure | str) -> tuple[Measure, ...]:
    """The measures that were asked for, each once."""
    items = [measures] if isinstance(measures, str | Measure) else list(measures)
    if not items:
        raise InputError("expected at least one measure, such as nDCG@10, found none")
    return tuple(dict.fromkeys(parse(item) for item in items))


def _counts(matches: Matches) -> Counts:
    return Counts(
        judged_queries=len(matches.returned),
        missing_from_run=int((~matches.returned).sum()),
        unjudged_in_run=len(matches.unjudged),
        ties_at_cutoff=int(matches.tied.sum()),
        without_relevant=int((matches.rankings.relevant(1) == 0).sum()),
        judged_returned=len(matches.rankings.query),
    )


def unjudged_range(measure: Measure, matches: Matches) -> tuple[Floats, Floats]:
    """The values were every unjudged document in the top k irrelevant, and were it relevant."""
    rankings = matches.rankings
    irrelevant = measure.compute(rankings.supposing(0, measure.depth))
    best = max(rankings.top_grade, least_relevant(measure))
    relevant = measure.compute(rankings.supposing(best, measure.depth))
    return irrelevant, relevant


def least_relevant(measure: Measure) -> int:
    """The lowest grade that the measure takes for relevant."""
    inner = measure.params.get("of", measure)
    return int(inner.params.get("rel") or 1)
