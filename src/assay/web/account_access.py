"""Access for a team: every request needs a session or a token, and every change is noted."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.core.errors import AssayError
from assay.web.access import CSRF_HEADER, address_of
from assay.web.account_sessions import NO_TOKEN, AccountSessions, identity_of, is_cross_site, is_same
from assay.web.error_pages import error_response, wants_json
from assay.web.login import add_login
from assay.web.page import Role
from assay.workflows.authentication import Identity

_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
_OPEN_PATHS = {"/health", "/login", "/login/oidc", "/login/oidc/callback"}  # that need no login
_OWN_TOKEN_CHECK = {"/login", "/logout"}  # forms that work without JavaScript carry it as a field
# Their entries say more, or, as labels, have a log of their own, which names the rater.
_NOTED_BY_WORKFLOW = ("/login", "/logout", "/people", "/account", "/annotate/")
_FOR_PEOPLE_ONLY = ("/people", "/account")  # a stolen token must not create another
_MAX_SMALL_BODY = 64 * 1024  # bytes: the most of a request that uploads nothing
_STRICT_TRANSPORT = "max-age=31536000"


class AccountAccess(AccountSessions):
    """Access by accounts: whoever asks is looked up anew for each request, so that changes hold at once."""

    def install(self, app: FastAPI) -> None:
        """Add the checks of every request, and the pages to log in."""
        add_login(app, self)
        app.add_middleware(AccountRequests, access=self)


class AccountRequests:
    """A middleware that lets nobody in without a session or a token; what is not allowed here is refused."""

    def __init__(self, app: ASGIApp, access: AccountAccess) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on if it is allowed, else answer why not; note changes in the audit log."""
        if scope["type"] == "websocket":
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request, status = Request(scope), [500]

        async def send_noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
                if self.access.is_secure:
                    MutableHeaders(scope=message)["Strict-Transport-Security"] = _STRICT_TRANSPORT
            await send(message)

        try:
            refusal = await run_in_threadpool(self._refusal, request)
            await (refusal or self.app)(scope, receive, send_noted)
        except AssayError as error:  # the store does not answer
            await JSONResponse({"error": str(error)}, 503)(scope, receive, send_noted)
        finally:
            if scope["method"] not in _SAFE_METHODS:
                await run_in_threadpool(self._note, request, status[0])

    def _refusal(self, request: Request) -> Response | None:
        """Return why a request is not allowed, None if it is."""
        if urlsplit(f"//{request.headers.get('host', '')}").hostname not in self.access.hosts:
            return JSONResponse({"error": "this dashboard does not answer to this name"}, 421)
        identity = self._identify(request)
        request.scope.setdefault("state", {})["identity"] = identity
        seconds = self.access.limits.seconds_until_request(identity.name if identity else address_of(request))
        if seconds:
            return self._refuse_often(request, seconds)
        if request.url.path in _OPEN_PATHS or request.url.path.startswith("/static/"):
            return _refuse_long_body(request)
        if identity is None:
            return self._ask_to_log_in(request)
        can_upload = Role[identity.role.upper()] >= Role.ENGINEER
        return self._refuse_change(request, identity) or (None if can_upload else _refuse_long_body(request))

    def _refuse_often(self, request: Request, seconds: int) -> Response | None:
        if not seconds:
            return None
        message = f"too many requests: try again in {seconds} s"
        return error_response(request, 429, message, {"Retry-After": str(seconds)})

    def _identify(self, request: Request) -> Identity | None:
        """Return who sends a request: by the token if there is one, else by the session."""
        authorization = request.headers.get("authorization", "")
        if authorization:
            scheme, _, secret = authorization.partition(" ")
            is_bearer = scheme.lower() == "bearer"
            return self.access.authentication.token_identity(secret.strip()) if is_bearer else None
        secret = self.access.session_secret(request)
        return self.access.authentication.session_identity(secret) if secret else None

    def _ask_to_log_in(self, request: Request) -> Response:
        has_token = "authorization" in request.headers
        is_page = request.method in _SAFE_METHODS and not wants_json(request) and not has_token
        shown = urlsplit(
            request.headers.get("hx-current-url", str(request.url))
        )  # the page, not a part of it
        address = quote(shown.path + (f"?{shown.query}" if shown.query else ""), safe="/")
        if is_page and "hx-request" not in request.headers:
            return RedirectResponse(f"/login?next={address}", 303)
        problem = (
            "the token is not valid, or it has expired" if has_token else "log in first, or send a token"
        )
        return JSONResponse(
            {"error": problem}, 401, {"WWW-Authenticate": "Bearer", "HX-Redirect": f"/login?next={address}"}
        )

    def _refuse_change(self, request: Request, identity: Identity) -> Response | None:
        """Return why a change is refused: another site may have sent it, or a token that must not."""
        path = request.url.path
        if identity.is_token:
            is_for_people = path.startswith(_FOR_PEOPLE_ONLY) and request.method not in _SAFE_METHODS
            problem = "accounts and tokens are changed by a person who is logged in" if is_for_people else ""
            return error_response(request, 403, problem) if problem else None
        if request.method in _SAFE_METHODS or path in _OWN_TOKEN_CHECK:
            return None
        token = request.headers.get(CSRF_HEADER, "")
        if is_cross_site(request) or not is_same(token, self.access.csrf_token(request)):
            return error_response(request, 403, NO_TOKEN)
        if (
            path == "/account/password"
        ):  # it asks for the present one: not for a guesser with a stolen session
            return self._refuse_often(
                request, self.access.limits.seconds_until_login(identity.name, address_of(request))
            )
        return None

    def _note(self, request: Request, status: int) -> None:
        """Add a change to the audit log, unless the workflow that made it has done so."""
        path, identity = request.url.path, identity_of(request)
        is_login_attempt = path == "/login" and status in (401, 429)
        if is_login_attempt or (status < 400 and path.startswith(_NOTED_BY_WORKFLOW)):
            return
        result = "done" if status < 400 else f"refused ({status})"
        name, address = (identity.name if identity else ""), address_of(request)
        self.access.authentication.note(name, request.method, path, result, address)


def _refuse_long_body(request: Request) -> Response | None:
    """Return why a body is refused of whoever has nothing to upload: it is long, or does not say its length.

    The framework would read it before the role is checked.
    """
    is_empty = "content-length" not in request.headers and "transfer-encoding" not in request.headers
    if request.method in _SAFE_METHODS or is_empty:
        return None
    length = request.headers.get("content-length", "")
    is_short = length.isdecimal() and int(length[:20]) <= _MAX_SMALL_BODY
    problem = f"expected at most {_MAX_SMALL_BODY} bytes, because only engineers upload files"
    return None if is_short else error_response(request, 413, problem)
