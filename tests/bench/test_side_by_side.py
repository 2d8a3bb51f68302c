"""Several data sets and several K side by side."""

from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import linregress

from assay.bench.imported import read_reported_trials
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.side_by_side import compare_data_sets, nearest_by_engine
from assay.bench.studies.study import Study
from tests.studies import make_study, trial_with_figures, trial_with_histogram, trial_with_hits


def published_trial(dataset: str, recall: float, share: float, engine: str = "HNSW") -> ScoredTrial:
    figures = {"recall": recall, "Robustness(delta=0.1)@10": share}
    one = trial_with_figures(figures, engine)
    return replace(one, trial=replace(one.trial, dataset=dataset))


def test_each_data_set_of_a_table_has_its_own_r2() -> None:
    recalls = [0.7, 0.75, 0.8, 0.85, 0.9]
    shares = {"images": [0.9, 0.95, 0.92, 0.97, 0.96], "words": [0.91, 0.92, 0.93, 0.94, 0.95]}
    study = make_study(
        *(
            published_trial(dataset, recall, share)
            for dataset, values in shares.items()
            for recall, share in zip(recalls, values, strict=True)
        )
    )
    found = compare_data_sets([study])
    assert [(each.dataset, each.configurations) for each in found] == [("images", 5), ("words", 5)]
    for each in found:
        r2 = {entry.measure: entry.r2 for entry in each.information}["Robustness(delta=0.1)@10"]
        assert r2 == pytest.approx(linregress(recalls, shares[each.dataset]).rvalue ** 2)


def test_published_tables_are_compared_by_the_name_of_their_file(shared: Path) -> None:
    paths = [shared / "robustness_paper" / f"{name}_k10_cdf.csv" for name in ("text2image_10M", "deep_10M")]
    studies = [Study(tuple(read_reported_trials(str(path))), {}, None, str(path)) for path in paths]
    text, deep = compare_data_sets(studies)
    assert (text.dataset, deep.dataset) == ("text2image_10M_k10_cdf", "deep_10M_k10_cdf")
    assert [curve.engine for curve in text.curves] == [
        "DiskANN", "HNSW", "Zilliz", "IVFFlat", "Puck", "ScaNN",
    ]  # fmt: skip
    assert [share.value for _, share in text.curves[1].curve][:2] == [0.97555, 0.96813]
    assert text.pooled[0].ratio.value == pytest.approx(4.6257, abs=1e-4)


def test_another_k_of_the_same_trials_is_beside_the_first() -> None:
    at_ten, at_two = make_study(trial_with_hits([9] * 5)), make_study(trial_with_hits([2, 1, 2], k=2))
    found = compare_data_sets([at_ten, at_two], recall=0.85)
    assert [(each.k, len(each.curves[0].curve)) for each in found] == [(10, 10), (2, 2)]


def test_of_each_engine_the_configuration_nearest_to_the_target_is_shown() -> None:
    trials = [trial_with_hits([hits] * 4, search={"ef": hits}) for hits in (7, 9, 10)]
    trials += [trial_with_hits([5] * 4, "annoy"), trial_with_hits([10] * 4, "faiss.flat")]
    assert [one.trial.key for one in nearest_by_engine(trials, 0.92)] == ["hnswlib 9"]


def test_failed_and_exact_trials_make_no_data_set() -> None:
    failed = trial_with_histogram([0, 10])
    failed = replace(failed, trial=replace(failed.trial, status="failed"))
    assert compare_data_sets([make_study(failed, trial_with_hits([10], "faiss.flat"))]) == []
