"""The searchers of the conformance suite: all search the same few documents by words.

A searcher is one function here, given what was started for it.
"""

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from assay.core.tables import Documents
from assay.models.encoder import Encoder
from assay.remote.errors import ERROR_KINDS, RemoteError
from assay.search.registry import build_searcher
from assay.search.searcher import Query, Searcher
from tests.contracts.adapters import adapter
from tests.contracts.doubles import Double
from tests.services.search_service import DOCUMENTS

D = 8  # as in the contracts
IDS = list(DOCUMENTS)
SECRET = "s3cr3t-of-the-environment"  # the value of ASSAY_TEST_KEY
TABLE = Documents({"doc_id": IDS, "text": list(DOCUMENTS.values())})


class Words(Encoder):
    """An encoder whose vectors are the presence of a few words, so that neighbors are obvious."""

    name = "words"
    vocabulary = ("reset", "password", "router", "the", "größe", "invoice", "パスワード")

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """Return one row for each text; the last column keeps an empty text from being all zeros."""
        rows = [[float(word in text.casefold().split()) for word in self.vocabulary] for text in texts]
        return np.array([[*row, 0.25] for row in rows], np.float32)


def vectors() -> NDArray[np.float32]:
    """Return the vectors of the documents."""
    rows: NDArray[np.float32] = Words().encode(list(DOCUMENTS.values()))
    return rows


def failure_of(searcher: Searcher, text: str = "reset password", timeout: float | None = 60) -> RemoteError:
    """Return the error of a search, after checking that it shows no secret."""
    with pytest.raises(RemoteError) as caught:
        searcher.ask(Query("q1", text), 10, timeout)
    searcher.close()
    texts = f"{caught.value} {caught.value!r} {searcher!r} {dict(searcher.configuration())}"
    assert SECRET not in texts
    assert caught.value.kind in ERROR_KINDS
    return caught.value


# a function and a program, each in its own file

FUNCTION = """
import sys
sys.path.insert(0, {tests!r})
from tests.services.search_service import ranking

def search(text, k):
    return [(int(key) if key.isdecimal() else key, score) for key, score in ranking(text)][:k]

def fails(text):
    raise {{"timeout": TimeoutError, "connection": ConnectionResetError}}.get(text, KeyError)("no " + text)
"""
PROGRAM = """
import json, sys
sys.path.insert(0, {tests!r})
from tests.services.search_service import ranking

def answer(line):
    asked = json.loads(line)
    return [{{"id": int(key) if key.isdecimal() else key, "score": score}}
            for key, score in ranking(asked["query"])][: asked["k"]]

for line in sys.stdin:
    print(json.dumps(answer(line)), flush=True)
"""
HERE = str(Path(__file__).parents[2])


def function(folder: Path) -> Searcher:
    (folder / "own_search.py").write_text(FUNCTION.format(tests=HERE))
    return build_searcher("callable", "mine", {"function": "own_search:search", "folder": str(folder)})


def command(folder: Path, lines: bool = False) -> Searcher:
    program = folder / "program.py"
    program.write_text(PROGRAM.format(tests=HERE))
    return build_searcher(
        "command", "program", {"command": [sys.executable, "-S", str(program)], "lines": lines}
    )


def http(url: str, path: str = "/ok", **more: Any) -> Searcher:
    settings = {"url": url + path, "ids": "$.hits[*].id", "scores": "$.hits[*].score"}
    body = {"q": "{query}", "k": "{k}"}
    return build_searcher("http", "service", {**settings, "body": body, **more})


def sqlite(folder: Path) -> Searcher:
    """Return a searcher of a SQLite table, by the number of shared words."""
    rows = [(key, at, word) for at, (key, text) in enumerate(DOCUMENTS.items()) for word in text.split()]
    with closing(sqlite3.connect(folder / "docs.db")) as connection, connection:
        connection.execute("CREATE TABLE words (id TEXT, at INTEGER, word TEXT)")
        connection.executemany("INSERT INTO words VALUES (?, ?, ?)", rows)
    statement = (
        "SELECT CASE WHEN id = '7' THEN 7 ELSE id END, count(*) AS score FROM words WHERE "
        "' ' || lower(:query) || ' ' LIKE '% ' || word || ' %' GROUP BY id ORDER BY score DESC, at LIMIT :k"
    )
    return build_searcher("sql", "sqlite", {"url": f"sqlite:///{folder / 'docs.db'}", "statement": statement})


