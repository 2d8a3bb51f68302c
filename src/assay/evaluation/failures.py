"""The queries that a run fails, each with evidence for the likely cause and the fix it points to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from assay.core.errors import InputError, MeasureError, UndecidableError
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.core.texts import Floats
from assay.evaluation.cases import Cases, Scope
from assay.evaluation.causes import CAUSES, MOSTLY, Evidence, diagnose
from assay.evaluation.corpus import Corpus
from assay.evaluation.evaluate import Evaluation, evaluate, least_relevant, quantile_of
from assay.evaluation.levels import Standing, standing
from assay.evaluation.matching import Matches, match
from assay.measures import Measure, parse
from assay.stats import Estimate, central, estimate

TOP = 10  # what the top is for a measure without a cutoff
DEPTH = 100


class Failure(NamedTuple):
    """A query that fails, with the evidence for why; the likely cause is first."""

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

    def to_dict(self) -> dict[str, Any]:
        """The failure as plain data."""
        evidence = [e._asdict() | {"documents": list(e.documents)} for e in self.evidence]
        return self._asdict() | {"cause": self.cause, "evidence": evidence}


class FailingSlice(NamedTuple):
    """How many queries of a slice fail, and mostly why."""

    column: str
    value: str
    n: int
    failing: int
    share: Estimate
    causes: dict[str, int]  # how many queries each likely cause has, the most frequent first


class Unknown(NamedTuple):
    """What could not be looked for, and what to give to look for it."""

    what: str
    give: str


class Failures:
    """The failing queries of one run, by cause and by slice."""

    def __init__(
        self,
        evaluation: Evaluation,
        scope: Scope,
        failing: list[Failure],
        cases: Cases,
        unknown: list[Unknown],
    ) -> None:
        self.name, self.measure, self.below = evaluation.name, scope.measure, scope.below
        self.scope, self.failing, self.unknown = scope, failing, unknown  # worst first
        self.evaluation, self._cases, self.counts = evaluation, cases, evaluation.counts
        self._values = evaluation.scores[scope.measure]

    def __repr__(self) -> str:
        causes = ", ".join(f"{len(found)} {cause}" for cause, found in self.by_cause.items())
        said = f"{len(self.failing):,} of {self.n:,} queries" + (f": {causes}" if causes else "")
        return f"Failures({self.name!r}, {said})"

    @property
    def n(self) -> int:
        """How many queries have a value."""
        return int((~np.isnan(self._values)).sum())

    @property
    def undefined(self) -> int:
        """How many queries have none, and are left out."""
        return len(self._values) - self.n

    @cached_property
    def estimate(self) -> Estimate:
        """The measure over all queries."""
        return self.evaluation.estimates[str(self.measure)]

    @cached_property
    def reranked(self) -> Estimate:
        """The measure, were the first `depth` documents of every query in the best order there is."""
        e, values = self.evaluation, self._cases.if_reranked
        return estimate(values, self.measure.kind, e.level, e.seed, quantile_of(self.measure))

    @property
    def standing(self) -> Standing | None:
        """Where the score stands among the levels of the guides."""
        ceiling = central(self._cases.if_best, self.measure.kind, quantile_of(self.measure))
        return standing(self.measure, self.estimate, ceiling)

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
        made: dict[str, list[Failure]] = {cause: [] for cause in CAUSES}
        for failure in self.failing:
            made[failure.cause].append(failure)
        return {
            cause: found for cause, found in sorted(made.items(), key=lambda item: -len(item[1])) if found
        }

    @cached_property
    def by_slice(self) -> list[FailingSlice]:
        """How many queries fail in each slice, and mostly why."""
        made = []
        for part in self.evaluation.slices:
            found = [f.cause for f in self.failing if f.slices[part.column] == part.value]
            causes = {cause: found.count(cause) for cause in sorted(CAUSES, key=lambda c: -found.count(c))}
            counted = {cause: count for cause, count in causes.items() if count}
            share = self._share(np.array(part.rows, np.int64))
            made.append(FailingSlice(part.column, part.value, share.n, len(found), share, counted))
        return made

    def to_dict(self) -> dict[str, Any]:
        """The failures as plain data, with the keys that `assay failures --format json` prints."""
        where = self.standing
        return {
            "name": self.name,
            "measure": str(self.measure),
            "below": self.below,
            "lower_is_better": self.measure.lower_is_better,
            "depth": self.scope.depth,
            "n": self.n,
            "undefined": self.undefined,
            "estimate": self.estimate.to_dict(),
            "standing": where and where.to_dict(),
            "reranked": self.reranked.to_dict(),
            "failing": len(self.failing),
            "share": self.share.to_dict(),
            "causes": [self._cause(cause) for cause in self.by_cause],
            "slices": [s._asdict() | {"share": s.share.to_dict()} for s in self.by_slice],
            "queries": [failure.to_dict() for failure in self.failing],
            "unknown": [u._asdict() for u in self.unknown],
            "level": self.evaluation.level,
            "seed": self.evaluation.seed,
        }

    def _cause(self, key: str) -> dict[str, Any]:
        cause, found = CAUSES[key], self.by_cause[key]
        said = {"cause": key, "queries": len(found), "share": len(found) / len(self.failing)}
        names = [failure.query_id for failure in found]
        return said | {"means": cause.means, "fix": cause.fix_for(self.scope), "query_ids": names}


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
    depth: int = DEPTH,
    level: float = 0.95,
    seed: int = 0,
) -> Failures:
    """The queries whose value is below a threshold (above it, where lower is better), and likely why.

    `exact` is what exact search returned for the same queries, `depth` how far a reranker reaches.

    >>> found = failures({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["a"], "q2": ["x", "b"]}, "R@1")
    >>> found.failing[0].query_id, found.failing[0].evidence[0].text
    ('q2', 'below the top 1, within the first 100: b (rank 2); in the best order R@1 would be 1.0000')
    """
    chosen = _checked(parse(measure), below, depth)
    qrels, queries, documents = _tables(qrels, queries, documents)
    k = chosen.depth or TOP
    evaluation = evaluate(
        qrels, run, chosen, queries, by, documents=documents, level=level, seed=seed, keep=k
    )
    matches, values = cast(Matches, evaluation.matches), evaluation.scores[chosen]
    if np.isnan(values).all():
        raise UndecidableError(
            f"{chosen} is undefined for every query: check that the qrels name relevant documents"
        )
    rel, corpus = least_relevant(chosen), Corpus(documents, lambda: _seen(qrels, matches))
    scope = Scope(chosen, float(below), rel, k, depth, corpus, _telling(matches, rel, k))
    neighbours = None if exact is None else _exact(qrels, exact, queries)
    cases = Cases(scope, qrels, matches, values, _texts(queries, qrels), neighbours)
    labels = _labels(evaluation)
    rows = _worst_first(scope, values)
    failing = [_failure(cases, row, qrels.query_ids[row], labels[row]) for row in rows]
    return Failures(evaluation, scope, failing, cases, _unknown(cases, matches, exact))


def _checked(measure: Measure, below: float, depth: int) -> Measure:
    """The measure, unless it or the threshold cannot tell a failing query."""
    inner = measure.params.get("of", measure)
    if inner.name in ("Judged", "RBPResidual"):
        raise MeasureError(f"{measure} says how much was judged, not how good a search is; use R@10, for one")
    lower = measure.lower_is_better
    inside = 0 <= below < 1 if lower else 0 < below <= 1
    if not math.isfinite(below) or (measure.bounded and not inside):
        ends = "from 0 to below 1" if lower else "above 0, at most 1"
        raise InputError(f"the threshold of {measure} must be {ends}, found {below:g}")
    if depth < (measure.depth or TOP):
        raise InputError(f"the depth must be {measure.depth or TOP} or more, as {measure} is, found {depth}")
    return measure


def _tables(qrels: Any, queries: Any, documents: Any) -> tuple[Qrels, Queries | None, Documents | None]:
    """What was given as tables; a collection brings what lies beside its judgments."""
    if hasattr(qrels, "qrels"):
        queries = qrels.queries if queries is None else queries
        documents = qrels.documents if documents is None else documents
        qrels = qrels.qrels
    qrels = qrels if isinstance(qrels, Qrels) else Qrels(qrels)
    documents = None if documents is None else Documents.of(documents)
    if documents is not None and documents.row.keys().isdisjoint(qrels.wanted.strings):
        raise InputError(
            f"the documents have none of the judged ones: expected ids such as {qrels.wanted.strings[0]!r}, "
            f"found {', '.join(documents.ids[:1]) or 'none'}; check that both use the same document ids"
        )
    return qrels, None if queries is None else Queries.of(queries), documents


def _telling(matches: Matches, rel: int, k: int) -> bool:
    """Whether it tells something that a document was not judged.

    Not where irrelevant documents are never listed, nor where the top of most queries is mostly unjudged.
    """
    depth = np.minimum(matches.rankings.returned, k)
    unjudged = matches.rankings.unjudged(k)[depth > 0] >= MOSTLY * depth[depth > 0]
    return bool(matches.rankings.irrelevant(rel).any() and unjudged.mean() <= 0.5)


def _worst_first(scope: Scope, values: Floats) -> list[int]:
    """The rows of the failing queries."""
    rows = np.flatnonzero(scope.fails(values))
    worse = -values[rows] if scope.measure.lower_is_better else values[rows]
    return cast(list[int], rows[np.argsort(worse, kind="stable")].tolist())


def _seen(qrels: Qrels, matches: Matches) -> list[str]:
    """The documents that anybody judged or a query has at the top."""
    return [*qrels.wanted.strings, *matches.top.ids.tolist()]


def _exact(qrels: Qrels, exact: Any, queries: Queries | None) -> Matches:
    return match(qrels, exact if hasattr(exact, "blocks") else Run(exact, name="exact"), (), queries)


def _texts(queries: Queries | None, qrels: Qrels) -> list[str | None]:
    """The text of each judged query."""
    if queries is None or "text" not in queries.columns:
        return [None] * len(qrels.query_ids)
    return [None if text is None else str(text) for text in queries.column("text", qrels.query_ids)]


def _labels(evaluation: Evaluation) -> list[dict[str, str]]:
    """The slices that each query is in."""
    made: list[dict[str, str]] = [{} for _ in evaluation.scores.query_ids]
    for part in evaluation.slices:
        for row in part.rows:
            made[row][part.column] = part.value
    return made


def _failure(cases: Cases, row: int, query: str, labels: dict[str, str]) -> Failure:
    case = cases[row]
    return Failure(query, case.text, case.value, labels, case.missing, diagnose(case))


def _unknown(cases: Cases, matches: Matches, exact: Any) -> list[Unknown]:
    """What could not be looked for."""
    scope, deepest = cases.scope, int(matches.rankings.returned.max(initial=0))
    texts = "exact term missed, vocabulary gap"
    wants = {
        f"{texts}, duplicates": (not scope.corpus.has_texts, "the documents' texts: --documents"),
        "not in the corpus": (scope.corpus.documents is None, "the documents: --documents"),
        f"{texts}, queries asked twice": (not any(cases.texts), "the queries' texts: --queries"),
        "ANN loss": (exact is None, "what exact search returns: --exact"),
        "near miss": (deepest <= scope.k, f"a run that is deeper than {scope.k}"),
        "reranking": (scope.depth <= scope.k, f"--depth above {scope.k}"),
        "unjudged at the top": (
            not scope.judged,
            "judgments of most of what is returned, the irrelevant too",
        ),
    }
    return [Unknown(what, give) for what, (lacking, give) in wants.items() if lacking]
