"""Engines that cannot be had here, over doubles that hold to their documentation.

What is shown: the adapter says what the documentation asks for and reads what it promises. What is not: that
the engine's own index is found, fast or good. See docs/contracts.md.
"""

import json
import re
from collections.abc import Iterator
from http.client import HTTPMessage
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import EngineError, InputError
from assay.core.parameters import keyword_parameters
from assay.core.vectors import METRICS
from assay.indexes.index import Setup
from assay.indexes.registry import load_engine, parameter_problems
from assay.indexes.servers.server_index import ServerClient, wait_until
from assay.remote.connection import HttpConnection, Response
from tests.contracts.adapters import SERVERS, adapter, all_closed, connection_of
from tests.contracts.doubles import Double, open_double
from tests.contracts.vectors import D, N, nearest, rows

# a search parameter, and where it stands on the wire; the metric's words; a build parameter of each
BEAM: dict[str, tuple[str, str]] = {
    "qdrant": ("hnsw_ef", r'"hnsw_ef": 77\b'),
    "elasticsearch": ("num_candidates", r'"num_candidates": 77\b'),
    "opensearch": ("ef_search", r'"ef_search": 77\b'),
    "weaviate": ("ef", r'"ef": 77\b'),
    "vespa": ("exploreAdditionalHits", r"hnsw\.exploreAdditionalHits:77\b"),
    "redis": ("EF_RUNTIME", r'"ef", "77"'),
}
WORDS: dict[str, tuple[str, str, str]] = {
    "qdrant": ("Euclid", "Dot", "Cosine"),
    "elasticsearch": ("l2_norm", "max_inner_product", "cosine"),
    "opensearch": ("l2", "innerproduct", "cosinesimil"),
    "weaviate": ("l2-squared", "dot", "cosine"),
    "vespa": ("euclidean", "dotproduct", "prenormalized-angular"),
    "redis": ("L2", "IP", "COSINE"),
}
GRAPH: dict[str, tuple[dict[str, Any], list[str]]] = {
    "qdrant": ({"m": 9, "ef_construct": 33}, ['"m": 9', '"ef_construct": 33', '"indexing_threshold": 1']),
    "elasticsearch": (
        {"m": 9, "ef_construction": 33, "type": "int8_hnsw", "flat_index_threshold": 0},
        ['"m": 9', '"ef_construction": 33', '"type": "int8_hnsw"', '"flat_index_threshold": 0'],
    ),
    "opensearch": (
        {"m": 9, "ef_construction": 33, "engine": "lucene"},
        ['"m": 9', '"ef_construction": 33', '"engine": "lucene"', '"knn.advanced.approximate_threshold": 0'],
    ),
    "weaviate": (
        {"maxConnections": 9, "efConstruction": 33},
        ['"maxConnections": 9', '"efConstruction": 33'],
    ),
    "vespa": (
        {"max_links_per_node": 9, "neighbors_to_explore_at_insert": 33},
        ['"links": "9"', '"explored": "33"'],
    ),
    "redis": ({"M": 9, "EF_CONSTRUCTION": 33}, ['"M", "9"', '"EF_CONSTRUCTION", "33"', '"HNSW"']),
}


def exchange_text(double: Double, exchange: str) -> str:
    """All that was said in an exchange, as text; the words of Redis are bytes."""
    return json.dumps(double.exchanges_named(exchange), default=lambda word: word.decode(errors="replace"))


@pytest.fixture(autouse=True)
def close_all() -> Iterator[None]:
    with all_closed():
        yield


