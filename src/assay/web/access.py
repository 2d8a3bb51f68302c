"""Who may use the dashboard: one person on this machine, without a login."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from assay.web.page import Context, Role

_LOOPBACK_NAMES = {"127.0.0.1", "localhost", "::1"}
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
CSRF_HEADER = "x-csrf-token"


class Access:
    """Access for one person: only requests that name this machine, and changes only from its own pages.

    A page of another site cannot read the token, so it cannot make a change.
    """

    has_login = False  # whether people log in and out

    def __init__(self, store: str, benches: Mapping[str, str] | None = None) -> None:
        self.store, self.benches = store, benches or {}
        self._token = secrets.token_urlsafe(32)

    def context(self, request: Request) -> Context:
        """Return the context of a request: the only person, who may do everything."""
        return Context(self.store, benches=self.benches, address=address_of(request))

    def csrf_token(self, request: Request) -> str:
        """Return the token that every change must carry."""
        return self._token

    def install(self, app: FastAPI) -> None:
        """Add the checks of every request to an application."""
        app.add_middleware(LocalRequests, token=self._token)

    def close(self) -> None:
        """Close what stays open while a server runs."""


def address_of(request: Request) -> str:
    """Return the address of the machine that a request comes from."""
    return request.client.host if request.client else ""


class LocalRequests:
    """A middleware that refuses other host names (DNS rebinding) and changes without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on if it is allowed, else answer why not."""
        problem = self._problem(scope) if scope["type"] == "http" else ""
        if problem:
            await JSONResponse({"error": problem}, 403)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _problem(self, scope: Scope) -> str:
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        host = urlsplit(f"//{headers.get('host', '')}").hostname
        if host not in _LOOPBACK_NAMES:
            return "this dashboard answers only to 127.0.0.1 and localhost"
        token = headers.get(CSRF_HEADER, "")
        is_change = scope["method"] not in _SAFE_METHODS
        if is_change and not hmac.compare_digest(token.encode(), self._token.encode()):
            return "the change carries no token of this dashboard; reload the page and try again"
        return ""


def require_role(role: Role) -> Any:
    """Return the check of a route that refuses a person without the role before it reads the request."""

    async def check_role(request: Request) -> None:
        context_of(request, role)

    check_role.role = role  # type: ignore[attr-defined]  # the tests read it from the table of routes
    return Depends(check_role)


def context_of(request: Request, role: Role) -> Context:
    """Return the context of a request, or refuse it if the person lacks the role."""
    context: Context = request.app.state.access.context(request)
    if context.role < role:
        raise HTTPException(
            403, f"this needs the role {role.name.lower()}, yours is {context.role.name.lower()}"
        )
    return context
