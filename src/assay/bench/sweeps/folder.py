"""The folder of a sweep: measurements are stored whole, so that no trial has to be run twice.

sweep.json                      the data, the machine, the settings
trials.parquet                  one row per trial, derived from the files below
matched.json                    values found for search parameters given as ranges
tuned.json                      the attempts of `assay tune`
trials/KEY/trial.json           one trial: its parameters, the build of its index, its status
trials/KEY/repetition-0.parquet per query: latency, ids, hits
indexes/KEY/                    a built index, until its trials are done
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.core.errors import FormatError, InputError, StoreError
from assay.core.files import write_atomically
from assay.core.timing import TimedAnswers

_TRIAL_KEYS, _SWEEP_KEYS = ("engine",), ("data", "sources", "options")  # required keys


class Pass(NamedTuple):
    """One timed repetition of a trial: the returned ids and the latency of each request."""

    queries: NDArray[np.int64]  # the query number of each request
    ids: NDArray[np.int64]
    latencies: NDArray[np.int64]  # nanoseconds; −1: the request failed; empty in a batch
    seconds: float
    errors: int
    extra: Mapping[str, Any]  # capacity and the rates that were tried; the remark of the engine
    hits: NDArray[np.int64] | None = None  # of each request, as counted during the sweep


class SweepFolder:
    """The folder of a sweep."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def trial_record(self, key: str) -> dict[str, Any] | None:
        """Return the record of a trial; None if there is none."""
        return _read_json(self.path / "trials" / key / "trial.json", _TRIAL_KEYS)

    def put_trial(self, key: str, record: Mapping[str, Any]) -> None:
        """Store the record of a trial."""
        _write_json(self.path / "trials" / key / "trial.json", record)

    def trial_keys(self) -> list[str]:
        """Return the keys of all trials."""
        return sorted(path.parent.name for path in self.path.glob("trials/*/trial.json"))

    def delete_trial(self, key: str) -> None:
        """Delete the record and the passes of a trial."""
        shutil.rmtree(self.path / "trials" / key, ignore_errors=True)

    def entry(self, name: str, key: str) -> dict[str, Any] | None:
        """Return the entry of a key in `matched.json` or `tuned.json`; None if there is none."""
        return self.entries(name).get(key)

    def entries(self, name: str) -> dict[str, Any]:
        """Return all entries of `matched.json` or `tuned.json`."""
        return _read_json(self.path / f"{name}.json") or {}

    def put_entry(self, name: str, key: str, entry: Mapping[str, Any]) -> None:
        """Store an entry under a key and keep all other entries."""
        _write_json(self.path / f"{name}.json", self.entries(name) | {key: entry})

    def pass_numbers(self, key: str) -> list[int]:
        """Return the numbers of the stored passes of a trial."""
        stems = (path.stem for path in (self.path / "trials" / key).glob("repetition-*.parquet"))
        numbers = (name.removeprefix("repetition-") for name in stems)
        # copies made by other tools have other names
        return sorted(int(number) for number in numbers if number.isdecimal())

    def put_pass(self, key: str, number: int, timed_pass: Pass) -> None:
        """Store one pass, either completely or not at all."""
        frame = pl.DataFrame(
            {
                "query": pl.Series(timed_pass.queries, dtype=pl.UInt32),
                "latency_ns": _column(timed_pass.latencies, len(timed_pass.queries), pl.Int64),
                "hits": _column(timed_pass.hits, len(timed_pass.queries), pl.Int32),
                "ids": pl.Series(timed_pass.ids).arr.to_list(),
            }
        )
        metadata = json.dumps(
            {"seconds": timed_pass.seconds, "errors": timed_pass.errors, **timed_pass.extra}
        )
        with write_atomically(self._pass_path(key, number)) as path:
            frame.write_parquet(path, metadata={"assay": metadata})

    def read_pass(self, key: str, number: int) -> Pass:
        """Return one stored pass of a trial."""
        path = self._pass_path(key, number)
        try:
            frame = pl.read_parquet(path)
            metadata = json.loads(pl.read_parquet_metadata(path)["assay"])
        except (OSError, KeyError, ValueError, pl.exceptions.PolarsError) as error:
            raise FormatError(
                f"cannot be read: {error}; delete it and run the sweep again", str(path)
            ) from None
        latencies, hits = frame["latency_ns"], frame["hits"]
        return Pass(
            frame["query"].cast(pl.Int64).to_numpy(),
            _id_table(frame["ids"]),
            np.empty(0, np.int64) if latencies.null_count() else latencies.to_numpy(),
            metadata.pop("seconds"),
            metadata.pop("errors"),
            metadata,
            None if hits.null_count() else hits.cast(pl.Int64).to_numpy(),
        )

    def read_passes(self, key: str) -> list[Pass]:
        """Return all stored passes of a trial."""
        return [self.read_pass(key, number) for number in self.pass_numbers(key)]

    def _pass_path(self, key: str, number: int) -> Path:
        return self.path / "trials" / key / f"repetition-{number}.parquet"

    def index_folder(self, key: str) -> Path:
        """Return the folder of an index until its trials are done."""
        return self.path / "indexes" / key

    def build_record(self, key: str) -> dict[str, Any] | None:
        """Return how an index was built; None if it was not built completely."""
        return _read_json(self.index_folder(key) / "built.json")

    def put_build_record(self, key: str, record: Mapping[str, Any]) -> None:
        """Store that an index was built completely."""
        _write_json(self.index_folder(key) / "built.json", record)

    def delete_index(self, key: str) -> None:
        """Delete an index."""
        shutil.rmtree(self.index_folder(key), ignore_errors=True)
        if (parent := self.path / "indexes").is_dir() and not any(parent.iterdir()):
            parent.rmdir()

    def mark_index_kept(self, key: str) -> None:
        """Mark an index to be kept after its trials are done."""
        (self.index_folder(key) / "kept").touch()

    def delete_leftover_index(self, key: str) -> None:
        """Delete an index that an interruption left behind, unless it is marked to be kept."""
        if not (self.index_folder(key) / "kept").exists():
            self.delete_index(key)

    def put_table(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Store one row per trial for other tools."""
        with write_atomically(self.path / "trials.parquet") as path:
            pl.DataFrame(rows, infer_schema_length=None, strict=False).write_parquet(path)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder against other sweeps and delete partial files of an interrupted one."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock_file = open(self.path / ".lock", "w")  # noqa: SIM115  # closed below
        except OSError as error:
            raise self.unwritable_error(error) from None
        with lock_file as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(
                    f"{self.path}: another sweep is running in this folder; wait for it, or use another (-o)"
                ) from None
            for leftover in self.path.rglob(".*.part"):
                leftover.unlink()
            shutil.rmtree(self.path / "vectors", ignore_errors=True)
            yield

    def refuse_removed_folder(self) -> None:
        """Raise an error if the folder was deleted while it was locked."""
        if not (self.path / ".lock").exists():
            raise StoreError(f"{self.path} was deleted during the sweep, and the results in it are lost")

    def refuse_unwritable_folder(self) -> None:
        """Raise an error if the folder cannot be created or written, before any work is done."""
        existing = next(path for path in (self.path, *self.path.absolute().parents) if path.exists())
        if not os.access(existing, os.W_OK | os.X_OK):
            raise self.unwritable_error(PermissionError(errno.EACCES, os.strerror(errno.EACCES)))

    def unwritable_error(self, error: OSError) -> StoreError:
        """Return the error for a folder that cannot be written."""
        return StoreError(
            f"results are stored in {self.path}, which cannot be written ({error.strerror}): "
            "choose another folder (-o)"
        )

    def put_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Store the metadata of the sweep."""
        _write_json(self.path / "sweep.json", metadata)

    def find_metadata(self) -> dict[str, Any] | None:
        """Return the metadata of the sweep; None if there is none."""
        path = self.path / "sweep.json"
        metadata = _read_json(path, _SWEEP_KEYS)
        if metadata is not None and "digests" not in metadata["data"]:
            raise _damaged_error(path, "it does not name its data")
        return metadata

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of the sweep."""
        metadata = self.find_metadata()
        if metadata is None:
            raise FormatError("is not the folder of a sweep: it contains no sweep.json", str(self.path))
        return metadata


def pass_from_timing(timing: TimedAnswers, queries: int, extra: Mapping[str, Any] | None = None) -> Pass:
    """Return timed answers as one pass over the queries, which repeat if there were more requests."""
    latencies = np.empty(0, np.int64) if timing.latencies is None else timing.latencies
    numbers = np.arange(len(timing.positions)) % queries
    return Pass(numbers, timing.positions, latencies, timing.seconds, timing.errors, extra or {})


def _column(values: NDArray[np.int64] | None, n: int, dtype: Any) -> pl.Series:
    """Return a column of numbers, or of nulls if there are none."""
    if values is None or not len(values):
        return pl.Series([None] * n, dtype=dtype)
    return pl.Series(values).cast(dtype)


def _id_table(lists: pl.Series) -> NDArray[np.int64]:
    width = int(lists.list.len().max() or 0)  # type: ignore[arg-type]
    table: NDArray[np.int64] = lists.list.to_array(width).to_numpy().astype(np.int64)
    return table


def _read_json(path: Path, required_keys: Sequence[str] = ()) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise _damaged_error(path, str(error)) from None
    if not isinstance(content, dict):
        raise _damaged_error(path, "expected a JSON object")
    missing = [name for name in required_keys if name not in content]
    if missing:
        raise _damaged_error(path, f"it has no {' and '.join(missing)}")
    return content


def _damaged_error(path: Path, problem: str) -> FormatError:
    return FormatError(f"is damaged: {problem}; delete it and run the sweep again", str(path))


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with write_atomically(path) as temporary:
        temporary.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
