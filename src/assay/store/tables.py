"""Tables as Parquet files named by their digest: in a folder, or in any bucket that fsspec reaches."""

from __future__ import annotations

import io
import os
import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assay.core.errors import StoreError
from assay.core.tables import Scores


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
            self._files, self._root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise StoreError(f"the tables at {url} cannot be reached: {error}") from None
        self.local = isinstance(self._files, fsspec.implementations.local.LocalFileSystem)

    def put(self, scores: Scores) -> str:
        """Keep a table; the same content is kept once."""
        path = self._path(scores.digest)
        if not self._files.exists(path):
            self._write(path, packed(scores))
        return scores.digest

    def get(self, digest: str) -> Scores:
        """The table of a digest, checked against it."""
        try:
            content = self._files.cat_file(self._path(digest))
            made = unpacked(pl.read_parquet(io.BytesIO(content)))
        except FileNotFoundError:
            raise StoreError(
                f"the table {digest} is not in {self.url}; it was lost or cleaned away"
            ) from None
        except (OSError, pl.exceptions.PolarsError) as error:
            raise StoreError(f"the table {digest} in {self.url} cannot be read: {error}") from None
        if made.digest != digest:
            raise StoreError(f"the table {digest} in {self.url} is damaged: its content has another digest")
        return made

    def row(self, digests: list[str], query_id: str) -> dict[str, dict[str, float]]:
        """The values of one query in each of these tables, by digest."""
        found = {}
        for digest in digests:
            source = (
                self._path(digest) if self.local else io.BytesIO(self._files.cat_file(self._path(digest)))
            )
            frame = pl.scan_parquet(source).filter(pl.col("query_id") == query_id).collect()
            if len(frame):
                found[digest] = {name: frame[name][0] for name in frame.columns[1:]}
        return found

    def list(self) -> Iterator[Kept]:
        """Every table that is kept."""
        for path, info in sorted(self._files.find(self._root, detail=True).items()):
            name = path.rsplit("/", 1)[-1]
            if name.endswith(".parquet"):
                yield Kept(name.removesuffix(".parquet"), int(info["size"]), self._files.modified(path))

    def read(self, digest: str) -> bytes:
        """The bytes of a table's file."""
        content: bytes = self._files.cat_file(self._path(digest))
        return content

    def write(self, digest: str, content: bytes) -> None:
        """Keep the file of a table that another store has."""
        if not self._files.exists(self._path(digest)):
            self._write(self._path(digest), content)

    def drop(self, digest: str) -> None:
        """Forget a table."""
        self._files.rm_file(self._path(digest))

    def _path(self, digest: str) -> str:
        return f"{self._root}/{digest[:2]}/{digest}.parquet"

    def _write(self, path: str, content: bytes) -> None:
        """Write a file so that nobody ever sees a part of it."""
        try:
            if self.local:
                _write_whole(path, content)
            else:
                self._files.pipe_file(path, content)  # a bucket keeps what it has wholly received
        except OSError as error:
            raise StoreError(f"nothing was saved: {path} cannot be written ({error})") from None


def _write_whole(path: str, content: bytes) -> None:
    """Write beside, make sure that it is on the disk, and put it in place."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    beside = os.path.join(folder, f".{uuid.uuid4().hex}.part")
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        if os.path.exists(beside):
            os.unlink(beside)
        raise


def packed(scores: Scores) -> bytes:
    """Scores as Parquet: a row a query, a column a measure."""
    columns: dict[str, Any] = {"query_id": list(scores.query_ids), **scores.values}
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file, compression="zstd", row_group_size=1000)
    return file.getvalue()


def unpacked(frame: pl.DataFrame) -> Scores:
    """Scores from such a frame."""
    values = {name: np.asarray(frame[name].to_numpy(), np.float64) for name in frame.columns[1:]}
    return Scores(frame["query_id"].to_list(), values)
