"""A whole store goes into a file and out of it, and to another database and back, without loss."""

import threading
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assay.core.errors import FormatError, InputError, StoreError
from assay.core.judgments import Judgments
from assay.core.records import DatasetVersion, Experiment
from assay.core.tables import Documents, Qrels, Queries
from assay.store import record_rows, schema
from assay.store.backup import MoveCounts, backup, move, restore
from assay.store.database import Database
from assay.store.datasets import DatasetTable, DatasetVersions
from assay.store.record_rows import RecordRows
from assay.store.store import Store
from tests.stores import experiment, scores


def filled(folder: Path) -> Store:
    """A store with notes, tags, a pin, something dropped and a table that nobody refers to."""
    store = Store(folder)
    for number in range(4):
        at = datetime(2026, 1, 1 + number, 12, 0, 0, number, tzinfo=UTC)
        store.put(experiment(f"e{number}", 0.1 * number, at=at), scores(number))
    store.annotate("e1", note="ünïcode, 検索", add_tags=["b", "A", "ä"], pinned=True)
    store.drop("e2")
    store.put(Experiment("bare"))
    store.tables.put(scores(99))
    return store


def records(store: Store) -> dict[str, object]:
    made: dict[str, object] = {}
    for found in (*store.list(), *store.list(deleted=True)):
        fields = {**vars(found), "metrics": set(found.metrics), "tags": set(found.tags)}
        made[found.id] = fields
    return made


def contents(store: Store) -> dict[str, bytes]:
    return {kept.digest: store.tables.read(kept.digest) for kept in store.tables.list()}


def same(one: Store, other: Store) -> bool:
    return records(one) == records(other) and contents(one) == contents(other)


def test_a_backup_restores_everything(tmp_path: Path) -> None:
    with filled(tmp_path / "a") as store:
        made = backup(store, tmp_path / "out" / "a.zip")
        assert (made.records, made.tables) == (5, 5)
        assert made.size == (tmp_path / "out" / "a.zip").stat().st_size
        assert restore(tmp_path / "out" / "a.zip", tmp_path / "b") == made
        with Store(tmp_path / "b") as back:
            assert same(store, back)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.zip"]


def test_an_empty_store_has_a_backup_too(tmp_path: Path) -> None:
    with Store(tmp_path / "a") as store:
        assert backup(store, tmp_path / "a.zip")[:2] == (0, 0)
    assert restore(tmp_path / "a.zip", tmp_path / "b")[:2] == (0, 0)


def test_a_backup_made_while_others_write_is_one_state_of_the_store(tmp_path: Path) -> None:
    stop = threading.Event()

    def write() -> None:
        with Store(tmp_path / "a") as store:
            for number in range(1000):
                if stop.is_set():
                    break
                store.put(experiment(f"w{number}"), scores(number))

    with filled(tmp_path / "a") as store:
        writer = threading.Thread(target=write)
        writer.start()
        for number in range(5):
            backup(store, tmp_path / f"{number}.zip")
        stop.set()
        writer.join()
    for number in range(5):
        restore(tmp_path / f"{number}.zip", tmp_path / f"back{number}")
        with Store(tmp_path / f"back{number}") as back:
            assert all(back.scores(found) is not None for found in back.list("name != 'bare'"))


def test_a_folder_that_holds_a_store_is_not_restored_into(tmp_path: Path) -> None:
    with filled(tmp_path / "a") as store:
        backup(store, tmp_path / "a.zip")
    with pytest.raises(InputError, match="already contains a store"):
        restore(tmp_path / "a.zip", tmp_path / "a")


