"""Short lists from engines that refuse to give them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.indexes.short_answers import longest_answer


@given(st.integers(1, 60), st.integers(1, 60))
def test_the_list_is_as_long_as_what_is_reached_and_no_longer_than_asked(available: int, k: int) -> None:
    def ask(count: int) -> list[int]:
        if count > available:
            raise RuntimeError
        return list(range(count))

    assert longest_answer(ask, k) == list(range(min(available, k)))


def test_what_fails_for_another_reason_is_raised() -> None:
    def ask(count: int) -> list[int]:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        longest_answer(ask, 10)
