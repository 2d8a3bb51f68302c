"""Databases that a server keeps open between requests."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import select

from assay.store import shared_databases
from assay.store.schema import records
from assay.store.shared_databases import share_databases
from assay.store.store import Store
from tests.stores import experiment


@pytest.fixture
def _shared() -> Iterator[None]:
    with share_databases():
        yield


def test_a_store_is_opened_once_while_databases_are_shared(tmp_path: Path) -> None:
    with share_databases():
        with Store(tmp_path) as first:
            first.put(experiment())
        with Store(tmp_path) as second:
            assert second.database is first.database
            assert len(second.ids()) == 1
    with Store(tmp_path) as third:
        assert third.database is not first.database


@pytest.mark.usefixtures("_shared")
def test_another_file_in_the_place_of_a_store_is_another_database(tmp_path: Path) -> None:
    with Store(tmp_path / "one") as store:
        store.put(experiment())
    with Store(tmp_path / "two"):
        pass
    shutil.rmtree(tmp_path / "one")
    shutil.copytree(tmp_path / "two", tmp_path / "one")
    with Store(tmp_path / "one") as store:
        assert not store.ids()


@pytest.mark.usefixtures("_shared")
def test_a_few_databases_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_databases, "_MOST_DATABASES", 1)
    with Store(tmp_path / "one") as first, Store(tmp_path / "two"):
        assert not first.ids()
    with Store(tmp_path / "one") as again:
        assert again.database is not first.database


@pytest.mark.usefixtures("_shared")
def test_more_threads_than_the_pool_has_connections_read_at_once(tmp_path: Path) -> None:
    threads = 20
    barrier = Barrier(threads)

    def read(_: int) -> int:
        with Store(tmp_path) as store, store.database.read_transaction() as connection:
            barrier.wait(20)
            return len(connection.execute(select(records)).all())

    with Store(tmp_path) as store:
        store.put(experiment())
    with ThreadPoolExecutor(threads) as pool:
        assert list(pool.map(read, range(threads))) == [1] * threads
