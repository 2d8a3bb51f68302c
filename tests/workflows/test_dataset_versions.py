"""Versions of evaluation sets, from files to the store and back, and what scores know of them."""

from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.datasets import read
from assay.evaluation.comparability import ComparabilityReason
from assay.workflows.compare_experiments import CompareExperimentsRequest, compare_experiments
from assay.workflows.dataset_versions import (
    DiffDatasetsRequest,
    ExportDatasetRequest,
    ImportDatasetRequest,
    ListDatasetsRequest,
    SavedDataset,
    diff_dataset_versions,
    export_dataset,
    import_dataset,
    list_datasets,
)
from assay.workflows.evaluate import EvaluateRequest, evaluate
from assay.workflows.experiments import (
    ShowExperimentsRequest,
    TrendRequest,
    follow_trend,
    show_experiments,
)
from assay.workflows.inputs import TableFiles
from assay.workflows.recording import SaveRequest
from assay.workflows.saving import save
from tests.workflows.small_files import QRELS, write_files


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TableFiles:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    return write_files(tmp_path)


def import_files(grade: int = 2, note: str = "") -> SavedDataset:
    """Import the small files with another grade of the first pair."""
    Path("qrels.txt").write_text(QRELS.replace("q1 0 a 2", f"q1 0 a {grade}"))
    request = ImportDatasetRequest(name="shop", source="qrels.txt", queries="queries.tsv", note=note)
    return import_dataset(request)


def evaluate_and_save(name: str) -> None:
    request = EvaluateRequest(
        files=TableFiles(qrels="dataset:shop", runs=["dense.run"]), measures=["nDCG@10"], with_recordings=True
    )
    save(SaveRequest(name=name), evaluate(request).recordings)


def test_a_second_version_follows_the_first() -> None:
    first, second = import_files(), import_files(grade=1)
    assert (first.is_new, second.is_new) == (True, True)
    assert second.version.parent == first.version.digest
    labels = [version.label for version in list_datasets(ListDatasetsRequest(name="shop")).versions]
    assert labels == [second.version.label, first.version.label]
    assert first.to_dict()["counts"] == {"queries": 4, "labels": 5}


def test_the_same_files_are_no_new_version() -> None:
    import_files()
    assert not import_files().is_new


def test_a_recipe_is_part_of_the_version() -> None:
    Path("sample.json").write_text('{"sample": {"method": "pps", "seed": 3}}')
    request = ImportDatasetRequest(name="shop", source="qrels.txt", recipes=["sample.json"])
    assert import_dataset(request).to_dict()["recipe"] == {"sample": {"method": "pps", "seed": 3}}


def test_a_version_is_compared_with_its_parent_and_with_files() -> None:
    import_files()
    import_files(grade=1)
    difference = diff_dataset_versions(DiffDatasetsRequest(first="dataset:shop"))
    assert difference.to_dict()["tables"]["qrels"]["counts"]["changed"] == 1
    with_file = diff_dataset_versions(DiffDatasetsRequest(first="qrels.txt", second="dataset:shop"))
    assert not with_file.diff["qrels"]


def test_the_first_version_has_nothing_to_be_compared_with() -> None:
    import_files()
    with pytest.raises(InputError, match="is the first version"):
        diff_dataset_versions(DiffDatasetsRequest(first="dataset:shop"))
    with pytest.raises(InputError, match="expected a second evaluation set"):
        diff_dataset_versions(DiffDatasetsRequest(first="qrels.txt"))


def test_an_old_version_can_be_exported() -> None:
    first = import_files().version
    import_files(grade=1)
    export_dataset(ExportDatasetRequest(source=f"dataset:{first.label}", target="out"))
    assert read("out", "qrels").digest == first.digests["qrels"]


def test_a_run_is_scored_against_a_version() -> None:
    import_files()
    files = TableFiles(qrels="dataset:shop", runs=["dense.run"])
    (evaluation,) = evaluate(EvaluateRequest(files=files, measures=["R@10"])).evaluations
    assert evaluation.estimates["R@10"].n == 4


def test_an_experiment_knows_the_version_that_it_used() -> None:
    label = import_files().version.label
    evaluate_and_save("nightly")
    shown = show_experiments(ShowExperimentsRequest(names=["nightly"])).to_dict()
    assert shown["dataset"] == label


def test_a_trend_names_the_versions_where_it_breaks() -> None:
    labels = []
    for grade in (2, 1):
        labels.append(import_files(grade).version.label)
        evaluate_and_save("nightly")
    points = follow_trend(TrendRequest(measure="nDCG@10", name="nightly")).to_dict()["points"]
    assert points[1]["mark"] == "break"
    assert points[1]["reasons"][0]["text"] == f"judgments: {labels[0]} and {labels[1]}"


def test_experiments_on_two_versions_are_not_compared_and_the_versions_are_named() -> None:
    for grade, name in ((2, "old"), (1, "new")):
        import_files(grade)
        evaluate_and_save(name)
    with pytest.raises(Exception, match=r"judgments: shop@\w{8} and shop@\w{8}"):
        compare_experiments(CompareExperimentsRequest(baseline="old", candidates=["new"]))


@pytest.mark.parametrize("name", ["", "a@b", "a:b"])
def test_a_name_that_could_not_be_referred_to_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="--name expects a name without @ and :"):
        ImportDatasetRequest(name=name, source="qrels.txt")


def test_reasons_without_versions_keep_their_digests() -> None:
    assert ComparabilityReason("judgments", "a", "b").names == ("", "")


def test_a_version_is_read_from_the_store_that_is_named() -> None:
    Path("qrels.txt").write_text(QRELS)
    import_dataset(ImportDatasetRequest(name="shop", source="qrels.txt", store="elsewhere"))
    files = TableFiles(qrels="dataset:shop", runs=["dense.run"], store="elsewhere")
    assert len(evaluate(EvaluateRequest(files=files, measures=["nDCG@10"])).evaluations) == 1
    with pytest.raises(InputError, match=r"there is no store at \.assay"):
        evaluate(EvaluateRequest(files=TableFiles(qrels="dataset:shop", runs=["dense.run"])))


def test_an_export_is_not_mixed_with_the_tables_of_another_set() -> None:
    import_files()
    import_dataset(ImportDatasetRequest(name="bare", source="qrels.txt"))
    export_dataset(ExportDatasetRequest(source="dataset:shop", target="out"))
    export_dataset(ExportDatasetRequest(source="dataset:shop", target="out"))
    with pytest.raises(InputError, match=r"out/queries.jsonl is there already, and bare@\w+ has no queries"):
        export_dataset(ExportDatasetRequest(source="dataset:bare", target="out"))


def test_a_negative_number_of_rows_is_refused() -> None:
    with pytest.raises(InputError, match="--limit must be 0 or more, found -1"):
        DiffDatasetsRequest(first="a", second="b", limit=-1)
