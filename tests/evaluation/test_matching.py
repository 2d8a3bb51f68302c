"""Queries of a run are matched by their ids, and by their texts where the ids do not match."""

from assay.evaluation import evaluate


def test_a_run_may_name_some_queries_by_their_ids_and_others_by_their_texts() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    queries = {"query_id": ["q1", "q2", "q3"], "text": ["reset", "invoice", "invoice"]}
    run = {"q2": {"b": 1.0}, "reset": {"a": 1.0}, "invoice": {"c": 1.0}}
    evaluation = evaluate(qrels, run, ["R@10"], queries)
    assert evaluation.scores["R@10"].tolist() == [1.0, 1.0, 0.0]  # two queries have the text invoice
    assert evaluation.counts.missing_from_run == 1
