"""The account of the person who is logged in: password, open sessions and tokens."""

from __future__ import annotations

from typing import Any

from assay.core.errors import InputError
from assay.web.page import Action, Context, Page, Parameters, Result, Role, View
from assay.web.pages.people import RevokeForm, actor_of
from assay.workflows.accounts import (
    AccountRequest,
    ChangePasswordRequest,
    People,
    RevokeRequest,
    TokenRequest,
    change_own_password,
    create_token,
    list_own,
    revoke_sessions,
    revoke_token,
)
from assay.workflows.serve_settings import ROLES

_HOME = "/account"


class AccountParameters(Parameters):
    """The own account is shown."""


class OwnPasswordForm(Parameters):
    """The password there is, and the new one."""

    current: str
    password: str


class OwnTokenForm(Parameters):
    """A new token."""

    role: str = "viewer"
    label: str = ""
    days: int = 90


def read(context: Context, parameters: AccountParameters) -> People:
    """Return the account with its sessions and tokens."""
    return list_own(context.user, context.store)


def present(context: Context, value: People, parameters: AccountParameters) -> View:
    """Return the account, its sessions and tokens, and the roles that a token may have."""
    roles = [role for role in ROLES if Role[role.upper()] <= context.role]
    parts: dict[str, Any] = {"people": value, "roles": roles, "user": context.user}
    return View("Your account", "", parts)


def _name(context: Context) -> str:
    if not context.user:
        raise InputError("there are no accounts here: the dashboard was started without --accounts")
    return context.user


def _change_password(context: Context, form: OwnPasswordForm) -> Result:
    request = ChangePasswordRequest(
        name=_name(context),
        current=form.current,
        password=form.password,
        store=context.store,
        actor=actor_of(context),
    )
    change_own_password(request)
    return Result("/login", "the password is changed: log in again")


def _create_token(context: Context, form: OwnTokenForm) -> Result:
    request = TokenRequest(
        name=_name(context),
        role=form.role,
        label=form.label,
        days=form.days,
        store=context.store,
        actor=actor_of(context),
    )
    return Result(_HOME, "the token is shown only now", create_token(request).to_dict())


def _revoke_token(context: Context, form: RevokeForm) -> Result:
    own = {token.id for token in list_own(_name(context), context.store).tokens}
    if form.id not in own:
        raise InputError(f"you have no token {form.id[:40]!r}")
    revoke_token(RevokeRequest(id=form.id, store=context.store, actor=actor_of(context)))
    return Result(_HOME, "the token no longer works")


def _revoke_sessions(context: Context, form: AccountParameters) -> Result:
    request = AccountRequest(name=_name(context), store=context.store, actor=actor_of(context))
    return Result("/login", f"{revoke_sessions(request)} sessions have ended")


PAGES = (Page("/account", "", "account.html", read, present, AccountParameters),)
ACTIONS = (
    Action("/account/password", OwnPasswordForm, _change_password, Role.VIEWER),
    Action("/account/token", OwnTokenForm, _create_token, Role.VIEWER),
    Action("/account/tokens/{id}/revoke", RevokeForm, _revoke_token, Role.VIEWER),
    Action("/account/sessions/revoke", AccountParameters, _revoke_sessions, Role.VIEWER),
)