def test_a_damaged_backup_restores_nothing(tmp_path: Path) -> None:
    with filled(tmp_path / "a") as store:
        backup(store, tmp_path / "a.zip")
    whole = (tmp_path / "a.zip").read_bytes()
    entry = whole.index(b"PK\x01\x02")  # the first of its list: with the version it needs and its size
    places = [*range(40, len(whole), len(whole) // 60), entry + 6, entry + 21]
    for number, place in enumerate(places):
        path, folder = tmp_path / f"{number}.zip", tmp_path / f"back{number}"
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        try:
            restore(path, folder)
        except (FormatError, StoreError):
            assert not (folder / "assay.db").exists()
        else:  # what was hit says nothing, such as a time
            with Store(folder) as back, Store(tmp_path / "a") as store:
                assert same(back, store)


@pytest.mark.parametrize("kept", [0, 10, 500, -30])
def test_a_part_of_a_backup_is_refused(tmp_path: Path, kept: int) -> None:
    with filled(tmp_path / "a") as store:
        backup(store, tmp_path / "a.zip")
    (tmp_path / "part.zip").write_bytes((tmp_path / "a.zip").read_bytes()[:kept])
    with pytest.raises(FormatError, match="not a backup"):
        restore(tmp_path / "part.zip", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_a_changed_table_is_found_by_its_digest(tmp_path: Path) -> None:
    with filled(tmp_path / "a") as store:
        backup(store, tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as old, zipfile.ZipFile(tmp_path / "b.zip", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name) + (b"x" if name.startswith("tables/") else b""))
    with pytest.raises(FormatError, match=r"tables/.* is damaged; nothing was restored"):
        restore(tmp_path / "b.zip", tmp_path / "b")


def test_another_zip_is_no_backup(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("a.txt", "a")
    with pytest.raises(FormatError, match=r"has no valid backup\.json"):
        restore(tmp_path / "a.zip", tmp_path / "b")
    with pytest.raises(InputError, match="there is no file"):
        restore(tmp_path / "none.zip", tmp_path / "b")


def test_a_newer_backup_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("backup.json", '{"format": 2, "experiments": 0, "files": {"assay.db": ""}}')
    with pytest.raises(FormatError, match="found 2; it needs a newer Assay"):
        restore(tmp_path / "a.zip", tmp_path / "b")


def test_a_store_moves_to_another_folder(tmp_path: Path) -> None:
    with filled(tmp_path / "a") as source, Store(tmp_path / "b") as target:
        assert move(source, target) == MoveCounts(5, 0, 5, 0)
        assert same(source, target)
        assert move(source, target) == MoveCounts(0, 5, 0, 5)


def test_a_store_moves_to_postgresql_and_back(tmp_path: Path, postgres: str) -> None:
    url = f"{postgres}{'&' if '?' in postgres else '?'}tables={tmp_path / 'tables'}"
    with filled(tmp_path / "a") as source, Store(url) as team, Store(tmp_path / "b") as back:
        assert move(source, team) == MoveCounts(5, 0, 5, 0)
        assert move(team, back) == MoveCounts(5, 0, 5, 0)
        assert same(source, team)
        assert same(source, back)
        with pytest.raises(InputError, match="only a store in a folder can be backed up"):
            backup(team, tmp_path / "a.zip")


def test_a_move_that_was_interrupted_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.store.records.BATCH_SIZE", 2)
    insert, calls = record_rows.insert_rows, list[int]()

    def fail_once(database: Database, rows: RecordRows) -> None:
        calls.append(len(rows[schema.records]))
        if len(calls) == 2:
            raise KeyboardInterrupt
        insert(database, rows)

    with filled(tmp_path / "a") as source, Store(tmp_path / "b") as target:
        monkeypatch.setattr("assay.store.backup.insert_rows", fail_once)
        with pytest.raises(KeyboardInterrupt):
            move(source, target)
        assert move(source, target) == MoveCounts(3, 2, 0, 5)
        assert same(source, target)


def test_what_differs_there_is_told_and_left_as_it_was(tmp_path: Path) -> None:
    with filled(tmp_path / "a") as source, Store(tmp_path / "b") as target:
        move(source, target)
        changed = target.annotate("e3", note="of the target")
        with pytest.raises(StoreError, match=f"differs from .*: record {changed.id}; what was there"):
            move(source, target)
        assert target.get("e3").note == "of the target"


def test_a_target_keeps_what_it_has_of_its_own(tmp_path: Path) -> None:
    with filled(tmp_path / "a") as source, Store(tmp_path / "b") as target:
        own = target.put(experiment("own"))
        assert move(source, target) == MoveCounts(5, 0, 5, 0)
        assert target.get(own.id).name == "own"


def test_a_damaged_table_is_neither_backed_up_nor_moved(tmp_path: Path) -> None:
    with filled(tmp_path / "store") as store, Store(tmp_path / "other") as other:
        file = next((tmp_path / "store" / "tables").rglob("*.parquet"))
        file.write_bytes(file.read_bytes()[:100])
        with pytest.raises(StoreError, match="cannot be read"):
            backup(store, tmp_path / "backup.zip")
        assert not (tmp_path / "backup.zip").exists()
        with pytest.raises(StoreError, match="cannot be read"):
            move(store, other)


def test_scores_that_are_lost_are_named(tmp_path: Path) -> None:
    with filled(tmp_path / "store") as store:
        assert store.missing_tables() == []
        digest = store.get("e0").digests["scores"]
        store.tables.drop(digest)
        assert store.missing_tables() == [digest]


def test_versions_of_evaluation_sets_are_backed_up_and_moved(tmp_path: Path) -> None:
    tables: dict[str, DatasetTable] = {
        "queries": Queries({"query_id": ["q"], "text": ["vpn"]}),
        "qrels": Qrels({"q": {"a": 1}}),
        "documents": Documents({"doc_id": ["a"], "text": ["press"]}),
        "judgments": Judgments.from_rows([("q", "a", "rater 1", 1), ("q", "a", "rater 2", None)]),
    }
    with Store(tmp_path / "a") as store, Store(tmp_path / "c") as target:
        version = DatasetVersions(store).save(DatasetVersion("shop", {}), tables)
        assert backup(store, tmp_path / "a.zip").tables == 4
        restore(tmp_path / "a.zip", tmp_path / "b")
        assert move(store, target).tables == 4
        with Store(tmp_path / "b") as restored:
            for other in (restored, target):
                assert DatasetVersions(other).tables(version) == tables
