"""A benchmark of indexes, and its data, opened: what is to be measured, and against which truth."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.core.errors import FormatError, InputError
from assay.core.vectors import METRICS, Neighbors, Positions, Vectors, checked_metric
from assay.core.vectors_check import refuse_mismatch
from assay.core.vectors_digest import digest
from assay.datasets.vectors import metric_of, read_neighbors, read_vectors, write_neighbors
from assay.datasets.vectors.convert import Some
from assay.datasets.vectors.formats import chosen, place
from assay.indexes.exact.audit_sample import sampled
from assay.indexes.exact.part_results import forget
from assay.indexes.exact.truth import truth
from assay.indexes.hits import Judge
from assay.indexes.study.severity import TIMES
from assay.indexes.sweeps.data import Data, data
from assay.indexes.sweeps.described import describe, refuse_metrics
from assay.indexes.sweeps.plan import Asking, Case, Entry, Goal, cases, name_of
from assay.indexes.sweeps.results import Results
from assay.indexes.sweeps.sweep import Options, Sweep

Progress = Callable[[int, int], None]
_NEIGHBOURS = 100  # kept in a truth that is made, so that other k can be scored later
_DEEPEST = 1000  # that it is made for the sake of telling how far off a miss is
_SAMPLE = 50  # queries of a given truth that are computed anew


@dataclass(frozen=True)
class Bench:
    """What is to be measured, and where the data are."""

    base: str
    queries: str | None = None  # None: they are in the base's file
    truth: str | None = None
    metric: str | None = None  # None: the file says
    k: int = 10
    limit: int | None = None  # the first so many queries
    entries: tuple[Entry, ...] = ()
    askings: tuple[Asking, ...] = (Asking("single"), Asking("batch"))
    options: Options = field(default_factory=Options)
    recall: tuple[float, ...] = ()  # that the values in ranges are to reach

    def cases(self) -> list[Case]:
        """Every trial."""
        if not self.entries:
            raise InputError("expected an index to measure, found none: [[index]] in the file, or --index")
        if not self.askings:
            raise InputError("expected a way to ask, found none: a mode, a rate or an objective")
        return cases(self.entries, self.askings, [(Goal(recall, near=True),) for recall in self.recall])

    def opened(self, folder: str | os.PathLike[str], progress: Progress | None = None) -> Data:
        """The data; a truth that is not given is made once, and kept in the folder."""
        metric = self.chosen_metric()
        base, queries = read_vectors(self.base), self._queries()
        refuse_mismatch(base, queries)
        if not len(base):
            raise InputError(f"{self.base}: there is no vector in it")
        if not 1 <= self.k <= len(base):
            raise InputError(f"k is from 1 to {len(base):,}, the vectors of the base; found {self.k:,}")
        given = self._given(base, queries, metric)
        found = given or kept_truth(base, queries, metric, self.k, folder, progress)
        return data(base, queries, found, metric, self.k)

    def chosen_metric(self) -> str:
        """The metric that was given, or that the file names."""
        metric = self.metric or metric_of(self.base)
        if metric is None:
            raise InputError(
                f"{self.base} does not say how distance is measured: give the metric ({', '.join(METRICS)})"
            )
        return checked_metric(metric)

    def _queries(self) -> Vectors:
        if self.queries is None and chosen(place(self.base), None, "vectors").name != "hdf5":
            raise InputError(
                f"{self.base}: only an HDF5 file has both base and queries; give queries as well"
            )
        found = read_vectors(self.queries or self.base, role="queries")
        return found if self.limit is None else Some(found, 0, min(self.limit, len(found)))

    def _given(self, base: Vectors, queries: Vectors, metric: str) -> Neighbors | None:
        """The truth of a file, of which some is computed anew."""
        if self.truth is None:
            return None
        found = read_neighbors(self.truth)
        if self.limit is not None and len(found.positions) > len(queries):
            found = Neighbors(found.positions[: len(queries)], None)
        self._refuse_shape(found, len(queries))
        _refuse_other(found.positions[:, : self.k], base, queries, metric, self.truth)
        return found

    def _refuse_shape(self, found: Neighbors, queries: int) -> None:
        problem = ""
        if len(found.positions) != queries:
            problem = f"is of {len(found.positions):,} queries, and there are {queries:,}"
        elif found.k < self.k:
            problem = f"has {found.k} neighbours of each query, and {self.k} are asked for"
        if problem:
            raise FormatError(f"{problem}; leave this truth out, and it is made", str(self.truth))

    def _refuse_folder(self, results: Results) -> None:
        """Refuse a folder of other data: one judge scores all that is in it."""
        known = _searched(results)
        if known is None:
            return
        own = {"base": digest(read_vectors(self.base)), "queries": digest(self._queries())}
        own["metric"] = self.chosen_metric()
        theirs = {**known["digests"], "metric": known["metric"]}
        differ = [name for name in own if own[name] != theirs[name]]
        if differ:
            raise InputError(
                f"{results.folder} holds trials of other data: not the same {' and '.join(differ)}; "
                "keep these in a folder of their own (-o)"
            )

    def sweep(self, folder: str | os.PathLike[str], progress: Progress | None = None) -> Sweep:
        """The sweep, ready to run."""
        planned = self.cases()
        return self.sweeps(planned, folder, progress)(planned)

    def sweeps(
        self, examples: Sequence[Case], folder: str | os.PathLike[str], progress: Progress | None = None
    ) -> Callable[[Sequence[Case]], Sweep]:
        """What makes sweeps of trials such as these; a folder is of one set of data."""
        if Path(folder).exists() and not Path(folder).is_dir():
            raise InputError(f"results are kept in a folder, and {folder} is a file: name another (-o)")
        self._refuse_folder(Results(folder))
        described = describe(examples)  # what is misspelt is told before the truth is made
        refuse_metrics(described, self.chosen_metric())
        _refuse_threads(max((case.build.threads for case in examples), default=1))
        Results(folder).refuse_place()
        opened = self.opened(folder, progress)
        paths = {"base": self.base, "queries": self.queries, "truth": self.truth}
        sources: dict[str, Any] = {name: path and os.path.abspath(path) for name, path in paths.items()}
        sources["limit"] = self.limit
        return lambda planned: Sweep(opened, planned, folder, self.options, sources, described)


def _refuse_threads(threads: int) -> None:
    """Refuse more threads than there are processors: they would not be what the result says."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or threads
    if threads > there:
        raise InputError(f"threads is {threads:,}, and there are {there} processors: ask for at most {there}")


