"""Trials summed up from what was kept of them: any later measure is a re-score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.core.errors import InputError
from assay.core.vectors import Positions
from assay.indexes.exact.distances import Doubles
from assay.indexes.hits import Hits, Judge, first
from assay.indexes.hosting.load import SATURATED
from assay.indexes.hosting.percentiles import latency
from assay.indexes.recall import mean_recall
from assay.indexes.sweeps.data import Data
from assay.indexes.sweeps.results import Repetition, Results
from assay.indexes.trials import DELTAS, Spread, Trial, robustness_name
from assay.stats.intervals import estimate

_TOLD = (
    "engine", "build", "search", "mode", "threads", "version", "metric", "n", "d", "k", "status", "reason",
    "indexed", "build_seconds", "memory_bytes", "disk_bytes", "policy", "machine", "source", "note",
    "reported",
)  # fmt: skip
_ASKING = ("clients", "rate", "seconds", "percentile", "within_ms")


def trials(
    results: Results, judge: Judge | None, deltas: Sequence[float] = DELTAS, level: float = 0.95
) -> list[Trial]:
    """Every trial of a sweep, scored."""
    return [trial(results, key, judge, deltas, level) for key in results.keys()]  # noqa: SIM118


def trial(
    results: Results,
    key: str,
    judge: Judge | None,
    deltas: Sequence[float] = DELTAS,
    level: float = 0.95,
    numbers: Sequence[int] | None = None,
) -> Trial:
    """One trial of a sweep, scored, by all its passes or by some; without a judge only times are told."""
    known = results.trial(key) or {}
    told: dict[str, Any] = {name: known[name] for name in _TOLD if name in known}
    asking = {name: known[name] for name in _ASKING if known.get(name) is not None}
    numbers = results.repetitions(key) if numbers is None else numbers
    passes = [results.repetition(key, number) for number in numbers]
    figures = _timed(passes, known) if passes else {}
    remarks = dict.fromkeys(one.extra.get("remark", "") for one in passes)
    odd = _odd(passes[0].ids, known.get("n") or _n(results)) if passes else []
    told["note"] = "; ".join(filter(None, (known.get("note"), *remarks, *odd)))
    if judge is not None and _can_be_judged(known, judge, key):
        said = f"{known['k']} neighbours were asked for" if known.get("k", judge.k) != judge.k else ""
        told |= {"k": judge.k, "policy": judge.policy}
        told["note"] = "; ".join(filter(None, (told["note"], said)))
        figures |= _scored(passes, judge, deltas, level) if passes else {}
    elif judge is not None and passes:
        said = f"{known['k']} neighbours were asked for: no score at {judge.k}"
        told["note"] = "; ".join(filter(None, (said, told["note"])))
    return Trial(key=key, asking=asking, **told, **figures)


def _n(results: Results) -> int | None:
    """How many vectors the sweep searches, for trials of others, which do not say it."""
    about = results.known_about()
    return None if about is None else about["data"].get("n")


def _odd(ids: Positions, n: int | None) -> list[str]:
    """What no index should return: misses, all of them, but somebody should look.

    >>> _odd(np.array([[0, 7, 7], [3, 9, -1]]), 8)
    ['1 of 6 ids returned lies outside the base', '1 of 6 was returned before for the same query']
    """
    outside = int(((ids < -1) | (ids >= n)).sum()) if n is not None else 0
    again = int((~first(ids) & (ids >= 0)).sum())
    lie, were = ("lies" if outside == 1 else "lie"), ("was" if again == 1 else "were")
    said = [f"{outside:,} of {ids.size:,} ids returned {lie} outside the base"] if outside else []
    return said + ([f"{again:,} of {ids.size:,} {were} returned before for the same query"] if again else [])


def _can_be_judged(known: dict[str, Any], judge: Judge, key: str) -> bool:
    """Whether a trial has answers to be judged: one of others may have none, or too few for each query."""
    if known.get("source", "assay") == "assay":
        return bool(known["k"] >= judge.k)
    queries = known.get("queries")
    if queries is None:
        return False
    if queries != len(judge.out_of):
        raise InputError(
            f"trial {key} answers {queries} queries, and the truth is of {len(judge.out_of)}: "
            f"it is of other data ({known.get('dataset', 'which it does not name')})"
        )
    return bool(known["k"] >= judge.k)


def quick(results: Results, key: str, data: Data) -> tuple[float | None, float | None, float | None]:
    """Recall, queries per second and the median latency (ms) of what there is of a trial, as kept."""
    passes = [results.repetition(key, number) for number in results.repetitions(key)]
    if not passes:
        return None, None, None
    made = _timed(passes, {})
    qps = made["qps"].median if "qps" in made else None
    asked = passes[0].queries[: len(data.queries)]  # every query once
    known = (data.truth.positions[asked, : data.k] >= 0).any(axis=1)
    hits = results.first_hits(key, len(asked))
    recall = None if hits is None or not known.any() else float(np.mean(hits[known] / data.k))
    return recall, qps, made.get("latency", {}).get("p50_ms")


def _scored(passes: list[Repetition], judge: Judge, deltas: Sequence[float], level: float) -> dict[str, Any]:
    """How good the answers of the first pass are; every query counts once."""
    hits = scored(passes[0], judge)
    values = per_query(hits, deltas)
    shares = {name: found for name, found in values.items() if not name.startswith("R@")}
    made = {name: estimate(found, "share", level) for name, found in shares.items()}
    return {
        "measures": {f"R@{hits.k}": mean_recall(hits.recall, level)} | made,
        "zero_hits": int(((hits.counts == 0) & (hits.out_of > 0)).sum()),
        "undefined": int((judge.out_of == 0).sum()),
        "short": judge.short,
    }


def per_query(hits: Hits, deltas: Sequence[float] = DELTAS) -> dict[str, Doubles]:
    """What the measures are of each query: its recall, whether it reaches δ, whether it has no hit."""
    made = {f"R@{hits.k}": hits.recall}
    made |= {robustness_name(delta, hits.k): hits.reaching(delta) for delta in deltas}
    none = (hits.counts == 0).astype(np.float64)
    return made | {f"ZeroHit@{hits.k}": np.where(hits.out_of > 0, none, np.nan)}


def scored(one: Repetition, judge: Judge) -> Hits:
    """The hits of each query in one pass; one that was never asked has none to be judged."""
    n = len(judge.out_of)
    answers, asked = np.full((n, one.ids.shape[1]), -1, np.int64), np.zeros(n, np.bool_)
    answers[one.queries[:n]], asked[one.queries[:n]] = one.ids[:n], True
    hits = judge.hits(answers)
    return hits._replace(out_of=np.where(asked, hits.out_of, 0))


def _timed(passes: list[Repetition], known: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"errors": sum(one.errors for one in passes)}
    capacities = [one.extra["capacity"] for one in passes if "capacity" in one.extra]
    if None in capacities:  # not met once: not to be relied on, and what was kept is of a closed loop
        return made
    offered = known.get("rate")
    lasting = [max(one.seconds, len(one.queries) / offered if offered else 0.0) for one in passes]
    made["capacity"] = spread(capacities)
    made["qps"] = spread(
        [(len(one.queries) - one.errors) / s for one, s in zip(passes, lasting, strict=True)]
    )
    latencies = np.concatenate([one.latencies for one in passes])
    if len(latencies):
        good = latencies[latencies >= 0]
        made |= {"latency": latency(good), "samples": len(good)}
    if offered is not None:  # what failed is finished, too
        rates = [len(one.queries) / s for one, s in zip(passes, lasting, strict=True)]
        made |= {"offered": offered, "saturated": bool(np.median(rates) < SATURATED * offered)}
    return made


def spread(values: Sequence[float]) -> Spread | None:
    """The middle, the least and the most of what repetitions gave; None where there are none.

    >>> spread([3.0, 1.0, 2.0])
    Spread(median=2.0, low=1.0, high=3.0, repetitions=3)
    """
    if not values:
        return None
    return Spread(float(np.median(values)), float(min(values)), float(max(values)), len(values))
