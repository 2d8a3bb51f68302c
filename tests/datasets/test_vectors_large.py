"""Files that are larger than memory are read and written in parts."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

LIMITED = """
import resource, sys
import numpy as np
from assay.core.vector_faults import find_faults
from assay.datasets.vectors import read_vectors, write_vectors
from assay.datasets.vectors.convert import ConvertedVectors, VectorSlice
import assay.datasets.vectors.bins, assay.datasets.vectors.vecs, assay.datasets.vectors.npy
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20),) * 2)
vectors = read_vectors(sys.argv[1])
"""
N, D = 4_000_000, 128  # 2 GB in a sparse file


@pytest.fixture
def sparse(tmp_path: Path) -> Path:
    path = tmp_path / "large.fbin"
    with open(path, "wb") as file:
        file.write(np.array([N, D], "<u4").tobytes())
        file.truncate(8 + N * D * 4)
    return path


def run(code: str, path: Path) -> str:
    script = LIMITED + code
    process = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=600
    )
    return (process.stdout + process.stderr).strip()


def test_the_memory_limit_is_too_small_for_all_rows(sparse: Path) -> None:
    assert "Cannot allocate memory" in run("vectors.to_matrix()", sparse)


def test_rows_of_a_large_file_are_read_in_little_memory(sparse: Path) -> None:
    code = "print(vectors.take(np.array([0, 3_999_999])).shape, vectors.block(3_900_000, 3_910_000).sum())"
    assert run(code, sparse) == "(2, 128) 0.0"


def test_a_large_file_is_checked_in_little_memory(sparse: Path) -> None:
    assert run("print(find_faults(VectorSlice(vectors, 0, 1_500_000)).zero.number)", sparse) == "1500000"


@pytest.mark.parametrize("ending", ["u8bin", "bvecs", "npy"])
def test_a_large_file_is_written_in_little_memory(sparse: Path, ending: str) -> None:
    target = sparse.with_name(f"made.{ending}")
    code = f"write_vectors(VectorSlice(vectors, 0, 1_000_000), {str(target)!r}, dtype='uint8'); print('done')"
    assert run(code, sparse) == "done"
    assert target.stat().st_size >= 128_000_000
    target.unlink()
