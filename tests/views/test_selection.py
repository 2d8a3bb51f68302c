"""A choice as tables: the winner with both parts, the Pareto set, and why the others lost."""

from dataclasses import replace

from assay.bench.selection.selection import select_trial
from assay.bench.selection.tradeoff import tradeoff_planes
from assay.views.selection import FORMATS, render_selection, selection_dict
from tests.choices import make_study, measured_trial, reported_trial

THERE = make_study(
    measured_trial("slow", [10] * 40, 10),
    measured_trial("fast", [5] * 40, 90),
    measured_trial("good", [9] * 40, 50),
)
MADE = select_trial(THERE, ["recall=0.9"])


def squeezed(shown: str) -> str:
    return " ".join(shown.split())


def test_the_winner_stands_with_both_parts_of_the_queries() -> None:
    shown = squeezed(render_selection(MADE, "table"))
    assert shown.startswith(
        "good: the most qps with recall at least 0.9, of 3 trials cannot be decided: on the held-out queries"
    )
    assert "recall at least 0.9 0.9000 (0.7477 … 0.9169) 0.9000 (0.7477 … 0.9169) ? undecided" in shown
    assert "the most qps 50 (45 … 55) the same" in shown
    sure = squeezed(
        render_selection(select_trial(make_study(measured_trial("all", [10] * 40)), ["recall=0.8"]), "table")
    )
    # Clopper and Pearson, 20 of 20
    assert "recall at least 0.8 1.0000 (0.8316 … 1.0000) 1.0000 (0.8316 … 1.0000) ✓ holds" in sure


def test_one_pass_is_said_to_be_one() -> None:
    made = select_trial(make_study(measured_trial("a", [10] * 40, 50, passes=1)), ["qps=40"])
    shown = squeezed(render_selection(made, "table"))
    assert "of 1 trial nothing" in shown
    assert "qps at least 40 50 the same ? undecided: one pass, its spread is not known" in shown


def test_the_front_says_who_reaches_the_floors() -> None:
    lines = [squeezed(line) for line in render_selection(MADE, "table").splitlines()]
    assert "trial qps recall floors" in lines
    assert "slow 10 (9 … 11) 1.0000 (0.8316 … 1.0000) reached" in lines
    assert "fast 90 (81 … 99) 0.5000 (0.4154 … 0.5846) missed" in lines


def test_what_to_know_says_where_figures_come_from() -> None:
    _, known = render_selection(MADE, "table").split("Notes\n")
    assert squeezed(known) == (
        "- K = 10; selected on 20 queries, 20 others held out (seed 0) "
        "- throughput is the median of 3 passes (minimum … maximum); "
        "throughput, latency and sizes are the same for both parts of the queries"
    )


def test_stated_figures_have_no_column_of_what_is_held_out() -> None:
    shown = squeezed(
        render_selection(
            select_trial(make_study(reported_trial("a", recall=0.9, qps=5)), ["recall=0.8"]), "table"
        )
    )
    assert (
        "required selected on recall at least 0.8 0.9000 ? undecided: no interval is known the most qps 5"
        in shown
    )


def test_long_names_are_cut_in_a_terminal_if_they_still_differ() -> None:
    long = "x" * 80
    apart = select_trial(
        make_study(reported_trial(f"a{long}", recall=1, qps=5), reported_trial(f"b{long}", recall=1, qps=6)),
        ["recall=1"],
    )
    shown = squeezed(render_selection(apart, "table"))
    assert shown.startswith(f"b{long}: the most qps")  # the winner in full
    assert f"dominated by b{'x' * 23}…{'x' * 23}: qps 6 against 5" in shown
    ends = select_trial(
        make_study(reported_trial(f"{long}a", recall=1, qps=5), reported_trial(f"{long}b", recall=1, qps=6)),
        ["recall=1"],
    )
    assert f"dominated by {'x' * 24}…{'x' * 22}b:" in render_selection(ends, "table")
    both = [
        reported_trial(f"{long}{middle}{long}", recall=1, qps=qps) for middle, qps in (("a", 5), ("b", 6))
    ]
    alike = select_trial(make_study(*both), ["recall=1"])
    assert f"dominated by {long}b{long}:" in squeezed(render_selection(alike, "table"))
    assert f"dominated by b{long}:" in render_selection(apart, "md")


def test_why_others_lost_stays_within_a_terminal() -> None:
    floors = ["recall=0.95", "robustness-0.1=0.99", "robustness-0.5=0.99"]
    some = make_study(measured_trial("good", [10] * 40), measured_trial("bad" * 10, [0] * 20 + [9] * 20))
    shown = render_selection(select_trial(some, floors), "table")
    assert max(map(len, shown.splitlines())) <= 118
    assert "misses robustness-0.5 at least 0.99 by" in squeezed(shown)
    in_markdown = render_selection(select_trial(some, floors), "md").splitlines()
    assert any(line.startswith("| bad") and "robustness-0.5 at least" in line for line in in_markdown)


def test_planes_name_trials_as_the_choice_does() -> None:
    two = [replace(measured_trial("a", [9] * 40).trial, key=str(n), threads=n) for n in (1, 2)]
    there = make_study(*(replace(measured_trial("a", [9] * 40), trial=trial) for trial in two))
    shown = render_selection(select_trial(there), "table", tradeoff_planes(there.scored_trials))
    _, planes = shown.split("With recall at least")
    assert planes.count("a (1 thread)") == planes.count("a (2 threads)") == 3


def test_planes_are_tables_and_one_that_nothing_reaches_says_so() -> None:
    planes = tradeoff_planes(THERE.scored_trials, 0.1, {"recall": 0.9, "qps": 100})
    shown = render_selection(MADE, "table", planes)
    assert (
        "With recall at least 0.9000\ntrial  robustness-0.1  qps  on front\nslow           1.0000   10"
        in shown
    )
    assert "With qps at least 100\n- no trial reaches it" in shown
    assert "### With recall at least 0.9000" in render_selection(MADE, "md", planes)


def test_data_has_the_planes_only_where_they_were_asked_for() -> None:
    assert FORMATS == ("table", "csv", "md", "latex")
    assert "tradeoff" not in selection_dict(MADE)
    [plane, *_] = selection_dict(MADE, tradeoff_planes(THERE.scored_trials))["tradeoff"]
    assert plane["x"] == "robustness-0.1"
