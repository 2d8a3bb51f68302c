"""The workflow `report_trials`: findings, and the commands that measure the same again."""

import shlex
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.workflows.bench import bench
from assay.workflows.bench_report import ReportTrialsRequest, report_trials
from tests.workflows.sweeps import bench_request, prepare_folder


def test_a_report_has_findings_and_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_folder(tmp_path, monkeypatch)
    bench(bench_request())
    report = report_trials(ReportTrialsRequest(trials="swept", delta=0.5))
    assert [finding.label for finding in report.findings.trials] == [
        f"misbehaving / rows={rows}" for rows in (200, 1500)
    ]
    measuring, reporting = report.commands
    assert "misbehaving / rows=200,1500" in shlex.split(measuring)
    assert shlex.split(reporting)[:6] == ["assay", "bench", "report", "swept", "--recall", "0.9"]
    assert report.to_dict()["reproduce"] == [measuring, reporting]
    assert report.to_dict()["delta"] == 0.5


@pytest.mark.parametrize("name", ["recall", "delta", "at_most"])
def test_a_recall_above_1_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"--{name.replace('_', '-')}: expected a recall"):
        ReportTrialsRequest(trials="swept", **{name: 1.5})  # type: ignore[arg-type]
