"""What every searcher must do, whatever is behind it. How each is made is in tests/searches.py.

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

import searches
from assay.core.tables import Queries
from assay.indexes.engines.postgres import Server
from assay.search import Query, Searcher
from assay.search.systems import SYSTEMS
from contracts.adapters import all_closed
from contracts.doubles import doubled
from searches import IDS
from services.search_service import serving

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
    """A searcher, with what it needs started."""
    folder = tmp_path_factory.mktemp("search")
    with ExitStack() as stack:
        one = started(request.param, folder, stack)
        stack.callback(one.close)
        yield request.param, one


def started(name: str, folder: Path, stack: ExitStack) -> Searcher:
    if name in IN_FOLDER:
        return IN_FOLDER[name](folder)
    if name == "http":
        return searches.http(stack.enter_context(serving()))
    if name == "pgvector":
        server = Server(folder)
        stack.callback(server.stop)
        server.start()
        return searches.pgvector(server.url)
    kind = name.removeprefix("double of ")
    double = stack.enter_context(doubled(kind))
    stack.enter_context(all_closed())
    made: Searcher = getattr(searches, kind)(double, folder)
    return made


@pytest.fixture
def searcher(tried: tuple[str, Searcher]) -> Searcher:
    return tried[1]


@pytest.fixture
def called(tried: tuple[str, Searcher]) -> Callable[[str], str]:
    """How a document is called there: in doubles by its position."""
    if "weaviate" in tried[0]:
        return lambda key: searches.uuid(IDS.index(key))
    return (lambda key: str(IDS.index(key))) if "double" in tried[0] else lambda key: key


def ids(searcher: Searcher, text: str, k: int = 10) -> list[str]:
    return [key for key, _ in searcher.ask(Query("q1", text), k, 20).documents]


def test_the_best_comes_first(searcher: Searcher, called: Callable[[str], str]) -> None:
    assert ids(searcher, "reset password")[0] == called("d1")


def test_no_more_than_k_come_and_the_first_are_the_same(searcher: Searcher) -> None:
    many = ids(searcher, "reset the password", 3)
    assert len(many) == 3
    assert ids(searcher, "reset the password", 1) == many[:1]


def test_scores_fall_and_no_document_stands_twice(searcher: Searcher) -> None:
    documents = searcher.ask(Query("q1", "reset the router"), 10, 20).documents
    scores = [score for _, score in documents]
    assert all(type(score) is float for score in scores)
    assert all(a >= b for a, b in pairwise(scores))
    assert len({key for key, _ in documents}) == len(documents) > 1


def test_the_same_question_gets_the_same_answer(searcher: Searcher) -> None:
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


def test_more_than_there_is_gives_what_there_is(searcher: Searcher, called: Callable[[str], str]) -> None:
    found = ids(searcher, "reset the password", 500)
    assert 3 <= len(found) <= len(IDS)
    assert set(found) <= {called(key) for key in IDS}


def test_an_id_that_is_a_number_becomes_text(searcher: Searcher, called: Callable[[str], str]) -> None:
    assert ids(searcher, "invoice number")[0] == called("7")


def test_a_run_is_what_was_asked_query_by_query(searcher: Searcher) -> None:
    queries = Queries({"query_id": ["q1", "q2"], "text": ["reset password", "invoice"]})
    run = searcher.search(queries, 2)
    assert run.name == searcher.name
    assert [list(found) for found in run.to_dict().values()] == [
        ids(searcher, text, 2) for text in queries.columns["text"]
    ]


def test_its_configuration_says_what_it_is_and_can_be_stored(searcher: Searcher) -> None:
    said = dict(searcher.configuration())
    assert said["name"] == searcher.name
    assert said["kind"] in SYSTEMS
    assert json.loads(json.dumps(said)) == said


def test_closing_twice_is_harmless(tried: tuple[str, Searcher], tmp_path: Path) -> None:
    with ExitStack() as stack:
        own: Any = started(tried[0], tmp_path, stack)
        assert own.ask(Query("q", "router"), 3).documents
        own.close()
        own.close()
