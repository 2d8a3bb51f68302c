"""run_systems: systems run, each scored once, and compared from these scores."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AssayError, InputError
from assay.datasets import read
from assay.evaluation import evaluate
from assay.evaluation.compare import compare
from assay.search.run_queries import RunProgress, Watch
from assay.store.store import Store
from assay.views.compare import comparisons_dict
from assay.workflows.recording import SaveRequest
from assay.workflows.run import RunRequest, run_systems
from assay.workflows.saving import save
from assay.workflows.stored_losses import read_losses
from assay.workflows.systems import OptionOverrides
from tests.projects import MINE, QUERIES, project, sent_queries

TWO = MINE + '[systems.bm25]\nkind = "bm25"\n'
GONE = '[models.e]\nkind = "openai"\nmodel = "x"\nbase_url = "http://127.0.0.1:1/v1"\nretries = 0\n'
DENSE = '[systems.dense]\nkind = "index"\nencoder = "e"\n'
NONE = MINE.replace("systems.mine", "systems.none").replace(":search", ":none")


def test_each_system_is_scored_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[str] = []

    def record(qrels: Any, run: Any, *arguments: Any, **options: Any) -> Any:
        runs.append(run.name)
        return evaluate(qrels, run, *arguments, **options)

    monkeypatch.setattr("assay.workflows.system_run.evaluate", record)
    monkeypatch.setattr("assay.evaluation.compare.evaluate", record)
    result = run_systems(RunRequest(project=project(tmp_path, TWO), measures=["R@10"]))
    assert result.comparisons is not None
    assert runs == ["mine", "bm25"]


def test_the_comparison_is_that_of_the_runs(tmp_path: Path) -> None:
    request = RunRequest(project=project(tmp_path, TWO), measures=["R@10"], by=["kind"])
    result = run_systems(request)
    assert result.comparisons is not None
    qrels, queries = (
        read(tmp_path / "qrels.txt", "qrels"),
        read(tmp_path / "queries.jsonl", "queries"),
    )
    runs = [read(tmp_path / f"runs/{name}.run", "run") for name in ("mine", "bm25")]
    expected = compare(qrels, runs[0], runs[1:], ["R@10"], queries, ["kind"])
    assert comparisons_dict(result.comparisons) == comparisons_dict(expected)
    assert result.comparisons.overlaps["bm25"] == expected.overlaps["bm25"]


def test_the_result_is_the_json_of_the_command(tmp_path: Path) -> None:
    request = RunRequest(project=project(tmp_path, TWO), measures=["R@10"], by=["kind"], slo=60_000)
    result = run_systems(request)
    plain = result.to_dict()
    assert (list(plain), result.exit_code) == (["systems", "comparison"], 0)
    assert plain["systems"][0]["slo"]["value"] == 1.0
    assert list(plain["systems"][0]["losses"]["slices"]) == ["kind: how", "kind: what"]


def test_options_of_the_request_replace_those_of_the_project(tmp_path: Path) -> None:
    path = project(tmp_path, "[run]\nk = 5\nconcurrency = 1\n" + MINE)
    options = OptionOverrides(k=1)
    (system,) = run_systems(RunRequest(project=path, options=options)).systems
    assert max(len(answer.documents) for answer in system.results.answers.values()) == 1
    assert system.results.sessions[0].concurrency == 1
    restart = RunRequest(project=path, options=replace(options, restart=True))
    run_systems(restart)
    assert len(sent_queries(tmp_path)) == 12


def test_a_system_that_cannot_be_run_is_reported_and_left_out(tmp_path: Path) -> None:
    path, reported = project(tmp_path, TWO + GONE + DENSE), list[tuple[str, AssayError]]()
    result = run_systems(
        RunRequest(project=path, systems=["dense", "mine", "bm25"]),
        report=lambda name, error: reported.append((name, error)),
    )
    assert [name for name, _ in reported] == ["dense"]
    assert (list(result.errors), result.exit_code) == (["dense"], 1)
    assert [system.name for system in result.systems] == ["mine", "bm25"]
    assert (result.comparisons, result.is_without_baseline) == (None, True)
    assert list(result.to_dict()["lost"]) == ["dense"]


def test_if_no_system_can_be_run_the_exit_code_is_that_of_the_error(tmp_path: Path) -> None:
    result = run_systems(RunRequest(project=project(tmp_path, GONE + DENSE)))
    assert (result.systems, result.exit_code) == ([], result.errors["dense"].exit_code)


def test_wrong_use_ends_the_run(tmp_path: Path) -> None:
    path = project(tmp_path, MINE)
    with pytest.raises(InputError, match="shown: expected 1 to 100"):
        run_systems(RunRequest(project=path, shown=0))
    with pytest.raises(InputError, match="--slo: expected milliseconds above 0, found -1"):
        RunRequest(project=path, slo=-1)


def test_systems_with_scores_are_prepared_for_saving(tmp_path: Path) -> None:
    result = run_systems(RunRequest(project=project(tmp_path, TWO + NONE), measures=["R@10"]))
    assert (result.unscored, [r.label for r in result.recordings]) == (["none"], ["mine", "bm25"])
    assert (result.recordings[0].kind, result.recordings[0].figures["failed"]) == ("run", 0)
    (alone,) = run_systems(RunRequest(project=tmp_path / "assay.toml", systems=["mine"])).recordings
    assert alone.label == ""


def test_losses_by_stage_are_saved_and_read_back(tmp_path: Path) -> None:
    result = run_systems(RunRequest(project=project(tmp_path, MINE)))
    (saved,) = save(SaveRequest(name="mine", store=str(tmp_path / "store")), result.recordings)
    with Store(str(tmp_path / "store")) as store:
        losses = read_losses(store, store.get(saved.id))
    expected = result.systems[0].losses
    assert losses is not None
    assert expected is not None
    assert losses.to_dict() == {**expected.to_dict(), "steps": []}


def test_the_progress_of_each_system_is_reported(tmp_path: Path) -> None:
    done: dict[str, int] = {}

    def watch(name: str) -> AbstractContextManager[Watch]:
        def report(progress: RunProgress) -> None:
            done[name] = progress.done

        return nullcontext(report)

    run_systems(RunRequest(project=project(tmp_path, TWO)), watch)
    assert done == {"mine": 6, "bm25": 6}


def test_results_are_next_to_the_project_unless_another_folder_is_given(tmp_path: Path) -> None:
    path = project(tmp_path)
    assert run_systems(RunRequest(project=path)).folder == tmp_path / "runs"
    other = run_systems(RunRequest(project=path, out=tmp_path / "other"))
    assert (other.folder / "mine.run").read_text() == (tmp_path / "runs/mine.run").read_text()


def test_a_run_that_returns_no_document_cannot_be_scored(tmp_path: Path) -> None:
    result = run_systems(RunRequest(project=project(tmp_path, NONE), measures=["R@10"]))
    assert (result.exit_code, result.evaluations) == (3, [])


def test_documents_that_are_returned_again_are_counted(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text("def search(text): return ['d1', 'd2', 'd1']\n")
    system = '[systems.twice]\nkind = "callable"\nfunction = "twice:search"\n'
    result = run_systems(RunRequest(project=project(tmp_path, system), measures=["R@10"]))
    assert result.to_dict()["systems"][0]["repeated"] == len(QUERIES)
