"""What every searcher must do. How each is built is in tests/search/searches.py.

Those of Qdrant, OpenSearch, Elasticsearch, Weaviate and Vespa are asked over doubles that hold to the
documentation of the engine; the rest is real.
"""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from assay.core.tables import Queries
from assay.indexes.servers.postgres import PostgresServer
from assay.search import Query, Searcher
from assay.search.registry import SEARCHERS
from tests.contracts.adapters import all_closed
from tests.contracts.doubles import open_double
from tests.search import searches
from tests.search.searches import IDS
from tests.services.search_service import serving

DOUBLES = ("qdrant", "opensearch", "elasticsearch", "weaviate", "vespa")
IN_FOLDER: dict[str, Callable[[Path], Searcher]] = {
    "callable": searches.function,
    "command": searches.command,
    "command, lines": partial(searches.command, lines=True),
    "sqlite": searches.sqlite,
    "milvus": searches.milvus,
    "bm25": lambda folder: searches.embedded("bm25"),
    "lsa": lambda folder: searches.embedded("lsa"),
    "index, exact": lambda folder: searches.index("exact"),
    "index, faiss.flat": lambda folder: searches.index("faiss.flat"),
    "index, faiss.hnsw": lambda folder: searches.index("faiss.hnsw"),
}
ALL = (*IN_FOLDER, "http", "pgvector", *(f"double of {name}" for name in DOUBLES))


@pytest.fixture(scope="module", params=ALL)
def tried(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Searcher]]:
    """A searcher, with the servers it needs."""
    folder = tmp_path_factory.mktemp("search")
    with ExitStack() as stack:
        adapter = start_searcher(request.param, folder, stack)
        stack.callback(adapter.close)
        yield request.param, adapter


def start_searcher(name: str, folder: Path, stack: ExitStack) -> Searcher:
    if name in IN_FOLDER:
        return IN_FOLDER[name](folder)
    if name == "http":
        return searches.http(stack.enter_context(serving()))
    if name == "pgvector":
        server = PostgresServer(folder)
        stack.callback(server.stop)
        server.start()
        return searches.pgvector(server.url)
    kind = name.removeprefix("double of ")
    double = stack.enter_context(open_double(kind))
    stack.enter_context(all_closed())
    searcher_started: Searcher = getattr(searches, kind)(double, folder)
    return searcher_started


@pytest.fixture
def searcher(tried: tuple[str, Searcher]) -> Searcher:
    return tried[1]


@pytest.fixture
def called(tried: tuple[str, Searcher]) -> Callable[[str], str]:
    """Return the id of a document: in doubles it is the position."""
    if "weaviate" in tried[0]:
        return lambda key: searches.uuid(IDS.index(key))
    return (lambda key: str(IDS.index(key))) if "double" in tried[0] else lambda key: key


def test_every_kind_of_searcher_runs_in_this_suite_and_is_in_the_guide() -> None:
    kinds = {name.removeprefix("double of ").partition(",")[0] for name in ALL}
    assert {{"sqlite": "sql", "pgvector": "sql"}.get(name, name) for name in kinds} == set(SEARCHERS)
    guide = (Path(__file__).parents[2] / "docs" / "systems.md").read_text(encoding="utf-8")
    assert all(f"`{kind}`" in guide for kind in SEARCHERS)


def ids(searcher: Searcher, text: str, k: int = 10) -> list[str]:
    return [key for key, _ in searcher.ask(Query("q1", text), k, 20).documents]


def test_the_best_comes_first(searcher: Searcher, called: Callable[[str], str]) -> None:
    assert ids(searcher, "reset password")[0] == called("d1")


def test_at_most_k_documents_are_returned_and_a_smaller_k_is_a_prefix(searcher: Searcher) -> None:
    many = ids(searcher, "reset the password", 3)
    assert len(many) == 3
    assert ids(searcher, "reset the password", 1) == many[:1]


def test_scores_fall_and_no_document_appears_twice(searcher: Searcher) -> None:
    documents = searcher.ask(Query("q1", "reset the router"), 10, 20).documents
    scores = [score for _, score in documents]
    assert all(type(score) is float for score in scores)
    assert all(a >= b for a, b in pairwise(scores))
    assert len({key for key, _ in documents}) == len(documents) > 1


def test_the_same_query_gets_the_same_answer(searcher: Searcher) -> None:
    assert searcher.ask(Query("q1", "reset router"), 5) == searcher.ask(Query("q1", "reset router"), 5)


def test_eight_threads_at_once_get_the_answers_of_one(searcher: Searcher) -> None:
    texts = ["reset password", "router", "invoice", "the password", "größe", "reset the router"] * 4
    alone = [ids(searcher, text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(partial(ids, searcher), texts)) == alone


def test_an_empty_query_is_answered(searcher: Searcher) -> None:
    assert len(ids(searcher, "", 3)) <= 3


@pytest.mark.parametrize(("text", "document"), [("größe ändern", "d5"), ("パスワード を", "d8")])
def test_words_of_any_script_arrive(
    searcher: Searcher, called: Callable[[str], str], text: str, document: str
) -> None:
    assert ids(searcher, text)[0] == called(document)


def test_a_query_with_quotes_braces_and_new_lines_is_only_text(
    searcher: Searcher, called: Callable[[str], str]
) -> None:
    assert called("d1") in ids(searcher, 'it\'s "a" {k} ; -- \\ \n reset password ')


def test_a_k_beyond_the_corpus_returns_all_documents(
    searcher: Searcher, called: Callable[[str], str]
) -> None:
    answer = ids(searcher, "reset the password", 500)
    assert 3 <= len(answer) <= len(IDS)
    assert set(answer) <= {called(key) for key in IDS}


def test_an_id_that_is_a_number_becomes_text(searcher: Searcher, called: Callable[[str], str]) -> None:
    assert ids(searcher, "invoice number")[0] == called("7")


def test_a_run_contains_the_answers_of_the_single_queries(searcher: Searcher) -> None:
    queries = Queries({"query_id": ["q1", "q2"], "text": ["reset password", "invoice"]})
    run = searcher.search(queries, 2)
    assert run.name == searcher.name
    assert [list(answer) for answer in run.to_dict().values()] == [
        ids(searcher, text, 2) for text in queries.columns["text"]
    ]


def test_the_configuration_names_the_kind_and_can_be_stored(searcher: Searcher) -> None:
    configuration = dict(searcher.configuration())
    assert configuration["name"] == searcher.name
    assert configuration["kind"] in SEARCHERS
    assert json.loads(json.dumps(configuration)) == configuration


def test_closing_twice_is_harmless(tried: tuple[str, Searcher], tmp_path: Path) -> None:
    with ExitStack() as stack:
        own: Any = start_searcher(tried[0], tmp_path, stack)
        assert own.ask(Query("q", "router"), 3).documents
        own.close()
        own.close()
