"""The queries that a run fails, each with the evidence of its likely cause."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from assay.core.arrays import Floats
from assay.core.errors import InputError, MeasureError, UndecidableError
from assay.core.progress import report_step
from assay.core.score_order import ScoreOrder
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.evaluation.causes import CAUSES, MOSTLY_UNJUDGED, Evidence, diagnose
from assay.evaluation.corpus import Corpus
from assay.evaluation.evaluate import (
    DEFAULT_ORDER,
    Evaluation,
    estimate_measure,
    evaluate,
    least_relevant,
    quantile_of,
    unpack_judgments,
)
from assay.evaluation.failure_cases import FailureCases, FailureScope
from assay.evaluation.matching import Matches, match
from assay.evaluation.recall_levels import Standing, recall_standing
from assay.measures import Measure, parse
from assay.stats import Estimate, central_value, estimate

DEFAULT_TOP = 10  # the size of the top for a measure without a cutoff
DEFAULT_DEPTH = 100


class Failure(NamedTuple):
    """A query that fails, with the evidence of why; the likely cause is first."""

    query_id: str
    text: str | None
    value: float
    slices: dict[str, str]
    missing: list[str]
    evidence: list[Evidence]

    @property
    def cause(self) -> str:
        """The likely cause."""
        return self.evidence[0].cause


class FailingSlice(NamedTuple):
    """How many queries of a slice fail, and their likely causes."""

    column: str
    value: str
    n: int
    failing: int
    share: Estimate
    causes: dict[str, int]  # the number of queries by likely cause, the most frequent first


class UndetectableCause(NamedTuple):
    """Causes that could not be checked, and the kind of input that is missing for them."""

    causes: str
    missing_input: str


class Failures:
    """The failing queries of one run, by cause and by slice."""

    def __init__(
        self,
        evaluation: Evaluation,
        scope: FailureScope,
        failing: list[Failure],
        cases: FailureCases,
        undetectable: list[UndetectableCause],
    ) -> None:
        self.name, self.measure, self.below = evaluation.name, scope.measure, scope.below
        self.scope, self.failing, self.undetectable = scope, failing, undetectable  # worst first
        self.evaluation, self._cases, self.counts = evaluation, cases, evaluation.counts
        self._values = evaluation.scores[scope.measure]

    def __repr__(self) -> str:
        causes = ", ".join(f"{len(failures)} {cause}" for cause, failures in self.by_cause.items())
        summary = f"{len(self.failing):,} of {self.n:,} queries" + (f": {causes}" if causes else "")
        return f"Failures({self.name!r}, {summary})"

    @property
    def n(self) -> int:
        """How many queries have a value."""
        return int((~np.isnan(self._values)).sum())

    @property
    def undefined_queries(self) -> int:
        """How many queries have no value and are left out."""
        return len(self._values) - self.n

    @cached_property
    def estimate(self) -> Estimate:
        """The measure over all queries."""
        return self.evaluation.estimates[str(self.measure)]

    @cached_property
    def reranked_estimate(self) -> Estimate:
        """The measure if the first `depth` documents of every query were in the best possible order."""
        e, values = self.evaluation, self._cases.if_reranked
        return estimate_measure(self.measure, values, e.level)

    @property
    def standing(self) -> Standing | None:
        """Where the score lies among the levels of search guides."""
        ceiling = central_value(self._cases.if_best, self.measure.kind, quantile_of(self.measure))
        return recall_standing(self.measure, self.estimate, ceiling)

    @cached_property
    def share(self) -> Estimate:
        """The share of the queries that fail."""
        return self._share(np.arange(len(self._values)))

    def _share(self, rows: Any) -> Estimate:
        values = self._values[rows]
        failing = np.where(np.isnan(values), np.nan, self.scope.fails(values))
        return estimate(failing, "share", self.evaluation.level)

    @cached_property
    def by_cause(self) -> dict[str, list[Failure]]:
        """The failing queries of each likely cause, the most frequent first."""
        failures_by_cause: dict[str, list[Failure]] = {cause: [] for cause in CAUSES}
        for failure in self.failing:
            failures_by_cause[failure.cause].append(failure)
        return {
            cause: failures
            for cause, failures in sorted(failures_by_cause.items(), key=lambda item: -len(item[1]))
            if failures
        }

    @cached_property
    def by_slice(self) -> list[FailingSlice]:
        """How many queries fail in each slice, and their likely causes."""
        failing_slices = []
        for part in self.evaluation.slices:
            causes_found = [f.cause for f in self.failing if f.slices[part.column] == part.value]
            causes = {
                cause: causes_found.count(cause)
                for cause in sorted(CAUSES, key=lambda c: -causes_found.count(c))
            }
            cause_counts = {cause: count for cause, count in causes.items() if count}
            share = self._share(np.array(part.rows, np.int64))
            failing_slices.append(
                FailingSlice(part.column, part.value, share.n, len(causes_found), share, cause_counts)
            )
        return failing_slices


def failures(
    qrels: Any,
    run: Any,
    measure: Measure | str = "R@10",
    below: float = 0.5,
    queries: Any = None,
    by: Sequence[str] = (),
    *,
    documents: Any = None,
    exact: Any = None,
    depth: int = DEFAULT_DEPTH,
    level: float = 0.95,
    seed: int = 0,
    order: ScoreOrder = DEFAULT_ORDER,
) -> Failures:
    """The queries whose value is below a threshold (above it if lower is better), and the likely causes.

    `exact` is the run of exact search for the same queries, `depth` how many documents a reranker reads.

    >>> found = failures({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["a"], "q2": ["x", "b"]}, "R@1")
    >>> found.failing[0].query_id, found.failing[0].cause
    ('q2', 'near miss')
    """
    parsed_measure = _check_options(parse(measure), below, depth)
    qrels, queries, documents = _tables(qrels, queries, documents)
    k = parsed_measure.depth or DEFAULT_TOP
    options = {"documents": documents, "level": level, "seed": seed, "keep": k, "order": order}
    evaluation = evaluate(qrels, run, parsed_measure, queries, by, **options)
    matches, values = cast(Matches, evaluation.matches), evaluation.scores[parsed_measure]
    if np.isnan(values).all():
        raise UndecidableError(
            f"{parsed_measure} is undefined for every query: check that the qrels name relevant documents"
        )
    rel, corpus = least_relevant(parsed_measure), Corpus(documents, lambda: _known_documents(qrels, matches))
    is_informative = _is_judging_informative(matches, rel, k)
    scope = FailureScope(parsed_measure, float(below), rel, k, depth, corpus, is_informative)
    exact_matches = None if exact is None else _match_exact(qrels, exact, queries, order)
    cases = FailureCases(scope, qrels, matches, values, _query_texts(queries, qrels), exact_matches)
    labels, rows = _slice_labels(evaluation), _worst_first(scope, values)
    failing = []
    for place, row in enumerate(rows):
        report_step("failing queries diagnosed", place, len(rows))
        failing.append(_build_failure(cases, row, qrels.query_ids[row], labels[row]))
    return Failures(evaluation, scope, failing, cases, _undetectable_causes(cases, matches, exact))


def _check_options(measure: Measure, below: float, depth: int) -> Measure:
    """The measure; an error if it or the threshold cannot identify failing queries."""
    inner = measure.params.get("of", measure)
    if inner.name in ("Judged", "RBPResidual"):
        raise MeasureError(
            f"{measure} says how much was judged, not how good a search is; use R@10, for example"
        )
    lower = measure.lower_is_better
    inside = 0 <= below < 1 if lower else 0 < below <= 1
    if not math.isfinite(below) or (measure.is_bounded and not inside):
        ends = "from 0 to below 1" if lower else "above 0, at most 1"
        raise InputError(f"the threshold of {measure} must be {ends}, found {below:g}")
    if depth < (measure.depth or DEFAULT_TOP):
        raise InputError(
            f"the depth must be {measure.depth or DEFAULT_TOP} or more, as {measure} is, found {depth}"
        )
    return measure


def _tables(qrels: Any, queries: Any, documents: Any) -> tuple[Qrels, Queries | None, Documents | None]:
    """The inputs as tables; a collection includes its queries and documents."""
    qrels, queries, documents = unpack_judgments(qrels, queries, documents)
    documents = None if documents is None else Documents.from_data(documents)
    if documents is not None and documents.row_by_id.keys().isdisjoint(qrels.doc_ids.strings):
        raise InputError(
            "the document table has none of the judged documents: expected ids such as "
            f"{qrels.doc_ids.strings[0]!r}, found {', '.join(documents.ids[:1]) or 'none'}; "
            "check that both use the same document ids"
        )
    return qrels, queries, documents


def _is_judging_informative(matches: Matches, rel: int, k: int) -> bool:
    """Whether a missing judgment says something.

    It does not if irrelevant documents are never listed, or if the top of most queries is mostly unjudged.
    """
    depth = np.minimum(matches.rankings.returned_counts, k)
    unjudged = matches.rankings.unjudged(k)[depth > 0] >= MOSTLY_UNJUDGED * depth[depth > 0]
    return bool(matches.rankings.irrelevant(rel).any() and unjudged.mean() <= 0.5)


def _worst_first(scope: FailureScope, values: Floats) -> list[int]:
    """The rows of the failing queries."""
    rows = np.flatnonzero(scope.fails(values))
    sort_values = -values[rows] if scope.measure.lower_is_better else values[rows]
    return cast(list[int], rows[np.argsort(sort_values, kind="stable")].tolist())


def _known_documents(qrels: Qrels, matches: Matches) -> list[str]:
    """The documents that were judged or that a query has at the top."""
    return [*qrels.doc_ids.strings, *matches.top.ids.tolist()]


def _match_exact(qrels: Qrels, exact: Any, queries: Queries | None, order: ScoreOrder) -> Matches:
    run = exact if hasattr(exact, "blocks") else Run(exact, name="exact")
    return match(qrels, order.apply(run), (), queries)


def _query_texts(queries: Queries | None, qrels: Qrels) -> list[str | None]:
    """The text of each judged query."""
    if queries is None or "text" not in queries.columns:
        return [None] * len(qrels.query_ids)
    return [None if text is None else str(text) for text in queries.column("text", qrels.query_ids)]


def _slice_labels(evaluation: Evaluation) -> list[dict[str, str]]:
    """The slices that each query is in."""
    labels: list[dict[str, str]] = [{} for _ in evaluation.scores.query_ids]
    for part in evaluation.slices:
        for row in part.rows:
            labels[row][part.column] = part.value
    return labels


def _build_failure(cases: FailureCases, row: int, query: str, labels: dict[str, str]) -> Failure:
    case = cases[row]
    return Failure(query, case.text, case.value, labels, case.missing, diagnose(case))


def _undetectable_causes(cases: FailureCases, matches: Matches, exact: Any) -> list[UndetectableCause]:
    """The causes that could not be checked."""
    scope, deepest = cases.scope, int(matches.rankings.returned_counts.max(initial=0))
    texts = "exact term missed, vocabulary gap"
    is_missing = {
        (f"{texts}, duplicates", "document texts"): not scope.corpus.has_texts,
        ("not in the corpus", "documents"): scope.corpus.documents is None,
        (f"{texts}, queries asked twice", "query texts"): not any(cases.texts),
        ("ANN loss", "exact search"): exact is None,
        ("near miss", "deeper run"): deepest <= scope.k,
        ("reranking", "depth"): scope.depth <= scope.k,
        ("unjudged at the top", "judgments"): not scope.judging_is_informative,
    }
    return [UndetectableCause(*pair) for pair, missing in is_missing.items() if missing]
