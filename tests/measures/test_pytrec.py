"""pytrec_eval (trec_eval 9.0.8) as a second oracle, on random runs of many shapes.

It holds scores as float32, so scores here are quarters; it rounds the levels of iprec and 11pt as
trec_eval 9 did, so these are left to the other oracle.
"""

import math
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given

from assay.core.score_order import ScoreOrder
from assay.core.tables import Qrels, Run
from assay.evaluation import evaluate
from tests.reference_measures import QrelsAndRun, QrelsDict, RunDict, qrels_and_runs, quick

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
AT_CUTOFF = {"P": "P", "recall": "R", "ndcg_cut": "nDCG", "map_cut": "AP", "relative_P": "RCap"}
ASKED = {
    *("map", "Rprec", "bpref", "recip_rank", "infAP", "ndcg", "set_P", "set_recall", "set_F", "success"),
    *AT_CUTOFF,
}
LEVELLED = {
    "map": "AP(rel={})",
    "Rprec": "Rprec(rel={})",
    "bpref": "bpref(rel={})",
    "recip_rank": "RR(rel={})",
    "infAP": "infAP(rel={})",
    "set_P": "P(rel={})",
    "set_recall": "R(rel={})",
    "set_F": "F(rel={})",
    **{f"P_{k}": f"P(rel={{}})@{k}" for k in CUTOFFS},
    **{f"recall_{k}": f"R(rel={{}})@{k}" for k in CUTOFFS},
    **{f"map_cut_{k}": f"AP(rel={{}})@{k}" for k in CUTOFFS},
    **{f"relative_P_{k}": f"RCap(rel={{}})@{k}" for k in CUTOFFS},
    **{f"success_{k}": f"Success(rel={{}})@{k}" for k in (1, 5, 10)},
    "ndcg": "nDCG",
    **{f"ndcg_cut_{k}": f"nDCG@{k}" for k in CUTOFFS},
}


def assert_agrees(qrels: QrelsDict, run: RunDict, rel: int = 1, ours: Any = None) -> None:
    """Each query that both know, each measure that both have."""
    theirs = pytrec_eval.RelevanceEvaluator(qrels, ASKED, relevance_level=rel).evaluate(run)
    names = {name: text.format(rel) for name, text in LEVELLED.items()}
    result = evaluate(qrels, run if ours is None else ours, names.values())
    columns = {name: result.scores.values[str(m)] for name, m in zip(names, result.measures, strict=True)}
    assert set(theirs) == set(qrels) & set(run)
    for row, query in enumerate(result.scores.query_ids):
        for name, column in columns.items():
            target = theirs[query][name] if query in theirs else 0.0
            match_result = 0.0 if name.startswith("relative_P") and math.isnan(column[row]) else column[row]
            assert abs(match_result - target) < 1e-9, (query, name)


def random_world(
    seed: int, queries: int, depth: int, pool: int, levels: int, name: str = "d{}", ordered: bool = False
) -> QrelsAndRun:
    """A random world: `levels` different scores, so fewer levels mean more ties."""
    rng = np.random.default_rng(seed)
    docs = [name.format(number) for number in range(pool)]
    qrels, run = {}, {}
    for query in range(queries):
        returned = rng.permutation(pool)[:depth]
        scores = rng.integers(0, levels, depth) / 4.0 - 3
        scores = np.sort(scores)[::-1] if ordered else scores
        judged = rng.permutation(pool)[: int(rng.integers(1, pool))]
        run[f"q{query}"] = {docs[d]: float(s) for d, s in zip(returned, scores, strict=True)}
        qrels[f"q{query}"] = {docs[d]: int(g) for d, g in zip(judged, rng.integers(0, 4, pool), strict=False)}
    return qrels, run


@quick
@given(qrels_and_runs())
def test_any_small_world_agrees(qrels_and_run: QrelsAndRun) -> None:
    assert_agrees(*qrels_and_run)


@quick
@given(qrels_and_runs())
def test_any_small_world_agrees_at_a_higher_level_of_relevance(qrels_and_run: QrelsAndRun) -> None:
    assert_agrees(*qrels_and_run, rel=2)


@pytest.mark.parametrize("levels", [1, 2, 10, 100_000])
@pytest.mark.parametrize("ordered", [True, False])
def test_runs_in_order_or_not_agree_with_few_ties_and_many(levels: int, ordered: bool) -> None:
    assert_agrees(*random_world(levels, queries=12, depth=120, pool=300, levels=levels, ordered=ordered))


