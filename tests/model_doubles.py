"""A double of embedding and rerank endpoints: a process that speaks their protocols over a socket.

No endpoint can be reached where the tests run. The double checks what is asked as the documentation of
OpenAI's embeddings and of Cohere's and Jina's rerank says, and has the faults it is told, one a request.
"""

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

KEY = "sk-not-a-key-2718"


class Running(NamedTuple):
    """A running double."""

    url: str

    def seen(self) -> list[dict[str, Any]]:
        """The bodies of all requests so far."""
        with urllib.request.urlopen(f"{self.url}/seen") as answer:
            results: list[dict[str, Any]] = json.load(answer)
        return results


@contextmanager
def double(*faults: str) -> Iterator[Running]:
    """Start a double with these faults, one for each request."""
    command = [sys.executable, __file__, *faults]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield Running(f"http://127.0.0.1:{int(process.stdout.readline())}/v1")
        finally:
            process.kill()


def vector(text: str) -> list[float]:
    """Return the vector of a text."""
    return [float(len(text)), float(text.count("a")), 1.0]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "_Server"

    def do_GET(self) -> None:
        self._respond(200, json.dumps(self.server.seen))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append(body)
        fault = self.server.faults.pop(0) if self.server.faults else ""
        if fault == "hang":
            time.sleep(30)  # longer than any timeout
        if fault == "reset":
            self.close_connection = True
            self.connection.close()
        elif fault.isdigit():
            self._respond(int(fault), json.dumps({"error": {"message": f"no, {KEY}"}}), {"Retry-After": "3"})
        elif fault == "page":
            self._respond(200, "<html>")
        elif fault == "echo":
            self._respond(200, f"<html>{'.' * 50}{KEY}")  # the excerpt of it ends within the key
        elif self.headers.get("Authorization") != f"Bearer {KEY}":
            self._respond(401, json.dumps({"error": {"message": "Incorrect API key provided"}}))
        else:
            respond = _embeddings if self.path.endswith("/embeddings") else _rerank_response
            answer = respond(body, fault)
            self._respond(200 if answer else 400, json.dumps(answer or {"error": "no input"}))

    def _respond(self, status: int, content: str, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content.encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as in the base class
        pass


def _embeddings(body: dict[str, Any], fault: str) -> dict[str, Any] | None:
    texts = body["input"]
    if not texts or not all(texts) or body["encoding_format"] != "float":
        return None
    rows = [vector(text)[: body.get("dimensions")] for text in texts]
    data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
    if fault == "nan":
        rows[-1][0] = float("nan")
    if fault == "ragged":
        rows[-1].append(1.0)
    tokens = sum(len(text.split()) for text in texts)
    usage = {} if fault == "uncounted" else {"usage": {"prompt_tokens": tokens, "total_tokens": tokens}}
    return {"object": "list", "data": _disturbed(data, fault), "model": body["model"], **usage}


def _rerank_response(body: dict[str, Any], fault: str) -> dict[str, Any] | None:
    words = set(body["query"].split())
    scores = [len(words & set(text.split())) / len(words) for text in body["documents"]]
    results = [{"index": at, "relevance_score": score} for at, score in enumerate(scores)]
    results.sort(key=lambda item: -item["relevance_score"])
    units = {"meta": {"billed_units": {"search_units": 1}}, "usage": {"total_tokens": 50}}
    return {"results": _disturbed(results[: body["top_n"]], fault), **units}


def _disturbed(items: list[Any], fault: str) -> list[Any]:
    if fault == "short":
        return items[:-1]
    if fault == "twice":
        return [*items[:-1], items[0]]
    return items[::-1] if fault == "reversed" else items


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, faults: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.faults, self.seen = faults, []  # type: ignore[var-annotated]


if __name__ == "__main__":
    server = _Server(sys.argv[1:])
    print(server.server_address[1], flush=True)
    server.serve_forever()
