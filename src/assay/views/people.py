"""Accounts, sessions and tokens of the dashboard, and its audit log, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from assay.core.accounts import Account, ApiToken, AuditEntry, Session
from assay.views import text
from assay.views.experiments import format_time
from assay.views.numbers import NO_VALUE
from assay.views.sections import Section, render_sections


def render_accounts(accounts: Sequence[Account], style: str) -> str:
    """Accounts, one per line."""
    head = ["account", "role", "logs in by", "state", "since"]
    rows = [
        [
            a.name,
            a.role,
            describe_login(a),
            "disabled" if a.disabled_at else "open",
            _time(a.created_at, style),
        ]
        for a in accounts
    ]
    return _render("Accounts", "no account: assay serve users add NAME --role admin", head, rows, style)


def describe_login(account: Account) -> str:
    """How an account logs in.

    >>> describe_login(Account("ci", "viewer", datetime(2026, 1, 31)))
    'token, or OpenID Connect at the first login'
    """
    if account.has_password:
        return "password"
    return "OpenID Connect" if account.subject else "token, or OpenID Connect at the first login"


def render_sessions(sessions: Sequence[Session], style: str) -> str:
    """Open sessions, one per line."""
    head = ["session", "account", "from", "browser", "last used", "ends"]
    rows = [
        [s.id, s.account, s.address, s.agent, _time(s.seen_at, style), _time(s.expires_at, style)]
        for s in sessions
    ]
    return _render("Sessions", "nobody is logged in", head, rows, style)


def render_tokens(tokens: Sequence[ApiToken], style: str) -> str:
    """Tokens, one per line."""
    head = ["token", "account", "label", "role", "last used", "expires"]
    rows = [
        [t.id, t.account, t.label, t.role, _time(t.used_at, style), _time(t.expires_at, style)]
        for t in tokens
    ]
    return _render("Tokens", "no token: assay serve tokens add ACCOUNT", head, rows, style)


def render_audit_log(entries: Sequence[AuditEntry], style: str) -> str:
    """Entries of the audit log, one per line."""
    head = ["at", "account", "action", "target", "result", "from"]
    rows = [[_time(e.at, style), e.account, e.action, e.target, e.result, e.address] for e in entries]
    return _render("Audit log", "nothing is noted yet", head, rows, style)


def _time(at: datetime | None, style: str) -> str:
    if at is None:
        return "" if style == "csv" else NO_VALUE
    return at.isoformat() if style == "csv" else format_time(at)


def _render(title: str, empty: str, head: Sequence[str], rows: Sequence[Sequence[str]], style: str) -> str:
    if style == "csv":
        return text.render_csv(head, rows)
    return render_sections(title, [Section("", () if rows else [empty], head, rows)], style)
