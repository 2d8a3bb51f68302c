"""The kinds of searchers, imported when they are named; plug-ins use the entry point `assay.systems`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from assay.core.errors import ConfigurationError, InputError
from assay.core.parameters import keyword_parameters, value_problems
from assay.core.suggestions import did_you_mean
from assay.search.searcher import Searcher

ENTRY_POINT_GROUP = "assay.systems"
SEARCHERS: dict[str, str] = {  # kind: module:class
    "bm25": "assay.search.in_memory:BM25Searcher",
    "lsa": "assay.search.in_memory:LSASearcher",
    "index": "assay.search.searchers.index:IndexSearcher",
    "callable": "assay.search.searchers.callable:FunctionSearcher",
    "command": "assay.search.searchers.command:CommandSearcher",
    "http": "assay.search.searchers.http:HttpSearcher",
    "opensearch": "assay.search.searchers.opensearch:OpenSearch",
    "elasticsearch": "assay.search.searchers.opensearch:OpenSearch",
    "qdrant": "assay.search.searchers.qdrant:Qdrant",
    "weaviate": "assay.search.searchers.weaviate:Weaviate",
    "vespa": "assay.search.searchers.vespa:Vespa",
    "milvus": "assay.search.searchers.milvus:Milvus",
    "sql": "assay.search.searchers.sql:SQLSearcher",
}


def searcher_kinds() -> list[str]:
    """Return every kind of searcher."""
    return [*SEARCHERS, *(point.name for point in entry_points(group=ENTRY_POINT_GROUP))]


def load_searcher_class(kind: str) -> type[Searcher]:
    """Return the class of a kind."""
    if kind in SEARCHERS:
        module, _, class_name = SEARCHERS[kind].partition(":")
        return getattr(import_module(module), class_name)  # type: ignore[no-any-return]
    for point in entry_points(group=ENTRY_POINT_GROUP):
        if point.name == kind:
            return point.load()  # type: ignore[no-any-return]
    hint = did_you_mean(kind, searcher_kinds()) or f"there are {', '.join(searcher_kinds())}"
    raise InputError(f"there is no kind of system {kind!r}; {hint}")


def required_inputs(kind: str) -> dict[str, bool]:
    """Return the inputs of a kind besides its parameters (documents, encoder), and whether each is required.

    >>> required_inputs("callable")
    {}
    """
    arguments = inspect.signature(load_searcher_class(kind).__init__).parameters.values()
    inputs = [p for p in arguments if p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in ("self", "name")]
    return {p.name: p.default is p.empty for p in inputs}


def takes_folder(kind: str) -> bool:
    """Whether a kind has a parameter `folder`, from which its relative paths start.

    >>> takes_folder("sql"), takes_folder("http")
    (True, False)
    """
    return "folder" in keyword_parameters(load_searcher_class(kind).__init__)


def parameter_problems(kind: str, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the problems of the parameters of a kind, by name.

    >>> parameter_problems("callable", {"function": "mine:search", "folders": "."})
    {'folders': 'there is no such parameter; did you mean folder?'}
    """
    return value_problems(settings, keyword_parameters(load_searcher_class(kind).__init__))


def build_searcher(kind: str, name: str, settings: Mapping[str, Any], **inputs: Any) -> Searcher:
    """Return a searcher of a kind with its settings, and its inputs (`documents`, `encoder`).

    Inputs that it does not use are left out. A class of another package takes `name`, and `documents` and
    `encoder` if it needs them, as positional parameters, and its settings as keyword parameters.
    """
    required = required_inputs(kind)
    problems = parameter_problems(kind, settings)
    missing = [n for n, is_required in required.items() if is_required and inputs.get(n) is None]
    problems |= dict.fromkeys(missing, f"must be given: {kind} cannot search without it")
    used_inputs = {n: value for n, value in inputs.items() if n in required and value is not None}
    try:
        if problems:
            raise ConfigurationError(problems)
        return load_searcher_class(kind)(name=name, **used_inputs, **settings)  # type: ignore[call-arg]
    except ConfigurationError as error:
        located_problems = {f"systems.{name}.{field}": problem for field, problem in error.problems.items()}
        raise ConfigurationError(located_problems) from None
