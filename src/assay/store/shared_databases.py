"""Databases that stay open while a server runs, so that a request does not open and check one again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from assay.store.database import Database

_MOST_DATABASES = 4
_SQLITE = "sqlite:///"
_Key = tuple[str, tuple[int, int] | None]


class _SharedDatabases:
    """The databases that were used last, by URL and file; none is kept unless somebody shares them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._servers = 0
        self._open: OrderedDict[_Key, Database] = OrderedDict()

    def open(self, url: str) -> tuple[Database, bool]:
        """Return the database of a URL, and whether it is shared and must not be closed by the caller."""
        with self._lock:
            if not self._servers:
                return Database(url), False
            known = self._open.get(_key(url))
            if known is not None:
                self._open.move_to_end(_key(url))
                return known, True
        return self._keep(Database(url))

    def _keep(self, database: Database) -> tuple[Database, bool]:
        """Keep a database unless another thread has kept one meanwhile; it is a file only once it is open."""
        key = _key(database.url)
        with self._lock:
            if not self._servers or key in self._open:
                return database, False
            self._open[key] = database
            surplus = [self._open.popitem(last=False)[1]] if len(self._open) > _MOST_DATABASES else []
        for one in surplus:
            one.close()  # connections that are in use are closed when they are given back
        return database, True

    @contextmanager
    def share(self) -> Iterator[None]:
        """Keep databases open until the end of the block."""
        with self._lock:
            self._servers += 1
        try:
            yield
        finally:
            with self._lock:
                self._servers -= 1
                closed = [] if self._servers else list(self._open.values())
                self._open = self._open if self._servers else OrderedDict()
            for database in closed:
                database.close()


def _key(url: str) -> _Key:
    """Return the URL with the file of SQLite: another file in its place is another database."""
    if not url.startswith(_SQLITE):
        return url, None
    try:
        status = Path(url.removeprefix(_SQLITE)).stat()
    except OSError:
        return url, None
    return url, (status.st_dev, status.st_ino)


_databases = _SharedDatabases()
open_database = _databases.open
share_databases = _databases.share
