"""What pages show beside scores: rankings, judgments, queries, and the texts of the documents shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from sqlalchemy import Connection, func, insert, select, text

from assay.core.errors import InputError
from assay.core.judgments import Judgments
from assay.core.rankings import Rankings
from assay.core.records import Experiment
from assay.core.tables import Documents, Qrels, Queries, Scores
from assay.store.kept_judgments import JUDGMENTS, put_judgments
from assay.store.record_rows import insert_missing
from assay.store.records import batches
from assay.store.schema import document_texts, system_numbers
from assay.store.store import Store
from assay.store.table_files import StoredTable, table_from_parquet, table_to_parquet

_TEXT_BATCH = 1000  # rows inserted at once


@dataclass(frozen=True, kw_only=True)
class ShownTables:
    """The tables that pages show of an experiment; None: not kept."""

    rankings: Rankings | None = None
    qrels: Qrels | None = None
    judgments: Judgments | None = None  # None: those of an evaluation set with the same qrels
    queries: Queries | None = None
    documents: Documents | None = None  # only those in the rankings are kept
    with_texts: bool = True  # else queries are kept without their texts
    losses: Scores | None = None  # of relevant documents by stage, as `stored_losses` writes them


def put_shown_tables(store: Store, tables: ShownTables) -> dict[str, str]:
    """Store tables and return their digests by role; equal tables and texts are stored once."""
    files: dict[str, StoredTable | None] = {
        "rankings": tables.rankings,
        "qrels": tables.qrels,
        "queries" if tables.with_texts else "slices": _kept_queries(tables),
    }
    digests = {}
    for role, table in files.items():
        if table is not None and len(table) and _put_table(store, table):
            digests[role] = table.digest
    labels = put_judgments(store, tables.judgments, digests.get("qrels"), tables.with_texts)
    if labels is not None:
        digests[JUDGMENTS] = labels
    if tables.losses is not None:
        digests["losses"] = store.tables.put(tables.losses)
    if tables.documents is not None and tables.rankings is not None:
        digests["documents"] = tables.documents.digest
        put_texts(store, tables.documents, tables.rankings.frame["doc_id"].unique().to_list())
    return digests


def _put_table(store: Store, table: StoredTable) -> bool:
    """Store a table unless it is stored; False if it cannot be read back unchanged."""
    if store.tables.has(table.digest):
        return True
    try:
        store.tables.write(table.digest, table_to_parquet(table))
    except InputError:  # a column with values of several types: the scores are saved without it
        return False
    return True


def _kept_queries(tables: ShownTables) -> Queries | None:
    """Return the queries, without their texts if no texts are kept."""
    queries = tables.queries
    if queries is None or tables.with_texts:
        return queries
    return Queries({name: values for name, values in queries.columns.items() if name != "text"})


def put_texts(store: Store, documents: Documents, ids: Iterable[str]) -> None:
    """Store the fields of some documents, unless they are stored."""
    places = {doc_id: place for place, doc_id in enumerate(documents.ids)}
    collection, names = documents.digest, [name for name in documents.columns if name != documents.key]
    rows = [
        {
            "collection": collection,
            "doc_id": doc_id,
            "fields": json.dumps(
                {name: documents.columns[name][places[doc_id]] for name in names}, default=str
            ),
        }
        for doc_id in sorted(ids)
        if doc_id in places
    ]
    for start in range(0, len(rows), _TEXT_BATCH):
        with store.database.write_transaction() as connection:
            insert_missing(connection, document_texts, rows[start : start + _TEXT_BATCH])


def read_texts(store: Store, collection: str, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """The fields of documents of a collection by id; those that are not stored are left out."""
    columns = document_texts.c
    with store.database.read_transaction() as connection:
        return {
            row.doc_id: json.loads(row.fields)
            for batch in batches(list(dict.fromkeys(ids)))
            for row in connection.execute(
                select(columns.doc_id, columns.fields).where(
                    columns.collection == collection, columns.doc_id.in_(batch)
                )
            )
        }


def read_ranking(store: Store, experiment: Experiment, query_id: str) -> list[str] | None:
    """The first documents of a query in an experiment, best first; None if its rankings are not kept."""
    rows = _read_rows(store, experiment.digests.get("rankings"), query_id)
    return None if rows is None else rows.sort("rank")["doc_id"].to_list()


def read_grades(store: Store, qrels_digest: str | None, query_id: str) -> dict[str, int] | None:
    """The grades of a query by document; None if the judgments are not kept."""
    rows = _read_rows(store, qrels_digest, query_id)
    return None if rows is None else dict(zip(rows["doc_id"], rows["grade"].cast(pl.Int64), strict=True))


def _read_rows(store: Store, digest: str | None, query_id: str) -> pl.DataFrame | None:
    if digest is None or not store.tables.has(digest):
        return None
    return store.tables.rows_of(digest, query_id)


def read_rankings(store: Store, experiment: Experiment) -> Rankings | None:
    """The first documents of every query of an experiment; None if they are not kept."""
    digest = experiment.digests.get("rankings")
    if digest is None or not store.tables.has(digest):
        return None
    table = table_from_parquet(Rankings, store.tables.read(digest))
    assert isinstance(table, Rankings)
    return table


def read_qrels(store: Store, experiment: Experiment) -> Qrels | None:
    """The judgments of an experiment; None if they are not kept."""
    digest = experiment.digests.get("qrels")
    if digest is None or not store.tables.has(digest):
        return None
    table = table_from_parquet(Qrels, store.tables.read(digest))
    assert isinstance(table, Qrels)
    return table


def read_queries(store: Store, experiment: Experiment) -> Queries | None:
    """The queries of an experiment, perhaps without texts; None if they are not kept."""
    for role in ("queries", "slices"):
        digest = experiment.digests.get(role)
        if digest is not None and store.tables.has(digest):
            table = table_from_parquet(Queries, store.tables.read(digest))
            assert isinstance(table, Queries)
            return table
    return None


def system_number(store: Store, name: str) -> int:
    """The number of a system, which decides its colour and shape; a new system gets the next one."""
    return assign_system_numbers(store, [name])[name]


def assign_system_numbers(store: Store, names: Sequence[str]) -> dict[str, int]:
    """The numbers of systems by name, from 1; new systems get the next ones, in the order of the names."""
    known = read_system_numbers(store)
    if not set(names) <= set(known):
        with store.database.write_transaction() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("LOCK TABLE system_numbers IN EXCLUSIVE MODE"))
            known = _read_numbers(connection)
            first = connection.execute(
                select(func.coalesce(func.max(system_numbers.c.number), 0))
            ).scalar_one()
            new = [name for name in dict.fromkeys(names) if name not in known]
            rows = [{"name": name, "number": first + place} for place, name in enumerate(new, 1)]
            if rows:
                connection.execute(insert(system_numbers), rows)
            known |= {row["name"]: row["number"] for row in rows}
    return {name: known[name] for name in names}


def read_system_numbers(store: Store) -> dict[str, int]:
    """The numbers of all systems that have one, by name."""
    with store.database.read_transaction() as connection:
        return _read_numbers(connection)


def _read_numbers(connection: Connection) -> dict[str, int]:
    return {row.name: row.number for row in connection.execute(select(system_numbers))}
