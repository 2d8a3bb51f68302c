"""The kinds of searchers, one file each, loaded when they are named; others come by `assay.systems`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from assay.core.errors import ConfigurationError, InputError
from assay.core.parameters import parameters, wrong
from assay.search.searcher import Searcher

GROUP = "assay.systems"
SYSTEMS: dict[str, str] = {  # kind: module:class
    "bm25": "assay.search.embedded:BM25",
    "lsa": "assay.search.embedded:LSA",
    "index": "assay.search.systems.index:Index",
    "callable": "assay.search.systems.callable:Function",
    "command": "assay.search.systems.command:Command",
    "http": "assay.search.systems.http:Http",
    "opensearch": "assay.search.systems.opensearch:OpenSearch",
    "elasticsearch": "assay.search.systems.opensearch:OpenSearch",
    "qdrant": "assay.search.systems.qdrant:Qdrant",
    "weaviate": "assay.search.systems.weaviate:Weaviate",
    "vespa": "assay.search.systems.vespa:Vespa",
    "milvus": "assay.search.systems.milvus:Milvus",
    "sql": "assay.search.systems.sql:SQL",
}


def names() -> list[str]:
    """Every kind that can be named."""
    return [*SYSTEMS, *(point.name for point in entry_points(group=GROUP))]


def load(kind: str) -> type[Searcher]:
    """The class of a kind."""
    if kind in SYSTEMS:
        module, _, found = SYSTEMS[kind].partition(":")
        return getattr(import_module(module), found)  # type: ignore[no-any-return]
    for point in entry_points(group=GROUP):
        if point.name == kind:
            return point.load()  # type: ignore[no-any-return]
    near = get_close_matches(kind, names(), n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names())}"
    raise InputError(f"there is no kind of system {kind!r}; {hint}")


def needs(kind: str) -> dict[str, bool]:
    """What a kind is made with beside its parameters (documents, an encoder), and whether it must be there.

    >>> needs("callable")
    {}
    """
    found = inspect.signature(load(kind).__init__).parameters.values()
    given = [p for p in found if p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in ("self", "name")]
    return {p.name: p.default is p.empty for p in given}


def problems(kind: str, given: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with the parameters of a kind, by their names.

    >>> problems("callable", {"function": "mine:search", "folders": "."})
    {'folders': 'there is no such parameter; did you mean folder?'}
    """
    return wrong(given, parameters(load(kind).__init__))


def made(kind: str, name: str, given: Mapping[str, Any], **beside: Any) -> Searcher:
    """A searcher of a kind: its parameters, and beside them what it needs (`documents`, `encoder`).

    What it has no use for is left out, so that documents can be offered to all. A class of another package
    takes `name`, `documents` and `encoder` by position where it wants them, and its parameters by keyword.
    """
    wanted = needs(kind)
    found = problems(kind, given)
    missing = [n for n, must in wanted.items() if must and beside.get(n) is None]
    found |= dict.fromkeys(missing, f"must be given: {kind} cannot search without")
    kept = {n: value for n, value in beside.items() if n in wanted and value is not None}
    try:
        if found:
            raise ConfigurationError(found)
        return load(kind)(name=name, **kept, **given)  # type: ignore[call-arg]
    except ConfigurationError as error:
        named = {f"systems.{name}.{field}": said for field, said in error.problems.items()}
        raise ConfigurationError(named) from None
