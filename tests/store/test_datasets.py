"""Versions of evaluation sets: immutable by digest, with a name and a parent."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from assay.core.errors import InputError, StoreError
from assay.core.judgments import Judgments
from assay.core.records import DatasetVersion
from assay.core.tables import Documents, Qrels, Queries
from assay.store.datasets import DatasetTable, DatasetVersions
from assay.store.store import Store

TABLES: dict[str, DatasetTable] = {
    "queries": Queries({"query_id": ["q1"], "text": ["vpn"], "visits": [7], "share": [0.5]}),
    "qrels": Qrels({"q1": {"a": 1, "b": 0}}),
    "documents": Documents({"doc_id": ["a", "b"], "title": ["VPN", None], "text": ["press", ""]}),
    "judgments": Judgments(
        {"query_id": ["q1"], "doc_id": ["a"], "judge": ["ann"], "grade": [1], "at": [datetime.now(UTC)]}
    ),
}
CHANGED = {**TABLES, "qrels": Qrels({"q1": {"a": 2, "b": 0}})}


@pytest.fixture
def versions(tmp_path: Path) -> DatasetVersions:
    return DatasetVersions(Store(tmp_path / "store"))


def save(versions: DatasetVersions, tables: dict[str, DatasetTable], name: str = "shop") -> DatasetVersion:
    return versions.save(DatasetVersion(name, {}, recipe={"sample": {"seed": 1}}), tables)


def test_a_version_is_read_back_with_its_tables_and_recipe(versions: DatasetVersions) -> None:
    saved = save(versions, TABLES)
    assert versions.get("shop") == saved
    assert versions.tables(saved) == TABLES
    assert versions.get("shop").recipe == {"sample": {"seed": 1}}


def test_the_version_before_is_the_parent(versions: DatasetVersions) -> None:
    first, second = save(versions, TABLES), save(versions, CHANGED)
    assert (first.parent, second.parent) == (None, first.digest)
    assert versions.get("shop") == second
    assert [version.label for version in versions.find("shop")] == [second.label, first.label]


def test_the_same_content_is_not_saved_twice(versions: DatasetVersions) -> None:
    assert save(versions, TABLES).id == save(versions, TABLES).id
    assert len(versions.find()) == 1


def test_a_version_is_named_by_id_and_by_the_beginning_of_its_digest(versions: DatasetVersions) -> None:
    first, second = save(versions, TABLES), save(versions, CHANGED)
    assert versions.get(first.label) == versions.get(first.id) == first
    assert versions.get(f"shop@{second.digest}") == second


def test_an_unknown_name_suggests_the_nearest(versions: DatasetVersions) -> None:
    save(versions, TABLES)
    with pytest.raises(InputError, match=r"there is no dataset 'shpo'.*did you mean shop"):
        versions.get("shpo")


def test_judgments_are_named_by_the_version_that_has_them(versions: DatasetVersions) -> None:
    first, second = save(versions, TABLES), save(versions, CHANGED)
    expected = {TABLES["qrels"].digest: first.label, CHANGED["qrels"].digest: second.label}
    assert versions.labels_by_qrels() == expected


def test_tables_of_a_version_are_not_cleaned_up(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    save(DatasetVersions(store), TABLES)
    assert store.unused_tables() == []


def test_a_damaged_table_is_refused(tmp_path: Path, versions: DatasetVersions) -> None:
    saved = save(versions, TABLES)
    other = tmp_path.glob(f"**/{saved.digests['documents']}.parquet")
    path = next(tmp_path.glob(f"**/{saved.digests['queries']}.parquet"))
    path.write_bytes(next(other).read_bytes().replace(b"doc_id", b"doc_ix"))
    with pytest.raises((StoreError, InputError)):
        versions.tables(saved)


def test_values_of_several_types_in_one_column_are_refused_before_anything_is_saved(
    versions: DatasetVersions,
) -> None:
    with pytest.raises(InputError, match="queries cannot be stored unchanged"):
        save(versions, {"queries": Queries({"query_id": ["q1", "q2"], "mixed": [True, "x"]})})
    assert versions.find() == []
