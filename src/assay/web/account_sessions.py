"""Sessions of people with accounts: cookies, tokens of changes, and who sent a request."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from assay.web.access import Access, address_of
from assay.web.page import Context, Role
from assay.web.request_limits import RequestLimits
from assay.workflows.authentication import Authentication, Client, Identity
from assay.workflows.serve_settings import LOOPBACK_NAMES, ServeSettings

NO_TOKEN = "the change carries no token of this session; reload the page and try again"


class AccountSessions(Access):
    """The sessions of accounts: their cookies, and who sent a request."""

    has_login = True

    def __init__(self, store: str, settings: ServeSettings, benches: Mapping[str, str] | None = None) -> None:
        super().__init__(store, benches)
        self.settings = settings
        self.authentication = Authentication(store, settings)
        self.limits = RequestLimits(settings.requests_per_minute)
        self.is_secure = settings.public_url.startswith("https://")
        # A browser accepts the prefix only from this very host by https.
        self.cookie = "__Host-assay" if self.is_secure else "assay"
        self.hosts = {*LOOPBACK_NAMES, urlsplit(settings.public_url).hostname or "localhost"}

    def close(self) -> None:
        """Close the store of accounts and sessions."""
        self.authentication.close()

    def context(self, request: Request) -> Context:
        """Return who asks, with the role; refused if nobody is logged in."""
        identity = identity_of(request)
        if identity is None:
            raise HTTPException(401, "log in first")
        role = Role[identity.role.upper()]
        return Context(self.store, identity.name, role, self.benches, address_of(request))

    def csrf_token(self, request: Request) -> str:
        """Return the token of the session, which no other site can read."""
        return derive_token(self.session_secret(request), "change")

    def session_secret(self, request: Request) -> str:
        """Return the secret of the session from the cookie, empty if there is none."""
        return request.cookies.get(self.cookie, "")

    def set_session(self, response: Response, secret: str) -> None:
        """Have the browser keep a session."""
        response.set_cookie(self.cookie, secret, httponly=True, samesite="lax", secure=self.is_secure)

    def drop_session(self, response: Response) -> None:
        """Have the browser forget its session."""
        response.delete_cookie(self.cookie, httponly=True, samesite="lax", secure=self.is_secure)


def identity_of(request: Request) -> Identity | None:
    """Return who sent a request, as the middleware found it."""
    identity: Identity | None = request.scope.get("state", {}).get("identity")
    return identity


def client_of(request: Request) -> Client:
    """Return where a request comes from."""
    return Client(address_of(request), request.headers.get("user-agent", ""))


def derive_token(secret: str, purpose: str) -> str:
    """Return a token that belongs to a secret and from which the secret cannot be found.

    >>> derive_token("a", "change") == derive_token("a", "login"), derive_token("", "change")
    (False, '')
    """
    if not secret:
        return ""
    return urlsafe_b64encode(hmac.digest(secret.encode(), purpose.encode(), sha256)).decode().rstrip("=")


def is_same(one: str, other: str) -> bool:
    """Return whether two tokens are the same and there is one; it takes the same time for any two."""
    return bool(one) and hmac.compare_digest(one.encode(), other.encode())


def is_cross_site(request: Request) -> bool:
    """Return whether a browser says that another site sent a request."""
    return request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
