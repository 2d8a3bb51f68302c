"""Milvus: the real server on loopback, and milvus-lite, which has not every index that it accepts."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.bench.sweeps.brute_force import make_hard_queries, uses_index
from assay.core.errors import EngineError, InputError
from assay.core.vectors import InMemoryVectors
from assay.indexes.exact.truth import truth
from assay.indexes.hosting.hosted import HostedIndex
from tests.indexes.relay import front_door
from tests.served import served

ROOT = Path(__file__).parents[2]
PYTHON = str(ROOT / ".venv-milvus" / "bin" / "python")  # the server needs a client of its time
N, D, K = 3000, 16, 10
RNG = np.random.default_rng(4)
BASE = InMemoryVectors(RNG.normal(size=(N, D)).astype(np.float32))
QUERIES = InMemoryVectors(RNG.normal(size=(50, D)).astype(np.float32))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URI of a Milvus of the tests' own, installed where it is missing."""
    with served(str(ROOT / "scripts" / "milvus.sh"), "run") as (uri, reason):
        assert uri, f"Milvus does not start: {reason}"
        yield uri


def milvus(metric: str = "l2", **build: Any) -> HostedIndex:
    """An index on the server, asked from the environment of its client."""
    return HostedIndex("milvus", build, metric=metric, d=D, python=PYTHON, timeout=120)


def lite(folder: Path, engine: str = "milvus", **build: Any) -> HostedIndex:
    """An index of milvus-lite."""
    return HostedIndex(engine, {"uri": "vectors.db", **build}, metric="l2", d=D, folder=folder, timeout=120)


def recall(index: HostedIndex, metric: str = "l2", **search: int) -> float:
    """The share of the nearest that is found."""
    positions = index.search(QUERIES, K, search).positions
    nearest = truth(BASE, QUERIES, K, metric).positions
    return float(np.mean([len(set(a) & set(b)) / K for a, b in zip(positions, nearest, strict=True)]))


