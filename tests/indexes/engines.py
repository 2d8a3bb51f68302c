"""The parameters of every engine in the conformance suite: a few thousand vectors of 32 dimensions.

An engine is one line here. `generous` must reach a recall of .9 at k = 10; `poor` must have a lower recall.
"""

from typing import Any, NamedTuple

from assay.core.vectors import METRICS

Parameters = dict[str, Any]


class Trial(NamedTuple):
    """The parameters with which an engine is tried, and its known properties."""

    build: Parameters
    poor: Parameters  # for searching
    generous: Parameters  # for searching
    metrics: tuple[str, ...] = METRICS  # the same as the class lists
    steady: bool = True  # a query gets exactly the same answer alone and in a batch
    server: bool = False  # a server does the work, so its threads are not counted
    slow: bool = False  # to start in every process, so only its first metric is tried


TRIALS: dict[str, Trial] = {
    "faiss.flat": Trial({}, {}, {}),
    "faiss.hnsw": Trial({"M": 16, "efConstruction": 80}, {"efSearch": 10}, {"efSearch": 200}),
    "faiss.ivfflat": Trial({"nlist": 64}, {"nprobe": 1}, {"nprobe": 40}),
    "faiss.ivfpq": Trial(
        {"nlist": 16, "m": 16, "nbits": 6}, {"nprobe": 1, "k_factor": 1}, {"nprobe": 16, "k_factor": 10}
    ),
    "faiss.ivfsq": Trial({"nlist": 64, "qtype": "8bit"}, {"nprobe": 1}, {"nprobe": 40}),
    "faiss.fastscan": Trial(
        {"nlist": 16, "m": 16}, {"nprobe": 1, "k_factor": 1}, {"nprobe": 16, "k_factor": 20}
    ),
    "faiss.rabitq": Trial({"nlist": 16}, {"nprobe": 1, "k_factor": 1}, {"nprobe": 16, "k_factor": 30}),
    "faiss.nsg": Trial({"R": 24, "build_type": 0}, {"search_L": 10}, {"search_L": 200}),
    "hnswlib": Trial({"M": 16, "ef_construction": 80}, {"ef": 10}, {"ef": 200}),
    "usearch": Trial(
        {"connectivity": 16, "expansion_add": 80}, {"expansion_search": 10}, {"expansion_search": 200}
    ),
    "annoy": Trial({"n_trees": 20}, {"search_k": 50}, {"search_k": 4000}),
    "scann": Trial(
        {"num_leaves": 64},
        {"leaves_to_search": 1, "pre_reorder_num_neighbors": 10},
        {"leaves_to_search": 64, "pre_reorder_num_neighbors": 200},
    ),  # all leaves: of some, a query alone and one among others may not be sent to the same
    "diskann": Trial({"graph_degree": 32, "complexity": 64}, {"complexity": 10}, {"complexity": 200}),
    "diskann.ssd": Trial({"graph_degree": 32, "complexity": 64}, {"complexity": 10}, {"complexity": 200}),
    "ngt": Trial({"edge_size_for_creation": 20}, {"epsilon": -0.2}, {"epsilon": 0.3}),
    "svs": Trial(
        {"graph_max_degree": 32, "window_size": 64}, {"search_window_size": 10}, {"search_window_size": 200}
    ),
    "vsag.hgraph": Trial({"max_degree": 32, "ef_construction": 100}, {"ef_search": 10}, {"ef_search": 200}),
    "vsag.diskann": Trial(
        {"max_degree": 32, "ef_construction": 100},
        {"ef_search": 10},
        {"ef_search": 200},
        metrics=("l2", "cosine"),
        server=True,  # it reads in threads of its own, all kept to one processor
    ),
    "milvus": Trial(
        {"uri": "vectors.db", "M": 16, "efConstruction": 80}, {"ef": 10}, {"ef": 200}, server=True
    ),  # milvus-lite; the server is tried in test_milvus.py
    "pgvector.hnsw": Trial(
        {"m": 16, "ef_construction": 80}, {"ef_search": 10}, {"ef_search": 200}, server=True
    ),
    "pgvector.ivfflat": Trial({"lists": 64}, {"probes": 1}, {"probes": 40}, server=True),
    "chroma": Trial({"max_neighbors": 16, "ef_construction": 80}, {"ef_search": 10}, {"ef_search": 200}),
    "qdrant.edge": Trial({"m": 16, "ef_construct": 80}, {"hnsw_ef": 5}, {"hnsw_ef": 200}),
    "lancedb.ivfpq": Trial(
        {"num_partitions": 16, "num_sub_vectors": 16},
        {"nprobes": 1, "refine_factor": 1},
        {"nprobes": 16, "refine_factor": 20},
    ),
    "lancedb.hnsw": Trial({"m": 16, "ef_construction": 80}, {"ef": 10}, {"ef": 200, "refine_factor": 2}),
    "duckdb": Trial({"M": 16, "ef_construction": 80}, {"ef_search": 10}, {"ef_search": 200}),
    "sqlite-vec": Trial({}, {}, {}, metrics=("l2", "cosine")),
    "sample": Trial(  # of examples/engines
        {"seed": 1},
        {"share": 0.1},
        {"share": 1.0},
        metrics=("l2",),
        steady=False,  # the product of one query is rounded differently from that of several
    ),
    "adaptive": Trial(
        {"inner": "faiss.hnsw;M=16;efConstruction=80", "count": 500, "middles": 64, "most": 128},
        {"budget": 10},
        {"budget": 200},
        steady=False,  # a query on the edge between two groups
    ),
}
EXAMPLE_TRIALS: dict[str, Trial] = {  # libraries of examples/engines, tried if ASSAY_EXAMPLE_ENGINES is set
    "voyager": Trial({"M": 16, "ef_construction": 80}, {"query_ef": 10}, {"query_ef": 200}),
    "nmslib": Trial({"M": 16, "efConstruction": 80}, {"efSearch": 10}, {"efSearch": 200}),
    "symphonyqg": Trial({"max_degree": 32, "ef_construction": 100}, {"ef": 10}, {"ef": 300}),
    "pynndescent": Trial({"n_neighbors": 30}, {"epsilon": 0.0}, {"epsilon": 0.4}, slow=True),
    "zvec": Trial({"m": 16, "ef_construction": 80}, {"ef": 10}, {"ef": 200}),
    "vectorlite": Trial({"M": 16, "ef_construction": 80}, {"ef": 10}, {"ef": 200}),
}
