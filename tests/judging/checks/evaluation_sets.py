"""Evaluation sets without faults, in which the tests plant them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from assay.core.tables import Documents, Qrels, Queries, Run
from assay.judging.checks import EvaluationSet, Finding, RunTop

_SYLLABLES = ("ba", "co", "di", "fu", "gra", "hel", "ji", "kro", "lum", "mi", "nas", "op", "pel", "qua", "ri")

Find = Callable[[EvaluationSet], Iterable[Finding]]


def words(draw: random.Random, count: int) -> str:
    """Return random words."""
    return " ".join("".join(draw.choices(_SYLLABLES, k=3)) for _ in range(count))


def clean_set(seed: int = 0, queries: int = 60, per_query: int = 12, runs: int = 2) -> EvaluationSet:
    """Return a set without faults: every query has relevant documents, and every run is judged."""
    draw = random.Random(seed)
    documents = {f"doc{i}x": words(draw, 12) for i in range(queries * per_query // 3)}
    texts = {f"query{i}": words(draw, 5) for i in range(queries)}
    grades = {query: _grades(draw, list(documents), per_query) for query in texts}
    tops = [RunTop.from_run(_judged_run(draw, grades, f"run{i}")) for i in range(runs)]
    table = {"query_id": list(texts), "text": list(texts.values())}
    table["category"] = [("how", "what")[i % 2] for i in range(queries)]
    return EvaluationSet(Qrels(grades), Queries(table), Documents.from_data(documents), runs=tops)


def _grades(draw: random.Random, documents: list[str], count: int) -> dict[str, float]:
    chosen = draw.sample(documents, count)
    grades = dict.fromkeys(chosen, 0.0) | {doc: float(draw.choice((0, 1, 2))) for doc in chosen[3:]}
    return grades | {chosen[0]: 2.0, chosen[1]: 1.0}


def _judged_run(draw: random.Random, grades: dict[str, dict[str, float]], name: str) -> Run:
    return Run({q: {doc: draw.random() for doc in docs} for q, docs in grades.items()}, name=name)


def kinds(findings: Iterable[Finding]) -> list[str]:
    """Return the kinds of findings."""
    return [finding.kind for finding in findings]


def only(findings: Iterable[Finding]) -> Finding:
    """Return the single finding."""
    (finding,) = findings
    return finding
