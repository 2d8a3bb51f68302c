"""The folder of a sweep: what was measured, kept so that nothing is run twice and nothing is half-written.

sweep.json                      the data, the machine, the settings
trials.parquet                  one row per trial, made from what follows
matched.json                    values of search parameters that were looked for, and what they reach
tuned.json                      what `assay tune` tried
trials/KEY/trial.json           one trial: its parameters, how its index was built, whether it failed
trials/KEY/repetition-0.parquet per query: latency, ids, hits
indexes/KEY/                    an index that was built, until its trials are done
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
from assay.core.files import put_in_place
from assay.indexes.hosting.timing import Timed

_TRIAL, _SWEEP = ("engine",), ("data", "sources", "options")  # without which a file says nothing


class Repetition(NamedTuple):
    """One pass of a trial: what was returned for each request, and how fast."""

    queries: NDArray[np.int64]  # the number of the query of each request
    ids: NDArray[np.int64]
    latencies: NDArray[np.int64]  # nanoseconds; −1: failed; empty in a batch
    seconds: float
    errors: int
    extra: Mapping[str, Any]  # capacity, and the rates that were tried; what the engine remarked


class Results:
    """The folder of a sweep."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def trial(self, key: str) -> dict[str, Any] | None:
        """What is known of a trial; None where nothing is."""
        return _read_json(self.folder / "trials" / key / "trial.json", _TRIAL)

    def put_trial(self, key: str, found: Mapping[str, Any]) -> None:
        """Remember a trial."""
        _write_json(self.folder / "trials" / key / "trial.json", found)

    def keys(self) -> list[str]:
        """Every trial there is."""
        return sorted(path.parent.name for path in self.folder.glob("trials/*/trial.json"))

    def forget_trial(self, key: str) -> None:
        """Delete what is known of a trial."""
        shutil.rmtree(self.folder / "trials" / key, ignore_errors=True)

    def entry(self, name: str, key: str) -> dict[str, Any] | None:
        """What is kept under a key in `matched.json` or `tuned.json`; None where nothing is."""
        return self.entries(name).get(key)

    def entries(self, name: str) -> dict[str, Any]:
        """All that is kept in `matched.json` or `tuned.json`."""
        return _read_json(self.folder / f"{name}.json") or {}

    def put_entry(self, name: str, key: str, found: Mapping[str, Any]) -> None:
        """Keep something under a key beside what is there."""
        _write_json(self.folder / f"{name}.json", self.entries(name) | {key: found})

    def repetitions(self, key: str) -> list[int]:
        """The repetitions of a trial that are there."""
        found = (path.stem for path in (self.folder / "trials" / key).glob("repetition-*.parquet"))
        numbers = (name.removeprefix("repetition-") for name in found)
        return sorted(int(number) for number in numbers if number.isdecimal())  # no copies by other tools

    def put_repetition(
        self, key: str, number: int, found: Repetition, hits: NDArray[np.int64] | None = None
    ) -> None:
        """Keep one pass, whole or not at all."""
        frame = pl.DataFrame(
            {
                "query": pl.Series(found.queries, dtype=pl.UInt32),
                "latency_ns": _column(found.latencies, len(found.queries), pl.Int64),
                "hits": _column(hits, len(found.queries), pl.Int32),
                "ids": pl.Series(found.ids).arr.to_list(),
            }
        )
        about = json.dumps({"seconds": found.seconds, "errors": found.errors, **found.extra})
        with put_in_place(self._part(key, number)) as path:
            frame.write_parquet(path, metadata={"assay": about})

    def repetition(self, key: str, number: int) -> Repetition:
        """One pass of a trial."""
        path = self._part(key, number)
        try:
            frame = pl.read_parquet(path)
            about = json.loads(pl.read_parquet_metadata(path)["assay"])
        except (OSError, KeyError, ValueError, pl.exceptions.PolarsError) as error:
            raise FormatError(
                f"cannot be read: {error}; delete it, and run the sweep again", str(path)
            ) from None
        latencies = frame["latency_ns"]
        return Repetition(
            frame["query"].cast(pl.Int64).to_numpy(),
            _table(frame["ids"]),
            np.empty(0, np.int64) if latencies.null_count() else latencies.to_numpy(),
            about.pop("seconds"),
            about.pop("errors"),
            about,
        )

    def first_hits(self, key: str, n: int) -> NDArray[np.int64] | None:
        """The hits of the first n requests of the first pass, as scored when it was kept; None where not."""
        first = self._part(key, self.repetitions(key)[0])
        found = pl.scan_parquet(first).select("hits").head(n).collect()["hits"]
        return None if found.null_count() else found.cast(pl.Int64).to_numpy()

    def _part(self, key: str, number: int) -> Path:
        return self.folder / "trials" / key / f"repetition-{number}.parquet"

    def index(self, key: str) -> Path:
        """Where an index is kept until its trials are done."""
        return self.folder / "indexes" / key

    def built(self, key: str) -> dict[str, Any] | None:
        """How an index was built; None where it was not, or not to the end."""
        return _read_json(self.index(key) / "built.json")

    def put_built(self, key: str, found: Mapping[str, Any]) -> None:
        """Remember that an index was built to the end."""
        _write_json(self.index(key) / "built.json", found)

    def forget_index(self, key: str) -> None:
        """Delete an index."""
        shutil.rmtree(self.index(key), ignore_errors=True)
        if (parent := self.folder / "indexes").is_dir() and not any(parent.iterdir()):
            parent.rmdir()

    def keep_index(self, key: str) -> None:
        """Remember that an index is to stay when its trials are done."""
        (self.index(key) / "kept").touch()

    def forget_left(self, key: str) -> None:
        """Delete an index that an interruption left behind; one that is to stay stays."""
        if not (self.index(key) / "kept").exists():
            self.forget_index(key)

    def put_table(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep one row per trial, for other tools to read."""
        with put_in_place(self.folder / "trials.parquet") as path:
            pl.DataFrame(rows, infer_schema_length=None, strict=False).write_parquet(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others out of the folder, and clear away what one that was killed left half-written."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = open(self.folder / ".lock", "w")  # noqa: SIM115  # closed below
        except OSError as error:
            raise self.unwritable(error) from None
        with lock as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(
                    f"{self.folder}: another sweep runs in this folder; wait for it, or name another with -o"
                ) from None
            for left in self.folder.rglob(".*.part"):
                left.unlink()
            shutil.rmtree(self.folder / "vectors", ignore_errors=True)
            yield

    def refuse_gone(self) -> None:
        """Refuse to go on in a folder that was taken away while it was locked."""
        if not (self.folder / ".lock").exists():
            raise StoreError(f"{self.folder} was taken away meanwhile, and what was kept in it is lost")

    def refuse_place(self) -> None:
        """Refuse a folder that cannot be made or written to, before any work is done for it."""
        there = next(path for path in (self.folder, *self.folder.absolute().parents) if path.exists())
        if not os.access(there, os.W_OK | os.X_OK):
            raise self.unwritable(PermissionError(errno.EACCES, os.strerror(errno.EACCES)))

    def unwritable(self, error: OSError) -> StoreError:
        """What is said of a folder that cannot be written to."""
        return StoreError(
            f"results are kept in {self.folder}, which cannot be written ({error.strerror}): "
            "name another folder (-o)"
        )

    def put_about(self, found: Mapping[str, Any]) -> None:
        """Remember what the sweep is of."""
        _write_json(self.folder / "sweep.json", found)

    def known_about(self) -> dict[str, Any] | None:
        """What the sweep is of; None where nobody said so."""
        path = self.folder / "sweep.json"
        found = _read_json(path, _SWEEP)
        if found is not None and "digests" not in found["data"]:
            raise _damaged(path, "it does not say which data it is of")
        return found

    def about(self) -> dict[str, Any]:
        """What the sweep is of."""
        found = self.known_about()
        if found is None:
            raise FormatError("is not the folder of a sweep: there is no sweep.json in it", str(self.folder))
        return found


def once(timed: Timed, queries: int, extra: Mapping[str, Any] | None = None) -> Repetition:
    """What was timed, as one pass over the queries (again and again where there were more requests)."""
    latencies = np.empty(0, np.int64) if timed.latencies is None else timed.latencies
    numbers = np.arange(len(timed.positions)) % queries
    return Repetition(numbers, timed.positions, latencies, timed.seconds, timed.errors, extra or {})


def _column(values: NDArray[np.int64] | None, n: int, kind: Any) -> pl.Series:
    """A column of numbers; of nothing where there are none."""
    if values is None or not len(values):
        return pl.Series([None] * n, dtype=kind)
    return pl.Series(values).cast(kind)


def _table(lists: pl.Series) -> NDArray[np.int64]:
    width = int(lists.list.len().max() or 0)  # type: ignore[arg-type]
    made: NDArray[np.int64] = lists.list.to_array(width).to_numpy().astype(np.int64)
    return made


def _read_json(path: Path, needed: Sequence[str] = ()) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise _damaged(path, str(error)) from None
    if not isinstance(found, dict):
        raise _damaged(path, "it holds no names and values")
    lacking = [name for name in needed if name not in found]
    if lacking:
        raise _damaged(path, f"it does not say its {' and '.join(lacking)}")
    return found


def _damaged(path: Path, said: str) -> FormatError:
    return FormatError(f"is damaged: {said}; delete it, and run the sweep again", str(path))


def _write_json(path: Path, found: Mapping[str, Any]) -> None:
    with put_in_place(path) as beside:
        beside.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
