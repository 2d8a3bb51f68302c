"""Tables as Parquet files named by their digest: in a folder, or in any bucket that fsspec reaches."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assay.core.errors import StoreError
from assay.core.files import put_in_place
from assay.core.tables import Scores

_AT_ONCE = 100  # tables that are read together


class Kept(NamedTuple):
    """A table that is kept."""

    digest: str
    size: int  # in bytes
    at: datetime


class Tables:
    """The tables of a store. A file is there whole or not at all, and is never changed."""

    def __init__(self, url: str) -> None:
        import fsspec

        self.url = url
        try:
            self._files, self._root = fsspec.core.url_to_fs(url, use_listings_cache=False)
        except (ImportError, ValueError) as error:
            raise StoreError(f"the tables at {url} cannot be reached: {error}") from None
        self.local = isinstance(self._files, fsspec.implementations.local.LocalFileSystem)

    def put(self, scores: Scores) -> str:
        """Keep a table; the same content is kept once."""
        path = self._path(scores.digest)
        if not self._renewed(path):
            self._write(path, packed(scores))
        return scores.digest

    def get(self, digest: str, only: str | None = None) -> Scores:
        """The table of a digest, checked against it; or one of its measures alone, which cannot be."""
        content = self.read(digest)
        with self._told(f"the table {digest} in {self.url} cannot be read"):
            columns = None if only is None else _those(content, only)
            made = unpacked(pl.read_parquet(io.BytesIO(content), columns=columns))
        if only is None and made.digest != digest:
            raise StoreError(f"the table {digest} in {self.url} is damaged: its content has another digest")
        return made

    def has(self, digest: str) -> bool:
        """Whether a table is there."""
        with self._told(f"the tables in {self.url} cannot be reached"):
            return bool(self._files.exists(self._path(digest)))

    def row(self, digests: list[str], query_id: str) -> dict[str, dict[str, float]]:
        """The values of one query in each of these tables, by digest."""
        wanted = [*dict.fromkeys(digests)]
        found = {}
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            for digest, frame in zip(some, self._rows(some, query_id), strict=True):
                if len(frame):
                    found[digest] = dict(zip(frame.columns[1:], frame.row(0)[1:], strict=True))
        return found

    def _rows(self, digests: list[str], query_id: str) -> list[pl.DataFrame]:
        paths = [self._path(digest) for digest in digests]
        try:
            with self._told(f"the tables in {self.url} cannot be read"):
                return pl.collect_all(
                    [
                        pl.scan_parquet(source, glob=False).filter(pl.col("query_id") == query_id)
                        for source in self._sources(paths)
                    ]
                )
        except StoreError:
            for digest in digests:
                self.get(digest)  # says which of them it is
            raise

    def _sources(self, paths: list[str]) -> list[Any]:
        if self.local:
            return [*paths]
        content = self._files.cat(paths)
        return [io.BytesIO(content[path]) for path in paths]

    def list(self) -> Iterator[Kept]:
        """Every table that is kept."""
        with self._told(f"the tables in {self.url} cannot be listed"):
            found = self._files.find(self._root, detail=True)
        for path, info in sorted(found.items()):
            name = path.rsplit("/", 1)[-1]
            if name.endswith(".parquet"):
                yield Kept(name.removesuffix(".parquet"), int(info["size"]), self._modified(path, info))

    def _modified(self, path: str, info: Mapping[str, Any]) -> datetime:
        if "mtime" in info:
            return datetime.fromtimestamp(info["mtime"], UTC)
        at: datetime = info.get("LastModified") or self._files.modified(path)
        return at

    def read(self, digest: str) -> bytes:
        """The bytes of a table's file."""
        with self._told(f"the table {digest} in {self.url} cannot be read"):
            try:
                content: bytes = self._files.cat_file(self._path(digest))
            except FileNotFoundError:
                raise StoreError(
                    f"the table {digest} is not in {self.url}; it was lost, cleaned away, or never came "
                    "with its record"
                ) from None
        return content

    def write(self, digest: str, content: bytes) -> None:
        """Keep the file of a table that another store has."""
        if not self._renewed(self._path(digest)):
            self._write(self._path(digest), content)

    def drop(self, digest: str) -> None:
        """Forget a table."""
        with self._told(f"the table {digest} in {self.url} cannot be removed"), suppress(FileNotFoundError):
            self._files.rm_file(self._path(digest))

    @contextmanager
    def _told(self, problem: str) -> Iterator[None]:
        """Say what the files say; the library of a bucket has errors of its own."""
        known = (OSError, pl.exceptions.PolarsError) if self.local else (Exception,)
        try:
            yield
        except StoreError:
            raise
        except known as error:
            raise StoreError(f"{problem} ({' '.join(str(error).split())})") from error

    def sweep(self, older: timedelta) -> None:
        """Remove what a save that was killed has left half written."""
        for path in self._files.find(self._root) if self.local else ():
            if path.endswith(".part") and datetime.now(UTC) - self._files.modified(path) >= older:
                self._files.rm_file(path)

    def _renewed(self, path: str) -> bool:
        """Whether the file is there and young, so that nobody cleans it away before its record is kept."""
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
        """Write a file so that nobody ever sees a part of it."""
        with self._told(f"nothing was saved: {path} cannot be written"):
            if self.local:
                with put_in_place(path) as beside:
                    beside.write_bytes(content)
            else:
                self._files.pipe_file(path, content)  # a bucket keeps what it has wholly received


def _those(content: bytes, measure: str) -> list[str]:
    """The columns of the queries and of a measure, where the table has it."""
    return [name for name in pl.read_parquet_schema(io.BytesIO(content)) if name in ("query_id", measure)]


def packed(scores: Scores) -> bytes:
    """Scores as Parquet: a row a query, a column a measure."""
    columns: dict[str, Any] = {"query_id": list(scores.query_ids), **scores.values}
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file, compression="zstd", row_group_size=2500)
    return file.getvalue()


def unpacked(frame: pl.DataFrame) -> Scores:
    """Scores from such a frame."""
    values = {name: np.asarray(frame[name].to_numpy(), np.float64) for name in frame.columns[1:]}
    return Scores(frame["query_id"].to_list(), values)
