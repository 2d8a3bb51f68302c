"""Recommendations: which measures to use for a described use of search, and why.

>>> [r.measure for r in recommend("search that feeds a reranker")]
['R@100', 'nDCG@10', 'Robustness(delta=0.9)@100', 'ZeroHit@100']
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from assay.core.errors import InputError
from assay.core.tables import Qrels
from assay.measures.measure import parse
from assay.measures.uses import DEFAULT_USE, UseMatch, UseMeasure, find_cutoff, recognise_uses

FEW_JUDGMENTS = 10  # fewer judgments per query than this are few
MOST_QUERIES = 0.8  # the share of queries from which on their shape decides
JUDGMENTS = "the judgments"


class Recommendation(NamedTuple):
    """A recommended measure, and why."""

    measure: str
    purpose: str
    why: str
    because: tuple[str, ...]  # the words of the description, or the judgments, that led to it

    @property
    def term(self) -> str:
        """The name that search guides use.

        >>> Recommendation("RR@10", "first hit", "", ()).term
        'MRR@10'
        """
        measure = parse(self.measure)
        name = {"R": "Recall", "P": "Precision", "RR": "MRR", "AP": "MAP", "Success": "HitRate"}.get(
            measure.name
        )
        if measure.name == "Robustness":
            name = f"Robustness-{measure.params['delta']:g}"
        return str(measure) if name is None else f"{name}@{measure.cutoff}" if measure.cutoff else name


class JudgmentSummary(NamedTuple):
    """The shape of judgments: how many, how graded."""

    queries: int
    judged_per_query: float
    relevant_per_query: float
    single: float | None  # of the queries with relevant documents, the share with exactly one
    graded: bool


def summarize_judgments(qrels: Qrels) -> JudgmentSummary:
    """The shape of judgments, by which measures are chosen.

    >>> summarize_judgments(Qrels({"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"d": 1}}))
    JudgmentSummary(queries=2, judged_per_query=2.0, relevant_per_query=1.5, single=0.5, graded=True)
    """
    grades, starts = qrels.grades, qrels.groups.offsets[:-1]
    relevant = np.add.reduceat((grades >= 1).astype(np.int64), starts)
    positive_counts = relevant[relevant > 0]
    return JudgmentSummary(
        len(starts),
        float(np.mean(np.add.reduceat((grades >= 0).astype(np.int64), starts))),
        float(relevant.mean()),
        float(np.mean(positive_counts == 1)) if len(positive_counts) else None,
        len(np.unique(grades[grades >= 1])) > 1,
    )


def recommend(
    description: str,
    *,
    graded: bool | None = None,
    judged_per_query: float | None = None,
    relevant_per_query: float | None = None,
    single: float | None = None,
    k: int | None = None,
) -> list[Recommendation]:
    """The measures for a use of search that is described in plain words, adapted to the judgments.

    >>> [r.measure for r in recommend("FAQ lookup", k=5)]
    ['RR@5', 'Success@1', 'ZeroHit@5']
    """
    if k is not None and k < 1:
        raise InputError(f"k must be a whole number of at least 1, found {k}")
    mention = find_cutoff(description)
    k = mention.k if k is None and mention else k
    matches = recognise_uses(description) or [UseMatch(DEFAULT_USE, ())]
    recommendations = _merge_recommendations(_recommendations_of_use(match, k) for match in matches)
    if single is not None and single >= MOST_QUERIES:
        recommendations = [_adapt_to_single_relevant(r, single) for r in recommendations]
    elif relevant_per_query is not None:
        recommendations = [_adapt_to_many_relevant(r, relevant_per_query) for r in recommendations]
    recommendations += _add_graded_measure(recommendations, graded, k or 10)
    if graded is False:
        recommendations = [_explain_binary_judgments(r) for r in recommendations]
    if judged_per_query is not None and judged_per_query < FEW_JUDGMENTS:
        recommendations += _add_judging_measures(judged_per_query, relevant_per_query, k or 10)
    return _merge_recommendations([recommendations])


def _recommendations_of_use(match: UseMatch, k: int | None) -> list[Recommendation]:
    return [_fill_cutoff(pick, k or match.use.k, match.words) for pick in match.use.measures]


def _fill_cutoff(pick: UseMeasure, k: int, words: tuple[str, ...]) -> Recommendation:
    measure = str(parse(pick.measure.replace("{k}", str(k))))
    return Recommendation(measure, pick.purpose, pick.why.replace("{k}", str(k)), words)


def _merge_recommendations(lists: Iterable[list[Recommendation]]) -> list[Recommendation]:
    """Each measure once, with all words that led to it."""
    by_measure: dict[str, Recommendation] = {}
    for r in (r for recommendations in lists for r in recommendations):
        first = by_measure.setdefault(r.measure, r)
        by_measure[r.measure] = first._replace(because=tuple(dict.fromkeys(first.because + r.because)))
    return list(by_measure.values())


def _adapt_to_single_relevant(r: Recommendation, share: float) -> Recommendation:
    """The measure to use instead if most queries have one relevant document."""
    measure, observation = parse(r.measure), f"{100 * share:.0f} % of the queries have one relevant document"
    k = measure.cutoff
    if measure.name in ("R", "RCap"):
        why = f"{observation}: {measure} is then whether it is in the top {k}"
        return _replace_measure(r, f"Success@{k}", "retrieval stage", why)
    if measure.name in ("P", "AP"):
        why = f"{observation}, so its rank is all that can be measured; "
        consequence = f"{measure} cannot exceed {1 / k:g}" if measure.name == "P" else "AP is the same"
        return _replace_measure(r, f"RR@{k or 10}", "first hit", why + consequence)
    if measure.name == "Robustness":
        meaning = f"every δ is the same then, and Robustness-δ@{k} is 1 minus this; an average hides it"
        why = f"{observation}: {meaning}"
        return _replace_measure(r, f"ZeroHit@{k}", "tail", why)
    return r


def _adapt_to_many_relevant(r: Recommendation, relevant: float) -> Recommendation:
    """The measure to use instead if queries have more relevant documents than the cutoff."""
    measure, observation = parse(r.measure), f"a query has {relevant:.1f} relevant documents on average"
    k = measure.cutoff
    if measure.name == "R" and k and relevant > k:
        return _replace_measure(
            r, f"RCap@{k}", r.purpose, f"{observation}, so {measure} cannot reach 1 and RCap@{k} can"
        )
    if measure.name == "Robustness" and relevant * float(measure.params["delta"]) > k:
        why = f"{observation}, so few searches can reach {measure}: this is the RCap of the worst 5 %"
        return _replace_measure(r, f"Quantile(RCap@{k}, 0.05)", "tail", f"{why}, which an average hides")
    return r


def _replace_measure(r: Recommendation, measure: str, purpose: str, why: str) -> Recommendation:
    return Recommendation(str(parse(measure)), purpose, why, (*r.because, JUDGMENTS))


def _add_graded_measure(
    recommendations: list[Recommendation], graded: bool | None, k: int
) -> list[Recommendation]:
    """nDCG, if the judgments have grades and no measure so far uses them."""
    if not graded or any(parse(r.measure).name in ("nDCG", "ERR", "RBP") for r in recommendations):
        return []
    why = "the judgments have grades, and the other measures do not use them"
    return [Recommendation(f"nDCG@{k}", "graded ranking", why, (JUDGMENTS,))]


def _explain_binary_judgments(r: Recommendation) -> Recommendation:
    """The recommendation with a remark that the judgments have no grades."""
    remark = {
        "nDCG": "the judgments are binary: all relevant documents gain the same, with either gain",
        "ERR": "the judgments are binary: RR is plainer",
    }.get(parse(r.measure).name)
    return r._replace(why=f"{r.why}; {remark}", because=(*r.because, JUDGMENTS)) if remark else r


def _add_judging_measures(judged: float, relevant: float | None, k: int) -> list[Recommendation]:
    """The measures to add if few documents were judged."""
    observation = f"{judged:.1f} judgments per query are few"
    judged_share = Recommendation(
        f"Judged@{k}", "judging", f"{observation}: how much of the top {k} was judged at all", (JUDGMENTS,)
    )
    if relevant is not None and judged - relevant < 1:
        why = f"{judged_share.why}; bpref is of no use, because hardly any irrelevant document was judged"
        return [judged_share._replace(why=why)]
    why = f"{observation}: ignores unjudged documents instead of counting them as irrelevant"
    return [judged_share, Recommendation("bpref", "judging", why, (JUDGMENTS,))]
