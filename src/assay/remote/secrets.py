"""Secrets in settings: they come from the environment as `${NAME}`, and literal ones are refused."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from assay.core.errors import ConfigurationError

_VARIABLE = re.compile(r"\$\{(\w+)\}")
_URL = re.compile(r"(\w+://)?([^/?#@]*@)?([^/?#]*)(.*)", re.DOTALL)  # scheme, login, host, the rest
_SECRET_WORDS = (
    *("auth", "authorization", "cookie", "credentials", "key"),
    *("pass", "passwd", "password", "secret", "token"),
)
_SECRET_ENDINGS = (  # stricter: among the names of a body, `sort_key` is not a secret
    *("apikey", "accesskey", "accountkey", "authkey", "privatekey", "secretkey", "subscriptionkey"),
    *("authorization", "cookie", "credentials", "passphrase", "passwd", "password", "secret", "token"),
)
_PLACEHOLDER = re.compile(r"\{\w+\}")  # a column of the query
_INVALID_IN_HEADERS = re.compile(r"[\r\n\0]|[^\0-\xff]")


def expand_variables(
    field: str,
    text: str,
    environment: Mapping[str, str] | None = None,
    quote_value: Callable[[str], str] = str,
) -> str:
    """Return a setting with each `${NAME}` replaced by the value of that environment variable.

    >>> expand_variables("headers.api-key", "Bearer ${MY_KEY}", {"MY_KEY": "abc"})
    'Bearer abc'
    """
    variables = os.environ if environment is None else environment
    missing = [name for name in _VARIABLE.findall(text) if name not in variables]
    if missing:
        raise ConfigurationError({field: f"the environment has no {missing[0]}; set it and try again"})
    return _VARIABLE.sub(lambda match: quote_value(variables[match[1]]), text)


def expand_url(field: str, url: str, environment: Mapping[str, str] | None = None) -> str:
    """Return a URL with each `${NAME}` replaced, quoted within the login, the path and the query.

    >>> expand_url("url", "${HOST}/find?key=${MY_KEY}", {"HOST": "https://a.org:8080", "MY_KEY": "a#b&c"})
    'https://a.org:8080/find?key=a%23b%26c'
    """
    match = _URL.fullmatch(url)
    assert match  # every text matches
    quotings: tuple[Callable[[str], str], ...] = (str, _quote_all, str, quote)
    parts = zip(match.groups(""), quotings, strict=True)
    return "".join(expand_variables(field, part, environment, quoting) for part, quoting in parts)


def expand_nested(field: str, value: Any) -> Any:
    """Return a setting of tables and lists with each `${NAME}` in its texts replaced."""
    if isinstance(value, Mapping):
        return {key: expand_nested(field, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [expand_nested(field, inner) for inner in value]
    return expand_variables(field, value) if isinstance(value, str) else value


def _quote_all(text: str) -> str:
    return quote(text, safe="")


def variable_names(text: str) -> set[str]:
    """Return the names of the environment variables in a text."""
    return set(_VARIABLE.findall(text))


def is_secret(name: str) -> bool:
    """Return whether a variable or header of this name holds a secret.

    >>> [is_secret(name) for name in ("X-Api-Key", "PGPASSWORD", "keywords", "Accept")]
    [True, True, False, False]
    """
    return any(word.endswith(_SECRET_WORDS) for word in re.split(r"[^a-z]+", name.lower()))


def is_secret_field(name: str) -> bool:
    """Return whether a field of a body, or an option of a command, holds a secret.

    >>> [is_secret_field(name) for name in ("apiKey", "--access-token", "sort_key", "token-file")]
    [True, True, False, False]
    """
    letters = re.sub(r"[^a-z]+", "", name.lower())
    return letters.endswith(_SECRET_ENDINGS) or letters in ("auth", "pass")


def is_literal(value: str) -> bool:
    """Return whether a value comes neither from the environment nor from the query."""
    return bool(value) and not _VARIABLE.search(value) and not _PLACEHOLDER.fullmatch(value)


def refuse_literal_secret(field: str, name: str, value: str) -> None:
    """Refuse a literal secret: it must come from the environment."""
    if is_secret(name) and value and not _VARIABLE.search(value):
        raise _literal_secret_error(field)


def refuse_literal_secrets(field: str, name: str, value: Any) -> None:
    """Refuse literal secrets anywhere in a setting of tables and lists."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            refuse_literal_secrets(f"{field}.{key}", str(key), inner)
    elif isinstance(value, list):
        for inner in value:
            refuse_literal_secrets(field, name, inner)
    elif isinstance(value, str) and is_secret_field(name) and is_literal(value):
        raise _literal_secret_error(field)


def _literal_secret_error(field: str) -> ConfigurationError:
    problem = 'a secret comes from the environment: write "${NAME}" and set NAME there'
    return ConfigurationError({field: problem})


def refuse_invalid_header(field: str, name: str, value: str) -> None:
    """Refuse a value that a header cannot contain, by the name of its source; it is not repeated."""
    if match := _INVALID_IN_HEADERS.search(value):
        problem = "a line break or a null" if match[0] in "\r\n\0" else "a character outside Latin-1"
        raise ConfigurationError({field: f"{name} has {problem} in it, which a header cannot contain"})