def listening(port: int) -> set[str]:
    """The addresses on which a port is open, as the kernel writes them."""
    tables = [Path(f"/proc/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table]
    positions = [row[1].split(":") for row in rows if row[3] == "0A"]
    return {address for address, at in positions if int(at, 16) == port}


def networks(command: bytes) -> set[str]:
    """The networks of the processes with a command."""
    positions = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if command in (entry / "cmdline").read_bytes():
                positions.add(os.readlink(entry / "ns" / "net"))
    return positions


def collections(uri: str) -> str:
    """What is on the server."""
    program = (
        "import sys; from pymilvus import MilvusClient; print(MilvusClient(sys.argv[1]).list_collections())"
    )
    command = [PYTHON, "-W", "ignore", "-c", program, uri]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_server_is_reached_over_loopback_and_nowhere_else(server: str) -> None:
    assert listening(int(server.rpartition(":")[2])) == {"0100007F"}
    own_network = os.readlink("/proc/self/ns/net")
    for _ in range(60):  # another server that is being started is in it for a moment
        server_networks = networks(b"assay-milvus")
        if own_network not in server_networks:
            break
        time.sleep(0.5)
    assert server_networks
    assert own_network not in server_networks


@pytest.mark.parametrize(
    ("metric", "kind", "build", "search"),
    [
        ("l2", "HNSW", {"M": 16, "efConstruction": 100}, {"ef": 200}),
        ("ip", "SCANN", {"nlist": 64}, {"nprobe": 40}),
        ("cosine", "IVF_FLAT", {"nlist": 64}, {"nprobe": 40}),
        ("l2", "IVF_SQ8", {"nlist": 64}, {"nprobe": 40}),
    ],
)
def test_the_server_builds_a_real_index(
    server: str, metric: str, kind: str, build: dict[str, int], search: dict[str, int]
) -> None:
    with milvus(metric, uri=server, index_type=kind, **build) as index:
        result = index.build(BASE)
        assert result.version.startswith("Milvus v2.3.5")
        assert recall(index, metric, **search) > 0.9
        assert uses_index(index, make_hard_queries(BASE, metric))
        batch, single = (index.search(QUERIES, K, search, mode).positions for mode in ("batch", "single"))
        assert (batch == single).all()
        assert (np.sort(index.search(QUERIES, N, search).positions[0]) < N).all()
    assert collections(server) == "[]"


@pytest.fixture
def cloud(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a double of a cloud: TLS and a token before the real server."""
    monkeypatch.setenv("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", str(tmp_path / "roots.pem"))
    with front_door(server.removeprefix("http://"), "db_admin:secret", tmp_path) as uri:
        yield uri


@pytest.mark.parametrize("by", ["parameter", "environment"])
def test_a_cloud_is_reached_over_tls_by_its_token(
    cloud: str, server: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"token": "db_admin:secret"} if by == "parameter" else {}
    if by == "environment":
        monkeypatch.setenv("MILVUS_TOKEN", "db_admin:secret")
    with milvus(uri=cloud, index_type="AUTOINDEX", **options) as index:
        index.build(BASE)
        assert recall(index, level=1) > 0.5
    assert collections(server) == "[]"


def test_a_cloud_that_does_not_know_the_token_is_told(cloud: str) -> None:
    with pytest.raises(EngineError, match="no such token"):
        milvus(uri=cloud, index_type="AUTOINDEX", token="db_admin:wrong")


def test_brute_force_on_the_server_is_seen(server: str) -> None:
    with milvus(uri=server, index_type="FLAT") as index:
        index.build(BASE)
        assert uses_index(index, make_hard_queries(BASE, "l2")) is False


def test_what_the_server_refuses_is_said_in_its_words(server: str) -> None:
    with milvus(uri=server, index_type="HNSW", M=10000) as index, pytest.raises(EngineError, match="M"):
        index.build(BASE)
    assert collections(server) == "[]"


def test_a_server_that_is_not_there_is_named() -> None:
    if not Path(PYTHON).exists():
        pytest.skip("the client of Milvus is not installed")
    with pytest.raises(EngineError, match=r"MilvusException.*(127\.0\.0\.1:1|connect)"):
        milvus(uri="http://127.0.0.1:1")


def test_lite_builds_what_it_is_told_and_takes_it_up_again(tmp_path: Path) -> None:
    with lite(tmp_path, index_type="IVF_FLAT", nlist=100) as index:
        index.build(BASE)
        assert recall(index, nprobe=1) < 0.5
        assert recall(index, nprobe=100) == 1  # as many lists as it was told to make
        assert uses_index(index, make_hard_queries(BASE, "l2"))
    with lite(tmp_path, index_type="IVF_FLAT", nlist=100) as index:
        index.load()
        assert recall(index, nprobe=100) == 1


@pytest.mark.parametrize("kind", ["DISKANN", "SCANN", "IVF_PQ"])
def test_lite_refuses_an_index_it_has_not_when_there_are_vectors(kind: str, tmp_path: Path) -> None:
    with lite(tmp_path, index_type=kind) as index, pytest.raises(EngineError, match=f"index_type.*{kind}"):
        index.build(BASE)


DECLARED = """
from assay.indexes.engines.milvus import Milvus

class Declared(Milvus):
    def build(self, vectors):
        self._create()
        self._create_index()
        self._insert(vectors)
        self.client.load_collection(self.name)
"""


@pytest.mark.parametrize("kind", ["DISKANN", "SCANN", "IVF_PQ"])
def test_lite_answers_by_brute_force_for_an_index_declared_before_and_is_caught(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "declared-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: declared\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[assay.indexes]\ndeclared = declared:Declared\n")
    (tmp_path / "declared.py").write_text(DECLARED)
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    monkeypatch.setenv("PYTHONPATH", path)
    with lite(tmp_path, "declared", index_type=kind) as index:
        index.build(BASE)
        assert recall(index, **index.description.smallest_search) == 1
        assert uses_index(index, make_hard_queries(BASE, "l2")) is False


def test_a_search_of_another_index_is_refused(tmp_path: Path) -> None:
    with lite(tmp_path, index_type="HNSW") as index:
        index.build(BASE)
        with pytest.raises(InputError, match="HNSW is searched with ef, found nprobe"):
            index.search(QUERIES, K, {"nprobe": 4})


THROUGH = """
import json, sys
sys.path.insert(0, {sources!r})
from pymilvus import MilvusClient
from assay.search import Query
from assay.search.searchers.milvus import Milvus
import numpy as np

client = MilvusClient({uri!r})
client.create_collection("docs", 2, metric_type="L2", consistency_level="Strong")
client.insert("docs", [{{"id": i, "vector": [float(i), 0.0]}} for i in range(20)])

class Encoder:
    thread_usage = None
    def encode_query(self, text): return np.array([float(text), 0.0], np.float32)
    def configuration(self): return {{}}

from assay.models.model import Usage
Encoder.thread_usage = Usage()
found = Milvus("m", Encoder(), uri={uri!r}, collection="docs")
print(json.dumps(found.ask(Query("q", "7"), 3, 10).documents))
found.close()
"""


def test_the_real_server_is_searched_as_a_system(server: str) -> None:
    program = THROUGH.format(sources=str(ROOT / "src"), uri=server)
    run = subprocess.run([PYTHON, "-c", program], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr[-2000:]
    assert json.loads(run.stdout.splitlines()[-1])[0] == ["7", 0.0]
