"""Labels by judge of experiments: stored once, without notes if no texts are kept."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from assay.core.judgments import Judgments
from assay.core.records import DatasetVersion, Experiment
from assay.core.tables import Qrels
from assay.store.datasets import DatasetVersions
from assay.store.kept_judgments import find_judgments, read_query_judgments
from assay.store.rankings import ShownTables, put_shown_tables
from assay.store.store import Store

QRELS = Qrels({"q": {"a": 2, "b": 0}})
LABELS = Judgments(
    {
        "query_id": ["q", "q", "q", "other"],
        "doc_id": ["b", "a", "a", "z"],
        "judge": ["ann", "bob", "ann", "ann"],
        "grade": [0, None, 2, 1],
        "note": ["", "cut off", "it says so", ""],
    }
)
OF_QUERY = [("a", "ann", 2.0), ("a", "bob", None), ("b", "ann", 0.0)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def put(store: Store, tables: ShownTables) -> Experiment:
    return store.put(Experiment("words", digests=put_shown_tables(store, tables)))


def save_version(store: Store) -> None:
    DatasetVersions(store).save(DatasetVersion("shop", {}), {"qrels": QRELS, "judgments": LABELS})


def test_labels_are_stored_once_and_read_by_query(store: Store) -> None:
    tables = ShownTables(qrels=QRELS, judgments=LABELS)
    digests = {find_judgments(store, put(store, tables)) for _ in range(2)}
    assert digests == {LABELS.digest}
    assert read_query_judgments(store, LABELS.digest, "q") == OF_QUERY
    assert sum(table.digest == LABELS.digest for table in store.tables.list()) == 1


def test_labels_of_an_evaluation_set_with_the_same_qrels_are_linked_not_copied(store: Store) -> None:
    save_version(store)
    saved = put(store, ShownTables(qrels=QRELS))
    assert saved.digests["judgments"] == LABELS.digest
    other = put(store, ShownTables(qrels=Qrels({"q": {"a": 1}})))
    assert "judgments" not in other.digests
    assert find_judgments(store, other) is None


def test_labels_that_an_experiment_refers_to_are_not_cleaned_up(store: Store) -> None:
    saved = put(store, ShownTables(qrels=QRELS, judgments=LABELS))
    assert not store.clean(older=timedelta(0))
    assert find_judgments(store, saved) == LABELS.digest


def test_notes_of_judges_are_left_out_with_texts(store: Store) -> None:
    save_version(store)
    for tables in (ShownTables(qrels=QRELS), ShownTables(qrels=QRELS, judgments=LABELS)):
        saved = put(store, replace(tables, with_texts=False))
        frame = store.tables.rows_of(saved.digests["judgments"], "q")
        assert frame["note"].to_list() == [""] * 3
        assert read_query_judgments(store, saved.digests["judgments"], "q") == OF_QUERY


def test_an_experiment_of_an_older_store_has_the_labels_of_its_qrels(store: Store) -> None:
    old = store.put(Experiment("words", digests={"qrels": QRELS.digest}))
    assert find_judgments(store, old) is None
    assert read_query_judgments(store, None, "q") is None
    save_version(store)
    assert find_judgments(store, old) == LABELS.digest
