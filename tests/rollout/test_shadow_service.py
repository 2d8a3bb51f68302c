"""The wrapper of a Python service: callers receive what the primary returns, whatever the candidate does."""

import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.datasets.ubi import read_events
from assay.rollout.shadow import Shadow, ShadowLimits
from assay.rollout.shadow.report.exchanges import read_traffic
from tests.rollout.mirrors import error, lines, logged, wait_until

PATIENT = ShadowLimits(timeout=60, repeat=0)
HASTY = ShadowLimits(timeout=0.05, repeat=0, concurrency=1, queue=2)


@pytest.fixture
def log(tmp_path: Path) -> str:
    return str(tmp_path / "shadow.jsonl")


def search(query: str, k: int = 2) -> list[str]:
    return [f"{query}-{number}" for number in range(k)]


def reverse(query: str, k: int = 2) -> list[str]:
    return search(query, k)[::-1]


def test_the_caller_receives_the_very_object_that_the_primary_returns(log: str) -> None:
    result = (item for item in ["a", "b"])

    def find(query: str, k: int = 2) -> object:
        return result

    with Shadow(find, reverse, log, idempotent=True, limits=PATIENT) as shadow:
        assert shadow("vpn") is result
    assert list(result) == ["a", "b"]


def test_the_caller_receives_the_error_that_the_primary_raises(log: str) -> None:
    problem = KeyError("q")

    def fail(query: str) -> list[str]:
        raise problem

    with (
        Shadow(fail, reverse, log, idempotent=True, limits=PATIENT) as shadow,
        pytest.raises(KeyError) as caught,
    ):
        shadow("vpn")
    assert caught.value is problem
    assert error(logged(log, "vpn")["primary"]) == "failed"


def test_both_answers_are_logged_as_events_that_the_reader_understands(log: str) -> None:
    limits = ShadowLimits(timeout=60, repeat=1)
    with Shadow(search, reverse, log, idempotent=True, name="ranker", limits=limits) as shadow:
        shadow("vpn", k=2)
    queries = read_events(log).queries
    assert dict(zip(queries["variant"], queries["hit_ids"].to_list(), strict=True)) == {
        "primary": ["vpn-0", "vpn-1"],
        "candidate": ["vpn-1", "vpn-0"],
        "repeat": ["vpn-0", "vpn-1"],
    }
    assert set(queries["experiment_id"]) == {"ranker"}


def test_a_result_that_its_owner_changes_later_is_logged_as_it_was(log: str) -> None:
    may_go_on = Event()

    def wait(query: str) -> list[str]:
        may_go_on.wait()
        return ["x"]

    with Shadow(search, wait, log, idempotent=True, limits=PATIENT) as shadow:
        shadow("vpn").clear()
        may_go_on.set()
    assert logged(log, "vpn")["primary"]["query_response_hit_ids"] == ["vpn-0", "vpn-1"]


JUNK: list[Callable[..., Any]] = [
    lambda query: None,
    lambda query: 7,
    lambda query: "text",
    lambda query: [None],
    lambda query: [{"title": "no id"}],
    lambda query: {"a": "no number"},
    lambda query: iter(["a"]),
]


@pytest.mark.parametrize("number", range(len(JUNK)))
def test_a_candidate_that_returns_something_else_is_malformed(log: str, number: int) -> None:
    with Shadow(search, JUNK[number], log, idempotent=True, limits=PATIENT) as shadow:
        assert shadow("vpn") == ["vpn-0", "vpn-1"]
    assert error(logged(log, "vpn")["candidate"]) == "malformed"


@pytest.mark.parametrize("problem", [ValueError("no"), SystemExit(3), KeyboardInterrupt(), RecursionError()])
def test_a_candidate_that_raises_is_logged(log: str, problem: BaseException) -> None:
    def fail(query: str) -> list[str]:
        raise problem

    with Shadow(search, fail, log, idempotent=True, limits=PATIENT) as shadow:
        assert shadow("vpn") == ["vpn-0", "vpn-1"]
    assert error(logged(log, "vpn")["candidate"]) == "failed"


def test_with_a_candidate_that_hangs_the_primary_answers_and_requests_are_dropped(log: str) -> None:
    begun, end = Event(), Event()

    def hang(query: str) -> list[str]:
        begun.set()
        end.wait()
        return []

    with Shadow(search, hang, log, idempotent=True, limits=HASTY) as shadow:
        assert shadow("first") == ["first-0", "first-1"]
        begun.wait()
        assert [shadow(str(number)) for number in range(5)] == [search(str(number)) for number in range(5)]
        left_out = shadow.counts.to_dict()["left_out"]
    end.set()
    assert left_out == {"queue full": 3}
    errors = {
        row["user_query"]: error(row)
        for row in lines(log)[:-1]
        if row["query_attributes"]["variant"] == "candidate"
    }
    assert errors == {"first": "timeout", "0": "not called", "1": "not called"}


