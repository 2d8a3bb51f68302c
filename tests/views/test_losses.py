"""The waterfall as a table, as a page and as data."""

from assay.core.tables import Qrels, Run
from assay.evaluation.stage_losses import Checkpoint, trace_losses
from assay.views.losses import SlicedLosses, describe_query_losses, render_losses

QRELS = Qrels({f"q{i}": {"a": 1, "b": 1} for i in range(6)})
FOUND = trace_losses(
    QRELS,
    [
        Checkpoint("retrieval", "missed by retrieval", Run({f"q{i}": {"a": 1, "b": 1} for i in range(5)})),
        Checkpoint("shown", "pushed out by the reranker", Run({f"q{i}": {"a": 1} for i in range(6)})),
    ],
)


def test_bars_stand_beside_their_share_and_their_queries() -> None:
    lines = render_losses({"hybrid": SlicedLosses(FOUND)}, "table").splitlines()
    assert lines[0] == "hybrid: where 12 relevant documents of 6 queries went"
    pushed = next(line for line in lines if line.startswith("pushed out"))
    assert "5  0.417 (" in pushed
    assert pushed.rstrip().endswith("q0, q1, q2 and 2 more")
    found = next(line for line in lines if line.startswith("found"))
    assert (found.count("█"), pushed.count("█")) == (16, 13)


def test_long_ids_do_not_make_it_wider_than_a_page() -> None:
    ids = [f"a-very-long-id-of-a-query-{i}" for i in range(2000)]
    shown = Checkpoint("exact search", "missed even by exact search", {"b"})
    made = trace_losses(Qrels({query: {"a": 1, "b": 1} for query in ids}), [shown])
    assert max(map(len, render_losses({"hybrid": SlicedLosses(made)}, "table").splitlines())) <= 118


def test_what_a_stage_allows_stands_with_its_change() -> None:
    made = render_losses({"hybrid": SlicedLosses(FOUND)}, "md")
    assert "| retrieval | 0.833 (" in made
    assert "| – |" in made
    assert "−0.333 (" in made


def test_slices_follow_and_data_is_complete() -> None:
    bars = SlicedLosses(FOUND, {"kind: x": FOUND.parts_of_queries(["q0", "q2"])})
    assert "hybrid, kind: x" in render_losses({"hybrid": bars}, "html")
    assert bars.losses.to_dict()["per_query"]["q5"] == {
        "missed by retrieval": 1,
        "found": 1,
    }


def test_it_is_said_how_many_queries_are_left_out() -> None:
    some = trace_losses(QRELS, [Checkpoint("shown", "cut off", {"a"})], only=["q1"])
    assert "left out: 5 judged queries without an answer from it or from exact search" in render_losses(
        {"hybrid": SlicedLosses(some)}, "table"
    )


def test_a_query_is_told_in_a_line() -> None:
    assert describe_query_losses(FOUND, "q0") == "1 of 2 relevant found; 1 pushed out by the reranker"
