"""A store whose tables are in a bucket works as one whose tables are in a folder."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import boto3
import numpy as np
import pytest
import s3fs
from moto.server import ThreadedMotoServer

from assay.core.errors import StoreError
from assay.core.tables import Scores
from assay.store.store import Store
from assay.store.tables import TableStorage
from tests.stores import experiment, scores

NOW = timedelta(0)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A new bucket; where it is and who one is stand in the environment."""
    settings = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    name = f"b{abs(hash(request.node.name))}"
    client = boto3.client("s3")
    client.create_bucket(Bucket=name)
    client.close()
    return name


@pytest.fixture
def store(bucket: str, postgres: str) -> Iterator[Store]:
    with Store(f"{postgres}?tables=s3://{bucket}/tables") as made:
        yield made


def test_what_is_put_comes_back_whole(store: Store) -> None:
    made = store.put(experiment(), scores())
    assert store.get("hnsw") == made
    assert store.list("metrics.nDCG@10 > 0.3") == [made]
    found = store.scores(made)
    assert found is not None
    assert found.digest == scores().digest
    [kept] = store.tables.list()
    assert kept.digest == scores().digest
    assert kept.size > 0


def test_a_check_of_a_bucket_leaves_nothing_in_it(store: Store, bucket: str) -> None:
    store.check_writable()
    assert list(store.tables.list()) == []
    assert not store.tables._files.find(store.tables._root)


def test_one_query_is_read_from_many_tables(store: Store) -> None:
    made = [store.tables.put(scores(seed)) for seed in range(12)]
    other = store.tables.put(Scores(["q1"], {"RR": np.array([0.5])}))
    found = store.tables.row([*made, other], "q1")
    assert list(found) == [*made, other]
    assert found[other] == {"RR": 0.5}
    assert found[made[7]] == {name: values[1] for name, values in scores(7).values.items()}


def test_what_nobody_refers_to_is_shown_and_then_cleaned(store: Store) -> None:
    kept = store.put(experiment("kept"), scores(1))
    store.put(experiment("gone"), scores(2))
    store.drop("gone")
    store.purge()
    assert store.clean() == []  # it is young
    assert [g.digest for g in store.unused_tables(NOW)] == [scores(2).digest]
    assert [g.digest for g in store.clean(NOW)] == [scores(2).digest]
    assert [t.digest for t in store.tables.list()] == [kept.digests["scores"]]
    assert store.scores(kept) is not None


def test_what_another_has_cleaned_away_is_put_again(store: Store, bucket: str) -> None:
    digest = store.tables.put(scores())
    assert [t.digest for t in store.tables.list()] == [digest]
    TableStorage(f"s3://{bucket}/tables").drop(digest)
    assert list(store.tables.list()) == []
    store.tables.put(scores())
    assert store.tables.get(digest).digest == digest


def test_a_table_that_is_lost_or_damaged_is_told(store: Store) -> None:
    one, two = store.tables.put(scores(1)), store.tables.put(scores(2))
    content = store.tables.read(two)
    store.tables.drop(one)
    with pytest.raises(StoreError, match="it was lost, cleaned up"):
        store.tables.get(one)
    with pytest.raises(StoreError, match="it was lost, cleaned up"):
        store.tables.row([two, one], "q1")
    store.tables.write(one, content)
    with pytest.raises(StoreError, match="has another digest"):
        store.tables.get(one)


def test_a_bucket_that_is_not_there_is_told_and_nothing_is_kept(bucket: str, postgres: str) -> None:
    with Store(f"{postgres}?tables=s3://{bucket}-other/tables") as store:
        with pytest.raises(StoreError, match="nothing was saved: "):
            store.put(experiment(), scores())
        assert store.list() == []


def test_a_server_that_is_away_is_told(
    bucket: str, postgres: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    s3fs.S3FileSystem.clear_instance_cache()
    with Store(f"{postgres}?tables=s3://{bucket}/tables") as store:
        store.tables._files.retries = 1
        with pytest.raises(StoreError, match="nothing was saved: "):
            store.put(experiment(), scores())
        assert store.list() == []
