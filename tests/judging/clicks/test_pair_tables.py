import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from assay.core.errors import InputError, UndecidableError
from assay.core.result_pages import Pages, ResultPage
from assay.core.tables import Qrels
from assay.judging.clicks.cells import count_cells
from assay.judging.clicks.grading import GradeRule
from assay.judging.clicks.harvesting import harvest_examination
from assay.judging.clicks.human_labels import area_under_curve, compare_with_labels, rank_correlation
from assay.judging.clicks.models import fit_model
from assay.judging.clicks.pair_table import tabulate_pairs
from assay.judging.clicks.simulation import click_by_position
from tests.click_logs import EXAMINATION, page, simulate_views, tiangong_pages, trec_pages


def test_thresholds_and_quantiles_grade_pairs() -> None:
    relevance, every = np.array([0.05, 0.1, 0.2, 0.9]), np.ones(4, bool)
    assert GradeRule.parse("thresholds:0.1,0.5").grades(relevance, every).tolist() == [0, 1, 1, 2]
    assert GradeRule.parse("quantiles:0.5").grades(relevance, every).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("text", ["thresholds", "quantiles:0.9,0.1", "levels:1", "quantiles:1.5"])
def test_a_wrong_rule_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--grade-rule expects"):
        GradeRule.parse(text)


def test_pairs_with_few_impressions_are_left_out() -> None:
    pages = Pages.from_rows([page("q", "ab", "10"), page("q", "ab", "10"), page("q", "c", "1")])
    table = tabulate_pairs(fit_model("ctr", pages), GradeRule.parse("thresholds:0.5"), 2)
    assert table.frame.select("doc_id", "grade", "impressions", "clicks").rows() == [
        ("a", 1, 2, 2),
        ("b", 0, 2, 0),
    ]
    assert table.left_out == 1
    with pytest.raises(UndecidableError, match="choose another --model"):
        tabulate_pairs(fit_model("rctr", pages), GradeRule.parse("thresholds:0.5"), 1)


def test_coec_does_not_depend_on_the_rank_of_a_document() -> None:
    rows = [page("q", "ab", "10"), page("q", "ba", "00"), page("r", "cd", "11")] * 50
    relevance = fit_model("coec", Pages.from_rows(rows)).relevance()
    assert relevance.low[0] < relevance.value[0] < relevance.high[0]
    assert relevance.value[0] > relevance.value[1]  # a was clicked, b never


def test_click_rates_by_grade_of_tiangong_are_the_published_ones(shared: Path) -> None:
    rows, qrels = [], dict[str, dict[str, int]]()
    text = (shared / "tiangong_demo/human_label_for_NCM.txt").read_text()
    for number, line in enumerate(text.splitlines()):  # a page has its own labels
        ids, clicks, grades = (json.loads(line.split("\t")[field]) for field in (2, 4, 5))
        documents = [f"{doc}/{rank}" for rank, doc in enumerate(ids)]
        rows.append(ResultPage(str(number), documents, clicks))
        qrels[str(number)] = dict(zip(documents, grades, strict=True))
    model = fit_model("pbm", Pages.from_rows(rows))
    table = tabulate_pairs(model, GradeRule.parse("quantiles:0.5,0.9"), 1)
    human = compare_with_labels(table.frame, model.pairs, Qrels(qrels), 1, 0.95)
    rates = {grade: rate.value for grade, rate in human.ctr_by_grade}
    published = {0: 0.037, 1: 0.087, 2: 0.107, 3: 0.257}
    assert {grade: rates[grade] for grade in published} == pytest.approx(published, abs=6e-4)
    assert human.auc.value is not None
    assert human.auc.value > 0.5
    assert human.kappa_quadratic.value is not None


def test_click_rates_by_rank_of_trec_session_2013(shared: Path) -> None:
    rates = fit_model("rctr", trec_pages(shared)).intervals()["ctr_by_rank"]
    assert [(rates[rank].value or 0) * 391 for rank in (0, 9)] == pytest.approx([117, 7])


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=4, max_size=60))
def test_area_and_correlation_agree_with_the_libraries(rows: list[tuple[int, bool]]) -> None:
    values, is_relevant = (np.array(column) for column in zip(*rows, strict=True))
    area = area_under_curve(values.astype(float), is_relevant, 0.95)
    if is_relevant.all() or not is_relevant.any():
        assert area.value is None
        return
    assert area.value == pytest.approx(roc_auc_score(is_relevant, values))
    rho = rank_correlation(values.astype(float), is_relevant.astype(float), 0.95)
    if np.ptp(values):
        assert rho.value == pytest.approx(spearmanr(values, is_relevant).statistic)
    else:
        assert rho.value is None


def test_harvesting_recovers_position_bias_without_a_model_of_relevance() -> None:
    covered = []
    for seed in range(5):
        views, attraction, rng = simulate_views(seed)
        cells = count_cells(click_by_position(views, attraction, EXAMINATION, rng))
        harvested = harvest_examination(cells, 0.95)
        covered += [e.low <= x <= e.high for e, x in zip(harvested.relative, EXAMINATION, strict=True)][1:]
    assert harvested.pairs == 240
    assert np.mean(covered) > 0.8


def test_documents_that_never_move_tell_nothing_of_position(shared: Path) -> None:
    pages = Pages.from_rows([page("q", "ab", "10")] * 5)
    assert all(e.value is None for e in harvest_examination(count_cells(pages), 0.95).relative)
    assert harvest_examination(count_cells(tiangong_pages(shared, "train")), 0.95).pairs == 273
