"""Trials: one row per index configuration that was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from assay.measures import parse
from assay.stats.intervals import Estimate

DELTAS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


class Spread(NamedTuple):
    """A figure over repetitions: the middle one, the least and the most."""

    median: float
    low: float
    high: float
    repetitions: int


@dataclass(frozen=True)
class Trial:
    """An index configuration, and what was measured of it."""

    key: str
    engine: str
    build: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)
    mode: str = "single"
    asking: Mapping[str, Any] = field(default_factory=dict)  # rate, clients, seconds, objective
    threads: int | None = 1
    version: str = ""
    metric: str = ""
    n: int | None = None  # vectors in the base
    d: int | None = None
    k: int = 10
    status: str = "done"  # done, failed, or begun
    reason: str = ""  # why it failed
    indexed: bool | None = None  # False: it answered by brute force; None: not to be told, or exact by design
    build_seconds: float | None = None
    memory_bytes: int | None = None
    disk_bytes: int | None = None
    policy: str = "ties"  # of hits
    measures: Mapping[str, Estimate] = field(
        default_factory=dict
    )  # R@10, Robustness(delta=0.9)@10, ZeroHit@10
    zero_hits: int | None = None  # queries of which nothing was found
    undefined: int | None = None  # queries without truth
    short: int | None = None  # queries whose truth has fewer than K different vectors
    qps: Spread | None = None
    latency: Mapping[str, float | None] = field(default_factory=dict)  # ms; None: too few samples to say
    samples: int = 0  # latencies
    errors: int = 0  # searches that failed
    offered: float | None = None  # queries per second, of an open loop
    saturated: bool | None = None
    capacity: Spread | None = None  # the highest rate that met the objective
    machine: Mapping[str, Any] = field(default_factory=dict)
    source: str = "assay"  # whose harness measured it
    reported: Mapping[str, float] = field(default_factory=dict)  # figures that others state, as they stand
    note: str = ""

    @property
    def way(self) -> str:
        """How it was asked, in one line."""
        return way_of(self.mode, self.asking)

    @property
    def recall(self) -> Estimate | None:
        """The mean recall at the trial's k."""
        return self.measures.get(f"R@{self.k}")

    def robustness(self, delta: float) -> Estimate | None:
        """The share of queries whose recall reaches δ."""
        return self.measures.get(robustness_name(delta, self.k))

    @property
    def label(self) -> str:
        """The configuration in one line."""
        return label(self.engine, self.build, self.search)


def label(engine: str, build: Mapping[str, Any], search: Mapping[str, Any]) -> str:
    """An index and how it is searched, as they are written.

    >>> label("hnswlib", {"M": 16}, {"ef": 40}), label("faiss.flat", {}, {})
    ('hnswlib M=16 / ef=40', 'faiss.flat')
    """
    first = f"{engine} {spelled(build)}".strip()
    return f"{first} / {spelled(search)}" if search else first


def spelled(parameters: Mapping[str, Any]) -> str:
    """Parameters as they are written.

    >>> spelled({"M": 16, "ef": 40})
    'M=16 ef=40'
    """
    return " ".join(f"{name}={value}" for name, value in parameters.items())


def robustness_name(delta: float, k: int) -> str:
    """The measure as it is written everywhere.

    >>> robustness_name(0.9, 10)
    'Robustness(delta=0.9)@10'
    """
    return str(parse(f"Robustness-{delta:g}@{k}"))


def to_dict(trial: Trial) -> dict[str, Any]:
    """A trial as plain data."""
    made = asdict(trial)
    made["measures"] = {name: found.to_dict() for name, found in trial.measures.items()}
    for name in ("qps", "capacity"):
        found: Spread | None = getattr(trial, name)
        made[name] = None if found is None else found._asdict()
    return made


def to_row(trial: Trial) -> dict[str, Any]:
    """A trial as one row: parameters as build.NAME and search.NAME, intervals as NAME_low and NAME_high."""
    made: dict[str, Any] = {}
    for name, value in to_dict(trial).items():
        made |= _flattened(name, value)
    return made


def _flattened(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {name: value}
    if set(value) == {"value", "low", "high", "n"}:
        return {
            name: value["value"],
            f"{name}_low": value["low"],
            f"{name}_high": value["high"],
            f"{name}_n": value["n"],
        }
    made: dict[str, Any] = {}
    for inner, found in value.items():
        made |= _flattened(f"{name}.{inner}", found)
    return made


def way_of(mode: str, asking: Mapping[str, Any]) -> str:
    """How queries are sent, in one line.

    >>> way_of("open", {"clients": 1, "seconds": 10.0, "rate": 500.0})
    'open rate=500'
    """
    told = {name: asking.get(name) for name in ("rate", "percentile", "within_ms")}
    told["clients"] = asking.get("clients") if asking.get("clients", 1) > 1 else None
    return " ".join([mode, *(f"{name}={value:g}" for name, value in told.items() if value is not None)])
