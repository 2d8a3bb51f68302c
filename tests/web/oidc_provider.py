"""A double of an OpenID Connect provider on a socket: one person, who is always logged in there."""

import base64
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT_ID, CLIENT_SECRET = "assay", "the secret of the client"


class ProviderDouble:
    """The provider: what it says of the person can be changed, and so can what is wrong with its answers."""

    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "1"}, auto_kid=False)
        self.published_key = self.key
        self.person: dict[str, Any] = {"sub": "42", "email": "Ada@Example.org", "email_verified": True}
        self.claims: dict[str, Any] = {}  # that replace the right ones
        self.requests: dict[str, dict[str, str]] = {}  # by their codes
        self.issuer = ""

    def authorize(self, query: dict[str, str]) -> str:
        """Return the address to which the browser is sent back."""
        code = f"code-{len(self.requests)}"
        self.requests[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """Return the token of a code, None if the request is wrong."""
        request = self.requests.pop(form.get("code", ""), None)
        login = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if request is None or request["code_challenge"] != challenge or ":" not in login:
            return None
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 60,
            "nonce": request["nonce"],
        }
        id_token = jwt.encode(
            {"alg": "RS256", "kid": "1"}, {**claims, **self.person, **self.claims}, self.key
        )
        return {"access_token": "an access token", "token_type": "Bearer", "id_token": id_token}

    def document(self, path: str) -> Any:
        """Return what is published at a path."""
        if path == "/keys":
            return {"keys": [self.published_key.as_dict(private=False)]}
        addresses = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}
        return {"issuer": self.issuer} | {name: self.issuer + path for name, path in addresses.items()}


@contextmanager
def run_provider() -> Iterator[ProviderDouble]:
    """Run the provider on a port of this machine."""
    provider = ProviderDouble()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", provider.authorize(dict(parse_qsl(parts.query))))
                self.end_headers()
            else:
                self._answer(provider.document(parts.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._answer(provider.token(dict(parse_qsl(body)), self.headers.get("Authorization", "")))

        def _answer(self, value: Any) -> None:
            content = json.dumps(value or {"error": "invalid_grant"}).encode()
            self.send_response(200 if value else 400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
