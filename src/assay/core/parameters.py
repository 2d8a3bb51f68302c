"""Parameters by the annotations of a method: their names, their types, and what is wrong with given ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from assay.core.settings import is_number


class Parameter(NamedTuple):
    """A parameter of a method."""

    name: str
    types: tuple[type, ...]
    default: Any  # inspect.Parameter.empty: must be given

    @property
    def expected(self) -> str:
        """The types in words."""
        return " or ".join(sorted(t.__name__ for t in self.types if t is not NoneType))

    def takes(self, value: Any) -> bool:
        """Whether a value is of the type of the parameter."""
        if float in self.types and is_number(value):
            return True
        return type(value) in self.types


def parameters(call: Callable[..., Any]) -> dict[str, Parameter]:
    """The keywords of a method with their types and defaults."""
    hints = get_type_hints(call)
    found = inspect.signature(call).parameters.values()
    return {
        p.name: Parameter(p.name, _types(hints[p.name]), p.default) for p in found if p.kind is p.KEYWORD_ONLY
    }


def _types(hint: Any) -> tuple[type, ...]:
    hints = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return tuple(get_origin(each) or each for each in hints)  # dict[str, str] is a dict


def wrong(given: Mapping[str, Any], known: Mapping[str, Parameter]) -> dict[str, str]:
    """What is wrong with given parameters, by their names.

    >>> def build(*, lists: int, seed: int = 0) -> None: ...
    >>> wrong({"sede": 1}, parameters(build))
    {'sede': 'there is no such parameter; did you mean seed?', 'lists': 'must be given (int)'}
    """
    made = {name: said for name, value in given.items() if (said := _said(name, value, known))}
    missing = [n for n, p in known.items() if p.default is inspect.Parameter.empty and n not in given]
    return made | {name: f"must be given ({known[name].expected})" for name in missing}


def _said(name: str, value: Any, known: Mapping[str, Parameter]) -> str:
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known) or 'none'}"
        return f"there is no such parameter; {hint}"
    return "" if known[name].takes(value) else f"expected {known[name].expected}, found {value!r}"
