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
from assay.search.embedded import BM25
from brute import World, quick, worlds

QRELS = {"q1": {"a": 1, "b": 1}, "q2": {"c": 1, "x": 0}, "q3": {"d": 1, "x": 0}, "q4": {"e": 1}}
RUN = {"q1": ["a", "b"], "q2": ["x", "c"], "q3": ["x", "y"], "q4": ["e"]}
QUERIES = {
    "query_id": ["q1", "q2", "q3", "q4"],
    "text": ["reset", "billing", "sso", "plans"],
    "team": ["a", "b", "b", "a"],
}


def test_queries_below_the_threshold_fail_the_worst_first() -> None:
    found = failures(QRELS, RUN, "RR", 1.0)
    assert [(f.query_id, f.value) for f in found.failing] == [("q3", 0.0), ("q2", 0.5)]
    assert [f.query_id for f in failures(QRELS, RUN, "RR", 0.5).failing] == ["q3"]
    assert (found.n, found.share.value, found.share.n) == (4, 0.5, 4)
    assert found.estimate.value == 0.625


def test_where_lower_is_better_those_above_the_threshold_fail() -> None:
    found = failures(QRELS, RUN, "ZeroHit@1")
    assert [f.query_id for f in found.failing] == ["q2", "q3"]
    assert [f.cause for f in found.failing] == ["near miss", "not retrieved"]


def test_a_query_without_a_value_neither_fails_nor_passes() -> None:
    found = failures({**QRELS, "q5": {"a": 0}}, RUN, "RCap@10")
    assert (found.n, found.undefined, found.share.n) == (4, 1, 4)
    assert "q5" not in [f.query_id for f in found.failing]


def test_failures_are_grouped_by_cause_the_most_frequent_first() -> None:
    found = failures({**QRELS, "q6": {"z": 1, "x": 0}}, RUN | {"q6": ["x"]}, "R@1")
    assert {cause: [f.query_id for f in group] for cause, group in found.by_cause.items()} == {
        "not retrieved": ["q3", "q6"],
        "near miss": ["q2"],
    }
    assert repr(found) == "Failures('run', 3 of 5 queries: 2 not retrieved, 1 near miss)"


def test_failures_are_grouped_by_slice_with_a_share_and_causes() -> None:
    found = failures(QRELS, RUN, "R@1", queries=QUERIES, by=["team"])
    parts = [(s.column, s.value, s.n, s.failing, s.share.value, s.causes) for s in found.by_slice]
    causes = {"near miss": 1, "not retrieved": 1}
    assert parts == [("team", "a", 2, 0, 0.0, {}), ("team", "b", 2, 2, 1.0, causes)]
    assert found.by_slice[1].share.low is not None
    assert [f.slices for f in found.failing] == [{"team": "b"}, {"team": "b"}]


def test_the_likely_cause_explains_most_of_what_is_missing() -> None:
    qrels = {"q": {"a": 1, "b": 1, "c": 1, "d": 1}, "ok": {"x": 1}}
    run = {"q": ["x", "b", "c"], "ok": ["x"]}
    corpus = dict.fromkeys("abcx", "some words")
    found = failures(qrels, run, "R@1", 0.25, documents=corpus | {"a": "one", "b": "two", "c": "three"})
    assert [(e.cause, e.explained, e.documents) for e in found.failing[0].evidence] == [
        ("near miss", 2, ("b", "c")),
        ("not in the corpus", 1, ("d",)),
        ("not retrieved", 1, ("a",)),
    ]


def test_a_wrong_measurement_comes_before_a_wrong_search() -> None:
    qrels, run = {"q": {"a": 1, "b": 1}, "ok": {"x": 1}}, {"q": ["x", "b"], "ok": ["x"]}
    found = failures(qrels, run, "R@1", 0.6, documents={"b": "one", "x": "two"}).failing[0]
    assert [e.cause for e in found.evidence] == ["unreachable", "not in the corpus", "near miss"]
    assert list(CAUSES).index("not in the corpus") < list(CAUSES).index("near miss")
    lost = failures(qrels, run, "R@1", exact={"q": ["b", "a"]}).failing[0]
    assert [e.cause for e in lost.evidence] == ["ANN loss", "not retrieved"]