@pytest.fixture(params=SERVERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def double(name: str) -> Iterator[Double]:
    with open_double(name) as opened_double:
        yield opened_double
        assert opened_double.refused == []


@pytest.mark.parametrize("metric", METRICS)
def test_positions_are_those_of_brute_force_in_single_and_in_batch(
    name: str, double: Double, metric: str, tmp_path: Path
) -> None:
    base, queries = rows(metric), rows(metric, 7, seed=2)
    index = adapter(double, name, tmp_path, metric, **({"feeders": 3} if name == "vespa" else {"batch": 10}))
    index.build(base)
    assert index.search(queries, 5).tolist() == nearest(metric, queries, base, 5)
    assert index.search(queries[:1], 5).tolist() == nearest(metric, queries[:1], base, 5)
    assert double.brain.metric == dict(zip(METRICS, WORDS[name], strict=True))[metric]
    assert len(double.brain.vectors) == N
    index.close()


def test_what_is_not_there_is_padded(name: str, double: Double, tmp_path: Path) -> None:
    base = rows("l2", 3)
    index = adapter(double, name, tmp_path)
    index.build(base)
    positions = index.search(base, 5)
    assert positions[:, 0].tolist() == [0, 1, 2]
    assert (positions[:, 3:] == -1).all()
    double.brain.answers_short = True
    assert (index.search(base, 4)[:, 2:] == -1).all()
    index.close()


def test_a_batch_longer_than_one_request_is_cut(name: str, double: Double, tmp_path: Path) -> None:
    base, queries = rows("l2"), rows("l2", 130, seed=3)
    index = adapter(double, name, tmp_path)
    index.build(base)
    assert index.search(queries, 3).tolist() == nearest("l2", queries, base, 3)
    index.close()


def test_search_parameters_reach_the_wire(name: str, double: Double, tmp_path: Path) -> None:
    parameter, pattern = BEAM[name]
    index = adapter(double, name, tmp_path)
    index.build(rows("l2"))
    index.set_search(**{parameter: 77})
    index.search(rows("l2", 1), 5)
    expected_text = exchange_text(double, "change" if name == "weaviate" else "search")
    assert re.search(pattern, expected_text)
    index.close()


def test_build_parameters_reach_the_wire(name: str, double: Double, tmp_path: Path) -> None:
    build, words = GRAPH[name]
    index = adapter(double, name, tmp_path, **build)
    index.build(rows("l2"))
    expected_text = exchange_text(double, "create")
    assert [word for word in words if word not in expected_text] == []
    index.close()


def test_the_least_search_is_a_search_parameter(name: str) -> None:
    engine = load_engine(name)
    assert engine.smallest_search
    assert (
        parameter_problems(
            engine, {"url": "x", **({"config_url": "x"} if name == "vespa" else {})}, engine.smallest_search
        )
        == {}
    )
    assert keyword_parameters(engine.__init__)["url"].types == (str,)


def test_it_waits_until_the_index_is_ready(name: str, double: Double, tmp_path: Path) -> None:
    index = adapter(double, name, tmp_path)
    index.build(rows("l2"))
    assert double.brain.looks >= 2
    index.close()


def test_an_index_that_is_never_ready_is_an_error(name: str, double: Double, tmp_path: Path) -> None:
    index = adapter(double, name, tmp_path)
    double.brain.never_ready = True
    index.ready_timeout = 0.1  # type: ignore[attr-defined]
    with pytest.raises(EngineError, match=r"after 0\.1 s; raise ready_timeout"):
        index.build(rows("l2"))
    index.close()
    assert double.brain.name is None


def test_the_index_has_a_name_of_its_own_and_is_dropped(name: str, double: Double, tmp_path: Path) -> None:
    names = []
    for _ in range(2):
        index = adapter(double, name, tmp_path)
        index.build(rows("l2"))
        names.append(double.brain.name)
        index.close()
        index.close()
        assert double.brain.name is None
    assert len({*names, None}) == 3
    assert len(double.exchanges_named("drop")) == 2


def test_versions_and_sizes_come_from_the_server(name: str, double: Double, tmp_path: Path) -> None:
    index = adapter(double, name, tmp_path)
    index.build(rows("l2"))
    assert re.fullmatch(r"\d+\.\d+\.\d+", index.version())
    untold = ("qdrant", "weaviate", "redis")  # Redis tells of memory, and it is the disk that is asked for
    assert index.size() == (None if name in untold else 1000 * N)
    index.close()


@pytest.mark.parametrize("name", SERVERS, indirect=True)
def test_a_wrong_key_is_an_error_that_says_so(name: str, tmp_path: Path) -> None:
    with open_double(name, key="right") as double:
        with pytest.raises(EngineError, match=r"401.*api_key|WRONGPASS"):
            adapter(double, name, tmp_path, api_key="wrong").build(rows("l2"))
        with pytest.raises(EngineError, match=r"401.*api_key|NOAUTH"):
            adapter(double, name, tmp_path).build(rows("l2"))
        index = adapter(double, name, tmp_path, api_key="right")
        index.build(rows("l2"))
        index.close()


@pytest.mark.parametrize("fault", ["404", "503"])
def test_an_error_of_the_server_carries_its_words(
    name: str, double: Double, fault: str, tmp_path: Path
) -> None:
    index = adapter(double, name, tmp_path)
    index.build(rows("l2"))
    double.faults = {"search": fault, "batch": fault}
    error = double.contract.facts["errors"][fault]
    words = re.findall(r'"(?:error|reason|message)": "(.*?)"', json.dumps(error)) or [error]
    for queries in (rows("l2", 1), rows("l2", 3)):
        with pytest.raises(EngineError, match=re.escape(words[-1].strip("-"))):
            index.search(queries, 5)
    index.close()


def test_a_server_that_hangs_is_left_after_the_timeout(name: str, double: Double, tmp_path: Path) -> None:
    index = adapter(double, name, tmp_path)
    index.build(rows("l2"))
    double.faults = {"search": "hang"}
    connection_of(index).close()
    connection_of(index).timeout = 0.2
    with pytest.raises(EngineError, match=r"did not answer in 0\.2 s \(.*\); raise timeout"):
        index.search(rows("l2", 1), 5)
    double.faults, connection_of(index).timeout = {}, 60.0
    assert index.search(rows("l2")[:2], 1).tolist() == [[0], [1]]  # no late answer is taken for a later one


def test_a_connection_that_breaks_is_an_error(name: str, double: Double, tmp_path: Path) -> None:
    index = adapter(double, name, tmp_path)
    index.build(rows("l2"))
    double.faults = {"search": "break"}
    with pytest.raises(EngineError, match=r"cannot be reached: .* \((POST|FT\.SEARCH)"):
        index.search(rows("l2", 1), 5)
    double.faults = {}
    assert index.search(rows("l2")[:1], 1).tolist() == [[0]]  # and goes on when the server is back
    index.close()


@pytest.mark.parametrize("engine", SERVERS)
def test_a_server_that_is_not_there_is_an_error(engine: str, tmp_path: Path) -> None:
    with open_double(engine) as double:
        pass
    with pytest.raises(EngineError, match=r"127\.0\.0\.1:\d+ cannot be reached.*refused"):
        adapter(double, engine, tmp_path).build(rows("l2"))


@pytest.mark.parametrize("engine", SERVERS)
@pytest.mark.parametrize("url", ["localhost:80", "ftp://x", "http://", "http://x:port", ""])
def test_a_url_that_is_none_is_refused(engine: str, url: str, tmp_path: Path) -> None:
    place = {"url": url} | ({"config_url": url} if engine == "vespa" else {})
    with pytest.raises(InputError, match=r"url: expected (http|redis)://HOST:PORT, found"):
        load_engine(engine)(Setup("l2", D, 1, tmp_path), **place)


# one engine at a time


def test_vespa_does_not_replace_an_application(tmp_path: Path) -> None:
    with open_double("vespa") as double:
        double.brain.name = "somebody's"
        index = adapter(double, "vespa", tmp_path)
        with pytest.raises(InputError, match="already has an application"):
            index.build(rows("l2"))
        index.close()
        assert double.brain.name == "somebody's"
        assert double.exchanges_named("drop") == []


def test_elasticsearch_is_never_asked_for_fewer_candidates_than_k(tmp_path: Path) -> None:
    with open_double("elasticsearch") as double:
        index: Any = adapter(double, "elasticsearch", tmp_path)
        index.build(rows("l2"))
        index.set_search(num_candidates=1)
        index.search(rows("l2", 1), 5)
        assert double.exchanges_named("search")[0]["knn"]["num_candidates"] == 5
        index.close()


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch", "weaviate"])
def test_a_vector_that_is_refused_is_named(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_double(engine) as double:
        index: Any = adapter(double, engine, tmp_path)
        index.build(rows("l2", 3))
        wrong = {
            "errors": True,
            "items": [
                {"index": {"_id": "7", "status": 400, "error": {"type": "x", "reason": "zero magnitude"}}}
            ],
        }
        object_id = "00000000-0000-0000-0000-000000000008"
        failed = {"status": "FAILED", "errors": {"error": [{"message": "zero magnitude"}]}}
        monkeypatch.setattr(ServerClient, "call_lines", lambda *args: wrong)
        if engine == "weaviate":
            monkeypatch.setattr(index.client, "call", lambda *args: [{"id": object_id, "result": failed}])
        with pytest.raises(EngineError, match="refused vector 7: zero magnitude"):
            index.insert(7, [[0.0]])


def test_a_server_that_closed_an_idle_connection_is_called_again(tmp_path: Path) -> None:
    with open_double("qdrant") as double:
        client = ServerClient("Qdrant", double.url, {}, 5.0)
        assert client.call("GET", "/")["version"] == "1.19.0"
        (idle,) = client.http._idle
        connection = idle._connection
        assert connection is not None
        assert connection.sock is not None
        connection.sock.shutdown(2)
        assert client.call("GET", "/")["version"] == "1.19.0"
        client.close()


def test_a_password_in_a_url_that_is_none_is_not_shown() -> None:
    with pytest.raises(InputError) as refused:
        ServerClient("qdrant", "ftp://me:my%20secret@nowhere:99999", {}, 1)
    assert "found 'ftp://…@nowhere:99999'" in str(refused.value)


def test_a_name_and_a_password_in_the_url_are_sent_and_not_shown() -> None:
    client = ServerClient("OpenSearch", "http://ada:p%40ss@127.0.0.1:1", {}, 1.0)
    assert client.http.headers["Authorization"] == "Basic YWRhOnBAc3M="
    with pytest.raises(EngineError) as caught:
        client.call("GET", "/")
    assert "p@ss" not in str(caught.value)
    assert "p%40ss" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "expected_text"), [(200, "no JSON .*: '<html>'"), (502, "answered 502: <html>")]
)
def test_an_answer_that_is_no_json_is_shown(
    status: int, expected_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = ServerClient("Weaviate", "http://127.0.0.1:1", {}, 1.0)
    monkeypatch.setattr(HttpConnection, "request", lambda *args: Response(status, HTTPMessage(), b"<html>"))
    with pytest.raises(EngineError, match=expected_text):
        client.call("GET", "/v1/meta")


def test_waiting_ends_when_it_is_ready() -> None:
    looks = iter([False, False, True])
    wait_until(lambda: next(looks), 5, "never")
    assert list(looks) == []
