"""Compute exact neighbours, and audit neighbours that somebody else computed."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import InputError
from assay.core.vectors import METRICS, Neighbors, Vectors
from assay.datasets.output_files import open_for_writing
from assay.datasets.vectors import read_metric, read_neighbors, read_vectors, write_neighbors
from assay.datasets.vectors.formats import (
    format_to_read,
    format_to_write,
    parse_file_part,
    refuse_overwriting,
)
from assay.indexes.exact.audit import Audit, audit
from assay.indexes.exact.part_results import remove_part_results
from assay.indexes.exact.part_search import BLOCK_ROWS
from assay.indexes.exact.sharding import RayRunner
from assay.indexes.exact.truth import truncate_neighbors, truth
from assay.views.truth import TruthSummary

TruthProgress = Callable[[int, int], None]  # pairs of a query and a vector that are done, and all of them
FORMATS_WITHOUT_DISTANCES = ("ivecs", "npy")


@dataclass(frozen=True, kw_only=True)
class TruthRequest:
    """The vectors whose exact neighbours are computed, and how."""

    base: str
    queries: str | None = None  # None: they are in the file of the base
    k: int = 100
    metric: str | None = None  # None: the file says
    threads: int | None = None
    output: str | None = None
    block: int | None = None  # rows of the base in memory at a time
    ray: str | None = None  # the address of a Ray cluster
    parts: int | None = None

    def __post_init__(self) -> None:
        _refuse_below_one(k=self.k, threads=self.threads, block=self.block, parts=self.parts)

    @property
    def checkpoint(self) -> Path | None:
        """The folder of the parts that are finished; None without an output."""
        return Path(f"{self.output}.part") if self.output else None


@dataclass(frozen=True, kw_only=True)
class AuditTruthRequest:
    """The neighbours to audit, and the vectors they are said to belong to."""

    truth: str
    base: str
    queries: str | None = None
    metric: str | None = None
    threads: int | None = None
    sample: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        _refuse_below_one(threads=self.threads, sample=self.sample)


@dataclass(frozen=True)
class AuditResult:
    """An audit with the name of the file it is of."""

    truth: str
    audit: Audit

    @property
    def exit_code(self) -> int:
        """0 if nothing is wrong, else 1."""
        return int(not self.audit.is_clean)

    def to_dict(self) -> dict[str, Any]:
        """The audit as plain data, with the keys that `assay truth audit --format json` prints."""
        return {"truth": self.truth, **self.audit.to_dict()}


class _VectorInputs(NamedTuple):
    base: Vectors
    queries: Vectors
    metric: str


def compute_truth(request: TruthRequest, progress: TruthProgress | None = None) -> TruthSummary:
    """Compute the exact neighbours, write them if there is an output, and return a summary."""
    output_format = _check_output(request)
    inputs = _read_inputs(request.base, request.queries, request.metric)
    start = time.monotonic()
    neighbors, ties = truncate_neighbors(_search(request, inputs, progress), request.k)
    seconds = time.monotonic() - start
    if request.output and request.checkpoint:
        if output_format in FORMATS_WITHOUT_DISTANCES:
            neighbors = Neighbors(neighbors.positions)
        write_neighbors(neighbors, request.output)
        remove_part_results(request.checkpoint)
    return TruthSummary(
        *inputs.base.shape,
        inputs.base.dtype.name,
        len(inputs.queries),
        request.k,
        inputs.metric,
        seconds,
        ties,
        request.output,
    )


def audit_truth(request: AuditTruthRequest) -> AuditResult:
    """Check neighbours from a file against a sample that is computed again."""
    neighbors = read_neighbors(request.truth)
    inputs = _read_inputs(request.base, request.queries, request.metric)
    return AuditResult(
        request.truth,
        audit(neighbors, *inputs, sample=request.sample, seed=request.seed, threads=request.threads),
    )


def _refuse_below_one(**counts: int | None) -> None:
    """Refuse counts below 1, which are named as their options."""
    for name, value in counts.items():
        if value is not None and value < 1:
            raise InputError(f"{'-' * min(2, len(name))}{name} must be 1 or more, found {value}")


def _check_output(request: TruthRequest) -> str:
    """The format of the output; what cannot be written is refused before the work."""
    if not request.output:
        return ""
    part = parse_file_part(request.output)
    output_format = format_to_write(part, None, "neighbors").name
    refuse_overwriting(request.output, request.base, request.queries)
    _refuse_unwritable(part.path)
    return output_format


class _UnwrittenError(Exception):
    """Ends an attempt to write without changing the file."""


def _refuse_unwritable(path: str) -> None:
    """Refuse a file that cannot be written, as writing it would."""
    with suppress(_UnwrittenError), open_for_writing(path):
        raise _UnwrittenError


def _read_inputs(base: str, queries: str | None, metric: str | None) -> _VectorInputs:
    """The base, the queries and the metric."""
    query_file = queries or base
    if not queries and format_to_read(parse_file_part(base), None, "vectors").name != "hdf5":
        raise InputError(f"{base}: only an HDF5 file has both base and queries; give QUERIES as well")
    name = metric or read_metric(base)
    if name is None:
        raise InputError(f"{base} does not say its metric: give --metric {'|'.join(METRICS)}")
    return _VectorInputs(read_vectors(base, role="base"), read_vectors(query_file, role="queries"), name)


def _search(request: TruthRequest, inputs: _VectorInputs, progress: TruthProgress | None) -> Neighbors:
    """The neighbours, one more than requested, so that ties at k are found."""
    runner = RayRunner(request.ray, request.threads) if request.ray else None
    return truth(
        inputs.base,
        inputs.queries,
        request.k + (request.k < len(inputs.base)),
        inputs.metric,
        threads=request.threads,
        block=request.block or BLOCK_ROWS,
        progress=progress,
        checkpoint=request.checkpoint,
        runner=runner,
        parts=request.parts or (runner.part_count() if runner else None),
    )
