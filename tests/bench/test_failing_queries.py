"""Which queries fail everywhere, on one family, or on one configuration."""

from assay.bench.studies.failing_queries import find_failing_queries
from tests.studies import trial_with_histogram, trial_with_hits

GRAPHS = [trial_with_hits([0, 0, 0, 9], search={"ef": 10}), trial_with_hits([0, 0, 9, 9], search={"ef": 20})]


def test_queries_are_told_by_where_they_fail() -> None:
    failing = find_failing_queries([*GRAPHS, trial_with_hits([0, 9, 9, 0], "faiss.ivfflat")], 0.1)
    assert failing is not None
    assert failing.everywhere == [0]
    assert failing.families == {"graph": [1], "partition": [3]}
    assert failing.alone == {"hnswlib 10": [2], "hnswlib 20": [], "faiss.ivfflat": [3]}


def test_failing_on_a_third_family_is_not_failing_on_one() -> None:
    failing = find_failing_queries(
        [*GRAPHS, trial_with_hits([9] * 4, "faiss.ivfflat"), trial_with_hits([9, 0, 9, 9], "annoy")], 0.1
    )
    assert failing is not None
    assert failing.families == {"graph": [0], "partition": [], "tree": []}


def test_every_query_that_fails_somewhere_is_told() -> None:
    graphs = [trial_with_hits([0, 0, 0, 0, 9], search={"ef": ef}) for ef in (10, 20)]
    third = trial_with_hits([9, 0, 9, 0, 9], search={"ef": 40})
    cells = [
        trial_with_hits([9, 9, 0, 0, 9], "faiss.ivfflat"),
        trial_with_hits([9, 9, 9, 0, 9], "faiss.ivfpq"),
    ]
    failing = find_failing_queries([*graphs, third, *cells], 0.1)
    assert failing is not None
    assert (failing.everywhere, failing.families["graph"], failing.some["graph"], failing.mixed) == (
        [3],
        [1],
        [0],
        [2],
    )


def test_one_family_or_one_configuration_stands_beside_nothing() -> None:
    failing = find_failing_queries(GRAPHS, 0.1)
    assert failing is not None
    assert (failing.families, failing.some, failing.mixed) == ({}, {"graph": []}, [])
    single = find_failing_queries(GRAPHS[:1], 0.1)
    assert single is not None
    assert (single.everywhere, single.alone) == ([0, 1, 2], {"hnswlib 10": []})


def test_a_query_without_truth_fails_nowhere() -> None:
    scored_trial = trial_with_hits([0, 0])
    assert scored_trial.hits is not None
    scored_trial.hits.out_of[0] = 0
    failing = find_failing_queries([scored_trial], 0.1)
    assert failing is not None
    assert failing.everywhere == [1]


def test_without_queries_nothing_is_told() -> None:
    assert find_failing_queries([trial_with_histogram([1, 1])], 0.1) is None
