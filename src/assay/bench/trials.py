"""Trials: one measured index configuration each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from assay.core.errors import InputError
from assay.measures import parse
from assay.stats.intervals import Estimate

DELTAS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
DEFAULT_DELTA = 0.9  # of robustness in tables
KEYS = {"request": "asking"}  # keys of plain data that differ from the name of the field


class PassSpread(NamedTuple):
    """A figure over repetitions: its median, minimum and maximum."""

    median: float
    low: float
    high: float
    repetitions: int


@dataclass(frozen=True)
class Trial:
    """An index configuration and its measurements."""

    key: str
    engine: str
    build: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)
    mode: str = "single"
    request: Mapping[str, Any] = field(default_factory=dict)  # rate, clients, seconds, objective
    threads: int | None = 1
    version: str = ""
    family: str = ""  # as the engine declares it; "": by its name
    metric: str = ""
    n: int | None = None  # vectors in the base
    d: int | None = None
    dataset: str = ""  # the name of the data, if its harness states it
    k: int = 10
    status: str = "done"  # done, failed, or begun
    reason: str = ""  # why the trial failed
    indexed: bool | None = None  # False: it answers by brute force; None: unknown, or exact by design
    build_seconds: float | None = None
    memory_bytes: int | None = None
    disk_bytes: int | None = None
    policy: str = "ties"  # of hits
    measures: Mapping[str, Estimate] = field(default_factory=dict)  # R@10, Robustness(delta=0.9)@10, …
    zero_hits: int | None = None  # queries without any hit
    undefined: int | None = None  # queries without truth
    short: int | None = None  # queries whose truth has fewer than K distinct vectors
    qps: PassSpread | None = None
    latency: Mapping[str, float | None] = field(default_factory=dict)  # ms; None: too few samples
    samples: int = 0  # number of latencies
    errors: int = 0  # failed searches
    offered: float | None = None  # queries per second of an open loop
    saturated: bool | None = None
    capacity: PassSpread | None = None  # the highest rate that meets the objective
    machine: Mapping[str, Any] = field(default_factory=dict)
    source: str = "assay"  # the harness that measured it
    reported: Mapping[str, float] = field(default_factory=dict)  # figures as reported by another harness
    note: str = ""

    @property
    def request_text(self) -> str:
        """The request mode and its options as one line of text."""
        return format_request(self.mode, self.request)

    @property
    def recall(self) -> Estimate | None:
        """The mean recall at the k of the trial."""
        return self.measures.get(f"R@{self.k}")

    def robustness(self, delta: float) -> Estimate | None:
        """Return the share of queries whose recall reaches δ."""
        return self.measures.get(robustness_name(delta, self.k))

    @property
    def label(self) -> str:
        """The configuration as one line of text."""
        return label(self.engine, self.build, self.search)


def label(engine: str, build: Mapping[str, Any], search: Mapping[str, Any]) -> str:
    """Return the engine with its build and search parameters as one line of text.

    >>> label("hnswlib", {"M": 16}, {"ef": 40}), label("faiss.flat", {}, {})
    ('hnswlib M=16 / ef=40', 'faiss.flat')
    """
    index = f"{engine} {format_parameters(build)}".strip()
    return f"{index} / {format_parameters(search)}" if search else index


def format_parameters(parameters: Mapping[str, Any]) -> str:
    """Return parameters as text.

    >>> format_parameters({"M": 16, "ef": 40})
    'M=16 ef=40'
    """
    return " ".join(f"{name}={value}" for name, value in parameters.items())


def number_order(text: str) -> list[tuple[bool, float, str]]:
    """Return a sort key of text in which numbers are ordered by value.

    >>> sorted(["M=16", "M=8", "M=8 ef=2"], key=number_order)
    ['M=8', 'M=8 ef=2', 'M=16']
    """
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return [(True, float(part), "") if at % 2 else (False, 0.0, part) for at, part in enumerate(parts)]


def robustness_name(delta: float, k: int) -> str:
    """Return the canonical name of the robustness measure.

    >>> robustness_name(0.9, 10)
    'Robustness(delta=0.9)@10'
    """
    return str(parse(f"Robustness-{delta:g}@{k}"))


def with_delta(delta: float | None) -> tuple[float, ...]:
    """Return the δ of every trial with another, in ascending order; a δ that no query can miss is refused.

    >>> with_delta(0.25)
    (0.1, 0.25, 0.3, 0.5, 0.7, 0.9, 1.0)
    """
    if delta is None:
        return DELTAS
    if not 0 < delta <= 1:
        raise InputError(f"--delta: expected a recall above 0, at most 1, found {delta:g}")
    return tuple(sorted({*DELTAS, delta}))


def to_dict(trial: Trial) -> dict[str, Any]:
    """Return a trial as plain data."""
    content = {KEYS.get(name, name): value for name, value in asdict(trial).items()}
    content["measures"] = {name: estimate.to_dict() for name, estimate in trial.measures.items()}
    for name, spread in (("qps", trial.qps), ("capacity", trial.capacity)):
        content[name] = None if spread is None else spread._asdict()
    return content


def to_row(trial: Trial) -> dict[str, Any]:
    """Return a trial as one row with columns such as build.NAME, search.NAME, NAME_low and NAME_high."""
    row: dict[str, Any] = {}
    for name, value in to_dict(trial).items():
        row |= _flatten(name, value)
    return row


def _flatten(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {name: value}
    if set(value) == {"value", "low", "high", "n"}:
        return {
            name: value["value"],
            f"{name}_low": value["low"],
            f"{name}_high": value["high"],
            f"{name}_n": value["n"],
        }
    columns: dict[str, Any] = {}
    for inner, inner_value in value.items():
        columns |= _flatten(f"{name}.{inner}", inner_value)
    return columns


def format_request(mode: str, request: Mapping[str, Any]) -> str:
    """Return a request mode and its options as one line of text.

    >>> format_request("open", {"clients": 1, "seconds": 10.0, "rate": 500.0})
    'open rate=500'
    """
    options = {name: request.get(name) for name in ("rate", "percentile", "within_ms")}
    options["clients"] = request.get("clients") if request.get("clients", 1) > 1 else None
    return " ".join([mode, *(f"{name}={value:g}" for name, value in options.items() if value is not None)])
