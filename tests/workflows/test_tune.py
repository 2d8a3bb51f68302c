"""The workflow `tune`."""

from pathlib import Path

import pytest

from assay.bench.tuning.tuner import Tuner, TuningAttempt
from assay.core.errors import ConfigurationError
from assay.workflows.tune import TuneRequest, tune
from tests.workflows.sweeps import prepare_folder

pytest.importorskip("optuna")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    prepare_folder(tmp_path, monkeypatch)
    return tmp_path


def tune_request(**options: object) -> TuneRequest:
    fields: dict[str, object] = {
        "base": "base.fbin",
        "queries": "queries.fbin",
        "metric": "l2",
        "k": 5,
        "indexes": ["misbehaving seed=1..9 / rows=100..1500"],
        "repetitions": 1,
        "warmup": 0,
        "floors": ["recall=0.9"],
        "budget": 1,
        "out": "tuned",
    }
    return TuneRequest(**(fields | options))  # type: ignore[arg-type]


def test_the_best_attempt_is_returned_and_every_attempt_is_reported() -> None:
    attempts = []

    def watch(tuner: Tuner, number: int, attempt: TuningAttempt) -> None:
        attempts.append((number, attempt.state))

    result = tune(tune_request(), watch=watch)
    assert attempts == [(1, "met")]
    assert (result.exit_code, result.has_answers) == (0, True)
    assert result.to_dict()["tuning"]["counts"] == {"met": 1, "missed": 0, "skipped": 0, "failed": 0}
    assert tune(tune_request()).tuning.new_attempts == 0


def test_a_cost_without_a_price_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"tune\.price: expected the price of an hour"):
        tune(tune_request(objective="cost"))
