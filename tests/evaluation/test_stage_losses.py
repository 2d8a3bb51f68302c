"""The waterfall: every relevant document is lost in one place, or found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import UndecidableError
from assay.core.tables import Qrels, Run
from assay.evaluation.stage_losses import FOUND, Checkpoint, StageOutput, trace_losses

QRELS = Qrels({"q1": {"a": 2, "b": 1, "c": 1, "x": 1, "z": 0}, "q2": {"d": 1, "e": 1}, "q3": {"f": 0}})
WAY = [
    Checkpoint("corpus", "not in the corpus", {"a", "b", "c", "d", "e", "z"}),
    Checkpoint("exact", "missed by the encoder", {"q1": ["a", "b"], "q2": ["d"]}),
    Checkpoint("retrieved", "lost by the index", Run({"q1": {"a": 3, "z": 2}, "q2": {"d": 1, "e": 0.5}})),
    Checkpoint("shown", "pushed out", Run({"q1": {"a": 9}, "q2": {"e": 1}})),
]


def test_each_relevant_document_is_lost_after_the_last_checkpoint_that_had_it() -> None:
    result = trace_losses(QRELS, WAY)
    assert result.of_query("q1") == {
        "not in the corpus": 1, "missed by the encoder": 1, "lost by the index": 1, FOUND: 1,
    }  # fmt: skip
    assert result.of_query("q2") == {"pushed out": 1, FOUND: 1}  # e was missed by exact search, and is there
    assert result.query_ids == ["q1", "q2"]  # q3 has nothing to lose


def test_bars_carry_their_share_and_the_queries_behind_them() -> None:
    parts = {part.name: part for part in trace_losses(QRELS, WAY).parts()}
    assert [part.documents for part in parts.values()] == [1, 1, 1, 1, 2]
    assert parts[FOUND].share.value == pytest.approx(2 / 6)
    assert parts[FOUND].queries == ["q1", "q2"]
    assert parts["pushed out"].queries == ["q2"]
    assert parts["pushed out"].share.low == 0.0  # q2 may be drawn or not
    assert parts["pushed out"].share.high == pytest.approx(0.5)


def test_ceilings_are_the_recall_that_is_left() -> None:
    ceilings = trace_losses(QRELS, WAY).ceilings()
    assert [round(c.recall.value or 0, 4) for c in ceilings] == [0.875, 0.5, 0.625, 0.375]
    assert ceilings[0].change is None
    assert ceilings[3].change is not None
    assert ceilings[3].change.value == pytest.approx(-0.25)


def test_what_only_tells_losses_apart_bounds_nothing() -> None:
    between = Checkpoint("before", "not lifted", {"q1": ["b"], "q2": ["d"]}, is_ceiling=False)
    result = trace_losses(QRELS, [*WAY[:3], between, WAY[3]])
    assert result.of_query("q2") == {"pushed out": 1, FOUND: 1}
    assert result.checkpoints == ["corpus", "exact", "retrieved", "shown"]
    assert [c.recall for c in result.ceilings()] == [c.recall for c in trace_losses(QRELS, WAY).ceilings()]


def test_a_stage_is_told_by_what_it_added_and_took_away() -> None:
    words, vectors = {"q1": ["a", "b"], "q2": []}, {"q1": ["a"], "q2": ["d"]}
    fused = StageOutput("fusion", {"q1": ["a"], "q2": ["d", "e"]}, ("words", "vectors"))
    result = trace_losses(
        QRELS, WAY, stage_outputs=[StageOutput("words", words), StageOutput("vectors", vectors), fused]
    )
    assert [step.recall.value for step in result.steps] == [0.25, 0.375, 0.625]
    assert (result.steps[0].against, result.steps[0].change) == (None, None)
    last = result.steps[2]
    assert (last.against, last.added_documents, last.removed_documents) == ("vectors", 1, 0)
    assert last.change is not None
    assert (last.change.value, last.change.n) == (0.25, 2)
    assert result.to_dict()["steps"][2]["change"]["value"] == 0.25


def test_a_higher_grade_asks_for_less() -> None:
    result = trace_losses(QRELS, WAY, rel=2)
    assert (result.query_ids, result.of_query("q1")) == (["q1"], {FOUND: 1})
    assert result.parts()[-1].share.low is None  # of one query nothing can be said
    with pytest.raises(UndecidableError, match="grade 5"):
        trace_losses(QRELS, WAY, rel=5)


def test_some_queries_have_bars_of_their_own() -> None:
    result = trace_losses(QRELS, WAY)
    assert [part.documents for part in result.parts_of_queries(["q1", "q9"])] == [1, 1, 1, 0, 1]
    assert [part.documents for part in result.parts_of_queries(["q2"])] == [0, 0, 0, 1, 1]


def test_what_was_not_answered_is_left_out_and_counted() -> None:
    result = trace_losses(QRELS, WAY, only=["q2", "q3"])
    assert (result.query_ids, result.excluded_queries) == (["q2"], 1)  # q3 has nothing to lose
    assert result.to_dict()["left_out"] == 1


DOCS = st.sets(st.sampled_from("abcdefgh"), min_size=1)


@given(
    st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), DOCS, min_size=1),
    st.lists(DOCS, min_size=1, max_size=5),
)
def test_the_parts_add_up_to_the_whole_for_every_query(
    relevant: dict[str, set[str]], way: list[set[str]]
) -> None:
    qrels = Qrels({query: dict.fromkeys(docs, 1) for query, docs in relevant.items()})
    result = trace_losses(qrels, [Checkpoint(str(i), f"lost at {i}", docs) for i, docs in enumerate(way)])
    assert {q: sum(result.of_query(q).values()) for q in relevant} == {q: len(d) for q, d in relevant.items()}
    text = {query: len(docs & way[-1]) for query, docs in relevant.items()}
    assert {q: result.of_query(q).get(FOUND, 0) for q in relevant} == text
    assert sum(part.share.value or 0 for part in result.parts()) == pytest.approx(1)


def test_the_waterfall_is_plain_data() -> None:
    result = trace_losses(QRELS, WAY).to_dict()
    assert [part["name"] for part in result["parts"]][-1] == FOUND
    assert result["per_query"]["q2"] == {"pushed out": 1, FOUND: 1}
    assert result["ceilings"][0]["change"] is None
    assert np.isclose(result["ceilings"][1]["change"]["value"], -0.375)
