"""Doubles of engines: they hold each request to the contract and answer by brute force over a real socket.

A double is no engine: it shows that an adapter speaks as the documentation says, and nothing about recall or
speed. What it refuses is answered with 400 and kept in `refused`.
"""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.contracts.answers import BRAINS, Brain, MissingError
from tests.contracts.contract import CheckedRequest, Contract, Request, fill_template


class Double:
    """One engine's contract, what was loaded, what came in, and the faults it was told to have."""

    def __init__(self, name: str, key: str | None = None) -> None:
        self.contract, self.key = Contract(name), key
        self.brain: Brain = BRAINS[name]()
        self.exchanges: list[tuple[str, Any]] = []  # exchanges by name, with what was said
        self.raw: list[Request] = []
        self.refused: list[list[str]] = []
        self.faults: dict[str, str] = {}  # exchange: 404, 503, hang, break
        self.release = threading.Event()
        self.url = ""

    def exchanges_named(self, name: str) -> list[Any]:
        """Return the bodies of all exchanges with this name."""
        return [body for exchange, body in self.exchanges if exchange == name]

    def fault(self, name: str) -> str | None:
        """The fault of an exchange; `hang` waits until the test is over."""
        kind = self.faults.get(name)
        if kind == "hang":
            self.release.wait(10)
        return kind


class _Http(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "_HttpServer"

    def _handle(self) -> None:
        double, request = self.server.double, self._request()
        double.raw.append(request)
        auth = double.contract.facts["auth"]
        if double.key and self.headers.get(auth["header"]) != auth["value"].format(key=double.key):
            return self._fail("401")
        result = double.contract.check(request)
        if isinstance(result, list):
            double.refused.append(result)
            return self._answer(400, {"message": "; ".join(result)})
        return self._fulfil(result)

    def _request(self) -> Request:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return Request(self.command, self.path, self.headers.get("Content-Type", ""), body)

    def _fulfil(self, result: CheckedRequest) -> None:
        double, name = self.server.double, result.exchange["name"]
        double.exchanges.append((name, result.body))
        fault = double.fault(name)
        if fault in ("hang", "break"):
            self.close_connection = True
            return None
        if fault:
            return self._fail(fault)
        try:
            values = double.brain.answer(name, result.named, result.body)
        except MissingError:
            return self._fail("404")
        return self._answer(200, fill_template(result.exchange["response"], values))

    do_GET = do_PUT = do_POST = do_DELETE = _handle  # noqa: N815  # as the base class looks for them

    def _fail(self, kind: str) -> None:
        error = self.server.double.contract.facts["errors"][kind]
        self._answer(error["status"], error.get("body"), error.get("text", ""))

    def _answer(self, status: int, body: Any, text: str = "") -> None:
        raw = (text if body is None else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as in the base class
        pass


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, double: Double) -> None:
        super().__init__(("127.0.0.1", 0), _Http)
        self.double = double


class _Resp(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    server: "_RespServer"

    def handle(self) -> None:
        allowed = self.server.double.key is None
        while (words := self._words()) is not None:
            reply, allowed = self._reply(words, allowed)
            if reply is None:
                return
            self.wfile.write(reply)

    def _words(self) -> list[bytes] | None:
        line = self.rfile.readline()
        if not line:
            return None
        return [self._word() for _ in range(int(line[1:]))]

    def _word(self) -> bytes:
        return self.rfile.read(int(self.rfile.readline()[1:]) + 2)[:-2]

    def _reply(self, words: list[bytes], allowed: bool) -> tuple[bytes | None, bool]:
        double = self.server.double
        errors = double.contract.facts["errors"]
        result = double.contract.command(words)
        if isinstance(result, list):
            double.refused.append(result)
            return _encode_reply("-ERR " + result[0].replace("\r\n", " ")), allowed
        name = result.exchange["name"]
        if name == "auth":
            right = words[-1].decode() == double.key
            return _encode_reply("+OK" if right else errors["wrong"]), right
        if not allowed:
            return _encode_reply(errors["401"]), False
        double.exchanges.append((name, words))
        fault = double.fault(name)
        if fault:
            return (None if fault in ("hang", "break") else _encode_reply(errors[fault])), True
        try:
            values = double.brain.answer(name, {}, words)
        except MissingError:
            return _encode_reply(errors["404"]), True
        return _encode_reply(_flat(fill_template(result.exchange["reply"], values))), True


def _flat(reply: Any) -> Any:
    """Hits stand beside each other in a reply of Redis, each as a key and its fields."""
    if isinstance(reply, list) and reply and isinstance(reply[-1], dict):
        return [*reply[:-1], *(x for hit in reply[-1]["hits"] for x in (hit["key"], hit["fields"]))]
    return reply


def _encode_reply(reply: Any) -> bytes:
    if isinstance(reply, int):
        return b":%d\r\n" % reply
    if isinstance(reply, list):
        return b"*%d\r\n" % len(reply) + b"".join(_encode_reply(x) for x in reply)
    if reply[:1] in ("+", "-"):
        return f"{reply}\r\n".encode()
    return b"$%d\r\n%b\r\n" % (len(reply.encode()), reply.encode())


class _RespServer(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, double: Double) -> None:
        super().__init__(("127.0.0.1", 0), _Resp)
        self.double = double


@contextmanager
def open_double(name: str, key: str | None = None) -> Iterator[Double]:
    """A double of an engine on a port of its own, for as long as it is needed."""
    double = Double(name, key)
    server = _RespServer(double) if name == "redis" else _HttpServer(double)
    double.url = f"{'redis' if name == 'redis' else 'http'}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield double
    finally:
        double.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