def test_a_hung_call_is_logged_as_a_timeout_while_others_go_on(log: str) -> None:
    end = Event()

    def hang(query: str) -> list[str]:
        return [query] if end.wait() else []

    limits = ShadowLimits(timeout=0.05, repeat=0, concurrency=1, queue=100)
    with Shadow(search, hang, log, idempotent=True, limits=limits) as shadow:

        def is_timeout() -> bool:
            shadow("more")
            return any(error(row) == "timeout" for row in lines(log) if row["user_query"] == "first")

        shadow("first")
        wait_until(is_timeout)
        end.set()
        wait_until(lambda: shadow.counts.to_dict()["late"])


def test_only_calls_that_may_be_repeated_are_mirrored(log: str) -> None:
    seen: list[str] = []

    def buy(query: str) -> list[str]:
        seen.append(query)
        return []

    with Shadow(buy, buy, log, idempotent=lambda query: query != "buy", limits=PATIENT) as shadow:
        shadow("buy")
        shadow("look")
    assert seen == ["buy", "look", "look"]
    assert shadow.counts.to_dict()["left_out"] == {"not idempotent": 1}


@pytest.mark.parametrize("part", ["idempotent", "query", "client_id", "hits"])
def test_a_fault_in_a_function_of_the_settings_does_not_reach_the_caller(log: str, part: str) -> None:
    options: dict[str, Any] = {"idempotent": True, part: lambda *args: 1 / 0}
    with Shadow(search, reverse, log, limits=PATIENT, **options) as shadow:
        assert shadow("vpn") == ["vpn-0", "vpn-1"]


def test_after_the_end_the_primary_still_answers(log: str) -> None:
    shadow = Shadow(search, reverse, log, idempotent=True, limits=PATIENT)
    shadow.close()
    shadow.close()
    assert shadow("vpn") == ["vpn-0", "vpn-1"]
    assert shadow.counts.to_dict()["left_out"] == {"closing": 1}


def test_the_samples_have_the_shares_that_were_asked_for(log: str) -> None:
    limits = ShadowLimits(sample=0.3, repeat=0.5, timeout=60, queue=5000, seed=7)
    with Shadow(search, reverse, log, idempotent=True, limits=limits) as shadow:
        for number in range(2000):
            shadow(str(number))
    traffic = read_traffic([log])
    assert 520 < len(traffic.exchanges) < 680  # 0.3 ± 4 standard errors
    repeated = sum("repeat" in exchange.answers for exchange in traffic.exchanges)
    assert 0.4 < repeated / len(traffic.exchanges) < 0.6


ACTS = st.lists(st.sampled_from(["answer", "fail", "junk", "sleep"]), min_size=1, max_size=12)


@given(ACTS, st.integers(1, 3), st.integers(1, 4))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_call_is_accounted_for(tmp_path: Path, acts: list[str], concurrency: int, waiting: int) -> None:
    def act(number: int) -> Any:
        if acts[number] == "fail":
            raise ValueError(number)
        if acts[number] == "sleep":
            time.sleep(0.002)
        return {} if acts[number] == "junk" else ["a"]

    path = tmp_path / f"{time.monotonic_ns()}.jsonl"
    limits = ShadowLimits(timeout=60, concurrency=concurrency, queue=waiting)
    with Shadow(lambda number: [number], act, str(path), idempotent=True, limits=limits) as shadow:
        assert [shadow(number) for number in range(len(acts))] == [[number] for number in range(len(acts))]
    counts = shadow.counts.to_dict()
    left_out = counts["left_out"]
    assert isinstance(left_out, dict)
    assert counts["requests"] == len(acts) == counts["mirrored"] + sum(left_out.values())  # type: ignore[operator]
    assert counts["logged"] == counts["mirrored"] == len(read_or_none(path))


def read_or_none(path: Path) -> list[Any]:
    """The exchanges of a log that may have none."""
    return [row for row in lines(path) if row.get("query_attributes", {}).get("variant") == "primary"]


def test_limits_that_cannot_work_are_refused() -> None:
    wrong: list[dict[str, Any]] = [
        {"sample": 1.5},
        {"repeat": -1},
        {"timeout": 0},
        {"queue": 0},
        {"concurrency": 0},
    ]
    for change in wrong:
        with pytest.raises(ValueError, match=f"{next(iter(change))}: expected"):
            ShadowLimits(**change)