@pytest.mark.parametrize(
    "name",
    [
        "{}",
        "doc-{:07}",
        "a-common-prefix-{}",
        "sixteen-bytes-is{0:016}{0}",
        "é{}",
        "документ-{}",
        "日本語の文書{}",
    ],
)
def test_ids_of_any_length_and_script_agree(name: str) -> None:
    assert_agrees(*random_world(7, queries=6, depth=80, pool=120, levels=5, name=name))


def test_ids_that_begin_alike_and_end_alike_agree() -> None:
    qrels, run = random_world(3, queries=5, depth=30, pool=40, levels=2)
    longer = {f"d{n}": "x" * (n % 20) + "é" * (n % 3) + "x" * (n // 4) + str(n % 2) for n in range(40)}
    assert len(set(longer.values())) > 30
    unique = {doc: text + doc for doc, text in longer.items()}
    renamed = {q: {unique[d]: g for d, g in docs.items()} for q, docs in qrels.items()}
    assert_agrees(renamed, {q: {unique[d]: s for d, s in docs.items()} for q, docs in run.items()})


def test_one_query_agrees() -> None:
    assert_agrees(*random_world(11, queries=1, depth=50, pool=60, levels=9))


def test_one_document_agrees() -> None:
    assert_agrees({"q": {"a": 1}}, {"q": {"a": 0.0}})


def test_queries_missing_on_either_side_agree() -> None:
    qrels, run = random_world(5, queries=30, depth=20, pool=40, levels=6)
    values = {query: docs for query, docs in qrels.items() if int(query[1:]) % 3}
    assert_agrees(values, {query: docs for query, docs in run.items() if int(query[1:]) % 2})


def test_rankings_of_unequal_depth_agree() -> None:
    qrels, run = random_world(6, queries=40, depth=60, pool=90, levels=8)
    for place, query in enumerate(run):
        run[query] = dict(list(run[query].items())[: place + 1])
    assert_agrees(qrels, run)


def test_queries_without_relevant_documents_agree() -> None:
    qrels, run = random_world(8, queries=10, depth=20, pool=30, levels=6)
    barren = {query: dict.fromkeys(docs, 0) for query, docs in qrels.items() if int(query[1:]) % 2}
    assert_agrees(qrels | barren, run)


@pytest.mark.parametrize("seed", range(5))
def test_a_run_as_a_table_agrees_like_a_dictionary(seed: int) -> None:
    qrels, run = random_world(seed, queries=20, depth=50, pool=70, levels=4, name="a-longer-name-{}")
    rows = [(q, d, s) for q, docs in run.items() for d, s in docs.items()]
    np.random.default_rng(seed).shuffle(rows)
    names = ("query_id", "doc_id", "score")
    table = Run([dict(zip(names, row, strict=True)) for row in rows])
    assert_agrees(qrels, run, ours=table)
    assert Qrels(Qrels(qrels).frame) == Qrels(qrels)


def test_thousands_of_documents_in_a_query_agree() -> None:
    assert_agrees(*random_world(21, queries=3, depth=4000, pool=6000, levels=300))


def test_the_geometric_mean_agrees() -> None:
    qrels, run = random_world(9, queries=25, depth=8, pool=60, levels=6)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"gm_map"}).evaluate(run)
    target = pytrec_eval.compute_aggregated_measure("gm_map", [v["gm_map"] for v in theirs.values()])
    assert evaluate(qrels, run, "gmAP").estimates["gmAP"].value == pytest.approx(target, abs=1e-9)


def test_near_ties_have_the_order_of_trec_eval_9_in_single_precision() -> None:
    generator = np.random.default_rng(3)
    docs = [f"d{place}" for place in range(200)]
    qrels = {f"q{q}": {doc: int(generator.integers(0, 2)) for doc in docs} for q in range(5)}
    run = {q: {doc: 20 + 1e-7 * float(generator.random()) for doc in docs} for q in qrels}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(run)
    single = evaluate(qrels, run, ["AP"], order=ScoreOrder(single_precision=True)).scores.to_dict()
    assert {q: scores["AP"] for q, scores in single.items()} == pytest.approx(
        {q: values["map"] for q, values in theirs.items()}
    )
    double = evaluate(qrels, run, ["AP"]).scores.to_dict()
    assert all(abs((double[q]["AP"] or 0) - theirs[q]["map"]) > 1e-4 for q in qrels)
