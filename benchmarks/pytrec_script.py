"""A typical script with pytrec_eval: `python pytrec_script.py QRELS RUN` prints all values and means."""

import sys

import pytrec_eval

NAMES = ("ndcg_cut_10", "recall_100", "recall_1000", "recip_rank", "map", "P_10")

with open(sys.argv[1]) as qrels, open(sys.argv[2]) as run:
    judgments, rankings = pytrec_eval.parse_qrel(qrels), pytrec_eval.parse_run(run)
values_by_query = pytrec_eval.RelevanceEvaluator(judgments, set(NAMES)).evaluate(rankings)
for query, values in values_by_query.items():
    for name in NAMES:
        print(f"{name}\t{query}\t{values[name]:.4f}")
for name in NAMES:
    print(
        f"{name}\tall\t{sum(values[name] for values in values_by_query.values()) / len(values_by_query):.4f}"
    )
