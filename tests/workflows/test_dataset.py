"""The workflows of files of vectors: export, generate, show and check."""

from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import InputError
from assay.core.vectors import Neighbors
from assay.datasets.vectors import read_vectors, write_neighbors, write_vectors
from assay.workflows.dataset import (
    CheckVectorsRequest,
    ExportVectorsRequest,
    GenerateVectorsRequest,
    ShowVectorsRequest,
    WrittenFile,
    check_vectors,
    export_vectors,
    generate_vectors,
    show_vectors,
)

VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_vectors(VECTORS, "a.fbin")
    return tmp_path


def test_rows_of_vectors_are_exported() -> None:
    written = export_vectors(ExportVectorsRequest(source="a.fbin", target="b.npy", rows="1:3"))
    assert written == WrittenFile("b.npy", "vectors", 2, 3, "float32")
    assert np.array_equal(read_vectors("b.npy").to_matrix(), VECTORS[1:3])


def test_neighbours_lose_their_distances_in_a_format_without_them() -> None:
    write_neighbors(Neighbors(np.array([[1, 2]]), np.array([[0.5, 0.7]])), "t.parquet")
    request = ExportVectorsRequest(source="t.parquet", target="t.ivecs", neighbors=True)
    assert export_vectors(request).to_dict() == {
        "path": "t.ivecs",
        "content": "neighbors",
        "rows": 1,
        "columns": 2,
        "dtype": None,
        "without_distances": "ivecs",
    }
    with pytest.raises(InputError, match="--dtype and --rows are for vectors"):
        ExportVectorsRequest(source="t.parquet", target="t.ivecs", neighbors=True, rows="0:1")


def test_a_base_and_queries_are_generated() -> None:
    request = GenerateVectorsRequest(
        kind="clusters", target="g.fbin", queries="q.fbin", rows=20, dimensions=4, count=3
    )
    assert [(file.path, file.rows) for file in generate_vectors(request).files] == [
        ("g.fbin", 20),
        ("q.fbin", 3),
    ]


def test_files_are_described() -> None:
    (file,) = show_vectors(ShowVectorsRequest(files=["a.fbin"], digest=True)).to_dict()["files"]
    assert (file["rows"], file["columns"], file["dtype"]) == (4, 3, "float32")
    assert len(file["digest"]) == 32


def test_zero_vectors_do_not_pass_the_check_under_cosine() -> None:
    write_vectors(np.zeros((2, 3), np.float32), "zero.fbin")
    result = check_vectors(CheckVectorsRequest(base="a.fbin", queries="zero.fbin", metric="cosine"))
    assert result.exit_code == 2
    assert result.to_dict()["files"][1]["zero"]["number"] == 2
    assert check_vectors(CheckVectorsRequest(base="a.fbin")).exit_code == 0
