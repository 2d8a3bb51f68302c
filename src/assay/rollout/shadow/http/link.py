"""The mirror's end of the socket to its shadow process: never waits, and drops what has no room."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from assay.core.errors import InputError
from assay.rollout.shadow.counts import ShadowCounts
from assay.rollout.shadow.http.frames import READY, CountsSoFar, MirroredRequest
from assay.rollout.shadow.http.settings import MirrorSettings

_MAX_BUFFER = 256 * 1024  # bytes that wait for the socket; one frame may be above
_COUNTS_SECONDS = 1.0
_RESTART_SECONDS = 1.0
_START_SECONDS = 60.0
_GRACE_SECONDS = 5.0  # beyond the time limits of the calls


class _Protocol(asyncio.Protocol):
    """What asyncio tells of the socket."""

    def __init__(self) -> None:
        self.is_full, self.received = False, bytearray()
        self.ended, self.spoke = asyncio.Event(), asyncio.Event()

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False

    def data_received(self, data: bytes) -> None:
        self.received += data
        self.spoke.set()

    def connection_lost(self, error: Exception | None) -> None:
        self.ended.set()
        self.spoke.set()


class ShadowLink:
    """Starts the shadow process, hands it requests, and starts it again if it ends."""

    def __init__(self, settings: MirrorSettings, counts: ShadowCounts) -> None:
        self._settings, self._counts = settings, counts
        self._process: subprocess.Popen[bytes] | None = None
        self._protocol = _Protocol()
        self._transport: asyncio.WriteTransport | None = None
        self._counts_before: Mapping[str, Any] = {}  # of earlier shadow processes
        self._pipe = -1
        self._keeper: asyncio.Task[None] | None = None
        self.final: dict[str, Any] = {}  # what the last shadow process counted
        self.restarts = 0

    async def open(self) -> None:
        """Start the shadow process; an error if it cannot work."""
        await self._start()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._protocol.spoke.wait(), _START_SECONDS)
        if not self._protocol.received.startswith(READY):
            problem = self._protocol.received.decode("utf-8", "replace")
            await self._end_process()
            raise InputError(problem or "the shadow process could not be started; its error is above")
        self._keeper = asyncio.create_task(self._keep())

    async def _start(self) -> None:
        own, other = socket.socketpair()
        pipe, self._pipe = os.pipe()  # closed when the mirror ends, however it ends
        with other:
            own.setblocking(False)
            command = [sys.executable, "-m", "assay.rollout.shadow.http.shadow_process"]
            self._process = subprocess.Popen(
                [*command, str(other.fileno()), str(pipe), self._settings.to_json()],
                pass_fds=(other.fileno(), pipe),
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the mirror alone
            )
        os.close(pipe)
        loop = asyncio.get_running_loop()
        transport, self._protocol = await loop.create_connection(_Protocol, sock=own)
        transport.set_write_buffer_limits(high=_MAX_BUFFER)
        self._transport, self._counts_before = transport, self._counts.to_dict()

    @property
    def pid(self) -> int | None:
        """The number of the shadow process."""
        return self._process.pid if self._process else None

    @property
    def has_ended(self) -> bool:
        """Whether there is no shadow process now."""
        return self._protocol.ended.is_set() or self._transport is None

    @property
    def is_full(self) -> bool:
        """Whether a request would have to wait: the queue of the shadow process is full."""
        return self._protocol.is_full

    def send(self, request: MirroredRequest) -> None:
        """Hand a request over; `is_full` and `has_ended` are asked before."""
        if self._transport is not None:
            self._transport.write(request.to_frame())

    def _send_counts(self) -> None:
        if self._transport is not None and not self.has_ended:
            counts = subtract_counts(self._counts.to_dict(), self._counts_before)
            self._transport.write(CountsSoFar(counts).to_frame())

    async def _keep(self) -> None:
        """Send the counts now and then, and start the shadow process again if it has ended."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._protocol.ended.wait(), _COUNTS_SECONDS)
            if not self.has_ended:
                if not self.is_full:
                    self._send_counts()
                continue
            await asyncio.sleep(_RESTART_SECONDS)
            await self._end_process()
            self.restarts += 1
            await self._start()

    async def _end_process(self) -> None:
        """Make sure that the shadow process whose socket has ended has ended, too."""
        os.close(self._pipe)
        if self._process is not None:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)

    async def close(self) -> None:
        """Let the shadow process finish what it has within the time limits, and complete the log."""
        if self._keeper is not None:
            self._keeper.cancel()
        if self._transport is None or self._process is None:
            return
        self._send_counts()
        with suppress(OSError, RuntimeError):  # it has ended by itself
            self._transport.write_eof()
        os.close(self._pipe)
        grace = 2 * self._settings.limits.timeout + _GRACE_SECONDS
        try:
            await asyncio.wait_for(self._protocol.ended.wait(), grace)
            await asyncio.wait_for(asyncio.to_thread(self._process.wait), grace)
        except TimeoutError:
            self._process.kill()
            self._process.wait()
        self._transport.close()
        self.final = _parse(bytes(self._protocol.received))


def subtract_counts(after: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the requests that were counted in between.

    >>> after = {"requests": 9, "mirrored": 2, "left_out": {"not sampled": 6, "closing": 1}}
    >>> subtract_counts(after, {"requests": 4, "mirrored": 1, "left_out": {"not sampled": 3}})
    {'requests': 5, 'mirrored': 1, 'left_out': {'not sampled': 3, 'closing': 1}}
    """
    numbers = {name: after[name] - before.get(name, 0) for name in ("requests", "mirrored")}
    earlier = before.get("left_out", {})
    rest = {name: count - earlier.get(name, 0) for name, count in after["left_out"].items()}
    return {**numbers, "left_out": {name: count for name, count in rest.items() if count}}


def _parse(content: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(content.removeprefix(READY)))
    except ValueError:
        return {}
