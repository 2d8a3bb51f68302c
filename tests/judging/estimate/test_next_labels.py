"""Which labels to collect next, and that estimates stay valid after they were collected."""

import numpy as np

from assay import Qrels
from assay.core.tables import Run
from assay.judging.estimate.estimates import estimate_from_labels
from assay.judging.estimate.next_labels import NextLabels

from .test_estimates import HUMAN, MODEL, RUNS, Labels, some_pairs, some_queries


def pool_of(labels: NextLabels) -> Labels:
    pool: Labels = {}
    for pair in labels.pool:
        pool.setdefault(pair.query_id, {})[pair.doc_id] = pair.inclusion_probability
    return pool


def test_pairs_without_a_human_label_are_named_once_and_always_the_same() -> None:
    human = some_pairs(0.2)
    results = [
        estimate_from_labels(Qrels(MODEL), Qrels(labels), measures=["grade"], next_count=25).next_labels
        for labels in (human, dict(reversed(human.items())))
    ]
    names = [(pair.query_id, pair.doc_id) for pair in results[0].chosen]
    assert results[0].to_list() == results[1].to_list()
    assert len(set(names)) == 25
    assert not any(doc in human.get(query, {}) for query, doc in names)


def test_pairs_at_the_top_of_the_rankings_come_first() -> None:
    result = estimate_from_labels(Qrels(MODEL), Qrels(some_pairs(0.2)), RUNS[:1], ["DCG@5"], next_count=20)
    scores, ranks = RUNS[0].to_dict(), []
    for pair in result.next_labels.chosen:
        ranked = sorted(scores[pair.query_id].items(), key=lambda item: -item[1])
        ranks.append([doc for doc, _ in ranked].index(pair.doc_id))
    assert max(ranks) < 5
    assert np.mean(ranks) < 1.9


def test_whole_queries_are_named_if_the_measure_needs_them() -> None:
    human = some_queries(40)
    result = estimate_from_labels(Qrels(MODEL), Qrels(human), RUNS, ["nDCG@10"], next_count=20)
    pool = pool_of(result.next_labels)
    chosen = {pair.query_id for pair in result.next_labels.chosen}
    assert result.next_labels.unit == "query"
    assert len(chosen) == 2
    assert not chosen & human.keys()
    assert all(len(pool[query]) == 12 and len(set(pool[query].values())) == 1 for query in chosen)


def test_nothing_is_named_if_everything_is_labelled_or_nothing_is_wanted() -> None:
    for human, count in ((HUMAN, 10), (some_pairs(0.2), 0)):
        result = estimate_from_labels(Qrels(MODEL), Qrels(human), measures=["grade"], next_count=count)
        assert result.next_labels.chosen == []


def test_the_pool_keeps_estimates_valid_after_its_pairs_were_labelled() -> None:
    truth, covered = np.mean([g for d in HUMAN.values() for g in d.values()]), 0
    for seed in range(40):
        human = some_pairs(0.1, seed)
        model, options = Qrels(MODEL), {"measures": ["grade"], "unit": "pair"}
        pool = pool_of(estimate_from_labels(model, Qrels(human), next_count=80, **options).next_labels)  # type: ignore[arg-type]
        labels = {query: {doc: HUMAN[query][doc] for doc in docs} for query, docs in pool.items()}
        e = estimate_from_labels(model, Qrels(labels), chances=Run(pool), next_count=0, **options)  # type: ignore[arg-type]
        combined = e.estimates[0].estimate.combined
        covered += int((combined.low or 9) <= truth <= (combined.high or 0))
    assert covered >= 34


def test_probabilities_of_all_units_add_up_to_the_labelled_ones() -> None:
    human = some_pairs(0.15)
    result = estimate_from_labels(Qrels(MODEL), Qrels(human), measures=["grade"], next_count=50)
    total = sum(1 / pair.inclusion_probability for pair in result.next_labels.pool)
    assert round(total) == sum(map(len, MODEL.values()))
