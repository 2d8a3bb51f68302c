"""What endpoints do: a primary with every kind of answer, and candidates with every kind of fault."""

import gzip
import socket
from collections.abc import Callable
from functools import partial
from urllib.parse import parse_qs, urlsplit

from tests.rollout.endpoints import Endpoint, Received, answer, hits, reset

MAX_BODY = 20_000  # what a mirror of the tests takes
HEADERS = b"date: Thu, 01 Jan 1970 00:00:00 GMT\r\nserver: own\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n"
GZIP = b"content-encoding: gzip\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
Part = Callable[[Endpoint, Received, socket.socket], bool]


def query_of(request: Received) -> str:
    return parse_qs(urlsplit(request.target).query).get("q", [""])[0]


def send(text: bytes, goes_on: bool = True) -> Part:
    """A behaviour that writes these bytes."""

    def behave(server: Endpoint, request: Received, connection: socket.socket) -> bool:
        connection.sendall(text)
        return goes_on

    return behave


def send_answer(body: bytes, headers: bytes = b"", length: int | None = None) -> Part:
    """A behaviour that writes an answer."""
    return lambda server, request, connection: answer(connection, body, headers=headers, length=length)


def send_status(server: Endpoint, request: Received, connection: socket.socket) -> bool:
    status = query_of(request)
    if status in ("204", "304"):
        connection.sendall(f"HTTP/1.1 {status} -\r\netag: x\r\n\r\n".encode())
        return True
    return answer(connection, b"it is so", f"{status} -", b"location: /elsewhere\r\n")


def crash(server: Endpoint, request: Received, connection: socket.socket, before: bytes = b"") -> bool:
    if before:
        answer(connection, before, length=100)
    return reset(connection)


def hang(server: Endpoint, request: Received, connection: socket.socket, before: bytes = b"") -> bool:
    if before:
        answer(connection, before, length=100)
    server.released.wait()
    return False


def flood(
    server: Endpoint, request: Received, connection: socket.socket, head: bytes = CHUNKED, part: bytes = b""
) -> bool:
    connection.sendall(head)
    while True:
        connection.sendall(part or b"ffff\r\n" + b"x" * 0xFFFF + b"\r\n")


PRIMARY: dict[str, Part] = {
    "/large": send_answer(b"x" * 3 * MAX_BODY),
    "/chunked": send(CHUNKED + b"5\r\nfirst\r\n6\r\nsecond\r\n0\r\n\r\n"),
    "/until-closed": send(b"HTTP/1.0 200 OK\r\n\r\nuntil the end", goes_on=False),
    "/early": send(
        b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nlate"
    ),
    "/status": send_status,
    "/crash": partial(crash, before=b"only a part"),
    "/gzip": send_answer(gzip.compress(hits("a", "b")), GZIP),
}

CANDIDATE: dict[str, Part] = {
    "hang": hang,
    "hang in body": partial(hang, before=b"{"),
    "crash": crash,
    "crash in body": partial(crash, before=b'{"hits'),
    "flood": flood,
    "flood of headers": partial(flood, head=b"HTTP/1.1 200 OK\r\n", part=b"x-more: " + b"x" * 1000 + b"\r\n"),
    "garbage": send(b"\x00\xff\x16\x03 what is this\r\n\r\n", goes_on=False),
    "short length": send_answer(hits("a", "b"), length=5),
    "bomb": send_answer(gzip.compress(b" " * 10_000_000), GZIP),
    "error": send(b"HTTP/1.1 503 Busy\r\ncontent-length: 2\r\n\r\n{}"),
    "no json": send_answer(b"<html>"),
    "no hits": send_answer(b'{"other": []}'),
    "deep": send_answer(b"[" * 15_000),
    "nan": send_answer(b"NaN"),
    "large": send_answer(hits(*(f"document {n}" for n in range(5000)))),
    "halves": send_answer(rb'{"hits": {"hits": [{"_id": "\ud800 a"}]}}'),
}


def primary(server: Endpoint, request: Received, connection: socket.socket) -> bool:
    if request.method == "HEAD":
        return answer(connection, b"", headers=HEADERS, length=7)
    usual = send_answer(hits("a", "b"), HEADERS)
    return PRIMARY.get(urlsplit(request.target).path, usual)(server, request, connection)


def candidate(server: Endpoint, request: Received, connection: socket.socket) -> bool:
    usual = send_answer(hits("b", "a"))
    return CANDIDATE.get(query_of(request), usual)(server, request, connection)
