"""Log in and out: by password, also without JavaScript, or at an OIDC provider."""

from __future__ import annotations

import secrets
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Form, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from assay.core.errors import InputError
from assay.web.access import CSRF_HEADER
from assay.web.account_sessions import (
    NO_TOKEN,
    AccountSessions,
    client_of,
    derive_token,
    identity_of,
    is_cross_site,
    is_same,
)
from assay.web.oidc import OidcLogin, read_state, write_state
from assay.web.rendering import render

_WRONG_LOGIN = "The name or the password is wrong."
_STATE_SECONDS = 600  # in which a login at the provider must end


def add_login(app: FastAPI, access: AccountSessions) -> None:
    """Add the pages to log in and out, and an address that says whether the server runs."""
    pages = LoginPages(access)
    for path, function in (("/login", pages.show), ("/health", pages.health)):
        app.get(path, include_in_schema=False)(function)
    app.post("/login", include_in_schema=False)(pages.log_in)
    app.post("/logout", include_in_schema=False)(pages.log_out)
    if access.settings.oidc is not None:
        app.get("/login/oidc", include_in_schema=False)(pages.go_to_provider)
        app.get("/login/oidc/callback", include_in_schema=False)(pages.return_from_provider)


class LoginPages:
    """The pages to log in and out."""

    def __init__(self, access: AccountSessions) -> None:
        self.access = access
        self._form_cookie, self._state_cookie = f"{access.cookie}-form", f"{access.cookie}-state"
        provider = access.settings.oidc
        self.oidc = OidcLogin(provider, access.settings.public_url) if provider else None

    def health(self) -> Response:
        """Return that the server runs."""
        return JSONResponse({"status": "ok"})

    def show(self, request: Request, next: str = "/") -> Response:  # noqa: A002
        """Return the form; whoever is logged in goes on."""
        if identity_of(request) is not None:
            return RedirectResponse(local_path(next), 303)
        return self._form(request, next)

    def log_in(
        self,
        request: Request,
        name: Annotated[str, Form()] = "",
        password: Annotated[str, Form()] = "",
        csrf: Annotated[str, Form()] = "",
        next: Annotated[str, Form()] = "/",  # noqa: A002
    ) -> Response:
        """Open a new session, whatever session the browser had before."""
        expected = derive_token(request.cookies.get(self._form_cookie, ""), "login")
        if is_cross_site(request) or not is_same(csrf, expected):
            return self._form(request, next, "The form was too old: try again.", 403)
        client = client_of(request)
        seconds = self.access.limits.seconds_until_login(name, client.address)
        if seconds:
            self.access.authentication.note("", "login", name, "too many attempts", client.address)
            return self._form(request, next, f"Too many attempts: try again in {seconds} s.", 429, seconds)
        secret = self.access.authentication.log_in(name, password, client)
        if secret is None:
            return self._form(request, next, _WRONG_LOGIN, 401)
        return self._enter(request, secret, next)

    def log_out(self, request: Request, csrf: Annotated[str, Form()] = "") -> Response:
        """End the session."""
        secret, identity = self.access.session_secret(request), identity_of(request)
        token = csrf or request.headers.get(CSRF_HEADER, "")
        if is_cross_site(request) or not is_same(token, self.access.csrf_token(request)):
            raise HTTPException(403, NO_TOKEN)
        if identity is not None:
            self.access.authentication.log_out(secret, identity, client_of(request))
        response = RedirectResponse("/login", 303)
        self.access.drop_session(response)
        return response

    def go_to_provider(self, request: Request, next: str = "/") -> Response:  # noqa: A002
        """Send the browser to the provider, and remember what it must come back with."""
        assert self.oidc is not None
        address, state = self.oidc.start(local_path(next), str(request.base_url))
        response = RedirectResponse(address, 303)
        self._set_cookie(response, self._state_cookie, write_state(state), _STATE_SECONDS)
        return response

    def return_from_provider(
        self, request: Request, state: str = "", code: str = "", error: str = ""
    ) -> Response:
        """Open a session for the person that the provider names."""
        assert self.oidc is not None
        provider = self.oidc.provider
        kept = read_state(request.cookies.get(self._state_cookie, ""))
        try:
            if kept is None or not is_same(state, kept["state"]):
                raise InputError("the login was not begun in this browser, or it took too long")
            if error or not code:
                raise InputError(f"the provider answered {error[:80]!r}")
            claims = self.oidc.finish(code, kept, str(request.base_url))
            client = client_of(request)
            secret = self.access.authentication.log_in_by_oidc(provider, claims, client)
        except InputError as problem:
            return self._form(request, "/", f"Not logged in: {problem}.", 403)
        response = self._enter(request, secret, kept["next"])
        self._set_cookie(response, self._state_cookie, "", 0)
        return response

    def _enter(self, request: Request, secret: str, next_path: str) -> Response:
        """Give the browser its new session; the one before ends."""
        before = self.access.session_secret(request)
        if before:
            self.access.authentication.end_session(before)
        response = RedirectResponse(local_path(next_path), 303)
        self.access.set_session(response, secret)
        self._set_cookie(response, self._form_cookie, "", 0)
        return response

    def _form(
        self, request: Request, next_path: str, problem: str = "", status: int = 200, seconds: int = 0
    ) -> Response:
        secret = request.cookies.get(self._form_cookie) or secrets.token_urlsafe(32)
        values: dict[str, Any] = {
            "csrf": derive_token(secret, "login"),
            "next": local_path(next_path),
            "problem": problem,
            "oidc": self.access.settings.oidc,
        }
        headers = {"Retry-After": str(seconds)} if seconds else None
        response = HTMLResponse(render("login.html", **values), status, headers)
        self._set_cookie(response, self._form_cookie, secret, 3600)
        return response

    def _set_cookie(self, response: Response, name: str, value: str, seconds: int) -> None:
        is_secure = self.access.is_secure
        response.set_cookie(name, value, seconds, httponly=True, samesite="lax", secure=is_secure)


def local_path(address: str) -> str:
    r"""Return an address if it is a path of this dashboard, else that of the first page.

    >>> paths = ("/compare?a=1", "//evil.example", "/\\evil.example", "https://x", "/login")
    >>> [local_path(path) for path in paths]
    ['/compare?a=1', '/', '/', '/', '/']
    """
    is_plain = address.isprintable() and "\\" not in address and address.startswith("/")
    if not is_plain or address.startswith(("//", "/login")) or urlsplit(address).netloc:
        return "/"
    return address
