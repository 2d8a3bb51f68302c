"""Others' results as trials: imported once, and scored by our rule where neighbours were kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from assay.core.errors import FormatError, InputError
from assay.core.vectors import Neighbors
from assay.indexes.foreign import annbenchmarks, bigann, kept, table, vectordbbench
from assay.indexes.foreign.curves import published
from assay.indexes.foreign.found import Found
from assay.indexes.foreign.hdf5 import opened
from assay.indexes.study.observed import Observed
from assay.indexes.sweeps.results import Results
from assay.indexes.trials import Trial

KINDS: Mapping[str, Callable[[str], Iterator[Found]]] = {
    "ann-benchmarks": annbenchmarks.read,
    "big-ann": bigann.read,
    "vectordbbench": vectordbbench.read,
    "table": table.read,
}
_HDF5 = b"\x89HDF\r\n\x1a\n"
_SUFFIXES = (".hdf5", ".h5", ".json", ".csv", ".tsv", ".parquet")
_ONE = ("dataset", "queries")


def import_results(
    paths: Iterable[str | os.PathLike[str]],
    results: Results,
    *,
    kind: str | None = None,
    truth: Neighbors | None = None,
) -> list[str]:
    """Take others' results into a folder of trials, and give the keys of what was in them.

    A folder stands for the files in it. Everything is looked at before anything is written; what is there
    already is left as it is. Given a truth with distances, the recall by the rule of ann-benchmarks is kept
    beside ours.
    """
    files = [file for path in paths for file in _files(os.fspath(path), results.folder)]
    readers = [(file, KINDS[_checked(kind) or kind_of(file)]) for file in files]
    one, swept = _data_there(results), (results.known_about() or {}).get("data", {})
    for file, read in readers:
        for found in read(file):
            one = _same_data(found, one, file)
            _refuse_truth(found, truth, file)
            _refuse_other(found, swept, file)
    keys = [_put(found, results, truth) for file, read in readers for found in read(file)]
    return list(dict.fromkeys(keys))


def figures_of(path: str) -> list[Observed]:
    """The trials of a file that states figures: a table, one that a sweep keeps, results of VectorDBBench."""
    kind = kind_of(path)
    rows = list(table.rows(path)) if kind == "table" else []
    if rows and kept.is_kept(rows[0][1]):
        trials = [_kept(row, path, line) for line, row in rows]
    else:
        trials = [_stated(found, path) for found in KINDS[kind](path)]
    return [Observed(one, published=published(one)) for one in {one.key: one for one in trials}.values()]


def _kept(row: Mapping[str, Any], path: str, line: int) -> Trial:
    try:
        return kept.trial_of(row)
    except (ValueError, TypeError, KeyError) as error:
        raise FormatError(f"is not a trial as `assay bench` keeps it: {error}", path, line) from None


def _stated(found: Found, path: str) -> Trial:
    if found.answers is not None:
        raise FormatError(
            "holds neighbours, which are scored against a truth: take it into the folder of a sweep "
            "(`assay bench import`), and give that",
            path,
        )
    names = {field.name for field in fields(Trial)}
    return Trial(found.key, **{name: value for name, value in found.told.items() if name in names})


def kind_of(path: str | os.PathLike[str]) -> str:
    """Whose results a file holds, told by its content."""
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", os.fspath(path)) from None
    if head.startswith(_HDF5):
        return _kind_of_hdf5(os.fspath(path))
    if not head.strip():
        raise FormatError(f"is empty; expected results of {', '.join(KINDS)}", os.fspath(path))
    if b"\0" in head and not head.startswith(b"PAR1"):
        raise FormatError(
            "is neither HDF5 nor JSON nor a table (CSV, TSV, Parquet); if it should be, fetch it again",
            os.fspath(path),
        )
    return "vectordbbench" if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") else "table"


def _kind_of_hdf5(path: str) -> str:
    with opened(path) as file:
        names = set(file)
        if "train" in names or "test" in names:
            raise FormatError(
                "is a set of vectors ('train', 'test'), not the results of a run: give it as the data", path
            )
        grouped = not any(hasattr(file[name], "shape") for name in names)
    return "ann-benchmarks" if "times" in names or grouped else "big-ann"


def _checked(kind: str | None) -> str | None:
    if kind is not None and kind not in KINDS:
        raise InputError(f"results are of kind {', '.join(KINDS)}, found {kind!r}")
    return kind


def _files(path: str, out: Path) -> list[str]:
    """A file, or those of a folder; what was imported before is not imported from there."""
    if not os.path.isdir(path):
        return [path]
    try:
        os.listdir(path)  # looking for files is silent about what it may not read
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror or error}", path) from None
    there = [file for file in Path(path).rglob("*") if file.suffix.lower() in _SUFFIXES]
    found = sorted(str(file) for file in there if not file.resolve().is_relative_to(out.resolve()))
    if not found:
        raise FormatError(f"has no results in it: expected files that end in {', '.join(_SUFFIXES)}", path)
    return found


def _data_there(results: Results) -> dict[str, Any] | None:
    """What the neighbours that are there already are of; None where there are none of others."""
    known = (results.trial(key) or {} for key in results.keys())  # noqa: SIM118
    return next(({name: trial.get(name) for name in _ONE} for trial in known if trial.get("queries")), None)


def _same_data(found: Found, one: dict[str, Any] | None, path: str) -> dict[str, Any] | None:
    """Refuse neighbours that another truth would be needed for."""
    if found.answers is None:
        return one
    own = {name: found.told.get(name) for name in _ONE}
    if one is not None and own != one:
        raise FormatError(
            f"is of {own['queries']} queries of {own['dataset']!r}, and the other results in the folder are "
            f"of {one['queries']} queries of {one['dataset']!r}: import each set into a folder of its own",
            path,
        )
    return own


def _refuse_truth(found: Found, truth: Neighbors | None, path: str) -> None:
    """Refuse neighbours of other queries than those of the truth."""
    queries = found.told.get("queries")
    if found.answers is not None and truth is not None and queries != len(truth.positions):
        raise FormatError(
            f"answers {queries} queries, and the truth is of {len(truth.positions)}: it is of other data "
            f"({found.told.get('dataset', 'which it does not name')})",
            path,
        )


def _refuse_other(found: Found, swept: Mapping[str, Any], path: str) -> None:
    """Refuse what says that it is of another metric or other vectors than the sweep in the folder."""
    own, metric = found.told.get("metric"), swept.get("metric")
    if own and metric and own != metric:
        raise FormatError(
            f"is of neighbours under {own}, and the sweep in the folder is under {metric}: "
            f"import it into the folder of a sweep under {own}",
            path,
        )
    for name, words in (("n", "vectors"), ("d", "dimensions")):
        own, there = found.told.get(name), swept.get(name)
        if own and there and own != there:
            raise FormatError(
                f"is of {own:,} {words}, and the sweep in the folder is of {there:,}: "
                "import it into another folder",
                path,
            )


def _put(found: Found, results: Results, truth: Neighbors | None) -> str:
    key = found.key
    if results.trial(key) is not None:
        return key
    told = dict(found.told)
    if found.answers is not None:
        told["reported"] = told["reported"] | _their_recall(found, truth)
        results.put_repetition(key, 0, found.answers)
    results.put_trial(key, told)  # last: a trial is there once this is
    return key


def _their_recall(found: Found, truth: Neighbors | None) -> dict[str, float]:
    if truth is None or found.distances is None or "recall" in found.told["reported"]:
        return {}
    recall = annbenchmarks.their_recall(found.distances, truth, int(found.told["k"]))
    return {} if recall is None else {"recall": recall}
