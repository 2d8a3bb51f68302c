"""Time the position-based model against a plain loop over pages and against clax-models.

    python benchmarks/clicks.py                 # 1, 3 and 10 million pages, 50 iterations
    python benchmarks/clicks.py --pages 200000  # a smaller log

The log is simulated: 20,000 queries with 20 documents each, ten of which are shown on a page in random
order; queries are drawn as 1 / rank. A rate is pages × iterations per second. That of Assay includes
counting the pages; in none is the loading of the log, which gives pairs of a query and a document their
numbers. The plain loop, written here, does one iteration of EM on a sample, as implementations that visit one
page after the other do. clax-models (pip install --group bench-clicks) fits by gradients with Adam; an
iteration is an epoch over a sample, without the time of compiling it.
"""

import argparse
import resource
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import report

from assay.core.arrays import Floats
from assay.core.result_pages import Pages
from assay.judging.clicks.cells import count_cells
from assay.judging.clicks.examination import fit_examination
from assay.judging.clicks.model import FitSettings
from assay.judging.clicks.simulation import SimulatedQueries, click_by_position

QUERIES, DOCUMENTS, RANKS = 20_000, 20, 10
EXAMINATION = 1 / np.arange(1, RANKS + 1) ** 0.7
BLOCK = 500_000  # pages that are simulated at once


def simulate(n: int) -> Pages:
    """Return a log of n pages; only the arrays of codes and clicks grow with n."""
    rng = np.random.default_rng(0)
    queries = SimulatedQueries.draw(QUERIES, DOCUMENTS, RANKS, rng)
    blocks = []
    for begin in range(0, n, BLOCK):
        pages = queries.draw_pages(min(BLOCK, n - begin), rng)
        blocks.append(click_by_position(pages, queries.attraction_of(pages), EXAMINATION, rng))
    first = blocks[0]
    return Pages(
        first.query_ids,
        first.doc_ids,
        np.concatenate([block.queries for block in blocks]),
        np.concatenate([block.documents for block in blocks]),
        np.concatenate([block.clicks for block in blocks]),
    )


def fit(pages: Pages, iterations: int) -> tuple[float, float, Floats, int]:
    """Return the seconds of counting and of EM, the examination and the number of cells."""
    pages = pages.encode_pairs()
    begin = time.perf_counter()
    cells = count_cells(pages)
    counted = time.perf_counter()
    result = fit_examination(cells, FitSettings(iterations=iterations))
    return counted - begin, time.perf_counter() - counted, result.examination, len(cells.pair)


def loop_over_pages(pages: Pages, iterations: int) -> Floats:
    """Fit the model by EM that visits one document of one page after the other."""
    queries, documents = pages.queries.tolist(), pages.documents.tolist()
    clicks = pages.clicks.tolist()
    attraction: dict[tuple[int, int], float] = {}
    examination = [0.5] * pages.ranks
    for _ in range(iterations):
        attracted: dict[tuple[int, int], list[float]] = {}
        examined = [[1.0, 2.0] for _ in range(pages.ranks)]
        for query, shown, clicked in zip(queries, documents, clicks, strict=True):
            for rank, (document, click) in enumerate(zip(shown, clicked, strict=True)):
                pair = (query, document)
                sums = attracted.setdefault(pair, [1.0, 2.0])
                sums[1] += 1
                examined[rank][1] += 1
                if click:
                    sums[0] += 1
                    examined[rank][0] += 1
                else:
                    a, e = attraction.get(pair, 0.5), examination[rank]
                    sums[0] += a * (1 - e) / (1 - a * e)
                    examined[rank][0] += e * (1 - a) / (1 - a * e)
        attraction = {pair: sums[0] / sums[1] for pair, sums in attracted.items()}
        examination = [sums[0] / sums[1] for sums in examined]
    return np.array(examination)


