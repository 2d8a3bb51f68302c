"""Tables of published configurations."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from assay.core.errors import FormatError
from assay.rag.published_table import ScenarioPredictors
from assay.workflows.rag_predict import RagPredictRequest, predict_accuracy
from tests.rag.studies import PUBLISHED, write_published_table


def _scenario(path: Path, rows: Sequence[Sequence[object]]) -> ScenarioPredictors:
    (scenario,) = predict_accuracy(RagPredictRequest(table=write_published_table(path, rows))).scenarios
    return scenario


def test_each_scenario_has_its_correlations_without_the_controls(tmp_path: Path) -> None:
    naive, agentic = predict_accuracy(
        RagPredictRequest(table=write_published_table(tmp_path / "t.csv"))
    ).scenarios
    assert (naive.scenario, naive.configurations, naive.controls) == ("naive", 4, ("K-NN",))
    assert (agentic.configurations, agentic.controls) == (3, ("exact",))
    rows = np.array([row[4:] for row in PUBLISHED[1:5]], np.float64)
    expected = np.corrcoef(rows[:, 1], rows[:, 2])[0, 1]
    best = naive.predictors[0]
    assert best.measure == "robustness"
    assert best.pearson.value == pytest.approx(expected)
    assert best.r2 == pytest.approx(expected**2)


def test_rows_of_several_deltas_are_predictors_of_their_own(tmp_path: Path) -> None:
    rows = [row for row in PUBLISHED if row[0] == "naive"]
    more = [(*row[:3], 0.9, row[4], row[4], row[6]) for row in rows]
    (scenario,) = predict_accuracy(
        RagPredictRequest(table=write_published_table(tmp_path / "t.csv", rows + more))
    ).scenarios
    assert scenario.configurations == 4
    assert {p.measure for p in scenario.predictors} == {"recall", "Robustness-0.2", "Robustness-0.9"}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (
            ("naive", "HNSW", 10, 0.2, 90, 0.93, 0.57),
            r"recall: expected a share from 0 to 1 \(or .*\), found 90",
        ),
        (("naive", "HNSW", 10, 0.2, 0.9, "high", 0.57), "robustness: expected a number, found 'high'"),
        (("naive", "HNSW", 10, 0.2, 0.9, 0.93, ""), "found no accuracy"),
    ],
)
def test_a_bad_cell_is_named_with_its_line(tmp_path: Path, row: tuple[object, ...], problem: str) -> None:
    with pytest.raises(FormatError, match=problem) as error:
        predict_accuracy(
            RagPredictRequest(table=write_published_table(tmp_path / "t.csv", [PUBLISHED[0], row]))
        )
    assert "3" in str(error.value)


def test_correlations_are_those_of_scipy(tmp_path: Path) -> None:
    rows = [row for row in PUBLISHED if row[0] == "naive"]
    predictors = {p.measure: p for p in _scenario(tmp_path / "t.csv", rows).predictors}
    accuracy = [row[6] for row in rows[1:]]
    for measure, column in (("recall", 4), ("robustness", 5)):
        values = [row[column] for row in rows[1:]]
        assert predictors[measure].pearson.value == pytest.approx(pearsonr(values, accuracy).statistic)
        assert predictors[measure].spearman.value == pytest.approx(spearmanr(values, accuracy).statistic)


_EXACT = "K-NN,kNN,k_nn (exact),Exact Search,exact_knn,BRUTE FORCE,bruteforce,Flat,IndexFlatIP,ENN,exhaustive"


@pytest.mark.parametrize("name", _EXACT.split(","))
def test_exact_search_is_a_control_however_it_is_spelled(tmp_path: Path, name: str) -> None:
    rows = [(*PUBLISHED[0][:1], name, *PUBLISHED[0][2:]), *PUBLISHED[1:5]]
    assert _scenario(tmp_path / "t.csv", rows).controls == (name,)


@pytest.mark.parametrize("name", ["IVF-Flat", "HNSW_Flat", "hnsw exact rerank", "Lucene kNN", "KNN graph"])
def test_an_index_is_no_control_whatever_it_is_named_after(tmp_path: Path, name: str) -> None:
    rows = [(*PUBLISHED[1][:1], name, *PUBLISHED[1][2:]), *PUBLISHED[2:5]]
    assert _scenario(tmp_path / "t.csv", rows).controls == ()


@pytest.mark.parametrize("sign", ["", "%", " %"])
def test_percentages_are_read_as_shares(tmp_path: Path, sign: str) -> None:
    rows = [row for row in PUBLISHED if row[0] == "naive"]
    percent = [(*row[:4], *(f"{100 * share:.1f}{sign}" for share in row[4:])) for row in rows]
    shares = _scenario(tmp_path / "shares.csv", rows).to_dict()
    found = _scenario(tmp_path / "percent.csv", percent).to_dict()
    for expected, predictor in zip(shares["predictors"], found["predictors"], strict=True):
        assert predictor["pearson"] == pytest.approx(expected["pearson"])
        assert predictor["family_error"] == pytest.approx(expected["family_error"])


def test_the_delta_of_a_robustness_stands_beside_its_measure(tmp_path: Path) -> None:
    rows = [row for row in PUBLISHED if row[0] == "naive"]
    more = [(*row[:3], 0.9, row[4], row[4], row[6]) for row in rows]
    found = _scenario(tmp_path / "t.csv", rows + more).to_dict()["predictors"]
    assert {(p["measure"], p["delta"]) for p in found} == {
        ("recall", None),
        ("robustness", 0.2),
        ("robustness", 0.9),
    }


def test_each_configuration_may_have_a_delta_of_its_own(tmp_path: Path) -> None:
    rows = [("all", *row[1:]) for row in PUBLISHED]
    scenario = _scenario(tmp_path / "t.csv", rows)
    assert {(p.measure, p.pearson.n) for p in scenario.predictors} == {("recall", 7), ("robustness", 7)}
    assert scenario.ks == (5, 10)


def test_equal_recall_and_accuracy_do_not_make_two_rows_one_configuration(tmp_path: Path) -> None:
    rows = [*PUBLISHED[:5], (*PUBLISHED[1][:5], 0.5, PUBLISHED[1][6])]
    assert _scenario(tmp_path / "t.csv", rows).configurations == 5


def test_columns_may_be_in_capitals(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write_published_table(path)
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([head.upper(), *rows]))
    assert len(predict_accuracy(RagPredictRequest(table=str(path))).scenarios) == 2
