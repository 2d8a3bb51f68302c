"""Simple reference implementations of the measures, and strategies for qrels and runs."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from assay.measures import Measure, parse

Grades = Sequence[int | None]  # of the documents returned, best first; None: not in the qrels
QrelsDict = dict[str, dict[str, int]]
RunDict = dict[str, dict[str, float]]
QrelsAndRun = tuple[QrelsDict, RunDict]

IDS = (
    *("a", "b", "A", "é", "日本", "🙂", "d1", "d10", "d2"),
    *("12345678", "123456789", "12345678a", "doc-0000000000001", "doc-0000000000002", "doc-000000000000é"),
    *("x" * 16, "x" * 17, "x" * 16 + "y", "x" * 24 + "1", "x" * 24 + "2"),
)
QUERIES = ("q1", "q2", "01", "1", "a query with a name of its own")
quick = settings(deadline=None, max_examples=100)


@st.composite
def qrels_and_runs(draw: st.DrawFn, lowest: int = 0, highest: int = 3) -> QrelsAndRun:
    """Return qrels and a run with at least one common query, with ties and unjudged documents."""
    docs = st.sampled_from(IDS)
    judged_grades = st.dictionaries(docs, st.integers(lowest, highest), min_size=1, max_size=14)
    scores = st.sampled_from((3.0, 2.5, 2.0, 1.0, 0.0, -1.5))
    returned = st.dictionaries(docs, scores, min_size=1, max_size=14)
    names = st.lists(st.sampled_from(QUERIES), min_size=1, max_size=4, unique=True)
    qrels = {query: draw(judged_grades) for query in draw(names)}
    run = {query: draw(returned) for query in draw(names)}
    shared = next(iter(qrels))
    return qrels, run if shared in run else {**run, shared: draw(returned)}


def rank_documents(docs: Mapping[str, float]) -> list[str]:
    """Return documents by descending score; ties are broken by the larger id in byte order."""
    return sorted(sorted(docs, key=str.encode, reverse=True), key=lambda doc: -docs[doc])


def returned_grades(qrels: QrelsDict, run: RunDict, query: str) -> list[int | None]:
    return [qrels[query].get(doc) for doc in rank_documents(run.get(query, {}))]


def reference_value(measure: Measure | str, qrels: QrelsDict, run: RunDict, query: str) -> float | None:
    """Return the value of a measure for a query; None if it is undefined."""
    measure = parse(measure)
    if measure.name == "Quantile":
        return reference_value(measure.params["of"], qrels, run, query)
    params = dict(measure.params)
    if measure.name == "ERR" and params["max_grade"] is None:
        params["max_grade"] = max(0, *(grade for docs in qrels.values() for grade in docs.values()))
    grades = returned_grades(qrels, run, query)
    result: float | None = REFERENCE_MEASURES[measure.name](
        grades, [*qrels[query].values()], measure.cutoff, **params
    )
    return result


def count(grades: Grades, least: int) -> int:
    return sum(grade is not None and grade >= least for grade in grades)


def p(grades: Grades, judged_grades: list[int], k: int | None, rel: int) -> float:
    places = len(grades) if k is None else k
    return count(grades[:k], rel) / places if places else 0.0


def r(grades: Grades, judged_grades: list[int], k: int | None, rel: int) -> float:
    return count(grades[:k], rel) / count(judged_grades, rel) if count(judged_grades, rel) else 0.0


def rcap(grades: Grades, judged_grades: list[int], k: int, rel: int) -> float | None:
    possible = min(k, count(judged_grades, rel))
    return count(grades[:k], rel) / possible if possible else None


def f(grades: Grades, judged_grades: list[int], k: int | None, rel: int, beta: float) -> float:
    precision, recall = p(grades, judged_grades, k, rel), r(grades, judged_grades, k, rel)
    if not precision and not recall:
        return 0.0
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


def success(grades: Grades, judged_grades: list[int], k: int, rel: int) -> float:
    return 1.0 if count(grades[:k], rel) else 0.0


def rr(grades: Grades, judged_grades: list[int], k: int | None, rel: int) -> float:
    return next((1 / rank for rank, g in enumerate(grades[:k], 1) if g is not None and g >= rel), 0.0)


def ap(grades: Grades, judged_grades: list[int], k: int | None, rel: int) -> float:
    ranks = [rank for rank, g in enumerate(grades[:k], 1) if g is not None and g >= rel]
    total = sum(count(grades[:rank], rel) / rank for rank in ranks)
    return total / count(judged_grades, rel) if count(judged_grades, rel) else 0.0


def dcg(grades: Grades, judged_grades: list[int], k: int | None, gain: str) -> float:
    gains = [max(g or 0, 0) for g in grades[:k]]
    gains = gains if gain == "linear" else [2**g - 1 for g in gains]
    return math.fsum(g / math.log2(rank + 1) for rank, g in enumerate(gains, 1))


def ndcg(grades: Grades, judged_grades: list[int], k: int | None, gain: str) -> float:
    best = dcg(sorted(judged_grades, reverse=True), judged_grades, k, gain)
    return dcg(grades, judged_grades, k, gain) / best if best else 0.0


def rprec(grades: Grades, judged_grades: list[int], k: None, rel: int) -> float:
    relevant = count(judged_grades, rel)
    return count(grades[:relevant], rel) / relevant if relevant else 0.0


def bpref(grades: Grades, judged_grades: list[int], k: None, rel: int) -> float:
    relevant = count(judged_grades, rel)
    irrelevant = count(judged_grades, 0) - relevant
    total = 0.0
    for place, grade in enumerate(grades):
        if grade is not None and grade >= rel:
            above = count(grades[:place], 0) - count(grades[:place], rel)
            total += 1 - min(above, relevant) / min(relevant, irrelevant) if above else 1
    return total / relevant if relevant else 0.0


def infap(grades: Grades, judged_grades: list[int], k: None, rel: int) -> float:
    total, epsilon = 0.0, 0.00001
    for place, grade in enumerate(grades):
        if grade is not None and grade >= rel:
            above = grades[:place]
            pooled = sum(g is not None for g in above)
            judged_above, relevant_above = count(above, 0), count(above, rel)
            chance = (relevant_above + epsilon) / (judged_above + 2 * epsilon)
            total += 1 / (place + 1) + pooled / (place + 1) * chance
    return total / count(judged_grades, rel) if count(judged_grades, rel) else 0.0


def err(grades: Grades, judged_grades: list[int], k: int | None, max_grade: int) -> float:
    reached, total = 1.0, 0.0
    for rank, grade in enumerate(grades[:k], 1):
        stops = (2 ** min(max(grade or 0, 0), max_grade) - 1) / 2**max_grade
        total, reached = total + reached * stops / rank, reached * (1 - stops)
    return total


def rbp(grades: Grades, judged_grades: list[int], k: int | None, rel: int | None, p: float) -> float:
    highest = max(1, *judged_grades, 0)
    gains = [(g or 0) >= rel if rel else max(g or 0, 0) / highest for g in grades[:k]]
    return (1 - p) * math.fsum(gain * p**place for place, gain in enumerate(gains))


def rbp_residual(grades: Grades, judged_grades: list[int], k: None, p: float) -> float:
    if count(grades, 0) == len(grades):
        return 0.0
    judged_places = [place for place, grade in enumerate(grades) if grade is not None and grade >= 0]
    return 1 - (1 - p) * math.fsum(p**place for place in judged_places)


def iprec(grades: Grades, judged_grades: list[int], level: float, rel: int) -> float:
    needed = math.floor(level * count(judged_grades, rel) + 0.5)
    ranks = [rank for rank, g in enumerate(grades, 1) if g is not None and g >= rel]
    late = [rank for number, rank in enumerate(ranks, 1) if number >= needed]
    return max((count(grades[:rank], rel) / rank for rank in late), default=0.0)


def eleven(grades: Grades, judged_grades: list[int], k: None, rel: int) -> float:
    return math.fsum(iprec(grades, judged_grades, level / 10, rel) for level in range(11)) / 11


def judged_share(grades: Grades, judged_grades: list[int], k: int | None) -> float | None:
    return count(grades[:k], 0) / len(grades[:k]) if grades else None


def zero_hit(grades: Grades, judged_grades: list[int], k: int, rel: int) -> float | None:
    return float(count(grades[:k], rel) == 0) if count(judged_grades, rel) else None


def robustness(grades: Grades, judged_grades: list[int], k: int, delta: float, rel: int) -> float | None:
    relevant = count(judged_grades, rel)
    return float(count(grades[:k], rel) >= math.ceil(delta * relevant - 1e-9)) if relevant else None


REFERENCE_MEASURES: dict[str, Callable[..., Any]] = {
    "P": p,
    "R": r,
    "RCap": rcap,
    "F": f,
    "Success": success,
    "RR": rr,
    "AP": ap,
    "gmAP": ap,
    "DCG": dcg,
    "nDCG": ndcg,
    "Rprec": rprec,
    "bpref": bpref,
    "infAP": infap,
    "ERR": err,
    "RBP": rbp,
    "RBPResidual": rbp_residual,
    "IPrec": iprec,
    "11pt": eleven,
    "Judged": judged_share,
    "ZeroHit": zero_hit,
    "Robustness": robustness,
}
