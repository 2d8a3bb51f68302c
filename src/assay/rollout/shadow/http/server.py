"""Run a mirror as a server of its own until it is stopped."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

import uvicorn

from assay.core.errors import InputError
from assay.rollout.shadow.http.mirror import Mirror
from assay.rollout.shadow.http.settings import MirrorSettings

_GRACE_SECONDS = 10  # for requests that are under way


def _exit(number: int, frame: object) -> None:
    sys.exit(0)


def serve_mirror(
    settings: MirrorSettings,
    host: str,
    port: int,
    report: Callable[[str], None],
    finish: Callable[[Mirror], None],
) -> None:
    """Serve until Ctrl-C or SIGTERM; `report` receives the address, `finish` the counts at the end."""
    mirror = Mirror(settings)
    config = uvicorn.Config(
        mirror,
        host,
        port,
        log_level="critical",  # a primary that breaks off is counted, and its client sees it
        lifespan="on",
        ws="none",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        backlog=2048,
    )
    socket = config.bind_socket()
    socket.listen(2048)
    address, bound = socket.getsockname()[:2]
    report(f"http://{f'[{address}]' if ':' in address else address}:{bound}")
    before = signal.signal(signal.SIGTERM, _exit)  # uvicorn raises it again when it has ended
    try:
        uvicorn.Server(config).run(sockets=[socket])
    except SystemExit as end:  # also if an application cannot start
        if end.code and not mirror.problem:
            raise
    finally:
        signal.signal(signal.SIGTERM, before)
        socket.close()
        if not mirror.problem:
            finish(mirror)
    if mirror.problem:
        raise InputError(mirror.problem)
