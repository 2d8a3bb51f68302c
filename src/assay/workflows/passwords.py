"""Passwords of accounts: what they must be, and their Argon2 hashes."""

from __future__ import annotations

from functools import cache
from threading import BoundedSemaphore
from typing import TYPE_CHECKING

from assay.core.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

MIN_LENGTH = 12
_MAX_LENGTH = 256  # so that nobody keeps the server busy with a long one
_HASHES_AT_ONCE = BoundedSemaphore(4)  # each takes 64 MB


def check_password(password: str, name: str) -> None:
    """Refuse a password that is too short, too long or the name of the account."""
    if not MIN_LENGTH <= len(password) <= _MAX_LENGTH:
        raise InputError(
            f"expected a password of {MIN_LENGTH} to {_MAX_LENGTH} characters, found {len(password)}"
        )
    if name and name in password.lower() and len(password) < MIN_LENGTH + len(name):
        raise InputError("expected a password that is not built on the name of the account")


def hash_password(password: str) -> str:
    """Return the Argon2id hash of a password."""
    with _HASHES_AT_ONCE:
        return _hasher().hash(password)


def is_password(kept: str | None, password: str) -> bool:
    """Return whether a password has this hash; as slow for an unknown account as for a wrong password."""
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        with _HASHES_AT_ONCE:
            _hasher().verify(kept or _unknown_hash(), password[: _MAX_LENGTH + 1])
    except (VerificationError, InvalidHashError):
        return False
    return kept is not None


@cache
def _hasher() -> PasswordHasher:
    try:
        from argon2 import PasswordHasher
    except ImportError:
        raise MissingExtraError("argon2-cffi", "a login by password", "web") from None
    return PasswordHasher()


@cache
def _unknown_hash() -> str:
    return _hasher().hash("no account has this password")
