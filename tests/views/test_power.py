"""The size of a benchmark in a sentence."""

import pytest

from assay.stats.power import BenchmarkSize, assess_size, queries_needed
from assay.views.power import describe_size


@pytest.mark.parametrize(
    ("size", "sentence"),
    [
        (assess_size(1, 0.2), "unreliable: too few to say anything about a difference (1 query)"),
        (
            assess_size(280, 0.2),
            "unreliable for differences of 0.01: 280 queries (directional by count) detect 0.0336 "
            "at the smallest; 0.01 would take 3,142",
        ),
        (assess_size(150, 0.0), "unreliable by count: 150 queries; their differences do not vary"),
        (
            assess_size(20_000, 0.1),
            "high confidence for differences of 0.01: 20,000 queries detect 0.0020 at the smallest",
        ),
    ],
)
def test_a_size_is_described_with_the_numbers_it_rests_on(size: BenchmarkSize, sentence: str) -> None:
    assert describe_size(size) == sentence


def test_the_number_of_queries_needed_is_named_only_if_there_are_fewer() -> None:
    enough = queries_needed(0.01, 0.1)
    assert enough is not None
    descriptions = [describe_size(assess_size(n, 0.1)) for n in (enough - 1, enough)]
    assert ["would take" in text for text in descriptions] == [True, False]
