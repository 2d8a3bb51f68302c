"""A small search service over HTTP: a process that behaves, or fails, as the path says.

Every path takes the query as `q` and the number of documents as `k` in the URL or in a JSON body, and answers
`{"hits": [{"id": …, "score": …}], "total": n}`, but

    /ok                         at once
    /slow?ms=50                 after a while
    /drip?ms=20                 byte by byte, ms between two
    /flaky?status=500&every=3   fails on every third request
    /reset?every=1              cuts the connection with RST instead of an answer, on every n-th request
    /cut                        ends in the middle of the body
    /malformed?every=1          no JSON, though it says so, on every n-th request
    /wrong-type                 HTML
    /huge?mb=11                 a body that is too large
    /hang?every=1               never answers, on every n-th request
    /limited?rate=10            429 and Retry-After beyond rate requests a second
    /limited?date=1             429 and a Retry-After that is a date
    /pages?size=2               a part, by `page` (from 1) or `offset`, with the URL of the next in `next`
    /moved                      a redirect
    /secret                     401 unless Authorization is as ?expect= says; the error repeats the header
    /stall?at=20&ms=500         answers nobody for ms, once, from the n-th request on
    /stats                      how often each path was asked, and each query under it: {"/ok": {"how": 2}}
    /forget                     forgets that

The documents are DOCUMENTS; the score of one is the number of words it shares with the query.
"""

import json
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

DOCUMENTS = {
    "d1": "reset the password of an account",
    "d2": "reset the router to its factory settings",
    "d3": "change the password",
    "d4": "the router does not connect",
    "d5": "größe und straße ändern",
    "7": "invoice number seven",
    "d8": "パスワード を 変更 する",
}
FOREVER = 3600.0


def ranking(query: str) -> list[tuple[str, float]]:
    """Return every document that shares words with a query, best first."""
    asked = query.lower().split()
    scores = {key: float(sum(text.split().count(word) for word in asked)) for key, text in DOCUMENTS.items()}
    return sorted(((key, score) for key, score in scores.items() if score), key=lambda pair: -pair[1])


