"""Who moves a rollout at a terminal: a token's account where the store has accounts, else the user."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from getpass import getuser

from assay.core.errors import InputError
from assay.store.accounts import Accounts, ApiTokens
from assay.store.audit import add_entry
from assay.store.database import Database
from assay.workflows.serve_settings import ROLES

TOKEN_VARIABLE = "ASSAY_TOKEN"
NEEDED_ROLE = "engineer"  # to move a rollout


@dataclass(frozen=True)
class Person:
    """Who moves a rollout, and the role."""

    name: str
    role: str = "admin"

    @property
    def may_move(self) -> bool:
        """Whether the role suffices."""
        return ROLES.index(self.role) >= ROLES.index(NEEDED_ROLE)


def identify_person(database: Database, actor: str, action: str, target: str) -> Person:
    """Return who acts at a terminal, and note it in the audit log if the store has accounts.

    A store with accounts expects a token in ASSAY_TOKEN, so that nobody acts beyond their role.
    """
    if not Accounts(database).list():
        return Person(actor or current_actor())
    secret = os.environ.get(TOKEN_VARIABLE, "").strip()
    pair = ApiTokens(database).find(secret) if secret else None
    problem = _find_problem(pair is not None, bool(secret))
    if pair is not None:
        token, account = pair
        person = Person(account.name, min(token.role, account.role, key=ROLES.index))
        problem = _find_role_problem(person, actor)
        if not problem:
            add_entry(database, person.name, f"rollout {action}", target, "done", "terminal")
            return person
    add_entry(
        database, pair[1].name if pair else "", f"rollout {action}", target, f"refused: {problem}", "terminal"
    )
    raise InputError(problem)


def _find_problem(is_valid: bool, is_given: bool) -> str:
    if is_valid:
        return ""
    if is_given:
        return f"the token in {TOKEN_VARIABLE} is not valid, or it has expired"
    return (
        f"this store has accounts: set {TOKEN_VARIABLE} to a token of yours with the role {NEEDED_ROLE} "
        "(`assay serve tokens add ACCOUNT` makes one)"
    )


def _find_role_problem(person: Person, actor: str) -> str:
    if not person.may_move:
        return f"this needs the role {NEEDED_ROLE}, that of {person.name} is {person.role}"
    if actor and actor != person.name:
        return f"--actor: expected {person.name}, whose token it is, found {actor}"
    return ""


def current_actor() -> str:
    """Return who acts: ASSAY_ACTOR, or the user of this machine."""
    name = os.environ.get("ASSAY_ACTOR", "").strip()
    return name or _attempt(getuser) or "unknown"


def _attempt(function: Callable[[], str]) -> str:
    try:
        return function()
    except (OSError, KeyError):  # a process without a name of a user
        return ""
