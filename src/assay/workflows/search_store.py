"""Find queries, documents, experiments, evaluation sets and annotation projects of a store by text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, NamedTuple

import polars as pl
from sqlalchemy import ColumnElement, func, or_, select

from assay.core.errors import InputError
from assay.core.records import DatasetVersion, Experiment
from assay.store.annotation import AnnotationProjects
from assay.store.datasets import DatasetVersions
from assay.store.experiments import ExperimentKind
from assay.store.schema import document_texts, links, records, tags
from assay.store.store import Store
from assay.workflows.stores import open_existing_store

SHOWN = 20  # results of each kind
MAX_TEXT = 200  # characters of a search
_MAX_QUERY_TABLES = 20  # the newest different tables of queries
_QUERY_ROLES = ("queries", "slices")


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """The text to look for, in any case."""

    text: str = ""
    store: str | None = None

    def __post_init__(self) -> None:
        if len(self.text) > MAX_TEXT or "\0" in self.text:
            raise InputError(f"expected at most {MAX_TEXT} characters to search for, found {len(self.text)}")


class QueryMatch(NamedTuple):
    """A query that has the text."""

    query_id: str
    text: str


class DocumentMatch(NamedTuple):
    """A document that has the text."""

    doc_id: str
    collection: str
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class SearchResults:
    """What has the text, by kind: at most SHOWN of each."""

    text: str
    queries: Sequence[QueryMatch] = ()
    documents: Sequence[DocumentMatch] = ()
    experiments: Sequence[Experiment] = ()
    datasets: Sequence[DatasetVersion] = ()
    projects: Sequence[str] = ()

    @property
    def count(self) -> int:
        """How many results there are."""
        kinds = (self.queries, self.documents, self.experiments, self.datasets, self.projects)
        return sum(map(len, kinds))

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain data."""
        return {
            "text": self.text,
            "queries": [match._asdict() for match in self.queries],
            "documents": [match._asdict() for match in self.documents],
            "experiments": [experiment.to_dict() for experiment in self.experiments],
            "datasets": [version.to_dict() for version in self.datasets],
            "projects": list(self.projects),
        }


def search_store(request: SearchRequest) -> SearchResults:
    """Return what has the text in its id, name or content; nothing for a blank text."""
    text = request.text.strip()
    with open_existing_store(request.store) as store:
        if not text:
            return SearchResults(text)
        projects = [p.name for p in AnnotationProjects(store).find() if text.lower() in p.name.lower()]
        return SearchResults(
            text,
            _find_queries(store, text),
            _find_documents(store, text),
            _find_experiments(store, text),
            _find_datasets(store, text),
            projects[:SHOWN],
        )


def _find_experiments(store: Store, text: str) -> list[Experiment]:
    has_tag = select(tags.c.record).where(_contains(tags.c.tag, text))
    columns = (records.c.name, records.c.note, records.c.id)
    condition = or_(*(_contains(column, text) for column in columns), records.c.id.in_(has_tag))
    return store.records(ExperimentKind(())).find(condition, limit=SHOWN)


def _find_datasets(store: Store, text: str) -> list[DatasetVersion]:
    """Return the newest version of each evaluation set whose name or note has the text."""
    newest: dict[str, DatasetVersion] = {}
    for version in DatasetVersions(store).find():
        if text.lower() in f"{version.name}\n{version.note}".lower():
            newest.setdefault(version.name, version)
    return list(newest.values())[:SHOWN]


def _find_documents(store: Store, text: str) -> list[DocumentMatch]:
    columns = document_texts.c
    encoded = json.dumps(text)[1:-1]  # fields are kept as JSON, in which other characters are escaped
    condition = or_(_contains(columns.fields, encoded), _contains(columns.doc_id, text))
    query = select(columns.doc_id, columns.collection, columns.fields).where(condition).limit(SHOWN)
    with store.database.read_transaction() as connection:
        return [
            DocumentMatch(row.doc_id, row.collection, json.loads(row.fields))
            for row in connection.execute(query)
        ]


def _contains(column: Any, text: str) -> ColumnElement[bool]:
    condition: ColumnElement[bool] = column.icontains(text, autoescape=True)
    return condition


def _find_queries(store: Store, text: str) -> list[QueryMatch]:
    """Return queries of the newest tables; each query once, as the newest table has it."""
    matches: dict[str, QueryMatch] = {}
    for digest in _query_tables(store):
        if len(matches) >= SHOWN:
            break
        for match in _matching_rows(store, digest, text):
            matches.setdefault(match.query_id, match)
    return list(matches.values())[:SHOWN]


def _query_tables(store: Store) -> list[str]:
    """Return the digests of the different tables of queries, the newest first."""
    newest = func.max(records.c.at)
    query = (
        select(links.c.digest)
        .join(records, records.c.id == links.c.record)
        .where(links.c.role.in_(_QUERY_ROLES), records.c.deleted_at.is_(None))
        .group_by(links.c.digest)
        .order_by(newest.desc())
        .limit(_MAX_QUERY_TABLES)
    )
    with store.database.read_transaction() as connection:
        digests = list(connection.execute(query).scalars())
    return [digest for digest in digests if store.tables.has(digest)]


def _matching_rows(store: Store, digest: str, text: str) -> list[QueryMatch]:
    frame = pl.read_parquet(BytesIO(store.tables.read(digest)))
    if "query_id" not in frame.columns:
        return []
    shown = [name for name in ("query_id", "text") if name in frame.columns]
    needle = text.lower()
    conditions = [
        pl.col(name).cast(pl.String).str.to_lowercase().str.contains(needle, literal=True) for name in shown
    ]
    rows = frame.filter(pl.any_horizontal(conditions)).select(shown).head(SHOWN).rows()
    return [QueryMatch(str(row[0]), str(row[1] or "") if len(row) > 1 else "") for row in rows]
