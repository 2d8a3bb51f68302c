"""Each reading where it must be given, and where the nearest thing must not be taken for it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from assay.core.arrays import Floats
from assay.core.tables import Scores
from assay.evaluation.compare import ComparisonOptions, Comparisons, compare, compare_scores
from assay.evaluation.slices import Slice
from assay.measures import parse
from assay.views.compare import render_comparison
from assay.views.readings import describe_reading
from tests.evaluation.readings import cites_its_evidence, find_reading, keys

N = 400
IDS = [f"q{i}" for i in range(N)]
# How many queries get better (the first ones) and worse (the last ones) by a half, or by 1 of pass or fail.
MOVES = {
    "up": (100, 0),
    "down": (0, 100),
    "same": (1, 1),
    "open": (40, 40),
    "nearly up": (28, 14),  # p 0.03: shown before correction, not after it
    "nearly down": (14, 28),
}
Moves = dict[str, str | tuple[int, int]]

GIVEN: list[tuple[str, Moves]] = [
    ("better", {"nDCG@10": "up"}),
    ("better", {"ZeroHit@10": "up"}),
    ("worse", {"nDCG@10": "down"}),
    ("worse", {"ZeroHit@10": "down"}),
    ("same", {"nDCG@10": "same"}),
    ("same", {"Robustness(delta=0.3)@10": "same"}),
    ("too few queries", {"nDCG@10": "open"}),
    ("too few queries", {"ZeroHit@10": "open"}),
    ("torn", {"nDCG@10": "up", "R@100": "down"}),
    ("torn", {"nDCG@10": "down", "ZeroHit@10": "up", "AP": "open"}),
    ("more complete", {"R@10": "up", "RR@10": "same"}),
    ("more complete", {"RCap@10": "up", "P@1": "open"}),
    ("more complete", {"R@10": "up", "RR@10": "down"}),
    ("open", {"nDCG@10": (34, 20)}),
    ("not shown after correction", {"nDCG@10": "nearly up", "AP": "open"}),
    ("first hit better", {"RR@10": "up", "R@10": "same"}),
    ("first hit better", {"RR@10": "up", "R@10": "down"}),
    ("first hit better", {"nDCG@1": "up", "R@10": "open"}),
    ("noise", {"R@10": "up", "P@10": "down"}),
    ("noise", {"nDCG@10": "up", "R@100": "up", "P@10": "down"}),
    ("tail worse", {"R@10": "same", "ZeroHit@10": "down"}),
    ("tail worse", {"R@10": "open", "Robustness(delta=0.5)@10": "down"}),
    ("tail better", {"R@10": "same", "ZeroHit@10": "up"}),
    ("tail better", {"R@10": "open", "Robustness(delta=0.1)@10": "up"}),
]
NOT_GIVEN: list[tuple[str, Moves]] = [
    ("better", {"nDCG@10": "nearly up", "AP": "open"}),
    ("better", {"nDCG@10": "open", "R@10": "up"}),  # the first measure decides
    ("better", {"ZeroHit@10": "down"}),
    ("worse", {"nDCG@10": "nearly down", "AP": "open"}),
    ("worse", {"nDCG@10": "same", "ZeroHit@10": "down"}),
    ("worse", {"ZeroHit@10": "up"}),
    ("same", {"nDCG@10": "open"}),
    ("same", {"nDCG@10": "nearly up", "AP": "open"}),
    ("open", {"nDCG@10": "same"}),
    ("open", {"nDCG@10": "up"}),
    ("open", {"nDCG@10": "open"}),  # too few to tell
    ("too few queries", {"nDCG@10": "same"}),
    ("too few queries", {"nDCG@10": "up"}),
    ("too few queries", {"nDCG@10": "up", "R@10": "open"}),
    ("torn", {"nDCG@10": "up", "R@100": "nearly down", "AP": "open"}),
    ("torn", {"nDCG@10": "open", "R@100": "down"}),
    ("torn", {"nDCG@10": "same", "R@100": "down"}),
    ("more complete", {"R@10": "up", "RR@10": "up"}),
    ("more complete", {"R@10": "up", "RR@10": "nearly up", "AP": "open"}),
    ("more complete", {"R@10": "nearly up", "RR@10": "same", "AP": "open"}),
    ("more complete", {"R@10": "same", "RR@10": "same"}),
    ("more complete", {"RR@10": "up", "R@100": "up", "Success@1": "same"}),  # one of the first hits is better
    ("noise", {"R@10": "up", "P@10": (0, 3)}),  # down by less than the margin
    ("more complete", {"R@10": "up", "P@10": "same"}),  # P@10 says nothing of the first hit
    ("first hit better", {"RR@10": "up", "R@10": "up"}),
    ("first hit better", {"RR@10": "up", "R@10": "nearly up", "AP": "open"}),
    ("first hit better", {"RR@10": "nearly up", "R@10": "same", "AP": "open"}),
    ("first hit better", {"P@10": "up", "R@10": "same"}),
    ("noise", {"R@10": "up", "P@10": "same"}),
    ("noise", {"R@10": "up", "P@10": "nearly down", "AP": "open"}),
    ("noise", {"R@10": "open", "P@10": "down"}),
    ("noise", {"R@10": "down", "P@10": "up"}),
    ("noise", {"R@10": "up", "P@1": "down"}),  # the first hit, not precision
    ("tail worse", {"R@10": "down", "ZeroHit@10": "down"}),
    ("tail worse", {"R@10": "nearly down", "ZeroHit@10": "down", "AP": "open", "P@10": "open"}),
    ("tail worse", {"R@10": "same", "ZeroHit@10": "up"}),
    ("tail worse", {"R@10": "same", "ZeroHit@10": "open"}),
    ("tail worse", {"R@10": "same", "ZeroHit@10": "nearly down", "AP": "open"}),
    ("tail worse", {"R@10": "same", "Robustness(delta=0.9)@10": "down"}),
    ("tail worse", {"nDCG@10": "same", "ZeroHit@10": "down"}),  # no mean recall to set it against
    ("tail better", {"R@10": "up", "ZeroHit@10": "up"}),
    ("tail better", {"R@10": "same", "ZeroHit@10": "down"}),
    ("tail better", {"R@10": "same", "Robustness(delta=0.9)@10": "up"}),
]


def columns(measure: str, move: str | tuple[int, int]) -> tuple[Floats, Floats]:
    """Values of one measure before and after."""
    better, worse = MOVES[move] if isinstance(move, str) else move
    result = parse(measure)
    before = np.full(N, 1.0 if result.kind == "share" else 0.5)
    after = before.copy()
    (before if result.kind == "share" else after)[:better] = 1 - before[0] if result.kind == "share" else 1.0
    after[N - worse :] = 0.0
    return (1 - before, 1 - after) if result.lower_is_better else (before, after)


def compare_moves(moves: Moves, slices: Sequence[Slice] = (), **options: Any) -> Comparisons:
    result = {measure: columns(measure, move) for measure, move in moves.items()}
    before, after = (Scores(IDS, {measure: pair[end] for measure, pair in result.items()}) for end in (0, 1))
    return compare_scores(
        before, {"new": after}, slices, baseline_name="old", options=ComparisonOptions(**options)
    )


@pytest.mark.parametrize(("key", "moves"), GIVEN)
def test_a_reading_is_given_and_cites_its_numbers(key: str, moves: Moves) -> None:
    result = compare_moves(moves, margin=0.03 if key == "open" else 0.01)
    assert keys(result).count(key) == 1
    assert find_reading(result, key).candidate == "new"
    cites_its_evidence(result, key)


@pytest.mark.parametrize(("key", "moves"), NOT_GIVEN)
def test_a_reading_is_not_given_for_what_only_looks_like_it(key: str, moves: Moves) -> None:
    assert key not in keys(compare_moves(moves))


@pytest.mark.parametrize(
    ("move", "state"), [(m, {"up": "better", "down": "worse", "same": "same"}.get(m, "open")) for m in MOVES]
)
@pytest.mark.parametrize("measure", ["R@10", "ZeroHit@10", "Robustness(delta=0.3)@10"])
def test_the_moves_of_these_tests_are_what_they_are_called(measure: str, move: str, state: str) -> None:
    row = compare_moves({measure: move, "AP": "open"}).find(measure)
    assert row.state(0.01) == state
    assert (row.p or 0) < 0.05 < (row.corrected_p or 0) or not move.startswith("nearly")


@pytest.mark.parametrize(
    ("moves", "key", "text"),
    [
        (
            {"nDCG@10": "up"},
            "better",
            "new is better than old by nDCG@10: nDCG@10 +0.1250 (+0.1037 … +0.1463), p < 0.001",
        ),
        (
            {"nDCG@10": "down"},
            "worse",
            "new is worse than old by nDCG@10: nDCG@10 −0.1250 (−0.1463 … −0.1037), p < 0.001",
        ),
        ({"nDCG@10": "same"}, "same", "no difference that matters (none beyond ±0.01): nDCG@10 0.0000"),
        ({"R@10": "up", "P@1": "same"}, "more complete", "the first hit is unchanged (within ±0.01): R@10"),
        ({"R@10": "up", "P@1": "open"}, "more complete", "the first hit is not shown to move: R@10"),
        ({"R@10": "open", "RR": "up"}, "first hit better", "but coverage is not shown to move: RR"),
        ({"R@10": "same", "RR": "up"}, "first hit better", "but coverage is unchanged (within ±0.01): RR"),
        ({"R@10": "up", "P@1": "down"}, "more complete", "more complete, but the first hit is worse: R@10"),
        ({"R@10": "down", "RR": "up"}, "first hit better", "better, but coverage is worse: RR"),
        ({"R@10": "up", "P@10": "down"}, "noise", "recall is up and precision is down"),
        (
            {"R@10": "open", "ZeroHit@10": "up"},
            "tail better",
            "mean recall (R@10) is not shown to move, but the tail is",
        ),
    ],
)
def test_a_reading_says_in_words_what_is_the_case(moves: Moves, key: str, text: str) -> None:
    assert text in describe_reading(find_reading(compare_moves(moves), key))


def test_a_real_difference_smaller_than_the_margin_does_not_matter() -> None:
    moves: Moves = {"nDCG@10": (6, 0)}
    assert compare_moves(moves).find("nDCG@10").direction() == "better"
    assert keys(compare_moves(moves)) == ["better"]
    assert keys(compare_moves(moves, margin=0.03)) == ["same"]


def test_a_reading_keeps_to_the_level_that_was_asked_for() -> None:
    moves: Moves = {"nDCG@10": "nearly up"}
    assert keys(compare_moves(moves)) == ["better"]
    assert keys(compare_moves(moves, level=0.99)) == ["too few queries"]


def test_too_few_queries_says_how_many_it_takes() -> None:
    result = compare_moves({"nDCG@10": "open"})
    size = result.sizes["new"]["nDCG@10"]
    text = describe_reading(find_reading(result, "too few queries"))
    assert (
        f"detect {size.detectable_difference:.4f} at the smallest; 0.01 would take {size.queries_needed:,}"
        in text
    )
    assert text.startswith(
        "no difference is shown, and one of 0.01 is not excluded "
        "(unreliable for differences of 0.01: 400 queries ("
    )


def test_queries_that_could_tell_but_did_not_are_not_too_few() -> None:
    result = compare_moves({"nDCG@10": "nearly up", "AP": "open"}, margin=0.03)
    assert result.find("nDCG@10").state(0.03) == "open"
    assert (result.sizes["new"]["nDCG@10"].detectable_difference or 1) < 0.03
    assert keys(result) == ["not shown after correction"]


def test_a_difference_that_only_correction_leaves_open_is_called_so() -> None:
    result = compare_moves({"nDCG@10": "nearly up", "AP": "open"})
    (reading,) = result.readings
    assert describe_reading(reading).startswith(
        "a difference in nDCG@10 is not shown after correction (p 0.031 before): nDCG@10 +0.0175"
    )
    shown = render_comparison(result, "table")
    assert "? not shown after correction" in shown
    assert "? undecided" in shown  # AP, whose interval contains 0


@pytest.mark.parametrize(("n", "said"), [(0, "0 queries"), (1, "1 query")])
def test_one_query_or_none_is_too_few(n: int, said: str) -> None:
    before, after = (Scores(IDS[:n], {"R@10": np.full(n, value)}) for value in (0.2, 0.4))
    (result,) = compare_scores(before, {"new": after}).readings
    assert result.key == "too few queries"
    assert f"too few to say anything about a difference ({said})" in describe_reading(result)


def test_each_candidate_is_read_by_itself() -> None:
    before, after = columns("R@10", "up")
    base, better, worse = (Scores(IDS, {"R@10": values}) for values in (before, after, 1 - after))
    computed_result = compare_scores(base, {"b": better, "w": worse, "s": base})
    result = [(r.key, r.candidate, describe_reading(r).split(":")[0]) for r in computed_result.readings]
    assert result[:2] == [
        ("better", "b", "b is better than baseline by R@10"),
        ("worse", "w", "w is worse than baseline by R@10"),
    ]
    assert result[2][:2] == ("same", "s")


# The tail


def test_a_quantile_below_the_middle_is_a_tail() -> None:
    tail = "Quantile(R@10, 0.05)"
    result = compare_moves(
        {"R@10": "open", tail: "open"}
    )  # a tenth of the queries falls to 0, a tenth rises to 1
    assert (result.find(tail).baseline, result.find(tail).candidate) == (0.5, 0.0)
    cites_its_evidence(result, "tail worse")
    head = compare_moves({"R@10": "open", "Quantile(R@10, 0.95)": "open"})
    assert head.find("Quantile(R@10, 0.95)").direction() == "better"
    assert {"tail worse", "tail better"}.isdisjoint(keys(head))


@pytest.mark.parametrize(("tail", "word"), [("up", "better"), ("down", "worse")])
@pytest.mark.parametrize("nearly_complete", ["up", "down", "open"])
def test_the_nearly_complete_are_named_where_they_moved_the_other_way(
    tail: str, word: str, nearly_complete: str
) -> None:
    moves: Moves = {"R@10": "same", "ZeroHit@10": tail, "Robustness(delta=0.9)@10": nearly_complete}
    result = find_reading(compare_moves(moves), f"tail {word}")
    other_way = nearly_complete not in (tail, "open")
    assert ("(while Robustness(delta=0.9)@10 moved the other way)" in describe_reading(result)) == other_way
    assert len(result.evidence) == (3 if other_way else 2)


def test_the_tail_is_read_by_all_measures_that_moved_so() -> None:
    low = [f"Robustness(delta={delta})@10" for delta in (0.1, 0.3, 0.5)]
    result = compare_moves({"R@10": "same", low[0]: "down", low[1]: "open", low[2]: "down"})
    assert [row.measure for row in find_reading(result, "tail worse").evidence] == ["R@10", low[0], low[2]]


def test_tail_measures_that_contradict_each_other_are_both_named() -> None:
    computed_result = compare_moves({"R@10": "same", "ZeroHit@10": "down", "Robustness(delta=0.5)@10": "up"})
    result = find_reading(computed_result, "tail worse")
    assert "worse (while Robustness(delta=0.5)@10 moved the other way)" in describe_reading(result)
    assert "tail better" not in keys(computed_result)


def test_the_tail_is_set_against_recall_at_the_same_depth() -> None:
    assert "tail worse" in keys(compare_moves({"R@100": "same", "ZeroHit@100": "down"}))
    assert "tail worse" not in keys(compare_moves({"R@100": "same", "ZeroHit@10": "down"}))


# Slices

HALVES = (list(range(200)), list(range(200, N)))
FREQUENCY = [Slice("frequency", name, rows) for name, rows in zip(("head", "tail"), HALVES, strict=True)]
QUARTER = [Slice("team", "a", list(range(300))), Slice("team", "b", list(range(300, N)))]


@pytest.mark.parametrize("measure", ["nDCG@10", "ZeroHit@10", "Robustness(delta=0.3)@10"])
def test_head_up_and_tail_down_is_over_fitting(measure: str) -> None:
    computed_result = compare_moves({measure: (60, 60)}, FREQUENCY)
    cites_its_evidence(computed_result, "head over tail")
    result = find_reading(computed_result, "head over tail")
    assert [row.slice for row in result.evidence] == ["frequency: head", "frequency: tail"]
    assert describe_reading(result).startswith(
        "head up and tail down (they differ with p < 0.001): over-fitting to frequent"
    )


@pytest.mark.parametrize(
    ("move", "slices"),
    [
        ((1, 1), FREQUENCY),  # apart by chance
        ((2, 2), FREQUENCY),  # p 0.046, of one measure of two
        ((100, 0), FREQUENCY),  # the tail stayed
        ((0, 100), FREQUENCY),
        ((60, 60), [FREQUENCY[0]._replace(value="tail"), FREQUENCY[1]._replace(value="head")]),
        ((60, 60), FREQUENCY[:1]),
        ((60, 60), [FREQUENCY[0], FREQUENCY[1]._replace(value="torso")]),
        ((60, 60), [part._replace(column="team") for part in FREQUENCY]),
        ((60, 60), [FREQUENCY[0]._replace(rows=[0]), FREQUENCY[1]]),  # one frequent query tells nothing
        ((60, 60), []),
    ],
)
def test_frequent_and_rare_queries_that_do_not_part_are_no_over_fitting(
    move: tuple[int, int], slices: list[Slice]
) -> None:
    assert "head over tail" not in keys(compare_moves({"nDCG@10": move, "AP": "same"}, slices))


@pytest.mark.parametrize("measure", ["nDCG@10", "ZeroHit@10"])
@pytest.mark.parametrize("gains", [100, 200])
def test_a_slice_that_got_worse_is_named_where_the_whole_did_not(measure: str, gains: int) -> None:
    computed_result = compare_moves({measure: (gains, 100)}, QUARTER)
    cites_its_evidence(computed_result, "slices worse")
    result = find_reading(computed_result, "slices worse")
    assert describe_reading(result).startswith("worse for team: b, although not over all queries: ")
    assert [row.slice for row in result.evidence] == ["all", "team: b"]


def test_a_loss_that_is_all_in_one_slice_is_said_to_be() -> None:
    computed_result = compare_moves({"nDCG@10": (10, 100)}, QUARTER)
    result = find_reading(computed_result, "loss in slices")
    assert describe_reading(result).startswith(
        "the loss is all in team: b; elsewhere nDCG@10 did not fall: nDCG@10 "
    )
    assert [row.slice for row in result.evidence] == ["all", "team: b"]
    assert "loss in slices" not in keys(compare_moves({"nDCG@10": (0, 200)}, QUARTER))  # both fell
    assert "loss in slices" not in keys(compare_moves({"nDCG@10": (200, 100)}, QUARTER))  # the whole did not


def test_slices_that_got_worse_by_a_later_measure_are_named_too() -> None:
    result = find_reading(compare_moves({"nDCG@10": (200, 100), "R@10": (200, 100)}, QUARTER), "slices worse")
    assert [row.measure for row in result.evidence] == ["nDCG@10", "R@10"] * 2


def test_all_slices_that_got_worse_are_named() -> None:
    torn = [Slice("team", "b", list(range(300, 350))), Slice("kind", "c", list(range(350, N)))]
    result = find_reading(compare_moves({"nDCG@10": (200, 100)}, torn), "slices worse")
    assert describe_reading(result).startswith("worse for team: b, kind: c, although")


@pytest.mark.parametrize("move", [(0, 100), (200, 3), (200, 0)])
def test_no_slice_is_named_where_all_fell_or_none_is_shown_to(move: tuple[int, int]) -> None:
    assert "slices worse" not in keys(compare_moves({"nDCG@10": move}, QUARTER))


def test_a_slice_is_not_worse_before_correction_for_all_slices() -> None:
    moves: Moves = {"nDCG@10": (200, 4)}
    row = compare_moves(moves, QUARTER).find("nDCG@10", column="team", value="b")
    assert (row.p or 1) < 0.05 < (row.corrected_p or 0)
    assert "slices worse" not in keys(compare_moves(moves, QUARTER))
    assert "slices worse" in keys(compare_moves(moves, QUARTER, correction="none"))


# What nobody judged

QRELS = {query: {"a": 1, "b": 1, "n": 0, "m": 0} for query in IDS[:60]}


def runs(before: str, after: str) -> tuple[Any, Any]:
    first, second = ({query: [*ranking] for query in QRELS} for ranking in (before, after))
    return first, second


@pytest.mark.parametrize(
    ("measure", "before", "after"),
    [
        ("P@2", "xn", "an"),  # x would make both equal
        ("P@2", "xy", "an"),
        ("P@2", "an", "xn"),
        ("ZeroHit@2", "xn", "an"),
        ("ZeroHit@2", "an", "xn"),
        ("Robustness(delta=0.3)@2", "xn", "an"),
    ],
)
def test_a_move_that_judging_could_turn_is_inside_the_range(measure: str, before: str, after: str) -> None:
    result = compare(QRELS, *runs(before, after), measure)
    assert result.find(measure).direction()
    cites_its_evidence(result, "inside the unjudged range")


@pytest.mark.parametrize(
    ("measure", "before", "after"),
    [
        ("P@2", "mn", "an"),  # all judged
        ("P@2", "xn", "ab"),  # x is not enough
        ("P@2", "mn", "ax"),  # only what is better already has anything unjudged
        ("P@2", "mnx", "anx"),  # below the top
        ("P@2", "xn", "xn"),  # no move
        ("ZeroHit@2", "mn", "an"),
        ("ZeroHit@2", "mn", "ax"),
        ("Judged@2", "xn", "an"),  # says itself how much is judged
    ],
)
def test_a_move_that_judging_could_not_turn_is_not_inside_the_range(
    measure: str, before: str, after: str
) -> None:
    assert "inside the unjudged range" not in keys(compare(QRELS, *runs(before, after), measure))


def test_the_range_names_the_ends_of_both_systems() -> None:
    result = find_reading(compare(QRELS, *runs("xnm", "anx"), "P@3"), "inside the unjudged range")
    ends = "(P@3: baseline 0.0000 … 0.3333, candidate 0.3333 … 0.6667)"
    assert describe_reading(result).startswith(
        f"the score moves inside the unjudged range {ends}: judge the unjudged documents"
    )


def test_a_move_that_is_not_shown_is_not_inside_the_range() -> None:
    before, after = runs("an", "an")
    result = compare(QRELS, {**before, "q0": ["x", "n"]}, after, "P@2")
    assert (result.find("P@2").direction(), "inside the unjudged range" in keys(result)) == (None, False)
