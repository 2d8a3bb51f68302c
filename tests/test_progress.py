"""Progress is shown to a person who waits, and to nobody else."""

import sys

import pytest

from assay.cli import progress
from assay.cli.inputs import watched
from assay.core.tables import Run
from assay.evaluation import evaluate

RUN = Run({"q1": ["a", "b"], "q2": ["c"]}, name="mine")


def test_a_run_that_takes_long_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    assert sum(len(block) for block in progress.Watched(RUN).blocks()) == 3
    shown = capsys.readouterr().err
    assert "mine: 3 rows" in shown
    assert shown.endswith("\r\033[K")


def test_a_run_that_is_quick_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 3600.0)
    list(progress.Watched(RUN).blocks())
    assert capsys.readouterr().err == ""


def test_a_watched_run_scores_the_same() -> None:
    qrels = {"q1": {"b": 1}, "q2": {"c": 1}}
    assert evaluate(qrels, progress.Watched(RUN)).to_dict(True) == evaluate(qrels, RUN).to_dict(True)


def test_nobody_is_told_where_standard_error_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watched([RUN]) == [RUN]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert isinstance(watched([RUN])[0], progress.Watched)
