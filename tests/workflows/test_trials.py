"""The workflows `show_trials` and `import_results`."""

from pathlib import Path

import polars as pl
import pytest

from assay.core.errors import InputError
from assay.workflows.bench import bench
from assay.workflows.trials import ImportResultsRequest, ShowTrialsRequest, import_results, show_trials
from tests.workflows.sweeps import bench_request, prepare_folder


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    prepare_folder(tmp_path, monkeypatch)
    bench(bench_request())
    return tmp_path


def test_stored_answers_are_scored_by_another_k_and_policy() -> None:
    result = show_trials(ShowTrialsRequest(folder="swept", k=1, ties="strict"))
    assert [(trial.k, trial.policy) for trial in result.trials] == [(1, "strict")] * 2
    assert set(result.to_dict()) == {"data", "engines", "sources", "machine", "options", "trials"}


def test_imported_trials_are_returned_and_stored_with_ours() -> None:
    Path("published.csv").write_text("algorithm,config,recall,qps\ngraph,ef_40,0.91,900\n")
    result = import_results(ImportResultsRequest(files=["published.csv"], out="swept"))
    assert [(trial.engine, trial.reported["qps"]) for trial in result.trials] == [("graph", 900.0)]
    assert len(pl.read_parquet("swept/trials.parquet")) == 3


def test_a_folder_without_a_sweep_is_refused() -> None:
    with pytest.raises(InputError, match="nowhere is not the folder of a sweep"):
        show_trials(ShowTrialsRequest(folder="nowhere"))
