"""Records of any kind: a second kind needs a file of its own, and no change to the store."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import ColumnElement, Connection

from assay.core.errors import InputError
from assay.store.backup import MoveCounts, backup, move, restore
from assay.store.records import KIND_PREFIX, Record, Records, kind_condition
from assay.store.store import Store
from tests.stores import experiment, scores

NOW = timedelta(0)


@dataclass(frozen=True)
class Survey:
    """A kind of record that the store does not know."""

    id: str
    name: str
    answers: int
    at: datetime = datetime(2026, 3, 1, tzinfo=UTC)
    table: str = ""
    tags: tuple[str, ...] = ()
    deleted_at: datetime | None = None


class SurveyKind:
    noun = "survey"

    def condition(self) -> ColumnElement[bool]:
        return kind_condition("survey")

    def to_record(self, value: Survey) -> Record:
        links = {"answers": value.table} if value.table else {}
        body = {"answers": value.answers, "table": value.table}
        kind = f"{KIND_PREFIX}survey"
        return Record(value.id, value.name, kind, value.at, body, value.tags, links=links)

    def insert_details(self, connection: Connection, value: Survey) -> None:
        pass

    def from_records(self, connection: Connection, rows: Sequence[Record]) -> list[Survey]:
        return [Survey(r.id, r.name, at=r.at, tags=r.tags, deleted_at=r.deleted_at, **r.body) for r in rows]


@pytest.fixture
def surveys(store: Store) -> Records[Survey]:
    return store.records(SurveyKind())


def test_another_kind_is_read_back_unchanged(surveys: Records[Survey]) -> None:
    first = Survey("s1", "spring", 12, tags=("b",))
    surveys.add([first, replace(first, id="s2", answers=13, at=first.at + timedelta(1))])
    assert surveys.get("s1") == first
    assert surveys.get("spring").answers == 13
    assert [survey.id for survey in surveys.find()] == ["s2", "s1"]
    assert surveys.ids() == {"s1", "s2"}


def test_kinds_do_not_see_each_other(store: Store, surveys: Records[Survey]) -> None:
    surveys.add([Survey("s1", "hnsw", 12)])
    saved = store.put(experiment("hnsw"))
    assert store.list() == [saved]
    assert store.ids() == {saved.id}
    assert store.get("hnsw") == saved
    assert surveys.find() == [Survey("s1", "hnsw", 12)]
    with pytest.raises(InputError, match=r"there is no experiment 's1' in .*experiments list"):
        store.get("s1")
    with pytest.raises(InputError, match=r"there is no survey 'x' in .*surveys list"):
        surveys.get("x")


def test_another_kind_is_annotated_deleted_and_purged(store: Store, surveys: Records[Survey]) -> None:
    surveys.add([Survey("s1", "spring", 12, tags=("old",))])
    surveys.annotate("s1", add_tags=["new"], drop_tags=["old"])
    assert surveys.get("s1").tags == ("new",)
    surveys.set_deleted("s1", datetime.now(UTC))
    assert surveys.find() == []
    assert surveys.get_deleted("spring").id == "s1"
    assert store.purge() == 1
    with pytest.raises(InputError, match="no deleted survey"):
        surveys.get_deleted("s1")


def test_a_table_of_another_kind_is_in_use(store: Store, surveys: Records[Survey]) -> None:
    digest = store.tables.put(scores())
    surveys.add([Survey("s1", "spring", 12, table=digest)])
    assert store.unused_tables(NOW) == []


def test_an_experiment_cannot_take_the_kind_of_other_records(store: Store) -> None:
    with pytest.raises(InputError, match="must not start with 'record:'"):
        store.put(experiment(kind=f"{KIND_PREFIX}survey"))


def test_a_move_and_a_backup_copy_every_kind(tmp_path: Path) -> None:
    survey = Survey("s1", "spring", 12, tags=("b",))
    with Store(tmp_path / "a") as source, Store(tmp_path / "b") as target:
        source.put(experiment(), scores())
        source.records(SurveyKind()).add([survey])
        assert move(source, target) == MoveCounts(2, 0, 1, 0)
        assert target.records(SurveyKind()).find() == [survey]
        assert backup(source, tmp_path / "a.zip").records == 2
    assert restore(tmp_path / "a.zip", tmp_path / "c").records == 2
    with Store(tmp_path / "c") as restored:
        assert restored.records(SurveyKind()).find() == [survey]
