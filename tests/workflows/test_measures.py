"""list_measures and recommend_measures: from typed requests."""

import json
from pathlib import Path

import pytest

from assay.core.errors import MeasureError
from assay.workflows.inputs import TableFiles
from assay.workflows.measures import (
    ListMeasuresRequest,
    RecommendMeasuresRequest,
    list_measures,
    recommend_measures,
)


def test_all_measures_are_listed_without_a_name() -> None:
    names = [definition.name for definition in list_measures(ListMeasuresRequest()).definitions]
    assert {"nDCG", "R", "Robustness"} <= set(names)


def test_measures_are_found_by_any_of_their_names_and_each_once() -> None:
    result = list_measures(ListMeasuresRequest(names=["mrr", "nDCG@10", "RR"]))
    assert [definition.name for definition in result.definitions] == ["RR", "nDCG"]
    assert json.loads(json.dumps(result.to_dict())) == result.to_dict()


def test_an_unknown_measure_is_refused() -> None:
    with pytest.raises(MeasureError, match=r"did you mean nDCG\?"):
        list_measures(ListMeasuresRequest(names=["nDGC"]))


def test_measures_are_recommended_for_a_description() -> None:
    choice = recommend_measures(RecommendMeasuresRequest(use="search that feeds a reranker", k=50))
    assert choice.recommendations[0].measure == "R@50"
    assert choice.judged is None
    assert str(choice.to_dict()["command"]).startswith("assay eval QRELS RUN -m R@50")


def test_a_recommendation_fits_the_judgments(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n")
    files = TableFiles(qrels=str(tmp_path / "qrels.txt"))
    choice = recommend_measures(RecommendMeasuresRequest(files=files))
    assert choice.judged is not None
    assert (choice.judged.queries, choice.judged.single, choice.qrels) == (2, 1.0, files.qrels)
