"""What other tools get wrong (facts/measures.md), one test each."""

import copy
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from assay.core.errors import TableError
from assay.core.tables import Qrels, Run
from assay.evaluation import evaluate


def test_queries_are_paired_by_name_and_not_by_the_order_they_came_in() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    run = {"q2": {"b": 1.0, "a": 0.5}, "q1": {"a": 1.0, "b": 0.5}}
    assert evaluate(qrels, run, "RR").estimates["RR"].value == 1.0
    assert evaluate(dict(reversed(qrels.items())), run, "RR").estimates["RR"].value == 1.0


def test_documents_are_paired_by_name_and_not_by_the_order_they_came_in() -> None:
    assert (
        evaluate({"q": {"b": 2, "a": 1}}, {"q": {"a": 1.0, "b": 2.0}}, "nDCG").estimates["nDCG"].value == 1.0
    )


def test_ties_have_one_rule() -> None:
    run = {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}
    assert evaluate({"q": {"a": 1}}, run, "AP").estimates["AP"].value == pytest.approx(1 / 3, abs=1e-12)
    assert evaluate({"q": {"c": 1}}, dict(run), "AP").estimates["AP"].value == 1.0


def test_one_tie_breaks_one_way_for_every_measure_of_one_call() -> None:
    measures = ["RR", "RR@10", "AP", "AP@10", "nDCG", "nDCG@10", "P@1", "Success@1", "Rprec"]
    loser = evaluate({"q": {"a": 1}}, {"q": {"b": 1.0, "a": 1.0}}, measures).scores.to_dict()["q"]
    assert (loser["RR"], loser["RR@10"]) == (0.5, 0.5)
    assert loser["AP"] == loser["AP@10"] == 0.5
    assert loser["nDCG"] == loser["nDCG@10"]
    assert loser["P@1"] == loser["Success@1"] == loser["Rprec"] == 0.0


def test_bpref_is_defined_without_a_judged_irrelevant_document() -> None:
    scores = evaluate({"q": {"a": 1, "b": 1}}, {"q": {"x": 3.0, "a": 2.0}}, "bpref").scores
    assert scores["bpref"].tolist() == [0.5]


def test_ids_are_text_however_much_they_look_like_numbers() -> None:
    ids = ["9007199254740992", "9007199254740993", "1.0", "1", "01", "1e0", "nan"]
    run = {"q": {doc: float(-place) for place, doc in enumerate(ids)}}
    for place, doc in enumerate(ids, 1):
        assert evaluate({"q": {doc: 1}}, run, "RR").scores["RR"].tolist() == [1 / place]
    whole = pl.DataFrame({"query_id": [1, 1], "doc_id": [2**53, 2**53 + 1], "score": [1.0, 2.0]})
    assert evaluate({"1": {str(2**53 + 1): 1}}, whole, "RR").estimates["RR"].value == 1.0


@pytest.mark.parametrize("second", [0.9, 0.1])
def test_a_duplicate_is_refused_and_never_kept_silently(second: float) -> None:
    rows = {"query_id": ["q", "q", "q"], "doc_id": ["a", "b", "a"]}
    with pytest.raises(TableError, match="document 'a' appears twice in query 'q'"):
        Run(pl.DataFrame({**rows, "score": [0.5, 0.7, second]}))
    with pytest.raises(TableError, match="document 'a' appears twice in query 'q'"):
        Qrels(pl.DataFrame({**rows, "grade": [1, 0, 1]}))


def test_no_duplicate_lifts_ndcg_above_one() -> None:
    rows = [("q", "a", 3.0), ("q", "a", 2.0), ("q", "b", 1.0)]
    with pytest.raises(TableError, match="keep one of the two rows"):
        evaluate({"q": {"a": 1}}, pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row"), "nDCG")


def test_every_measure_is_divided_by_the_same_number_of_queries() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 0}}
    estimates = evaluate(qrels, {"q1": {"a": 1.0}}, ["RR@10", "nDCG@10", "R@10", "AP", "P@1"]).estimates
    assert {estimate.n for estimate in estimates.values()} == {3}
    assert [estimate.value for estimate in estimates.values()] == pytest.approx([1 / 3] * 5)


def test_no_row_of_the_input_is_deleted() -> None:
    qrels, run = {"q": {"q": 1, "a": 1}}, {"q": {"q": 3.0, "a": 2.0}, "other": {"a": 1.0}}
    before = copy.deepcopy((qrels, run))
    assert evaluate(qrels, run, ["RR", "nDCG@10"]).estimates["RR"].value == 1.0
    assert (qrels, run) == before


def test_a_document_with_a_score_of_zero_or_less_is_still_returned() -> None:
    run = {"q": {"a": -1.0, "b": 0.0, "c": -5.0}}
    scores = evaluate({"q": {"a": 1, "c": 1}}, run, ["R", "RR", "AP"]).scores.to_dict()["q"]
    assert scores == {"R": 1.0, "RR": 0.5, "AP": pytest.approx((1 / 2 + 2 / 3) / 2)}


def test_ap_divides_by_all_relevant_documents_found_or_not() -> None:
    scores = evaluate({"q": {"a": 1, "b": 1, "c": 1, "d": 1}}, {"q": {"a": 1.0}}, ["AP", "AP@10"]).scores
    assert (scores["AP"].tolist(), scores["AP@10"].tolist()) == ([0.25], [0.25])


def test_the_three_recalls_have_three_values() -> None:
    qrels = {"q": {f"d{i}": 1 for i in range(20)}}
    run = {"q": {f"d{i}": float(-i) for i in range(5)}}
    scores = evaluate(qrels, run, ["R@10", "RCap@10", "P@10"]).scores.to_dict()["q"]
    assert scores == {"R@10": 0.25, "RCap@10": 0.5, "P@10": 0.5}


def test_ndcg_cuts_the_ideal_list_where_it_cuts_the_ranking() -> None:
    qrels = {"q": {"a": 1, "b": 1, "c": 1}}
    scores = evaluate(qrels, {"q": {"a": 2.0, "b": 1.0}}, ["nDCG@2", "nDCG"]).scores
    assert scores["nDCG@2"].tolist() == [1.0]
    assert scores["nDCG"][0] < 1.0


def test_scores_that_float32_could_not_tell_apart_are_told_apart() -> None:
    run = {"q": {"z": 0.1, "a": float(np.nextafter(0.1, 1))}}
    assert evaluate({"q": {"a": 1}}, run, "RR").estimates["RR"].value == 1.0


def test_there_is_nothing_to_compile_before_the_first_answer() -> None:
    code = "from assay import evaluate; evaluate({'q': {'a': 1}}, {'q': {'a': 1.0}}).estimates"
    code += "; import time; print(time.process_time())"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert float(done.stdout) < 10
