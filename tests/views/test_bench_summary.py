"""The main finding of a report and its evidence, in sentences."""

import json
from pathlib import Path

import pytest

from assay.bench.studies.findings import FindingSettings, collect_findings
from assay.bench.trials import PassSpread
from assay.views.bench_summary import advice_sections, main_finding, summary_section
from tests.studies import make_study, trial_with_figures, trial_with_histogram, trial_with_hits


def test_the_main_finding_of_the_published_curves_is_how_often_families_fail(shared: Path) -> None:
    published = json.loads((shared / "robustness_paper" / "recall_histograms_k10.json").read_text())
    trials = [
        trial_with_histogram(item["hist_hits_0_to_10"], name)
        for name, item in published["text2image_10M"].items()
    ]
    assert main_finding(collect_findings(make_study(*trials))) == (
        "At a mean recall of 0.9 ± 0.02, graph indexes leave 4.63 times as many queries below δ = 0.1 as "
        "partition indexes (2.16% against 0.47%)."
    )
    at_middle = main_finding(collect_findings(make_study(*trials), FindingSettings(delta=0.3)))
    assert "leave 2.75 times as many queries below δ = 0.3" in at_middle


@pytest.mark.parametrize(
    ("graph", "partition", "sentence"),
    [
        (0.98, 0.99, "graph indexes leave 2.00 times as many queries below δ = 0.1 as partition indexes"),
        (0.99, 0.96, "partition indexes leave 4.00 times as many queries below δ = 0.1 as graph indexes"),
        (0.98, 1.0, "2.00% of the queries stay below δ = 0.1 with graph indexes, and none with partition"),
        (1.0, 0.96, "4.00% of the queries stay below δ = 0.1 with partition indexes, and none with graph"),
    ],
)
def test_the_family_that_fails_more_is_named_first(graph: float, partition: float, sentence: str) -> None:
    study = make_study(
        trial_with_figures({"recall": 0.9, "Robustness(delta=0.1)@10": graph}, "hnsw"),
        trial_with_figures({"recall": 0.9, "Robustness(delta=0.1)@10": partition}, "scann"),
    )
    assert sentence in main_finding(collect_findings(study))


def test_of_one_family_the_configuration_that_fails_least_is_the_main_finding() -> None:
    study = make_study(trial_with_hits([0, 9, 9, 9]), trial_with_hits([9, 9, 9, 9], search={"ef": 90}))
    assert main_finding(collect_findings(study)).startswith(
        "The fewest queries stay below δ = 0.1 with hnswlib / ef=90: 0.0000"
    )


def test_the_summary_has_the_evidence_of_the_tail_with_its_cost() -> None:
    trials = [
        trial_with_hits(hits, search={"ef": ef}, qps=PassSpread(qps, qps, qps, 1))
        for ef, hits, qps in ((10, [0] * 4 + [10] * 36, 900.0), (90, [10] * 40, 100.0))
    ]
    lines = summary_section(collect_findings(make_study(*trials))).notes
    assert (
        "What raised the tail most is ef of hnswlib: from 10 to 90, 10.00% and then 0.00% stay below "
        "δ = 0.1, at 900 and 100 queries per second."
    ) in lines
    assert "Not varied here, and worth measuring: M of hnswlib." in lines


def test_advice_without_evidence_has_no_table() -> None:
    assert advice_sections(collect_findings(make_study(trial_with_figures({"recall": 0.9}, "mine")))) == []


def test_of_nothing_usable_there_is_no_finding() -> None:
    assert summary_section(collect_findings(make_study(trial_with_figures({"recall": 0.9})))).notes == []
