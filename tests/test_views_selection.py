"""A choice as tables: the winner with both parts, the Pareto set, and why the others lost."""

import json
from dataclasses import replace

from assay.indexes.choice.selection import select
from assay.indexes.choice.tradeoff import tradeoff
from assay.views.selection import FORMATS, selection_view
from choices import seen, stated, study

THERE = study(seen("slow", [10] * 40, 10), seen("fast", [5] * 40, 90), seen("good", [9] * 40, 50))
MADE = select(THERE, ["recall=0.9"])


def squeezed(shown: str) -> str:
    return " ".join(shown.split())


def test_the_winner_stands_with_both_parts_of_the_queries() -> None:
    shown = squeezed(selection_view(MADE, "table"))
    assert shown.startswith(
        "good: the most qps with recall at least 0.9, of 3 trials cannot be decided: on the queries"
    )
    assert "recall at least 0.9 0.9000 0.9000 ? open: no interval is known" in shown
    assert "the most qps 50 (45 … 55) the same" in shown
    sure = squeezed(selection_view(select(study(seen("all", [10] * 40)), ["recall=0.8"]), "table"))
    # Wilson, 20 of 20
    assert "recall at least 0.8 1.0000 (0.8389 … 1.0000) 1.0000 (0.8389 … 1.0000) ✓ holds" in sure


def test_one_pass_is_said_to_be_one() -> None:
    made = select(study(seen("a", [10] * 40, 50, passes=1)), ["qps=40"])
    shown = squeezed(selection_view(made, "table"))
    assert "of 1 trial nothing" in shown
    assert "qps at least 40 50 the same ? open: one pass, its spread is not known" in shown


def test_the_front_says_who_reaches_the_floors() -> None:
    lines = [squeezed(line) for line in selection_view(MADE, "table").splitlines()]
    assert "trial qps recall floors" in lines
    assert "slow 10 (9 … 11) 1.0000 (0.8389 … 1.0000) reached" in lines
    assert "fast 90 (81 … 99) 0.5000 missed" in lines


def test_what_to_know_says_where_figures_come_from() -> None:
    _, known = selection_view(MADE, "table").split("What to know\n")
    assert squeezed(known) == (
        "- K = 10; chosen on 20 queries, 20 others held out (seed 0) "
        "- throughput is the middle of 3 passes (least … most); "
        "throughput, latency and sizes are the same for both parts of the queries"
    )


def test_stated_figures_have_no_column_of_what_is_held_out() -> None:
    shown = squeezed(selection_view(select(study(stated("a", recall=0.9, qps=5)), ["recall=0.8"]), "table"))
    assert "asked chosen on recall at least 0.8 0.9000 ? open: no interval is known the most qps 5" in shown


def test_long_names_are_cut_in_a_terminal_if_they_still_differ() -> None:
    long = "x" * 80
    apart = select(
        study(stated(f"a{long}", recall=1, qps=5), stated(f"b{long}", recall=1, qps=6)), ["recall=1"]
    )
    shown = squeezed(selection_view(apart, "table"))
    assert shown.startswith(f"b{long}: the most qps")  # the winner in full
    assert f"dominated by b{'x' * 23}…{'x' * 23}: qps 6 against 5" in shown
    ends = select(
        study(stated(f"{long}a", recall=1, qps=5), stated(f"{long}b", recall=1, qps=6)), ["recall=1"]
    )
    assert f"dominated by {'x' * 24}…{'x' * 22}b:" in selection_view(ends, "table")
    both = [stated(f"{long}{middle}{long}", recall=1, qps=qps) for middle, qps in (("a", 5), ("b", 6))]
    alike = select(study(*both), ["recall=1"])
    assert f"dominated by {long}b{long}:" in squeezed(selection_view(alike, "table"))
    assert f"dominated by b{long}:" in selection_view(apart, "md")


def test_why_others_lost_stays_within_a_terminal() -> None:
    floors = ["recall=0.95", "robustness-0.1=0.99", "robustness-0.5=0.99"]
    some = study(seen("good", [10] * 40), seen("bad" * 10, [0] * 20 + [9] * 20))
    shown = selection_view(select(some, floors), "table")
    assert max(map(len, shown.splitlines())) <= 118
    assert "misses robustness-0.5 at least 0.99 by" in squeezed(shown)
    in_markdown = selection_view(select(some, floors), "md").splitlines()
    assert any(line.startswith("| bad") and "robustness-0.5 at least" in line for line in in_markdown)


def test_planes_name_trials_as_the_choice_does() -> None:
    two = [replace(seen("a", [9] * 40).trial, key=str(n), threads=n) for n in (1, 2)]
    there = study(*(replace(seen("a", [9] * 40), trial=trial) for trial in two))
    shown = selection_view(select(there), "table", tradeoff(there.observed))
    _, planes = shown.split("With recall at least")
    assert planes.count("a (single) (1 thread)") == planes.count("a (single) (2 threads)") == 3


def test_planes_are_tables_and_one_that_nothing_reaches_says_so() -> None:
    planes = tradeoff(THERE.observed, 0.1, {"recall": 0.9, "qps": 100})
    shown = selection_view(MADE, "table", planes)
    assert (
        "With recall at least 0.9000\ntrial  robustness-0.1  qps  front\nslow           1.0000   10" in shown
    )
    assert "With qps at least 100\n- no trial reaches it" in shown
    assert "### With recall at least 0.9000" in selection_view(MADE, "md", planes)


def test_data_has_the_planes_only_where_they_were_asked_for() -> None:
    assert FORMATS == ("table", "json", "csv", "md")
    assert "tradeoff" not in json.loads(selection_view(MADE, "json"))
    [plane, *_] = json.loads(selection_view(MADE, "json", tradeoff(THERE.observed)))["tradeoff"]
    assert plane["x"] == "robustness-0.1"
