"""Trials of other data are told apart by what they state: dataset, size, dimensions and metric."""

from dataclasses import replace
from typing import Any

import pytest

from assay.bench.studies.findings import collect_findings
from assay.bench.studies.same_data import other_data_reasons
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.study import Study
from assay.bench.trials import Trial
from assay.core.errors import InputError
from tests.choices import make_study, measured_trial

SWEEP = {
    "data": {"n": 9000, "d": 784, "metric": "l2"},
    "sources": {"base": "vectors/mnist.fbin"},
    "options": {},
}


def published_trial(name: str, **facts: Any) -> ScoredTrial:
    return ScoredTrial(Trial(name, name, source="table", reported={"recall": 0.99, "qps": 90_000}, **facts))


def sweep_with(*imported: ScoredTrial) -> Study:
    return replace(make_study(measured_trial("own", [9] * 40), *imported), metadata=SWEEP)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"dataset": "sift-128"}, "of other data: sift-128, but the others of mnist"),
        ({"n": 1_000_000}, "of other data: 1,000,000 vectors, but the others of 9,000 vectors"),
        ({"n": 9000, "d": 128}, "of other data: 128 dimensions, but the others of 784 dimensions"),
        ({"n": 9000, "d": 784, "metric": "ip"}, "of other data: ip, but the others of l2"),
        (
            {"metric": "l2"},
            "not known to be of these data: it states neither its dataset nor its vectors and",
        ),
    ],
)
def test_a_published_row_in_a_sweep_says_why_it_is_of_other_data(facts: Any, reason: str) -> None:
    own, other = other_data_reasons(sweep_with(published_trial("theirs", **facts)))
    assert own == ""
    assert other.startswith(reason)


@pytest.mark.parametrize("facts", [{"n": 9000, "d": 784}, {"dataset": "MNIST", "metric": "l2"}])
def test_a_published_row_that_states_the_same_data_is_compared(facts: Any) -> None:
    assert other_data_reasons(sweep_with(published_trial("theirs", **facts))) == ["", ""]


def test_the_data_of_a_table_are_those_its_first_rows_state() -> None:
    rows = [published_trial("a"), published_trial("b", dataset="sift"), published_trial("c", dataset="glove")]
    study = make_study(*rows)
    assert other_data_reasons(study) == ["", "", "of other data: glove, but the others of sift"]
    assert other_data_reasons(study, "glove") == ["", "of other data: sift, but the others of glove", ""]
    assert other_data_reasons(study, "all") == ["", "", ""]


def test_a_dataset_that_no_trial_names_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(InputError, match="no trial names the dataset 'shift'; they name sift; `all` chooses"):
        other_data_reasons(make_study(published_trial("a", dataset="sift")), "shift")


def test_the_report_leaves_out_trials_of_other_data_and_says_why() -> None:
    findings = collect_findings(sweep_with(published_trial("theirs", dataset="sift")))
    assert [trial.label for trial in findings.trials] == ["own"]
    assert "left out (of other data: sift, but the others of mnist): theirs" in findings.notes
