"""fuse_runs: several run files become one."""

from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.core.tables import Run
from assay.datasets import read, write
from assay.workflows.fuse import FuseRequest, fuse_runs
from assay.workflows.inputs import TableFiles


@pytest.fixture
def files(tmp_path: Path) -> TableFiles:
    (tmp_path / "words.run").write_text("q1 Q0 a 1 9 t\nq1 Q0 b 2 5 t\nq2 Q0 c 1 1 t\n")
    write(Run({"q1": {"b": 0.7, "d": 0.1}}), tmp_path / "vectors.csv")
    return TableFiles(runs=[str(tmp_path / "words.run"), str(tmp_path / "vectors.csv")])


def test_ranks_are_fused_query_by_query(files: TableFiles) -> None:
    result = fuse_runs(FuseRequest(files=files))
    assert result.run.to_dict() == {
        "q1": {"a": 1 / 61, "b": pytest.approx(1 / 62 + 1 / 61), "d": 1 / 62},
        "q2": {"c": 1 / 61},
    }
    assert result.incomplete_queries == 1


def test_normalised_scores_are_weighted(files: TableFiles) -> None:
    result = fuse_runs(FuseRequest(files=files, by="weighted", weights=[1, 3]))
    assert result.run.to_dict()["q1"] == {"a": 1.0, "b": 3.0, "d": 0.0}


def test_the_best_documents_of_each_query_are_written(files: TableFiles, tmp_path: Path) -> None:
    result = fuse_runs(FuseRequest(files=files, depth=1, output=tmp_path / "fused.jsonl"))
    assert {query: list(docs) for query, docs in result.run.to_dict().items()} == {"q1": ["b"], "q2": ["c"]}
    assert read(tmp_path / "fused.jsonl", "run") == result.run


def test_the_text_is_a_trec_run(files: TableFiles) -> None:
    lines = fuse_runs(FuseRequest(files=files, k=0, name="my fusion")).to_trec().splitlines()
    assert lines[0] == "q1 Q0 b 1 1.5 my_fusion"
    assert [line.split()[2] for line in lines] == ["b", "a", "d", "c"]


def test_wrong_requests_are_refused(files: TableFiles) -> None:
    with pytest.raises(InputError, match="expected at least two runs to fuse, found 1"):
        fuse_runs(FuseRequest(files=TableFiles(runs=files.runs[:1])))
    with pytest.raises(InputError, match="expected 2, one for each ranking, found 1"):
        fuse_runs(FuseRequest(files=files, weights=[1]))
    with pytest.raises(InputError, match="expected a depth of at least 1, found 0"):
        fuse_runs(FuseRequest(files=files, depth=0))
    with pytest.raises(InputError, match="can be read only once"):
        fuse_runs(FuseRequest(files=TableFiles(runs=["-", "-"])))
