"""The journal of paid replies: a request is noted before it is sent, and its reply as soon as it arrives.

A request with a recorded reply is never sent again. A request that was noted but has no reply was in
flight when the process ended: it may have been billed, so its highest cost counts as spent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from threading import Lock
from typing import Any, NamedTuple

from assay.core.digests import digest_of
from assay.models.language_model import JsonSchema, Message, Reply, ReplyParameters, Tool
from assay.remote.errors import RemoteError
from assay.remote.journal import JournalFile


class Request(NamedTuple):
    """One request to a language model; `draw` numbers the repetitions of equal requests."""

    messages: tuple[Message, ...]
    parameters: ReplyParameters
    schema: JsonSchema | None = None
    draw: int = 0
    tools: tuple[Tool, ...] = ()

    @property
    def key(self) -> str:
        """The digest of everything that is sent, and of the draw; parts that are not used are left out."""
        messages = [message if message[2:] != ((), "") else message[:2] for message in self.messages]
        content = [
            messages,
            self.parameters.to_dict(),
            self.schema,
            self.draw,
            *([self.tools] * bool(self.tools)),
        ]
        return digest_of(json.dumps(content, sort_keys=True).encode())


class RecordedReply(NamedTuple):
    """A reply with when it was asked for, how long it took and how often an attempt was cut before it."""

    reply: Reply
    at: float  # seconds since 1970
    seconds: float
    lost_attempts: int = 0  # without a response, that may have been billed


class ReplyJournal(JournalFile):
    """The replies of one model with one configuration, by the key of the request."""

    def __init__(self, folder: str | os.PathLike[str], name: str, header: Mapping[str, Any]) -> None:
        super().__init__(folder, name, header)
        self._write_lock = Lock()
        self._clear()

    def reserve(self, key: str, highest_cost: float, budget: float) -> bool:
        """Record that a request is about to be sent; return False if it might exceed the budget."""
        with self._write_lock:
            if self.cost + self.possible_cost + highest_cost > budget:
                return False
            self._put({"sent": key, "highest_cost": highest_cost})
        return True

    def put_failure(self, key: str, error: RemoteError, possible_cost: float) -> None:
        """Record that a request failed, and what it may have cost."""
        with self._write_lock:
            row = {"failed": key, "kind": error.kind, "reason": error.reason}
            self._put({**row, "possible_cost": possible_cost})

    def put(self, key: str, recorded: RecordedReply, possible_cost: float) -> None:
        """Record a reply, and what its lost attempts may have cost."""
        row = {"key": key, **recorded._asdict(), "reply": recorded.reply.to_dict()}
        with self._write_lock:
            self._put({**row, "possible_cost": possible_cost})

    @property
    def possible_cost(self) -> float:
        """An upper bound of what requests and attempts without a reply may have cost."""
        return self._lost_cost + sum(sum(costs) for costs in self.unanswered.values())

    def _put(self, row: Mapping[str, Any]) -> None:
        self.append(row)
        self._restore(json.loads(json.dumps(row)))

    def _clear(self) -> None:
        self.replies: dict[str, RecordedReply] = {}
        self.unanswered: dict[str, list[float]] = {}  # the highest cost of requests without a result
        self.cost = self._lost_cost = 0.0  # of all replies; possibly of lost attempts

    def _restore(self, row: dict[str, Any]) -> None:
        if "sent" in row:
            self.unanswered.setdefault(row["sent"], []).append(row["highest_cost"])
            return
        key = row["key"] if "key" in row else row["failed"]
        self._settle(key)
        self._lost_cost += row["possible_cost"]
        if "key" in row:
            reply = Reply.from_dict(row["reply"])
            self.replies[key] = RecordedReply(reply, row["at"], row["seconds"], row["lost_attempts"])
            self.cost += reply.cost

    def _settle(self, key: str) -> None:
        costs = self.unanswered.get(key, [])
        if costs:
            costs.pop()
        if not costs:
            self.unanswered.pop(key, None)
