"""assay serve users, sessions, tokens and audit: who uses the dashboard, and what they did."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable
from typing import Any

from assay.cli import show
from assay.cli.output import show_result
from assay.cli.parsers import add_format, add_store
from assay.core.accounts import Account
from assay.core.errors import InputError
from assay.views import FORMATS
from assay.views.people import render_accounts, render_audit_log, render_sessions, render_tokens
from assay.workflows.accounts import (
    AccountRequest,
    AddAccountRequest,
    AuditRequest,
    PasswordRequest,
    RevokeRequest,
    RoleRequest,
    TokenRequest,
    add_account,
    create_token,
    disable_account,
    enable_account,
    list_people,
    read_audit_log,
    revoke_session,
    revoke_sessions,
    revoke_token,
    set_password,
    set_role,
)
from assay.workflows.serve_settings import ROLES

_USERS = """examples:
  assay serve users add ada --role admin
  assay serve users add ci --role viewer --no-password
  assay serve users list
  assay serve users role ada judge
  assay serve users disable ada
  assay serve users password ada

A password is asked for, or read from standard input with --password-stdin; it is never an argument. A
change holds from the next request. Without a password an account logs in by OpenID Connect or uses tokens.
"""
_SESSIONS = """examples:
  assay serve sessions list
  assay serve sessions revoke 3f0c2a91b7de
  assay serve sessions revoke-all ada
"""
_TOKENS = """examples:
  assay serve tokens add ci --role viewer --days 30 --label "nightly export"
  assay serve tokens list
  assay serve tokens revoke 3f0c2a91b7de

A token is printed once; only its digest is kept. It is sent as `Authorization: Bearer TOKEN`.
"""
_AUDIT = """examples:
  assay serve audit
  assay serve audit --account ada --limit 200 --format csv
