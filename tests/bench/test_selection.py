"""The choice of an index: the best at one figure among those that reach the floors, and why others lost."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.selection.floors import Figure, estimate_figure, parse_figure, parse_floor
from assay.bench.selection.selection import Candidate, Selection, select_trial
from assay.bench.studies.distribution import RecallDistribution
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.trials import PassSpread, Trial
from assay.core.errors import InputError
from assay.views.selection_words import explain_candidate, selection_notes, verdict_text
from tests.benches import small_data
from tests.choices import make_study, measured_trial, reported_trial

NINE, TEN, HALF = [9] * 40, [10] * 40, [5] * 40
EVEN, UNEVEN = [9] * 40, [10] * 36 + [0] * 4  # the same mean, and four queries without a hit


def lost(search: Selection, name: str) -> str:
    return explain_candidate(search, of_name(search, name))


def of_name(search: Selection, name: str) -> Candidate:
    return next(candidate for candidate in search.candidates if candidate.name == name)


def test_the_best_objective_among_those_that_reach_the_floors_is_chosen() -> None:
    selection = select_trial(
        make_study(
            measured_trial("slow", TEN, 10),
            measured_trial("fast", HALF, 90),
            measured_trial("good", NINE, 50),
        ),
        ["recall=0.9"],
    )
    assert selection.winner is not None
    assert selection.winner.name == "good"
    assert [candidate.name for candidate in selection.candidates] == ["good", "slow", "fast"]
    assert {candidate.name for candidate in selection.front} == {"slow", "fast", "good"}


def test_a_floor_of_robustness_tells_apart_what_has_the_same_recall() -> None:
    both = make_study(measured_trial("even", EVEN, 50), measured_trial("uneven", UNEVEN, 90))
    assert select_trial(both, ["recall=0.85"], confirm=0).to_dict()["winner"] == "uneven"
    selection = select_trial(both, ["recall=0.85", "robustness-0.1=0.95"], confirm=0)
    assert selection.to_dict()["winner"] == "even"
    # 36 of 40: 0.763 to 0.972, so that 0.95 may still be true
    assert lost(selection, "uneven") == (
        "misses robustness-0.1 at least 0.95 by 0.0500: 0.9000 (0.7634 … 0.9721), whose better end meets it"
    )


def test_a_loser_that_is_dominated_is_told_by_whom_and_in_what() -> None:
    there = make_study(
        measured_trial("d", HALF, 90),
        measured_trial("c", NINE, 40),
        measured_trial("b", NINE, 50),
        measured_trial("a", TEN, 50),
    )
    selection = select_trial(there, ["recall=0.6"])
    assert [candidate.name for candidate in selection.candidates] == [
        "a",
        "b",
        "c",
        "d",
    ]  # what misses a floor comes last
    assert (of_name(selection, "b").dominated_by, of_name(selection, "b").better_in) == (
        "a",
        (Figure("recall"),),
    )
    recalls = "recall 1.0000 against 0.9000 (their intervals overlap)"
    assert lost(selection, "b") == f"dominated by a: {recalls}"
    assert lost(selection, "c") == f"dominated by a: qps 50 against 40, {recalls}"


def test_one_that_nothing_dominates_lost_by_the_objective() -> None:
    selection = select_trial(
        make_study(measured_trial("a", NINE, 50), measured_trial("b", TEN, 48), measured_trial("c", TEN, 10)),
        ["recall=0.5"],
    )
    assert lost(selection, "b") == "behind the winner: qps 48 against 50 (within the spread of passes)"
    assert lost(selection, "c") == "dominated by b: qps 48 against 10"


def test_a_tie_goes_to_the_next_figure_and_then_to_the_name() -> None:
    selection = select_trial(
        make_study(measured_trial("c", NINE), measured_trial("b", TEN), measured_trial("a", TEN)),
        ["recall=0.5"],
    )
    assert [candidate.name for candidate in selection.candidates] == ["a", "b", "c"]
    assert lost(selection, "b") == "equal in every figure: the first by name was selected"


def test_what_failed_answered_by_brute_force_or_is_not_known_cannot_be_chosen() -> None:
    failed = measured_trial("failed", None, None, status="failed", reason="out of\nmemory")
    brute, untimed = measured_trial("brute", TEN, 900, indexed=False), measured_trial("untimed", TEN, None)
    late = measured_trial("late", TEN, 900, latency={"p99_ms": 1.0}, saturated=True)
    good = measured_trial("good", NINE, 100, latency={"p99_ms": 3.0}, samples=1500)
    selection = select_trial(make_study(good, failed, brute, untimed, late), ["recall=0.5", "p99_ms=5"])
    assert [candidate.name for candidate in selection.candidates] == [
        "good",
        "brute",
        "failed",
        "late",
        "untimed",
    ]
    assert lost(selection, "failed") == "failed: out of memory"
    assert lost(selection, "brute").startswith("not indexed: it answers by brute force")
    assert lost(selection, "untimed") == "qps and p99_ms: not known"
    assert lost(selection, "late") == "p99_ms: not known (saturated: its latencies are meaningless)"


def test_an_exact_index_may_be_chosen() -> None:
    selection = select_trial(
        make_study(measured_trial("flat", TEN, 10, indexed=None), measured_trial("hnsw", NINE, 90)),
        ["recall=1"],
    )
    assert selection.to_dict()["winner"] == "flat"


def test_a_trial_of_another_k_is_not_compared() -> None:
    there = replace(
        make_study(measured_trial("a", NINE), measured_trial("b", None, 900, k=100)), data=small_data(10)
    )
    assert lost(select_trial(there, ["recall=0.5"]), "b") == "scored at K = 100, but the others at 10"
    with pytest.raises(InputError, match="K = 10 and 100"):
        select_trial(make_study(*there.scored_trials), ["recall=0.5"])


def test_the_two_parts_are_all_queries_once_and_the_same_for_the_same_seed() -> None:
    there = make_study(measured_trial("a", NINE))
    first, repeated_result, second = (
        select_trial(there, confirm=0.25, seed=seed).split for seed in (1, 1, 2)
    )
    assert first
    assert repeated_result
    assert second
    assert sorted([*first.choosing_rows, *first.held_out_rows]) == list(range(40))
    assert (len(first.held_out_rows), first.held_out_rows.tolist()) == (
        10,
        repeated_result.held_out_rows.tolist(),
    )
    assert first.held_out_rows.tolist() != second.held_out_rows.tolist()


def half(choice: int, held: int, seed: int = 0) -> list[int]:
    """Hits of 400 queries: so many in the part that is chosen on, others in the part that is held out."""
    parts = select_trial(make_study(measured_trial("a", [0] * 400)), objective="recall", seed=seed).split
    assert parts
    hits = np.full(400, choice)
    hits[parts.held_out_rows] = held
    hits[parts.held_out_rows[:50]] = 10
    return [int(each) for each in hits]


@pytest.mark.parametrize(
    ("held", "verdict", "status"),
    [(10, "confirmed", "holds"), (9, "cannot be decided", "open"), (5, "not confirmed", "misses")],
)
def test_the_winner_is_confirmed_on_queries_that_had_no_part_in_the_choice(
    held: int, verdict: str, status: str
) -> None:
    # of the 200 held out, 50 have all ten: the mean is 1, 0.925 (0.919 … 0.931) or 0.625
    selection = select_trial(make_study(measured_trial("a", half(10, held))), ["recall=0.922"])
    assert selection.confirmation
    assert (selection.confirmation.verdict, selection.confirmation.checks[0].status) == (verdict, status)
    assert selection.winner
    assert selection.winner.value(parse_figure("recall")) == 1
    result = selection.confirmation.checks[0].estimate
    assert result
    assert result.value == pytest.approx((150 * held + 500) / 2000)
    assert result.n == 200


@pytest.mark.parametrize(
    ("hits", "floor", "low", "status"),
    [
        (TEN, 1.0, 0.8316, "open"),  # Clopper and Pearson, 20 of 20
        (TEN, 0.8, 0.8316, "holds"),
        (NINE, 0.9, 0.7477, "open"),
        (NINE, 0.5, 0.7477, "holds"),
    ],
)
def test_that_all_queries_are_alike_makes_nothing_sure(
    hits: list[int], floor: float, low: float, status: str
) -> None:
    selection = select_trial(make_study(measured_trial("a", hits)), [f"recall={floor}"])
    assert selection.confirmation
    check = selection.confirmation.checks[0]
    assert check.estimate
    assert check.estimate.low == pytest.approx(low, abs=1e-4)
    assert check.status == status


def test_queries_without_a_hit_may_still_have_one() -> None:
    estimate = estimate_figure(measured_trial("a", [0] * 40), parse_figure("recall"))
    assert estimate
    assert (estimate.value, estimate.low) == (0, 0)
    assert estimate.high == pytest.approx(0.0881, abs=1e-4)  # Clopper and Pearson, 0 of 40


def test_one_pass_leaves_open_what_is_of_passes() -> None:
    selection = select_trial(
        make_study(measured_trial("a", NINE, 100, passes=1)), ["qps=50", "cost=9"], "recall", price=1
    )
    assert selection.confirmation
    assert [check.status for check in selection.confirmation.checks] == ["open", "open"]
    assert selection.confirmation.checks[0].estimate == (100, None, None, 1, "passes")
    assert "throughput is from one pass: its spread is not known" in selection_notes(selection)[1]


def test_an_interrupted_sweep_is_said_to_be_one() -> None:
    begun = [
        measured_trial("a", NINE, passes=1, status="begun"),
        measured_trial("b", NINE, None, status="begun"),
    ]
    about = {"options": {"repetitions": 40}}
    selection = select_trial(
        replace(make_study(*begun, measured_trial("c", TEN)), metadata=about), ["recall=0.5"]
    )
    message = "2 trials unfinished: 0 to 1 of 40 passes; run the same bench command to continue"
    assert message in selection_notes(selection)
    alone = select_trial(make_study(begun[0]), ["recall=0.5"])
    assert "1 trial unfinished: 1 pass; run the same bench command to continue" in selection_notes(alone)


def test_trials_that_cannot_be_chosen_are_counted_by_why() -> None:
    out = [measured_trial("f", None, None, status="failed"), measured_trial("g", None, None, status="failed")]
    selection = select_trial(make_study(*out, measured_trial("brute", TEN, indexed=False)), ["recall=0.5"])
    assert verdict_text(selection) == "no trial can be selected: 2 failed, 1 not indexed"
    assert selection_notes(selection) == []
    lacking = select_trial(
        make_study(reported_trial("a", recall=1), reported_trial("b", qps=5)), ["recall=0.5"]
    )
    assert verdict_text(lacking) == "no trial can be selected: 2 without a required figure"


def test_what_is_not_of_queries_is_the_same_in_both_parts_and_confirms_nothing() -> None:
    selection = select_trial(make_study(measured_trial("a", NINE)), ["qps=95"])
    assert selection.confirmation
    assert selection.confirmation.verdict == "nothing to confirm"
    assert selection.confirmation.checks[0].status == "open"  # the slowest pass had 90
    assert "throughput, latency and sizes are the same for both parts" in selection_notes(selection)[1]


def test_where_no_trial_reaches_the_floors_the_nearest_is_named() -> None:
    selection = select_trial(
        make_study(measured_trial("a", NINE), measured_trial("b", HALF)), ["recall=0.95"], confirm=0
    )
    assert (selection.winner, selection.confirmation) == (None, None)
    assert "recall at least 0.95: the best is 0.9000 (0.8203 … 0.9089), by a" in selection_notes(selection)


def test_stated_figures_are_chosen_by_without_holding_out() -> None:
    selection = select_trial(
        make_study(reported_trial("a", recall=0.9, qps=10), reported_trial("b", recall=0.8, qps=20)),
        ["recall=0.85"],
    )
    assert selection.split is None
    assert selection.confirmation
    assert selection.confirmation.verdict == "not held out"
    assert selection.confirmation.checks[0].status == "open"  # no interval is known
    assert selection.to_dict()["trials"][0]["figures"]["recall"] == {
        "value": 0.9, "low": None, "high": None, "n": None, "over": "stated",
    }  # fmt: skip


def test_only_the_objective_named_compares_by_recall_robustness_and_throughput() -> None:
    selection = select_trial(
        make_study(measured_trial("a", EVEN, 100), measured_trial("b", UNEVEN, 90)), confirm=0
    )
    assert [figure.name for figure in selection.axes] == ["qps", "recall", "robustness-0.1"]
    # passes of 90 to 110 and of 81 to 99; that of 40 in 40 begins at 0.9119, that of 36 ends at 0.9721
    assert lost(selection, "b") == (
        "dominated by a: qps 100 against 90 (within the spread of passes), "
        "robustness-0.1 1.0000 against 0.9000 (their intervals overlap)"
    )
    unknown = select_trial(make_study(reported_trial("a", recall=0.9)), objective="recall")
    assert [figure.name for figure in unknown.unknown_figures] == ["robustness-0.1", "qps"]


def test_cost_is_told_from_the_price_and_the_throughput() -> None:
    # 0.5 an hour at 1,000 queries per second: 0.5 / 3.6 million
    there = make_study(measured_trial("a", NINE, 1000), measured_trial("b", TEN, 500))
    selection = select_trial(there, ["cost<=0.2"], "recall", price=0.5)
    result = of_name(selection, "a").figures[parse_figure("cost")]
    assert result
    assert result.value == pytest.approx(0.5 / 3.6)
    assert (result.low, result.high) == pytest.approx((0.5 / 3.96, 0.5 / 3.24))
    assert lost(selection, "b") == "misses cost at most 0.2 by 0.0778: 0.278 (0.253 … 0.309)"
    with pytest.raises(InputError, match="set it"):
        select_trial(there, objective="cost")


def test_a_capacity_is_what_costs_are_told_from_where_it_was_measured() -> None:
    scored_trial = measured_trial(
        "a", NINE, 1000, mode="capacity", capacity=PassSpread(500.0, 500.0, 500.0, 1)
    )
    estimate = estimate_figure(scored_trial, parse_figure("cost"), price=1.8)
    assert estimate
    assert estimate.value == pytest.approx(1.0)  # 1.8 an hour at 500 per second: 1.8 million queries


def test_sizes_are_in_units_of_the_table_of_trials() -> None:
    scored_trial = measured_trial("a", NINE, memory_bytes=3 << 20, build_seconds=1.5)
    assert estimate_figure(scored_trial, parse_figure("memory_mb")) == (3.0, None, None, 1, "once")
    assert estimate_figure(scored_trial, parse_figure("build_seconds")) == (1.5, None, None, 1, "once")
    assert estimate_figure(reported_trial("a", memory_bytes=2 << 20), parse_figure("memory_mb")) == (
        2.0,
        None,
        None,
        None,
        "stated",
    )


def test_a_share_of_a_stated_number_of_queries_has_the_exact_interval() -> None:
    scored_trial = reported_trial("a", queries=10, **{"Robustness(delta=0.3)@10": 0.8})
    estimate = estimate_figure(scored_trial, parse_figure("robustness-0.25"))  # 0.25 of 10 is 3 of them
    assert estimate
    assert estimate.n == 10
    assert (estimate.low, estimate.high) == pytest.approx((0.4439, 0.9748), abs=1e-4)


def test_a_stated_number_of_queries_is_told_though_recall_has_no_interval() -> None:
    selection = select_trial(make_study(reported_trial("a", queries=1000, recall=0.9, qps=5)), ["recall=0.8"])
    assert selection.to_dict()["trials"][0]["figures"]["recall"] == {
        "value": 0.9, "low": None, "high": None, "n": 1000, "over": "queries",
    }  # fmt: skip
    assert selection_notes(selection)[0].endswith("by the reported figures; they are from 1,000 queries")


@pytest.mark.parametrize("n", [100, 20_000])
def test_hits_have_one_interval_whoever_counted_them(n: int) -> None:
    counted = RecallDistribution(np.array([n // 10, *[0] * 9, n - n // 10]))
    hits = [0] * (n // 10) + [10] * (n - n // 10)
    published = ScoredTrial(Trial("a", "a"), published_distribution=counted)
    for figure in (parse_figure("recall"), parse_figure("robustness-0.25")):
        assert estimate_figure(published, figure) == estimate_figure(measured_trial("a", hits), figure)
    assert estimate_figure(published, parse_figure("recall"))[1:3] == published.recall[1:3]  # type: ignore[index]


def test_robustness_between_two_steps_is_that_of_the_next_for_a_report_as_well() -> None:
    scored_trial = reported_trial("a", **{"Robustness(delta=0.3)@10": 0.8})
    assert (scored_trial.robustness(0.25).value, scored_trial.robustness(0.2).value) == (0.8, None)


def test_a_floor_is_reached_by_what_is_equal_to_it() -> None:
    assert select_trial(
        make_study(measured_trial("a", [3] * 20)), ["recall=0.3"]
    ).winner  # the mean of ten times 0.3 is below it


@pytest.mark.parametrize(
    ("floors", "objective", "message"),
    [
        (["recall"], "qps", "a floor is a figure and a number"),
        (["recall=2"], "qps", "expected a number from 0 to 1, found '2'"),
        (["qps=fast"], "qps", "expected a number of 0 or more, found 'fast'"),
        (["p99_ms>=5"], "qps", "less p99_ms is better, so write the floor as p99_ms<=5"),
        (["recall<=0.9"], "qps", "more recall is better, so write the floor as recall>=0.9"),
        (["recal=0.9"], "qps", "unknown figure 'recal'; did you mean recall"),
        (["robustness-3=0.9"], "qps", "the δ of robustness must be above 0 and at most 1, found 3"),
        (["robustness-0=0.9"], "qps", "the δ of robustness must be above 0 and at most 1, found 0"),
        (["recall=0.9", "recall>=0.8"], "qps", "expected one floor per figure"),
        ([], "p99_ms", "p99_ms: not known for any trial; known are recall, robustness-0.1, qps"),
    ],
)
def test_what_cannot_be_asked_is_refused(floors: list[str], objective: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        select_trial(make_study(measured_trial("a", NINE)), floors, objective)


def test_all_figures_that_are_known_are_told_where_one_is_not() -> None:
    scored_trial = reported_trial("a", recall=0.9, memory_bytes=2 << 20, **{"Robustness(delta=0.3)@10": 0.95})
    with pytest.raises(InputError, match=r"known are recall, robustness-0\.3, memory_mb: choose another"):
        select_trial(make_study(scored_trial), ["recall=0.5"])
    with pytest.raises(InputError, match=r"known are recall, robustness-0\.1, qps, cost: choose another"):
        select_trial(make_study(measured_trial("a", NINE)), ["disk_mb=5"], "recall", price=1)


@pytest.mark.parametrize(
    ("share", "message"), [(1.0, "below 1, found 1"), (0.001, "a share of 0.001 held out")]
)
def test_a_share_that_leaves_a_part_empty_is_refused(share: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        select_trial(make_study(measured_trial("a", NINE)), confirm=share)


def test_trials_of_one_name_are_told_apart() -> None:
    there = make_study(
        measured_trial("a", NINE, threads=1), measured_trial("a", NINE, threads=2), measured_trial("b", NINE)
    )
    names = {candidate.name for candidate in select_trial(there).candidates}
    assert names == {"a (1 thread)", "a (2 threads)", "b"}


@given(
    st.lists(st.tuples(st.integers(0, 10), st.integers(1, 9)), min_size=1, max_size=8),
    st.integers(0, 10),
)
def test_the_winner_is_on_the_front_and_nothing_that_reaches_the_floor_is_better(
    trials: list[tuple[int, int]], floor: int
) -> None:
    there = make_study(*(measured_trial(f"t{i}", [hits] * 4, qps) for i, (hits, qps) in enumerate(trials)))
    selection = select_trial(there, [f"recall={floor / 10}"], confirm=0)
    fit = [(qps, hits) for hits, qps in trials if hits >= floor]
    assert (selection.winner is None) == (not fit)
    if selection.winner:
        assert selection.winner.on_front
        assert (
            selection.winner.value(parse_figure("qps")),
            selection.winner.value(parse_figure("recall")) * 10,
        ) == max(fit)
    dominated = [candidate for candidate in selection.candidates if not candidate.on_front]
    assert all(candidate.dominated_by and candidate.better_in for candidate in dominated)


def test_signs_are_read_in_every_spelling() -> None:
    assert parse_floor("recall≥0.9") == parse_floor("recall >= 0.9") == parse_floor("Recall=0.9")
    assert parse_floor("p99.9_ms<=5").description == "p99.9_ms at most 5"


def test_a_figure_that_nobody_named_and_not_all_have_decides_nothing() -> None:
    graph = reported_trial("graph", recall=0.9, qps=1000.0, **{"Robustness(delta=0.1)@10": 0.98})
    selection = select_trial(make_study(graph, reported_trial("cells", recall=0.9, qps=8000.0)), confirm=0)
    assert selection.winner is not None
    assert (selection.winner.name, [scored_trial.name for scored_trial in selection.unknown_figures]) == (
        "cells",
        ["robustness-0.1"],
    )


def test_times_of_another_machine_are_said_to_be() -> None:
    scored_trial = ScoredTrial(
        replace(measured_trial("b", EVEN, 900).trial, source="table", reported={"recall": 0.9}), hits=None
    )
    notes = selection_notes(select_trial(make_study(measured_trial("a", EVEN, 100), scored_trial), confirm=0))
    assert any(line.startswith("times and sizes of b were measured on another machine") for line in notes)
    assert not any(
        "elsewhere" in line
        for line in selection_notes(select_trial(make_study(measured_trial("a", EVEN, 100)), confirm=0))
    )


def test_a_seed_below_0_is_refused() -> None:
    with pytest.raises(InputError, match="the seed must be a whole number of 0 or more, found -1"):
        select_trial(make_study(measured_trial("a", EVEN)), seed=-1)
