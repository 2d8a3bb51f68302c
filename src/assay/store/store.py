"""The store: records of experiments in SQL, their tables beside them.

An experiment is saved in two steps: its tables first, which are named by their content and so are never
half there, then its record, in one transaction. Whatever happens between leaves a table that nobody
refers to, which `clean` finds.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

from sqlalchemy import Connection, RowMapping, Select, delete, func, insert, select, update

from assay.core.errors import InputError, StoreError
from assay.core.records import Experiment, Metric
from assay.core.tables import Scores
from assay.evaluation.configuration import flat
from assay.store.database import Database, shown
from assay.store.filters import LONGEST, condition
from assay.store.schema import attributes, experiments, links, metrics, tags
from assay.store.tables import Tables

DEFAULT = ".assay"
GRACE = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # without what looks alike
_BODY = ("configuration", "digests", "policy", "latency", "figures", "code", "environment", "result")


class Garbage(NamedTuple):
    """A table that no experiment refers to."""

    digest: str
    size: int


class Store:
    """Experiments that are remembered."""

    def __init__(self, url: str | Path = DEFAULT) -> None:
        database, self.tables = _places(str(url))
        self.url = shown(str(url))
        self.database = Database(database)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.database.close()

    def put(self, experiment: Experiment, scores: Scores | None = None) -> Experiment:
        """Keep an experiment and its scores; when this returns, both are kept."""
        _check(experiment)
        digests = dict(experiment.digests)
        if scores is not None:
            digests["scores"] = self.tables.put(scores)
        made = replace(experiment, id=experiment.id or _new_id(), digests=digests)
        with self.database.writing() as connection:
            _insert(connection, made)
        return made

    def put_all(self, experiments: Sequence[Experiment]) -> None:
        """Keep experiments of other stores under their own ids: all of them, or none."""
        for experiment in experiments:
            _check(experiment)
        with self.database.writing() as connection:
            for experiment in experiments:
                _insert(connection, experiment)

    def ids(self) -> set[str]:
        """The ids of all experiments, of the dropped ones too."""
        with self.database.reading() as connection:
            return set(connection.execute(select(experiments.c.id)).scalars())

    def get(self, name: str) -> Experiment:
        """The experiment of an id, or the newest of a name."""
        with self.database.reading() as connection:
            found = _read(connection, _named(name))
        if not found:
            raise InputError(f"there is no experiment {name!r} in {self.url}; see `assay experiments list`")
        return found[0]

    def list(
        self,
        where: str = "",
        *,
        names: Sequence[str] = (),
        deleted: bool = False,
        limit: int | None = None,
        metrics_of: Iterable[str] | None = None,
    ) -> list[Experiment]:
        """The experiments that a filter admits, the newest first.

        `metrics_of` reads only these measures of them, over all queries.
        """
        query = select(experiments).order_by(experiments.c.at.desc(), experiments.c.id)
        query = query.where(
            experiments.c.deleted_at.is_not(None) if deleted else experiments.c.deleted_at.is_(None)
        )
        query = query.where(experiments.c.name.in_(names)) if names else query
        query = query.where(condition(where)) if where.strip() else query
        query = query.limit(limit) if limit is not None else query
        with self.database.reading() as connection:
            return _read(connection, query, None if metrics_of is None else list(metrics_of))

    def scores(self, experiment: Experiment, only: str | None = None) -> Scores | None:
        """The scores of each query (by one measure alone), None where it was saved without them."""
        digest = experiment.digests.get("scores")
        return None if digest is None else self.tables.get(digest, only)

    def link(
        self,
        name: str,
        *,
        note: str | None = None,
        add_tags: Iterable[str] = (),
        drop_tags: Iterable[str] = (),
        pinned: bool | None = None,
    ) -> Experiment:
        """Add to an experiment what may change: a note, tags, a pin."""
        experiment = self.get(name)
        changes = {key: value for key, value in (("note", note), ("pinned", pinned)) if value is not None}
        with self.database.writing() as connection:
            if changes:
                connection.execute(
                    update(experiments).where(experiments.c.id == experiment.id).values(changes)
                )
            here = tags.c.experiment == experiment.id
            for tag in {*add_tags, *drop_tags}:
                connection.execute(delete(tags).where(here, tags.c.tag == tag))
            for tag in dict.fromkeys(add_tags):
                connection.execute(insert(tags).values(experiment=experiment.id, tag=tag))
        return self.get(experiment.id)

    def drop(self, name: str, *, restore: bool = False) -> Experiment:
        """Take an experiment out of sight, or bring it back; a pinned one stays."""
        experiment = self._deleted(name) if restore else self.get(name)
        if experiment.pinned and not restore:
            raise InputError(f"{experiment.name} ({experiment.id}) is pinned: unpin it first")
        at = None if restore else _microseconds(datetime.now(UTC))
        with self.database.writing() as connection:
            connection.execute(
                update(experiments).where(experiments.c.id == experiment.id).values(deleted_at=at)
            )
        return replace(experiment, deleted_at=None if restore else datetime.now(UTC))

    def _deleted(self, name: str) -> Experiment:
        """The deleted experiment of an id, or the newest deleted one of a name."""
        here = experiments.c
        query = select(experiments).where(
            (here.id == name) | (here.name == name), here.deleted_at.is_not(None)
        )
        with self.database.reading() as connection:
            found = _read(connection, query.order_by(here.at.desc()).limit(1))
        if not found:
            raise InputError(f"there is no deleted experiment {name!r} in {self.url}")
        return found[0]

    def purge(self) -> int:
        """Forget for good what was dropped; how many there were."""
        with self.database.writing() as connection:
            gone = select(experiments.c.id).where(experiments.c.deleted_at.is_not(None))
            count = connection.execute(select(func.count()).select_from(gone.subquery())).scalar_one()
            for table in (metrics, attributes, tags, links):
                connection.execute(delete(table).where(table.c.experiment.in_(gone)))
            connection.execute(delete(experiments).where(experiments.c.deleted_at.is_not(None)))
        return int(count)

    def garbage(self, older: timedelta = GRACE) -> Sequence[Garbage]:
        """The tables that no experiment refers to, not even a dropped one.

        What is younger may belong to an experiment that is just being saved.
        """
        listed = [table for table in self.tables.list() if datetime.now(UTC) - table.at >= older]
        with self.database.reading() as connection:
            kept = set(connection.execute(select(links.c.digest)).scalars())
            empty = connection.execute(select(experiments.c.id).limit(1)).first() is None
        if empty and listed:
            raise StoreError(
                f"{self.url} has {len(listed)} tables and no experiment at all: its records may be lost, "
                "so no table is called unneeded; restore a backup, or remove the folder by hand"
            )
        return [Garbage(table.digest, table.size) for table in listed if table.digest not in kept]

    def lost(self) -> Sequence[str]:
        """The digests of scores that experiments refer to and that are not there."""
        with self.database.reading() as connection:
            wanted = connection.execute(select(links.c.digest).where(links.c.role == "scores").distinct())
            referred = set(wanted.scalars())
        return sorted(referred - {table.digest for table in self.tables.list()})

    def clean(self, older: timedelta = GRACE) -> Sequence[Garbage]:
        """Forget the tables that no experiment refers to."""
        found = self.garbage(older)
        for table in found:
            self.tables.drop(table.digest)
        self.tables.sweep(older)
        return found


def _places(url: str) -> tuple[str, Tables]:
    """Where the records are, and where the tables."""
    if url.startswith("postgresql:"):
        parts = urlsplit(url)
        given = parse_qs(parts.query)
        where = given.pop("tables", None)
        if where is None:
            raise InputError(
                "a store in PostgreSQL needs a place for its tables: add ?tables=FOLDER or "
                f"?tables=s3://BUCKET to {shown(url)}"
            )
        tail = urlunsplit(("", "", parts.path, urlencode(given, doseq=True), ""))
        return f"postgresql://{parts.netloc}{tail}", Tables(where[0])  # the netloc of a socket is empty
    if "://" in url:
        raise InputError(f"a store is a folder or postgresql://…?tables=…, found {shown(url)}")
    folder = Path(url)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the store {folder} cannot be made ({error.strerror})") from None
    return f"sqlite:///{folder / 'assay.db'}", Tables(str(folder / "tables"))


def _new_id() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(10))


def _microseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


def _time(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def _named(name: str) -> Select[Any]:
    """The experiment of an id (dropped or not), or the newest of a name."""
    here = experiments.c
    query = select(experiments).where((here.id == name) | ((here.name == name) & here.deleted_at.is_(None)))
    return query.order_by((here.id == name).desc(), here.at.desc()).limit(1)


def _check(e: Experiment) -> None:
    """Refuse what would not come back as it went in."""
    for m in e.metrics:
        if any(x is not None and not math.isfinite(x) for x in (m.value, m.low, m.high)):
            raise InputError(f"{m.measure} of {e.name!r} is not a finite number; what is undefined is None")
    if e.at.tzinfo is None:
        raise InputError(f"the time of {e.name!r} has no zone: give it one, such as datetime.now(UTC)")
    texts = (e.name, e.kind, e.note, *e.tags)
    try:
        body = _body(e)
        "".join((body, *texts)).encode()
    except (TypeError, ValueError) as error:
        raise InputError(f"{e.name!r} cannot be kept: {error}; expected finite numbers and texts") from None
    if "\\u0000" in body or any("\0" in text for text in texts):
        raise InputError(f"{e.name!r} holds a NUL character, which not every database can keep: leave it out")
    if any(len(text) > LONGEST for text in (e.name, e.kind, *e.tags)):
        raise InputError(
            f"a name or a tag of {e.name[:40]!r} is longer than {LONGEST} characters: shorten it"
        )


def _body(e: Experiment) -> str:
    body = {name: getattr(e, name) for name in _BODY}
    return json.dumps(body, ensure_ascii=False, allow_nan=False)


def _insert(connection: Connection, e: Experiment) -> None:
    """The record with all that is asked for by name."""
    row = {"id": e.id, "name": e.name, "kind": e.kind, "at": _microseconds(e.at), "note": e.note}
    gone = None if e.deleted_at is None else _microseconds(e.deleted_at)
    connection.execute(insert(experiments).values(**row, body=_body(e), pinned=e.pinned, deleted_at=gone))
    for table, rows in (
        (metrics, [_metric(e.id, m) for m in e.metrics]),
        (attributes, _attributes(e)),
        (tags, [{"experiment": e.id, "tag": tag} for tag in dict.fromkeys(e.tags)]),
        (links, [{"experiment": e.id, "role": role, "digest": d} for role, d in e.digests.items()]),
    ):
        if rows:
            connection.execute(insert(table), rows)


def _metric(experiment: str, m: Metric) -> dict[str, Any]:
    values = {"value": m.value, "low": m.low, "high": m.high, "n": m.n}
    return {"experiment": experiment, "measure": m.measure, "column": m.column, "slice": m.value_of, **values}


def _attributes(e: Experiment) -> list[dict[str, Any]]:
    """What a filter may ask for, by space and key."""
    spaces: Mapping[str, Mapping[str, Any]] = {
        "params": flat(e.configuration),
        "latency": e.latency,
        "figures": flat(e.figures),
        "environment": flat(e.environment),
        "policy": flat(e.policy),
        "code": {"version": e.code} if e.code else {},
    }
    return [
        {"experiment": e.id, "space": space, "key": key, "text": _text(value), "number": _number(value)}
        for space, found in spaces.items()
        for key, value in found.items()
    ]


def _text(value: Any) -> str | None:
    """A value as a filter finds it: its beginning, for indexes hold no long texts."""
    text = value if isinstance(value, str) or value is None else json.dumps(value)
    return None if text is None else text[:LONGEST]


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _read(connection: Connection, query: Select[Any], of: list[str] | None = None) -> list[Experiment]:
    """The experiments of a query, with their metrics and tags."""
    rows = connection.execute(query).mappings().all()
    ids = [row["id"] for row in rows]
    measured: dict[str, list[Metric]] = {key: [] for key in ids}
    labels: dict[str, list[str]] = {key: [] for key in ids}
    for start in range(0, len(ids), 500):  # databases bound how many names a question may hold
        some = ids[start : start + 500]
        wanted = select(metrics).where(metrics.c.experiment.in_(some))
        if of is not None:
            wanted = wanted.where(metrics.c.measure.in_(of), metrics.c.column == "")
        for m in connection.execute(wanted).mappings():
            made = Metric(m["measure"], m["column"], m["slice"], m["value"], m["low"], m["high"], m["n"])
            measured[m["experiment"]].append(made)
        for t in connection.execute(select(tags).where(tags.c.experiment.in_(some))):
            labels[t.experiment].append(t.tag)
    return [_experiment(row, measured[row["id"]], labels[row["id"]]) for row in rows]


def _experiment(row: RowMapping, measured: list[Metric], labels: list[str]) -> Experiment:
    gone = row["deleted_at"]
    return Experiment(
        name=row["name"],
        at=_time(row["at"]),
        kind=row["kind"],
        metrics=tuple(sorted(measured, key=lambda m: m[:3])),  # each database has an order of its own
        tags=tuple(sorted(labels)),
        note=row["note"],
        pinned=bool(row["pinned"]),
        deleted_at=None if gone is None else _time(gone),
        id=row["id"],
        **json.loads(row["body"]),
    )