def _refuse_other(positions: Positions, base: Vectors, queries: Vectors, metric: str, path: str) -> None:
    """Refuse neighbours that are not the nearest: of other data, by another metric, or damaged."""
    named = np.flatnonzero(((positions >= 0) & (positions < len(base))).any(axis=1))
    if not len(named):
        return
    some = np.sort(np.random.default_rng(0).permutation(named)[:_SAMPLE])
    found = sampled(Neighbors(positions), base, queries, metric, some, None)
    other = [(finding, "have other neighbours") for finding in found.findings]
    for finding, how in [*other, *((finding, "do not have the nearest first") for finding in found.order)]:
        if finding.wrong:
            raise FormatError(
                f"{finding.cases} of {finding.out_of} queries computed anew {how} by "
                f"{metric}: {finding.example}; leave this truth out, and it is made; "
                "`assay truth audit` says more",
                path,
            )


def kept_truth(
    base: Vectors,
    queries: Vectors,
    metric: str,
    k: int,
    folder: str | os.PathLike[str],
    progress: Progress | None = None,
) -> Neighbors:
    """The exact neighbours, from the folder where they were made before."""
    depth = min(len(base), max(_NEIGHBOURS, k, min(TIMES * k, _DEEPEST)))
    name = name_of({"base": digest(base), "queries": digest(queries), "metric": metric, "k": depth})
    path = Path(folder) / f"truth-{name[:16]}.parquet"
    if path.exists():
        return _kept_before(path)
    parts = path.with_suffix(".part")
    made = truth(base, queries, depth, metric, progress=progress, checkpoint=parts)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Results(folder).unwritable(error) from None
    write_neighbors(made, path)
    forget(parts)
    return made


def _kept_before(path: Path) -> Neighbors:
    try:
        return read_neighbors(path)
    except FormatError:
        raise FormatError("is damaged; a sweep made it: delete it, and it is made again", str(path)) from None


def judge_in(found: Data, policy: str) -> Judge:
    """The judge of hits in some data."""
    return Judge(found.truth, found.k, found.base, found.queries, found.metric, policy)


def judge_of(
    folder: str | os.PathLike[str], *, k: int | None = None, policy: str | None = None
) -> tuple[Results, Judge]:
    """A sweep's folder, and the judge of its hits: with another k or policy, it is a re-score."""
    _refuse_more(Results(folder), k)
    results, found = measured(folder, k)
    return results, judge_in(found, policy or results.about()["options"]["policy"])


def _refuse_more(results: Results, k: int | None) -> None:
    """Refuse to look for more neighbours than any trial asked for."""
    known = [results.trial(key) or {} for key in results.keys()]  # noqa: SIM118
    asked = [
        int(one.get("k", 0)) for one in known if one.get("source", "assay") == "assay" or "queries" in one
    ]
    if k is not None and asked and k > max(asked):
        raise InputError(
            f"{results.folder}: at most {max(asked)} neighbours were asked for, so that hits among {k} "
            f"cannot be scored: measure again with -k {k}"
        )


def measured(folder: str | os.PathLike[str], k: int | None = None) -> tuple[Results, Data]:
    """A sweep's folder, and the data that were searched."""
    results = Results(folder)
    if not is_sweep(results):
        raise InputError(
            f"{folder} is not the folder of a sweep: there is no sweep.json in it; "
            f"`assay bench … -o {folder}` makes one"
        )
    about = results.about()
    sources, known = about["sources"], about["data"]
    if not sources:
        raise InputError(
            f"{folder}: the vectors came from memory, not from files, so that nothing can be scored anew; "
            "`assay bench` with their files does, and measures nothing twice"
        )
    for path in filter(None, (sources["base"], sources["queries"], sources["truth"])):
        if not os.path.exists(place(path).path):
            raise InputError(
                f"{folder}: what was searched is not there any more: {path}; if it was moved, run the same "
                "benchmark with the new path: nothing is measured twice"
            )
    bench = Bench(sources["base"], sources["queries"], sources["truth"], known["metric"], known["k"])
    opened = replace(bench, limit=sources["limit"], k=known["k"] if k is None else k).opened(folder)
    changed = [name for name in ("base", "queries") if opened.digests[name] != known["digests"][name]]
    if changed:
        raise InputError(
            f"{folder}: the {' and the '.join(changed)} are not those that were searched: "
            f"{', '.join(str(sources[name] or sources['base']) for name in changed)} changed since; "
            "put back what was there, or measure what is there now into another folder (-o)"
        )
    return results, opened


def _searched(results: Results) -> dict[str, Any] | None:
    """The data that the trials in a folder are of; None where nothing says so."""
    if is_sweep(results):
        found: dict[str, Any] = results.about()["data"]
        return found
    told = (results.trial(key) or {} for key in results.keys())  # noqa: SIM118  # sweep.json was deleted
    return next((one for one in told if "digests" in one), None)


def is_sweep(results: Results) -> bool:
    """Whether a folder has been the folder of a sweep."""
    return (results.folder / "sweep.json").exists()
