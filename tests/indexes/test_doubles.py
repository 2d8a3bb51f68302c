"""The doubles hold to the contract: a request with one thing wrong is refused."""

import copy
import http.client
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from assay.core.errors import EngineError
from tests.contracts.adapters import SERVERS, adapter, all_closed
from tests.contracts.contract import Contract, Request, problems
from tests.contracts.doubles import open_double
from tests.contracts.vectors import rows

HTTP = SERVERS[:-1]


@pytest.fixture(autouse=True)
def close_all() -> Iterator[None]:
    with all_closed():
        yield


def recorded_requests(engine: str, folder: Path) -> list[Request]:
    """Every request that an adapter makes."""
    with open_double(engine) as double:
        index = adapter(double, engine, folder)
        index.build(rows("l2", 4))
        index.set_search()
        index.search(rows("l2", 2), 3)
        index.search(rows("l2", 1), 3)
        index.close()
    assert double.refused == []
    return double.raw


def wrong_values(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """A value with one thing wrong: something more in an object, or something else in a place."""
    if isinstance(value, dict):
        yield path, {**value, "nonsense": 1}
        for key, inner in value.items():
            yield from ((at, {**value, key: new}) for at, new in wrong_values(inner, (*path, key)))
    elif isinstance(value, list) and value and not isinstance(value[0], (int, float)):
        yield from ((at, [new, *value[1:]]) for at, new in wrong_values(value[0], (*path, 0)))
    yield path, {"wrong": True}


@pytest.mark.parametrize("engine", HTTP)
def test_every_request_with_one_thing_wrong_is_refused(engine: str, tmp_path: Path) -> None:
    contract, count = Contract(engine), 0
    for request in recorded_requests(engine, tmp_path):
        bare = request.path.split("?")[0]
        variants = [request._replace(method="PATCH"), request._replace(path=f"{bare}?x=1")]
        variants.append(request._replace(path=f"{bare}x/y"))
        if request.kind == "application/json":
            for _, wrong in wrong_values(json.loads(request.body)):
                variants.append(request._replace(body=json.dumps(wrong).encode()))
        assert [other for other in variants if not isinstance(contract.check(other), list)] == []
        count += len(variants)
    assert count > 40


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
def test_lines_with_one_thing_wrong_are_refused(engine: str, tmp_path: Path) -> None:
    contract = Contract(engine)
    sent = [
        request for request in recorded_requests(engine, tmp_path) if request.kind == "application/x-ndjson"
    ]
    assert len(sent) == 2
    for request in sent:
        lines = request.body.splitlines(keepends=True)
        for n, line in enumerate(lines):
            for _, wrong in wrong_values(json.loads(line)):
                body = b"".join([*lines[:n], json.dumps(wrong).encode() + b"\n", *lines[n + 1 :]])
                assert isinstance(contract.check(request._replace(body=body)), list)
        assert isinstance(contract.check(request._replace(body=request.body[:-1])), list)
        assert isinstance(contract.check(request._replace(kind="application/json")), list)


@pytest.mark.parametrize("word", ["distance-metric", "<document-api/>", "tensor<float>", "maxHits"])
def test_an_application_of_vespa_that_lacks_a_word_is_refused(word: str, tmp_path: Path) -> None:
    [request] = [r for r in recorded_requests("vespa", tmp_path) if r.kind == "application/zip"]
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(request.body)) as old, zipfile.ZipFile(packed, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(word.encode(), b"nonsense"))
    wrong = Contract("vespa").check(request._replace(body=packed.getvalue()))
    assert isinstance(wrong, list)
    assert "lacks" in wrong[0]


@pytest.mark.parametrize("algorithm", ["HNSW", "FLAT"])
def test_every_command_of_redis_with_one_word_wrong_is_refused(algorithm: str, tmp_path: Path) -> None:
    with open_double("redis") as double:
        index = adapter(double, "redis", tmp_path, algorithm=algorithm)
        index.build(rows("l2", 4))
        assert index.search(rows("l2", 4), 1)[:, 0].tolist() == [0, 1, 2, 3]
        index.close()
    contract = Contract("redis")
    assert {exchange for exchange, _ in double.exchanges} == {"create", "load", "info", "search", "drop"}
    for _, words in double.exchanges:
        for n in range(len(words)):
            assert isinstance(contract.command([*words[:n], b"NONSENSE", *words[n + 1 :]]), list), words[n]
        assert isinstance(contract.command([*words, b"MORE"]), list)


@pytest.mark.parametrize("engine", HTTP)
def test_a_double_refuses_a_wrong_request_over_its_socket(engine: str) -> None:
    with open_double(engine) as double:
        link = http.client.HTTPConnection(urlsplit(double.url).netloc, timeout=60)
        link.request("PUT", "/nonsense", b"{}", {"Content-Type": "application/json"})
        answer = link.getresponse()
        assert answer.status == 400
        assert b"nonsense" in answer.read() or double.refused
        link.close()
    assert len(double.refused) == 1


def test_an_adapter_that_says_something_undocumented_fails(tmp_path: Path) -> None:
    with open_double("qdrant") as double:
        index = adapter(double, "qdrant", tmp_path)
        index.hnsw["quick"] = 1  # type: ignore[attr-defined]
        with pytest.raises(EngineError, match=r"400.*body\.hnsw_config\.quick: is not documented"):
            index.build(rows("l2"))
        assert double.refused == [["body.hnsw_config.quick: is not documented"]]


def test_a_contract_names_its_version_and_pages() -> None:
    for engine in (*SERVERS, "puck"):
        facts = Contract(engine).facts
        assert facts["documented"]
        assert all(page.startswith("https://") for page in facts["pages"])


@pytest.mark.parametrize(
    ("template", "value", "message"),
    [
        ({"a": "<positive>"}, {"a": 0}, "body.a: expected '<positive>', found '0'"),
        ({"a": "<positive>"}, {"a": True}, "body.a: expected '<positive>', found 'True'"),
        ({"a": "<positive>"}, {}, "body.a: is missing"),
        ({"?a": 1}, {"b": 1}, "body.b: is not documented"),
        ([{"a": "<vector>"}], [{"a": [1, "x"]}], "body[0].a: expected '<vector>', found \"[1, 'x']\""),
        ({"a": "<at least: 10>"}, {"a": 9}, "body.a: expected '<at least: 10>', found '9'"),
        ({"a": False}, {"a": 0}, "body.a: expected False, found '0'"),
    ],
)
def test_a_contract_says_what_is_wrong_and_where(template: Any, value: Any, message: str) -> None:
    assert problems(template, value) == [message]


def test_no_contract_was_changed_by_reading_it() -> None:
    first = Contract("qdrant")
    facts_before = copy.deepcopy(first.facts)
    first.check(Request("PUT", "/collections/x", "application/json", b"{}"))
    assert first.facts == facts_before
