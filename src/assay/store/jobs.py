"""Jobs in the database: what to do, how far it is, its log, and the signs of life of its worker.

A job has one worker at a time. Each start is a new attempt, and a worker writes only to its own attempt:
two servers that resume a job at once start one worker, and a worker that was thought dead changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import RowMapping, func, insert, select, update

from assay.core.errors import InputError
from assay.store.database import Database
from assay.store.records import new_id
from assay.store.schema import job_lines, jobs

SILENCE = timedelta(seconds=20)  # after which a worker that gave no sign of life counts as dead
MAX_LINES = 5000  # of a log; later lines are left out
MAX_LINE = 2000  # characters
_LIVE = ("waiting", "running")


class JobLine(NamedTuple):
    """One line of the log of a job."""

    number: int
    at: datetime
    text: str


@dataclass(frozen=True)
class Job:
    """Long work that a page started."""

    id: str
    kind: str
    title: str
    request: Mapping[str, Any]
    account: str
    stored_state: str  # waiting, running, done, failed or cancelled
    attempt: int
    is_cancelled: bool
    done: int | None
    total: int | None
    phase: str
    location: str
    error: str
    created_at: datetime
    started_at: datetime | None
    seen_at: datetime
    ended_at: datetime | None

    @property
    def state(self) -> str:
        """The stored state, or `interrupted` if the worker gave no sign of life for long."""
        if self.stored_state in _LIVE and datetime.now(UTC) - self.seen_at > SILENCE:
            return "interrupted"
        return "stopping" if self.stored_state in _LIVE and self.is_cancelled else self.stored_state

    @property
    def is_live(self) -> bool:
        """Whether a worker is at it."""
        return self.state in (*_LIVE, "stopping")

    def to_dict(self) -> dict[str, Any]:
        """Return the job as plain data, without its request, which may name paths of the server."""
        hidden = {"request", "stored_state", "is_cancelled"}
        fields = {name: value for name, value in vars(self).items() if name not in hidden}
        times = {name: value and value.isoformat() for name, value in fields.items() if name.endswith("_at")}
        return {**fields, **times, "state": self.state}


class Jobs:
    """The jobs of a store."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def add(self, kind: str, title: str, request: Mapping[str, Any], account: str = "") -> Job:
        """Store a job that waits for its worker."""
        now = _now()
        row = {
            "id": new_id(),
            "kind": kind,
            "title": title,
            "request": json.dumps(request),
            "account": account,
            "state": "waiting",
            "attempt": 1,
            "is_cancelled": False,
            "phase": "",
            "location": "",
            "error": "",
            "created_at": now,
            "seen_at": now,
        }
        with self.database.write_transaction() as connection:
            connection.execute(insert(jobs).values(row))
        return self.get(str(row["id"]))

    def get(self, job_id: str) -> Job:
        """Return a job."""
        with self.database.read_transaction() as connection:
            row = connection.execute(select(jobs).where(jobs.c.id == job_id)).mappings().first()
        if row is None:
            raise InputError(f"there is no job {job_id!r}; the page Jobs lists them")
        return _job(row)

    def find(self, limit: int, offset: int = 0) -> list[Job]:
        """Return jobs, the newest first."""
        order = select(jobs).order_by(jobs.c.created_at.desc(), jobs.c.id)
        with self.database.read_transaction() as connection:
            return [_job(row) for row in connection.execute(order.limit(limit).offset(offset)).mappings()]

    def restart(self, job: Job) -> Job:
        """Let a job that is not running wait for a new worker; refused if another server was faster."""
        if job.is_live or job.state == "done":
            raise InputError(f"the job {job.id} is {job.state}: only one that stopped can be resumed")
        values = {"state": "waiting", "is_cancelled": False, "error": "", "ended_at": None, "phase": ""}
        if not self._update(job, **values, attempt=job.attempt + 1, seen_at=_now()):
            raise InputError(f"the job {job.id} was resumed by somebody else; reload the page")
        return self.get(job.id)

    def cancel(self, job: Job) -> None:
        """Ask the worker of a job to stop; what is finished is kept."""
        if job.is_live:
            self._update(job, is_cancelled=True)
        elif job.state == "interrupted":
            self.end(job, "cancelled")

    def start(self, job: Job) -> bool:
        """Mark a job as running; False if another attempt has begun."""
        now = _now()
        return self._update(job, state="running", started_at=now, seen_at=now)

    def report(self, job: Job, **values: Any) -> bool:
        """Write how far a job is (done, total, phase), which is a sign of life; return whether to go on."""
        if not self._update(job, seen_at=_now(), **values):
            return False
        query = select(jobs.c.is_cancelled).where(jobs.c.id == job.id)
        with self.database.read_transaction() as connection:
            return not connection.execute(query).scalar_one()

    def end(self, job: Job, state: str, *, error: str = "", location: str = "") -> None:
        """Write how a job ended."""
        now = _now()
        self._update(job, state=state, error=error, location=location, seen_at=now, ended_at=now)

    def write_lines(self, job: Job, texts: Sequence[str]) -> None:
        """Add lines to the log of a job."""
        now = _now()
        with self.database.write_transaction() as connection:
            count = func.coalesce(func.max(job_lines.c.number), 0)
            first = connection.execute(select(count).where(job_lines.c.job == job.id)).scalar_one()
            rows = [
                {"job": job.id, "number": first + place, "at": now, "text": text[:MAX_LINE].replace("\0", "")}
                for place, text in enumerate(texts, 1)
            ]
            kept = rows[: max(0, MAX_LINES - first)]
            if kept:
                connection.execute(insert(job_lines), kept)

    def lines(self, job_id: str, limit: int) -> list[JobLine]:
        """Return the last lines of the log of a job, the oldest first."""
        columns = job_lines.c
        query = select(columns.number, columns.at, columns.text).where(columns.job == job_id)
        with self.database.read_transaction() as connection:
            rows = connection.execute(query.order_by(columns.number.desc()).limit(limit)).all()
        return [JobLine(row.number, _time(row.at), row.text) for row in reversed(rows)]

    def _update(self, job: Job, **values: Any) -> bool:
        """Change a job unless another attempt has begun."""
        is_same = (jobs.c.id == job.id) & (jobs.c.attempt == job.attempt)
        with self.database.write_transaction() as connection:
            return bool(connection.execute(update(jobs).where(is_same).values(values)).rowcount)


def _job(row: RowMapping) -> Job:
    values = dict(row)
    values["stored_state"] = values.pop("state")
    values["request"] = json.loads(values["request"])
    values["is_cancelled"] = bool(values["is_cancelled"])
    for name in ("created_at", "started_at", "seen_at", "ended_at"):
        values[name] = None if values[name] is None else _time(values[name])
    return Job(**values)


def _now() -> int:
    return int(datetime.now(UTC).timestamp() * 1_000_000)


def _time(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC)
