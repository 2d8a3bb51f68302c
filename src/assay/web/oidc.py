"""Log in at an OpenID Connect provider: authorization code with PKCE, and an ID token that is checked."""

from __future__ import annotations

import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import OAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from assay.core.errors import InputError
from assay.workflows.serve_settings import OidcSettings

_TIMEOUT = 10.0  # seconds for each answer of the provider
_LEEWAY = 60  # seconds by which its clock may differ
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_FIELDS = ("state", "nonce", "verifier", "next")
_CALLBACK = "/login/oidc/callback"


class OidcLogin:
    """Logins at one provider; its addresses and keys are read anew for each login."""

    def __init__(self, provider: OidcSettings, public_url: str) -> None:
        self.provider, self._public_url = provider, public_url.rstrip("/")
        self._secret = provider.client_secret  # missing: refused when the server starts

    def start(self, next_path: str, base_url: str) -> tuple[str, dict[str, str]]:
        """Return the address at the provider, and what the browser must come back with."""
        state = {name: secrets.token_urlsafe(32) for name in _FIELDS[:3]} | {"next": next_path}
        with self._client(base_url) as client:
            address, _ = client.create_authorization_url(
                self._discover(client)["authorization_endpoint"],
                state=state["state"],
                nonce=state["nonce"],
                code_verifier=state["verifier"],
            )
        return str(address), state

    def finish(self, code: str, state: Mapping[str, str], base_url: str) -> Mapping[str, Any]:
        """Return what the provider says of the person, after its signature and purpose were checked."""
        try:
            with self._client(base_url) as client:
                addresses = self._discover(client)
                token = client.fetch_token(
                    addresses["token_endpoint"], code=code, code_verifier=state["verifier"]
                )
                keys = KeySet.import_key_set({"keys": _get_json(client, addresses["jwks_uri"])["keys"]})
            return self._check(token, keys, state["nonce"])
        except (AuthlibBaseError, JoseError, httpx2.HTTPError, KeyError, ValueError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"the provider's answer cannot be used ({type(error).__name__})") from None

    def _check(self, token: Mapping[str, Any], keys: KeySet, nonce: str) -> Mapping[str, Any]:
        decoded = jwt.decode(token["id_token"], keys, algorithms=_ALGORITHMS)
        client_id = self.provider.client_id
        options = {
            "iss": {"essential": True, "value": self.provider.issuer},
            "aud": {"essential": True, "value": client_id},
            "nonce": {"essential": True, "value": nonce},
        }
        params = {"nonce": nonce, "client_id": client_id, "access_token": token.get("access_token")}
        claims = CodeIDToken(decoded.claims, decoded.header, options, params)
        claims.validate(leeway=_LEEWAY)
        return dict(claims)

    def _client(self, base_url: str) -> OAuth2Client:
        return OAuth2Client(
            self.provider.client_id,
            self._secret or None,
            scope="openid email profile",
            redirect_uri=f"{self._public_url or base_url.rstrip('/')}{_CALLBACK}",
            code_challenge_method="S256",
            token_endpoint_auth_method="client_secret_basic" if self._secret else "none",
            timeout=_TIMEOUT,
        )

    def _discover(self, client: OAuth2Client) -> Mapping[str, Any]:
        """Return the addresses of the provider, which must be those of the issuer in the settings."""
        address = f"{self.provider.issuer.rstrip('/')}/.well-known/openid-configuration"
        try:
            addresses = _get_json(client, address)
        except (httpx2.HTTPError, ValueError) as error:
            raise InputError(f"the provider cannot be reached ({type(error).__name__})") from None
        if addresses.get("issuer") != self.provider.issuer:
            raise InputError(f"the provider calls itself {str(addresses.get('issuer'))[:80]!r}")
        return addresses


def _get_json(client: OAuth2Client, address: str) -> Mapping[str, Any]:
    response = client.request("GET", address, withhold_token=True)
    response.raise_for_status()
    value = response.json()
    if not isinstance(value, dict):
        raise ValueError("expected an object")
    return value


def write_state(state: Mapping[str, str]) -> str:
    """Return what a browser must come back with as the value of a cookie."""
    return urlsafe_b64encode(json.dumps(dict(state)).encode()).decode()


def read_state(cookie: str) -> dict[str, str] | None:
    """Return the state of a cookie, None if it is none.

    >>> read_state(write_state({"state": "s", "nonce": "n", "verifier": "v", "next": "/"}))["state"]
    's'
    >>> read_state("x"), read_state("")
    (None, None)
    """
    try:
        state = json.loads(urlsafe_b64decode(cookie))
        return {name: str(state[name]) for name in _FIELDS}
    except (ValueError, KeyError, TypeError):
        return None
