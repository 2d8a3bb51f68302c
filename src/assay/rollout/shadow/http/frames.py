"""Frames between the mirror and its shadow process: JSON, then a request and an answer as bytes."""

from __future__ import annotations

import asyncio
import json
import struct
from dataclasses import asdict, dataclass
from typing import Any

_HEAD = struct.Struct(">III")
READY = b"ready\n"  # what the shadow process says first, unless it is the text of an error


@dataclass(frozen=True)
class MirroredRequest:
    """A request that the primary has answered."""

    method: str
    target: str  # path and query, as they were received
    headers: list[tuple[str, str]]  # as they are sent to the endpoints, Host excepted
    body: bytes
    status: int
    encoding: str  # the Content-Encoding of the answer
    answer: bytes
    latency_ms: float
    at: str
    is_repeated: bool
    client_id: str | None

    def to_frame(self) -> bytes:
        """Return the request as a frame."""
        fields = asdict(self)
        body, answer = fields.pop("body"), fields.pop("answer")
        return _frame(fields, body, answer)


@dataclass(frozen=True)
class CountsSoFar:
    """The counts of the mirror since its shadow process was started."""

    counts: dict[str, Any]

    def to_frame(self) -> bytes:
        """Return the counts as a frame."""
        return _frame({"counts": self.counts}, b"", b"")


def _frame(fields: dict[str, Any], body: bytes, answer: bytes) -> bytes:
    head = json.dumps(fields, separators=(",", ":")).encode()
    return b"".join((_HEAD.pack(len(head), len(body), len(answer)), head, body, answer))


async def read_frame(reader: asyncio.StreamReader) -> MirroredRequest | CountsSoFar | None:
    """Return the next frame; None if the mirror has ended."""
    try:
        sizes = _HEAD.unpack(await reader.readexactly(_HEAD.size))
        head, body, answer = [await reader.readexactly(size) for size in sizes]
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    fields = json.loads(head)
    if "counts" in fields:
        return CountsSoFar(fields["counts"])
    headers = [(name, value) for name, value in fields.pop("headers")]
    return MirroredRequest(**fields, headers=headers, body=body, answer=answer)
