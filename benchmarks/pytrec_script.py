"""What people write today: `python pytrec_script.py QRELS RUN` prints each query's values and the means."""

import sys

import pytrec_eval

NAMES = ("ndcg_cut_10", "recall_100", "recall_1000", "recip_rank", "map", "P_10")

with open(sys.argv[1]) as qrels, open(sys.argv[2]) as run:
    judged, ranked = pytrec_eval.parse_qrel(qrels), pytrec_eval.parse_run(run)
found = pytrec_eval.RelevanceEvaluator(judged, set(NAMES)).evaluate(ranked)
for query, values in found.items():
    for name in NAMES:
        print(f"{name}\t{query}\t{values[name]:.4f}")
for name in NAMES:
    print(f"{name}\tall\t{sum(values[name] for values in found.values()) / len(found):.4f}")
