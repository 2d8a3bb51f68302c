from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import InputError
from assay.core.result_pages import Pages, ResultPage
from assay.judging.clicks.evaluation import compare_models, predict_clicks
from assay.judging.clicks.model import FitSettings
from assay.judging.clicks.models import COMPARABLE, MODELS, fit_model
from assay.judging.clicks.simulation import click_by_cascade, click_by_last_click, click_by_position
from tests.click_logs import (
    EXAMINATION,
    attraction_of_pairs,
    page,
    simulate_views,
    tiangong_pages,
    trec_oracle,
    trec_pages,
)


@pytest.mark.parametrize("name", ["PBM", "SDBN"])
def test_trec_session_2013_has_the_published_fit(shared: Path, name: str) -> None:
    pages, oracle = trec_pages(shared), trec_oracle(shared, name)
    model = fit_model(name.lower(), pages)
    prediction = predict_clicks(model, pages)
    assert prediction.log_likelihood.value == pytest.approx(oracle["log_likelihood"], abs=1e-9)
    assert prediction.perplexity == pytest.approx(oracle["perplexity"][0], abs=1e-9)
    assert prediction.perplexity_by_rank == pytest.approx(oracle["perplexity"][1], abs=1e-9)
    relevance = dict(zip(model.pairs.ids().rows(), model.relevance().value, strict=True))
    for row in oracle["relevance_top25"]:
        assert relevance[row["query"], row["doc"]] == pytest.approx(row["rel"], abs=1e-9)


def test_examination_of_trec_session_2013_is_the_published_one(shared: Path) -> None:
    model = fit_model("pbm", trec_pages(shared))
    expected = trec_oracle(shared, "PBM")["exam_by_rank"]
    assert model.parameters["examination"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "log_likelihood", "perplexity"),
    [("pbm", -0.16781, 1.18993), ("ubm", -0.15676, 1.19011), ("rctr", -0.16980, 1.19240)],
)
def test_held_out_pages_of_tiangong_have_the_published_figures(
    shared: Path, name: str, log_likelihood: float, perplexity: float
) -> None:
    model = fit_model(name, tiangong_pages(shared, "train"))
    prediction = predict_clicks(model, tiangong_pages(shared, "test"))
    assert prediction.log_likelihood.value == pytest.approx(log_likelihood, abs=5e-6)
    assert prediction.perplexity == pytest.approx(perplexity, abs=5e-6)


def test_clicks_by_rank_of_tiangong(shared: Path) -> None:
    rates = fit_model("rctr", tiangong_pages(shared, "train")).intervals()["ctr_by_rank"]
    assert [round(rates[rank].value or 0, 4) for rank in (0, 9)] == [0.1316, 0.0118]


def test_intervals_of_examination_and_relevance_cover_in_simulated_logs() -> None:
    covered, covered_pairs, settings = [], [], FitSettings(is_first_examined=True)
    for seed in range(8):
        views, attraction, rng = simulate_views(seed)
        pages = click_by_position(views, attraction, EXAMINATION, rng)
        model = fit_model("pbm", pages, settings)
        ratios = model.intervals()["examination_relative"]
        covered += [e.low <= x <= e.high for e, x in zip(ratios[1:], EXAMINATION[1:], strict=True)]
        relevance = model.relevance()
        truth = attraction_of_pairs(pages, attraction, model.pairs.keys)
        covered_pairs.append(np.mean((relevance.low <= truth) & (truth <= relevance.high)))
    assert np.mean(covered) > 0.8
    assert np.mean(covered_pairs) > 0.9


def test_ubm_recovers_examination_after_a_click() -> None:
    views, attraction, rng = simulate_views(1, 20_000)
    table = np.tile(EXAMINATION[:, None], 7)
    table[1:, 1:] = 0.9
    model = fit_model("ubm", click_by_last_click(views, attraction, table, rng), FitSettings(iterations=100))
    rows = model.parameters["examination"]
    assert rows[1][1] / rows[0][0] == pytest.approx(0.9, abs=0.06)
    assert rows[3][0] / rows[0][0] == pytest.approx(EXAMINATION[3], abs=0.06)


def test_dbn_recovers_how_often_people_go_on_with_an_interval() -> None:
    views, attraction, rng = simulate_views(2, 10_000)
    satisfied = 0.5 * np.ones_like(attraction)
    pages = click_by_cascade(views, attraction, 0.8 * (1 - satisfied), 0.8, rng)
    model = fit_model("dbn", pages, FitSettings(iterations=100))
    gamma = model.intervals()["continuation"][0]
    assert gamma.low is not None
    assert gamma.high is not None
    assert gamma.low - 0.01 <= 0.8 <= gamma.high + 0.01
    assert gamma.high - gamma.low < 0.1


