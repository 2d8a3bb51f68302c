"""The first documents of a run, collected while it is scored."""

from hypothesis import given
from hypothesis import strategies as st

from assay.core.rankings import Rankings
from assay.core.recorded_run import RecordedRun
from assay.core.score_order import ScoreOrder
from assay.core.tables import Run
from assay.evaluation import evaluate

_SCORES = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([0.0, 0.5, 1.0]), min_size=1)


def read(run: RecordedRun) -> Rankings:
    """Return the first documents of a run after it has been read."""
    for _ in run.blocks():
        pass
    return Rankings.from_tops(run.tops)


@given(st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), _SCORES, min_size=1))
def test_documents_are_ordered_by_score_then_by_larger_id(scores: dict[str, dict[str, float]]) -> None:
    run = RecordedRun(Run(scores), depth=3)
    rankings = read(run)
    for query, docs in scores.items():
        ordered = sorted(docs, key=lambda doc: (docs[doc], doc), reverse=True)
        assert rankings.of(query) == ordered[:3]
    assert run.digest == Run(scores).digest


def test_distances_are_ordered_from_the_lowest() -> None:
    run = RecordedRun(Run({"q": {"near": 0.1, "far": 0.9}}), order=ScoreOrder(lower_is_better=True))
    assert read(run).of("q") == ["near", "far"]


def test_scoring_a_run_collects_its_first_documents() -> None:
    run = RecordedRun(Run({"q": {"a": 0.1, "b": 0.9}, "r": {"c": 1.0}}))
    evaluate({"q": {"a": 1}}, run, ["nDCG@10"])
    rankings = Rankings.from_tops(run.tops)
    assert [rankings.of(query) for query in ("q", "r", "s")] == [["b", "a"], ["c"], []]


def test_equal_rankings_have_an_equal_digest() -> None:
    first, second = (read(RecordedRun(Run({"q": {"a": x, "b": 1.0}}))) for x in (0.1, 0.2))
    other = read(RecordedRun(Run({"q": {"a": 2.0, "b": 1.0}})))
    assert first.digest == second.digest != other.digest
    assert len(first) == 2
