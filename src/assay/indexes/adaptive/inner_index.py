"""The inner index: its engine and parameters, parsed from one text, and the parameter that is its budget."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from assay.core.errors import InputError
from assay.core.parameters import keyword_parameters
from assay.indexes.index import Index
from assay.indexes.registry import load_engine, parameter_problems


class InnerIndex(NamedTuple):
    """An engine with its parameters for building and searching."""

    engine: type[Index]
    build: dict[str, Any]
    search: dict[str, Any]  # without the budget
    budget: str  # name of the parameter that is set for each query


def parse_inner(text: str, metric: str) -> InnerIndex:
    """Parse `ENGINE;NAME=VALUE;…`; the budget is the first integer parameter of the smallest search.

    >>> parse_inner("faiss.ivfpq;nlist=64;k_factor=8", "l2")[1:]
    ({'nlist': 64}, {'k_factor': 8}, 'nprobe')
    """
    name, *rest = (part.strip() for part in text.split(";"))
    engine = load_engine(name)
    values = dict(_parse_parameter(part, text) for part in rest)
    build_names = keyword_parameters(engine.__init__)
    build = {key: value for key, value in values.items() if key in build_names}
    search = {key: value for key, value in values.items() if key not in build_names}
    inner_index = InnerIndex(engine, build, search, _budget_parameter(name, engine))
    _check_inner(inner_index, name, metric)
    return inner_index


def _parse_parameter(part: str, text: str) -> tuple[str, Any]:
    name, equals, value = part.partition("=")
    if not (name and equals and value):
        raise InputError(f"inner: expected ENGINE;NAME=VALUE;…, found {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _budget_parameter(name: str, engine: type[Index]) -> str:
    names = [key for key, value in engine.smallest_search.items() if type(value) is int]
    if not names:
        raise InputError(
            f"inner: {name} has no integer search parameter that could be the budget: choose another engine"
        )
    return names[0]


def _check_inner(inner_index: InnerIndex, name: str, metric: str) -> None:
    if metric not in inner_index.engine.metrics:
        metrics = ", ".join(inner_index.engine.metrics)
        raise InputError(f"inner: {name} supports {metrics}, found {metric}: choose another engine")
    if inner_index.budget in inner_index.search:
        raise InputError(f"inner: {inner_index.budget} of {name} is set for each query: set budget instead")
    for place, problem in parameter_problems(
        inner_index.engine, inner_index.build, inner_index.search
    ).items():
        raise InputError(f"inner: {place} of {name}: {problem}")
