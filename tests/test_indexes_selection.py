"""The choice of an index: the best at one figure among those that reach the floors, and why others lost."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.indexes.choice.floors import Figure, figure, known, read_floor
from assay.indexes.choice.selection import Candidate, Selection, select
from assay.indexes.choice.words import notes, why
from assay.indexes.study.observed import Distribution, Observed
from assay.indexes.trials import Spread, Trial
from benches import small
from choices import seen, stated, study

NINE, TEN, HALF = [9] * 40, [10] * 40, [5] * 40
EVEN, UNEVEN = [9] * 40, [10] * 36 + [0] * 4  # the same mean, and four queries without a hit


def lost(made: Selection, name: str) -> str:
    return why(made, of_name(made, name))


def of_name(made: Selection, name: str) -> Candidate:
    return next(one for one in made.candidates if one.name == name)


def test_the_best_objective_among_those_that_reach_the_floors_is_chosen() -> None:
    made = select(
        study(seen("slow", TEN, 10), seen("fast", HALF, 90), seen("good", NINE, 50)), ["recall=0.9"]
    )
    assert made.winner is not None
    assert made.winner.name == "good"
    assert [one.name for one in made.candidates] == ["good", "slow", "fast"]
    assert {one.name for one in made.front} == {"slow", "fast", "good"}


def test_a_floor_of_robustness_tells_apart_what_has_the_same_recall() -> None:
    both = study(seen("even", EVEN, 50), seen("uneven", UNEVEN, 90))
    assert select(both, ["recall=0.85"], confirm=0).to_dict()["winner"] == "uneven"
    made = select(both, ["recall=0.85", "robustness-0.1=0.95"], confirm=0)
    assert made.to_dict()["winner"] == "even"
    # 36 of 40 by Wilson: 0.769 to 0.960, so that 0.95 may still be true
    assert lost(made, "uneven") == (
        "misses robustness-0.1 at least 0.95 by 0.0500: 0.9000 (0.7695 … 0.9604), whose better end reaches it"
    )


def test_a_loser_that_is_dominated_is_told_by_whom_and_in_what() -> None:
    there = study(seen("d", HALF, 90), seen("c", NINE, 40), seen("b", NINE, 50), seen("a", TEN, 50))
    made = select(there, ["recall=0.6"])
    assert [one.name for one in made.candidates] == ["a", "b", "c", "d"]  # what misses a floor comes last
    assert (of_name(made, "b").dominated_by, of_name(made, "b").better_in) == ("a", (Figure("recall"),))
    assert lost(made, "b") == "dominated by a: recall 1.0000 against 0.9000"
    assert lost(made, "c") == "dominated by a: qps 50 against 40, recall 1.0000 against 0.9000"


def test_one_that_nothing_dominates_lost_by_the_objective() -> None:
    made = select(study(seen("a", NINE, 50), seen("b", TEN, 48), seen("c", TEN, 10)), ["recall=0.5"])
    assert lost(made, "b") == "behind the winner: qps 48 against 50 (within what passes differ by)"
    assert lost(made, "c") == "dominated by b: qps 48 against 10"


def test_a_tie_goes_to_the_next_figure_and_then_to_the_name() -> None:
    made = select(study(seen("c", NINE), seen("b", TEN), seen("a", TEN)), ["recall=0.5"])
    assert [one.name for one in made.candidates] == ["a", "b", "c"]
    assert lost(made, "b") == "the same in every figure: the first by name was taken"


def test_what_failed_answered_by_brute_force_or_is_not_known_cannot_be_chosen() -> None:
    failed = seen("failed", None, None, status="failed", reason="out of\nmemory")
    brute, untimed = seen("brute", TEN, 900, indexed=False), seen("untimed", TEN, None)
    late = seen("late", TEN, 900, latency={"p99_ms": 1.0}, saturated=True)
    good = seen("good", NINE, 100, latency={"p99_ms": 3.0}, samples=1500)
    made = select(study(good, failed, brute, untimed, late), ["recall=0.5", "p99_ms=5"])
    assert [one.name for one in made.candidates] == ["good", "brute", "failed", "late", "untimed"]
    assert lost(made, "failed") == "failed: out of memory"
    assert lost(made, "brute").startswith("not indexed: it answers by brute force")
    assert lost(made, "untimed") == "qps and p99_ms: not known"
    assert lost(made, "late") == "p99_ms: not known (saturated: its latencies mean nothing)"


def test_an_exact_index_may_be_chosen() -> None:
    made = select(study(seen("flat", TEN, 10, indexed=None), seen("hnsw", NINE, 90)), ["recall=1"])
    assert made.to_dict()["winner"] == "flat"


def test_a_trial_of_another_k_is_not_compared() -> None:
    there = replace(study(seen("a", NINE), seen("b", None, 900, k=100)), data=small(10))
    assert lost(select(there, ["recall=0.5"]), "b") == "scored at K = 100, and the others at 10"
    with pytest.raises(InputError, match="K = 10 and 100"):
        select(study(*there.observed), ["recall=0.5"])


def test_the_two_parts_are_all_queries_once_and_the_same_for_the_same_seed() -> None:
    there = study(seen("a", NINE))
    first, again, other = (select(there, confirm=0.25, seed=seed).parts for seed in (1, 1, 2))
    assert first
    assert again
    assert other
    assert sorted([*first.choosing, *first.held]) == list(range(40))
    assert (len(first.held), first.held.tolist()) == (10, again.held.tolist())
    assert first.held.tolist() != other.held.tolist()


def half(chosen: int, held: int, seed: int = 0) -> list[int]:
    """Hits of 400 queries: so many in the part that is chosen on, others in the part that is held out."""
    parts = select(study(seen("a", [0] * 400)), objective="recall", seed=seed).parts
    assert parts
    hits = np.full(400, chosen)
    hits[parts.held] = held
    hits[parts.held[:50]] = 10
    return [int(each) for each in hits]


@pytest.mark.parametrize(
    ("held", "verdict", "status"),
    [(10, "confirmed", "holds"), (9, "cannot be decided", "open"), (5, "not confirmed", "misses")],
)
def test_the_winner_is_confirmed_on_queries_that_had_no_part_in_the_choice(
    held: int, verdict: str, status: str
) -> None:
    # of the 200 held out, 50 have all ten: the mean is 1, 0.925 (0.919 … 0.931) or 0.625
    made = select(study(seen("a", half(10, held))), ["recall=0.922"])
    assert made.confirmation
    assert (made.confirmation.verdict, made.confirmation.checks[0].status) == (verdict, status)
    assert made.winner
    assert made.winner.value(figure("recall")) == 1
    found = made.confirmation.checks[0].known
    assert found
    assert found.value == pytest.approx((150 * held + 500) / 2000)
    assert found.n == 200


@pytest.mark.parametrize(
    ("hits", "floor", "low", "status"),
    [
        (TEN, 1.0, 0.8389, "open"),  # Wilson, 20 of 20
        (TEN, 0.8, 0.8389, "holds"),
        (NINE, 0.9, None, "open"),
        (NINE, 0.5, None, "open"),
    ],
)
def test_that_all_queries_are_alike_makes_nothing_sure(
    hits: list[int], floor: float, low: float | None, status: str
) -> None:
    made = select(study(seen("a", hits)), [f"recall={floor}"])
    assert made.confirmation
    check = made.confirmation.checks[0]
    assert check.known
    assert check.known.low == (None if low is None else pytest.approx(low, abs=1e-4))
    assert check.status == status


def test_queries_without_a_hit_may_still_have_one() -> None:
    found = known(seen("a", [0] * 40), figure("recall"))
    assert found
    assert (found.value, found.low) == (0, 0)
    assert found.high == pytest.approx(0.0876, abs=1e-4)  # Wilson, 0 of 40


def test_one_pass_leaves_open_what_is_of_passes() -> None:
    made = select(study(seen("a", NINE, 100, passes=1)), ["qps=50", "cost=9"], "recall", price=1)
    assert made.confirmation
    assert [check.status for check in made.confirmation.checks] == ["open", "open"]
    assert made.confirmation.checks[0].known == (100, None, None, 1, "passes")
    assert "throughput is of one pass: its spread is not known" in made.to_dict()["notes"][1]


def test_an_interrupted_sweep_is_said_to_be_one() -> None:
    begun = [seen("a", NINE, passes=1, status="begun"), seen("b", NINE, None, status="begun")]
    about = {"options": {"repetitions": 40}}
    made = select(replace(study(*begun, seen("c", TEN)), about=about), ["recall=0.5"])
    said = "2 trials only begun: 0 to 1 of 40 passes; the same bench command goes on"
    assert said in made.to_dict()["notes"]
    alone = select(study(begun[0]), ["recall=0.5"])
    assert "1 trial only begun: 1 pass; the same bench command goes on" in alone.to_dict()["notes"]


def test_trials_that_cannot_be_chosen_are_counted_by_why() -> None:
    out = [seen("f", None, None, status="failed"), seen("g", None, None, status="failed")]
    made = select(study(*out, seen("brute", TEN, indexed=False)), ["recall=0.5"]).to_dict()
    assert made["words"] == "no trial can be chosen: 2 failed, 1 not indexed"
    assert made["notes"] == []
    lacking = select(study(stated("a", recall=1), stated("b", qps=5)), ["recall=0.5"]).to_dict()
    assert lacking["words"] == "no trial can be chosen: 2 of which a figure is not known"


def test_what_is_not_of_queries_is_the_same_in_both_parts_and_confirms_nothing() -> None:
    made = select(study(seen("a", NINE)), ["qps=95"])
    assert made.confirmation
    assert made.confirmation.verdict == "nothing to confirm"
    assert made.confirmation.checks[0].status == "open"  # the slowest pass had 90
    assert "throughput, latency and sizes are the same for both parts" in made.to_dict()["notes"][1]


def test_where_no_trial_reaches_the_floors_the_nearest_is_named() -> None:
    made = select(study(seen("a", NINE), seen("b", HALF)), ["recall=0.95"], confirm=0)
    assert (made.winner, made.confirmation) == (None, None)
    assert "recall at least 0.95: the best is 0.9000, of a" in made.to_dict()["notes"]


def test_stated_figures_are_chosen_by_without_holding_out() -> None:
    made = select(study(stated("a", recall=0.9, qps=10), stated("b", recall=0.8, qps=20)), ["recall=0.85"])
    assert made.parts is None
    assert made.confirmation
    assert made.confirmation.verdict == "not held out"
    assert made.confirmation.checks[0].status == "open"  # no interval is known
    assert made.to_dict()["trials"][0]["figures"]["recall"] == {
        "value": 0.9, "low": None, "high": None, "n": None, "over": "stated",
    }  # fmt: skip


def test_only_the_objective_named_compares_by_recall_robustness_and_throughput() -> None:
    made = select(study(seen("a", EVEN, 100), seen("b", UNEVEN, 90)), confirm=0)
    assert [of.name for of in made.axes] == ["qps", "recall", "robustness-0.1"]
    # passes of 90 to 110 and of 81 to 99; Wilson of 40 in 40 begins at 0.9124, that of 36 ends at 0.9604
    assert lost(made, "b") == (
        "dominated by a: qps 100 against 90 (within what passes differ by), "
        "robustness-0.1 1.0000 against 0.9000 (their intervals overlap)"
    )
    unknown = select(study(stated("a", recall=0.9)), objective="recall")
    assert [of.name for of in unknown.unknown] == ["robustness-0.1", "qps"]


def test_cost_is_told_from_the_price_and_the_throughput() -> None:
    # 0.5 an hour at 1,000 queries per second: 0.5 / 3.6 million
    there = study(seen("a", NINE, 1000), seen("b", TEN, 500))
    made = select(there, ["cost<=0.2"], "recall", price=0.5)
    found = of_name(made, "a").figures[figure("cost")]
    assert found
    assert found.value == pytest.approx(0.5 / 3.6)
    assert (found.low, found.high) == pytest.approx((0.5 / 3.96, 0.5 / 3.24))
    assert lost(made, "b") == "misses cost at most 0.2 by 0.0778: 0.278 (0.253 … 0.309)"
    with pytest.raises(InputError, match="give it"):
        select(there, objective="cost")


def test_a_capacity_is_what_costs_are_told_from_where_it_was_measured() -> None:
    one = seen("a", NINE, 1000, mode="capacity", capacity=Spread(500.0, 500.0, 500.0, 1))
    found = known(one, figure("cost"), price=1.8)
    assert found
    assert found.value == pytest.approx(1.0)  # 1.8 an hour at 500 per second: 1.8 million queries


def test_sizes_are_in_units_of_the_table_of_trials() -> None:
    one = seen("a", NINE, memory_bytes=3 << 20, build_seconds=1.5)
    assert known(one, figure("memory_mb")) == (3.0, None, None, 1, "once")
    assert known(one, figure("build_seconds")) == (1.5, None, None, 1, "once")
    assert known(stated("a", memory_bytes=2 << 20), figure("memory_mb")) == (2.0, None, None, None, "stated")


def test_a_share_of_a_stated_number_of_queries_has_wilsons_interval() -> None:
    one = stated("a", queries=10, **{"Robustness(delta=0.3)@10": 0.8})
    found = known(one, figure("robustness-0.25"))  # 0.25 of 10 is 3 of them
    assert found
    assert found.n == 10
    assert (found.low, found.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_a_stated_number_of_queries_is_told_though_recall_has_no_interval() -> None:
    made = select(study(stated("a", queries=1000, recall=0.9, qps=5)), ["recall=0.8"])
    assert made.to_dict()["trials"][0]["figures"]["recall"] == {
        "value": 0.9, "low": None, "high": None, "n": 1000, "over": "queries",
    }  # fmt: skip
    assert made.to_dict()["notes"][0].endswith("as stated; they are of 1,000 queries")


@pytest.mark.parametrize("n", [100, 20_000])
def test_hits_have_one_interval_whoever_counted_them(n: int) -> None:
    counted = Distribution(np.array([n // 10, *[0] * 9, n - n // 10]))
    hits = [0] * (n // 10) + [10] * (n - n // 10)
    published = Observed(Trial("a", "a"), published=counted)
    for of in (figure("recall"), figure("robustness-0.25")):
        assert known(published, of) == known(seen("a", hits), of)
    assert known(published, figure("recall"))[1:3] == published.recall[1:3]  # type: ignore[index]


def test_robustness_between_two_steps_is_that_of_the_next_for_a_report_as_well() -> None:
    one = stated("a", **{"Robustness(delta=0.3)@10": 0.8})
    assert (one.robustness(0.25).value, one.robustness(0.2).value) == (0.8, None)


def test_a_floor_is_reached_by_what_is_equal_to_it() -> None:
    assert select(study(seen("a", [3] * 20)), ["recall=0.3"]).winner  # the mean of ten times 0.3 is below it


@pytest.mark.parametrize(
    ("floors", "objective", "said"),
    [
        (["recall"], "qps", "a floor is a figure and a number"),
        (["recall=2"], "qps", "expected a number from 0 to 1, found '2'"),
        (["qps=fast"], "qps", "expected a number of 0 or more, found 'fast'"),
        (["p99_ms>=5"], "qps", "less p99_ms is better, so the floor is p99_ms<=5"),
        (["recall<=0.9"], "qps", "more recall is better, so the floor is recall>=0.9"),
        (["recal=0.9"], "qps", "there is no figure 'recal'; did you mean recall"),
        (["robustness-3=0.9"], "qps", "the δ of robustness is above 0 and at most 1, found 3"),
        (["robustness-0=0.9"], "qps", "the δ of robustness is above 0 and at most 1, found 0"),
        (["recall=0.9", "recall>=0.8"], "qps", "two floors of one figure"),
        ([], "p99_ms", "p99_ms: not known of any trial; known are recall, robustness-0.1, qps"),
    ],
)
def test_what_cannot_be_asked_is_refused(floors: list[str], objective: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        select(study(seen("a", NINE)), floors, objective)


def test_all_figures_that_are_known_are_told_where_one_is_not() -> None:
    one = stated("a", recall=0.9, memory_bytes=2 << 20, **{"Robustness(delta=0.3)@10": 0.95})
    with pytest.raises(InputError, match=r"known are recall, robustness-0\.3, memory_mb: name another"):
        select(study(one), ["recall=0.5"])
    with pytest.raises(InputError, match=r"known are recall, robustness-0\.1, qps, cost: name another"):
        select(study(seen("a", NINE)), ["disk_mb=5"], "recall", price=1)


@pytest.mark.parametrize(("share", "said"), [(1.0, "below 1, found 1"), (0.001, "no share of 0.001")])
def test_a_share_that_leaves_a_part_empty_is_refused(share: float, said: str) -> None:
    with pytest.raises(InputError, match=said):
        select(study(seen("a", NINE)), confirm=share)


def test_trials_of_one_name_are_told_apart() -> None:
    there = study(seen("a", NINE, threads=1), seen("a", NINE, threads=2), seen("b", NINE))
    names = {one.name for one in select(there).candidates}
    assert names == {"a (single) (1 thread)", "a (single) (2 threads)", "b"}


@given(
    st.lists(st.tuples(st.integers(0, 10), st.integers(1, 9)), min_size=1, max_size=8),
    st.integers(0, 10),
)
def test_the_winner_is_on_the_front_and_nothing_that_reaches_the_floor_is_better(
    trials: list[tuple[int, int]], floor: int
) -> None:
    there = study(*(seen(f"t{i}", [hits] * 4, qps) for i, (hits, qps) in enumerate(trials)))
    made = select(there, [f"recall={floor / 10}"], confirm=0)
    fit = [(qps, hits) for hits, qps in trials if hits >= floor]
    assert (made.winner is None) == (not fit)
    if made.winner:
        assert made.winner.on_front
        assert (made.winner.value(figure("qps")), made.winner.value(figure("recall")) * 10) == max(fit)
    dominated = [one for one in made.candidates if not one.on_front]
    assert all(one.dominated_by and one.better_in for one in dominated)


def test_signs_are_read_in_every_spelling() -> None:
    assert read_floor("recall≥0.9") == read_floor("recall >= 0.9") == read_floor("Recall=0.9")
    assert read_floor("p99.9_ms<=5").words == "p99.9_ms at most 5"


def test_a_figure_that_nobody_named_and_not_all_have_decides_nothing() -> None:
    graph = stated("graph", recall=0.9, qps=1000.0, **{"Robustness(delta=0.1)@10": 0.98})
    made = select(study(graph, stated("cells", recall=0.9, qps=8000.0)), confirm=0)
    assert made.winner is not None
    assert (made.winner.name, [of.name for of in made.unknown]) == ("cells", ["robustness-0.1"])


def test_times_of_another_machine_are_said_to_be() -> None:
    other = Observed(replace(seen("b", EVEN, 900).trial, source="table", reported={"recall": 0.9}), hits=None)
    found = notes(select(study(seen("a", EVEN, 100), other), confirm=0))
    assert any(line.startswith("times and sizes of b were measured elsewhere") for line in found)
    assert not any("elsewhere" in line for line in notes(select(study(seen("a", EVEN, 100)), confirm=0)))


def test_a_seed_below_0_is_refused() -> None:
    with pytest.raises(InputError, match="the seed is a whole number of 0 or more, found -1"):
        select(study(seen("a", EVEN)), seed=-1)
