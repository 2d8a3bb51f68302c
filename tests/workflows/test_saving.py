"""save: recordings put into the store of the request as experiments."""

from dataclasses import replace
from pathlib import Path

import pytest

from assay import Store
from assay.core.errors import InputError
from assay.core.score_order import ScoreOrder
from assay.workflows.evaluate import EvaluateRequest, evaluate
from assay.workflows.recording import Recording, SaveRequest
from assay.workflows.saving import save, save_experiments
from tests.workflows.small_files import write_files


@pytest.fixture
def recordings(tmp_path: Path) -> list[Recording]:
    """The recordings of two runs."""
    files = write_files(tmp_path)
    both = replace(files, runs=[*files.runs, str(tmp_path / "dense.run")])
    return evaluate(EvaluateRequest(files=both, measures=["RR@10"], with_recordings=True)).recordings


def test_what_was_saved_is_returned(tmp_path: Path, recordings: list[Recording]) -> None:
    request = SaveRequest(name="night", store=str(tmp_path / "kept"), tags=["t"], note="why")
    saved = save(request, recordings)
    assert [experiment.name for experiment in saved] == ["night/bm25", "night/dense"]
    with Store(tmp_path / "kept") as store:
        experiment = store.get(saved[1].id)
        scores = store.scores(experiment)
    assert (experiment.name, experiment.tags, experiment.note) == ("night/dense", ("t",), "why")
    assert scores is not None
    assert scores.to_dict()["q1"] == {"RR@10": 1.0}
    assert saved[0].store == str(tmp_path / "kept")


def test_latencies_and_figures_belong_to_one_run(tmp_path: Path, recordings: list[Recording]) -> None:
    (tmp_path / "ms.txt").write_text("".join(f"{i}\n" for i in range(1, 101)))
    (tmp_path / "cost.json").write_text('{"cost": 0.4}')
    request = SaveRequest(
        name="x",
        store=str(tmp_path / "kept"),
        figures=str(tmp_path / "cost.json"),
        latencies=str(tmp_path / "ms.txt"),
    )
    with pytest.raises(InputError, match="are of one run: save each run by itself"):
        save(request, recordings)
    save(request, [replace(recordings[0], label="")])
    with Store(tmp_path / "kept") as store:
        experiment = store.get("x")
    assert (experiment.latency["p50_ms"], experiment.figures) == (50.0, {"cost": 0.4})


def test_the_store_is_that_of_the_project_unless_one_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recordings: list[Recording]
) -> None:
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    (tmp_path / "assay.toml").write_text('[store]\nurl = "kept"\n')
    request = SaveRequest(name="x", project=tmp_path / "assay.toml")
    assert {experiment.store for experiment in save(request, recordings)} == {str(tmp_path / "kept")}


def test_nothing_is_saved_of_nothing(tmp_path: Path) -> None:
    assert save_experiments(str(tmp_path / "kept"), []) == []


def test_a_name_is_required() -> None:
    with pytest.raises(InputError, match="--save expects a name, found none"):
        SaveRequest(name=" ")


def test_the_order_of_the_scores_is_recorded(tmp_path: Path) -> None:
    order = ScoreOrder(lower_is_better=True, single_precision=True)
    request = EvaluateRequest(files=write_files(tmp_path), order=order, with_recordings=True)
    store = str(tmp_path / "store")
    (saved,) = save(SaveRequest(name="far", store=store), evaluate(request).recordings)
    policy = Store(store).get(saved.id).policy
    assert policy["scores"] == "lower is better"
    assert policy["ties"] == "higher score as a 32-bit float, then larger document id"
