"""Analyse interleaved lists, and build one: what `assay online interleave` does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.core.errors import FormatError, InputError
from assay.core.events import Events, Problem
from assay.core.recorded_run import first_documents
from assay.datasets import open_run
from assay.datasets.event_columns import EVENT_COLUMN_NAMES as COLUMN_NAMES
from assay.datasets.input_files import NOT_UTF8, InputFile
from assay.datasets.output_files import refuse_inputs_as_outputs
from assay.datasets.ubi import read_events
from assay.online.interleaving import METHODS, InterleavedList, interleave
from assay.online.interleaving.credit_table import is_credit_table, read_credit_table
from assay.online.interleaving.event_credits import credit_events
from assay.online.interleaving.page_credits import PageCredits
from assay.online.interleaving.preference import TEST_NAMES, Interleaving, compare_rankers
from assay.online.interleaving.sensitivity import Sensitivity, compare_sensitivity
from assay.workflows.click_files import write_problems

__all__ = [
    "COLUMN_NAMES",
    "METHODS",
    "TEST_NAMES",
    "BuildRequest",
    "InterleaveRequest",
    "InterleaveResult",
    "analyse_interleaving",
    "build_list",
]
_DEPTH = 1_000  # documents that are read of each query of a run


@dataclass(frozen=True, kw_only=True)
class InterleaveRequest:
    """A log of interleaved lists or a table of credits, and how to analyse it."""

    events: Sequence[str]
    columns: Mapping[str, str] = field(default_factory=dict)  # of another log, by our names
    baseline: str | None = None
    candidate: str | None = None
    experiment: str | None = None  # of a log with the lists of several
    click_actions: Sequence[str] = ("click",)
    test: str | None = None  # None: the first that holds for the method
    beside_ab: Sequence[str] | None = None  # logs of an A/B test; empty: the same log
    problems_output: str | None = None  # a CSV file with the place of everything that is not credited
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.events:
            raise InputError("expected a log of interleaved lists or a table of credits, found no file")
        if not 0 < self.level < 1:
            raise InputError(f"--level must be between 0 and 1, found {self.level:g}")


@dataclass(frozen=True)
class InterleaveResult:
    """The preferences of users, what the log is like, and the users that an A/B test would need."""

    interleaving: Interleaving
    log_problems: Sequence[Problem] = ()
    sensitivity: Sensitivity | None = None

    @property
    def problems(self) -> list[Problem]:
        """What could not be credited, and the irregularities of the log."""
        own = {problem.kind for problem in self.interleaving.problems}
        return [*self.interleaving.problems, *(p for p in self.log_problems if p.kind not in own)]

    @property
    def is_decidable(self) -> bool:
        """Whether there are enough users with a credit to test anything."""
        return self.interleaving.preferences[0].p is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, as `assay online interleave --format json` prints it."""
        result = {
            **self.interleaving.to_dict(),
            "problems": [problem.to_dict() for problem in self.problems],
        }
        if self.sensitivity is not None:
            result["beside_ab"] = self.sensitivity.to_dict()
        return result


def analyse_interleaving(request: InterleaveRequest) -> InterleaveResult:
    """Credit the clicks on interleaved lists, and test by user which ranker is preferred."""
    refuse_inputs_as_outputs([request.problems_output], [*request.events, *(request.beside_ab or ())])
    credits_of_pages, events = _read_credits(request)
    interleaving = compare_rankers(
        credits_of_pages, request.baseline, request.candidate, test=request.test, level=request.level
    )
    sensitivity = None
    if request.beside_ab is not None:
        sensitivity = _compare_with_ab(request, interleaving, events)
    result = InterleaveResult(interleaving, events.problems if events else (), sensitivity)
    if request.problems_output:
        write_problems(result.problems, request.problems_output)
    return result


def _read_credits(request: InterleaveRequest) -> tuple[PageCredits, Events | None]:
    """Return the credits of a table, or of a log with its events."""
    sources = [InputFile(path) for path in request.events]
    are_tables = [not Path(source.path).is_dir() and is_credit_table(source) for source in sources]
    if any(are_tables):
        if len(sources) > 1:
            raise FormatError(
                "is a table of credits among other files; give one table, or logs of events",
                request.events[are_tables.index(True)],
            )
        if request.experiment is not None:
            raise InputError("--experiment chooses lists of a log: leave it out for a table of credits")
        return read_credit_table(sources[0]), None
    events = read_events(*sources, columns=request.columns)
    return credit_events(events, request.click_actions, request.experiment), events


def _compare_with_ab(
    request: InterleaveRequest, interleaving: Interleaving, events: Events | None
) -> Sensitivity:
    assert request.beside_ab is not None
    if not request.beside_ab and events is None:
        raise InputError(
            "--beside-ab expects the log of an A/B test beside a table of credits: --beside-ab LOG"
        )
    others = read_events(*request.beside_ab, columns=request.columns) if request.beside_ab else events
    assert others is not None
    return compare_sensitivity(
        interleaving, others, request.click_actions, level=request.level, seed=request.seed
    )


@dataclass(frozen=True, kw_only=True)
class BuildRequest:
    """Two or more lists to interleave: runs, or text files with a document id on each line."""

    lists: Sequence[str]
    names: Sequence[str] = ()
    method: str = "team-draft"
    length: int = 10
    salt: str = ""
    query: str | None = None
    user: str = ""

    def __post_init__(self) -> None:
        if len(self.lists) < 2:
            raise InputError(f"expected two or more lists, found {len(self.lists)}")
        if self.names and len(self.names) != len(self.lists):
            raise InputError(f"expected {len(self.lists)} names, one for each list, found {len(self.names)}")
        if self.length < 1:
            raise InputError(f"--length must be 1 or more, found {self.length}")


def build_list(request: BuildRequest) -> InterleavedList:
    """Return the interleaved list that a user would see."""
    names = list(request.names) or [Path(path).stem for path in request.lists]
    if len(set(names)) < len(names):
        names = [f"{name}-{number}" for number, name in enumerate(names, 1)]
    rankings, queries = {}, set()
    for name, path in zip(names, request.lists, strict=True):
        query, rankings[name] = _read_list(path, request.query)
        queries.add(query)
    query = request.query or (queries.pop() if len(queries) == 1 else "")
    try:
        return interleave(
            request.method, rankings, request.length, salt=request.salt, query=query, user=request.user
        )
    except ValueError as error:
        raise InputError(str(error)) from None


def _read_list(path: str, query: str | None) -> tuple[str, list[str]]:
    """Return a query and its documents, the best first: of a run, or one on each line."""
    documents = [line for line in _text_lines(InputFile(path)) if line]
    if not any(len(line.split()) > 1 or line[0] in "{[" for line in documents[:1]):
        return query or "", documents
    return _run_list(path, query)


def _text_lines(source: InputFile) -> Iterator[str]:
    for number, line in source.lines():
        try:
            yield line.decode().strip()
        except UnicodeDecodeError:
            raise FormatError(NOT_UTF8, source.label, number) from None


def _run_list(path: str, query: str | None) -> tuple[str, list[str]]:
    first: str | None = None
    for block in first_documents(open_run(path), _DEPTH):
        position = 0
        for name, count in zip(block.query_ids, block.counts.tolist(), strict=True):
            first = first or name
            if name == (query or first):
                return name, list(block.doc_ids[position : position + count])
            position += count
    raise FormatError(f"expected documents of the query {query!r}, found queries such as {first!r}", path)
