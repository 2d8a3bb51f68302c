"""Which queries fail, how they are grouped, and that each has a cause."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError, MeasureError, UndecidableError
from assay.core.tables import Documents
from assay.datasets import Collection, helpcentre, read
from assay.evaluation.causes import CAUSES
from assay.evaluation.failures import Failures, failures
from assay.search.in_memory import BM25Searcher
from assay.views.causes import describe_evidence
from assay.views.failures import failures_dict, undetectable_causes
from tests.reference_measures import QrelsAndRun, qrels_and_runs, quick

QRELS = {"q1": {"a": 1, "b": 1}, "q2": {"c": 1, "x": 0}, "q3": {"d": 1, "x": 0}, "q4": {"e": 1}}
RUN = {"q1": ["a", "b"], "q2": ["x", "c"], "q3": ["x", "y"], "q4": ["e"]}
QUERIES = {
    "query_id": ["q1", "q2", "q3", "q4"],
    "text": ["reset", "billing", "sso", "plans"],
    "team": ["a", "b", "b", "a"],
}


def test_queries_below_the_threshold_fail_the_worst_first() -> None:
    result = failures(QRELS, RUN, "RR", 1.0)
    assert [(f.query_id, f.value) for f in result.failing] == [("q3", 0.0), ("q2", 0.5)]
    assert [f.query_id for f in failures(QRELS, RUN, "RR", 0.5).failing] == ["q3"]
    assert (result.n, result.share.value, result.share.n) == (4, 0.5, 4)
    assert result.estimate.value == 0.625


def test_where_lower_is_better_those_above_the_threshold_fail() -> None:
    result = failures(QRELS, RUN, "ZeroHit@1")
    assert [f.query_id for f in result.failing] == ["q2", "q3"]
    assert [f.cause for f in result.failing] == ["near miss", "not retrieved"]


def test_a_query_without_a_value_neither_fails_nor_passes() -> None:
    result = failures({**QRELS, "q5": {"a": 0}}, RUN, "RCap@10")
    assert (result.n, result.undefined_queries, result.share.n) == (4, 1, 4)
    assert "q5" not in [f.query_id for f in result.failing]


def test_failures_are_grouped_by_cause_the_most_frequent_first() -> None:
    result = failures({**QRELS, "q6": {"z": 1, "x": 0}}, RUN | {"q6": ["x"]}, "R@1")
    assert {cause: [f.query_id for f in group] for cause, group in result.by_cause.items()} == {
        "not retrieved": ["q3", "q6"],
        "near miss": ["q2"],
    }
    assert repr(result) == "Failures('run', 3 of 5 queries: 2 not retrieved, 1 near miss)"


def test_failures_are_grouped_by_slice_with_a_share_and_causes() -> None:
    result = failures(QRELS, RUN, "R@1", queries=QUERIES, by=["team"])
    parts = [(s.column, s.value, s.n, s.failing, s.share.value, s.causes) for s in result.by_slice]
    causes = {"near miss": 1, "not retrieved": 1}
    assert parts == [("team", "a", 2, 0, 0.0, {}), ("team", "b", 2, 2, 1.0, causes)]
    assert result.by_slice[1].share.low is not None
    assert [f.slices for f in result.failing] == [{"team": "b"}, {"team": "b"}]


def test_the_likely_cause_explains_most_of_what_is_missing() -> None:
    qrels = {"q": {"a": 1, "b": 1, "c": 1, "d": 1}, "ok": {"x": 1}}
    run = {"q": ["x", "b", "c"], "ok": ["x"]}
    corpus = dict.fromkeys("abcx", "some words")
    result = failures(qrels, run, "R@1", 0.25, documents=corpus | {"a": "one", "b": "two", "c": "three"})
    assert [(e.cause, e.explained_documents, e.documents) for e in result.failing[0].evidence] == [
        ("near miss", 2, ("b", "c")),
        ("not in the corpus", 1, ("d",)),
        ("not retrieved", 1, ("a",)),
    ]


def test_a_wrong_measurement_comes_before_a_wrong_search() -> None:
    qrels, run = {"q": {"a": 1, "b": 1}, "ok": {"x": 1}}, {"q": ["x", "b"], "ok": ["x"]}
    result = failures(qrels, run, "R@1", 0.6, documents={"b": "one", "x": "two"}).failing[0]
    assert [e.cause for e in result.evidence] == ["unreachable", "not in the corpus", "near miss"]
    assert list(CAUSES).index("not in the corpus") < list(CAUSES).index("near miss")
    loser = failures(qrels, run, "R@1", exact={"q": ["b", "a"]}).failing[0]
    assert [e.cause for e in loser.evidence] == ["ANN loss", "not retrieved"]


def test_what_could_not_be_looked_for_is_said() -> None:
    result = failures(QRELS, RUN, "R@1")
    bare = {u.causes: u.missing_input for u in result.undetectable}
    assert bare["ANN loss"] == "exact search"
    assert bare["not in the corpus"] == "documents"
    assert bare["exact term missed, vocabulary gap, queries asked twice"] == "query texts"
    assert "ANN loss: give the run of exact search: --exact" in undetectable_causes(result)
    assert "near miss" not in bare
    assert "near miss" in [u.causes for u in failures(QRELS, RUN, "R@10").undetectable]  # nothing is deeper
    settings: dict[str, Any] = {
        "queries": QUERIES,
        "documents": {doc: doc for doc in "abcdexy"},
        "exact": RUN,
    }
    judged = {query: {"x": 0, "y": 0} | grades for query, grades in QRELS.items()}
    assert failures(judged, RUN, "R@1", **settings).undetectable == []


def test_a_collection_brings_its_queries_and_documents() -> None:
    queries, qrels, documents = helpcentre()
    run = BM25Searcher(documents).search(queries, 100)
    result = failures(Collection(queries, qrels, documents), run, by=["category"])
    assert result.standing is not None
    assert result.standing.level == "low"
    assert {"near miss", "vocabulary gap"} <= result.by_cause.keys()
    assert [u.causes for u in result.undetectable] == ["ANN loss"]
    worst = max(result.by_slice, key=lambda part: part.share.value or 0)
    assert worst.value == "paraphrase"


def test_documents_may_have_ids_alone() -> None:
    result = failures(QRELS, RUN, "R@1", documents=Documents({"doc_id": ["a", "b", "c", "x"]}))
    assert {f.query_id: f.cause for f in result.failing}["q3"] == "not in the corpus"
    assert "exact term missed, vocabulary gap, duplicates" in [u.causes for u in result.undetectable]


def test_no_failing_query_is_a_happy_case() -> None:
    result = failures({"q": {"a": 1}}, {"q": ["a"]})
    assert (result.failing, result.by_cause, result.share.value) == ([], {}, 0.0)
    assert repr(result) == "Failures('run', 0 of 1 queries)"


def test_what_a_reranker_could_reach_stands_beside_the_score() -> None:
    result = failures(QRELS, RUN, "R@1", depth=2)
    assert result.reranked_estimate.value == pytest.approx((0.5 + 1 + 0 + 1) / 4)


def test_plain_data_has_stable_keys() -> None:
    result = failures_dict(failures(QRELS, RUN, "R@1", queries=QUERIES, by=["team"]))
    assert json.loads(json.dumps(result)) == result
    assert list(result) == [
        *("name", "measure", "below", "lower_is_better", "depth", "n", "undefined", "estimate", "standing"),
        *("reranked", "failing", "share", "causes", "slices", "queries", "unknown", "level", "seed"),
    ]
    assert set(result["queries"][0]) == {
        "query_id",
        "text",
        "value",
        "slices",
        "missing",
        "evidence",
        "cause",
    }
    assert set(result["queries"][0]["evidence"][0]) == {"cause", "text", "documents", "explained"}
    assert set(result["causes"][0]) == {"cause", "queries", "share", "means", "fix", "query_ids"}
    assert set(result["slices"][0]) == {"column", "value", "n", "failing", "share", "causes"}


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"below": 0}, InputError, "the threshold of R@10 must be above 0, at most 1, found 0"),
        ({"below": 1.5}, InputError, "above 0, at most 1"),
        ({"below": float("nan")}, InputError, "found nan"),
        ({"measure": "ZeroHit@10", "below": 1}, InputError, "must be from 0 to below 1"),
        ({"depth": 0}, InputError, "the depth must be 10 or more"),
        ({"measure": "Judged@10"}, MeasureError, "says how much was judged"),
        ({"measure": "nDGC@10"}, MeasureError, "did you mean nDCG?"),
        ({"documents": {"other": "text"}}, InputError, "the document table has none of the judged documents"),
        ({"exact": {"z": ["a"]}}, UndecidableError, "run 'exact' shares no query"),
    ],
)
def test_wrong_use_says_what_to_do(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        failures(QRELS, RUN, **options)


def test_a_measure_that_no_query_has_is_undecidable() -> None:
    with pytest.raises(UndecidableError, match="RCap@10 is undefined for every query"):
        failures({"q": {"a": 0}}, {"q": ["a"]}, "RCap@10")


def test_thresholds_of_measures_without_an_upper_end_are_free() -> None:
    assert [f.query_id for f in failures(QRELS, RUN, "DCG@10", 1.5).failing] == ["q3", "q2", "q4"]


def explained_once(result: Failures) -> bool:
    """Whether each missing document has one cause of documents."""
    for failure in result.failing:
        documents = [
            doc
            for e in failure.evidence
            if CAUSES[e.cause].detect_in_document is not None
            for doc in e.documents
        ]
        if sorted(documents) != sorted(failure.missing):
            return False
    return True


MEASURES = (
    "R@1",
    "R@3",
    "nDCG@3",
    "AP",
    "RR@2",
    "P@2",
    "P",
    "Success@1",
    "ZeroHit@2",
    "Rprec",
    "RCap@2",
    "F@3",
)


@quick
@given(
    qrels_and_runs(lowest=-1),
    st.sampled_from(MEASURES),
    st.sampled_from((0.2, 0.5, 0.99)),
    st.integers(10, 18),
)
def test_every_failure_has_evidence_and_every_missing_document_one_cause(
    qrels_and_run: QrelsAndRun, measure: str, below: float, depth: int
) -> None:
    qrels, run = qrels_and_run
    corpus = {
        doc: "alpha" if doc < "c" else f"beta {doc}" for doc in ("a", "b", "d1", "é", *qrels[min(qrels)])
    }
    queries = {"query_id": list(qrels), "text": ["beta d1" for _ in qrels]}
    try:
        result = failures(qrels, run, measure, below, queries, documents=corpus, exact=run, depth=depth)
    except UndecidableError:
        return
    assert all(failure.evidence for failure in result.failing)
    assert explained_once(result)
    assert sum(map(len, result.by_cause.values())) == len(result.failing)


def test_cranfield_fails_mostly_by_near_misses_and_other_words(shared: Path) -> None:
    folder = shared / "cranfield"
    queries, documents = read(folder / "cran.qry", "queries"), read(folder / "cran.all.1400", "documents")
    run = BM25Searcher(documents).search(queries, 100)
    result = failures(read(folder / "cranqrel", "qrels"), run, queries=queries, documents=documents)
    assert list(result.by_cause)[:2] == ["near miss", "vocabulary gap"]
    assert explained_once(result)
    of = {
        failure.query_id: describe_evidence(failure.evidence[0], result.scope) for failure in result.failing
    }
    assert "68 has none of the words anyone, discover, turbulent, skin, friction" in of["22"]
