"""The embedding cache: each text is encoded once, also after kills and by several processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.errors import StoreError
from assay.models.embedding_cache import EmbeddingCache
from assay.models.encoder import Encoder
from assay.models.model import Usage
from assay.models.registry import load_encoder

TEXTS = [f"text {n}" for n in range(50)]


class Counting(Encoder):
    """An encoder of known numbers, with the list of encoded texts."""

    name = "counting"

    def __init__(self, weights: int = 1, pad: int = 0) -> None:
        super().__init__()
        self.weights, self.pad, self.asked = weights, pad, list[str]()

    def vectors(self, texts: list[str], role: str) -> Any:
        self.asked += texts
        self.add_usage(Usage(tokens=len(texts), requests=1))
        head = [[self.weights * hash_of(text), len(role)] + [0] * self.pad for text in texts]
        return np.array(head, np.float32)

    def configuration(self) -> Mapping[str, Any]:
        return {"name": self.name, "weights": self.weights}


def hash_of(text: str) -> int:
    return sum(at * byte for at, byte in enumerate(text.encode(), 1))


def vectors_file(folder: Path) -> Path:
    (vectors,) = folder.glob("*/vectors")
    return vectors


def test_vectors_come_in_order_and_each_distinct_text_is_encoded_once(tmp_path: Path) -> None:
    model = Counting()
    cached = EmbeddingCache(model, tmp_path, batch=3)
    texts = ["b", "a", "b", "", "c", "a", "d"]
    assert np.array_equal(cached.encode(texts), Counting().encode(texts))
    assert model.asked == ["b", "a", "", "c", "d"]
    assert cached.encode(texts[::-1]).tolist() == Counting().encode(texts[::-1]).tolist()
    assert cached.usage == Usage(tokens=5, requests=2)


def test_another_process_reads_the_cache_without_usage(tmp_path: Path) -> None:
    EmbeddingCache(Counting(), tmp_path).encode(TEXTS)
    model = Counting()
    vectors = EmbeddingCache(model, tmp_path).encode([*TEXTS[::-1], "new"])
    assert model.asked == ["new"]
    assert model.usage == Usage(1, 1)
    assert np.array_equal(vectors, Counting().encode([*TEXTS[::-1], "new"]))


def test_another_model_or_role_never_reads_these_vectors(tmp_path: Path) -> None:
    EmbeddingCache(Counting(), tmp_path).encode(TEXTS)
    for model, role in ((Counting(weights=2), "document"), (Counting(), "query")):
        assert np.array_equal(EmbeddingCache(model, tmp_path).encode(TEXTS, role), model.encode(TEXTS, role))
        assert model.asked == TEXTS * 2


def test_a_refitted_model_has_another_file(tmp_path: Path) -> None:
    cached = EmbeddingCache(load_encoder("lsa", dimensions=2), tmp_path)
    vectors = []
    for documents in (["red car", "blue car", "red sea"], ["red sky", "blue sky", "grey sea"]):
        cached.fit(documents)
        vectors.append(cached.encode(["red car", "sea"]))
    assert not np.array_equal(vectors[0], vectors[1])


def test_other_dimensions_under_the_same_name_are_refused(tmp_path: Path) -> None:
    EmbeddingCache(Counting(), tmp_path).encode(["a"])
    with pytest.raises(StoreError, match="2 dimensions, the model now returns 3"):
        EmbeddingCache(Counting(pad=1), tmp_path).encode(["b"])


def test_progress_counts_missing_and_encoded_texts(tmp_path: Path) -> None:
    EmbeddingCache(Counting(), tmp_path).encode(TEXTS[:10])
    reports: list[tuple[int, int]] = []
    EmbeddingCache(Counting(), tmp_path, batch=16, progress=lambda *at: reports.append(at)).encode(TEXTS)
    assert reports == [(16, 40), (32, 40), (40, 40)]


def test_after_an_incomplete_write_only_its_batch_is_encoded_again(tmp_path: Path) -> None:
    EmbeddingCache(Counting(), tmp_path, batch=5).encode(TEXTS[:10])
    file = vectors_file(tmp_path)
    whole = file.read_bytes()
    for cut in range(len(whole) // 2, len(whole)):
        file.write_bytes(whole[:cut])
        model = Counting()
        assert np.array_equal(
            EmbeddingCache(model, tmp_path).encode(TEXTS[:12]), Counting().encode(TEXTS[:12])
        )
        assert model.asked == TEXTS[5:12]
        assert np.array_equal(
            EmbeddingCache(Counting(), tmp_path).encode(TEXTS[:12]), Counting().encode(TEXTS[:12])
        )


def test_a_last_batch_with_a_wrong_checksum_is_ignored(tmp_path: Path) -> None:
    EmbeddingCache(Counting(), tmp_path, batch=5).encode(TEXTS[:10])
    file = vectors_file(tmp_path)
    file.write_bytes(file.read_bytes()[:-8] + b"\0" * 8)
    model = Counting()
    EmbeddingCache(model, tmp_path).encode(TEXTS[:10])
    assert model.asked == TEXTS[5:10]


def test_a_file_of_another_format_is_not_overwritten(tmp_path: Path) -> None:
    EmbeddingCache(Counting(), tmp_path).encode(["a"])
    vectors_file(tmp_path).write_bytes(b"something else that stands here")
    with pytest.raises(StoreError, match="is not an embedding file; move it away"):
        EmbeddingCache(Counting(), tmp_path).encode(["a"])


def test_threads_that_share_a_cache_get_the_same_vectors(tmp_path: Path) -> None:
    cached = EmbeddingCache(Counting(), tmp_path, batch=4)
    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(lambda at: cached.encode(TEXTS[at:]), range(50)))
    assert all(np.array_equal(rows, Counting().encode(TEXTS[at:])) for at, rows in enumerate(vectors))


def writer(folder: Path, *arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, __file__, str(folder), *map(str, arguments)]
    path = os.pathsep.join(place for place in sys.path if place)
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    )


def lines(process: "subprocess.Popen[str]") -> Iterator[str]:
    assert process.stdout
    return iter(process.stdout.readline, "")


@pytest.mark.parametrize("batches", [1, 7, 23])
def test_after_a_kill_only_the_rest_is_encoded(tmp_path: Path, batches: int) -> None:
    with writer(tmp_path, 0, 100_000) as process:  # far more than it can encode
        for line in lines(process):
            if int(line) == 10 * batches:  # so many texts are on the disk
                os.kill(process.pid, signal.SIGKILL)
                break
    model = Counting()
    texts = [f"text {n}" for n in range(2000)]
    assert np.array_equal(EmbeddingCache(model, tmp_path).encode(texts), Counting().encode(texts))
    assert len(model.asked) <= 2000 - 10 * batches
    assert model.asked == texts[len(texts) - len(model.asked) :]
    assert process.returncode == -signal.SIGKILL


def test_several_processes_write_and_nothing_is_lost_while_another_reads(tmp_path: Path) -> None:
    writers = [writer(tmp_path, at, at + 200) for at in (0, 100, 200)]
    texts = [f"text {n}" for n in range(400)]
    expected, reader = Counting().encode(texts), EmbeddingCache(Counting(), tmp_path)
    while any(process.poll() is None for process in writers):
        assert np.array_equal(reader.encode(texts[:50]), expected[:50])
    for process in writers:
        with process:
            assert process.returncode == 0
    model = Counting()
    assert np.array_equal(EmbeddingCache(model, tmp_path).encode(texts), expected)
    assert model.asked == []


if __name__ == "__main__":
    place, first, last = sys.argv[1:]
    wanted = [f"text {n}" for n in range(int(first), int(last))]
    EmbeddingCache(Counting(), place, batch=10, progress=lambda done, of: print(done, flush=True)).encode(
        wanted
    )
