"""The base class of searchers with settings: the vector of a query, the ranking, no secrets in errors."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Mapping, Set
from itertools import pairwise
from numbers import Integral
from typing import Any
from urllib.parse import urlsplit

from assay.core.digests import digest_of
from assay.core.errors import ConfigurationError
from assay.core.settings import is_number
from assay.models.encoder import Encoder
from assay.models.model import Usage
from assay.remote.deadline import deadline, seconds_until
from assay.remote.errors import RemoteError
from assay.remote.redaction import excerpt, redact
from assay.remote.secrets import expand_url, refuse_literal_secrets, variable_names
from assay.search.searcher import Answer, Query, RankedDocuments, Searcher
from assay.search.searchers.templates import placeholders

_CREDENTIALS = ("headers", "auth", "api_key", "token")  # another login is not another system
ReturnedDocuments = Iterable[tuple[Any, Any]]  # ids with scores as returned; a score of None: order only


class ConfiguredSearcher(Searcher):
    """A searcher with settings: subclass it with `find_documents`.

    Settings are kept as they were written, with `${NAME}` for values of the environment, so that they
    can be shown.
    """

    _template: Any = None  # what is filled in for each query, if anything
    _folder: str | None = None  # the folder of relative paths in settings, if there can be any
    _standard_values = frozenset({"query", "k", "id", "vector"})  # besides the columns

    def __init__(
        self, name: str, settings: Mapping[str, Any], encoder: Encoder | None = None, encodes: bool = False
    ) -> None:
        self.name, self._encoder = name, encoder
        self._settings = {key: value for key, value in settings.items() if value is not None}
        for field, value in self._settings.items():
            refuse_literal_secrets(field, field, value)
        self._names = variable_names(repr(self._settings))
        self._encodes = encodes or "vector" in placeholders(self._settings)
        if self._encodes and encoder is None:
            raise ConfigurationError({"encoder": "must be given: the settings use the vector of the query"})

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        """Return the k best documents of a query, best first."""
        end = math.inf if timeout is None else time.monotonic() + timeout
        try:
            with deadline(end):
                values, usage = self._values(query, k)
            returned = list(self.find_documents(values, k, seconds_until(end)))
            documents = rank_as_returned(returned, k)
        except RemoteError as error:
            raise error.with_reason(redact(error.reason, self._names)) from None
        repeated = len(returned) - len({str(key) for key, _ in returned})
        return Answer(documents, tokens=usage.tokens, cost=usage.cost, repeated=repeated)

    def find_documents(self, values: Mapping[str, Any], k: int, timeout: float | None) -> ReturnedDocuments:
        """Return ids and scores, best first; `values` are `query`, `k`, `id`, `vector` and the columns."""
        raise NotImplementedError

    def configuration(self) -> Mapping[str, Any]:
        """Return the settings as they were written."""
        settings = {"name": self.name, "kind": type(self).__module__.rpartition(".")[2], **self._settings}
        return settings | ({"encoder": dict(self._encoder.configuration())} if self._encoder else {})

    def identity(self) -> Mapping[str, Any]:
        """Return the settings with a digest of the values of the environment in them.

        Another server, another folder and other prices of a model make another identity.
        """
        urls = [field for field in ("url", "uri") if field in self._settings]
        parts: list[Any] = [_address(field, self._settings[field]) for field in urls]
        parts += [os.path.abspath(self._folder)] if self._folder is not None else []
        rest = {
            field: value for field, value in self._settings.items() if field not in (*urls, *_CREDENTIALS)
        }
        parts += [(name, os.environ.get(name)) for name in sorted(variable_names(repr(rest)))]
        settings = {**self.configuration(), "address": digest_of(repr(parts).encode())}
        return settings | ({"encoder": dict(self._encoder.identity())} if self._encoder else {})

    def required_columns(self) -> set[str]:
        """Return the columns that the template names."""
        return placeholders(self._template) - self._standard_values

    def _values(self, query: Query, k: int) -> tuple[dict[str, Any], Usage]:
        values = {**query.columns, "query": query.text, "k": k, "id": query.id}
        if self._encoder is None or not self._encodes:
            return values, Usage()
        usage_before = self._encoder.thread_usage
        vector = self._encoder.encode_query(query.text).tolist()
        return {**values, "vector": vector}, self._encoder.thread_usage.minus(usage_before)


def refuse_same_requests(field: str, names: Set[str], mark: str = "{{{}}}") -> None:
    """Refuse a request whose placeholders do not include the query: it would be the same for all queries."""
    if not names & {"query", "vector", "id"}:
        expected = " or ".join(mark.format(name) for name in ("query", "vector"))
        listed = ", ".join(mark.format(name) for name in sorted(names)) or "no placeholder"
        problem = f"expected {expected}, found {listed}: the request does not contain the query"
        raise ConfigurationError({field: problem})


def _address(field: str, url: str) -> tuple[str, ...]:
    """Return the server, path and query of a URL, without the login."""
    parts = urlsplit(expand_url(field, url))
    return parts.scheme, parts.netloc.rpartition("@")[2], parts.path, *([parts.query] * bool(parts.query))


def rank_as_returned(returned: ReturnedDocuments, k: int) -> RankedDocuments:
    """Return the first k documents in the order in which they were returned; repeated ones count once.

    Scores that rise from first to last are distances, and are negated; without scores, they are
    computed from the order.

    >>> rank_as_returned([(7, 0.1), ("b", 0.4), (7, 0.5)], 10)
    [('7', -0.1), ('b', -0.4)]
    >>> rank_as_returned([("a", None), ("b", None)], 10)
    [('a', 1.0), ('b', 0.5)]
    """
    scores_by_id: dict[str, Any] = {}
    for key, score in returned:
        scores_by_id.setdefault(key if type(key) is str and key else document_id(key), score)
    documents = list(scores_by_id.items())[:k]
    if all(score is None for _, score in documents):
        return [(key, 1 / rank) for rank, (key, _) in enumerate(documents, 1)]
    scores = [s if type(s) is float and math.isfinite(s) else _parse_score(key, s) for key, s in documents]
    return list(zip([key for key, _ in documents], _descending(scores), strict=True))


def document_id(key: Any) -> str:
    """Return the id of a document as text."""
    if isinstance(key, str | Integral) and not isinstance(key, bool) and key != "":
        return str(key)
    raise RemoteError("malformed", f"expected text or a whole number as id, found {excerpt(key)!r}")


def _parse_score(key: str, score: Any) -> float:
    try:
        number = float(score)  # databases have their own types of numbers
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(score, str) or not is_number(number):
        raise RemoteError("malformed", f"expected a number as the score of {key!r}, found {excerpt(score)!r}")
    return number


def _descending(scores: list[float]) -> list[float]:
    if scores == sorted(scores, reverse=True):
        return scores
    pairs = list(pairwise(scores))
    if all(a <= b for a, b in pairs):
        return [0.0 - score for score in scores]
    position = next(i for i, (a, b) in enumerate(pairs) if a < b)
    raise RemoteError(
        "malformed",
        f"the scores neither fall nor rise from first to last: {scores[position]:g} before "
        f"{scores[position + 1]:g}; sort by score, or return no scores to use the order",
    )
