"""Samples of queries: probabilities are what they say, and weights undo them."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.tables import Queries
from assay.judging.sampling import (
    Draw,
    allocate,
    build_frame,
    describe_strata,
    draw_proportional,
    draw_strata,
    inclusion_probabilities,
    select_below,
)

SIZES = np.array([50.0, 9.0, 4.0, 3.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0])
LABELS = ["head", "head", "torso", "torso", "torso", "tail", "tail", "tail", "tail", "tail"]
DRAWS: list[Callable[[np.random.Generator], Draw]] = [
    lambda rng: draw_proportional(SIZES, 4, rng),
    lambda rng: draw_strata(LABELS, 5, rng),
    lambda rng: draw_strata(LABELS, 5, rng, "proportional"),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_rows_are_drawn_as_often_as_their_probability_says(draw: Callable[..., Draw]) -> None:
    rng, trials = np.random.default_rng(1), 1500
    counts, stated = np.zeros(10), np.zeros(10)
    for _ in range(trials):
        one = draw(rng)
        counts[one.rows] += 1
        stated[one.rows] = one.probabilities
    assert np.abs(counts / trials - stated).max() < 4 * 0.5 / np.sqrt(trials)


@pytest.mark.parametrize("draw", DRAWS)
def test_totals_weighted_by_probability_are_unbiased(draw: Callable[..., Draw]) -> None:
    values, rng = np.arange(10.0), np.random.default_rng(2)
    draws = [draw(rng) for _ in range(1500)]
    totals = [float((values[one.rows] / one.probabilities).sum()) for one in draws]
    assert np.mean(totals) == pytest.approx(values.sum(), abs=4 * np.std(totals) / np.sqrt(len(totals)))


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=40), st.data())
def test_probabilities_by_size_add_up_and_never_exceed_one(sizes: list[int], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, len(sizes)))
    chances = inclusion_probabilities(np.array(sizes, np.float64), n)
    assert chances.sum() == pytest.approx(n)
    assert (chances <= 1).all()
    assert (chances > 0).all()
    rows = draw_proportional(np.array(sizes, np.float64), n, np.random.default_rng(0)).rows
    assert len(set(rows.tolist())) == n


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=9),
    st.sampled_from(["equal", "proportional"]),
    st.data(),
)
def test_an_allocation_adds_up_within_the_sizes(
    sizes: list[int], allocation: str, data: st.DataObject
) -> None:
    n = data.draw(st.integers(1, sum(sizes)))
    counts = allocate(n, np.array(sizes), allocation)
    assert counts.sum() == n
    assert (counts <= np.array(sizes)).all()
    assert (counts >= 0).all()
    assert n < len(sizes) or (counts >= 1).all()


def test_a_seed_draws_the_same_rows() -> None:
    first, again, other = (draw_strata(LABELS, 5, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert first.rows.tolist() == again.rows.tolist() != other.rows.tolist()


def test_the_most_frequent_query_stands_for_its_family() -> None:
    queries = Queries({"query_id": ["a", "b", "c"], "text": ["vpn", "dns", "VPN"]})
    frame = build_frame(queries, np.array([1.0, 5.0, 9.0]), np.array([0, 1, 0]))
    assert (frame.queries.ids, frame.frequencies.tolist(), frame.sizes.tolist()) == (
        ["b", "c"],
        [5, 10],
        [1, 2],
    )


def test_strata_have_counts_traffic_and_probabilities() -> None:
    torso = next(s for s in describe_strata(LABELS, SIZES, {2: 0.5, 3: 0.5}) if s.name == "torso")
    assert (torso.families, torso.sample_size, torso.lowest, torso.highest) == (3, 2, 0.5, 0.5)
    assert torso.traffic == pytest.approx(9 / SIZES.sum())


def test_hard_queries_are_the_lower_quartile_unless_a_limit_is_given() -> None:
    scores = [0.0, 0.1, 0.2, 0.3, None]
    assert select_below(scores, None)[0].tolist() == [0]
    assert select_below(scores, 0.2)[0].tolist() == [0, 1, 2]


def test_what_cannot_be_drawn_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="-n must be from 1 to 10"):
        draw_strata(LABELS, 11, rng)
    with pytest.raises(InputError, match="frequency above 0"):
        draw_proportional(np.array([1.0, 0.0]), 1, rng)
    with pytest.raises(InputError, match="same query ids"):
        select_below([None], None)
