"""Accounts of the dashboard with their sessions and tokens; secrets are kept as digests only."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, Row, Table, delete, func, insert, select, update

from assay.core.accounts import Account, ApiToken, Session
from assay.core.errors import InputError
from assay.store.annotation_rows import from_microseconds, to_microseconds
from assay.store.database import Database
from assay.store.schema import accounts, api_tokens, sessions

_ID_LENGTH = 12  # of the digest: enough to name a session or a token, useless to log in


def digest_secret(secret: str) -> str:
    """Return what is kept of a secret of 256 random bits."""
    return sha256(secret.encode()).hexdigest()


class Accounts:
    """The accounts of a store."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def list(self) -> list[Account]:
        """Return all accounts by name."""
        with self.database.read_transaction() as connection:
            return [*map(_account, connection.execute(select(accounts).order_by(accounts.c.name)))]

    def get(self, name: str) -> Account:
        """Return an account, or refuse a name that has none."""
        account = self.find(name)
        if account is None:
            raise InputError(f"there is no account {name!r} (assay serve users list)")
        return account

    def find(self, name: str) -> Account | None:
        """Return an account, None if there is none of this name."""
        return self._find(accounts.c.name == name)

    def find_subject(self, subject: str) -> Account | None:
        """Return the account of a person at the OIDC provider."""
        return self._find(accounts.c.subject == subject)

    def _find(self, condition: Any) -> Account | None:
        with self.database.read_transaction() as connection:
            row = connection.execute(select(accounts).where(condition)).first()
        return None if row is None else _account(row)

    def password_hash(self, name: str) -> str | None:
        """Return the hash of the password of an enabled account, None without one."""
        condition = (accounts.c.name == name) & accounts.c.disabled_at.is_(None)
        with self.database.read_transaction() as connection:
            return connection.execute(select(accounts.c.password).where(condition)).scalar()

    def add(
        self, name: str, role: str, *, password: str | None = None, subject: str | None = None
    ) -> Account:
        """Create an account; a name that is taken is refused."""
        values = {"name": name, "role": role, "password": password, "subject": subject}
        with self.database.write_transaction() as connection:
            if connection.execute(select(accounts.c.name).where(accounts.c.name == name)).first():
                raise InputError(f"there is an account {name!r} already")
            connection.execute(insert(accounts).values(**values, created_at=_now()))
        return self.get(name)

    def change(self, name: str, *, ends_sessions: bool = False, **values: Any) -> Account:
        """Change the role, the password, the subject or the state of an account.

        The last enabled admin stays one: otherwise nobody could admit anybody.
        """
        with self.database.write_transaction() as connection:
            had_admin = _has_admin(connection)
            statement = update(accounts).where(accounts.c.name == name).values(**values)
            if not connection.execute(statement).rowcount:
                raise InputError(f"there is no account {name!r} (assay serve users list)")
            if had_admin and not _has_admin(connection):
                raise InputError(f"{name} is the last admin: make another account admin first")
            if ends_sessions:
                connection.execute(delete(sessions).where(sessions.c.account == name))
        return self.get(name)

    def disable(self, name: str) -> Account:
        """Close an account: its sessions end, and its tokens no longer work."""
        return self.change(name, ends_sessions=True, disabled_at=_now())

    def enable(self, name: str) -> Account:
        """Open an account again."""
        return self.change(name, disabled_at=None)


def _has_admin(connection: Connection) -> bool:
    condition = (accounts.c.role == "admin") & accounts.c.disabled_at.is_(None)
    return bool(connection.execute(select(func.count()).select_from(accounts).where(condition)).scalar())


