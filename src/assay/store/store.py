"""The store: records in SQL, and the tables they refer to as files named by their digest.

An experiment is saved in two steps: first its table of scores, which is named by its content and is
written whole or not at all, then its record, in one transaction. A failure between the two leaves a table
that no record refers to, which `clean` removes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

from sqlalchemy import ColumnElement, false, insert, select

from assay.core.errors import InputError, StoreError
from assay.core.online_records import AB_TEST, INTERLEAVING, ONLINE_METRICS, SHADOW, OnlineRecord
from assay.core.records import Experiment
from assay.core.tables import Scores
from assay.remote.redaction import redact_url
from assay.store.experiments import ExperimentKind
from assay.store.filters import parse_filter, refuse_unknown_keys
from assay.store.online_records import OnlineRecordKind
from assay.store.records import (
    RecordKind,
    Records,
    Value,
    has_records,
    linked_digests,
    new_id,
    purge_records,
)
from assay.store.schema import records
from assay.store.shared_databases import open_database
from assay.store.tables import TableStorage

DEFAULT_FOLDER = ".assay"
GRACE_PERIOD = timedelta(hours=1)


class UnusedTable(NamedTuple):
    """A table that no record refers to."""

    digest: str
    size: int  # in bytes


class Store:
    """A store of records and tables; its own methods save and find experiments."""

    def __init__(self, url: str | Path = DEFAULT_FOLDER) -> None:
        database_url, self.tables = _locate(str(url))
        self.url = redact_url(str(url))
        self.database, self._is_shared = open_database(database_url)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._is_shared:
            self.database.close()

    def check_writable(self) -> None:
        """Raise StoreError if no experiment could be saved: no record or no table could be written."""
        with self.database.write_transaction() as connection:
            nothing = select(records).where(false())
            connection.execute(insert(records).from_select(records.columns.keys(), nothing))
        self.tables.check_writable()

    def records(self, kind: RecordKind[Value]) -> Records[Value]:
        """The records of one kind."""
        return Records(self.database, kind, self.url)

    def put(self, experiment: Experiment, scores: Scores | None = None) -> Experiment:
        """Save an experiment and its scores; both are on disk when this returns."""
        experiments = self.records(ExperimentKind())
        experiments.check(experiment)
        digests = dict(experiment.digests)
        if scores is not None:
            digests["scores"] = self.tables.put(scores)
        saved = replace(experiment, id=experiment.id or new_id(), digests=digests)
        experiments.add([saved])
        return saved

    def put_all(self, experiments: Sequence[Experiment]) -> None:
        """Save experiments of other stores under their own ids: all of them, or none."""
        self.records(ExperimentKind()).add(experiments)

    def ids(self) -> set[str]:
        """The ids of all experiments, including deleted ones."""
        return self.records(ExperimentKind()).ids()

    def get(self, name: str) -> Experiment:
        """The experiment with this id, or the newest with this name."""
        return self.records(ExperimentKind()).get(name)

    def list(
        self,
        where: str = "",
        *,
        names: Sequence[str] = (),
        deleted: bool = False,
        limit: int | None = None,
        offset: int = 0,
        order: Sequence[ColumnElement[Any]] = (),
        metrics_of: Iterable[str] | None = None,
    ) -> list[Experiment]:
        """The experiments that match a filter, the newest first or in an order of `experiment_order`.

        With `metrics_of`, only these measures are read, over all queries.
        """
        kind = ExperimentKind(None if metrics_of is None else tuple(metrics_of))
        conditions = [parse_filter(where)] if where.strip() else []
        if conditions:
            with self.database.read_transaction() as connection:
                refuse_unknown_keys(where, connection)
        return self.records(kind).find(
            *conditions, names=names, deleted=deleted, limit=limit, offset=offset, order=order
        )

    def scores(self, experiment: Experiment, only: str | None = None) -> Scores | None:
        """The scores of each query (of one measure only), or None if it was saved without them."""
        digest = experiment.digests.get("scores")
        return None if digest is None else self.tables.get(digest, only)

    def annotate(
        self,
        name: str,
        *,
        note: str | None = None,
        add_tags: Iterable[str] = (),
        drop_tags: Iterable[str] = (),
        pinned: bool | None = None,
    ) -> Experiment:
        """Change the note, the tags or the pin of an experiment; nothing else of it ever changes."""
        experiments = self.records(ExperimentKind())
        experiment = experiments.get(name)
        experiments.annotate(experiment.id, note=note, add_tags=add_tags, drop_tags=drop_tags, pinned=pinned)
        return experiments.get(experiment.id)

    def drop(self, name: str, *, restore: bool = False) -> Experiment:
        """Delete an experiment, or restore a deleted one; a pinned experiment cannot be deleted."""
        experiments = self.records(ExperimentKind())
        experiment = experiments.get_deleted(name) if restore else experiments.get(name)
        if experiment.pinned and not restore:
            raise InputError(f"{experiment.name} ({experiment.id}) is pinned: unpin it first")
        deleted_at = None if restore else datetime.now(UTC)
        experiments.set_deleted(experiment.id, deleted_at)
        return replace(experiment, deleted_at=deleted_at)

    def save_ab_test(self, name: str, body: Mapping[str, Any], links: Mapping[str, str]) -> str:
        """Save the JSON of an A/B test with its links by role, and return its id."""
        return self._save_online(OnlineRecord(name, AB_TEST, body, links))

    def save_interleaving(self, name: str, body: Mapping[str, Any], links: Mapping[str, str]) -> str:
        """Save the JSON of an interleaving with its links by role, and return its id."""
        return self._save_online(OnlineRecord(name, INTERLEAVING, body, links))

    def save_online_metrics(self, name: str, body: Mapping[str, Any], links: Mapping[str, str]) -> str:
        """Save the JSON of online metrics with its links by role, and return its id."""
        return self._save_online(OnlineRecord(name, ONLINE_METRICS, body, links))

    def save_shadow_report(self, name: str, body: Mapping[str, Any], links: Mapping[str, str]) -> str:
        """Save the JSON of a shadow report with its links by role, and return its id."""
        return self._save_online(OnlineRecord(name, SHADOW, body, links))

    def ab_tests(self, *conditions: ColumnElement[bool]) -> Sequence[OnlineRecord]:
        """The A/B tests that meet all conditions, the newest first."""
        return self.records(OnlineRecordKind(AB_TEST)).find(*conditions)

    def interleavings(self, *conditions: ColumnElement[bool]) -> Sequence[OnlineRecord]:
        """The results of interleaving that meet all conditions, the newest first."""
        return self.records(OnlineRecordKind(INTERLEAVING)).find(*conditions)

    def online_metrics(self) -> Sequence[OnlineRecord]:
        """The records of online metrics, the newest first."""
        return self.records(OnlineRecordKind(ONLINE_METRICS)).find()

    def shadow_reports(self) -> Sequence[OnlineRecord]:
        """The shadow reports, the newest first."""
        return self.records(OnlineRecordKind(SHADOW)).find()

    def _save_online(self, record: OnlineRecord) -> str:
        saved = replace(record, id=new_id())
        self.records(OnlineRecordKind(record.kind)).add([saved])
        return saved.id

    def purge(self) -> int:
        """Remove all deleted records for good; returns how many there were."""
        return purge_records(self.database)

    def unused_tables(self, older: timedelta = GRACE_PERIOD) -> Sequence[UnusedTable]:
        """The tables that no record refers to, not even a deleted one.

        A younger table may belong to an experiment that is being saved.
        """
        tables = [table for table in self.tables.list() if datetime.now(UTC) - table.at >= older]
        with self.database.read_transaction() as connection:
            referenced = linked_digests(connection)
            is_empty = not has_records(connection)
        if is_empty and tables:
            raise StoreError(
                f"{self.url} has {len(tables)} tables and no record at all: its records may be lost, so no "
                "table counts as unused; restore a backup, or remove the folder yourself"
            )
        return [UnusedTable(table.digest, table.size) for table in tables if table.digest not in referenced]

    def missing_tables(self) -> Sequence[str]:
        """The digests of scores that experiments refer to and that are not in the store."""
        with self.database.read_transaction() as connection:
            referenced = linked_digests(connection, role="scores")
        return sorted(referenced - {table.digest for table in self.tables.list()})

    def clean(self, older: timedelta = GRACE_PERIOD) -> Sequence[UnusedTable]:
        """Remove the tables that no record refers to, and return them."""
        unused = self.unused_tables(older)
        for table in unused:
            self.tables.drop(table.digest)
        self.tables.remove_partial_files(older)
        return unused


def _locate(url: str) -> tuple[str, TableStorage]:
    """The URL of the database, and the storage of the tables."""
    if url.startswith("postgresql:"):
        parts = urlsplit(url)
        parameters = parse_qs(parts.query)
        tables = parameters.pop("tables", None)
        if tables is None:
            raise InputError(
                "a store in PostgreSQL needs a place for its tables: add ?tables=FOLDER or "
                f"?tables=s3://BUCKET to {redact_url(url)}"
            )
        tail = urlunsplit(("", "", parts.path, urlencode(parameters, doseq=True), ""))
        # The host of a URL for a socket is empty.
        return f"postgresql://{parts.netloc}{tail}", TableStorage(tables[0])
    if "://" in url:
        raise InputError(f"a store is a folder or postgresql://…?tables=…, found {redact_url(url)}")
    folder = Path(url)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the store {folder} cannot be created ({error.strerror})") from None
    return f"sqlite:///{folder / 'assay.db'}", TableStorage(str(folder / "tables"))
