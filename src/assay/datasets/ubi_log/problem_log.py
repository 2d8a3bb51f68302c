"""Irregularities of a log, counted by kind with their places."""

from __future__ import annotations

from array import array
from itertools import islice

from assay.core.events import Place, Problem

_PLACES = 1_000_000  # places of a kind that are kept, so that a long log fits in memory; all are counted
_DETAILED = 20  # places of a kind that keep a text; of the others, file and line are kept

# kind: what is done about it
TREATMENTS = {
    "not JSON": "left out",
    "neither a query nor an event": "left out",
    "not a record": "left out",
    "file that cannot be read": "left out",
    "XML that ends early": "read up to there; the rest is missing",
    "session without a user": "the session stands for its user; times are seconds since it began",
    "row without a query id": "the row is a query of its own",
    "click on a rank without a result": "kept without an object",
    "time that cannot be read": "kept without a time",
    "time without a zone": "read as UTC",
    "time in another zone": "converted to UTC",
    "time as a number": "read as milliseconds, seconds or microseconds since 1970, by its size",
    "session in the attributes": "taken from there",
    "result ids under another name": "read as query_response_hit_ids",
    "result ids that are not a list": "kept without results",
    "result without an id": "left out of the page",
    "action under another name": "read as the standard action",
    "ordinal that is not a whole number": "kept without a rank",
    "ordinal from 0": "counted from 1",
    "ordinal that contradicts the results": "the rank in the results is used",
    "ordinal without an object": "kept without a rank",
    "position not nested in xy": "read as x and y",
    "attributes that are not an object": "kept without attributes",
    "attribute of a wrong type": "kept without it",
    "repeated query": "one record is kept, with the longest list of results",
    "repeated event": "kept and marked",
    "query without an id": "kept; its events cannot be joined",
    "query without results": "kept; it shows nothing",
    "query whose results are not logged": "kept; a page is made of its impressions, if it has any",
    "event without a query id": "kept; it belongs to no page",
    "event of an unknown query": "kept; a page is made of its impressions, if it has any",
    "event before its query": "kept",
    "event more than a day after its query": "kept",
    "event without a time": "kept; no dwell time follows from it",
}


class ProblemLog:
    """Collects problems while a log is read."""

    def __init__(self) -> None:
        self._detailed: dict[str, list[Place]] = {}
        self._sources: list[str] = []
        self._counts: dict[str, int] = {}
        self._places: dict[str, array[int]] = {}

    def add(self, kind: str, source: str, line: int | None, detail: object = "") -> None:
        """Count a problem at a place."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        places = self._places.setdefault(kind, array("q"))
        if len(places) >= 2 * _PLACES:
            return
        if not self._sources or self._sources[-1] != source:
            self._sources.append(source)
        places.extend((len(self._sources) - 1, line or 0))
        texts = self._detailed.setdefault(kind, [])
        if len(texts) < _DETAILED:
            texts.append(Place(source, line, str(detail)[:120]))

    def problems(self) -> tuple[Problem, ...]:
        """Return the problems, the most frequent first."""
        found = [
            Problem(kind, self._counts[kind], TREATMENTS[kind], self._all_places(kind, places))
            for kind, places in self._places.items()
        ]
        return tuple(sorted(found, key=lambda problem: -problem.count))

    def _all_places(self, kind: str, places: array[int]) -> list[Place]:
        detailed = self._detailed[kind]
        rest = islice(zip(places[::2], places[1::2], strict=True), len(detailed), None)
        return [*detailed, *(Place(self._sources[source], line or None) for source, line in rest)]
