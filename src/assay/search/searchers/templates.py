"""Templates of requests with `{query}` in them, and paths such as `$.hits[*].id` into responses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from assay.core.errors import ConfigurationError
from assay.remote.errors import RemoteError
from assay.remote.redaction import excerpt

_PLACEHOLDER = re.compile(r"(?<!\$)\{([A-Za-z_]\w*)\}")  # ${NAME} is an environment variable
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[(\*)\]")


def fill_template(template: Any, values: Mapping[str, Any], format_value: Callable[[Any], str] = str) -> Any:
    """Return a template with values; a text that is one placeholder becomes the value with its type.

    >>> fill_template({"q": "{query}", "size": "{k}", "why": "{query}, {k} times"}, {"query": "how", "k": 10})
    {'q': 'how', 'size': 10, 'why': 'how, 10 times'}
    """
    if isinstance(template, Mapping):
        return {key: fill_template(value, values, format_value) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [fill_template(value, values, format_value) for value in template]
    if not isinstance(template, str):
        return template
    if format_value is str and (match := _PLACEHOLDER.fullmatch(template)):
        return _value(match[1], values)
    return _PLACEHOLDER.sub(lambda match: format_value(_value(match[1], values)), template)


def placeholders(template: Any) -> set[str]:
    """Return the names of the placeholders in a template."""
    return set(
        _PLACEHOLDER.findall(template if isinstance(template, str) else json.dumps(template, default=str))
    )


def _value(name: str, values: Mapping[str, Any]) -> Any:
    if name not in values:
        raise RemoteError("failed", f"the query has no value for {{{name}}}; it has {', '.join(values)}")
    return values[name]


class JsonPath:
    """A path into JSON: `$`, then `.key`, `[0]` or `[*]` for each; no filters, no slices.

    >>> JsonPath("$.hits[*].id").all({"hits": [{"id": "a"}, {"id": "b"}]})
    ['a', 'b']
    >>> JsonPath("$.ids").all({"ids": ["a", "b"]})
    ['a', 'b']
    """

    def __init__(self, path: str, field: str = "path") -> None:
        steps = list(_STEP.finditer(path))
        if "$" + "".join(step[0] for step in steps) != path:
            raise ConfigurationError({field: f"expected a path such as $.hits[*].id, found {path!r}"})
        self._steps = [step.group(1) or (int(step.group(2)) if step.group(2) else None) for step in steps]

    def all(self, body: Any) -> list[Any]:
        """Return all values at the path; the items of a list if it ends at one list."""
        try:
            values = _follow_steps(body, self._steps)
        except (LookupError, TypeError, RemoteError):
            values = _follow(body, self._steps, "$")  # raises an error that says where the path ends
        return values[0] if None not in self._steps and isinstance(values[0], list) else values

    def first(self, body: Any) -> Any:
        """Return the first value at the path; None if there is none."""
        try:
            return next(iter(_follow(body, self._steps, "$")), None)
        except RemoteError:
            return None


def _follow_steps(value: Any, steps: list[Any]) -> list[Any]:
    """Return the values at the end of the steps: fast, but does not say where a path ends."""
    values = [value]
    for step in steps:
        if isinstance(step, str):
            values = [item[step] for item in values]
        else:
            lists = [_check_list(item, "$") for item in values]
            values = [inner for each in lists for inner in each] if step is None else [x[step] for x in lists]
    return values


def _follow(value: Any, steps: list[Any], location: str) -> list[Any]:
    if not steps:
        return [value]
    step, rest = steps[0], steps[1:]
    if step is None:
        each = enumerate(_check_list(value, location))
        return [leaf for n, inner in each for leaf in _follow(inner, rest, f"{location}[{n}]")]
    if isinstance(step, int):
        if step >= len(_check_list(value, location)):
            raise RemoteError("malformed", f"at {location}: expected {step + 1} or more, found {len(value)}")
        return _follow(value[step], rest, f"{location}[{step}]")
    if not isinstance(value, dict) or step not in value:
        raise RemoteError("malformed", f"at {location}: expected the key {step!r}, found {_describe(value)}")
    return _follow(value[step], rest, f"{location}.{step}")


def _check_list(value: Any, location: str) -> list[Any]:
    if value is None or isinstance(value, list):
        return value or []
    raise RemoteError("malformed", f"at {location}: expected a list, found {_describe(value)}")


def _describe(value: Any) -> str:
    if isinstance(value, dict):
        return f"the keys {', '.join(list(value)[:10])}" if value else "an object without keys"
    return f"a list of {len(value)}" if isinstance(value, list) else f"{excerpt(value, 60)!r}"
