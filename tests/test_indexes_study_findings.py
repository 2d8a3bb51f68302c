"""All findings of a study: what is told, what is left out, and what a note says of the rest."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from assay.indexes.study.findings import findings, percentile
from assay.indexes.study.matched import matched
from assay.indexes.study.observed import Distribution, Observed, Study
from assay.indexes.trials import Spread
from studies import asked, plane, reported, stated, study

TRUTH = np.tile(np.arange(20), (40, 1)) + 20 * np.arange(40)[:, None]


def answered(hits: list[int], engine: str, **search: int) -> Observed:
    """Answers with so many of the true ten, and what lies far away for the rest."""
    ids = np.where(np.arange(10) < np.array(hits)[:, None], TRUTH[:, :10], 5000 + np.arange(10))
    return asked(hits, engine, ids=ids, search=search)


@pytest.fixture(scope="module")
def measured() -> Study:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(800, 4))
    graphs = [answered([0] * bad + [10] * (40 - bad), "hnswlib", ef=ef) for ef, bad in ((10, 8), (20, 4))]
    lists = [answered([8] * 40, "faiss.ivfflat", nprobe=1), answered([9] * 40, "faiss.ivfflat", nprobe=2)]
    exact = answered([10] * 40, "faiss.flat")
    return study(*graphs, *lists, exact, data=plane(TRUTH, base, rng.normal(size=(40, 4)), k=10))


def test_a_graph_and_a_partition_of_the_same_mean_are_told_apart(measured: Study) -> None:
    found = findings(measured)
    one = found.trials[0]
    assert (one.label, one.family, one.recall.value) == ("hnswlib / ef=10", "graph", 0.8)
    assert (one.failure.value, one.zero_hit.value, one.percentiles["p10"].value) == (0.2, 0.2, 0.0)
    assert one.histogram == [8, *[0] * 9, 32]
    assert [delta for delta, _ in one.curve] == pytest.approx([j / 10 for j in range(1, 11)])
    assert one.severity is not None
    assert (one.severity.failed, one.severity.outside.value) == (8, 1.0)
    assert [r.feature for r in one.relations] == ["relative_contrast", "lid", "hubness", "outlyingness"]
    assert [p.value for p in found.trials[2].percentiles.values()] == [0.8] * 4


def test_what_is_exact_is_shown_and_not_compared(measured: Study) -> None:
    found = findings(measured)
    assert found.trials[-1].family == "exact"
    assert found.failing is not None
    assert found.failing.families == {"graph": [0, 1, 2, 3], "partition": []}
    assert {one.n for one in found.information} == {4}
    assert "exact, so left out where indexes are compared: faiss.flat" in found.notes


def test_families_are_compared_where_recall_is_the_same(measured: Study) -> None:
    found = findings(measured).matched
    assert [(pair.first, pair.second) for pair in found] == [
        ("hnswlib 10", "faiss.ivfflat 1"),
        ("hnswlib 20", "faiss.ivfflat 2"),
    ]
    assert found[0].families == ("graph", "partition")
    assert [recall.value for recall in found[0].recalls] == [0.8, 0.8]
    assert (found[0].ratio.first.value, found[0].ratio.second.value) == (0.2, 0.0)


def test_only_the_nearest_of_both_are_a_pair_and_only_within_a_hundredth() -> None:
    graphs = [asked([hits] * 3, k=1000, search={"ef": hits}) for hits in (800, 805, 990)]
    lists = [asked([hits] * 3, "faiss.ivfflat", k=1000, search={"nprobe": hits}) for hits in (815, 1000)]
    found = matched([*lists, *graphs], 0.1)
    assert [(p.first, p.second) for p in found] == [
        ("hnswlib 805", "faiss.ivfflat 815"),
        ("hnswlib 990", "faiss.ivfflat 1000"),
    ]
    assert matched([graphs[0], lists[0]], 0.1) == []


def test_every_two_engines_are_compared_and_what_is_exact_is_not() -> None:
    """Those of two families first; the first of a pair is of the first family, or of the first name."""
    engines = ("usearch", "hnswlib", "scann", "annoy", "faiss.flat", "mine")
    found = matched([asked([9, 9], engine) for engine in engines], 0.1)
    pairs = [(pair.first, pair.second) for pair in found]
    assert pairs == [
        ("hnswlib", "scann"), ("hnswlib", "annoy"), ("hnswlib", "mine"),
        ("usearch", "scann"), ("usearch", "annoy"), ("usearch", "mine"),
        ("scann", "annoy"), ("scann", "mine"), ("annoy", "mine"),
        ("hnswlib", "usearch"),
    ]  # fmt: skip
    assert found[-1].families == ("graph", "graph")


def test_a_percentile_has_the_interval_of_ordered_values() -> None:
    """Of 100 queries, the places 5 and 15 (from 0) bracket the tenth percentile (Conover 1999, 3.2)."""
    counts = [5, 0, 0, 0, 0, 0, 0, 0, 0, 11, 84]
    found = percentile(Distribution(np.array(counts)), 0.1)
    low, high = binom.ppf([0.025, 0.975], 100, 0.1)
    ordered = np.repeat(np.arange(11) / 10, counts)
    assert found[:3] == (0.9, ordered[int(low) - 1], ordered[int(high)])
    assert found.n == 100


def test_an_end_outside_of_the_sample_is_an_end_of_recall() -> None:
    """No query of 20 says how bad the worst of a hundred is."""
    assert percentile(Distribution(np.array([0, 20])), 0.01)[:3] == (1.0, 0.0, 1.0)


def test_trials_that_were_begun_are_named_with_the_passes_they_have() -> None:
    begun = asked([9, 9], status="begun", qps=Spread(100.0, 100.0, 100.0, 1))
    found = findings(replace(study(begun, asked([9, 9], "annoy")), about={"options": {"repetitions": 40}}))
    assert "begun: 1 of 40 passes; the same bench command goes on: hnswlib" in found.notes


def test_of_failed_trials_alone_nothing_is_said_but_that() -> None:
    failed = Observed(replace(asked([9]).trial, status="failed", reason="killed"))
    assert findings(study(failed)).notes == ["left out (failed): hnswlib"]


def test_a_curve_of_figures_has_every_delta_that_is_stated() -> None:
    shares = {f"Robustness(delta={d})@4": 1 - d / 10 for d in (0.25, 0.5, 0.75)}
    (one,) = findings(study(reported({"recall": 0.9, **shares, "Robustness(delta=0.5)@9": 0.1}, k=4))).trials
    assert [(delta, share.value) for delta, share in one.curve] == [
        (0.25, 0.975),
        (0.5, 0.95),
        (0.75, 0.925),
    ]


def test_r2_among_configurations_of_one_recall_is_withheld_and_a_note_says_so() -> None:
    """The mean recalls are .900, .901 … .908: what goes with them is chance."""
    several = [asked([900 + 2 * at, 900], k=1000, search={"ef": at}) for at in range(9)]
    found = findings(study(*several))
    assert {one.r2 for one in found.information} == {None}
    assert any(
        note.startswith("r² is withheld: mean recall differs by 0.0080 among 9") for note in found.notes
    )


def test_what_failed_or_was_not_indexed_is_left_out_and_named() -> None:
    bad = Observed(replace(asked([9]).trial, key="x", engine="annoy", status="failed", reason="killed"))
    brute = asked([10, 10], "zvec", indexed=False)
    unscored = Observed(replace(asked([9]).trial, key="y", engine="scann"))
    found = findings(study(asked([9, 9]), bad, brute, unscored))
    assert [one.label for one in found.trials] == ["hnswlib"]
    assert "left out (failed): annoy" in found.notes
    assert (
        "left out (not indexed: brute force answered, which says nothing about an index): zvec" in found.notes
    )
    assert "left out (no recall is known): scann" in found.notes


def test_zero_failures_are_told_by_the_rule_of_three() -> None:
    found = findings(study(asked([9] * 1000), asked([9] * 999 + [0], search={"ef": 9}))).notes
    said = [note for note in found if note.startswith("no query of 1,000")]
    assert said == [
        "no query of 1,000 failed at δ = 0.1, which shows only that fewer than 3 in 1,000 do: hnswlib"
    ]


def test_a_histogram_tells_all_but_single_queries(shared: Path) -> None:
    published = json.loads((shared / "robustness_paper" / "recall_histograms_k10.json").read_text())
    several = [stated(one["hist_hits_0_to_10"], name) for name, one in published["text2image_10M"].items()]
    found = findings(study(*several))
    hnsw = found.trials[0]
    assert (hnsw.failure.value, hnsw.severity, hnsw.relations) == (0.02445, None, [])
    percentiles = {name: found.value for name, found in hnsw.percentiles.items()}
    assert percentiles == {"p1": 0.0, "p5": 0.4, "p10": 0.7, "p50": 1.0}  # cdf_0.4 .953, cdf_0.5 .944
    assert found.failing is None
    ratios = {(pair.first, pair.second): pair.ratio.ratio.value for pair in found.matched}
    assert ratios["HNSW", "ScaNN"] == pytest.approx(2445 / 26)
    assert ("HNSW", "IVFFlat") not in ratios  # .899 and .886: not the same recall
    assert any("no single query, of any trial: " in n for n in found.notes)


def test_figures_alone_give_what_they_say_and_notes_for_the_rest() -> None:
    known = {"recall": 0.9, "Robustness(delta=0.3)@10": 0.97}
    found = findings(study(reported(known), reported({"recall": 0.95}, "ScaNN")), delta=0.3)
    one, other = found.trials
    assert one.failure.value == pytest.approx(0.03)
    assert one.histogram is None
    assert one.percentiles["p5"][:3] == (None, None, None)
    assert [(delta, share.value) for delta, share in one.curve] == [(0.3, 0.97)]
    assert (other.failure.value, other.curve) == (None, [])
    said = " ".join(found.notes)
    assert "the distribution of recall is not known of any trial" in said
    assert "nothing is compared at matched recall" in said
    assert "r² takes 5 configurations or more, and there are 2" in said


def test_a_shallow_truth_is_noted(measured: Study) -> None:
    assert "the truth has 20 neighbours: outside means not among those" in findings(measured).notes


def test_findings_are_plain_data(measured: Study) -> None:
    found = findings(measured).to_dict()
    again = json.loads(json.dumps(found, allow_nan=False))
    assert again["trials"][0]["recall"]["value"] == 0.8
    assert again["trials"][0]["curve"][0] == [
        0.1,
        {
            "value": 0.8,
            "low": pytest.approx(0.652, abs=0.001),
            "high": pytest.approx(0.895, abs=0.001),
            "n": 40,
        },
    ]
    assert again["matched"][0]["ratio"]["ratio"]["value"] is None
    assert again["failing"]["families"]["graph"] == [0, 1, 2, 3]
    assert set(again) == {
        "source",
        "k",
        "delta",
        "at_most",
        "level",
        "trials",
        "matched",
        "information",
        "failing",
        "notes",
    }


def test_the_same_study_gives_the_same_findings(measured: Study) -> None:
    assert findings(measured).to_dict() == findings(measured).to_dict()


def test_a_study_of_exact_search_alone_compares_nothing() -> None:
    found = findings(study(asked([10, 10], "faiss.flat")))
    assert (found.matched, found.information, found.failing) == ([], [], None)


def test_the_guide_names_every_key(measured: Study) -> None:
    guide = (Path(__file__).parents[1] / "docs" / "robustness.md").read_text(encoding="utf-8")
    found = findings(measured).to_dict()
    parts = [found, *(found[name][0] for name in ("trials", "matched", "information")), found["failing"]]
    parts += [
        found["trials"][0]["severity"],
        found["trials"][0]["relations"][0],
        found["matched"][0]["ratio"],
    ]
    assert [key for part in parts for key in part if f"`{key}`" not in guide] == []
    features = [relation["feature"] for relation in found["trials"][0]["relations"]]
    assert all(f"| `{feature}` |" in guide for feature in features)
