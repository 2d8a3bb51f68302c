"""Accounts of the dashboard, their sessions and tokens, and what was noted of them; none holds a secret."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Account:
    """A person or a program that uses the dashboard."""

    name: str
    role: str
    created_at: datetime
    has_password: bool = False
    subject: str | None = None  # who the OIDC provider says it is
    disabled_at: datetime | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the account, without anything that helps to log in."""
        return {
            "name": self.name,
            "role": self.role,
            "created_at": self.created_at.isoformat(),
            "has_password": self.has_password,
            "has_oidc": self.subject is not None,
            "disabled_at": self.disabled_at and self.disabled_at.isoformat(),
        }


@dataclass(frozen=True)
class Session:
    """A login that is open."""

    id: str
    account: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    address: str
    agent: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the session."""
        times = ("created_at", "seen_at", "expires_at")
        return {**vars(self), **{name: getattr(self, name).isoformat() for name in times}}


@dataclass(frozen=True)
class ApiToken:
    """What a program sends instead of a password, without the secret itself."""

    id: str
    account: str
    label: str
    role: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the token."""
        times = {name: getattr(self, name) for name in ("created_at", "expires_at", "used_at")}
        return {**vars(self), **{name: at and at.isoformat() for name, at in times.items()}}


@dataclass(frozen=True)
class AuditEntry:
    """One thing that somebody did, or tried."""

    at: datetime
    account: str  # empty: nobody was logged in
    action: str  # such as `login`, or the method and the address of a change
    target: str  # whom or what it concerned
    result: str  # done, or why not
    address: str  # of the machine it came from; `terminal`: by a command of this machine
    id: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the entry."""
        return {**vars(self), "at": self.at.isoformat()}
