"""A benchmark of indexes: the data, the indexes to measure and how, ready to run as a sweep."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench.studies.severity import DEPTH_FACTOR
from assay.bench.sweeps.cases import IndexEntry, RecallGoal, RequestMode, TrialCase, plan_cases
from assay.bench.sweeps.engine_descriptions import describe_engines, refuse_metrics
from assay.bench.sweeps.folder import SweepFolder
from assay.bench.sweeps.identity import content_key
from assay.bench.sweeps.options import SweepOptions
from assay.bench.sweeps.sweep import Sweep
from assay.core.errors import FormatError, InputError
from assay.core.vector_digest import digest_vectors
from assay.core.vector_faults import refuse_mismatch
from assay.core.vectors import METRICS, Neighbors, Positions, Vectors, check_metric
from assay.datasets.vectors import read_metric, read_neighbors, read_vectors, write_neighbors
from assay.datasets.vectors.convert import VectorSlice
from assay.datasets.vectors.formats import format_to_read, parse_file_part
from assay.indexes.exact.audit_sample import audit_sample
from assay.indexes.exact.part_results import remove_part_results
from assay.indexes.exact.truth import truth
from assay.indexes.vector_data import VectorData, build_vector_data

TruthProgress = Callable[[int, int], None]  # pairs of a query and a vector that are done, and all of them
_LEAST_DEPTH = 100  # neighbours of a computed truth, so that other values of k can be scored later
_MOST_DEPTH = 1000  # neighbours that are computed only to tell how far off a miss is
_CHECKED_QUERIES = 50  # queries of a truth from a file that are computed again


@dataclass(frozen=True)
class Benchmark:
    """The data to search, the indexes to measure, and how."""

    base: str
    queries: str | None = None  # None: they are in the file of the base
    truth: str | None = None  # None: it is computed
    metric: str | None = None  # None: that of the file
    k: int = 10
    limit: int | None = None  # only the first queries
    entries: tuple[IndexEntry, ...] = ()
    request_modes: tuple[RequestMode, ...] = (RequestMode("single"), RequestMode("batch"))
    options: SweepOptions = field(default_factory=SweepOptions)
    recall: tuple[float, ...] = ()  # mean recalls that the values of ranges are to reach

    def trial_cases(self) -> list[TrialCase]:
        """Every trial of the benchmark."""
        if not self.entries:
            raise InputError("expected an index to measure, found none: [[index]] in the file, or --index")
        if not self.request_modes:
            raise InputError("expected a request mode, found none: give a mode, a rate or an objective")
        goals = [(RecallGoal(recall, is_approximate=True),) for recall in self.recall]
        return plan_cases(self.entries, self.request_modes, goals)

    def open_data(self, folder: str | os.PathLike[str], progress: TruthProgress | None = None) -> VectorData:
        """The data; a truth that no file gives is computed once, and stored in the folder."""
        metric = self.resolve_metric()
        base, queries = read_vectors(self.base), self._read_queries()
        refuse_mismatch(base, queries)
        if not len(base):
            raise InputError(f"{self.base}: there is no vector in it")
        if not 1 <= self.k <= len(base):
            raise InputError(f"k is from 1 to {len(base):,}, the vectors of the base; found {self.k:,}")
        neighbors = self._read_truth(base, queries, metric)
        if neighbors is None:
            neighbors = load_truth(base, queries, metric, self.k, folder, progress)
        return build_vector_data(base, queries, neighbors, metric, self.k)

    def resolve_metric(self) -> str:
        """The metric of the benchmark, or that of the file of the base."""
        metric = self.metric or read_metric(self.base)
        if metric is None:
            raise InputError(
                f"{self.base} does not say how distance is measured: give the metric ({', '.join(METRICS)})"
            )
        return check_metric(metric)

    def _read_queries(self) -> Vectors:
        file_format = format_to_read(parse_file_part(self.base), None, "vectors").name
        if self.queries is None and file_format != "hdf5":
            raise InputError(
                f"{self.base}: only an HDF5 file has both base and queries; give queries as well"
            )
        queries = read_vectors(self.queries or self.base, role="queries")
        return queries if self.limit is None else VectorSlice(queries, 0, min(self.limit, len(queries)))

    def _read_truth(self, base: Vectors, queries: Vectors, metric: str) -> Neighbors | None:
        """The truth of a file, checked on a sample; None if there is no file."""
        if self.truth is None:
            return None
        neighbors = read_neighbors(self.truth)
        if self.limit is not None and len(neighbors.positions) > len(queries):
            neighbors = Neighbors(neighbors.positions[: len(queries)], None)
        self._refuse_shape(neighbors, len(queries))
        _refuse_wrong_truth(neighbors.positions[:, : self.k], base, queries, metric, self.truth)
        return neighbors

    def _refuse_shape(self, neighbors: Neighbors, queries: int) -> None:
        problem = ""
        if len(neighbors.positions) != queries:
            problem = f"has {len(neighbors.positions):,} queries, expected {queries:,}"
        elif neighbors.k < self.k:
            problem = f"has {neighbors.k} neighbours of each query, expected at least {self.k}"
        if problem:
            raise FormatError(f"{problem}; without --truth it is computed", str(self.truth))

    def _refuse_folder(self, folder: SweepFolder) -> None:
        """Refuse a folder of other data: one hit rule scores all its trials."""
        recorded = _recorded_data(folder)
        if recorded is None:
            return
        own = {
            "base": digest_vectors(read_vectors(self.base)),
            "queries": digest_vectors(self._read_queries()),
            "metric": self.resolve_metric(),
        }
        theirs = {**recorded["digests"], "metric": recorded["metric"]}
        different = [name for name in own if own[name] != theirs[name]]
        if different:
            raise InputError(
                f"{folder.path} holds trials of other data: not the same {' and '.join(different)}; "
                "name another folder (-o)"
            )

    def prepare_sweep(self, folder: str | os.PathLike[str], progress: TruthProgress | None = None) -> Sweep:
        """The sweep of all trials, ready to run."""
        cases = self.trial_cases()
        return self.sweep_factory(cases, folder, progress)(cases)

    def sweep_factory(
        self,
        examples: Sequence[TrialCase],
        folder: str | os.PathLike[str],
        progress: TruthProgress | None = None,
    ) -> Callable[[Sequence[TrialCase]], Sweep]:
        """A function that makes sweeps of trials such as the examples; a folder holds trials of one data."""
        if Path(folder).exists() and not Path(folder).is_dir():
            raise InputError(f"results are stored in a folder, and {folder} is a file: name another (-o)")
        self._refuse_folder(SweepFolder(folder))
        engines = describe_engines(examples)  # a misspelt name is refused before the truth is computed
        refuse_metrics(engines, self.resolve_metric())
        _refuse_threads(max((case.build.threads for case in examples), default=1))
        SweepFolder(folder).refuse_unwritable_folder()
        data = self.open_data(folder, progress)
        paths = {"base": self.base, "queries": self.queries, "truth": self.truth}
        sources: dict[str, Any] = {name: path and os.path.abspath(path) for name, path in paths.items()}
        sources["limit"] = self.limit
        return lambda cases: Sweep(data, cases, folder, self.options, sources, engines)


def _refuse_threads(threads: int) -> None:
    """Refuse more threads than CPUs: the result would not be that of so many threads."""
    has_affinity = hasattr(os, "sched_getaffinity")
    available = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or threads
    if threads > available:
        raise InputError(
            f"threads is {threads:,}, and there are {available} processors: ask for at most {available}"
        )


def _refuse_wrong_truth(
    positions: Positions, base: Vectors, queries: Vectors, metric: str, path: str
) -> None:
    """Refuse neighbours that are not the nearest: of other data, by another metric, or damaged."""
    usable = np.flatnonzero(((positions >= 0) & (positions < len(base))).any(axis=1))
    if not len(usable):
        return
    rows = np.sort(np.random.default_rng(0).permutation(usable)[:_CHECKED_QUERIES])
    audit = audit_sample(Neighbors(positions), base, queries, metric, rows, None)
    problems = [(finding, "have other neighbours") for finding in audit.findings]
    problems += [(finding, "do not have the nearest first") for finding in audit.order]
    for finding, problem in problems:
        if finding.wrong:
            raise FormatError(
                f"{finding.cases} of {finding.out_of} recomputed queries {problem} by {metric}: "
                f"{finding.example}; without --truth it is computed; `assay truth audit` says more",
                path,
            )


def truth_path(
    folder: str | os.PathLike[str], digests: dict[str, str], metric: str, n: int, k: int
) -> tuple[Path, int]:
    """The file in a folder for the exact neighbours of some data, and how many of each query it holds."""
    depth = min(n, max(_LEAST_DEPTH, k, min(DEPTH_FACTOR * k, _MOST_DEPTH)))
    name = content_key({**digests, "metric": metric, "k": depth})
    return Path(folder) / f"truth-{name[:16]}.parquet", depth


def load_truth(
    base: Vectors,
    queries: Vectors,
    metric: str,
    k: int,
    folder: str | os.PathLike[str],
    progress: TruthProgress | None = None,
) -> Neighbors:
    """The exact neighbours, from the folder if they were computed before."""
    digests = {"base": digest_vectors(base), "queries": digest_vectors(queries)}
    path, depth = truth_path(folder, digests, metric, len(base), k)
    if path.exists():
        return read_stored_truth(path)
    checkpoint = path.with_suffix(".part")
    neighbors = truth(base, queries, depth, metric, progress=progress, checkpoint=checkpoint)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SweepFolder(folder).unwritable_error(error) from None
    write_neighbors(neighbors, path)
    remove_part_results(checkpoint)
    return neighbors


def read_stored_truth(path: Path) -> Neighbors:
    """The exact neighbours that a sweep stored."""
    try:
        return read_neighbors(path)
    except FormatError:
        raise FormatError(
            "is damaged; a sweep wrote it: delete it, and it is computed again", str(path)
        ) from None


def _recorded_data(folder: SweepFolder) -> dict[str, Any] | None:
    """The data of the trials in a folder; None if nothing is recorded."""
    if is_sweep(folder):
        data: dict[str, Any] = folder.metadata()["data"]
        return data
    records = (folder.trial_record(key) or {} for key in folder.trial_keys())  # sweep.json was deleted
    return next((record for record in records if "digests" in record), None)


def is_sweep(folder: SweepFolder) -> bool:
    """Whether a folder holds a sweep."""
    return (folder.path / "sweep.json").exists()
