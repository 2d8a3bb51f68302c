"""The searches of a study: systems of assay.toml or run files, and the exact search they are held against."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.bench.studies.families import family_of_engine
from assay.core.errors import InputError
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.datasets import read
from assay.rag.agentic import Search, SearchResult
from assay.rag.contexts import EXACT, neighbour_recall
from assay.search.attempt import Attempt
from assay.search.run_queries import run_queries
from assay.search.searcher import Query, Searcher
from assay.workflows.settings import PROJECT_FILE
from assay.workflows.systems import EMBEDDINGS, SearchSystems, results_folder

JOURNALS = "journals"


@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """Which searches are compared, and over which data."""

    project: str = PROJECT_FILE
    systems: Sequence[str] = ()  # of the project; none: all
    runs: Sequence[str] = ()  # files in place of systems
    exact: str | None = None  # the system, or the run file, of exact search
    questions: str | None = None  # None: the queries of the project
    documents: str | None = None
    qrels: str | None = None
    out: str | None = None  # the folder of the results of the project


@dataclass(frozen=True)
class StudyData:
    """The tables of a study."""

    queries: Queries
    documents: Documents
    qrels: Qrels | None


@dataclass(frozen=True)
class StudySearches:
    """What each configuration returned for each question, and exact search."""

    data: StudyData
    rankings: Mapping[str, Mapping[str, Sequence[str]]]  # by configuration and question
    failures: Mapping[str, Mapping[str, str]]  # why questions have no result
    families: Mapping[str, str]
    exact: str | None  # the configuration of exact search; None: recall is not known
    searchers: Mapping[str, Searcher] = field(default_factory=dict)  # empty: from run files
    exact_searcher: Searcher | None = None
    milliseconds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # empty: from run files

    @property
    def truth(self) -> Mapping[str, Sequence[str]]:
        """The exact neighbours of each question."""
        return self.rankings[self.exact] if self.exact is not None else {}

    def live_search(self, name: str, k: int, timeout: float = 30.0) -> Search:
        """Return a search by text with one of the systems, held against exact search for the same text."""
        if name not in self.searchers:
            raise InputError(
                "an agent issues its own searches: name systems of assay.toml, run files answer no new query"
            )
        return _LiveSearch(self.searchers[name], self.exact_searcher, k, timeout).search


class _LiveSearch:
    """Searches by text, in one system and exactly."""

    def __init__(self, searcher: Searcher, exact: Searcher | None, k: int, timeout: float) -> None:
        self._search = Attempt(searcher, k, timeout)
        self._exact = None if exact is None else Attempt(exact, k, timeout)

    def search(self, text: str) -> SearchResult:
        """Return what the system finds, and the share of the true neighbours among it."""
        documents, failure = _ask(self._search, text)
        truth, _ = _ask(self._exact, text) if self._exact else ((), "")
        return SearchResult(documents, neighbour_recall(documents, truth), failure)


def _ask(attempt: Attempt, text: str) -> tuple[tuple[str, ...], str]:
    _, answer = attempt(Query(text, text), time.perf_counter_ns())
    if isinstance(answer, Exception):
        return (), str(answer)
    return tuple(document for document, _ in answer.documents), ""


@contextmanager
def open_searches(request: SearchRequest, depth: int, is_live: bool = False) -> Iterator[StudySearches]:
    """Search with every configuration, `depth` documents for each question; close them afterwards.

    Exact search returns twice as many: those after the nearest take the place of removed neighbours.
    """
    if request.runs:
        yield _read_runs(request)
        return
    project = request.project
    if not Path(project).is_file():
        raise InputError(f"there is no {project}: name --run files, or a project with systems (`assay init`)")
    folder = results_folder(project, request.out)
    systems = SearchSystems(project, folder / EMBEDDINGS)
    try:
        yield _search_systems(systems, request, depth, folder / JOURNALS, is_live)
    finally:
        systems.close()


def _open_data(request: SearchRequest, queries: Queries | None, documents: Documents | None) -> StudyData:
    queries = read(request.questions, "queries") if request.questions else queries
    documents = read(request.documents, "documents") if request.documents else documents
    if queries is None or documents is None:
        missing = "--questions FILE" if queries is None else "--documents FILE"
        raise InputError(f"expected {missing}: the texts that the model is asked and reads")
    return StudyData(queries, documents, read(request.qrels, "qrels") if request.qrels else None)


def _read_runs(request: SearchRequest) -> StudySearches:
    data = _open_data(request, None, None)
    runs = {Path(path).name.split(".")[0]: path for path in request.runs}
    if len(runs) != len(request.runs):
        raise InputError("--run: two files have the same name; rename one")
    rankings = {name: _ranking(read(path, "run")) for name, path in runs.items()}
    exact = None
    if request.exact is not None:
        exact = EXACT
        rankings[exact] = _ranking(read(request.exact, "run"))
    families = {name: EXACT if name == exact else family(name) for name in rankings}
    return StudySearches(data, rankings, {}, families, exact)


def _ranking(run: Run) -> dict[str, list[str]]:
    """Return the documents of each query, the best first, as every measure ranks them."""
    return {
        query: sorted(sorted(scores, reverse=True), key=lambda d: -scores[d])
        for query, scores in run.to_dict().items()
    }


def _search_systems(
    systems: SearchSystems, request: SearchRequest, depth: int, journals: Path, is_live: bool
) -> StudySearches:
    found = systems.data
    data = _open_data(request, found.queries, found.documents)
    if data.qrels is None and found.qrels is not None and request.questions is None:
        data = replace(data, qrels=found.qrels)
    searchers = {name: systems.searcher(name) for name in systems.select_names(list(request.systems))}
    exact_name, exact = _exact_search(systems, request, list(searchers))
    if exact is not None and exact_name is not None:
        searchers = {**{n: s for n, s in searchers.items() if n != exact_name}, EXACT: exact}
    rankings, failures, milliseconds = {}, {}, {}
    for name, searcher in searchers.items():
        options = replace(systems.options, k=2 * depth if name == EXACT else depth)
        results = run_queries(searcher, data.queries, options, journals)
        rankings[name] = {q: [d for d, _ in answer.documents] for q, answer in results.answers.items()}
        failures[name] = {q: failure.reason for q, failure in results.failures.items()}
        milliseconds[name] = {q: latency / 1e6 for q, latency in results.latencies.items()}
    families = {name: EXACT if name == EXACT else _system_family(s) for name, s in searchers.items()}
    live = searchers if is_live else {}
    shown = EXACT if exact else None
    return StudySearches(data, rankings, failures, families, shown, live, exact, milliseconds)


def _exact_search(
    systems: SearchSystems, request: SearchRequest, names: Sequence[str]
) -> tuple[str | None, Searcher | None]:
    """Return the exact search of a study: the named system, or that of the first index."""
    if request.exact is not None:
        return request.exact, systems.searcher(request.exact)
    for name in names:
        if (searcher := systems.searcher(name)).configuration().get("engine") == EXACT:
            return name, searcher
    for name in names:
        if (exact := systems.exact_searcher(name)) is not None:
            return "", exact
    return None, None


def _system_family(searcher: Searcher) -> str:
    engine = searcher.configuration().get("engine")
    return family(str(engine) if engine else searcher.name)


def family(name: str) -> str:
    """Return the family of a configuration by its name; one of no known family is one of its own."""
    known = family_of_engine(name)
    return name if known == "other" else known
