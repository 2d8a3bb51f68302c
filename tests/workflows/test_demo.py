"""The workflow `demo`: without a folder to write to, and without the library that draws charts."""

import os
import sys
from pathlib import Path

import pytest

from assay.bench.studies.findings import collect_findings
from assay.core.errors import InputError
from assay.views.bench_charts import ReportData
from assay.workflows.demo import DemoRequest, demo, write_charts
from assay.workflows.demo_answers import answer_questions
from tests.studies import make_study, trial_with_histogram


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot be made \(File exists\); name another"):
        demo(DemoRequest(folder=str(tmp_path / "file")))


def test_without_altair_there_are_no_charts_and_the_result_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    trials = make_study(trial_with_histogram([1, 0, 9]))
    problem = write_charts(ReportData(trials, collect_findings(trials)), tmp_path)
    assert "needs altair" in problem
    assert os.listdir(tmp_path) == []


def test_without_the_model_the_demo_says_what_it_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_MODELS", str(tmp_path / "models"))
    headline = answer_questions(tmp_path / "demo").headline
    assert headline.startswith("left out: ")
    assert "assay models fetch smollm2-135m" in headline or "pip install 'assay-search[llm]'" in headline
    assert not (tmp_path / "demo").exists()
