"""The Redis protocol (RESP2) over a socket."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from assay.core.errors import EngineError
from assay.remote.http import parse_url

PORT = 6379
Word = str | bytes | int


class RedisConnection:
    """A connection on which several commands can be sent before the replies are read.

    After a timeout or a broken connection the socket is closed, so that no late reply is mistaken for that of
    another command.
    """

    def __init__(self, url: str, password: str | None, timeout: float) -> None:
        self.parts, self.timeout = parse_url(url, ("redis", "rediss")), timeout
        self.label = f"Redis at {self.parts.hostname}:{self.parts.port or PORT}"
        self.secret = password or unquote(self.parts.password or "")
        self._socket: socket.socket | None = None

    def call(self, *words: Word) -> Any:
        """Return the reply to one command."""
        return self.call_many([words])[0]

    def call_many(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        """Send several commands at once and return their replies, or raise the first error among them."""
        try:
            replies = self._exchange(commands)
        except TimeoutError:
            self.close()
            raise EngineError(
                f"{self.label} did not answer in {self.timeout:g} s ({commands[0][0]!s}); raise timeout"
            ) from None
        except (OSError, EOFError) as error:
            self.close()
            reason = getattr(error, "strerror", None) or str(error)
            raise EngineError(f"{self.label} cannot be reached: {reason} ({commands[0][0]!s})") from None
        for reply, words in zip(replies, commands, strict=True):
            if isinstance(reply, EngineError):
                raise EngineError(f"{self.label} refused {words[0]!s}: {reply}")
        return replies

    def _exchange(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        if self._socket is None:
            self._open()
        assert self._socket is not None
        self._socket.sendall(b"".join(_encode_command(words) for words in commands))
        return [self._reply() for _ in commands]

    def _open(self) -> None:
        host, port = self.parts.hostname or "", self.parts.port or PORT
        self._socket = socket.create_connection((host, port), self.timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.parts.scheme == "rediss":
            self._socket = ssl.create_default_context().wrap_socket(self._socket, server_hostname=host)
        self._file = self._socket.makefile("rb")
        if self.secret:
            user = [unquote(self.parts.username)] if self.parts.username else []
            self.call("AUTH", *user, self.secret)

    def _reply(self) -> Any:
        line = self._file.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError("the connection was closed")
        kind, rest = line[:1], line[1:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self._reply() for _ in range(int(rest))]
        if kind == b"$":
            return None if rest == b"-1" else self._file.read(int(rest) + 2)[:-2]
        if kind == b"-":
            return EngineError(rest.decode(errors="replace"))
        return int(rest) if kind == b":" else rest

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._file.close()
            self._socket.close()
            self._socket = None


def _encode_command(words: Sequence[Word]) -> bytes:
    raw = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"".join([b"*%d\r\n" % len(raw), *(b"$%d\r\n%b\r\n" % (len(word), word) for word in raw)])
