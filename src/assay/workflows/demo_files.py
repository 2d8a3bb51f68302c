"""The settings files that the demo writes."""

GATE = """# The rules of `assay gate`; paths are relative to this file.
[data]
qrels = "helpcentre"          # a BEIR folder: judgments, queries and documents

[baseline]
run = "bm25.run"

[candidate]
run = "lsa.run"
figures = { cost_per_1k_queries = 0.02 }

[gate]
min_queries = 200             # fewer queries decide nothing

[[gate.rules]]                # the purpose of the change
measure = "R@10"
better_by = 0.01

[[gate.rules]]                # no category may lose much
measure = "R@10"
not_worse_than = 0.05
by = ["category"]
min_n = 30

[[gate.rules]]                # half of the relevant documents, for most queries
measure = "Robustness(delta=0.5)@10"
at_least = 0.55

[[gate.rules]]
figure = "cost_per_1k_queries"
at_most = 0.05
priority = 2
"""
SYSTEMS = """
# The systems of `assay run`: search by words, search by vectors in a small graph, and both fused.
[systems.words]
kind = "bm25"

[systems.vectors]
kind = "index"
encoder = "lsa"
engine = "faiss.hnsw"
build = { M = 8, efConstruction = 40 }
search = { efSearch = 24 }

[systems.hybrid]
retrieve = ["words", "vectors"]
depth = 50
"""
ONLINE = """
# The A/B test of `assay online ab traffic/ab_test.ndjson`.
[online.ab]
control = "bm25"
goals = ["ctr"]
guardrails = { abandonment = "5%", latency_p95 = "25%" }
secondary = ["mrr", "session_success", "reformulation"]
inference = "fixed"           # decided at the planned end; guardrails are watched
planned_days = 14
"""
BENCH = """# A graph and a partition, of one mean recall at efSearch 72 and nprobe 6; relative paths.
[data]
base = "base.fbin"            # 20,000 generated vectors
queries = "queries.fbin"      # 4,000 from another distribution, like texts that ask for images
metric = "l2"
k = 10

[run]
modes = ["single"]

[[index]]
engine = "faiss.hnsw"
build = { M = 8, efConstruction = 40 }
search = { efSearch = [32, 72, 160] }

[[index]]
engine = "faiss.ivfflat"
build = { nlist = 256 }
search = { nprobe = [3, 6, 12] }
"""
