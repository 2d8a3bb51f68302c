"""The audit log: who did what, when and from where. Entries are added; nothing here changes one."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

from sqlalchemy import insert, select

from assay.core.accounts import AuditEntry
from assay.store.annotation_rows import from_microseconds, to_microseconds
from assay.store.database import Database
from assay.store.schema import audit_log

_MAX_CHARACTERS = 500  # of a text that comes from a request


def add_entry(
    database: Database, account: str, action: str, target: str = "", result: str = "done", address: str = ""
) -> None:
    """Add an entry; it is on disk when this returns."""
    now = to_microseconds(datetime.now(UTC))
    texts = {
        "account": account[:64],
        "action": action,
        "target": target,
        "result": result,
        "address": address,
    }
    values = {name: _clean(value) for name, value in texts.items()}
    with database.write_transaction() as connection:
        connection.execute(insert(audit_log).values(id=secrets.token_hex(16), at=now, **values))


def _clean(value: str) -> str:
    """Return a text that every database can keep."""
    return value[:_MAX_CHARACTERS].replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def list_entries(
    database: Database, *, account: str = "", before: datetime | None = None, limit: int = 50
) -> list[AuditEntry]:
    """Return the newest entries, of one account or all, before a time."""
    columns = audit_log.c
    query = select(audit_log).order_by(columns.at.desc(), columns.id).limit(limit)
    if account:
        query = query.where(columns.account == account)
    if before is not None:
        query = query.where(columns.at < to_microseconds(before))
    with database.read_transaction() as connection:
        rows = connection.execute(query).mappings().all()
    return [AuditEntry(**{**row, "at": from_microseconds(row["at"])}) for row in rows]
