"""decide_gate: the rules of a project checked for its candidate, each value computed once."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AssayError
from assay.core.groups import RunBlocks
from assay.evaluation import compare as comparing
from assay.evaluation import gate as gating
from assay.evaluation.gate import GateVerdict
from assay.views.gate import verdict_dict
from assay.workflows import project as projects
from assay.workflows.gate import GateRequest, decide_gate
from tests.workflows.gate_project import BUDGETS, FLOOR, MARGIN, N, write_project, write_runs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_runs(tmp_path)


def decide(path: Path, candidate: str | None = None, baseline: str | None = None) -> GateVerdict:
    return decide_gate(GateRequest(project=path, candidate=candidate, baseline=baseline)).verdict


def test_paths_are_relative_to_the_folder_of_the_project(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    verdict = decide(write_project(folder))
    assert (verdict.status, verdict.n, list(verdict.counts)) == ("passed", N, ["new"])


def test_runs_of_the_request_replace_those_of_the_project(folder: Path) -> None:
    path = write_project(folder, MARGIN, baseline='run = "old.run"')
    assert decide(path).status == "passed"
    swapped = decide(path, candidate=str(folder / "old.run"), baseline=str(folder / "new.run"))
    assert (swapped.status, list(swapped.counts)) == ("failed", ["new", "old"])


def test_slices_formats_and_columns_are_those_of_the_project(folder: Path) -> None:
    rows = "".join(f"q{i},{'ab'[i % 2]}\n" for i in range(N))
    (folder / "queries.csv").write_text("who,team\n" + rows)
    data = 'queries = "queries.csv"\ncolumns = ["queries:query_id=who"]\nfrom = ["run=trec"]'
    verdict = decide(write_project(folder, FLOOR + 'by = "team"\n', data))
    assert [check.slice for check in verdict.checks] == ["all", "team: a", "team: b"]


def test_latencies_and_figures_are_read_with_the_run(folder: Path) -> None:
    (folder / "ms.csv").write_text("query_id,latency_ms\n" + "q,120.5\n" * 200)
    (folder / "figures.json").write_text('{"cost": 0.8}')
    path = write_project(folder, BUDGETS, candidate='latencies = "ms.csv"\nfigures = "figures.json"')
    verdict = decide(path)
    assert [(check.status, check.value.value) for check in verdict.checks] == [
        ("passed", 120.5),
        ("passed", 0.8),
    ]


def test_differences_of_the_configurations_are_part_of_the_verdict(folder: Path) -> None:
    (folder / "old.toml").write_text('model = "small"\nk = 10\n')
    (folder / "new.json").write_text('{"model": "large", "k": 10}')
    path = write_project(folder, MARGIN, "", 'config = "new.json"', 'run = "old.run"\nconfig = "old.toml"')
    comparisons = decide(path).comparisons
    assert comparisons is not None
    assert comparisons.configuration == {"model": {"old": "small", "new": "large"}}


def test_a_bad_file_of_latencies_is_bad_input_of_the_gate(folder: Path) -> None:
    (folder / "ms.csv").write_text("latency_ms\nfast\n")
    (folder / "figures.json").write_text(json.dumps({"cost": 1}))
    path = write_project(folder, BUDGETS, candidate='latencies = "ms.csv"\nfigures = "figures.json"')
    with pytest.raises(AssayError) as caught:
        decide(path)
    assert caught.value.exit_code == 2


def count_calls(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[tuple[Any, ...]]:
    """Let a function of a module record the arguments of its calls."""
    calls: list[tuple[Any, ...]] = []
    function = getattr(module, name)

    def record(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        return function(*arguments, **options)

    monkeypatch.setattr(module, name, record)
    return calls


def test_each_run_is_scored_once_and_no_overlap_is_computed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_project(folder, MARGIN, baseline='run = "old.run"')
    evaluations = count_calls(monkeypatch, gating, "evaluate")
    overlaps = count_calls(monkeypatch, comparing, "measure_overlap")
    verdict = decide(path)
    assert verdict.comparisons is not None
    assert (len(evaluations), len(overlaps), verdict.comparisons.overlaps) == (2, 0, {})


def test_missing_inputs_are_looked_for_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_project(folder, MARGIN, baseline='run = "old.run"')
    calls = [count_calls(monkeypatch, module, "missing_inputs") for module in (projects, gating)]
    decide(path)
    assert [len(of_module) for of_module in calls] == [1, 0]


def test_the_result_is_the_json_of_the_command_and_its_exit_code(folder: Path) -> None:
    result = decide_gate(GateRequest(project=write_project(folder)))
    assert result.to_dict() == verdict_dict(result.verdict)
    assert (result.to_dict()["status"], result.exit_code, result.recordings) == ("passed", 0, [])


def test_a_candidate_is_prepared_for_saving_with_what_belongs_to_its_run(folder: Path) -> None:
    (folder / "ms.txt").write_text("5\n" * 50)
    (folder / "new.toml").write_text("k = 10\n")
    more = 'latencies = "ms.txt"\nconfig = "new.toml"\nfigures = { cost = 0.5 }'
    path = write_project(folder, candidate=more)
    (recording,) = decide_gate(GateRequest(project=path, with_recordings=True)).recordings
    assert (recording.kind, recording.label, recording.figures) == ("gate", "", {"cost": 0.5})
    assert (recording.configuration, recording.latency["p50_ms"]) == ({"k": 10}, 5.0)
    assert recording.run is not None
    other = GateRequest(project=path, candidate=str(folder / "old.run"), with_recordings=True)
    (recording,) = decide_gate(other).recordings
    assert (recording.configuration, recording.latency, recording.figures) == ({}, {}, {})


def test_every_run_passes_through_the_callback(folder: Path) -> None:
    names: list[str] = []

    def watch(run: RunBlocks) -> RunBlocks:
        names.append(run.name)
        return run

    decide_gate(GateRequest(project=write_project(folder, MARGIN, baseline='run = "old.run"')), watch)
    assert names == ["old", "new"]
