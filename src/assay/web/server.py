"""Serve the dashboard with uvicorn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import uvicorn

from assay.core.errors import InputError
from assay.web.access import Access
from assay.web.app import create_app
from assay.workflows.bench_folders import name_benches
from assay.workflows.store_location import store_url

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True, kw_only=True)
class ServeRequest:
    """Where to listen, and the store whose experiments are shown."""

    host: str = "127.0.0.1"
    port: int = 8765
    store: str | None = None
    benches: Sequence[str] = ()  # folders of trials that may be shown

    def __post_init__(self) -> None:
        if not 0 <= self.port < 65536:
            raise InputError(f"--port expects a number from 0 to 65535, found {self.port}")
        if self.host not in _LOOPBACK:
            raise InputError(
                f"--host {self.host}: without a login the dashboard listens on 127.0.0.1 only, because "
                "everybody who reaches it could read and change everything"
            )


def serve(request: ServeRequest, report: Callable[[str], None]) -> None:
    """Serve the pages until the process is stopped; `report` is called with the address."""
    store = store_url(request.store)
    app = create_app(Access(store, name_benches(request.benches, store)))
    config = uvicorn.Config(app, request.host, request.port, log_level="warning", server_header=False)
    socket = config.bind_socket()
    host, port = socket.getsockname()[:2]
    report(f"http://{f'[{host}]' if ':' in host else host}:{port}")
    uvicorn.Server(config).run(sockets=[socket])
