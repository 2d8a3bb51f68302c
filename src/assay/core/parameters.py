"""Keyword parameters of a method, read from its annotations, and checks of values for them.

`M: Annotated[int, Meaning("links of a node", least=2)] = 16` is a parameter with a meaning and a range.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from assay.core.settings import is_number
from assay.core.suggestions import did_you_mean


class Meaning(NamedTuple):
    """What a parameter means, and which values it accepts."""

    text: str
    least: float | None = None
    most: float | None = None
    choices: tuple[Any, ...] = ()  # the values that it accepts, besides those from `least` to `most`
    unset: str = ""  # the value that stands for None

    @property
    def range_text(self) -> str:
        """The accepted values as text, empty if there is no limit.

        >>> Meaning("candidates", 1, choices=(-1,)).range_text, Meaning("a share", 0, 1).range_text
        ('-1, or 1 or more', '0 to 1')
        """
        choices = ", ".join(map(str, self.choices))
        if self.least is None:
            return f"one of {choices}" if choices else ""
        bounds = f"{self.least:g} or more" if self.most is None else f"{self.least:g} to {self.most:g}"
        return f"{choices}, or {bounds}" if choices else bounds

    def accepts(self, value: Any) -> bool:
        """Return whether a value is one of the choices or within the bounds."""
        if value is None or value in self.choices or (self.least is None and not self.choices):
            return True
        if self.least is None:
            return False
        return bool(self.least <= value and (self.most is None or value <= self.most))


class Parameter(NamedTuple):
    """A parameter of a method."""

    name: str
    types: tuple[type, ...]
    default: Any  # inspect.Parameter.empty: required
    meaning: Meaning = Meaning("")

    @property
    def type_names(self) -> str:
        """The names of the accepted types."""
        return " or ".join(sorted(t.__name__ for t in self.types if t is not NoneType))

    def accepts(self, value: Any) -> bool:
        """Return whether the parameter accepts a value of this type."""
        if float in self.types and is_number(value):
            return True
        return type(value) in self.types


def keyword_parameters(call: Callable[..., Any]) -> dict[str, Parameter]:
    """Return the keyword parameters of a method with their types and defaults."""
    hints = get_type_hints(call, include_extras=True)
    signature = inspect.signature(call).parameters.values()
    return {
        p.name: Parameter(p.name, _types(hints[p.name]), p.default, _meaning(hints[p.name]))
        for p in signature
        if p.kind is p.KEYWORD_ONLY
    }


def _meaning(hint: Any) -> Meaning:
    extras = getattr(hint, "__metadata__", ())
    return next((extra for extra in extras if isinstance(extra, Meaning)), Meaning(""))


def _types(hint: Any) -> tuple[type, ...]:
    hint = hint.__origin__ if get_origin(hint) is Annotated else hint
    hints = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return tuple(get_origin(each) or each for each in hints)  # dict[str, str] is a dict


def value_problems(values: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> dict[str, str]:
    """Return the problems of values for these parameters, by name.

    >>> def build(*, lists: int, seed: int = 0) -> None: ...
    >>> value_problems({"sede": 1}, keyword_parameters(build))
    {'sede': 'there is no such parameter; did you mean seed?', 'lists': 'must be given (int)'}
    """
    problems = {
        name: problem
        for name, value in values.items()
        if (problem := _parameter_problem(name, value, parameters))
    }
    missing = [n for n, p in parameters.items() if p.default is inspect.Parameter.empty and n not in values]
    return problems | {name: f"must be given ({parameters[name].type_names})" for name in missing}


def _parameter_problem(name: str, value: Any, parameters: Mapping[str, Parameter]) -> str:
    if name not in parameters:
        hint = did_you_mean(name, parameters) or f"there are {', '.join(parameters) or 'none'}"
        return f"there is no such parameter; {hint}"
    if not parameters[name].accepts(value):
        return f"expected {parameters[name].type_names}, found {value!r}"
    meaning = parameters[name].meaning
    return "" if meaning.accepts(value) else f"must be {meaning.range_text}, found {value!r}"
