"""The settings of [serve] in assay.toml: the people who use the dashboard, and what they may start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from assay.core.errors import ConfigurationError, InputError
from assay.core.settings import SettingsReader
from assay.workflows.settings import PROJECT_FILE, read_settings

ROLES = ("viewer", "judge", "engineer", "admin")  # each may do what those before it may
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class OidcSettings:
    """The provider at which people log in, and what its claims mean here."""

    issuer: str
    client_id: str
    secret_variable: str = ""  # the environment variable that holds the secret of the client
    name_claim: str = "email"
    role: str = "viewer"  # of a person who logs in for the first time; none: only known accounts
    label: str = "Log in with OpenID Connect"

    @property
    def client_secret(self) -> str:
        """The secret of the client, from the environment; empty for a public client."""
        if not self.secret_variable:
            return ""
        secret = os.environ.get(self.secret_variable, "")
        if not secret:
            raise InputError(
                f"serve.oidc.client_secret_env: expected the secret of the client in the environment "
                f"variable {self.secret_variable}, found none"
            )
        return secret


@dataclass(frozen=True)
class ServeSettings:
    """How the dashboard is used by a team."""

    accounts: bool = False
    public_url: str = ""  # as people open it; empty: on this machine only
    trusted_proxies: tuple[str, ...] = ()
    may_start: tuple[str, ...] = ()  # systems whose commands and callables pages may start
    session_hours: int = 12  # after which a session that is not used ends
    requests_per_minute: int = 600  # of one person or address
    oidc: OidcSettings | None = None


def read_serve_settings(project: str | Path = PROJECT_FILE) -> ServeSettings:
    """Return the settings of [serve]; the defaults if there is no project file or no such table."""
    if not Path(project).is_file():
        return ServeSettings()
    settings = read_settings(project).get("serve", {})
    reader = SettingsReader({"serve": settings}, "").table("serve")
    value = ServeSettings(
        accounts=reader.flag("accounts"),
        public_url=(reader.text("public_url", "an address such as https://assay.example.org") or ""),
        trusted_proxies=tuple(reader.texts("trusted_proxies", "an address, or a list of such")),
        may_start=tuple(reader.texts("may_start", "the name of a system, or a list of such")),
        session_hours=reader.count("session_hours", 12, least=1),
        requests_per_minute=reader.count("requests_per_minute", 600, least=1),
        oidc=_read_oidc(reader),
    )
    reader.names_read.update(("bench", "judges"))  # are read by job_settings
    reader.refuse_unknown()
    if not reader.problems and value.public_url:
        _check(reader, "public_url", public_url_problem(value.public_url))
    if reader.problems:
        raise ConfigurationError(reader.problems, str(project))
    return value


def _read_oidc(reader: SettingsReader) -> OidcSettings | None:
    """Return the provider of [serve.oidc], or none."""
    oidc = reader.table("oidc")
    if not oidc.settings:
        return None
    role = str(oidc.settings.get("role", "viewer"))
    oidc.names_read.add("role")
    if role not in ("", *ROLES):
        oidc.add_problem("role", f'expected one of {", ".join(ROLES)}, or "" for known accounts only')
    values: Mapping[str, Any] = {name: oidc.text(name) or "" for name in ("issuer", "client_id")}
    for name, value in values.items():
        if not value and f"serve.oidc.{name}" not in oidc.problems:
            oidc.add_problem(name, "expected it as the provider names it, found none")
    settings = OidcSettings(
        **values,
        secret_variable=oidc.text("client_secret_env", "the name of an environment variable") or "",
        name_claim=oidc.text("name_claim") or "email",
        role=role,
        label=oidc.text("label") or OidcSettings.label,
    )
    _check(oidc, "issuer", _issuer_problem(settings.issuer))
    oidc.refuse_unknown()
    return settings


def _check(reader: SettingsReader, name: str, problem: str) -> None:
    if problem:
        reader.add_problem(name, problem)


def _issuer_problem(issuer: str) -> str:
    if not issuer or _is_protected(issuer):
        return ""
    return f"expected an https:// address, found {issuer!r}"


def public_url_problem(url: str) -> str:
    """Return what is wrong with the address at which people open the dashboard, or nothing.

    >>> public_url_problem("https://assay.example.org"), public_url_problem("http://10.0.0.5")[:33]
    ('', "expected https://HOST, found 'htt")
    """
    parts = urlsplit(url)
    if _is_protected(url) and parts.path in ("", "/") and not parts.query and not parts.username:
        return ""
    return (
        f"expected https://HOST, found {url!r}: without TLS others on the network could read passwords "
        "and sessions; put a proxy with a certificate in front (assay serve --help)"
    )


def _is_protected(url: str) -> bool:
    """Return whether nobody on the way can read what is sent to an address."""
    parts = urlsplit(url)
    return bool(parts.hostname) and (
        parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK_NAMES)
    )


def may_start(system: str, project: str | Path = PROJECT_FILE) -> bool:
    """Return whether a page may start the command or the callable of a system of assay.toml.

    Only `serve.may_start` in assay.toml allows it, which somebody with access to the machine writes:
    no page can change it.
    """
    return system in read_serve_settings(project).may_start


def check_may_start(system: str, project: str | Path = PROJECT_FILE) -> None:
    """Refuse to start a system that `serve.may_start` does not name."""
    if not may_start(system, project):
        raise InputError(
            f"the system {system} cannot be started from a page: an admin allows it in {project} by "
            f'may_start = ["{system}"] under [serve]'
        )
