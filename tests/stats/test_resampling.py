"""Signs flipped and queries drawn again: against scipy, and what they promise of seeds and memory."""

import math
import tracemalloc
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.core.arrays import Floats
from assay.stats import resampling
from assay.stats.resampling import draw_samples, randomisation, resample_summary, resampled_means
from tests.reference_measures import quick

STEPS = (-1.0, -0.5, -0.1, 0.0, 0.1, 0.5, 1.0)
RESAMPLES = 20_000


def changes(n: int, m: int = 3, seed: int = 0, shift: float = 0.05) -> Floats:
    """Differences in steps of a tenth, half of them 0."""
    rng = np.random.default_rng(seed)
    result: Floats = np.round(rng.normal(shift, 0.3, (n, m)), 1) * (rng.random((n, m)) < 0.5)
    return result


def scipys(column: Floats, resamples: float, seed: int = 0) -> float:
    """p of scipy's randomisation test of paired differences."""
    result = stats.permutation_test(
        (column, np.zeros(len(column))),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=1000,
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def chance(p: float, *counts: int) -> float:
    """Four standard errors of the difference of shares that were counted in so many draws."""
    return 4 * math.sqrt(sum(p * (1 - p) / count for count in counts)) + 2 / min(counts)


def scipys_chance(p: float, ours: int, theirs: int) -> float:
    """The same, where scipy's p is twice the smaller of two shares, with twice the chance in it."""
    return 4 * math.sqrt(p * (1 - p) / ours + p * (2 - p) / theirs) + 2 / theirs


def peak(work: Callable[[], object]) -> float:
    """The most memory that some work held at a time, in MB."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("n", "shift"), [(30, 0.1), (200, 0.0), (200, 0.04), (1000, 0.02)])
def test_randomisation_is_scipys_but_for_chance(n: int, shift: float) -> None:
    differences = changes(n, 2, seed=n, shift=shift)
    ours = randomisation(differences, RESAMPLES)
    for p, column in zip(ours, differences.T, strict=True):
        assert p == pytest.approx(scipys(column, 4000), abs=scipys_chance(p, RESAMPLES, 4000))


@pytest.mark.parametrize("n", [2, 3, 6, 10, 13])
def test_randomisation_of_few_queries_is_scipys_exact_one(n: int) -> None:
    differences = changes(n, 3, seed=n, shift=0.2)
    expected = [scipys(column, math.inf) for column in differences.T]
    assert randomisation(differences, 2**n).tolist() == pytest.approx(expected, rel=1e-12)


@quick
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=8))
def test_the_exact_p_is_the_share_of_sign_patterns_that_reach_as_far(values: list[float]) -> None:
    tenths = [round(10 * value) for value in values]
    sums = [abs(sum(map(math.prod, zip(signs, tenths, strict=True)))) for signs in flips(len(tenths))]
    expected = sum(result >= abs(sum(tenths)) for result in sums) / len(sums)
    assert randomisation(np.array(values)[:, None])[0] == pytest.approx(expected, rel=1e-12)


def flips(n: int) -> list[tuple[int, ...]]:
    return list(product((1, -1), repeat=n))


def test_a_pattern_less_than_all_is_no_longer_exact() -> None:
    differences = changes(10, 1, seed=5, shift=0.2)
    exact, drawn_ones = randomisation(differences, 1024), randomisation(differences, 1023)
    assert exact != drawn_ones
    assert exact[0] == pytest.approx(drawn_ones[0], abs=chance(exact[0], 1023))
    assert (drawn_ones[0] * 1024).is_integer()


def test_randomisation_never_gives_less_than_one_in_all_that_were_tried() -> None:
    assert randomisation(np.full((100, 1), 0.3), 999)[0] == 1 / 1000
    assert randomisation(np.full((20, 1), 0.3), 1 << 20)[0] == 2.0**-19


def test_sums_that_are_equal_but_for_their_last_digits_count_as_equal() -> None:
    differences = np.array([0.1, 0.2, 0.3, -0.6, 0.7, 0.4, -0.5])
    hundredths = np.array([10, 20, 30, -60, 70, 40, -50])
    sums = [abs(int((np.array(signs) * hundredths).sum())) for signs in flips(7)]
    expected = np.mean(np.array(sums) >= 60)
    assert randomisation(differences[:, None])[0] == expected


@pytest.mark.parametrize("made", [randomisation, resampled_means])
def test_the_same_seed_gives_the_same_digits(made: Callable[[Floats, int, int], Floats]) -> None:
    differences = changes(80)
    assert np.array_equal(made(differences, 3000, 7), made(differences.copy(), 3000, 7))
    assert not np.array_equal(made(differences, 3000, 7), made(differences, 3000, 8))


def test_the_digits_of_a_seed_never_change() -> None:
    differences = np.array([0.4, -0.1, 0.3, 0.0, 0.2, 0.2, -0.3, 0.1, 0.5, 0.1, 0.1, -0.2] * 2)[:, None]
    assert randomisation(differences, 1000, 0)[0] == 33 / 1001
    assert randomisation(differences, 1000, 1)[0] == 35 / 1001


def splitmix(number: int, seed: int) -> int:
    """Word `number` of a seed's stream, in Python's own whole numbers (Steele, Lea and Flood 2014)."""
    word = (number + (seed + 1) * 0xD1342543DE82EF95) * 0x9E3779B97F4A7C15 % 2**64
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
    return word ^ (word >> 31)


@pytest.mark.parametrize("seed", [0, 1, 12345678901234567890])
def test_what_is_drawn_and_flipped_comes_from_splitmix(seed: int) -> None:
    expected = [(splitmix(word, seed) >> 32) * 9 >> 32 for word in range(18, 36)]
    assert draw_samples(2, 4, 9, seed).ravel().tolist() == expected
    words = [splitmix(word, seed).to_bytes(8, "little") for word in (2, 3)]
    bits = "".join(f"{byte:08b}" for byte in b"".join(words))[:70]
    assert resampling._coins(1, 2, 70, seed)[0].tolist() == [float(bit) for bit in bits]


@pytest.mark.parametrize("made", [randomisation, resampled_means])
def test_a_column_does_not_care_for_the_others(made: Callable[[Floats, int, int], Floats]) -> None:
    differences = changes(90, 7)
    whole = made(differences, 2500, 3)
    order = [4, 0, 6, 2, 1, 5, 3]
    assert made(differences[:, order], 2500, 3) == pytest.approx(whole[..., order], rel=1e-12)
    for column in range(7):
        alone = made(differences[:, [column]], 2500, 3)
        assert alone == pytest.approx(whole[..., [column]], rel=1e-12)


def test_the_pieces_that_are_worked_on_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = changes(70)
    whole = randomisation(differences, 1500), resampled_means(differences, 1500, 0)
    for block, piece in ((1, 1), (70, 500), (1000, 1000), (1 << 30, 1), (1 << 18, 1 << 30)):
        monkeypatch.setattr(resampling, "_BLOCK", block)
        monkeypatch.setattr(resampling, "_PIECE", piece)
        assert np.array_equal(randomisation(differences, 1500), whole[0])
        assert resampled_means(differences, 1500, 0) == pytest.approx(whole[1], rel=1e-12)


def test_a_query_without_a_value_flips_nothing() -> None:
    differences = changes(9, 2, shift=0.3)
    holes = np.insert(differences, [0, 3, 9], np.nan, axis=0)
    assert randomisation(holes) == pytest.approx(randomisation(differences), rel=1e-12)


@pytest.mark.parametrize("n", [63, 64, 65, 129])  # a word has 64
def test_coins_are_fair_and_fall_apart_from_each_other(n: int) -> None:
    coins = resampling._coins(0, 20_000, n, 0)
    assert set(np.unique(coins)) == {0.0, 1.0}
    assert np.abs(coins.mean(axis=0) - 0.5).max() < 4.5 * 0.5 / math.sqrt(20_000)
    correlations = np.asarray(np.corrcoef(coins.T))[np.triu_indices(n, 1)]
    assert np.abs(correlations).max() < 5 / math.sqrt(20_000)
    assert len(np.unique(coins, axis=0)) == 20_000


def test_memory_does_not_grow_with_queries_times_permutations() -> None:
    """All signs at once would be 320 MB, all draws as well."""
    differences = changes(20_000, 2)
    assert peak(lambda: randomisation(differences, 2000)) < 40
    assert peak(lambda: resampled_means(differences, 2000, 0)) < 60
    assert peak(lambda: resample_summary(lambda rows: rows.max(axis=1), differences[:, 0], 500, 0)) < 40


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_quantiles_of_resampled_means_are_scipys_percentile_interval_but_for_chance(level: float) -> None:
    values = changes(60, 1, seed=2)[:, 0]
    means = resampled_means(values[:, None], RESAMPLES, 0)[:, 0]
    theirs = stats.bootstrap(
        (values,),
        np.mean,
        method="percentile",
        confidence_level=level,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(1),
    )
    tail = (1 - level) / 2
    for end, side in zip(theirs.confidence_interval, (tail, 1 - tail), strict=True):
        below, above = np.mean(means < end - 1e-12), np.mean(means <= end + 1e-12)
        assert (
            below - chance(side, RESAMPLES, RESAMPLES) <= side <= above + chance(side, RESAMPLES, RESAMPLES)
        )


def test_resampled_means_leave_undefined_values_out() -> None:
    values = changes(200, 2, seed=4)
    holes = np.full((400, 2), np.nan)
    holes[::2] = values
    holes[1::2, 1] = values[:, 1]
    means = resampled_means(holes, RESAMPLES, 0)
    error = values.std(axis=0) / np.sqrt([200, 400])
    assert means.mean(axis=0) == pytest.approx(values.mean(axis=0), abs=0.04 * error.max())
    assert means.std(axis=0) == pytest.approx(error, rel=0.03)
    assert not np.isnan(resampled_means(np.full((3, 1), np.nan), 10, 0)).any()


def test_resampled_sums_up_the_same_samples_as_resampled_means() -> None:
    values = changes(50, 1)[:, 0]
    means = resample_summary(lambda rows: rows.mean(axis=1), values, 700, 9)
    assert means == pytest.approx(resampled_means(values[:, None], 700, 9)[:, 0], abs=1e-12)
    assert np.isin(
        resample_summary(lambda rows: np.median(rows[:, :-1], axis=1), values, 700, 9), values
    ).all()


@quick
@given(st.integers(1, 300), st.integers(0, 40), st.integers(-3, 2**70))
def test_what_is_drawn_is_a_query(n: int, first: int, seed: int) -> None:
    result = draw_samples(first, first + 3, n, seed)
    assert result.shape == (3, n)
    assert result.min() >= 0
    assert result.max() < n
    assert np.array_equal(result[1:], draw_samples(first + 1, first + 3, n, seed))


def test_no_queries_give_nothing_to_flip_and_nothing_to_draw() -> None:
    assert randomisation(np.zeros((0, 2))).tolist() == [1.0, 1.0]
    assert resampled_means(np.zeros((0, 2)), 4, 0).tolist() == np.zeros((4, 2)).tolist()
    assert draw_samples(0, 3, 0, 0).shape == (3, 0)
