"""The preference of users: shares, tests, and fairness when the rankers are equal."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from assay.core.errors import InputError
from assay.online.interleaving.event_credits import credit_events
from assay.online.interleaving.page_credits import PageCredits
from assay.online.interleaving.preference import Interleaving, compare_rankers, measure_preference
from assay.online.simulation import INTERLEAVED, TrafficSettings, simulate
from tests.online.interleaving.logs import collection, same_list

METHODS = ("team-draft", "probabilistic", "balanced")


def pages_of(credits_of_users: dict[str, list[float]], *rankers: str) -> PageCredits:
    counts = {
        "queries": len(credits_of_users),
        "queries_with_credit": 0,
        "users": len(credits_of_users),
        "clicks": 0,
    }
    matrix = np.array([*credits_of_users.values()], float).reshape(-1, len(rankers))
    return PageCredits("team-draft", rankers, [*credits_of_users], matrix, counts)


def test_the_unit_is_the_user_and_not_the_click() -> None:
    found = measure_preference("old", np.array([10.0, 0, 0, 2]), "new", np.array([0.0, 1, 1, 2]))
    assert (found.wins, found.losses, found.ties, found.users) == (2, 1, 1, 4)
    assert found.preference.value == 0.25
    assert found.win_share.value == 0.625


def test_p_is_that_of_scipy() -> None:
    rng = np.random.default_rng(1)
    old, new = rng.poisson(1.0, (2, 60)).astype(float)
    found = measure_preference("old", old, "new", new)
    has_credit = old + new > 0
    values = (new - old)[has_credit] / (new + old)[has_credit]
    nonzero = values[values != 0]
    wins = int((values > 0).sum())
    assert found.p_values["wilcoxon"] == pytest.approx(scipy.stats.wilcoxon(nonzero).pvalue)
    assert found.p_values["sign"] == pytest.approx(scipy.stats.binomtest(wins, len(nonzero)).pvalue)
    assert found.p_values["t"] == pytest.approx(scipy.stats.ttest_1samp(values, 0).pvalue)
    interval = scipy.stats.ttest_1samp(values, 0).confidence_interval()
    assert found.preference[1:3] == pytest.approx([*interval])


@pytest.mark.parametrize("users", [0, 1])
def test_too_few_users_have_no_p_and_no_interval(users: int) -> None:
    found = measure_preference("old", np.zeros(users), "new", np.ones(users))
    assert found.p is None
    assert found.winner() is None
    assert found.preference.low is None


def test_probabilistic_credit_is_tested_by_its_mean_alone() -> None:
    pages = replace(pages_of({"u1": [1, 2], "u2": [0, 1], "u3": [1, 1]}, "A", "B"), method="probabilistic")
    assert [*compare_rankers(pages).preferences[0].p_values] == ["t"]
    with pytest.raises(InputError, match="expected a test of t for the method probabilistic, found 'sign'"):
        compare_rankers(pages, test="sign")


def test_exchanging_the_rankers_changes_the_sign_alone() -> None:
    pages = pages_of({"u1": [1, 2], "u2": [0, 1], "u3": [1, 1], "u4": [3, 0]}, "A", "B")
    one = compare_rankers(pages, "A", "B").preferences[0]
    other = compare_rankers(pages, "B", "A").preferences[0]
    assert one.preference.value == -(other.preference.value or 0)
    assert (one.wins, one.losses, one.p) == (other.losses, other.wins, other.p)


def test_p_of_several_candidates_is_corrected() -> None:
    users = {f"u{n}": [0.0, 1.0, float(n % 2)] for n in range(12)}
    first, second = compare_rankers(pages_of(users, "A", "B", "C"), "A").preferences
    assert (first.candidate, second.candidate) == ("B", "C")
    assert first.p is not None
    assert first.corrected_p == 2 * first.p
    assert second.corrected_p == second.p


def test_the_baseline_is_the_ranker_of_that_name_or_the_first() -> None:
    assert compare_rankers(pages_of({"u": [1, 2]}, "beta", "control")).preferences[0].baseline == "control"
    assert compare_rankers(pages_of({"u": [1, 2]}, "alpha", "beta")).preferences[0].baseline == "alpha"


@pytest.mark.parametrize(
    ("names", "message"),
    [(("A", "X"), "expected a ranker of A, B, found 'X'"), (("A", "A"), "expected two rankers, found 'A'")],
)
def test_wrong_names_are_refused(names: tuple[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare_rankers(pages_of({"u": [1, 2]}, "A", "B"), *names)


def interleaved(
    old: list[str], new: list[str], method: str, users: int, seed: int = 0, model: str = "position"
) -> Interleaving:
    """Return the result of simulated users who see interleaved lists of two rankers."""
    settings = TrafficSettings(
        users=users,
        seed=seed,
        arms={INTERLEAVED: 1.0},
        method=method,
        click_model=model,
        sessions_per_user=1.2,
    )
    rankings = {"new": same_list(new), "old": same_list(old)}
    return compare_rankers(credit_events(simulate(rankings, *collection(), settings).events()), "old")


@pytest.mark.parametrize("method", METHODS)
def test_the_better_of_two_simulated_rankers_is_found(method: str) -> None:
    better = [f"d{number}" for number in range(12)]
    worse = [*better[4:8], *better[:4], *better[8:]]
    found = interleaved(worse, better, method, 600).preferences[0]
    assert found.winner() == "new"
    assert interleaved(better, worse, method, 600).preferences[0].winner() == "old"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("model", ["position", "cascade"])
def test_equal_rankers_whose_lists_run_out_are_equally_preferred(method: str, model: str) -> None:
    """One returns 3 documents, the other 10 of the same relevance, two of them the same."""
    alike = [f"e{number}" for number in range(11)]  # not judged: all of grade 0
    longer = [alike[3], alike[0], alike[4], alike[1], *alike[5:]]
    found = interleaved(alike[:3], longer, method, 3_000, model=model).preferences[0]
    assert found.users > 200
    assert found.preference.low is not None
    assert found.preference.low < 0 < (found.preference.high or 0)
    assert found.p is not None
    assert found.p > 0.01
