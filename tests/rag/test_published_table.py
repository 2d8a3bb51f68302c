"""Tables of published configurations."""

from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import FormatError
from assay.workflows.rag_predict import RagPredictRequest, predict_accuracy
from tests.rag.studies import PUBLISHED, write_published_table


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
        (("naive", "HNSW", 10, 0.2, 90, 0.93, 0.57), "recall: expected a share from 0 to 1, found 90"),
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
