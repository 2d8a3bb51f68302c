"""The engines of `harness.py`: those of Assay, which can also run a bare loop in the same process."""

from __future__ import annotations

import gc
import json
from statistics import median
from typing import Any

from bare_loop import K, bind_search, split_queries, time_batch, time_single

from assay.core import timing
from assay.indexes.index import Index, Rows
from assay.indexes.registry import load_engine

BLOCK_SIZE = 250  # queries
TURNS = 16  # over all queries
ENGINES = {"Faiss": "faiss.hnsw", "Hnswlib": "hnswlib"}


def compare_speeds(engine: str, index: Any, queries: Rows) -> str:
    """Return the speed through Assay divided by that of a bare loop, by mode, as JSON."""
    bare = bind_search(engine, index.index)
    clock = timing.MonotonicClock(spin=False)
    passes = []  # as in a sweep, the answers stay in memory until a pass ends

    def time_assay(block: Rows) -> float:
        send, requests = index.requests(block, K, 1)
        passes.append(timing.run_closed_loop(send, requests, K, clock))
        return float(passes[-1].ends[-1] - passes[-1].starts[0]) / 1e9

    blocks = [queries[i : i + BLOCK_SIZE] for i in range(0, len(queries), BLOCK_SIZE)]
    gc.disable()  # as Assay does while it times
    shares = {
        "single": relative_speed(time_assay, lambda block: time_single(bare, split_queries(block)), blocks),
        "batch": relative_speed(
            lambda block: timing.time_batch(index.search, block, K).seconds,
            lambda block: time_batch(bare, block),
            [queries],
        ),
    }
    gc.enable()
    return json.dumps(shares)


def relative_speed(assay: Any, bare_loop: Any, blocks: list[Any]) -> float:
    """Return the median ratio of the loop's time to Assay's; which of the two is first alternates."""
    ratios: list[float] = []
    for turn, block in enumerate([blocks[0], *blocks * TURNS]):
        seconds = {measure: measure(block) for measure in (assay, bare_loop)[:: 1 if turn % 2 else -1]}
        ratios.append(seconds[bare_loop] / seconds[assay])
    return median(ratios[1:])


def self_timing_engine(engine: str) -> type[Index]:
    """Return an engine whose remark on queries is its relative speed; only its own library is loaded."""

    def remark(self: Index, queries: Rows) -> str:
        return compare_speeds(engine, self, queries)

    return type("SelfTimingEngine", (load_engine(engine),), {"remark": remark})


def __getattr__(name: str) -> type[Index]:
    if name not in ENGINES:
        raise AttributeError(name)
    return self_timing_engine(ENGINES[name])
