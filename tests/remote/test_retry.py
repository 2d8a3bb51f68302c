"""Retries: how often, after which errors, and after which pauses."""

import math

import pytest

from assay.remote import retry
from assay.remote.errors import RemoteError
from assay.remote.retry import RetryPolicy, call_with_retries, without_retries

TRANSIENT = RemoteError("status", "500", is_transient=True)


class Flaky:
    """Raises its errors one after another, then returns 7."""

    def __init__(self, *errors: RemoteError) -> None:
        self.errors, self.calls = list(errors), 0

    def __call__(self) -> int:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return 7


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seconds: list[float] = []
    monkeypatch.setattr(retry, "sleep", seconds.append)
    return seconds


def test_a_transient_failure_is_repeated_with_growing_pauses(pauses: list[float]) -> None:
    call = Flaky(TRANSIENT, TRANSIENT, TRANSIENT)
    assert call_with_retries(call, RetryPolicy(3, backoff=1.0)) == 7
    assert call.calls == 4
    assert all(low <= pause <= 1.5 * low for low, pause in zip((1, 2, 4), pauses, strict=True))


def test_a_final_failure_is_not_repeated(pauses: list[float]) -> None:
    call = Flaky(RemoteError("status", "404"))
    with pytest.raises(RemoteError, match="404"):
        call_with_retries(call, RetryPolicy(3))
    assert (call.calls, pauses) == (1, [])


def test_the_last_error_is_raised_when_no_retry_is_left() -> None:
    call = Flaky(TRANSIENT, RemoteError("timeout", "late", is_transient=True), TRANSIENT)
    with pytest.raises(RemoteError, match="late"):
        call_with_retries(call, RetryPolicy(1))
    assert call.calls == 2


def test_the_server_chooses_the_pause_up_to_a_limit(pauses: list[float]) -> None:
    limited = RemoteError("limited", "429", is_transient=True, retry_after=3.0)
    assert call_with_retries(Flaky(limited), RetryPolicy(1)) == 7
    assert pauses == [3.0]
    too_long = RemoteError("limited", "429", is_transient=True, retry_after=61.0)
    with pytest.raises(RemoteError, match="429"):
        call_with_retries(Flaky(too_long), RetryPolicy(1))


def test_retries_can_be_disabled_by_the_caller() -> None:
    call = Flaky(TRANSIENT)
    with without_retries(), pytest.raises(RemoteError):
        call_with_retries(call, RetryPolicy(5))
    assert call_with_retries(call, RetryPolicy(0)) == 7


def test_pauses_have_a_bound_and_never_overflow() -> None:
    assert RetryPolicy(5, longest=60.0).pause(30, chance=1.0) == 60.0
    assert math.isfinite(RetryPolicy(5).pause(10_000, chance=0.5))
    assert RetryPolicy(5, backoff=2.0, jitter=(0.5, 1.0)).pause(2, chance=0.5) == 3.0