def clax_epochs(pages: Pages, epochs: int, batch: int = 4096) -> float:
    """Return the seconds of epochs of clax-models over pages, after one step that compiles it."""
    import jax.numpy as jnp  # the peer is optional
    import optax
    from clax import PositionBasedModel, Trainer
    from clax.metrics import Average, MultiMetric
    from flax import nnx

    model = PositionBasedModel(positions=RANKS, query_doc_pairs=QUERIES * DOCUMENTS, rngs=nnx.Rngs(0))
    trainer = Trainer(optimizer=optax.adam(0.003))
    optimizer, metrics = (
        nnx.ModelAndOptimizer(model, optax.adam(0.003)),
        MultiMetric({"loss": Average("loss")}),
    )
    positions = np.tile(np.arange(1, RANKS + 1), (batch, 1))
    batches = [
        {
            "positions": jnp.asarray(positions),
            "query_doc_ids": jnp.asarray(pages.documents[i : i + batch]),
            "clicks": jnp.asarray(pages.clicks[i : i + batch].astype(np.float32)),
            "mask": jnp.ones((batch, RANKS), bool),
        }
        for i in range(0, len(pages) - batch + 1, batch)
    ]
    model.train()
    trainer._train_step(model, optimizer, metrics, batches[0])
    metrics.compute()
    begin = time.perf_counter()
    for _ in range(epochs):
        for part in batches:
            trainer._train_step(model, optimizer, metrics, part)
    metrics.compute()  # waits for the results
    return (time.perf_counter() - begin) * len(pages) / (len(batches) * batch)


def time_call(function: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def measure_peers(pages: Pages, loop_pages: int, clax_pages: int) -> dict[str, float]:
    """Return pages × iterations per second of each peer on the first pages."""
    sample = pages.take(slice(loop_pages))
    rates = {"plain loop over pages": loop_pages / time_call(lambda: loop_over_pages(sample, 1))}
    if find_spec("clax") is not None:
        rates["clax-models"] = 2 * clax_pages / clax_epochs(pages.take(slice(clax_pages)), 2)
    else:
        print("clax-models is not installed: pip install clax-models")
    return rates


def check_against_loop(pages: Pages) -> float:
    """Return the largest difference of examination between the plain loop and the counts."""
    sample = pages.take(slice(2000))
    return float(np.abs(loop_over_pages(sample, 5) - fit(sample, 5)[2]).max())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=10_000_000)
    parser.add_argument("--iterations", type=int, default=50)
    parser.add_argument("--loop-pages", type=int, default=20_000)
    parser.add_argument("--clax-pages", type=int, default=100_000)
    options = parser.parse_args()
    began = time.perf_counter()
    log = simulate(options.pages)
    print(f"simulated {len(log):,} pages in {time.perf_counter() - began:.1f} s")
    began = time.perf_counter()
    log = log.encode_pairs()
    print(f"gave each pair of a query and a document its number in {time.perf_counter() - began:.1f} s")
    print(f"the same examination as the plain loop on 2,000 pages: within {check_against_loop(log):.1e}")
    peers = measure_peers(log, min(options.loop_pages, len(log)), min(options.clax_pages, len(log)))
    rows, rate = [], 0.0
    for n in sorted({options.pages // 10, options.pages * 3 // 10, options.pages}):
        counting, em, examination, cells = fit(log.take(slice(n)), options.iterations)
        rate = n * options.iterations / (counting + em)
        error = np.abs(examination / examination[0] / EXAMINATION - 1).max()
        rows.append(
            [f"{n:,}", f"{cells:,}", f"{counting:.2f}", f"{em:.2f}", f"{rate:,.0f}", f"{100 * error:.1f} %"]
        )
    head = [
        "pages",
        "cells",
        "counting s",
        f"{options.iterations} iterations s",
        "pages × iterations / s",
        "off by",
    ]
    print(report.format_table(head, rows))
    rows = [
        ["Assay", f"{rate:,.0f}", ""],
        *([n, f"{r:,.0f}", f"{rate / r:,.0f} ×"] for n, r in peers.items()),
    ]
    print(report.format_table(["fit of", "pages × iterations / s", "Assay is faster by"], rows))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")


if __name__ == "__main__":
    main()
