"""Who a request comes from: logins by password or OIDC, sessions, and tokens."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from assay.core.accounts import Account
from assay.core.errors import InputError
from assay.store.accounts import Accounts, ApiTokens, Sessions
from assay.store.audit import add_entry
from assay.store.store import Store
from assay.workflows.accounts import account_name, is_account_name
from assay.workflows.passwords import is_password
from assay.workflows.serve_settings import ROLES, OidcSettings, ServeSettings
from assay.workflows.store_location import store_url

_MAX_SESSION = timedelta(days=7)  # however much it is used
_NOTE_SECONDS = 60  # the use of a session or token is written at most this often


@dataclass(frozen=True)
class Identity:
    """The account that a request comes from, and what it may do."""

    name: str
    role: str
    is_token: bool = False


@dataclass(frozen=True)
class Client:
    """Where a request comes from."""

    address: str
    agent: str = ""


class Authentication:
    """Logins, sessions and tokens of one store, which stays open."""

    def __init__(self, store: str | None, settings: ServeSettings) -> None:
        self.settings = settings
        self._store = Store(store_url(store))
        database = self._store.database
        self._accounts, self._sessions, self._tokens = (
            Accounts(database),
            Sessions(database),
            ApiTokens(database),
        )

    def close(self) -> None:
        """Close the connections to the store."""
        self._store.database.close()

    def log_in(self, name: str, password: str, client: Client) -> str | None:
        """Return the secret of a new session, None if the name or the password is wrong."""
        lowered = name.strip().lower()
        kept = self._accounts.password_hash(lowered) if is_account_name(lowered) else None
        if not is_password(kept, password):
            self.note("", "login", lowered, "wrong name or password", client.address)
            return None
        return self._open_session(lowered, client, "login")

    def log_in_by_oidc(self, provider: OidcSettings, claims: Mapping[str, Any], client: Client) -> str:
        """Return the secret of a new session of the person that the claims of a provider name."""
        try:
            account = self._account_of(provider, claims)
        except InputError as error:
            self.note(
                "", "login by oidc", str(claims.get(provider.name_claim, "")), str(error), client.address
            )
            raise
        return self._open_session(account.name, client, "login by oidc")

    def _account_of(self, provider: OidcSettings, claims: Mapping[str, Any]) -> Account:
        """Return the account of a person at the provider; it is created at the first login."""
        subject = f"{claims['iss']}|{claims['sub']}"
        account = self._accounts.find_subject(subject)
        if account is None:
            account = self._admit(provider, claims, subject)
        if account.disabled_at is not None:
            raise InputError(f"the account {account.name} is disabled: ask an admin")
        return account

    def _admit(self, provider: OidcSettings, claims: Mapping[str, Any], subject: str) -> Account:
        if provider.name_claim == "email" and claims.get("email_verified") is not True:
            raise InputError("the provider has not verified your e-mail address")
        name = account_name(str(claims.get(provider.name_claim, "")))
        account = self._accounts.find(name)
        if account is None:
            if not provider.role:
                raise InputError(f"there is no account {name}: ask an admin to add it")
            return self._accounts.add(name, provider.role, subject=subject)
        if account.has_password or account.subject:
            raise InputError(
                f"the account {name} belongs to somebody who logs in in another way: ask an admin"
            )
        return self._accounts.change(name, subject=subject)

    def _open_session(self, name: str, client: Client, action: str) -> str:
        secret = secrets.token_urlsafe(32)
        expires_at = datetime.now(UTC) + timedelta(hours=self.settings.session_hours)
        self._sessions.open(secret, name, expires_at, client.address, client.agent[:200])
        self.note(name, action, name, "done", client.address)
        return secret

    def session_identity(self, secret: str) -> Identity | None:
        """Return who has a session, and note that it was used; None if it has ended."""
        pair = self._sessions.find(secret)
        if pair is None:
            return None
        session, account = pair
        now = datetime.now(UTC)
        if (now - session.seen_at).total_seconds() > _NOTE_SECONDS:
            last = min(now + timedelta(hours=self.settings.session_hours), session.created_at + _MAX_SESSION)
            self._sessions.touch(secret, last)
        return Identity(account.name, account.role)

    def token_identity(self, secret: str) -> Identity | None:
        """Return whose token a secret is, with the lower of both roles; None if it is not valid."""
        pair = self._tokens.find(secret)
        if pair is None:
            return None
        token, account = pair
        if token.used_at is None or time.time() - token.used_at.timestamp() > _NOTE_SECONDS:
            self._tokens.touch(secret)
        return Identity(account.name, min(token.role, account.role, key=ROLES.index), is_token=True)

    def log_out(self, secret: str, identity: Identity, client: Client) -> None:
        """End a session."""
        self._sessions.close(secret)
        self.note(identity.name, "logout", identity.name, "done", client.address)

    def end_session(self, secret: str) -> None:
        """End the session that a browser had before it logged in anew."""
        self._sessions.close(secret)

    def note(self, account: str, action: str, target: str, result: str, address: str) -> None:
        """Add an entry to the audit log."""
        add_entry(self._store.database, account, action, target, result, address)
