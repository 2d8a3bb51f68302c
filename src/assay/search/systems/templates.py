"""Templates with `{query}` in them, and paths like `$.hits[*].id` into what comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from assay.core.errors import ConfigurationError
from assay.core.secrets import hidden
from assay.search.searcher import SearchError

_PLACE = re.compile(r"(?<!\$)\{([A-Za-z_]\w*)\}")  # ${NAME} is of the environment
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[(\*)\]")


def filled(template: Any, values: Mapping[str, Any], written: Callable[[Any], str] = str) -> Any:
    """A template with its values; a text that is exactly one placeholder becomes the value with its type.

    >>> filled({"q": "{query}", "size": "{k}", "why": "{query}, {k} times"}, {"query": "how", "k": 10})
    {'q': 'how', 'size': 10, 'why': 'how, 10 times'}
    """
    if isinstance(template, Mapping):
        return {key: filled(value, values, written) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [filled(value, values, written) for value in template]
    if not isinstance(template, str):
        return template
    if written is str and (whole := _PLACE.fullmatch(template)):
        return _value(whole[1], values)
    return _PLACE.sub(lambda found: written(_value(found[1], values)), template)


def mentioned(template: Any) -> set[str]:
    """The names of the placeholders in a template."""
    return set(_PLACE.findall(template if isinstance(template, str) else json.dumps(template, default=str)))


def _value(name: str, values: Mapping[str, Any]) -> Any:
    if name not in values:
        raise SearchError("failed", f"the query has nothing for {{{name}}}; it has {', '.join(values)}")
    return values[name]


class Path:
    """A path into JSON: `$`, then `.key`, `[0]` or `[*]` for each; no filters, no slices.

    >>> Path("$.hits[*].id").all({"hits": [{"id": "a"}, {"id": "b"}]})
    ['a', 'b']
    >>> Path("$.ids").all({"ids": ["a", "b"]})
    ['a', 'b']
    """

    def __init__(self, path: str, field: str = "path") -> None:
        found = list(_STEP.finditer(path))
        if "$" + "".join(step[0] for step in found) != path:
            raise ConfigurationError({field: f"expected a path such as $.hits[*].id, found {path!r}"})
        self._steps = [step.group(1) or (int(step.group(2)) if step.group(2) else None) for step in found]

    def all(self, body: Any) -> list[Any]:
        """Everything the path leads to; a list that it leads to is taken apart."""
        try:
            made = _together(body, self._steps)
        except (LookupError, TypeError, SearchError):
            made = _followed(body, self._steps, "$")  # says where the path does not go on
        return made[0] if None not in self._steps and isinstance(made[0], list) else made

    def one(self, body: Any) -> Any:
        """What the path leads to; None where it leads nowhere."""
        try:
            return next(iter(_followed(body, self._steps, "$")), None)
        except SearchError:
            return None


def _together(value: Any, steps: list[Any]) -> list[Any]:
    """What steps lead to, one step for all places at once: fast, and silent about where it fails."""
    found = [value]
    for step in steps:
        if isinstance(step, str):
            found = [place[step] for place in found]
        else:
            lists = [_listed(place, "$") for place in found]
            found = [inner for each in lists for inner in each] if step is None else [x[step] for x in lists]
    return found


def _followed(value: Any, steps: list[Any], at: str) -> list[Any]:
    if not steps:
        return [value]
    step, rest = steps[0], steps[1:]
    if step is None:
        each = enumerate(_listed(value, at))
        return [found for n, inner in each for found in _followed(inner, rest, f"{at}[{n}]")]
    if isinstance(step, int):
        if step >= len(_listed(value, at)):
            raise SearchError("malformed", f"at {at}: expected {step + 1} or more, found {len(value)}")
        return _followed(value[step], rest, f"{at}[{step}]")
    if not isinstance(value, dict) or step not in value:
        raise SearchError("malformed", f"at {at}: expected the key {step!r}, found {_seen(value)}")
    return _followed(value[step], rest, f"{at}.{step}")


def _listed(value: Any, at: str) -> list[Any]:
    if value is None or isinstance(value, list):
        return value or []
    raise SearchError("malformed", f"at {at}: expected a list, found {_seen(value)}")


def _seen(value: Any) -> str:
    if isinstance(value, dict):
        return f"the keys {', '.join(list(value)[:10])}" if value else "an object without keys"
    return f"a list of {len(value)}" if isinstance(value, list) else f"{hidden(str(value))[:60]!r}"
