"""What the tests of the store share, and the processes that they start, and kill.

write STORE COUNT        save so many experiments
serve                    for each line with a store, a delay and `opening` or `saving`, save in a process
                         that is killed so long after it began to
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from assay.core.records import Experiment, Metric
from assay.core.tables import Scores
from assay.store.store import Store

QUERIES = [f"q{i}" for i in range(40)]


def experiment(name: str = "hnsw", value: float = 0.4, **fields: Any) -> Experiment:
    """An experiment with something in each field."""
    given: dict[str, Any] = {
        "at": datetime(2026, 1, 31, 12, tzinfo=UTC),
        "configuration": {"index_type": "hnsw", "top_k": 10, "hnsw": {"ef": 64}, "exact": False},
        "metrics": (
            Metric("R@10", "", "", value + 0.1, value, value + 0.2, 40),
            Metric("R@10", "category", "faq", value + 0.3),
            Metric("nDCG@10", "", "", value, None, None, 40),
        ),
        "digests": {"qrels": "a" * 64},
        "policy": {"ties": "larger id"},
        "latency": {"p95_ms": 12.5},
        "figures": {"cost_per_1k_queries": 0.3},
        "code": "abc123",
        "environment": {"python": "3.11"},
        "result": {"found": [1, None, "x"]},
        "tags": ("nightly",),
        "note": "a note",
    }
    return Experiment(name, **{**given, **fields})


def scores(seed: int = 0, undefined: bool = True) -> Scores:
    """Scores of two measures that differ by the seed."""
    values = np.random.default_rng(seed).random((2, len(QUERIES)))
    if undefined:
        values[0, 3] = np.nan
    return Scores(QUERIES, {"nDCG@10": values[0], "R@10": values[1]})


def start(verb: str, *given: str) -> list[str]:
    """The command of such a process."""
    return [sys.executable, str(Path(__file__)), verb, *given]


def write(url: str, count: str) -> None:
    """Save, and say the id of all that is kept."""
    print("ready", flush=True)
    sys.stdin.readline()
    with Store(url) as store:
        for number in range(int(count)):
            made = store.put(experiment(f"e{number}"), scores(os.getpid() * 1000 + number))
            print(made.id, flush=True)


def serve() -> None:
    """Processes that need no start of Python, one after the other, each killed after its delay."""
    print("ready", flush=True)
    for line in sys.stdin:
        url, delay, when = line.rsplit(maxsplit=2)
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            _save_for_ever(url, writer)
        os.close(writer)
        if when == "saving":
            os.read(reader, 1)
        os.close(reader)
        time.sleep(float(delay))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print("killed", flush=True)


def _save_for_ever(url: str, opened: int) -> None:
    with Store(url) as store:
        os.close(opened)
        for number in range(1_000_000):
            made = store.put(experiment(), scores(os.getpid() * 1000 + number))
            os.write(1, f"{made.id}\n".encode())


if __name__ == "__main__":
    verbs: dict[str, Callable[..., None]] = {"write": write, "serve": serve}
    verbs[sys.argv[1]](*sys.argv[2:])
