"""What the pages read does not grow with the store: rows of the database and files of tables are counted."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event
from starlette.testclient import TestClient

from assay.store import annotation_labels
from assay.store.tables import TableStorage
from assay.web.access import Access
from assay.web.app import create_app

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "dashboard.py"
# Pages that compute something from all labels: once, and then never again until there are new ones.
FROM_ALL_LABELS = (
    "agreement",
    "judges",
    "one dataset, checks",
    "one dataset, coverage",
    "one dataset, pools",
)


class Reads:
    """What was read: rows that the database gave, and files of tables that were opened."""

    def __init__(self) -> None:
        self.rows = self.files = 0

    def taken(self) -> tuple[int, int]:
        """Return the counts, and begin anew."""
        counts = (self.rows, self.files)
        self.rows = self.files = 0
        return counts


@contextmanager
def count_rows(reads: Reads) -> Iterator[None]:
    def count(_: sqlite3.Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
        reads.rows += 1
        return row

    def configure(connection: sqlite3.Connection, _: object) -> None:
        connection.row_factory = count

    event.listen(Engine, "connect", configure)
    try:
        yield
    finally:
        event.remove(Engine, "connect", configure)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reads]:
    counted, read, sources = Reads(), TableStorage.read, TableStorage._sources

    def read_file(self: TableStorage, digest: str) -> bytes:
        counted.files += 1
        return read(self, digest)

    def open_files(self: TableStorage, paths: list[str]) -> list[Any]:
        counted.files += len(paths)
        return sources(self, paths)

    monkeypatch.setattr(TableStorage, "read", read_file)
    monkeypatch.setattr(TableStorage, "_sources", open_files)
    with count_rows(counted):
        yield counted


def page_reads(dashboard: Any, folder: Path, reads: Reads, *sizes: int) -> dict[str, list[tuple[int, int]]]:
    """Return what the first and the second call of each page read of a store of this size."""
    dashboard.build_store(folder, dashboard.DashboardSize(*sizes))
    client = TestClient(create_app(Access(str(folder))), base_url="http://127.0.0.1:8765")
    reads.taken()
    counts: dict[str, list[tuple[int, int]]] = {name: [] for name in dashboard.PAGES}
    for name, path in dashboard.PAGES.items():
        for _ in range(2):
            assert client.get(path).status_code == 200, name
            counts[name].append(reads.taken())
    return counts


def growing_pages(small: dict[str, list[Any]], large: dict[str, list[Any]], call: int) -> dict[str, Any]:
    """Return the pages that read more rows or files of the large store at a call."""
    each = {name: (small[name][call], large[name][call]) for name in small}
    return {
        name: (less, more) for name, (less, more) in each.items() if more[0] > less[0] or more[1] > less[1]
    }


def test_no_page_reads_more_of_a_store_with_more_experiments(
    benchmark: Any, tmp_path: Path, reads: Reads
) -> None:
    small = page_reads(benchmark, tmp_path / "small", reads, 700, 20, 400)
    large = page_reads(benchmark, tmp_path / "large", reads, 1_000, 20, 400)
    assert growing_pages(small, large, call=0) == {}
    assert growing_pages(small, large, call=1) == {}
    assert all(rows < 5_000 for rows, _ in large["experiments"])


def test_no_page_reads_all_labels_a_second_time(
    benchmark: Any, tmp_path: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(annotation_labels, "OVERVIEW_PAIRS", 50)
    small = page_reads(benchmark, tmp_path / "small", reads, 40, 20, 2_000)
    large = page_reads(benchmark, tmp_path / "large", reads, 40, 80, 8_000)
    assert growing_pages(small, large, call=1) == {}
    assert set(growing_pages(small, large, call=0)) <= {*FROM_ALL_LABELS, "failures"}
