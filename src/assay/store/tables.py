"""Tables as Parquet files named by their digest, in a folder or in any bucket that fsspec supports."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assay.core.errors import StoreError
from assay.core.files import write_atomically
from assay.core.tables import Scores

_BATCH_SIZE = 100  # tables read at once


class StoredTable(NamedTuple):
    """The file of a stored table."""

    digest: str
    size: int  # in bytes
    at: datetime


class TableStorage:
    """The tables of a store. A file is written whole or not at all, and never changes."""

    def __init__(self, url: str) -> None:
        import fsspec

        self.url = url
        try:
            self._files, self._root = fsspec.core.url_to_fs(url, use_listings_cache=False)
        except (ImportError, ValueError) as error:
            raise StoreError(f"the tables at {url} cannot be opened: {error}") from None
        self.local = isinstance(self._files, fsspec.implementations.local.LocalFileSystem)

    def put(self, scores: Scores) -> str:
        """Store a table and return its digest; the same content is stored once."""
        path = self._path(scores.digest)
        if not self._refresh(path):
            self._write(path, scores_to_parquet(scores))
        return scores.digest

    def get(self, digest: str, only: str | None = None) -> Scores:
        """The table with this digest, after a check of its content; with `only`, one measure, unchecked."""
        content = self.read(digest)
        with self._report_errors(f"the table {digest} in {self.url} cannot be read"):
            columns = None if only is None else _column_names(content, only)
            scores = scores_from_frame(pl.read_parquet(io.BytesIO(content), columns=columns))
        if only is None and scores.digest != digest:
            raise StoreError(f"the table {digest} in {self.url} is damaged: its content has another digest")
        return scores

    def has(self, digest: str) -> bool:
        """Whether there is a table with this digest."""
        with self._report_errors(f"the tables in {self.url} cannot be reached"):
            return bool(self._files.exists(self._path(digest)))

    def row(self, digests: list[str], query_id: str) -> dict[str, dict[str, float]]:
        """The values of one query in each of these tables, by digest."""
        unique_digests = [*dict.fromkeys(digests)]
        values = {}
        for start in range(0, len(unique_digests), _BATCH_SIZE):
            batch = unique_digests[start : start + _BATCH_SIZE]
            for digest, frame in zip(batch, self._rows(batch, query_id), strict=True):
                if len(frame):
                    values[digest] = dict(zip(frame.columns[1:], frame.row(0)[1:], strict=True))
        return values

    def rows_of(self, digest: str, query_id: str) -> pl.DataFrame:
        """The rows of one query in a table of any kind."""
        return self._collect_rows([digest], [query_id])[0]

    def rows_of_all(self, digest: str, query_ids: Sequence[str]) -> pl.DataFrame:
        """The rows of some queries in a table of any kind."""
        return self._collect_rows([digest], query_ids)[0]

    def _rows(self, digests: list[str], query_id: str) -> list[pl.DataFrame]:
        try:
            return self._collect_rows(digests, [query_id])
        except StoreError:
            for digest in digests:
                self.get(digest)  # raises an error that names the table
            raise

    def _collect_rows(self, digests: list[str], query_ids: Sequence[str]) -> list[pl.DataFrame]:
        paths = [self._path(digest) for digest in digests]
        with self._report_errors(f"the tables in {self.url} cannot be read"):
            return pl.collect_all(
                [
                    pl.scan_parquet(source, glob=False).filter(pl.col("query_id").is_in(query_ids))
                    for source in self._sources(paths)
                ]
            )

    def _sources(self, paths: list[str]) -> list[Any]:
        if self.local:
            return [*paths]
        content = self._files.cat(paths)
        return [io.BytesIO(content[path]) for path in paths]

    def list(self) -> Iterator[StoredTable]:
        """All stored tables."""
        with self._report_errors(f"the tables in {self.url} cannot be listed"):
            files = self._files.find(self._root, detail=True)
        for path, info in sorted(files.items()):
            name = path.rsplit("/", 1)[-1]
            if name.endswith(".parquet"):
                yield StoredTable(
                    name.removesuffix(".parquet"), int(info["size"]), self._modification_time(path, info)
                )

    def _modification_time(self, path: str, info: Mapping[str, Any]) -> datetime:
        if "mtime" in info:
            return datetime.fromtimestamp(info["mtime"], UTC)
        at: datetime = info.get("LastModified") or self._files.modified(path)
        return at

    def read(self, digest: str) -> bytes:
        """The bytes of a table's file."""
        with self._report_errors(f"the table {digest} in {self.url} cannot be read"):
            try:
                content: bytes = self._files.cat_file(self._path(digest))
            except FileNotFoundError:
                raise StoreError(
                    f"the table {digest} is not in {self.url}; it was lost, cleaned up, or "
                    "its record was imported without it"
                ) from None
        return content

    def write(self, digest: str, content: bytes) -> None:
        """Store the file of a table of another store."""
        if not self._refresh(self._path(digest)):
            self._write(self._path(digest), content)

    def drop(self, digest: str) -> None:
        """Remove a table."""
        with (
            self._report_errors(f"the table {digest} in {self.url} cannot be removed"),
            suppress(FileNotFoundError),
        ):
            self._files.rm_file(self._path(digest))

    def check_writable(self) -> None:
        """Raise StoreError if no table could be written."""
        path = f"{self._root}/writable.part"
        self._write(path, b"written to see whether tables can be written")
        with suppress(Exception):  # a bucket may forbid removal; the file is then written again next time
            self._files.rm_file(path)

    @contextmanager
    def _report_errors(self, problem: str) -> Iterator[None]:
        """Turn errors of the file system into a StoreError; each library for buckets has its own types."""
        error_types = (OSError, pl.exceptions.PolarsError) if self.local else (Exception,)
        try:
            yield
        except StoreError:
            raise
        except error_types as error:
            raise StoreError(f"{problem} ({' '.join(str(error).split())})") from error

    def remove_partial_files(self, older: timedelta) -> None:
        """Remove the partial files of interrupted writes."""
        for path in self._files.find(self._root) if self.local else ():
            if path.endswith(".part") and datetime.now(UTC) - self._files.modified(path) >= older:
                self._files.rm_file(path)

    def _refresh(self, path: str) -> bool:
        """Renew the time of a file so that it is not removed before its record is saved; False if missing."""
        if not self.local:
            return False
        try:
            os.utime(path)
        except OSError:
            return False
        return True

    def _path(self, digest: str) -> str:
        return f"{self._root}/{digest[:2]}/{digest}.parquet"

    def _write(self, path: str, content: bytes) -> None:
        """Write a file so that no reader ever sees a part of it."""
        with self._report_errors(f"nothing was saved: {path} cannot be written"):
            if self.local:
                with write_atomically(path) as temporary:
                    temporary.write_bytes(content)
            else:
                self._files.pipe_file(path, content)  # a bucket stores complete uploads only


def _column_names(content: bytes, measure: str) -> list[str]:
    """The columns of the query ids and of a measure, if the table has it."""
    return [name for name in pl.read_parquet_schema(io.BytesIO(content)) if name in ("query_id", measure)]


def scores_to_parquet(scores: Scores) -> bytes:
    """Scores as Parquet with one row per query and one column per measure."""
    columns: dict[str, Any] = {"query_id": list(scores.query_ids), **scores.values}
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file, compression="zstd", row_group_size=2500)
    return file.getvalue()


def scores_from_frame(frame: pl.DataFrame) -> Scores:
    """The scores of a frame with the same columns."""
    values = {name: np.asarray(frame[name].to_numpy(), np.float64) for name in frame.columns[1:]}
    return Scores(frame["query_id"].to_list(), values)
