"""Results of other harnesses as trials; those with stored neighbors are scored by the hit rule."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from assay.bench.imported import annbenchmarks, bigann, table, trial_rows, vectordbbench
from assay.bench.imported.hdf5 import open_hdf5
from assay.bench.imported.result import ImportedResult
from assay.bench.studies.robustness_columns import published_distribution
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.sweeps.folder import SweepFolder
from assay.bench.trials import Trial
from assay.core.errors import FormatError, InputError
from assay.core.unsupported_files import refuse_unsupported
from assay.core.vectors import Neighbors

READERS: Mapping[str, Callable[[str], Iterator[ImportedResult]]] = {
    "ann-benchmarks": annbenchmarks.read,
    "big-ann": bigann.read,
    "vectordbbench": vectordbbench.read,
    "table": table.read,
}
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_SUFFIXES = (".hdf5", ".h5", ".json", ".csv", ".tsv", ".parquet")
_DATA_FIELDS = ("dataset", "queries")


def import_results(
    paths: Iterable[str | os.PathLike[str]],
    folder: SweepFolder,
    *,
    kind: str | None = None,
    truth: Neighbors | None = None,
) -> list[str]:
    """Import results of other harnesses into the folder of a sweep and return the keys of their trials.

    A folder stands for the files in it. All files are checked before anything is written; trials that are
    already in the folder are left unchanged. If the truth has distances, the recall by the rule of
    ann-benchmarks is stored as a reported figure.
    """
    files = [file for path in paths for file in _list_files(os.fspath(path), folder.path)]
    readers = [(file, READERS[_check_kind(kind) or detect_kind(file)]) for file in files]
    data_fields, sweep_data = _stored_data_fields(folder), (folder.find_metadata() or {}).get("data", {})
    for file, reader in readers:
        for result in reader(file):
            data_fields = _refuse_other_queries(result, data_fields, file)
            _refuse_other_truth(result, truth, file)
            _refuse_other_data(result, sweep_data, file)
    keys = [_put_result(result, folder, truth) for file, reader in readers for result in reader(file)]
    return list(dict.fromkeys(keys))


def read_reported_trials(path: str, k: int | None = None) -> list[ScoredTrial]:
    """Return the trials of a file of reported figures: a table, a sweep's table, or VectorDBBench results.

    `k` is the K of the rows of a table that state none.
    """
    kind = detect_kind(path)
    rows = list(table.read_rows(path)) if kind == "table" else []
    if rows and trial_rows.is_trial_table(rows[0][1]):
        trials = [_parse_trial_row(row, path, line) for line, row in rows]
    else:
        results = table.read(path, k) if kind == "table" else READERS[kind](path)
        trials = [_reported_trial(result, path) for result in results]
    return [
        ScoredTrial(trial, published_distribution=published_distribution(trial))
        for trial in {trial.key: trial for trial in trials}.values()
    ]


def _parse_trial_row(row: Mapping[str, Any], path: str, line: int) -> Trial:
    try:
        return trial_rows.parse_trial_row(row)
    except (ValueError, TypeError, KeyError) as error:
        raise FormatError(f"is not a trial as `assay bench` writes it: {error}", path, line) from None


def _reported_trial(result: ImportedResult, path: str) -> Trial:
    if result.answers is not None:
        raise FormatError(
            "contains neighbors, which must be scored against a truth: import it into the folder of a sweep "
            "(`assay bench import`) and use that folder",
            path,
        )
    names = {field.name for field in fields(Trial)}
    return Trial(result.key, **{name: value for name, value in result.record.items() if name in names})


def detect_kind(path: str | os.PathLike[str]) -> str:
    """Return the kind of results in a file, detected from its content."""
    refuse_unsupported(os.fspath(path))
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", os.fspath(path)) from None
    if head.startswith(_HDF5_SIGNATURE):
        return _detect_hdf5_kind(os.fspath(path))
    if not head.strip():
        raise FormatError(f"is empty; expected results of kind {', '.join(READERS)}", os.fspath(path))
    if b"\0" in head and not head.startswith(b"PAR1"):
        raise FormatError(
            "is neither HDF5 nor JSON nor a table (CSV, TSV, Parquet); if it should be, download it again",
            os.fspath(path),
        )
    return "vectordbbench" if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") else "table"


def _detect_hdf5_kind(path: str) -> str:
    with open_hdf5(path) as file:
        names = set(file)
        if "train" in names or "test" in names:
            raise FormatError(
                "is a set of vectors ('train', 'test'), not the results of a run: use it as the data", path
            )
        has_groups_only = not any(hasattr(file[name], "shape") for name in names)
    return "ann-benchmarks" if "times" in names or has_groups_only else "big-ann"


def _check_kind(kind: str | None) -> str | None:
    if kind is not None and kind not in READERS:
        raise InputError(f"the kind of results must be one of {', '.join(READERS)}, found {kind!r}")
    return kind


def _list_files(path: str, folder: Path) -> list[str]:
    """Return a file, or the result files of a folder except those in the folder of the sweep."""
    if not os.path.isdir(path):
        return [path]
    try:
        os.listdir(path)  # rglob ignores folders that cannot be read
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", path) from None
    candidates = [file for file in Path(path).rglob("*") if file.suffix.lower() in _SUFFIXES]
    files = sorted(str(file) for file in candidates if not file.resolve().is_relative_to(folder.resolve()))
    if not files:
        raise FormatError(f"contains no results: expected files that end in {', '.join(_SUFFIXES)}", path)
    return files


def _stored_data_fields(folder: SweepFolder) -> dict[str, Any] | None:
    """Return the dataset and queries of imported neighbors in the folder; None if there are none."""
    records = (folder.trial_record(key) or {} for key in folder.trial_keys())
    return next(
        ({name: record.get(name) for name in _DATA_FIELDS} for record in records if record.get("queries")),
        None,
    )


def _refuse_other_queries(
    result: ImportedResult, expected: dict[str, Any] | None, path: str
) -> dict[str, Any] | None:
    """Refuse neighbors that belong to other queries than the results already imported."""
    if result.answers is None:
        return expected
    actual = {name: result.record.get(name) for name in _DATA_FIELDS}
    if expected is not None and actual != expected:
        raise FormatError(
            f"has {actual['queries']} queries of {actual['dataset']!r}, but the other results in the folder "
            f"have {expected['queries']} queries of {expected['dataset']!r}: use one folder for each set",
            path,
        )
    return actual


def _refuse_other_truth(result: ImportedResult, truth: Neighbors | None, path: str) -> None:
    """Refuse neighbors of other queries than those of the truth."""
    queries = result.record.get("queries")
    if result.answers is not None and truth is not None and queries != len(truth.positions):
        raise FormatError(
            f"answers {queries} queries, but the truth has {len(truth.positions)}: it belongs to other data "
            f"({result.record.get('dataset', 'not named')})",
            path,
        )


def _refuse_other_data(result: ImportedResult, sweep_data: Mapping[str, Any], path: str) -> None:
    """Refuse results of another metric or of other vectors than those of the sweep in the folder."""
    actual, metric = result.record.get("metric"), sweep_data.get("metric")
    if actual and metric and actual != metric:
        raise FormatError(
            f"has neighbors by the metric {actual}, but the sweep in the folder uses {metric}: "
            f"import it into the folder of a sweep by {actual}",
            path,
        )
    for name, noun in (("n", "vectors"), ("d", "dimensions")):
        actual, expected = result.record.get(name), sweep_data.get(name)
        if actual and expected and actual != expected:
            raise FormatError(
                f"has {actual:,} {noun}, but the sweep in the folder has {expected:,}: "
                "import it into another folder",
                path,
            )


def _put_result(result: ImportedResult, folder: SweepFolder, truth: Neighbors | None) -> str:
    key = result.key
    if folder.trial_record(key) is not None:
        return key
    record = dict(result.record)
    if result.answers is not None:
        record["reported"] = record["reported"] | _reported_recall(result, truth)
        folder.put_pass(key, 0, result.answers)
    folder.put_trial(key, record)  # written last, because it makes the trial complete
    return key


def _reported_recall(result: ImportedResult, truth: Neighbors | None) -> dict[str, float]:
    if truth is None or result.distances is None or "recall" in result.record["reported"]:
        return {}
    recall = annbenchmarks.ann_benchmarks_recall(result.distances, truth, int(result.record["k"]))
    return {} if recall is None else {"recall": recall}
