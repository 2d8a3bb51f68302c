"""Which queries fail everywhere, on one family, or on one configuration."""

from assay.indexes.study.failing import failing
from studies import asked, stated

GRAPHS = [asked([0, 0, 0, 9], search={"ef": 10}), asked([0, 0, 9, 9], search={"ef": 20})]


def test_queries_are_told_by_where_they_fail() -> None:
    found = failing([*GRAPHS, asked([0, 9, 9, 0], "faiss.ivfflat")], 0.1)
    assert found is not None
    assert found.everywhere == [0]
    assert found.families == {"graph": [1], "partition": [3]}
    assert found.alone == {"hnswlib 10": [2], "hnswlib 20": [], "faiss.ivfflat": [3]}


def test_failing_on_a_third_family_is_not_failing_on_one() -> None:
    found = failing([*GRAPHS, asked([9] * 4, "faiss.ivfflat"), asked([9, 0, 9, 9], "annoy")], 0.1)
    assert found is not None
    assert found.families == {"graph": [0], "partition": [], "tree": []}


def test_every_query_that_fails_somewhere_is_told() -> None:
    graphs = [asked([0, 0, 0, 0, 9], search={"ef": ef}) for ef in (10, 20)]
    third = asked([9, 0, 9, 0, 9], search={"ef": 40})
    cells = [asked([9, 9, 0, 0, 9], "faiss.ivfflat"), asked([9, 9, 9, 0, 9], "faiss.ivfpq")]
    found = failing([*graphs, third, *cells], 0.1)
    assert found is not None
    assert (found.everywhere, found.families["graph"], found.some["graph"], found.mixed) == (
        [3],
        [1],
        [0],
        [2],
    )


def test_one_family_or_one_configuration_stands_beside_nothing() -> None:
    found = failing(GRAPHS, 0.1)
    assert found is not None
    assert (found.families, found.some, found.mixed) == ({}, {"graph": []}, [])
    single = failing(GRAPHS[:1], 0.1)
    assert single is not None
    assert (single.everywhere, single.alone) == ([0, 1, 2], {"hnswlib 10": []})


def test_a_query_without_truth_fails_nowhere() -> None:
    one = asked([0, 0])
    assert one.hits is not None
    one.hits.out_of[0] = 0
    found = failing([one], 0.1)
    assert found is not None
    assert found.everywhere == [1]


def test_without_queries_nothing_is_told() -> None:
    assert failing([stated([1, 1])], 0.1) is None
