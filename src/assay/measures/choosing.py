"""What to measure for a described use, by plain rules, each said with the measure it led to.

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
from assay.measures.uses import DEFAULT, Match, Pick, cutoff_in, recognised

FEW = 10  # judgments of a query
MOSTLY = 0.8  # the share of queries from which on what holds for them decides
JUDGMENTS = "the judgments"


class Recommendation(NamedTuple):
    """A measure to use, and why."""

    measure: str
    purpose: str
    why: str
    because: tuple[str, ...]  # the words of the description, or the judgments, that led to it

    @property
    def term(self) -> str:
        """What the guides call it.

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


class Judged(NamedTuple):
    """What judgments look like."""

    queries: int
    judged_per_query: float
    relevant_per_query: float
    single: float | None  # of the queries with relevant documents, the share with one
    graded: bool


def look(qrels: Qrels) -> Judged:
    """What there is in judgments to choose measures by.

    >>> look(Qrels({"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"d": 1}}))
    Judged(queries=2, judged_per_query=2.0, relevant_per_query=1.5, single=0.5, graded=True)
    """
    grades, first = qrels.grades, qrels.groups.offsets[:-1]
    relevant = np.add.reduceat((grades >= 1).astype(np.int64), first)
    some = relevant[relevant > 0]
    return Judged(
        len(first),
        float(np.mean(np.add.reduceat((grades >= 0).astype(np.int64), first))),
        float(relevant.mean()),
        float(np.mean(some == 1)) if len(some) else None,
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
    """The measures for a use of search in plain words, fitted to what is known of the judgments.

    >>> [r.measure for r in recommend("FAQ lookup", k=5)]
    ['RR@5', 'Success@1', 'ZeroHit@5']
    """
    if k is not None and k < 1:
        raise InputError(f"k must be a whole number of at least 1, found {k}")
    said = cutoff_in(description)
    k = said.k if k is None and said else k
    matches = recognised(description) or [Match(DEFAULT, ())]
    made = _merged(_picked(match, k) for match in matches)
    if single is not None and single >= MOSTLY:
        made = [_for_one(r, single) for r in made]
    elif relevant_per_query is not None:
        made = [_for_many(r, relevant_per_query) for r in made]
    made += _for_grades(made, graded, k or 10)
    if graded is False:
        made = [_for_binary(r) for r in made]
    if judged_per_query is not None and judged_per_query < FEW:
        made += _for_few(judged_per_query, relevant_per_query, k or 10)
    return _merged([made])


def _picked(match: Match, k: int | None) -> list[Recommendation]:
    return [_filled(pick, k or match.use.k, match.words) for pick in match.use.picks]


def _filled(pick: Pick, k: int, words: tuple[str, ...]) -> Recommendation:
    measure = str(parse(pick.measure.replace("{k}", str(k))))
    return Recommendation(measure, pick.purpose, pick.why.replace("{k}", str(k)), words)


def _merged(lists: Iterable[list[Recommendation]]) -> list[Recommendation]:
    """Each measure once, with all the words that led to it."""
    made: dict[str, Recommendation] = {}
    for r in (r for some in lists for r in some):
        first = made.setdefault(r.measure, r)
        made[r.measure] = first._replace(because=tuple(dict.fromkeys(first.because + r.because)))
    return list(made.values())


def _for_one(r: Recommendation, share: float) -> Recommendation:
    """What to take instead where a query has one relevant document."""
    measure, one = parse(r.measure), f"{100 * share:.0f} % of the queries have one relevant document"
    k = measure.cutoff
    if measure.name in ("R", "RCap"):
        why = f"{one}: {measure} is then whether it is in the top {k}"
        return _changed(r, f"Success@{k}", "retrieval stage", why)
    if measure.name in ("P", "AP"):
        why = f"{one}, so its rank is all there is to measure; "
        told = f"{measure} cannot exceed {1 / k:g}" if measure.name == "P" else "AP is the same"
        return _changed(r, f"RR@{k or 10}", "first hit", why + told)
    if measure.name == "Robustness":
        why = (
            f"{one}: every δ is the same then, and Robustness-δ@{k} is what this leaves; an average hides it"
        )
        return _changed(r, f"ZeroHit@{k}", "tail", why)
    return r


def _for_many(r: Recommendation, relevant: float) -> Recommendation:
    """What to take instead where queries have more relevant documents than the cutoff holds."""
    measure, many = parse(r.measure), f"a query has {relevant:.1f} relevant documents on average"
    k = measure.cutoff
    if measure.name == "R" and k and relevant > k:
        return _changed(
            r, f"RCap@{k}", r.purpose, f"{many}, so that {measure} cannot reach 1 and RCap@{k} can"
        )
    if measure.name == "Robustness" and relevant * float(measure.params["delta"]) > k:
        why = f"{many}, so that few searches can reach {measure}: this is the RCap of the worst 5 %"
        return _changed(r, f"Quantile(RCap@{k}, 0.05)", "tail", f"{why}, which an average hides")
    return r


def _changed(r: Recommendation, measure: str, purpose: str, why: str) -> Recommendation:
    return Recommendation(str(parse(measure)), purpose, why, (*r.because, JUDGMENTS))


def _for_grades(made: list[Recommendation], graded: bool | None, k: int) -> list[Recommendation]:
    """nDCG, where judgments have grades and nothing yet looks at them."""
    if not graded or any(parse(r.measure).name in ("nDCG", "ERR", "RBP") for r in made):
        return []
    why = "the judgments have grades, and the other measures do not look at them"
    return [Recommendation(f"nDCG@{k}", "graded ranking", why, (JUDGMENTS,))]


def _for_binary(r: Recommendation) -> Recommendation:
    """A word on what grades would have given."""
    said = {
        "nDCG": "the judgments are binary: all relevant documents gain the same, with either gain",
        "ERR": "the judgments are binary: RR is plainer",
    }.get(parse(r.measure).name)
    return r._replace(why=f"{r.why}; {said}", because=(*r.because, JUDGMENTS)) if said else r


def _for_few(judged: float, relevant: float | None, k: int) -> list[Recommendation]:
    """What to take beside where little was judged."""
    few = f"{judged:.1f} judgments per query are few"
    trust = Recommendation(
        f"Judged@{k}", "judging", f"{few}: how much of the top {k} was judged at all", (JUDGMENTS,)
    )
    if relevant is not None and judged - relevant < 1:
        why = f"{trust.why}; bpref is of no use, for hardly any irrelevant document was judged"
        return [trust._replace(why=why)]
    why = f"{few}: leaves out what nobody judged instead of taking it as irrelevant"
    return [trust, Recommendation("bpref", "judging", why, (JUDGMENTS,))]
