"""All findings of a study: what is told, what is left out, and what a note says of the rest."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from assay.bench.studies.distribution import RecallDistribution
from assay.bench.studies.findings import FindingSettings, collect_findings, recall_percentile
from assay.bench.studies.matched_pairs import match_by_recall
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.study import Study
from assay.bench.trials import PassSpread
from tests.studies import make_data, make_study, trial_with_figures, trial_with_histogram, trial_with_hits

TRUTH = np.tile(np.arange(20), (40, 1)) + 20 * np.arange(40)[:, None]


def answered_trial(hits: list[int], engine: str, **search: int) -> ScoredTrial:
    """Answers with so many of the true ten, and what lies far away for the rest."""
    ids = np.where(np.arange(10) < np.array(hits)[:, None], TRUTH[:, :10], 5000 + np.arange(10))
    return trial_with_hits(hits, engine, ids=ids, search=search)


@pytest.fixture(scope="module")
def sweep_study() -> Study:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(800, 4))
    graphs = [
        answered_trial([0] * bad + [10] * (40 - bad), "hnswlib", ef=ef) for ef, bad in ((10, 8), (20, 4))
    ]
    lists = [
        answered_trial([8] * 40, "faiss.ivfflat", nprobe=1),
        answered_trial([9] * 40, "faiss.ivfflat", nprobe=2),
    ]
    exact = answered_trial([10] * 40, "faiss.flat")
    return make_study(*graphs, *lists, exact, data=make_data(TRUTH, base, rng.normal(size=(40, 4)), k=10))


def test_a_graph_and_a_partition_of_the_same_mean_are_told_apart(sweep_study: Study) -> None:
    findings = collect_findings(sweep_study)
    item = findings.trials[0]
    assert (item.label, item.family, item.recall.value) == ("hnswlib / ef=10", "graph", 0.8)
    assert (item.failure.value, item.zero_hit.value, item.percentiles["p10"].value) == (0.2, 0.2, 0.0)
    assert item.histogram == [8, *[0] * 9, 32]
    assert [delta for delta, _ in item.curve] == pytest.approx([j / 10 for j in range(1, 11)])
    assert item.severity is not None
    assert (item.severity.failed, item.severity.outside.value) == (8, 1.0)
    assert [r.feature for r in item.relations] == ["relative_contrast", "lid", "hubness", "outlyingness"]
    assert [p.value for p in findings.trials[2].percentiles.values()] == [0.8] * 4


def test_what_is_exact_is_shown_and_not_compared(sweep_study: Study) -> None:
    findings = collect_findings(sweep_study)
    assert findings.trials[-1].family == "exact"
    assert findings.failing is not None
    assert findings.failing.families == {"graph": [0, 1, 2, 3], "partition": []}
    assert {correlation.n for correlation in findings.information} == {4}
    assert "exact, so left out of the comparison of indexes: faiss.flat" in findings.notes


def test_families_are_compared_where_recall_is_the_same(sweep_study: Study) -> None:
    pairs = collect_findings(sweep_study).matched
    assert [(pair.first, pair.second) for pair in pairs] == [
        ("hnswlib 10", "faiss.ivfflat 1"),
        ("hnswlib 20", "faiss.ivfflat 2"),
    ]
    assert pairs[0].families == ("graph", "partition")
    assert [recall.value for recall in pairs[0].recalls] == [0.8, 0.8]
    assert (pairs[0].ratio.first.value, pairs[0].ratio.second.value) == (0.2, 0.0)


def test_only_the_nearest_of_both_are_a_pair_and_only_within_a_hundredth() -> None:
    graphs = [trial_with_hits([hits] * 3, k=1000, search={"ef": hits}) for hits in (800, 805, 990)]
    lists = [
        trial_with_hits([hits] * 3, "faiss.ivfflat", k=1000, search={"nprobe": hits}) for hits in (815, 1000)
    ]
    pairs = match_by_recall([*lists, *graphs], 0.1)
    assert [(p.first, p.second) for p in pairs] == [
        ("hnswlib 805", "faiss.ivfflat 815"),
        ("hnswlib 990", "faiss.ivfflat 1000"),
    ]
    assert match_by_recall([graphs[0], lists[0]], 0.1) == []


def test_every_two_engines_are_compared_and_what_is_exact_is_not() -> None:
    """Those of two families first; the first of a pair is of the first family, or of the first name."""
    engines = ("usearch", "hnswlib", "scann", "annoy", "faiss.flat", "mine")
    second_pairs = match_by_recall([trial_with_hits([9, 9], engine) for engine in engines], 0.1)
    pairs = [(pair.first, pair.second) for pair in second_pairs]
    assert pairs == [
        ("hnswlib", "scann"), ("hnswlib", "annoy"), ("hnswlib", "mine"),
        ("usearch", "scann"), ("usearch", "annoy"), ("usearch", "mine"),
        ("scann", "annoy"), ("scann", "mine"), ("annoy", "mine"),
        ("hnswlib", "usearch"),
    ]  # fmt: skip
    assert second_pairs[-1].families == ("graph", "graph")


def test_a_percentile_has_the_interval_of_ordered_values() -> None:
    """Of 100 queries, the places 5 and 15 (from 0) bracket the tenth percentile (Conover 1999, 3.2)."""
    counts = [5, 0, 0, 0, 0, 0, 0, 0, 0, 11, 84]
    percentile = recall_percentile(RecallDistribution(np.array(counts)), 0.1)
    low, high = binom.ppf([0.025, 0.975], 100, 0.1)
    ordered = np.repeat(np.arange(11) / 10, counts)
    assert percentile[:3] == (0.9, ordered[int(low) - 1], ordered[int(high)])
    assert percentile.n == 100


def test_an_end_outside_of_the_sample_is_an_end_of_recall() -> None:
    """No query of 20 says how bad the worst of a hundred is."""
    assert recall_percentile(RecallDistribution(np.array([0, 20])), 0.01)[:3] == (1.0, 0.0, 1.0)


def test_trials_that_were_begun_are_named_with_the_passes_they_have() -> None:
    begun = trial_with_hits([9, 9], status="begun", qps=PassSpread(100.0, 100.0, 100.0, 1))
    findings = collect_findings(
        replace(
            make_study(begun, trial_with_hits([9, 9], "annoy")), metadata={"options": {"repetitions": 40}}
        )
    )
    assert "unfinished: 1 of 40 passes; run the same bench command to continue: hnswlib" in findings.notes


def test_of_failed_trials_alone_nothing_is_said_but_that() -> None:
    failed = ScoredTrial(replace(trial_with_hits([9]).trial, status="failed", reason="killed"))
    assert collect_findings(make_study(failed)).notes == ["left out (failed): hnswlib"]


def test_a_curve_of_figures_has_every_delta_that_is_stated() -> None:
    shares = {f"Robustness(delta={d})@4": 1 - d / 10 for d in (0.25, 0.5, 0.75)}
    (finding,) = collect_findings(
        make_study(trial_with_figures({"recall": 0.9, **shares, "Robustness(delta=0.5)@9": 0.1}, k=4))
    ).trials
    assert [(delta, share.value) for delta, share in finding.curve] == [
        (0.25, 0.975),
        (0.5, 0.95),
        (0.75, 0.925),
    ]


def test_r2_among_configurations_of_one_recall_is_withheld_and_a_note_says_so() -> None:
    """The mean recalls are .900, .901 … .908: what goes with them is chance."""
    scored_trials = [trial_with_hits([900 + 2 * at, 900], k=1000, search={"ef": at}) for at in range(9)]
    findings = collect_findings(make_study(*scored_trials))
    assert {correlation.r2 for correlation in findings.information} == {None}
    assert any(
        note.startswith("r² is withheld: mean recall varies by 0.0080 among 9") for note in findings.notes
    )


def test_what_failed_or_was_not_indexed_is_left_out_and_named() -> None:
    bad = ScoredTrial(
        replace(trial_with_hits([9]).trial, key="x", engine="annoy", status="failed", reason="killed")
    )
    brute = trial_with_hits([10, 10], "zvec", indexed=False)
    unscored = ScoredTrial(replace(trial_with_hits([9]).trial, key="y", engine="scann"))
    findings = collect_findings(make_study(trial_with_hits([9, 9]), bad, brute, unscored))
    assert [trial.label for trial in findings.trials] == ["hnswlib"]
    assert "left out (failed): annoy" in findings.notes
    assert (
        "left out (not indexed: it answers by brute force, which says nothing about an index): zvec"
        in findings.notes
    )
    assert "left out (recall is not known): scann" in findings.notes


def test_zero_failures_are_told_by_the_rule_of_three() -> None:
    findings = collect_findings(
        make_study(trial_with_hits([9] * 1000), trial_with_hits([9] * 999 + [0], search={"ef": 9}))
    ).notes
    message = [note for note in findings if note.startswith("none of 1,000")]
    assert message == [
        "none of 1,000 queries failed at δ = 0.1, which shows only that fewer than 3 in 1,000 do: hnswlib"
    ]


def test_a_histogram_tells_all_but_single_queries(shared: Path) -> None:
    published = json.loads((shared / "robustness_paper" / "recall_histograms_k10.json").read_text())
    scored_trials = [
        trial_with_histogram(item["hist_hits_0_to_10"], name)
        for name, item in published["text2image_10M"].items()
    ]
    findings = collect_findings(make_study(*scored_trials))
    hnsw = findings.trials[0]
    assert (hnsw.failure.value, hnsw.severity, hnsw.relations) == (0.02445, None, [])
    percentiles = {name: findings.value for name, findings in hnsw.percentiles.items()}
    assert percentiles == {"p1": 0.0, "p5": 0.4, "p10": 0.7, "p50": 1.0}  # cdf_0.4 .953, cdf_0.5 .944
    assert findings.failing is None
    ratios = {(pair.first, pair.second): pair.ratio.ratio.value for pair in findings.matched}
    assert ratios["HNSW", "ScaNN"] == pytest.approx(2445 / 26)
    assert ("HNSW", "IVFFlat") not in ratios  # .899 and .886: not the same recall
    assert any("not single queries, are known for any trial: " in n for n in findings.notes)


def test_figures_alone_give_what_they_say_and_notes_for_the_rest() -> None:
    values = {"recall": 0.9, "Robustness(delta=0.3)@10": 0.97}
    findings = collect_findings(
        make_study(trial_with_figures(values), trial_with_figures({"recall": 0.95}, "ScaNN")),
        FindingSettings(delta=0.3),
    )
    item, second = findings.trials
    assert item.failure.value == pytest.approx(0.03)
    assert item.histogram is None
    assert item.percentiles["p5"][:3] == (None, None, None)
    assert [(delta, share.value) for delta, share in item.curve] == [(0.3, 0.97)]
    assert (second.failure.value, second.curve) == (None, [])
    message = " ".join(findings.notes)
    assert "the distribution of recall is not known for any trial" in message
    assert "no comparison at matched recall" in message
    assert "r² needs 5 configurations or more with a mean recall of 0.7 to 0.95, but there are 2" in message


def test_a_shallow_truth_is_noted(sweep_study: Study) -> None:
    assert "the truth has 20 neighbors: outside means not among those" in collect_findings(sweep_study).notes


def test_findings_are_plain_data(sweep_study: Study) -> None:
    content = collect_findings(sweep_study).to_dict()
    second_content = json.loads(json.dumps(content, allow_nan=False))
    assert second_content["trials"][0]["recall"]["value"] == 0.8
    assert second_content["trials"][0]["curve"][0] == [
        0.1,
        {
            "value": 0.8,
            "low": pytest.approx(0.6435, abs=0.0001),
            "high": pytest.approx(0.9095, abs=0.0001),
            "n": 40,
        },
    ]
    assert second_content["matched"][0]["ratio"]["ratio"]["value"] is None
    assert second_content["failing"]["families"]["graph"] == [0, 1, 2, 3]
    assert set(second_content) == {
        "source",
        "k",
        "delta",
        "at_most",
        "recall",
        "tolerance",
        "pooling_tolerance",
        "recall_range",
        "level",
        "trials",
        "matched",
        "pooled",
        "information",
        "data_sets",
        "parameter_studies",
        "frontiers",
        "reranking",
        "advice",
        "failing",
        "notes",
    }


def test_the_same_study_gives_the_same_findings(sweep_study: Study) -> None:
    assert collect_findings(sweep_study).to_dict() == collect_findings(sweep_study).to_dict()


def test_a_study_of_exact_search_alone_compares_nothing() -> None:
    findings = collect_findings(make_study(trial_with_hits([10, 10], "faiss.flat")))
    assert (findings.matched, findings.information, findings.failing) == ([], [], None)


def test_the_guide_names_every_key(sweep_study: Study) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "robustness.md").read_text(encoding="utf-8")
    content = collect_findings(sweep_study).to_dict()
    parts = [
        content,
        *(content[name][0] for name in ("trials", "matched", "information")),
        content["failing"],
    ]
    parts += [
        content["trials"][0]["severity"],
        content["trials"][0]["relations"][0],
        content["matched"][0]["ratio"],
    ]
    assert [key for part in parts for key in part if f"`{key}`" not in guide] == []
    features = [relation["feature"] for relation in content["trials"][0]["relations"]]
    assert all(f"| `{feature}` |" in guide for feature in features)
