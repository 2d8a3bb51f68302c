"""Secrets: they come from the environment as `${NAME}`, and are taken out of whatever is said."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from assay.core.errors import ConfigurationError

_NAMED = re.compile(r"\$\{(\w+)\}")
_SECRET = (
    "auth",
    "authorization",
    "cookie",
    "credentials",
    "key",
    "pass",
    "passwd",
    "password",
    "secret",
    "token",
)
_SHORTEST = 6  # characters: less would be found in words that mean nothing


def expanded(field: str, text: str, environment: Mapping[str, str] | None = None) -> str:
    """A setting with each `${NAME}` replaced by what the environment has.

    >>> expanded("headers.api-key", "Bearer ${MY_KEY}", {"MY_KEY": "abc"})
    'Bearer abc'
    """
    there = os.environ if environment is None else environment
    missing = [name for name in _NAMED.findall(text) if name not in there]
    if missing:
        raise ConfigurationError({field: f"the environment has no {missing[0]}; set it and try again"})
    return _NAMED.sub(lambda found: there[found[1]], text)


def named(text: str) -> set[str]:
    """The names of the environment in a text."""
    return set(_NAMED.findall(text))


def is_secret(name: str) -> bool:
    """Whether a name speaks of a secret.

    >>> [is_secret(name) for name in ("X-Api-Key", "PGPASSWORD", "keywords", "Accept")]
    [True, True, False, False]
    """
    return any(word.endswith(_SECRET) for word in re.split(r"[^a-z]+", name.lower()))


def refuse_written(field: str, name: str, value: str) -> None:
    """Refuse a secret that is written down instead of taken from the environment."""
    if is_secret(name) and value and not _NAMED.search(value):
        raise ConfigurationError(
            {field: 'a secret comes from the environment: write "${NAME}" and set NAME there'}
        )


def hidden(text: str, names: set[str] | frozenset[str] = frozenset()) -> str:
    """A text without the values of these names of the environment, nor of any other that is a secret."""
    for name, value in os.environ.items():
        if name in names or (is_secret(name) and len(value) >= _SHORTEST):
            text = text.replace(value, f"${{{name}}}") if value else text
    return text
