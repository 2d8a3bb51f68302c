"""Short lists from engines that refuse to give them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.indexes.reached import reached


@given(st.integers(1, 60), st.integers(1, 60))
def test_the_list_is_as_long_as_what_is_reached_and_no_longer_than_asked(there: int, k: int) -> None:
    def ask(few: int) -> list[int]:
        if few > there:
            raise RuntimeError
        return list(range(few))

    assert reached(ask, k) == list(range(min(there, k)))


def test_what_fails_for_another_reason_is_raised() -> None:
    def ask(few: int) -> list[int]:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        reached(ask, 10)
