"""The process that sends mirrored requests to the candidate, beside the one that serves the primary.

    python -m assay.rollout.shadow.http.shadow_process SOCKET PIPE SETTINGS

It reads frames from the socket of this descriptor, and stops reading while its queue is full. When the pipe
is closed, by the mirror or by its death, it answers what waits within the time limits and completes the log.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from contextlib import suppress
from datetime import datetime

from assay.core.errors import AssayError
from assay.rollout.shadow.http.calls import EndpointCaller, RawAnswer
from assay.rollout.shadow.http.frames import READY, CountsSoFar, MirroredRequest, read_frame
from assay.rollout.shadow.http.readings import AnswerReader
from assay.rollout.shadow.http.settings import MirrorSettings
from assay.rollout.shadow.log import ShadowLog
from assay.rollout.shadow.records import NOT_CALLED, CallAnswer, Exchange

_NICE = 10  # on a busy machine the primary's answers come first


class ShadowProcess:
    """Calls the candidate, and for a sample the primary again, and logs the answers."""

    def __init__(self, settings: MirrorSettings) -> None:
        self.settings, limits = settings, settings.limits
        self.log = ShadowLog(settings.log)
        self._read = AnswerReader(settings)
        self._candidate = EndpointCaller(settings.candidate, settings, settings.withheld_headers)
        self._primary = EndpointCaller(settings.primary, settings)
        self._queue: asyncio.Queue[MirroredRequest] = asyncio.Queue(limits.queue)
        self._bytes, self._has_room = 0, asyncio.Event()
        self._has_room.set()

    async def run(self, link: socket.socket, pipe: int) -> None:
        """Work until the mirror ends, then finish within the time limits."""
        closing = asyncio.Event()
        asyncio.get_running_loop().add_reader(pipe, closing.set)
        reader, writer = await asyncio.open_connection(sock=link)
        writer.write(READY)
        workers = [asyncio.create_task(self._work()) for _ in range(self.settings.limits.concurrency)]
        receiver = asyncio.create_task(self._receive(reader))
        await closing.wait()
        asyncio.get_running_loop().remove_reader(pipe)
        with suppress(TimeoutError):
            async with asyncio.timeout(2 * self.settings.limits.timeout):
                await asyncio.shield(receiver)
                await self._queue.join()
        for worker in workers:
            worker.cancel()
        await asyncio.wait(workers)
        await self._record_rest(receiver)
        await asyncio.to_thread(self.log.close)
        with suppress(ConnectionError):
            writer.write(json.dumps({**self.log.counts.to_dict(), "error": self.log.error}).encode())
            writer.close()
            await writer.wait_closed()

    async def _record_rest(self, receiver: asyncio.Task[None]) -> None:
        """Log the requests that were not sent to the candidate before the end."""
        while not (receiver.done() and self._queue.empty()):
            self._has_room.set()
            while not self._queue.empty() and not self.log.is_full:
                self._record(self._queue.get_nowait(), NOT_CALLED, None)
            await asyncio.sleep(0.001)

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        while (frame := await read_frame(reader)) is not None:
            if isinstance(frame, CountsSoFar):
                self.log.extra_counts = frame.counts
                continue
            self._bytes += len(frame.body) + len(frame.answer)
            await self._queue.put(frame)
            if self._bytes > self.settings.memory // 2:  # the other half is for the mirror
                self._has_room.clear()
            await self._has_room.wait()

    async def _work(self) -> None:
        while True:
            request = await self._queue.get()
            try:
                await self._answer(request)
            finally:
                self._queue.task_done()
                self._bytes -= len(request.body) + len(request.answer)
                self._has_room.set()

    async def _answer(self, request: MirroredRequest) -> None:
        candidate, repeat = NOT_CALLED, None
        try:
            candidate = await self._call(self._candidate, request)
            if request.is_repeated:
                repeat = await self._call(self._primary, request)
        finally:  # also if the process is to end now
            self._record(request, candidate, repeat)

    async def _call(self, caller: EndpointCaller, request: MirroredRequest) -> CallAnswer:
        raw = await caller.call(request)
        return raw if isinstance(raw, CallAnswer) else self._read.answer(raw, request.method)

    def _record(self, request: MirroredRequest, candidate: CallAnswer, repeat: CallAnswer | None) -> None:
        size = len(request.answer)
        raw = RawAnswer(request.status, request.encoding, request.answer, request.latency_ms, size)
        self.log.put(
            Exchange(
                self._read.query(request),
                self._read.answer(raw, request.method),
                candidate,
                repeat,
                name=self.settings.name,
                client_id=request.client_id,
                request=self._read.describe(request),
                digest=self._read.digest(request),
                at=datetime.fromisoformat(request.at),
            )
        )


def main(descriptor: str, pipe: str, settings: str) -> None:
    """Run until the pipe is closed."""
    os.nice(_NICE)
    link = socket.socket(fileno=int(descriptor))
    try:
        process = ShadowProcess(MirrorSettings.from_json(settings))
    except AssayError as error:  # the mirror says it
        link.sendall(str(error).encode())
        return
    link.setblocking(False)
    asyncio.run(process.run(link, int(pipe)))


if __name__ == "__main__":
    main(*sys.argv[1:])
