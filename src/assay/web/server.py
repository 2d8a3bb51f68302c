"""Serve the dashboard with uvicorn, for one person or for a team."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import uvicorn

from assay.core.errors import InputError, MissingExtraError
from assay.web.access import Access
from assay.web.app import create_app
from assay.web.long_reads import PATIENCE
from assay.workflows.accounts import list_people
from assay.workflows.bench_folders import name_benches
from assay.workflows.serve_settings import (
    LOOPBACK_NAMES,
    ServeSettings,
    public_url_problem,
    read_serve_settings,
)
from assay.workflows.settings import PROJECT_FILE
from assay.workflows.store_location import store_url


@dataclass(frozen=True, kw_only=True)
class ServeRequest:
    """Where to listen, the store whose experiments are shown, and who may see them."""

    host: str = "127.0.0.1"
    port: int = 8765
    store: str | None = None
    benches: Sequence[str] = ()  # folders of trials that may be shown
    accounts: bool | None = None  # None: as [serve] of the project says
    public_url: str | None = None
    trusted_proxies: Sequence[str] = ()
    project: str | Path = PROJECT_FILE

    def __post_init__(self) -> None:
        if not 0 <= self.port < 65536:
            raise InputError(f"--port expects a number from 0 to 65535, found {self.port}")
        if self.host in LOOPBACK_NAMES:
            return
        if not self.settings.accounts:
            raise InputError(
                f"--host {self.host}: without a login the dashboard listens on 127.0.0.1 only, because "
                "everybody who reaches it could read and change everything; with --accounts people log in"
            )
        if not self.settings.public_url:
            raise InputError(
                f"--host {self.host} needs --public-url https://HOST, the address at which people open it"
            )

    @cached_property
    def settings(self) -> ServeSettings:
        """The settings of the project, with what the request replaces."""
        settings = read_serve_settings(self.project)
        given: dict[str, Any] = {
            "accounts": self.accounts,
            "public_url": self.public_url,
            "trusted_proxies": tuple(self.trusted_proxies) or None,
        }
        problem = public_url_problem(self.public_url) if self.public_url else ""
        if problem:
            raise InputError(f"--public-url: {problem}")
        return replace(settings, **{name: value for name, value in given.items() if value is not None})


def serve(request: ServeRequest, report: Callable[[str], None]) -> None:
    """Serve the pages until the process is stopped; `report` is called with the address."""
    app = create_app(_access(request), patience=PATIENCE)
    proxies = list(request.settings.trusted_proxies)
    config = uvicorn.Config(
        app,
        request.host,
        request.port,
        log_level="warning",
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies,
    )
    socket = config.bind_socket()
    socket.listen()  # who reads the address may connect at once
    host, port = socket.getsockname()[:2]
    report(f"http://{f'[{host}]' if ':' in host else host}:{port}")
    uvicorn.Server(config).run(sockets=[socket])


def _access(request: ServeRequest) -> Access:
    store, settings = store_url(request.store, request.project), request.settings
    benches = name_benches(request.benches, store)
    if not settings.accounts:
        return Access(store, benches)
    try:
        from assay.web.account_access import AccountAccess  # loads what only a team needs
    except ImportError as error:
        raise MissingExtraError(str(error.name), "a dashboard with accounts", "web") from None
    if settings.oidc is None and not _has_accounts(store):
        raise InputError(
            "nobody could log in: add an account first (assay serve users add NAME --role admin), or name "
            "a provider in [serve.oidc]"
        )
    return AccountAccess(store, settings, benches)


def _has_accounts(store: str) -> bool:
    """Return whether anybody can log in; a store that does not exist is not created."""
    try:
        accounts = list_people(store).accounts
    except InputError:
        return False
    return any(account.disabled_at is None for account in accounts)