def test_cascade_and_dependent_clicks_recover_attraction() -> None:
    views, attraction, rng = simulate_views(3, 20_000)
    for name, after_click in (("cm", 0.0), ("dcm", 0.6)):
        pages = click_by_cascade(views, attraction, np.array(after_click), 1.0, rng)
        model = fit_model(name, pages)
        truth = attraction_of_pairs(pages, attraction, model.pairs.keys)
        relevance = model.relevance()
        assert np.corrcoef(relevance.value, truth)[0, 1] > 0.97


@pytest.mark.parametrize("name", COMPARABLE)
def test_a_model_predicts_its_own_chances_of_all_pages(name: str) -> None:
    """The chances of all click patterns of a page, by those given the clicks above, sum to 1."""
    pages = Pages.from_rows(
        [page("q", "abc", "100"), page("q", "acb", "010"), page("q", "bca", "101"), page("q", "cab", "000")]
    )
    model = fit_model(name, pages)
    patterns = [format(number, "03b") for number in range(8)]
    every = Pages.from_rows([page("q", "abc", pattern) for pattern in patterns]).recode(pages)
    given, before = model.click_chances(every)
    chances = np.where(every.clicks, given, 1 - given).prod(axis=1)
    assert chances.sum() == pytest.approx(1)
    expected_clicks = (chances[:, None] * every.clicks).sum(axis=0)
    assert expected_clicks == pytest.approx(before[0])


def test_models_of_short_pages_ignore_the_ranks_without_a_document() -> None:
    pages = Pages.from_rows([page("q", "ab", "10"), page("q", "a", "1"), page("r", "cde", "001")])
    for name in MODELS:
        prediction = predict_clicks(fit_model(name, pages), pages)
        assert np.isfinite(prediction.perplexity_by_rank).all()


def test_merged_pages_have_the_same_fit_as_each_page_by_itself() -> None:
    rows = [page("q", "abc", "010"), page("q", "bac", "100")] * 5 + [page("r", "ab", "00")]
    pages = Pages.from_rows(rows)
    merged = pages.merge_equal()
    assert len(merged.queries) == 3
    for name in COMPARABLE:
        first, second = fit_model(name, pages), fit_model(name, merged)
        assert first.relevance().value == pytest.approx(second.relevance().value)


def test_a_click_that_a_model_calls_impossible_is_counted() -> None:
    pages = Pages.from_rows([page("q", "ab", "11"), page("q", "ab", "10")])
    assert predict_clicks(fit_model("cm", pages), pages).impossible == 1


def test_models_are_ordered_by_log_likelihood(shared: Path) -> None:
    train, test = tiangong_pages(shared, "train"), tiangong_pages(shared, "test")
    rows = [(name, predict_clicks(fit_model(name, train), test)) for name in ("rctr", "ubm", "pbm")]
    comparison = compare_models(rows)
    assert [name for name, _ in comparison.predictions] == ["ubm", "pbm", "rctr"]
    assert comparison.equally_good == ["ubm"]


def test_an_unknown_model_is_refused_with_a_suggestion() -> None:
    pages = Pages.from_rows([page("q", "a", "1")])
    with pytest.raises(InputError, match="did you mean"):
        fit_model("pbn", pages)


@pytest.mark.parametrize("name", ["prior_mean", "prior_weight", "iterations", "dwell_seconds", "level"])
def test_settings_out_of_range_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="expects"):
        FitSettings(**{name: -1})  # type: ignore[arg-type]


def test_a_rank_whose_documents_are_never_at_another_rank_has_no_relative_examination() -> None:
    rows = [
        ResultPage(f"q{i}", [*"ab"[:: 1 - 2 * (i % 2)], "c"], [i % 3 == 0, False, i % 2 == 0])
        for i in range(40)
    ]
    rows += [ResultPage(f"q{i}", ["b", "a", "c"], [False, i % 4 == 0, False]) for i in range(40)]
    first, second, third = fit_model("pbm", Pages.from_rows(rows)).intervals()["examination_relative"]
    assert first.value == 1
    assert second.low is not None
    assert second.low < (second.value or 0)
    assert (third.value, third.low, third.high) == (None, None, None)
