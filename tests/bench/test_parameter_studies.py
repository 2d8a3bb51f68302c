"""Robustness by parameters, and the frontiers of each engine."""

import pytest

from assay.bench.studies.parameter_studies import find_frontiers, numeric_parameters, study_parameters
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.trials import PassSpread, Trial
from tests.studies import trial_with_figures, trial_with_hits


def hnsw_trial(m: int, ef: int, hits: int) -> ScoredTrial:
    return trial_with_hits([hits] * 4, "faiss.hnsw", build={"M": m}, search={"efSearch": ef, "m": m})


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("angular_M_16_efConstruction_300_ef_120", {"M": 16, "efConstruction": 300, "ef": 120}),
        ("FaissIVFPQfs(n_list=10000, n_probe=128, k_reorder=0)",
         {"n_list": 10000, "n_probe": 128, "k_reorder": 0}),
        ("ScaNN,tree=100/40000,AH2,reorder=150", {"tree": 100, "reorder": 150}),
        ("Puck('C1', {'search_coarse_count': 10, 'tinker_search_range': 100})",
         {"search_coarse_count": 10, "tinker_search_range": 100}),
        ("default", {}),
    ],
)  # fmt: skip
def test_a_text_of_all_parameters_is_taken_apart(text: str, parameters: dict[str, float]) -> None:
    assert numeric_parameters(Trial("a", "x", search={"config": text})) == parameters


def test_a_line_joins_what_differs_in_the_search_parameter_alone() -> None:
    trials = [hnsw_trial(m, ef, hits) for m, ef, hits in ((16, 40, 9), (8, 10, 3), (8, 40, 7), (16, 10, 5))]
    (study,) = study_parameters(trials, 0.5)
    assert (study.engine, study.family, study.parameter) == ("faiss.hnsw", "graph", "efSearch")
    assert [line.setting for line in study.lines] == ["M=8 m=8", "M=16 m=16"]
    assert [(point.value, point.recall.value, point.robustness.value) for point in study.lines[0].points] == [
        (10, 0.3, 0.0),
        (40, 0.7, 1.0),
    ]


def test_a_parameter_that_only_some_state_is_a_setting_of_its_own() -> None:
    trials = [
        trial_with_hits([8] * 3, "scann", search={"leaves_to_search": leaves, **more})
        for leaves in (2, 4)
        for more in ({}, {"soar": 1})
    ]
    (study,) = study_parameters(trials, 0.5)
    assert [line.setting for line in study.lines] == ["", "soar=1"]


def test_the_published_study_of_m_and_ef_is_found_in_one_column_of_text() -> None:
    trials = [
        ScoredTrial(
            Trial(
                f"{m} {ef}",
                "HNSW",
                search={"config": f"angular_M_{m}_efConstruction_500_ef_{ef}"},
                reported={"recall": 0.5 + ef / 1000 + m / 1000, "Robustness(delta=0.1)@10": 0.9},
                source="table",
            )
        )
        for m in (16, 128)
        for ef in (32, 64, 128)
    ]
    (study,) = study_parameters(trials, 0.1)
    assert (study.parameter, [line.setting for line in study.lines]) == ("ef", ["M=16", "M=128"])
    assert [point.value for point in study.lines[1].points] == [32, 64, 128]


def test_one_configuration_of_an_engine_is_no_study() -> None:
    assert study_parameters([hnsw_trial(8, 10, 5)], 0.1) == []


def test_a_frontier_has_what_no_other_configuration_of_its_engine_exceeds() -> None:
    trials = [
        trial_with_hits([hits] * 4, "hnswlib", search={"ef": ef}, qps=PassSpread(qps, qps, qps, 1))
        for ef, hits, qps in ((1, 3, 900.0), (2, 5, 800.0), (3, 5, 700.0), (4, 9, 100.0), (5, 4, 750.0))
    ]
    recall, robustness = find_frontiers(trials, 0.5)
    assert (recall.figure, [(point.value, point.qps) for point in recall.points]) == (
        "recall",
        [(0.3, 900.0), (0.5, 800.0), (0.9, 100.0)],
    )
    assert (robustness.figure, [point.qps for point in robustness.points]) == ("robustness-0.5", [800.0])


def test_without_throughput_there_is_no_frontier() -> None:
    assert find_frontiers([trial_with_figures({"recall": 0.9})], 0.1) == []
