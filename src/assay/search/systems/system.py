"""What the searchers of this folder share: settings, the vector of a query, no secrets in errors."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Mapping
from itertools import pairwise
from numbers import Integral
from typing import Any
from urllib.parse import urlsplit

from assay.core.digests import digest_of
from assay.core.errors import ConfigurationError
from assay.core.secrets import expanded_url, hidden, named, refuse_written_in
from assay.core.settings import is_number
from assay.models.encoder import Encoder
from assay.models.model import ModelError, Usage, until
from assay.search.searcher import Answer, Query, Ranked, Searcher, SearchError
from assay.search.systems.templates import mentioned

_WHO = ("headers", "auth", "api_key", "token")  # settings that say who asks: a new key is no new system
Found = Iterable[tuple[Any, Any]]  # ids with scores as they came; None: no score, the order counts


class System(Searcher):
    """A searcher with settings: subclass it with `found`.

    Settings hold what was written, `${NAME}` for what the environment has; so they can be shown.
    """

    _template: Any = None  # what is filled for each query, where something is
    _folder: str | None = None  # that paths in settings are from, where there may be some
    _given = frozenset({"query", "k", "id", "vector"})  # beside the columns

    def __init__(
        self, name: str, settings: Mapping[str, Any], encoder: Encoder | None = None, encodes: bool = False
    ) -> None:
        self.name, self._encoder = name, encoder
        self._settings = {key: value for key, value in settings.items() if value is not None}
        for field, value in self._settings.items():
            refuse_written_in(field, field, value)
        self._names = named(repr(self._settings))
        self._encodes = encodes or "vector" in mentioned(self._settings)
        if self._encodes and encoder is None:
            raise ConfigurationError({"encoder": "must be given: the vector is asked for"})

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        """The k best documents of a query, best first."""
        end = math.inf if timeout is None else time.monotonic() + timeout
        try:
            with until(end):
                values, used = self._values(query, k)
            found = ranked(self.found(values, k, left(end)), k)
        except SearchError as error:
            said = hidden(error.said, self._names)
            raise SearchError(error.kind, said, again=error.again, after=error.after) from None
        return Answer(found, tokens=used.tokens, cost=used.cost)

    def found(self, values: Mapping[str, Any], k: int, timeout: float | None) -> Found:
        """Ids and scores, best first, for the values of a query (`query`, `k`, `id`, `vector`, columns)."""
        raise NotImplementedError

    def configuration(self) -> Mapping[str, Any]:
        """The settings as they were written."""
        made = {"name": self.name, "kind": type(self).__module__.rpartition(".")[2], **self._settings}
        return made | ({"encoder": dict(self._encoder.configuration())} if self._encoder else {})

    def identity(self) -> Mapping[str, Any]:
        """The settings, and a digest of what the environment makes of them: another server is another.

        So is another folder, and what a model costs.
        """
        urls = [field for field in ("url", "uri") if field in self._settings]
        found: list[Any] = [_address(field, self._settings[field]) for field in urls]
        found += [os.path.abspath(self._folder)] if self._folder is not None else []
        rest = {field: value for field, value in self._settings.items() if field not in (*urls, *_WHO)}
        found += [(name, os.environ.get(name)) for name in sorted(named(repr(rest)))]
        made = {**self.configuration(), "address": digest_of(repr(found).encode())}
        return made | ({"encoder": dict(self._encoder.identity())} if self._encoder else {})

    def wanted(self) -> set[str]:
        """The columns that the template names."""
        return mentioned(self._template) - self._given

    def _values(self, query: Query, k: int) -> tuple[dict[str, Any], Usage]:
        values = {**query.columns, "query": query.text, "k": k, "id": query.id}
        if self._encoder is None or not self._encodes:
            return values, Usage()
        before = self._encoder.usage_here
        try:
            vector = self._encoder.encode_query(query.text).tolist()
        except ModelError as error:
            raise SearchError(error.kind, error.said, again=error.again, after=error.after) from None
        return {**values, "vector": vector}, self._encoder.usage_here.minus(before)


def _address(field: str, url: str) -> tuple[str, ...]:
    """Where a URL leads, whoever asks there."""
    parts = urlsplit(expanded_url(field, url))
    return parts.scheme, parts.netloc.rpartition("@")[2], parts.path, *([parts.query] * bool(parts.query))


def left(end: float) -> float | None:
    """The seconds until a moment; None: there is no end."""
    if math.isinf(end):
        return None
    seconds = end - time.monotonic()
    if seconds <= 0:
        raise SearchError("timeout", "the time was over before the search was asked", again=True)
    return seconds


def ranked(found: Found, k: int) -> Ranked:
    """The first k as they came: their order is the ranking, and a document that stands twice counts once.

    Scores that rise from first to last are distances, and change their sign; where there are none, the order
    gives them.

    >>> ranked([(7, 0.1), ("b", 0.4), (7, 0.5)], 10)
    [('7', -0.1), ('b', -0.4)]
    >>> ranked([("a", None), ("b", None)], 10)
    [('a', 1.0), ('b', 0.5)]
    """
    once: dict[str, Any] = {}
    for key, score in found:
        once.setdefault(key if type(key) is str and key else identity(key), score)
    first = list(once.items())[:k]
    if all(score is None for _, score in first):
        return [(key, 1 / rank) for rank, (key, _) in enumerate(first, 1)]
    scores = [s if type(s) is float and math.isfinite(s) else _number(key, s) for key, s in first]
    return list(zip([key for key, _ in first], _falling(scores), strict=True))


def identity(key: Any) -> str:
    """The id of a document as text."""
    if isinstance(key, str | Integral) and not isinstance(key, bool) and key != "":
        return str(key)
    raise SearchError("malformed", f"expected text or a whole number as id, found {shown(key)!r}")


def shown(value: Any, most: int = 100) -> str:
    """The beginning of what was found, for an error; cut only after secrets are out, or a part would stay."""
    return hidden(str(value))[:most]


def _number(key: str, score: Any) -> float:
    try:
        number = float(score)  # a database has numbers of its own
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(score, str) or not is_number(number):
        raise SearchError("malformed", f"expected a number as the score of {key!r}, found {shown(score)!r}")
    return number


def _falling(scores: list[float]) -> list[float]:
    if scores == sorted(scores, reverse=True):
        return scores
    pairs = list(pairwise(scores))
    if all(a <= b for a, b in pairs):
        return [0.0 - score for score in scores]
    at = next(i for i, (a, b) in enumerate(pairs) if a < b)
    raise SearchError(
        "malformed",
        f"the scores neither fall nor rise from first to last: {scores[at]:g} before {scores[at + 1]:g}; "
        "sort by score, or give no scores and the order counts",
    )
