"""Inputs that Assay does not read, each with what to do instead."""

import pickle
from pathlib import Path

import pytest

from assay.core.errors import FormatError
from assay.datasets import open_run, read
from assay.datasets.vectors import read_metric, read_vectors
from assay.workflows.exchange import ImportExperimentsRequest, import_experiments


@pytest.mark.parametrize(
    ("name", "content", "advice"),
    [
        ("run.xlsx", b"PK\x03\x04\0", "save the sheet as CSV"),
        ("run.csv", b"PK\x03\x04\0", "save the sheet as CSV"),
        ("run.pkl", pickle.dumps({"q": {"d": 1.0}}), "write it as JSON or Parquet"),
        ("run.pickle", b"", "write it as JSON or Parquet"),
        ("run", pickle.dumps({"q": {"d": 1.0}}), "write it as JSON or Parquet"),
    ],
)
def test_spreadsheets_and_pickles_are_refused_with_advice(
    name: str, content: bytes, advice: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FormatError, match=advice) as caught:
        open_run(path)
    assert caught.value.path == str(path)


@pytest.mark.parametrize("url", ["https://me:secret@x.org/a.run?key=secret", "s3://bucket/a.run"])
def test_a_url_is_refused_with_advice_and_without_its_secrets(url: str) -> None:
    readers = (read, read_vectors, read_metric)
    for reader in readers:
        with pytest.raises(FormatError, match="download the file first") as caught:
            reader(url)
        assert "secret" not in str(caught.value)
    with pytest.raises(FormatError, match="download the file first"):
        import_experiments(ImportExperimentsRequest(source="https://x.org/a.csv"))