class State:
    """The counters of the server."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.asked: dict[str, Counter[str]] = {}
        self.times: deque[float] = deque()
        self.stalled = 0.0  # no request is answered before this time

    def count_request(self, path: str, query: str) -> int:
        """Count a request; return its number among those of its path."""
        with self.lock:
            self.counts[path] += 1
            self.asked.setdefault(path, Counter())[query] += 1
            return self.counts[path]

    def is_within_rate(self, rate: float) -> bool:
        """Return whether one more request is within a rate per second."""
        with self.lock:
            now = time.monotonic()
            while self.times and now - self.times[0] > 1:
                self.times.popleft()
            if len(self.times) >= rate:
                return False
            self.times.append(now)
            return True

    def stall(self, number: int, at: int, seconds: float) -> float:
        """Return how long this request has to wait."""
        with self.lock:
            if number == at:
                self.stalled = time.monotonic() + seconds
            return max(0.0, self.stalled - time.monotonic())


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "Server"

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:  # the client has disconnected
            self.close_connection = True

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.given: dict[str, Any] = {**dict(parse_qsl(parts.query, keep_blank_values=True))}
        self.given |= json.loads(body) if body else {}
        self.route = parts.path
        query = str(self.given.get("q", ""))
        own = parts.path in ("/stats", "/forget")
        self.number = 0 if own else self.server.state.count_request(parts.path, query)
        self.found = ranking(query)
        name = "do_" + parts.path.strip("/").replace("-", "_")
        getattr(self, name, self.do_nothing)()

    do_POST = do_GET  # noqa: N815  # as the base class looks for it

    def hit(self, key: str, score: float) -> dict[str, Any]:
        """Return a hit; an id of digits becomes a number."""
        return {"id": int(key) if key.isdecimal() else key, "score": score}

    def answer(self, status: int = 200, body: Any = None, **headers: str) -> None:
        """Answer with JSON."""
        k = int(self.given.get("k", 10))
        hits = [self.hit(*pair) for pair in self.found[:k]]
        self.send(status, json.dumps(body or {"hits": hits, "total": len(self.found)}).encode(), **headers)

    def send(self, status: int, raw: bytes, kind: str = "application/json", **headers: str) -> None:
        """Answer with bytes."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(raw)

    def due(self) -> bool:
        """Return whether this request fails."""
        return self.number % int(self.given.get("every", 1)) == 0

    def seconds(self) -> float:
        """Return the seconds that the path names."""
        return float(self.given.get("ms", 50)) / 1000

    def do_nothing(self) -> None:
        self.answer(404, {"error": f"there is no {self.route}"})

    def do_ok(self) -> None:
        self.answer()

    def do_slow(self) -> None:
        time.sleep(self.seconds())
        self.answer()

    def do_drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        for _ in range(1000):
            self.wfile.write(b" ")
            self.wfile.flush()
            time.sleep(self.seconds())

    def do_flaky(self) -> None:
        status = int(self.given.get("status", 500))
        self.answer(status, {"error": "out of order"}) if self.due() else self.answer()

    def do_reset(self) -> None:
        if not self.due():
            return self.answer()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.rfile.close()  # it holds the socket open
        self.connection.close()
        return None

    def do_cut(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"hits": [')
        self.close_connection = True

    def do_malformed(self) -> None:
        self.send(200, b'{"hits": [{"id": "d1"') if self.due() else self.answer()

    def do_wrong_type(self) -> None:
        self.send(200, b"<html>We are back soon</html>", "text/html")

    def do_huge(self) -> None:
        self.send(200, b" " * int(float(self.given.get("mb", 11)) * 1e6) + b"{}")

    def do_hang(self) -> None:
        if self.due():
            self.server.over.wait(FOREVER)
            self.close_connection = True
        else:
            self.answer()

    def do_limited(self) -> None:
        if self.given.get("date"):
            self.answer(429, {"error": "slow down"}, Retry_After=formatdate(time.time() + 100, usegmt=True))
        elif self.server.state.is_within_rate(float(self.given.get("rate", 10))):
            self.answer()
        else:
            self.answer(429, {"error": "slow down"}, Retry_After="1")

    def do_pages(self) -> None:
        size = int(self.given.get("size", 2))
        page = int(self.given.get("page", 1))
        start = int(self.given.get("offset", (page - 1) * size))
        more = {**self.given, "page": page + 1}
        following = f"/pages?{urlencode(more)}" if start + size < len(self.found) else None
        hits = [self.hit(*pair) for pair in self.found[start : start + size]]
        self.answer(200, {"hits": hits, "next": following})

    def do_moved(self) -> None:
        self.answer(302, {"error": "moved"}, Location="/ok?token=abc")

    def do_secret(self) -> None:
        said = self.headers.get("Authorization", "")
        right = said == self.given.get("expect")
        self.answer() if right else self.answer(401, {"error": f"{said!r} is not allowed"})

    def do_stall(self) -> None:
        time.sleep(self.server.state.stall(self.number, int(self.given.get("at", 20)), self.seconds()))
        self.answer()

    def do_stats(self) -> None:
        with self.server.state.lock:
            body = {path: dict(asked) for path, asked in self.server.state.asked.items()}
        self.answer(200, body or {"none": {}})

    def do_forget(self) -> None:
        self.server.state.__init__()  # type: ignore[misc]
        self.answer()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as in the base class
        pass


class Server(ThreadingHTTPServer):
    """The server, on a free port."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.state, self.over = State(), threading.Event()


@contextmanager
def serving() -> Iterator[str]:
    """Run a service in its own process; yield its URL."""
    pipe = subprocess.PIPE
    command = [sys.executable, str(Path(__file__))]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def main() -> None:
    """Serve until the input ends."""
    server = Server()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
