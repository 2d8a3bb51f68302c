"""HTTP endpoints of the tests' own, over sockets, whose answers a function writes byte by byte."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any, BinaryIO


@dataclass
class Received:
    """A request as it arrived."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


Behave = Callable[["Endpoint", Received, socket.socket], bool]  # False: the connection is to be closed


@dataclass
class Endpoint:
    """A server whose answers are written by a function."""

    behave: Behave
    received: list[Received] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)  # set: what hangs ends
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            stream = connection.makefile("rb")
            while (request := _read_request(stream)) is not None:
                self.received.append(request)
                if not self.behave(self, request, connection):
                    return


def _read_request(stream: BinaryIO) -> Received | None:
    first = stream.readline()
    if not first:
        return None
    method, target, _ = first.decode("latin-1").split(" ", 2)
    headers: list[tuple[str, str]] = []
    while (line := stream.readline().decode("latin-1").strip()) != "":
        name, _, value = line.partition(":")
        headers.append((name, value.strip()))
    lengths = {name.lower(): value for name, value in headers}
    if "transfer-encoding" in lengths:
        body = _read_chunks(stream)
    else:
        body = stream.read(int(lengths.get("content-length", 0)))
    return Received(method, target, headers, body)


def _read_chunks(stream: BinaryIO) -> bytes:
    body = b""
    while size := int(stream.readline(), 16):
        body += stream.read(size)
        stream.readline()
    stream.readline()
    return body


@contextmanager
def endpoint(behave: Behave) -> Iterator[Endpoint]:
    """A running server."""
    server = Endpoint(behave)
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        server.port = listener.getsockname()[1]

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=server.serve, args=[connection], daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield server
        server.released.set()
        listener.shutdown(socket.SHUT_RDWR)


def answer(
    connection: socket.socket,
    body: bytes,
    status: str = "200 OK",
    headers: bytes = b"",
    length: int | None = None,
) -> bool:
    """Write an answer; `length` may lie about its body."""
    size = len(body) if length is None else length
    head = f"HTTP/1.1 {status}\r\ncontent-length: {size}\r\n".encode() + headers + b"\r\n"
    connection.sendall(head + body)
    return True


def hits(*ids: str) -> bytes:
    """The body of an answer with these documents."""
    return json.dumps({"hits": {"hits": [{"_id": doc} for doc in ids]}}).encode()


def reset(connection: socket.socket) -> bool:
    """End a connection at once, as a process that crashed."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def ask(
    port: int, target: str, method: str = "GET", body: Any = None, headers: dict[str, str] | None = None
) -> tuple[int, list[tuple[str, str]], bytes]:
    """The status, the end-to-end headers and the body of an answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(
            method, target, body, headers or {}, encode_chunked=not isinstance(body, bytes | None)
        )
        response = connection.getresponse()
        content = response.read()
    finally:
        connection.close()
    per_connection = ("connection", "transfer-encoding", "keep-alive")
    kept = sorted((k.lower(), v) for k, v in response.getheaders() if k.lower() not in per_connection)
    return response.status, kept, content
