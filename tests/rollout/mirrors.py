"""A running mirror, and what it logged."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn

from assay.rollout.shadow.http.mirror import Mirror
from assay.rollout.shadow.http.settings import MirrorSettings

PATIENCE = 60.0  # seconds until a test gives up; none takes so long


def wait_until(is_true: Callable[[], Any]) -> Any:
    """Wait for something that will happen; the result is what the function returned."""
    end = time.monotonic() + PATIENCE
    while not (value := is_true()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
    return value


@contextmanager
def running(settings: MirrorSettings) -> Iterator[tuple[Mirror, int]]:
    """A mirror behind a real server, and its port; at the end its log is complete."""
    mirror = Mirror(settings)
    config = uvicorn.Config(
        mirror, log_level="critical", lifespan="on", ws="none", server_header=False, date_header=False
    )
    config.host, config.port = "127.0.0.1", 0
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield mirror, server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def lines(path: str | Path) -> list[dict[str, Any]]:
    """The complete lines of a log."""
    content = Path(path).read_text() if Path(path).exists() else ""
    return [json.loads(line) for line in content.split("\n")[:-1]]


def logged(path: str | Path, query: str) -> dict[str, dict[str, Any]]:
    """The answers to a query by role, once they are logged."""

    def find() -> dict[str, dict[str, Any]]:
        rows = [row for row in lines(path) if row.get("user_query") == query]
        return {row["query_attributes"]["variant"]: row for row in rows}

    found: dict[str, dict[str, Any]] = wait_until(find)
    return found


def error(row: dict[str, Any]) -> str | None:
    """The class of the failure of a call."""
    value: str | None = row["query_attributes"]["shadow"]["error"]
    return value
