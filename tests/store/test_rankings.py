"""What pages show of an experiment: rankings, judgments, queries and texts, each stored once."""

from pathlib import Path

import polars as pl

from assay.core.rankings import Rankings
from assay.core.records import Experiment
from assay.core.tables import Documents, Qrels, Queries
from assay.store.backup import move
from assay.store.rankings import (
    ShownTables,
    assign_system_numbers,
    put_shown_tables,
    read_grades,
    read_queries,
    read_ranking,
    read_system_numbers,
    read_texts,
)
from assay.store.store import Store

RANKINGS = Rankings(pl.DataFrame({"query_id": ["q", "q"], "rank": [1, 2], "doc_id": ["b", "a"]}))
TABLES = ShownTables(
    rankings=RANKINGS,
    qrels=Qrels({"q": {"a": 2, "b": 0}}),
    queries=Queries({"query_id": ["q"], "text": ["vpn"], "category": ["network"]}),
    documents=Documents({"doc_id": ["a", "b", "c"], "title": ["A", "B", "C"], "text": ["1", "2", "3"]}),
)


def put(store: Store, tables: ShownTables = TABLES) -> Experiment:
    return store.put(Experiment("words", digests=put_shown_tables(store, tables)))


def test_a_ranking_is_read_with_grades_and_texts(store: Store) -> None:
    saved = put(store)
    assert read_ranking(store, saved, "q") == ["b", "a"]
    assert read_grades(store, saved.digests["qrels"], "q") == {"a": 2, "b": 0}
    texts = read_texts(store, saved.digests["documents"], ["a", "b", "c"])
    assert texts == {"a": {"title": "A", "text": "1"}, "b": {"title": "B", "text": "2"}}
    queries = read_queries(store, saved)
    assert queries is not None
    assert queries.columns["category"] == ["network"]


def test_what_two_experiments_share_is_stored_once(store: Store) -> None:
    put(store)
    files = {table.digest for table in store.tables.list()}
    assert put(store).digests["rankings"] == RANKINGS.digest
    assert {table.digest for table in store.tables.list()} == files


def test_without_texts_only_slices_are_kept(store: Store) -> None:
    saved = put(store, ShownTables(rankings=RANKINGS, queries=TABLES.queries, with_texts=False))
    queries = read_queries(store, saved)
    assert queries is not None
    assert set(queries.columns) == {"query_id", "category"}
    assert "documents" not in saved.digests


def test_what_an_old_experiment_lacks_is_missing(store: Store) -> None:
    saved = store.put(Experiment("old", digests={"qrels": "0" * 32}))
    assert read_ranking(store, saved, "q") is None
    assert read_grades(store, saved.digests["qrels"], "q") is None
    assert read_queries(store, saved) is None


def test_queries_that_cannot_be_stored_do_not_prevent_saving(store: Store) -> None:
    mixed = Queries({"query_id": ["q", "r"], "size": [1, "large"]})
    assert "queries" not in put(store, ShownTables(queries=mixed)).digests


def test_a_system_keeps_its_number(store: Store) -> None:
    assert assign_system_numbers(store, ["words", "vectors"]) == {"words": 1, "vectors": 2}
    assert assign_system_numbers(store, ["hybrid", "words"]) == {"hybrid": 3, "words": 1}


def test_texts_and_numbers_move_with_the_store(store: Store, tmp_path: Path) -> None:
    saved = put(store)
    assign_system_numbers(store, ["words"])
    with Store(tmp_path / "other") as target:
        move(store, target)
        assert len(read_texts(target, saved.digests["documents"], ["a", "b"])) == 2
        assert read_system_numbers(target) == {"words": 1}