def pgvector(url: str) -> Searcher:
    """Return a searcher of PostgreSQL with pgvector."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("DROP TABLE IF EXISTS docs")
        connection.execute(f"CREATE TABLE docs (id text, v vector({D}))".encode())
        for key, row in zip(IDS, vectors().tolist(), strict=True):
            connection.execute("INSERT INTO docs VALUES (%s, %s)", (key, json.dumps(row)))
    statement = "SELECT id, v <=> :vector AS distance FROM docs ORDER BY v <=> :vector, id LIMIT :k"
    return build_searcher("sql", "pgvector", {"url": url, "statement": statement}, encoder=Words())


def milvus(folder: Path) -> Searcher:
    """Return a searcher of a collection of milvus-lite."""
    from pymilvus import MilvusClient

    client = MilvusClient(str(folder / "docs.db"))
    client.create_collection("docs", D, id_type="string", max_length=20, metric_type="COSINE")
    rows = [{"id": key, "vector": row} for key, row in zip(IDS, vectors().tolist(), strict=True)]
    client.insert("docs", rows)
    client.flush("docs")
    client.close()
    settings = {"uri": str(folder / "docs.db"), "collection": "docs"}
    return build_searcher("milvus", "milvus", settings, encoder=Words())


def embedded(kind: str) -> Searcher:
    settings: dict[str, Any] = {"dimensions": 5} if kind == "lsa" else {}
    return build_searcher(kind, kind, settings, documents=TABLE)


def index(engine: str) -> Searcher:
    return build_searcher("index", engine, {"engine": engine}, documents=TABLE, encoder=Words())


# doubles of servers that are not available here, loaded by the adapters of the benchmark


def _loaded(double: Double, kind: str, folder: Path) -> Any:
    index = adapter(double, kind, folder, "cosine")
    rows = vectors()
    index.build(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    return index


def qdrant(double: Double, folder: Path) -> Searcher:
    name = _loaded(double, "qdrant", folder).path.rpartition("/")[2]
    settings = {"url": double.url, "collection": name, "params": {"exact": True}}
    return build_searcher("qdrant", "qdrant", settings, encoder=Words())


def opensearch(double: Double, folder: Path) -> Searcher:
    name = _loaded(double, "opensearch", folder).path.strip("/")
    body = {"query": {"knn": {"vector": {"vector": "{vector}", "k": "{k}"}}}}
    settings = {"url": double.url, "index": name, "body": body}
    return build_searcher("opensearch", "opensearch", settings, encoder=Words())


def elasticsearch(double: Double, folder: Path) -> Searcher:
    name = _loaded(double, "elasticsearch", folder).path.strip("/")
    near = {"field": "vector", "query_vector": "{vector}", "k": "{k}", "num_candidates": 1000}
    settings = {"url": double.url, "index": name, "body": {"knn": near}}
    return build_searcher("elasticsearch", "elasticsearch", settings, encoder=Words())


def weaviate(double: Double, folder: Path) -> Searcher:
    settings = {"url": double.url, "collection": _loaded(double, "weaviate", folder).name}
    return build_searcher("weaviate", "weaviate", settings, encoder=Words())


def vespa(double: Double, folder: Path) -> Searcher:
    name = _loaded(double, "vespa", folder).name
    near = "{targetHits:{k}, hnsw.exploreAdditionalHits:100}nearestNeighbor(vector, target)"
    settings = {
        "url": double.url,
        "yql": f"select position from {name} where {near}",
        "ranking": "near",
        "parameters": {"input.query(target)": "{vector}", "presentation.summary": "positions"},
        "document": "fields.position",
    }
    return build_searcher("vespa", "vespa", settings, encoder=Words())


def uuid(position: int) -> str:
    """Return the id of an object in the double of Weaviate."""
    return str(UUID(int=position + 1))
