"""The HTTP client over a real server: connections, errors, limits and redaction."""

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.remote.connection import Response
from assay.remote.deadline import deadline
from assay.remote.errors import RemoteError
from assay.remote.http import HttpClient


class Handler(BaseHTTPRequestHandler):
    """Echoes a request, or behaves as its path says."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "Server"

    def handle(self) -> None:
        self.server.connections += 1
        super().handle()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/slow":
            time.sleep(0.5)
        status = int(self.path[1:]) if self.path[1:].isdecimal() else 200
        content = b"" if self.path == "/empty" else self.echo(body)
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if self.path == "/plain" else "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST  # noqa: N815  # as the base class looks for it

    def echo(self, body: bytes) -> bytes:
        if self.path == "/page":
            return b"<html>"
        headers = {name.lower(): value for name, value in self.headers.items()}
        return json.dumps({"message": f"no, {headers}", "headers": headers, "body": body.decode()}).encode()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as in the base class
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    connections = 0


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}"


def failure(client: HttpClient, target: str, **options: Any) -> RemoteError:
    with pytest.raises(RemoteError) as caught:
        client.call("POST", target, {}, **options)
    client.close()
    return caught.value


def test_json_is_sent_and_returned(url: str) -> None:
    client = HttpClient(url, {"X-Tenant": "acme"})
    response = client.call("POST", "/echo", {"a": [1, "ö"]})
    assert json.loads(response["body"]) == {"a": [1, "ö"]}
    assert response["headers"]["content-type"] == "application/json"
    assert response["headers"]["x-tenant"] == "acme"
    assert client.call("GET", "/echo")["body"] == ""
    assert client.call("POST", "/echo", b"raw", content_type="application/zip")["body"] == "raw"
    client.close()


def test_one_connection_is_kept_for_one_thread_after_another(server: Server, url: str) -> None:
    client = HttpClient(url)
    for _ in range(3):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(client.call, "GET", "/echo").result()
    assert server.connections == 1
    client.close()
    client.call("GET", "/echo")
    assert server.connections == 2
    client.close()


def test_threads_have_connections_of_their_own(server: Server, url: str) -> None:
    client = HttpClient(url)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: client.call("GET", "/slow"), range(4)))
    assert server.connections == 4
    client.close()


@pytest.mark.parametrize(
    ("status", "kind", "is_transient"),
    [(400, "status", False), (408, "status", True), (429, "limited", True), (501, "status", True)],
)
def test_the_status_decides_whether_an_error_is_transient(
    url: str, status: int, kind: str, is_transient: bool
) -> None:
    error = failure(HttpClient(url), f"/{status}")
    assert (error.kind, error.is_transient, error.status) == (kind, is_transient, status)
    assert f"{url} answered {status}: no," in error.reason


def test_an_empty_response_is_none_only_if_it_is_allowed(url: str) -> None:
    client = HttpClient(url)
    assert client.call("POST", "/empty", allow_empty=True) is None
    assert failure(client, "/empty").kind == "malformed"


def test_a_response_that_is_not_json_is_malformed_and_shown(url: str) -> None:
    client = HttpClient(url)
    assert client.call("GET", "/plain")["body"] == ""
    assert "answered with no JSON (" in failure(client, "/page").reason


def test_a_response_beyond_the_limit_is_not_read(url: str) -> None:
    error = failure(HttpClient(url, max_bytes=10), "/echo")
    assert (error.kind, "more than 10 bytes" in error.reason) == ("too large", True)


def test_the_shortest_of_all_timeouts_counts(url: str) -> None:
    for client, options in ((HttpClient(url, timeout=0.1), {}), (HttpClient(url), {"timeout": 0.1})):
        error = failure(client, "/slow", **options)
        assert (error.kind, error.reason) == ("timeout", f"{url} did not answer in 0.1 s")
    with deadline(time.monotonic()):
        assert failure(HttpClient(url, timeout=60), "/echo").reason == f"{url} did not answer in 0 s"


def test_a_server_that_cannot_be_reached_is_named_by_its_label() -> None:
    error = failure(HttpClient("http://127.0.0.1:1", label="Qdrant at 127.0.0.1:1"), "/")
    assert (error.kind, error.is_transient) == ("connection", True)
    assert error.reason.startswith("Qdrant at 127.0.0.1:1 cannot be reached: ")


def test_credentials_are_sent_and_taken_out_of_errors(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    login = HttpClient(url.replace("//", "//ada:p%40ss@"))
    assert login.label == url
    assert "'authorization': 'Basic …'" in failure(login, "/401").reason
    assert "'api-key': '…'" in failure(HttpClient(url, {"api-key": "a-literal-key"}), "/401").reason
    monkeypatch.setenv("TENANT", "acme-and-sons")
    tenant = HttpClient(url, {"X-Tenant": "acme-and-sons"}, secrets={"TENANT"})
    assert "'x-tenant': '${TENANT}'" in failure(tenant, "/401").reason


def test_a_redirect_is_an_error_that_says_where_to() -> None:
    headers = HTTPMessage()
    headers["Location"] = "https://ada:hush@b.org/x?key=1"
    error = HttpClient("http://a.org/base/")._status_error(Response(301, headers, b""))
    assert error.reason == "http://a.org answered 301 and redirects to https://…@b.org/x: use that as url"


def test_a_url_of_another_scheme_is_refused_without_its_login() -> None:
    with pytest.raises(InputError, match=r"expected http://HOST:PORT, found 'ftp://…@nowhere'"):
        HttpClient("ftp://me:secret@nowhere")
    assert HttpClient("http://a.org/base/").base_path == "/base"
