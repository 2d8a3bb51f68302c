"""Progress is reported to a person at a terminal, and to nobody else."""

import sys

import pytest

from assay.cli import progress
from assay.core.tables import Run
from assay.evaluation import evaluate

RUN = Run({"q1": ["a", "b"], "q2": ["c"]}, name="mine")


def test_a_run_that_takes_long_reports_its_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_FIRST_REPORT_SECONDS", -1.0)
    assert sum(len(block) for block in progress.WatchedRun(RUN).blocks()) == 3
    report = capsys.readouterr().err
    assert "mine: 3 rows" in report
    assert report.endswith("\r\033[K")


def test_a_quick_run_reports_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_FIRST_REPORT_SECONDS", 3600.0)
    list(progress.WatchedRun(RUN).blocks())
    assert capsys.readouterr().err == ""


def test_a_watched_run_scores_the_same() -> None:
    qrels = {"q1": {"b": 1}, "q2": {"c": 1}}
    assert evaluate(qrels, progress.WatchedRun(RUN)).to_dict(True) == evaluate(qrels, RUN).to_dict(True)


def test_nothing_is_reported_if_standard_error_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress.watch_run(RUN) is RUN
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert isinstance(progress.watch_run(RUN), progress.WatchedRun)
