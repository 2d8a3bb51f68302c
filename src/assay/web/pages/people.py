"""Accounts with their sessions and tokens: admins admit people, change their roles and end what is open."""

from __future__ import annotations

from typing import Any

from assay.core.errors import InputError
from assay.views.people import describe_login
from assay.web.page import Action, Context, Page, Parameters, Result, Role, View
from assay.workflows.accounts import (
    AccountRequest,
    Actor,
    AddAccountRequest,
    PasswordRequest,
    People,
    RevokeRequest,
    RoleRequest,
    TokenRequest,
    add_account,
    create_token,
    disable_account,
    enable_account,
    list_people,
    revoke_session,
    revoke_token,
    set_password,
    set_role,
)
from assay.workflows.serve_settings import ROLES

_HOME = "/people"


class PeopleParameters(Parameters):
    """Everybody is shown."""


class AccountForm(Parameters):
    """The account that is changed."""

    name: str = ""  # part of the path


class AddForm(Parameters):
    """A new account."""

    name: str
    role: str = "viewer"
    password: str = ""  # empty: logs in by OpenID Connect, or uses tokens


class RoleForm(AccountForm):
    """The new role of an account."""

    role: str


class PasswordForm(AccountForm):
    """The new password of an account."""

    password: str


class TokenForm(AccountForm):
    """A new token of an account."""

    role: str = "viewer"
    label: str = ""
    days: int = 90


class RevokeForm(Parameters):
    """The session or token that ends."""

    id: str = ""  # part of the path


def read(context: Context, parameters: PeopleParameters) -> People:
    """Return the accounts, sessions and tokens."""
    return list_people(context.store)


def present(context: Context, value: People, parameters: PeopleParameters) -> View:
    """Return the accounts with how they log in."""
    logins = {account.name: describe_login(account) for account in value.accounts}
    parts: dict[str, Any] = {"people": value, "logins": logins, "roles": ROLES, "user": context.user}
    return View("People", "assay serve users list", parts)


def _target(context: Context, form: AccountForm) -> dict[str, Any]:
    return {"name": form.name, "store": context.store, "actor": actor_of(context)}


def actor_of(context: Context) -> Actor:
    """Return who makes a change, for the audit log."""
    return Actor(context.user, context.address)


def _add(context: Context, form: AddForm) -> Result:
    request = AddAccountRequest(
        name=form.name,
        role=form.role,
        password=form.password or None,
        store=context.store,
        actor=actor_of(context),
    )
    return Result(_HOME, f"added {add_account(request).name}")


def _set_role(context: Context, form: RoleForm) -> Result:
    account = set_role(RoleRequest(**_target(context, form), role=form.role))
    return Result(_HOME, f"{account.name} is {account.role} now")


def _set_password(context: Context, form: PasswordForm) -> Result:
    account = set_password(PasswordRequest(**_target(context, form), password=form.password))
    return Result(_HOME, f"{account.name} has a new password and no open session")


def _disable(context: Context, form: AccountForm) -> Result:
    if context.user and form.name == context.user:
        raise InputError("you cannot disable your own account; another admin can")
    return Result(_HOME, f"{disable_account(AccountRequest(**_target(context, form))).name} is disabled")


def _enable(context: Context, form: AccountForm) -> Result:
    return Result(_HOME, f"{enable_account(AccountRequest(**_target(context, form))).name} is open again")


def _create_token(context: Context, form: TokenForm) -> Result:
    request = TokenRequest(**_target(context, form), role=form.role, label=form.label, days=form.days)
    created = create_token(request)
    return Result(_HOME, "the token is shown only now", created.to_dict())


def _revoke_session(context: Context, form: RevokeForm) -> Result:
    account = revoke_session(RevokeRequest(id=form.id, store=context.store, actor=actor_of(context)))
    return Result(_HOME, f"the session of {account} has ended")


def _revoke_token(context: Context, form: RevokeForm) -> Result:
    account = revoke_token(RevokeRequest(id=form.id, store=context.store, actor=actor_of(context)))
    return Result(_HOME, f"the token of {account} no longer works")


PAGES = (Page("/people", "", "people.html", read, present, PeopleParameters, Role.ADMIN),)
ACTIONS = (
    Action("/people", AddForm, _add, Role.ADMIN),
    Action("/people/{name}/role", RoleForm, _set_role, Role.ADMIN),
    Action("/people/{name}/password", PasswordForm, _set_password, Role.ADMIN),
    Action("/people/{name}/disable", AccountForm, _disable, Role.ADMIN),
    Action("/people/{name}/enable", AccountForm, _enable, Role.ADMIN),
    Action("/people/{name}/token", TokenForm, _create_token, Role.ADMIN),
    Action("/people/sessions/{id}/revoke", RevokeForm, _revoke_session, Role.ADMIN),
    Action("/people/tokens/{id}/revoke", RevokeForm, _revoke_token, Role.ADMIN),
)
