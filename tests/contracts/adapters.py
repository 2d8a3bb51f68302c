"""Adapters over doubles, whose connections are closed after the test."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay.indexes.engines import load
from assay.indexes.index import Index, Setup
from contracts.doubles import Double
from contracts.vectors import D

SERVERS = ("qdrant", "elasticsearch", "opensearch", "weaviate", "vespa", "redis")
OPEN: list[Any] = []


def adapter(double: Double, name: str, folder: Path, metric: str = "l2", **build: Any) -> Index:
    """The adapter of an engine that speaks to a double."""
    place = {"url": double.url} | ({"config_url": double.url} if name == "vespa" else {})
    given: dict[str, Any] = {"timeout": 60.0, "ready_timeout": 60.0, **place, **build}
    made: Index = load(name)(Setup(metric, D, 1, folder), **given)
    OPEN.append(made)
    return made


def link(index: Any) -> Any:
    """The connection of an adapter."""
    return index.link if hasattr(index, "link") else index.client


@contextmanager
def all_closed() -> Iterator[None]:
    """Close what was opened meanwhile."""
    yield
    while OPEN:
        index = OPEN.pop()
        link(index).close()
        if hasattr(index, "deployer"):
            index.deployer.close()
