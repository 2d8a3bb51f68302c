"""Random numbers of requests: reproducible, and spread evenly."""

from collections import Counter

import pytest

from assay.online.interleaving.draws import RequestDraws


def test_numbers_are_the_same_in_every_process_and_on_every_machine() -> None:
    draws = RequestDraws("exp-1", "vpn", "u7")
    assert [draws.number() for _ in range(9)][::4] == [
        0.3093268179034182,
        0.6688020519466246,
        0.7270663865596799,
    ]


def test_keys_with_the_same_letters_differ() -> None:
    assert RequestDraws("ab", "c").number() != RequestDraws("a", "bc").number()


def test_positions_and_orders_are_equally_frequent() -> None:
    draws = [RequestDraws("salt", str(n)) for n in range(6_000)]
    positions = Counter(draw.position(3) for draw in draws)
    orders = Counter(tuple(draw.shuffle("abc")) for draw in draws)
    assert max(positions.values()) < 2_000 + 5 * 37  # 5 standard deviations
    assert len(orders) == 6
    assert max(orders.values()) < 1_000 + 5 * 29


def test_choices_follow_the_weights_and_never_take_a_weight_of_zero() -> None:
    chosen = Counter(RequestDraws(str(n)).choose([0.0, 3.0, 1.0, 0.0]) for n in range(4_000))
    assert {*chosen} == {1, 2}
    assert chosen[1] == pytest.approx(3_000, abs=5 * 27)