class Sessions:
    """The open sessions of a store."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def open(self, secret: str, account: str, expires_at: datetime, address: str, agent: str) -> None:
        """Keep a new session; sessions that have ended are removed."""
        now = _now()
        row = {"created_at": now, "seen_at": now, "expires_at": to_microseconds(expires_at)}
        texts = {"account": account, "address": address, "agent": agent}
        with self.database.write_transaction() as connection:
            connection.execute(delete(sessions).where(sessions.c.expires_at < now))
            connection.execute(insert(sessions).values(digest=digest_secret(secret), **row, **texts))

    def find(self, secret: str) -> tuple[Session, Account] | None:
        """Return the session of a secret with its account, None if it has ended or the account is closed."""
        row = _find_secret(self.database, sessions, secret)
        return None if row is None else (_session(row), _account(row))

    def touch(self, secret: str, expires_at: datetime) -> None:
        """Note that a session was used, and until when it now lasts."""
        values = {"seen_at": _now(), "expires_at": to_microseconds(expires_at)}
        with self.database.write_transaction() as connection:
            connection.execute(
                update(sessions).where(sessions.c.digest == digest_secret(secret)).values(values)
            )

    def close(self, secret: str) -> None:
        """End a session."""
        with self.database.write_transaction() as connection:
            connection.execute(delete(sessions).where(sessions.c.digest == digest_secret(secret)))

    def list(self) -> list[Session]:
        """Return the open sessions, the one used last first."""
        query = select(sessions).where(sessions.c.expires_at > _now()).order_by(sessions.c.seen_at.desc())
        with self.database.read_transaction() as connection:
            return [*map(_session, connection.execute(query))]

    def revoke(self, session_id: str) -> str:
        """End a session by its id; return its account."""
        return _remove(self.database, sessions, session_id, "session")

    def revoke_all(self, account: str) -> int:
        """End all sessions of an account; return how many there were."""
        with self.database.write_transaction() as connection:
            return connection.execute(delete(sessions).where(sessions.c.account == account)).rowcount


class ApiTokens:
    """The tokens of a store."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def add(self, secret: str, account: str, label: str, role: str, expires_at: datetime) -> ApiToken:
        """Keep the digest of a new token."""
        times = {"created_at": _now(), "expires_at": to_microseconds(expires_at)}
        values = {"account": account, "label": label, "role": role, **times}
        with self.database.write_transaction() as connection:
            connection.execute(insert(api_tokens).values(digest=digest_secret(secret), **values))
        return next(token for token in self.list() if token.id == digest_secret(secret)[:_ID_LENGTH])

    def find(self, secret: str) -> tuple[ApiToken, Account] | None:
        """Return the token of a secret with its account, None if it has expired or the account is closed."""
        row = _find_secret(self.database, api_tokens, secret)
        return None if row is None else (_token(row), _account(row))

    def touch(self, secret: str) -> None:
        """Note that a token was used."""
        with self.database.write_transaction() as connection:
            condition = api_tokens.c.digest == digest_secret(secret)
            connection.execute(update(api_tokens).where(condition).values(used_at=_now()))

    def list(self) -> list[ApiToken]:
        """Return all tokens, the newest first."""
        with self.database.read_transaction() as connection:
            query = select(api_tokens).order_by(api_tokens.c.created_at.desc())
            return [*map(_token, connection.execute(query))]

    def revoke(self, token_id: str) -> str:
        """Remove a token by its id; return its account."""
        return _remove(self.database, api_tokens, token_id, "token")


def _find_secret(database: Database, table: Table, secret: str) -> Row[Any] | None:
    """Return the valid row of a secret, joined with its account if that is enabled."""
    query = (
        select(table, *(column.label(f"account_{column.key}") for column in accounts.c))
        .join(accounts, accounts.c.name == table.c.account)
        .where(table.c.digest == digest_secret(secret), table.c.expires_at > _now())
        .where(accounts.c.disabled_at.is_(None))
    )
    with database.read_transaction() as connection:
        return connection.execute(query).first()


def _remove(database: Database, table: Table, row_id: str, noun: str) -> str:
    """Remove the row whose digest begins with an id; return its account."""
    is_id = len(row_id) == _ID_LENGTH and row_id.isalnum()
    condition = func.substr(table.c.digest, 1, _ID_LENGTH) == row_id
    with database.write_transaction() as connection:
        account = connection.execute(select(table.c.account).where(condition)).scalar()
        if not is_id or account is None:
            raise InputError(f"there is no {noun} {row_id[:40]!r} (assay serve {noun}s list)")
        connection.execute(delete(table).where(condition))
    return str(account)


def _account(row: Row[Any]) -> Account:
    """Return the account of a row, whose columns have a prefix if they were joined."""
    values = row._mapping
    prefix = "account_" if "account_name" in values else ""
    disabled_at = values[f"{prefix}disabled_at"]
    return Account(
        values[f"{prefix}name"],
        values[f"{prefix}role"],
        from_microseconds(values[f"{prefix}created_at"]),
        values[f"{prefix}password"] is not None,
        values[f"{prefix}subject"],
        disabled_at if disabled_at is None else from_microseconds(disabled_at),
    )


def _session(row: Row[Any]) -> Session:
    values = row._mapping
    return Session(
        values["digest"][:_ID_LENGTH],
        values["account"],
        from_microseconds(values["created_at"]),
        from_microseconds(values["seen_at"]),
        from_microseconds(values["expires_at"]),
        values["address"],
        values["agent"],
    )


def _token(row: Row[Any]) -> ApiToken:
    values = row._mapping
    texts = (values["account"], values["label"], values["role"])
    used_at = values["used_at"]
    return ApiToken(
        values["digest"][:_ID_LENGTH],
        *texts,
        from_microseconds(values["created_at"]),
        from_microseconds(values["expires_at"]),
        used_at if used_at is None else from_microseconds(used_at),
    )


def _now() -> int:
    return to_microseconds(datetime.now(UTC))
