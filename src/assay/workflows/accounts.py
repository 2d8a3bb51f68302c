"""Accounts, sessions and tokens of the dashboard: what an admin does, at a terminal or on a page."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from assay.core.accounts import Account, ApiToken, AuditEntry, Session
from assay.core.errors import InputError
from assay.store.accounts import Accounts, ApiTokens, Sessions
from assay.store.audit import add_entry, list_entries
from assay.store.store import Store
from assay.workflows.passwords import check_password, hash_password, is_password
from assay.workflows.serve_settings import ROLES
from assay.workflows.store_location import store_url
from assay.workflows.stores import open_existing_store

TOKEN_PREFIX = "assay_"  # by which scanners of repositories recognise a token
MAX_TOKEN_DAYS = 366
_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")


@dataclass(frozen=True)
class Actor:
    """Who makes a change, and from where."""

    account: str = ""
    address: str = "terminal"


@dataclass(frozen=True, kw_only=True)
class AccountRequest:
    """The account that is changed."""

    name: str
    store: str | None = None
    actor: Actor = Actor()


@dataclass(frozen=True, kw_only=True)
class RoleRequest(AccountRequest):
    """An account and its role."""

    role: str = "viewer"

    def __post_init__(self) -> None:
        check_role(self.role)


@dataclass(frozen=True, kw_only=True)
class AddAccountRequest(RoleRequest):
    """A new account; without a password it logs in by OIDC, or uses tokens only."""

    password: str | None = None


@dataclass(frozen=True, kw_only=True)
class PasswordRequest(AccountRequest):
    """An account and its new password."""

    password: str


@dataclass(frozen=True, kw_only=True)
class ChangePasswordRequest(PasswordRequest):
    """The new password of the own account, and the one that it has."""

    current: str


@dataclass(frozen=True, kw_only=True)
class TokenRequest(RoleRequest):
    """A new token of an account."""

    label: str = ""
    days: int = 90

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.days <= MAX_TOKEN_DAYS:
            raise InputError(f"a token lasts 1 to {MAX_TOKEN_DAYS} days, found {self.days}")


@dataclass(frozen=True, kw_only=True)
class RevokeRequest:
    """The session or the token that ends, by its id."""

    id: str
    store: str | None = None
    actor: Actor = Actor()


@dataclass(frozen=True)
class CreatedToken:
    """A new token; its secret is shown once."""

    token: ApiToken
    secret: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the token with its secret."""
        return {**self.token.to_dict(), "token": self.secret}


@dataclass(frozen=True)
class People:
    """Everybody who uses the dashboard."""

    accounts: list[Account]
    sessions: list[Session]
    tokens: list[ApiToken]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the accounts, sessions and tokens."""
        return {name: [part.to_dict() for part in parts] for name, parts in vars(self).items()}


@dataclass(frozen=True, kw_only=True)
class AuditRequest:
    """Which entries of the audit log are read."""

    account: str = ""
    before: str = ""  # a time: older entries
    limit: int = 50
    store: str | None = None


@dataclass(frozen=True)
class AuditLog:
    """Entries of the audit log, the newest first."""

    entries: list[AuditEntry]
    has_older: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the entries."""
        return {"entries": [entry.to_dict() for entry in self.entries], "has_older": self.has_older}


def check_role(role: str) -> None:
    """Refuse a role that there is not."""
    if role not in ROLES:
        raise InputError(f"expected one of the roles {', '.join(ROLES)}, found {role[:40]!r}")


def is_account_name(name: str) -> bool:
    """Return whether a text can be the name of an account."""
    return _NAME.fullmatch(name) is not None


def account_name(name: str) -> str:
    """Return the name of an account in lower case, so that no two differ by case only.

    >>> account_name(" Rater-1 ")
    'rater-1'
    """
    lowered = name.strip().lower()
    if not is_account_name(lowered):
        raise InputError(
            f"expected a name of 1 to 64 letters, digits and . _ @ + -, found {name[:80]!r}; it begins "
            "with a letter or a digit"
        )
    return lowered


def add_account(request: AddAccountRequest) -> Account:
    """Create an account."""
    name = account_name(request.name)
    password = None
    if request.password is not None:
        check_password(request.password, name)
        password = hash_password(request.password)
    with Store(store_url(request.store)) as store:
        account = Accounts(store.database).add(name, request.role, password=password)
        _note(store, request.actor, "add account", f"{name} as {request.role}")
    return account


