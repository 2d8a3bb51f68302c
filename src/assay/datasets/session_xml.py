"""The reader of search sessions in the XML of the TREC Session track: queries, results, clicks with times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.parsers import expat

from assay.core.errors import FormatError
from assay.datasets.input_files import InputFile
from assay.datasets.ubi_log.problem_log import ProblemLog
from assay.datasets.ubi_log.records import Record

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # times are seconds since the session began
_PIECE = 1 << 16
_TEXTS = {"query", "rank", "desc", "title", "url"}


def is_session_xml(head: bytes) -> bool:
    """Return whether a file begins as sessions in XML do.

    >>> is_session_xml(b'<sessiontrack2013><session num="1" starttime="0">')
    True
    """
    return head.lstrip().startswith(b"<") and b"<session" in head


def session_records(source: InputFile, problems: ProblemLog) -> Iterator[Record]:
    """Yield the queries and clicks of sessions as records of UBI, with their lines."""
    parser = _SessionParser(source.label, problems)
    yield from parser.records(source)


class _SessionParser:
    """Turns the elements of a document into records."""

    def __init__(self, label: str, problems: ProblemLog) -> None:
        self.label, self.problems = label, problems
        self.session: Mapping[str, str] = {}
        self.topic: str | None = None
        self.interaction: dict[str, Any] | None = None
        self.click: dict[str, Any] | None = None
        self.result: dict[str, str] | None = None
        self.text: list[str] | None = None
        self.finished: list[Record] = []
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._add_text

    def records(self, source: InputFile) -> Iterator[Record]:
        """Yield the records of a document as it is read; what cannot be parsed is counted."""
        with source.open() as file:
            is_last = False
            while not is_last:
                piece = source.read_bytes(file, _PIECE)
                is_last = not piece
                try:
                    self.parser.Parse(piece, is_last)
                except expat.ExpatError as error:
                    self._stop(error)
                    is_last = True
                yield from self.finished
                self.finished = []

    def _stop(self, error: expat.ExpatError) -> None:
        if not self.session:
            raise FormatError(f"expected sessions in XML: {error}", self.label, error.lineno)
        self.problems.add("XML that ends early", self.label, error.lineno, str(error))
        if self.interaction is not None:  # what is complete of it
            self._finish_interaction()

    def _add(self, kind: str, line: int, detail: object = "") -> None:
        self.problems.add(kind, self.label, line, detail)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.text = []
        line = self.parser.CurrentLineNumber
        if tag == "session":
            self.session, self.topic = attributes, None
            self._add("session without a user", line, attributes.get("num", ""))
        elif tag == "topic":
            self.topic = attributes.get("num")
        elif tag in ("interaction", "currentquery"):
            self.interaction = {**attributes, "line": line, "tag": tag, "clicks": []}
        elif tag == "results" and self.interaction is not None:
            self.interaction["results"] = {}
        elif tag == "result":
            self.result = dict(attributes)
        elif tag == "click":
            self.click = {**attributes, "line": line}

    def _add_text(self, text: str) -> None:
        if self.text is not None:
            self.text.append(text)

    def _end(self, tag: str) -> None:
        text = "".join(self.text or ()).strip()
        self.text = None
        if self.interaction is None:
            return
        if self.result is not None:
            self._end_in_result(tag, text)
        elif self.click is not None:
            self._end_in_click(tag, text)
        elif tag == "query":
            self.interaction["query"] = text
        elif tag in ("interaction", "currentquery"):
            self._finish_interaction()

    def _end_in_result(self, tag: str, text: str) -> None:
        assert self.result is not None
        if tag == "result":
            self._add_result()
        elif tag not in _TEXTS and tag.endswith("id") and text:
            self.result["doc_id"] = text  # clueweb12id, clueweb09id, docid

    def _add_result(self) -> None:
        assert self.result is not None
        assert self.interaction is not None
        doc, rank = self.result.get("doc_id"), self.result.get("rank", "")
        if doc is None:
            self._add("result without an id", self.parser.CurrentLineNumber)
        else:
            results = self.interaction.setdefault("results", {})
            results[int(rank) if rank.isdecimal() else len(results) + 1] = doc
        self.result = None

    def _end_in_click(self, tag: str, text: str) -> None:
        assert self.click is not None
        assert self.interaction is not None
        if tag == "rank":
            self.click["rank"] = text
        elif tag == "click":
            self.interaction["clicks"].append(self.click)
            self.click = None

    def _finish_interaction(self) -> None:
        interaction, self.interaction = self.interaction, None
        assert interaction is not None
        number = self.session.get("num", "")
        query_id = f"{number}-{interaction.get('num', 'current')}"
        results = interaction.get("results")
        shared = {"session_id": number, "client_id": number, "query_id": query_id}
        query = {
            **shared,
            "user_query": interaction.get("query"),
            "timestamp": self._time(interaction.get("starttime"), interaction["line"]),
            "query_attributes": {"topic": self.topic} if self.topic else {},
        }
        if results is not None:
            query["query_response_hit_ids"] = [results[rank] for rank in sorted(results)]
        self.finished.append(Record(self.label, interaction["line"], query))
        clicks = interaction["clicks"]
        self.finished += [self._click_record(click, shared, results or {}) for click in clicks]

    def _click_record(
        self, click: Mapping[str, Any], shared: Mapping[str, str], results: Mapping[int, str]
    ) -> Record:
        rank = str(click.get("rank", ""))
        doc = results.get(int(rank)) if rank.isdecimal() else None
        if doc is None:
            self._add("click on a rank without a result", click["line"], rank)
        begin = self._time(click.get("starttime"), click["line"])
        end = self._time(click["endtime"], click["line"]) if "endtime" in click else None
        attributes: dict[str, Any] = {"position": {"ordinal": rank}, "object": {"object_id": doc}}
        if begin is not None and end is not None:
            attributes["dwell_seconds"] = (end - begin).total_seconds()
        value = {**shared, "action_name": "click", "timestamp": begin, "event_attributes": attributes}
        return Record(self.label, click["line"], value)

    def _time(self, seconds: str | None, line: int) -> datetime | None:
        """Return a time of the session, whose begin is at 0."""
        if seconds is None:
            return None
        try:
            return _EPOCH + timedelta(seconds=float(seconds) + float(self.session.get("starttime", "0")))
        except (ValueError, OverflowError):
            self._add("time that cannot be read", line, seconds)
            return None
