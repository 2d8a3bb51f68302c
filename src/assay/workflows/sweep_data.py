"""The data of a sweep that was run before, opened from its folder."""

from __future__ import annotations

import os
from dataclasses import replace

from assay.bench.sweeps.folder import SweepFolder
from assay.core.errors import InputError
from assay.datasets.vectors.formats import parse_file_part
from assay.indexes.hits import HitRule
from assay.indexes.vector_data import VectorData
from assay.workflows.benchmark import Benchmark, is_sweep


class MissingVectorsError(InputError):
    """A file that was searched does not exist any more."""

    def __init__(self, folder: str | os.PathLike[str], path: str) -> None:
        self.path = path
        super().__init__(
            f"{folder}: a file that was searched does not exist any more: {path}; if it was moved, run the "
            "same benchmark with the new path: nothing is measured twice"
        )


def open_sweep_data(folder: str | os.PathLike[str], k: int | None = None) -> tuple[SweepFolder, VectorData]:
    """The folder of a sweep, and the data that were searched."""
    sweep_folder = open_sweep_folder(folder)
    metadata = sweep_folder.metadata()
    sources, recorded = metadata["sources"], metadata["data"]
    _refuse_missing_files(folder, sources)
    benchmark = Benchmark(
        sources["base"], sources["queries"], sources["truth"], recorded["metric"], recorded["k"]
    )
    benchmark = replace(benchmark, limit=sources["limit"], k=recorded["k"] if k is None else k)
    data = benchmark.open_data(folder)
    changed = [name for name in ("base", "queries") if data.digests[name] != recorded["digests"][name]]
    if changed:
        raise InputError(
            f"{folder}: the {' and the '.join(changed)} are not those that were searched: "
            f"{', '.join(str(sources[name] or sources['base']) for name in changed)} changed since; "
            "restore the old files, or measure the new ones into another folder (-o)"
        )
    return sweep_folder, data


def open_sweep_folder(folder: str | os.PathLike[str]) -> SweepFolder:
    """The folder of a sweep; any other folder is refused."""
    sweep_folder = SweepFolder(folder)
    if not is_sweep(sweep_folder):
        raise InputError(
            f"{folder} is not the folder of a sweep: there is no sweep.json in it; "
            f"`assay bench … -o {folder}` makes one"
        )
    return sweep_folder


def _refuse_missing_files(folder: str | os.PathLike[str], sources: dict[str, str | None]) -> None:
    if not sources:
        raise InputError(
            f"{folder}: the vectors came from memory, not from files, so that nothing can be scored again; "
            "run `assay bench` with their files: it measures nothing twice"
        )
    for path in filter(None, (sources["base"], sources["queries"], sources["truth"])):
        if not os.path.exists(parse_file_part(path).path):
            raise MissingVectorsError(folder, path)


def make_hit_rule(data: VectorData, policy: str) -> HitRule:
    """The rule of hits for some data."""
    return HitRule(data.truth, data.k, data.base, data.queries, data.metric, policy)


def open_hit_rule(
    folder: str | os.PathLike[str], *, k: int | None = None, policy: str | None = None
) -> tuple[SweepFolder, HitRule]:
    """The folder of a sweep, and the rule of its hits, with another k or policy if they are given."""
    _refuse_larger_k(SweepFolder(folder), k)
    sweep_folder, data = open_sweep_data(folder, k)
    return sweep_folder, make_hit_rule(data, policy or sweep_folder.metadata()["options"]["policy"])


def _refuse_larger_k(folder: SweepFolder, k: int | None) -> None:
    """Refuse a k larger than the number of neighbours that any trial searched for."""
    records = [folder.trial_record(key) or {} for key in folder.trial_keys()]
    searched = [
        int(record.get("k", 0))
        for record in records
        if record.get("source", "assay") == "assay" or "queries" in record
    ]
    if k is not None and searched and k > max(searched):
        raise InputError(
            f"{folder.path}: at most {max(searched)} neighbours were searched for, so that hits among {k} "
            f"cannot be scored: measure again with -k {k}"
        )
