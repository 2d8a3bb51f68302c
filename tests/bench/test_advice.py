"""Advice with its evidence: families by δ, parameters that raised the tail, and those not tried."""

from dataclasses import replace

import pytest

from assay.bench.studies.advice import advise
from tests.studies import trial_with_hits

EVEN, UNEVEN = [9] * 40, [10] * 36 + [0] * 4  # both have a mean recall of .9


def test_the_family_that_serves_a_low_delta_is_not_that_of_a_high_one() -> None:
    graph, partition = trial_with_hits(UNEVEN), trial_with_hits(EVEN, "faiss.ivfflat")
    low, high = advise([graph, partition], 0.1, 0.9, 0.02).families
    assert [one.family for one in low.families] == ["partition", "graph"]
    assert [one.robustness for one in low.families] == [1.0, 0.9]
    assert high.delta == 0.9
    halves = trial_with_hits([10] * 20 + [8] * 20, "faiss.ivfflat")
    whole = advise([graph, halves], 0.1, 0.9, 0.02).families[1]
    assert [one.family for one in whole.families] == ["graph", "partition"]


def test_one_family_alone_is_not_advised() -> None:
    assert advise([trial_with_hits(EVEN), trial_with_hits(EVEN, "diskann")], 0.1, 0.9, 0.02).families == []


def test_the_step_that_lowers_failures_most_is_the_evidence_of_a_parameter() -> None:
    first = trial_with_hits(UNEVEN, search={"ef": 10})
    better = trial_with_hits([10] * 38 + [0] * 2, search={"ef": 20})
    best = trial_with_hits([10] * 40, search={"ef": 90})
    (step,) = advise([first, better, best], 0.1, 0.9, 0.02).steps
    assert (step.parameter, step.before, step.after) == ("ef", 10, 90)
    assert (step.first_failure.value, step.second_failure.value) == (0.1, 0.0)


def test_trials_that_differ_in_two_parameters_are_no_evidence() -> None:
    first = trial_with_hits(UNEVEN, search={"ef": 10, "M": 8})
    other = trial_with_hits([10] * 40, search={"ef": 20, "M": 16})
    threads = replace(first, trial=replace(first.trial, key="x", threads=2, search={"ef": 90, "M": 8}))
    assert advise([first, other, threads], 0.1, 0.9, 0.02).steps == []


@pytest.mark.parametrize(
    ("engine", "searches", "untried"),
    [
        ("scann", [{"leaves_to_search": 2}, {"leaves_to_search": 4}],
         ["pre_reorder_num_neighbors", "soar_lambda"]),
        ("faiss.ivfpq", [{"nprobe": 1}], ["nprobe", "k_factor"]),
        ("faiss.ivfflat", [{"nprobe": 1}, {"nprobe": 2}], []),
        ("adaptive", [{"budget": 4}], ["budget"]),
        ("mine", [{}], []),
    ],
)  # fmt: skip
def test_parameters_that_no_trial_varies_are_named(
    engine: str, searches: list[dict[str, int]], untried: list[str]
) -> None:
    trials = [trial_with_hits(EVEN, engine, search=search) for search in searches]
    assert [entry.parameter for entry in advise(trials, 0.1, 0.9, 0.02).untried] == untried


def test_what_others_measured_cannot_be_tried_here() -> None:
    one = trial_with_hits(EVEN, "scann", source="table")
    assert advise([one], 0.1, 0.9, 0.02).untried == []