def set_role(request: RoleRequest) -> Account:
    """Change the role of an account; it holds from the next request."""
    with open_existing_store(request.store) as store:
        account = Accounts(store.database).change(_existing(request.name), role=request.role)
        _note(store, request.actor, "set role", f"{account.name} as {request.role}")
    return account


def set_password(request: PasswordRequest) -> Account:
    """Change the password of an account and end all its sessions."""
    name = _existing(request.name)
    check_password(request.password, name)
    with open_existing_store(request.store) as store:
        accounts = Accounts(store.database)
        accounts.get(name)  # before the hash, which takes long
        account = accounts.change(name, ends_sessions=True, password=hash_password(request.password))
        _note(store, request.actor, "set password", name)
    return account


def change_own_password(request: ChangePasswordRequest) -> Account:
    """Change the own password, which needs the present one; all sessions end."""
    with open_existing_store(request.store) as store:
        kept = Accounts(store.database).password_hash(_existing(request.name))
        if not is_password(kept, request.current):
            result = "wrong present password"
            add_entry(
                store.database,
                request.actor.account,
                "set password",
                request.name,
                result,
                request.actor.address,
            )
            raise InputError("the present password is wrong; nothing was changed")
    return set_password(request)


def disable_account(request: AccountRequest) -> Account:
    """Close an account: its sessions end and its tokens no longer work."""
    with open_existing_store(request.store) as store:
        account = Accounts(store.database).disable(_existing(request.name))
        _note(store, request.actor, "disable account", account.name)
    return account


def enable_account(request: AccountRequest) -> Account:
    """Open an account again."""
    with open_existing_store(request.store) as store:
        account = Accounts(store.database).enable(_existing(request.name))
        _note(store, request.actor, "enable account", account.name)
    return account


def list_people(store: str | None = None) -> People:
    """Return the accounts, the open sessions and the tokens."""
    with open_existing_store(store) as opened:
        database = opened.database
        return People(Accounts(database).list(), Sessions(database).list(), ApiTokens(database).list())


def list_own(name: str, store: str | None = None) -> People:
    """Return an account with its own sessions and tokens."""
    people = list_people(store)
    return People(
        [account for account in people.accounts if account.name == name],
        [session for session in people.sessions if session.account == name],
        [token for token in people.tokens if token.account == name],
    )


def create_token(request: TokenRequest) -> CreatedToken:
    """Create a token of an account; only its digest is kept."""
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    expires_at = datetime.now(UTC) + timedelta(days=request.days)
    with open_existing_store(request.store) as store:
        account = Accounts(store.database).get(_existing(request.name))
        role = min(request.role, account.role, key=ROLES.index)
        token = ApiTokens(store.database).add(secret, account.name, request.label[:200], role, expires_at)
        _note(store, request.actor, "create token", f"{token.id} of {account.name} as {role}")
    return CreatedToken(token, secret)


def revoke_token(request: RevokeRequest) -> str:
    """Remove a token; return its account."""
    with open_existing_store(request.store) as store:
        account = ApiTokens(store.database).revoke(request.id)
        _note(store, request.actor, "revoke token", f"{request.id} of {account}")
    return account


def revoke_session(request: RevokeRequest) -> str:
    """End a session; return its account."""
    with open_existing_store(request.store) as store:
        account = Sessions(store.database).revoke(request.id)
        _note(store, request.actor, "revoke session", f"{request.id} of {account}")
    return account


def revoke_sessions(request: AccountRequest) -> int:
    """End all sessions of an account; return how many there were."""
    with open_existing_store(request.store) as store:
        name = Accounts(store.database).get(_existing(request.name)).name
        count = Sessions(store.database).revoke_all(name)
        _note(store, request.actor, "revoke all sessions", name)
    return count


def read_audit_log(request: AuditRequest) -> AuditLog:
    """Return a part of the audit log."""
    before = _parse_time(request.before) if request.before else None
    with open_existing_store(request.store) as store:
        entries = list_entries(
            store.database, account=request.account, before=before, limit=request.limit + 1
        )
    return AuditLog(entries[: request.limit], len(entries) > request.limit)


def _parse_time(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"before: expected a time such as 2026-01-31T12:00:00+00:00, found {text[:40]!r}"
        ) from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _existing(name: str) -> str:
    return name.strip().lower()


def _note(store: Store, actor: Actor, action: str, target: str) -> None:
    add_entry(store.database, actor.account, action, target, address=actor.address)