def test_what_could_not_be_looked_for_is_said() -> None:
    bare = {u.what: u.give for u in failures(QRELS, RUN, "R@1").unknown}
    assert bare["ANN loss"] == "what exact search returns: --exact"
    assert bare["not in the corpus"] == "the documents: --documents"
    assert bare["exact term missed, vocabulary gap, queries asked twice"] == "the queries' texts: --queries"
    assert "near miss" not in bare
    assert "near miss" in [u.what for u in failures(QRELS, RUN, "R@10").unknown]  # nothing is deeper
    given: dict[str, Any] = {"queries": QUERIES, "documents": {doc: doc for doc in "abcdexy"}, "exact": RUN}
    judged = {query: {"x": 0, "y": 0} | grades for query, grades in QRELS.items()}
    assert failures(judged, RUN, "R@1", **given).unknown == []


def test_a_collection_brings_its_queries_and_documents() -> None:
    queries, qrels, documents = helpcentre()
    run = BM25(documents).search(queries, 100)
    found = failures(Collection(queries, qrels, documents), run, by=["category"])
    assert found.standing is not None
    assert found.standing.reached == "low"
    assert {"near miss", "vocabulary gap"} <= found.by_cause.keys()
    assert [u.what for u in found.unknown] == ["ANN loss"]
    worst = max(found.by_slice, key=lambda part: part.share.value or 0)
    assert worst.value == "paraphrase"


def test_documents_may_have_ids_alone() -> None:
    found = failures(QRELS, RUN, "R@1", documents=Documents({"doc_id": ["a", "b", "c", "x"]}))
    assert {f.query_id: f.cause for f in found.failing}["q3"] == "not in the corpus"
    assert "exact term missed, vocabulary gap, duplicates" in [u.what for u in found.unknown]


def test_no_failing_query_is_a_happy_case() -> None:
    found = failures({"q": {"a": 1}}, {"q": ["a"]})
    assert (found.failing, found.by_cause, found.share.value) == ([], {}, 0.0)
    assert repr(found) == "Failures('run', 0 of 1 queries)"


def test_what_a_reranker_could_reach_stands_beside_the_score() -> None:
    found = failures(QRELS, RUN, "R@1", depth=2)
    assert found.reranked.value == pytest.approx((0.5 + 1 + 0 + 1) / 4)


def test_plain_data_has_stable_keys() -> None:
    made = failures(QRELS, RUN, "R@1", queries=QUERIES, by=["team"]).to_dict()
    assert json.loads(json.dumps(made)) == made
    assert list(made) == [
        *("name", "measure", "below", "lower_is_better", "depth", "n", "undefined", "estimate", "standing"),
        *("reranked", "failing", "share", "causes", "slices", "queries", "unknown", "level", "seed"),
    ]
    assert set(made["queries"][0]) == {"query_id", "text", "value", "slices", "missing", "evidence", "cause"}
    assert set(made["queries"][0]["evidence"][0]) == {"cause", "text", "documents", "explained"}
    assert set(made["causes"][0]) == {"cause", "queries", "share", "means", "fix", "query_ids"}
    assert set(made["slices"][0]) == {"column", "value", "n", "failing", "share", "causes"}


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
        ({"documents": {"other": "text"}}, InputError, "the documents have none of the judged ones"),
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


def explained_once(found: Failures) -> bool:
    """Whether each missing document has one cause of documents."""
    for failure in found.failing:
        documents = [
            doc for e in failure.evidence if CAUSES[e.cause].of_document is not None for doc in e.documents
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
@given(worlds(lowest=-1), st.sampled_from(MEASURES), st.sampled_from((0.2, 0.5, 0.99)), st.integers(10, 18))
def test_every_failure_has_evidence_and_every_missing_document_one_cause(
    world: World, measure: str, below: float, depth: int
) -> None:
    qrels, run = world
    corpus = {
        doc: "alpha" if doc < "c" else f"beta {doc}" for doc in ("a", "b", "d1", "é", *qrels[min(qrels)])
    }
    queries = {"query_id": list(qrels), "text": ["beta d1" for _ in qrels]}
    try:
        found = failures(qrels, run, measure, below, queries, documents=corpus, exact=run, depth=depth)
    except UndecidableError:
        return
    assert all(failure.evidence for failure in found.failing)
    assert explained_once(found)
    assert sum(map(len, found.by_cause.values())) == len(found.failing)


def test_cranfield_fails_mostly_by_near_misses_and_other_words(shared: Path) -> None:
    folder = shared / "cranfield"
    queries, documents = read(folder / "cran.qry", "queries"), read(folder / "cran.all.1400", "documents")
    run = BM25(documents).search(queries, 100)
    found = failures(read(folder / "cranqrel", "qrels"), run, queries=queries, documents=documents)
    assert list(found.by_cause)[:2] == ["near miss", "vocabulary gap"]
    assert explained_once(found)
    of = {failure.query_id: failure.evidence[0].text for failure in found.failing}
    assert "68 has none of the words anyone, discover, turbulent, skin, friction" in of["22"]
