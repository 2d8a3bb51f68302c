"""Judgments of several sources as one table."""

from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.workflows.dataset_versions import (
    ExportDatasetRequest,
    ImportDatasetRequest,
    export_dataset,
    import_dataset,
)
from assay.workflows.judgment_inputs import open_judgments


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("human.qrels").write_text("q1 0 a 2\nq1 0 b 0\n")
    Path("model.txt").write_text("q1 0 a 1\nq1 0 b 0\n")
    Path("labels.csv").write_text("query_id,doc_id,judge,grade\nq1,a,ann,relevant\nq1,b,bob,bad\n")


def test_qrels_are_judges_named_by_their_files_or_by_the_caller() -> None:
    assert open_judgments(["human.qrels", "model.txt"]).judges == ["human", "model"]
    assert open_judgments(["ann=human.qrels", "model.txt"]).judges == ["ann", "model"]


def test_columns_and_labels_are_given_as_text() -> None:
    judgments = open_judgments(["labels.csv"], ["judge=judge"], labels=["relevant=1", "bad=0"])
    assert judgments.grades.tolist() == [1, 0]


def test_a_judge_who_judged_a_pair_in_two_files_is_refused_with_both() -> None:
    Path("other").mkdir()
    Path("other/human.qrels").write_text("q1 0 a 2\n")
    with pytest.raises(InputError, match=r"in human.qrels and in other/human.qrels: give one"):
        open_judgments(["human.qrels", "other/human.qrels"])
    assert len(open_judgments(["human.qrels", "second=other/human.qrels"])) == 3


@pytest.mark.parametrize(
    ("sources", "options", "problem"),
    [
        ([], {}, "expected files of judgments, project:NAME or dataset:NAME, found none"),
        (["-", "-"], {}, "standard input"),
        (["x=labels.csv"], {"labels": ["relevant=1", "bad=0"]}, "expected one judge in labels.csv, found 2"),
        (["labels.csv"], {"columns": ["grad=x"]}, r"--columns expects .*; did you mean grade"),
        (["labels.csv"], {"labels": ["relevant"]}, "--label expects TEXT=GRADE such as relevant=1"),
        (["dataset:none"], {"store": "store"}, "there is no store at store"),
    ],
)
def test_wrong_sources_are_refused(sources: list[str], options: dict[str, object], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        open_judgments(sources, **options)  # type: ignore[arg-type]


def test_a_stored_evaluation_set_gives_its_judgments_and_exports_them() -> None:
    Path("labels.csv").write_text("query_id,doc_id,judge,grade,note\nq1,a,ann,2,\nq1,a,bob,,no text\n")
    request = ImportDatasetRequest(name="shop", source="human.qrels", judgments="labels.csv", store="store")
    import_dataset(request)
    judgments = open_judgments(["dataset:shop"], store="store")
    assert judgments == open_judgments(["labels.csv"])
    export_dataset(ExportDatasetRequest(source="dataset:shop", target="folder", store="store"))
    assert open_judgments(["folder/judgments.jsonl"]) == judgments
    import_dataset(ImportDatasetRequest(name="bare", source="human.qrels", store="store"))
    with pytest.raises(InputError, match="has no judgments, only qrels: import it with --judgments FILE"):
        open_judgments(["dataset:bare"], store="store")
