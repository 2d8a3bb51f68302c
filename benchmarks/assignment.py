"""How fast units are assigned to arms, beside bare hashing, the GrowthBook SDK and OpenFeature in memory.

    python benchmarks/assignment.py

Needs the group `bench`; without the GrowthBook SDK its line is left out. In each turn every contestant
assigns the same users; the figures are medians of the turns, per second of processor time, and a ratio is one
of the same turn.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from hashlib import blake2b
from importlib.util import find_spec

import numpy as np
from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.provider.in_memory_provider import InMemoryFlag, InMemoryProvider

from assay.rollout.assignment import TrafficSplit
from assay.rollout.assignment_arrays import assign_many
from assay.rollout.openfeature_provider import SplitProvider

TURNS, UNITS, SLOW_UNITS = 15, 100_000, 10_000
SPLIT = TrafficSplit("new-ranker", coverage=0.5)
Task = Callable[[], int]  # returns how many units it assigned


def user_ids() -> list[str]:
    """Return ids as long as a UUID."""
    return [f"{number:08x}-0000-4000-8000-{number * 7919:012x}" for number in range(UNITS)]


def growthbook_task(users: Sequence[str]) -> Task:
    """Return the `run` of an experiment of the GrowthBook SDK."""
    from growthbook import Experiment, GrowthBook

    book = GrowthBook(attributes={"id": ""})
    experiment = Experiment(key="new-ranker", variations=["control", "treatment"], coverage=0.5)

    def run() -> int:
        for user in users:
            book.set_attributes({"id": user})
            book.run(experiment)
        return len(users)

    return run


def openfeature_task(domain: str, users: Sequence[str]) -> Task:
    """Return the evaluation of a flag by the client of a domain."""
    client = api.get_client(domain)

    def run() -> int:
        for user in users:
            client.get_string_value("new-ranker", "control", EvaluationContext(user))
        return len(users)

    return run


def each(function: Callable[[str], object], users: Sequence[str]) -> Task:
    """Return the calls of a function for each user."""

    def run() -> int:
        for user in users:
            function(user)
        return len(users)

    return run


def tasks(users: list[str]) -> dict[str, Task]:
    """Return the contestants."""
    api.set_provider(SplitProvider({SPLIT.name: SPLIT}.get), "assay")
    flag = InMemoryFlag("control", {"control": "control", "treatment": "treatment"})
    api.set_provider(InMemoryProvider({SPLIT.name: flag}), "memory")
    some, array = users[:SLOW_UNITS], np.array(users, dtype="S")
    sdk = {"GrowthBook run": growthbook_task(some)} if find_spec("growthbook") else {}
    return {
        "assay, one by one": each(SPLIT.assign, users),
        "bare blake2b": each(lambda user: blake2b(user.encode(), digest_size=8).digest(), users),
        "bare CRC-32": each(lambda user: zlib.crc32(user.encode()), users),
        **sdk,
        "assay, list of texts": lambda: len(assign_many(SPLIT, users)),
        "assay, array of bytes": lambda: len(assign_many(SPLIT, array)),
        "OpenFeature, assay": openfeature_task("assay", some),
        "OpenFeature, in memory": openfeature_task("memory", some),
    }


def main() -> None:
    """Print the rates and the ratios."""
    contestants = tasks(user_ids())
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(TURNS):
        for name, task in contestants.items():
            start = time.process_time()
            count = task()
            rates[name].append(count / (time.process_time() - start))
    for name, values in rates.items():
        print(f"{name:24} {np.median(values):14,.0f} units/s")
    pairs = [
        ("assay, one by one", "GrowthBook run"),
        ("assay, one by one", "bare blake2b"),
        ("assay, array of bytes", "bare blake2b"),
        ("assay, array of bytes", "bare CRC-32"),
        ("assay, list of texts", "bare CRC-32"),
        ("OpenFeature, in memory", "OpenFeature, assay"),
    ]
    for first, second in pairs:
        if second not in rates:
            print(f"{first} / {second}: not measured, it is not installed")
            continue
        ratios = np.array(rates[first]) / np.array(rates[second])
        print(f"{first} / {second}: {np.median(ratios):.2f}x ({ratios.min():.2f} to {ratios.max():.2f})")


if __name__ == "__main__":
    main()
