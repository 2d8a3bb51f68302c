"""The index inside: its engine and its parameters in one text, and the parameter that is given out."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from assay.core.errors import InputError
from assay.indexes.engines import load, parameters, problems
from assay.indexes.index import Index


class Inner(NamedTuple):
    """An engine with its parameters of building and of searching."""

    engine: type[Index]
    build: dict[str, Any]
    search: dict[str, Any]  # without the budget
    budget: str  # the name of the parameter that is given out


def inner(text: str, metric: str) -> Inner:
    """The index that a text describes: `ENGINE;NAME=VALUE;…`; the budget is the first of its least search.

    >>> inner("faiss.ivfpq;nlist=64;k_factor=8", "l2")[1:]
    ({'nlist': 64}, {'k_factor': 8}, 'nprobe')
    """
    name, *rest = (part.strip() for part in text.split(";"))
    engine = load(name)
    given = dict(_spelled(part, text) for part in rest)
    building = parameters(engine.__init__)
    build = {key: value for key, value in given.items() if key in building}
    search = {key: value for key, value in given.items() if key not in building}
    made = Inner(engine, build, search, _budget(name, engine))
    _refuse(made, name, metric)
    return made


def _spelled(part: str, text: str) -> tuple[str, Any]:
    name, equals, value = part.partition("=")
    if not (name and equals and value):
        raise InputError(f"inner: expected ENGINE;NAME=VALUE;…, found {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _budget(name: str, engine: type[Index]) -> str:
    whole = [key for key, value in engine.least.items() if type(value) is int]
    if not whole:
        raise InputError(f"inner: {name} has no whole number to be set for a search, so there is no budget")
    return whole[0]


def _refuse(made: Inner, name: str, metric: str) -> None:
    if metric not in made.engine.metrics:
        known = ", ".join(made.engine.metrics)
        raise InputError(f"inner: {name} searches by {known}, found {metric}: choose another engine")
    if made.budget in made.search:
        raise InputError(f"inner: {made.budget} of {name} is what is given out: set budget when searching")
    for place, said in problems(made.engine, made.build, made.search).items():
        raise InputError(f"inner: {place} of {name}: {said}")