"""


def add_commands(commands: Any, formatter: Any) -> None:
    """Add the commands of people to those of `assay serve`."""
    for name, description, examples, add_options in (
        ("users", "accounts: add, list, change their role or password, disable", _USERS, _add_users),
        ("sessions", "open sessions: list, revoke", _SESSIONS, _add_sessions),
        ("tokens", "tokens of programs: add, list, revoke", _TOKENS, _add_tokens),
        ("audit", "the audit log: who did what, when and from where", _AUDIT, _add_audit),
    ):
        part = commands.add_parser(
            name, help=description, description=description, epilog=examples, formatter_class=formatter
        )
        add_options(part)
        add_store(part)


def _add_users(part: argparse.ArgumentParser) -> None:
    part.set_defaults(run=_run_users)
    part.add_argument("verb", choices=tuple(_USER_VERBS), metavar="VERB", help=", ".join(_USER_VERBS))
    part.add_argument("name", nargs="?", metavar="NAME", help="the account")
    part.add_argument("role_name", nargs="?", metavar="ROLE", help=f"the new role: {', '.join(ROLES)}")
    part.add_argument("--role", metavar="ROLE", help="the role of a new account (default: viewer)")
    part.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
    part.add_argument("--no-password", action="store_true", help="a new account without a password")
    add_format(part, FORMATS)


def _add_sessions(part: argparse.ArgumentParser) -> None:
    part.set_defaults(run=_run_sessions)
    part.add_argument("verb", choices=("list", "revoke", "revoke-all"), metavar="VERB")
    part.add_argument(
        "name", nargs="?", metavar="ID|ACCOUNT", help="the session, or with revoke-all the account"
    )
    add_format(part, FORMATS)


def _add_tokens(part: argparse.ArgumentParser) -> None:
    part.set_defaults(run=_run_tokens)
    part.add_argument("verb", choices=("add", "list", "revoke"), metavar="VERB")
    part.add_argument("name", nargs="?", metavar="ACCOUNT|ID", help="the account, or with revoke the token")
    part.add_argument(
        "--role",
        default="viewer",
        metavar="ROLE",
        help="the most that it may do, never more than the account (default: viewer)",
    )
    part.add_argument("--days", type=int, default=90, metavar="N", help="how long it is valid (default: 90)")
    part.add_argument("--label", default="", metavar="TEXT", help="what it is for")
    add_format(part, FORMATS)


def _add_audit(part: argparse.ArgumentParser) -> None:
    part.set_defaults(run=_run_audit)
    part.add_argument("--account", default="", metavar="NAME", help="of this account only")
    part.add_argument("--limit", type=int, default=50, metavar="N", help="at most so many (default: 50)")
    add_format(part, FORMATS)


def _name(arguments: argparse.Namespace) -> str:
    if not arguments.name:
        raise InputError(f"{arguments.verb} expects a name after it, found none")
    return str(arguments.name)


def _run_users(arguments: argparse.Namespace) -> None:
    if arguments.verb == "list":
        people = list_people(arguments.store)
        show_result(
            _Listing(people.accounts), arguments.format, lambda s: render_accounts(people.accounts, s)
        )
        return
    account = _USER_VERBS[arguments.verb](arguments, _name(arguments))
    state = "disabled" if account.disabled_at else account.role
    print(f"{account.name}: {state}", file=sys.stderr)


def _add_user(arguments: argparse.Namespace, name: str) -> Account:
    role = arguments.role or arguments.role_name or "viewer"
    request = AddAccountRequest(
        name=name, role=role, store=arguments.store
    )  # before the password is asked for
    password = None if arguments.no_password else _read_password(arguments, name)
    values = {"name": request.name, "role": role, "store": arguments.store}
    return add_account(AddAccountRequest(**values, password=password))


def _set_role(arguments: argparse.Namespace, name: str) -> Account:
    role = arguments.role_name or arguments.role
    if role is None:
        raise InputError(f"expected the new role of {name} (one of {', '.join(ROLES)}), found none")
    return set_role(RoleRequest(name=name, role=role, store=arguments.store))


def _disable(arguments: argparse.Namespace, name: str) -> Account:
    return disable_account(AccountRequest(name=name, store=arguments.store))


def _enable(arguments: argparse.Namespace, name: str) -> Account:
    return enable_account(AccountRequest(name=name, store=arguments.store))


def _set_password(arguments: argparse.Namespace, name: str) -> Account:
    password = _read_password(arguments, name)
    return set_password(PasswordRequest(name=name, password=password, store=arguments.store))


_USER_VERBS: dict[str, Callable[[argparse.Namespace, str], Account]] = {
    "add": _add_user,
    "list": _add_user,  # handled before: it needs no name
    "role": _set_role,
    "disable": _disable,
    "enable": _enable,
    "password": _set_password,
}


def _read_password(arguments: argparse.Namespace, name: str) -> str:
    """Return the password from standard input, or from the terminal, where it is asked for twice."""
    if arguments.password_stdin:
        return sys.stdin.readline().rstrip("\n")
    if not sys.stdin.isatty():
        raise InputError("there is no terminal to ask for the password: use --password-stdin")
    password = getpass.getpass(f"new password of {name}: ")
    if getpass.getpass("again: ") != password:
        raise InputError("the passwords differ; nothing was changed")
    return password


def _run_sessions(arguments: argparse.Namespace) -> None:
    if arguments.verb == "list":
        sessions = list_people(arguments.store).sessions
        show_result(_Listing(sessions), arguments.format, lambda style: render_sessions(sessions, style))
        return
    if arguments.verb == "revoke":
        account = revoke_session(RevokeRequest(id=_name(arguments), store=arguments.store))
        print(f"the session of {account} has ended", file=sys.stderr)
        return
    count = revoke_sessions(AccountRequest(name=_name(arguments), store=arguments.store))
    print(f"{count} sessions of {arguments.name} have ended", file=sys.stderr)


def _run_tokens(arguments: argparse.Namespace) -> None:
    if arguments.verb == "list":
        tokens = list_people(arguments.store).tokens
        show_result(_Listing(tokens), arguments.format, lambda style: render_tokens(tokens, style))
    elif arguments.verb == "revoke":
        account = revoke_token(RevokeRequest(id=_name(arguments), store=arguments.store))
        print(f"the token of {account} no longer works", file=sys.stderr)
    else:
        names = ("role", "days", "label", "store")
        request = TokenRequest(name=_name(arguments), **{name: getattr(arguments, name) for name in names})
        created = create_token(request)
        note = f"token {created.token.id} as {created.token.role}, until {created.token.expires_at:%Y-%m-%d}"
        print(f"{note}; it is shown only now", file=sys.stderr)
        show(created.secret)


def _run_audit(arguments: argparse.Namespace) -> None:
    log = read_audit_log(
        AuditRequest(account=arguments.account, limit=arguments.limit, store=arguments.store)
    )
    show_result(log, arguments.format, lambda style: render_audit_log(log.entries, style))


class _Listing:
    """Values as plain data."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def to_dict(self) -> Any:
        """Return the JSON of each."""
        return [value.to_dict() for value in self._values]
