"""Redaction: secrets are taken out of every text that is shown, stored or raised."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Set
from typing import Any
from urllib.parse import quote, quote_plus

from assay.remote.secrets import is_secret

_LOGIN = re.compile(r"(?<=//)[^/\s\"'<>]*@")  # before the host of a URL
_PASSWORD = re.compile(r"(://[^/:@]*):[^\s]*@")
_ASSIGNMENT = re.compile(r"(?i)((?:password|token|secret|api_key|pwd)\s*=\s*)[^\s&;]+")
_SECRET_PARAMETERS = ("key", "password", "pwd", "secret", "token")  # a part of the name of a parameter
_MIN_SECRET_LENGTH = 6  # characters: a shorter value would be found in ordinary words


def redact(text: str, names: Set[str] = frozenset()) -> str:
    """Return a text without secrets: values of the environment become `${NAME}`, logins in URLs `…`.

    The values are those of the variables in `names`, and of all variables whose name is that of a
    secret. Cut a text only after this: a part of a value would not be recognised.

    >>> redact("cannot open postgresql://ada:hush@db/assay")
    'cannot open postgresql://…@db/assay'
    """
    names_by_value = {
        spelling: name
        for name, value in os.environ.items()
        if name in names or (is_secret(name) and len(value) >= _MIN_SECRET_LENGTH)
        for spelling in _spellings(value)
    }
    if names_by_value:
        longest_first = sorted(names_by_value, key=len, reverse=True)
        pattern = "|".join(map(re.escape, longest_first))
        text = re.sub(pattern, lambda match: f"${{{names_by_value[match[0]]}}}", text)
    return redact_login(text)


def redact_login(text: str) -> str:
    """Return a text without the logins in its URLs.

    >>> redact_login("https://ada:p@ss@host/x")
    'https://…@host/x'
    """
    return _LOGIN.sub("…@", text)


def redact_url(url: str) -> str:
    """Return a URL without its password, but with its user.

    >>> redact_url("postgresql://me:secret@db/assay")
    'postgresql://me:***@db/assay'
    """
    head, at, tail = url.rpartition("@")
    scheme, _, login = head.partition("://")
    return f"{scheme}://{login.partition(':')[0]}:***@{tail}" if at and ":" in login else url


def redact_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters without keys and passwords.

    >>> redact_parameters({"url": "https://me:secret@host/x", "api_key": "secret", "m": 16})
    {'url': 'https://me@host/x', 'api_key': '…', 'm': 16}
    """
    return {name: _redact_parameter(name, value) for name, value in parameters.items()}


def _redact_parameter(name: str, value: Any) -> Any:
    if value and any(part in name for part in _SECRET_PARAMETERS):
        return "…"
    if not isinstance(value, str):
        return value
    return _ASSIGNMENT.sub(r"\1…", _PASSWORD.sub(r"\1@", value))


def excerpt(value: Any, length: int = 100, names: Set[str] = frozenset()) -> str:
    """Return the beginning of a value as text, for a message, without secrets.

    >>> excerpt(["a", "b"], length=4)
    "['a'"
    """
    return redact(str(value), names)[:length]


def _spellings(value: str) -> set[str]:
    """Return a value as it is, and as URLs and JSON write it."""
    escaped = {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    return {value, quote(value), quote(value, safe=""), quote_plus(value), *escaped} - {""}
