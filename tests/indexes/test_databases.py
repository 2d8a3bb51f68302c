"""What is particular to one database among the engines; what all must do is in the conformance suite."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.errors import EngineError, InputError
from assay.core.vectors import InMemoryVectors
from assay.indexes.hosting.hosted import HostedIndex
from assay.indexes.index import Index, Setup
from assay.indexes.registry import load_engine

N, D, K = 2000, 16, 10
RNG = np.random.default_rng(3)
BASE = RNG.normal(size=(N, D)).astype(np.float32)
QUERIES = RNG.normal(size=(50, D)).astype(np.float32)
NEAREST = np.argsort(((QUERIES[:, None] - BASE[None]) ** 2).sum(2), axis=1)[:, :K]


def open_engine(name: str, folder: Path, **build: Any) -> Any:
    """An engine in this process."""
    return load_engine(name)(Setup("l2", D, 1, folder), **build)


def recall(index: Index) -> float:
    """The share of the nearest that is found."""
    answers = index.search(QUERIES, K)
    return float(np.mean([len(set(a) & set(b)) / K for a, b in zip(answers, NEAREST, strict=True)]))


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[Any]:
    """pgvector on a PostgreSQL of its own."""
    index = open_engine("pgvector.hnsw", tmp_path)
    index.build(BASE)
    yield index
    index.close()


def servers(folder: Path) -> list[str]:
    """The PostgreSQLs that run on a folder."""
    answers = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (entry / "cmdline").read_bytes().decode(errors="replace")
            answers += [entry.name] if "bin/postgres\0" in command and str(folder) in command else []
    return answers


def test_postgres_holds_no_more_than_ef_search_and_the_list_is_short(postgres: Any) -> None:
    postgres.set_search(ef_search=4)
    answers = postgres.search(QUERIES, K)
    assert (answers[:, :4] >= 0).all()
    assert (answers[:, 4:] == -1).all()


def test_postgres_refuses_in_its_own_words(postgres: Any) -> None:
    with pytest.raises(Exception, match=r"1001 is outside the valid range .* \(1 .. 1000\)"):
        postgres.set_search(ef_search=1001)


def test_postgres_without_its_index_is_refused_and_not_measured(postgres: Any) -> None:
    postgres._thread_connection().run("DROP INDEX vectors_index")
    with pytest.raises(EngineError, match=r"does not use the index; its plan is\nLimit .*\n.* Sort"):
        postgres.set_search(ef_search=40)


def test_threads_ask_postgres_over_connections_of_their_own(postgres: Any) -> None:
    postgres.set_search(ef_search=200)
    expected = postgres.search(QUERIES, K)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda i: postgres.search(QUERIES[i : i + 1], K)[0], range(len(QUERIES))))
    assert np.array_equal(answers, expected)
    assert 1 < len(postgres.connections) <= 5


def test_a_table_on_a_server_of_ones_own_is_dropped_at_the_end(postgres: Any, tmp_path: Path) -> None:
    count = "SELECT count(*) FROM pg_class WHERE relname LIKE 'assay%'"
    guest = open_engine("pgvector.ivfflat", tmp_path, url=postgres.url, lists=20)
    guest.build(BASE)
    guest.set_search(probes=20)
    assert recall(guest) == 1
    assert postgres._thread_connection().run(count)[0][0] == 2
    guest.close()
    assert postgres._thread_connection().run(count)[0][0] == 0
    with pytest.raises(EngineError, match="build it again"):
        guest.load()


def test_postgres_ends_when_it_is_closed(tmp_path: Path) -> None:
    index = open_engine("pgvector.hnsw", tmp_path)
    assert servers(tmp_path)
    index.close()
    assert not servers(tmp_path)


OPENED = """
import sys
from pathlib import Path
from assay.indexes.registry import load_engine
from assay.indexes.index import Setup

index = load_engine("pgvector.hnsw")(Setup("l2", 4, 1, Path(sys.argv[1])))
print("up", flush=True)
sys.stdin.read()
"""


def test_postgres_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    open_engine("pgvector.hnsw", tmp_path).close()
    command, pipe = [sys.executable, "-c", OPENED, str(tmp_path)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdout
        assert process.stdout.readline() == b"up\n"
        assert servers(tmp_path)
        process.kill()
    until = time.monotonic() + 30
    while servers(tmp_path) and time.monotonic() < until:
        time.sleep(0.02)
    assert not servers(tmp_path)


def test_postgres_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "PG_VERSION").write_text("9\n")
    with pytest.raises(EngineError, match=r"PostgreSQL did not start in .*data"):
        open_engine("pgvector.hnsw", tmp_path)
    assert not servers(tmp_path)


@pytest.mark.parametrize(
    ("build", "search", "message"),
    [
        ({"M": 1}, {}, "M must be 2 or more, found 1"),
        ({"M0": 8}, {}, "M0 must be 16 or more, found 8"),
        ({"ef_construction": 0}, {}, "ef_construction must be 1 or more, found 0"),
        ({}, {"ef_search": 0}, "ef_search must be 1 or more, found 0"),
    ],
)
def test_duckdb_is_given_no_value_that_it_crashes_on_or_replaces(
    build: dict[str, int], search: dict[str, int], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        open_engine("duckdb", tmp_path, **build).set_search(**search)


def test_duckdb_without_its_index_is_refused_and_not_measured(tmp_path: Path) -> None:
    index = open_engine("duckdb", tmp_path)
    index.build(BASE)
    index.set_search(ef_search=100)
    assert recall(index) > 0.9
    index.database.execute("DROP INDEX graph")
    index.set_search(ef_search=100)
    with pytest.raises(EngineError, match="does not use the index for k = 10 of 2000 vectors"):
        index.search(QUERIES, K)
    assert (np.sort(index.search(QUERIES[:1], N)) == np.arange(N)).all()
    index.close()


def test_sqlite_vec_refuses_a_large_k_in_its_own_words(tmp_path: Path) -> None:
    index = open_engine("sqlite-vec", tmp_path)
    index.build(BASE)
    assert recall(index) == 1
    with pytest.raises(Exception, match="k value in knn query too large, provided 4097"):
        index.search(QUERIES, 4097)
    index.close()


def test_lancedb_holds_at_least_k_candidates(tmp_path: Path) -> None:
    index = open_engine("lancedb.hnsw", tmp_path, index_type="IVF_HNSW_FLAT")
    index.build(BASE)
    index.set_search(ef=1)
    assert (index.search(QUERIES, K) >= 0).all()
    assert (np.sort(index.search(QUERIES[:1], N)) == np.arange(N)).all()


def test_lancedb_names_the_graphs_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one of IVF_HNSW_SQ, IVF_HNSW_PQ, IVF_HNSW_FLAT, found 'HNSW'"):
        open_engine("lancedb.hnsw", tmp_path, index_type="HNSW")


def test_chroma_searches_as_it_was_last_told(tmp_path: Path) -> None:
    try:
        index = HostedIndex("chroma", {"max_neighbors": 8}, metric="l2", d=D, folder=tmp_path)
    except InputError as error:
        pytest.skip(str(error))
    with index:
        index.build(InMemoryVectors(BASE))
        answers = [
            index.search(InMemoryVectors(QUERIES), K, {"ef_search": ef}).positions for ef in (1, 500, 1)
        ]
    shares = [np.mean([len(set(a) & set(b)) / K for a, b in zip(f, NEAREST, strict=True)]) for f in answers]
    assert shares[0] < 0.9 < shares[1]
    assert shares[2] == shares[0]
