"""Secrets: they come from the environment as `${NAME}`, and are taken out of whatever is said."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from assay.core.errors import ConfigurationError

_NAMED = re.compile(r"\$\{(\w+)\}")
_URL = re.compile(r"(\w+://)?([^/?#@]*@)?([^/?#]*)(.*)", re.DOTALL)  # scheme, who asks, host, the rest
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
_WRITTEN = (  # how names end that mean a secret where other names stand beside them: a sort_key means none
    *("apikey", "accesskey", "accountkey", "authkey", "privatekey", "secretkey", "subscriptionkey"),
    *("authorization", "cookie", "credentials", "passphrase", "passwd", "password", "secret", "token"),
)
_PLACE = re.compile(r"\{\w+\}")  # a column of the query
_UNSENDABLE = re.compile(r"[\r\n\0]|[^\0-\xff]")
_SHORTEST = 6  # characters: less would be found in words that mean nothing


def expanded(
    field: str,
    text: str,
    environment: Mapping[str, str] | None = None,
    written: Callable[[str], str] = str,
) -> str:
    """A setting with each `${NAME}` replaced by what the environment has.

    >>> expanded("headers.api-key", "Bearer ${MY_KEY}", {"MY_KEY": "abc"})
    'Bearer abc'
    """
    there = os.environ if environment is None else environment
    missing = [name for name in _NAMED.findall(text) if name not in there]
    if missing:
        raise ConfigurationError({field: f"the environment has no {missing[0]}; set it and try again"})
    return _NAMED.sub(lambda found: written(there[found[1]]), text)


def expanded_url(field: str, url: str, environment: Mapping[str, str] | None = None) -> str:
    """A URL with each `${NAME}` replaced, quoted where it is a password or stands behind the host.

    >>> expanded_url("url", "${HOST}/find?key=${MY_KEY}", {"HOST": "https://a.org:8080", "MY_KEY": "a#b&c"})
    'https://a.org:8080/find?key=a%23b%26c'
    """
    found = _URL.fullmatch(url)
    assert found  # any text is such a one
    ways: tuple[Callable[[str], str], ...] = (str, _quoted_whole, str, quote)
    parts = zip(found.groups(""), ways, strict=True)
    return "".join(expanded(field, part, environment, way) for part, way in parts)


def expanded_in(field: str, value: Any) -> Any:
    """A setting of tables and lists, with each `${NAME}` in their texts replaced."""
    if isinstance(value, Mapping):
        return {key: expanded_in(field, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [expanded_in(field, inner) for inner in value]
    return expanded(field, value) if isinstance(value, str) else value


def _quoted_whole(text: str) -> str:
    return quote(text, safe="")


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
        raise _written(field)


def _written(field: str) -> ConfigurationError:
    said = 'a secret comes from the environment: write "${NAME}" and set NAME there'
    return ConfigurationError({field: said})


def means_secret(name: str) -> bool:
    """Whether a name means a secret among names of all sorts: those of a body, or of a command's options.

    >>> [means_secret(name) for name in ("apiKey", "--access-token", "sort_key", "token-file")]
    [True, True, False, False]
    """
    plain = re.sub(r"[^a-z]+", "", name.lower())
    return plain.endswith(_WRITTEN) or plain in ("auth", "pass")


def is_written(value: str) -> bool:
    """Whether a value is written down, and neither of the environment nor of the query."""
    return bool(value) and not _NAMED.search(value) and not _PLACE.fullmatch(value)


def refuse_written_in(field: str, name: str, value: Any) -> None:
    """Refuse secrets that are written down anywhere in a setting of tables and lists."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            refuse_written_in(f"{field}.{key}", str(key), inner)
    elif isinstance(value, list):
        for inner in value:
            refuse_written_in(field, name, inner)
    elif isinstance(value, str) and means_secret(name) and is_written(value):
        raise _written(field)


def refuse_unsendable(field: str, name: str, value: str) -> None:
    """Refuse a value that no header can carry, by the name of where it came from; it is not repeated."""
    if found := _UNSENDABLE.search(value):
        what = "a line break or a null" if found[0] in "\r\n\0" else "a character beyond Latin-1"
        raise ConfigurationError({field: f"{name} has {what} in it, which no header carries; set it without"})


def hidden(text: str, names: set[str] | frozenset[str] = frozenset()) -> str:
    """A text without the values of these names of the environment, nor of any other that is a secret.

    Cut a text only after this: of a value that was cut, nothing would be recognised.
    """
    found = {
        form: name
        for name, value in os.environ.items()
        if name in names or (is_secret(name) and len(value) >= _SHORTEST)
        for form in _forms(value)
    }
    if not found:
        return text
    longest_first = sorted(found, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest_first)), lambda at: f"${{{found[at[0]]}}}", text)


def _forms(value: str) -> set[str]:
    """A value as it is, and as URLs and JSON write it."""
    inside = {json.dumps(value, ensure_ascii=plain)[1:-1] for plain in (True, False)}
    return {value, quote(value), _quoted_whole(value), quote_plus(value), *inside} - {""}
