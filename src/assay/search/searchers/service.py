"""What searchers over HTTP share: a client with headers and a login from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import SplitResult, parse_qsl, urlsplit

from assay.core.errors import ConfigurationError, InputError
from assay.remote.http import HttpClient, basic_auth_header, parse_url, url_auth_header
from assay.remote.secrets import (
    expand_url,
    expand_variables,
    refuse_invalid_header,
    refuse_literal_secret,
    variable_names,
)
from assay.search.searchers.configured import ConfiguredSearcher

MAX_RESPONSE_BYTES = 10_000_000


class ServiceSearcher(ConfiguredSearcher):
    """A searcher of a service over HTTP: call `_connect` in `__init__`."""

    _client: HttpClient

    def _connect(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        auth: str | None = None,
        max_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        """Open the client; secrets in its settings come from the environment."""
        _refuse_literal_secrets(url, headers or {}, auth)
        parts = _parse_url(url)
        login = basic_auth_header(expand_variables("auth", auth)) if auth else url_auth_header(parts)
        names = variable_names(f"{url} {headers} {auth}") | self._names
        sent = {**_expand_headers(headers or {}), **login}
        self._client = HttpClient(parts.geturl(), sent, max_bytes=max_bytes, secrets=names)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _refuse_literal_secrets(url: str, headers: Mapping[str, str], auth: str | None) -> None:
    parts = urlsplit(url)
    refuse_literal_secret("url", "password", parts.netloc.rpartition("@")[0])  # a name alone may be a key
    for name, value in parse_qsl(parts.query):
        refuse_literal_secret("url", name, "" if value.startswith("{") else value)
    for name, value in headers.items():
        refuse_literal_secret(f"headers.{name}", name, value)
    refuse_literal_secret("auth", "password", (auth or "").partition(":")[2])


def _parse_url(url: str) -> SplitResult:
    try:
        return parse_url(expand_url("url", url), ("http", "https"))
    except ConfigurationError:
        raise
    except InputError:  # its message would repeat values of the environment
        raise ConfigurationError({"url": f"expected http://HOST:PORT/…, found {url!r}"}) from None


def _expand_headers(headers: Mapping[str, str]) -> dict[str, str]:
    values = {name: expand_variables(f"headers.{name}", value) for name, value in headers.items()}
    for name, value in values.items():
        source = " and ".join(sorted(variable_names(headers[name]))) or "it"
        refuse_invalid_header(f"headers.{name}", source, value)
    return values
