"""Adapters over doubles, whose connections are closed after the test."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay.indexes.index import Index, Setup
from assay.indexes.registry import load_engine
from tests.contracts.doubles import Double
from tests.contracts.vectors import D

SERVERS = ("qdrant", "elasticsearch", "opensearch", "weaviate", "vespa", "redis")
OPEN: list[Any] = []


def adapter(double: Double, name: str, folder: Path, metric: str = "l2", **build: Any) -> Index:
    """The adapter of an engine that speaks to a double."""
    place = {"url": double.url} | ({"config_url": double.url} if name == "vespa" else {})
    options: dict[str, Any] = {"timeout": 60.0, "ready_timeout": 60.0, **place, **build}
    opened_index: Index = load_engine(name)(Setup(metric, D, 1, folder), **options)
    OPEN.append(opened_index)
    return opened_index


def connection_of(index: Any) -> Any:
    """Return the connection of an adapter, whose timeout can be set."""
    return index.redis if hasattr(index, "redis") else index.client.http


@contextmanager
def all_closed() -> Iterator[None]:
    """Close what was opened meanwhile."""
    yield
    while OPEN:
        index = OPEN.pop()
        connection_of(index).close()
        if hasattr(index, "deployer"):
            index.deployer.close()
