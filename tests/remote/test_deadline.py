"""The deadline of the calls of one query."""

import math
import time

import pytest

from assay.remote.deadline import deadline, seconds_left, seconds_until
from assay.remote.errors import RemoteError


def test_without_a_deadline_the_time_is_unlimited() -> None:
    assert math.isinf(seconds_left())
    assert seconds_until(math.inf) is None


def test_the_earliest_deadline_counts_and_ends_with_its_block() -> None:
    soon = time.monotonic() + 10
    with deadline(soon), deadline(soon + 90):
        assert seconds_left() <= 10
    assert math.isinf(seconds_left())


def test_a_moment_that_has_passed_is_a_timeout() -> None:
    with pytest.raises(RemoteError) as caught:
        seconds_until(time.monotonic())
    assert (caught.value.kind, caught.value.is_transient) == ("timeout", True)
