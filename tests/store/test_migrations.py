"""A store that an older Assay wrote opens; one that a newer Assay wrote is refused."""

import sqlite3
import zipfile
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from assay.core.errors import StoreError
from assay.core.records import Experiment
from assay.store import database
from assay.store.schema import metadata
from assay.store.store import Store
from tests.stores import experiment, scores

FIXTURES = Path(__file__).parents[1] / "fixtures"
NAMES = ("first", "größe", "third")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store of schema 0001: three experiments, the first with scores."""
    with zipfile.ZipFile(FIXTURES / "store-0001.zip") as packed:
        packed.extractall(tmp_path)
    return tmp_path


def kept(number: int) -> Experiment:
    """What the old store has."""
    name = NAMES[number]
    made = experiment(name, (number + 1) / 10, id=f"old-{number + 1}", tags=tuple(sorted(("nightly", name))))
    digests = {**made.digests, "scores": scores().digest} if number == 0 else made.digests
    return replace(made, at=made.at + timedelta(days=number), digests=digests)


def revision(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "assay.db")) as connection:
        found: str = connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
        return found


def test_an_old_store_opens_and_keeps_all(old: Path) -> None:
    assert revision(old) == "0001"
    with Store(old) as store:
        assert store.list() == [kept(2), kept(1), kept(0)]
        found = store.scores(store.get("first"))
        assert found is not None
        assert found.digest == scores().digest
        assert store.list("metrics.nDCG@10 > 0.15 and params.index_type = 'hnsw'") == [kept(2), kept(1)]
    assert revision(old) == database.REVISIONS[-1]


def test_an_old_store_does_all_that_a_new_one_does(old: Path) -> None:
    with Store(old) as store:
        assert store.annotate("first", pinned=True).pinned
        store.drop("third")
        assert store.purge() == 1
        store.put(experiment("new"), scores(1))
    with Store(old) as store:
        assert {e.name for e in store.list()} == {"first", "größe", "new"}


def test_a_newer_store_is_refused_and_left_as_it_is(place: str, tmp_path: Path) -> None:
    Store(place).database.close()
    _mark(place, "9999")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(StoreError) as caught:
        Store(place)
    assert f"was written by a newer Assay (schema 9999, this one supports {database.REVISIONS[-1]})" in str(
        caught.value
    )
    assert "install a newer Assay to open it" in str(caught.value)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def _mark(place: str, version: str) -> None:
    """Pretend that another Assay wrote the store."""
    text = f"UPDATE alembic_version SET version_num = '{version}'"
    if place.startswith("postgresql"):
        with psycopg.connect(place.partition("?")[0]) as connection:
            connection.execute(text.encode())
        return
    with closing(sqlite3.connect(Path(place) / "assay.db")) as records:
        records.execute(text)
        records.commit()


def test_the_migrations_lead_to_the_schema(store: Store) -> None:
    with store.database.read_transaction() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == database.REVISIONS[-1]


def test_the_revisions_are_all_named() -> None:
    script = ScriptDirectory(str(Path(database.__file__).parent / "migrations"))
    assert tuple(step.revision for step in script.walk_revisions())[::-1] == database.REVISIONS


def test_a_migration_that_fails_leaves_the_store_as_it_was(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = database.upgrade

    def half(connection: object, wanted: str) -> None:
        whole(connection, wanted)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(database, "upgrade", half)
    with pytest.raises(KeyboardInterrupt):
        Store(old)
    assert revision(old) == "0001"
    monkeypatch.undo()
    with Store(old) as store:
        assert len(store.list()) == 3
