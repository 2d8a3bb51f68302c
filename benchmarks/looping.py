"""The engines of `harness.py`: Assay's own, which also search in a bare loop where they are."""

from __future__ import annotations

import gc
import json
from statistics import median
from typing import Any

from loops import K, at_once, one_by_one, searcher, split

from assay.indexes.engines import load
from assay.indexes.hosting import timing
from assay.indexes.index import Index, Rows

BLOCK = 250  # queries
TURNS = 16  # of all queries
ENGINES = {"Faiss": "faiss.hnsw", "Hnswlib": "hnswlib"}


def beside(engine: str, index: Any, queries: Rows) -> str:
    """The speed through Assay as a share of a bare loop's, in turns; by mode."""
    bare = searcher(engine, index.index)
    clock, kept = timing.Monotonic(spin=False), []  # a pass keeps its answers until it ends

    def through(block: Rows) -> float:
        ask, each = index.requests(block, K, 1)
        kept.append(timing.closed_loop(ask, each, K, clock))
        return float(kept[-1].ends[-1] - kept[-1].starts[0]) / 1e9

    blocks = [queries[i : i + BLOCK] for i in range(0, len(queries), BLOCK)]
    gc.disable()  # as Assay does while it times
    shares = {
        "single": share(through, lambda block: one_by_one(bare, split(block)), blocks),
        "batch": share(
            lambda block: timing.batch(index.search, block, K).seconds,
            lambda block: at_once(bare, block),
            [queries],
        ),
    }
    gc.enable()
    return json.dumps(shares)


def share(assay: Any, loop: Any, blocks: list[Any]) -> float:
    """The time of the loop over the time through Assay, who begins in turns; of all turns the median."""
    ratios: list[float] = []
    for number, block in enumerate([blocks[0], *blocks * TURNS]):
        seconds = {measure: measure(block) for measure in (assay, loop)[:: 1 if number % 2 else -1]}
        ratios.append(seconds[loop] / seconds[assay])
    return median(ratios[1:])


def looping(engine: str) -> type[Index]:
    """An engine that says of queries how fast it is; only its own library is loaded."""

    def remark(self: Index, queries: Rows) -> str:
        return beside(engine, self, queries)

    return type("Looping", (load(engine),), {"remark": remark})


def __getattr__(name: str) -> type[Index]:
    if name not in ENGINES:
        raise AttributeError(name)
    return looping(ENGINES[name])
