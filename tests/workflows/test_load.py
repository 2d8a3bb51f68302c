"""load_system: one system under load, within the allowed rate and time."""

from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.workflows import load as loading
from assay.workflows.load import LoadRequest, load_system
from tests.projects import MINE, project

TWO = MINE + '[systems.bm25]\nkind = "bm25"\n'


def test_an_open_loop_sends_at_its_rate(tmp_path: Path) -> None:
    request = LoadRequest(project=project(tmp_path), rate=50, seconds=0.4, slo=60_000)
    result = load_system(request)
    assert (result.system, result.load.requests, result.exit_code) == ("mine", 20, 0)
    plain = result.to_dict()
    assert (plain["mode"], plain["held_back"], plain["slo"]["value"]) == ("open", False, 1.0)


def test_a_closed_loop_has_its_clients(tmp_path: Path) -> None:
    request = LoadRequest(project=project(tmp_path), clients=2, seconds=0.2)
    result = load_system(request)
    assert (result.load.clients, result.to_dict()["mode"]) == (2, "closed")
    assert "slo" not in result.to_dict()


class FakeLoad:
    """A load with so many requests in one second."""

    def __init__(self, requests: int, rate: float | None) -> None:
        self.requests, self.rate, self.errors = requests, rate, {"timeout": 1}
        self.timing = self.answered_latency = self
        self.seconds, self.n = 1.0, requests


@pytest.mark.parametrize(("requests", "is_rate_capped"), [(96, True), (90, False), (0, False)])
def test_a_closed_loop_near_the_highest_rate_is_capped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requests: int, is_rate_capped: bool
) -> None:
    def measure(*arguments: Any, **options: Any) -> FakeLoad:
        return FakeLoad(requests, None)

    monkeypatch.setattr(loading, "measure_closed_loop", measure)
    result = load_system(LoadRequest(project=project(tmp_path), clients=1, max_rate=100))
    assert (result.is_rate_capped, result.exit_code) == (is_rate_capped, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clients": 0}, "--clients: expected at least 1, found 0"),
        ({"rate": 5, "slo": 0}, "--slo: expected milliseconds above 0"),
        ({"rate": 5}, "a load is for one system: name one of mine, bm25"),
        ({"rate": 500, "systems": ["mine"]}, "rate: expected more than 0 and at most the cap of 100"),
        ({"rate": 5, "seconds": 99, "systems": ["mine"]}, "seconds: expected more than 0 and at most"),
    ],
)
def test_wrong_use_is_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    path = project(tmp_path, TWO)
    with pytest.raises(InputError, match=message):
        load_system(LoadRequest(project=path, **options))
