import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.tables import Run
from assay.judging.clicks.off_policy import estimate_policy
from assay.judging.clicks.ranking_value import parse_gain, weigh_ranking
from assay.judging.clicks.simulation import click_by_position
from tests.click_logs import EXAMINATION, simulate_views


def test_open_bandit_has_the_published_figures_and_is_not_supported(shared: Path) -> None:
    data = gzip.decompress((shared / "open_bandit/bts_women.csv.gz").read_bytes())
    log = pl.read_csv(data, columns=["click", "propensity_score"])
    weights = (1 / 46) / log["propensity_score"].to_numpy()
    value = estimate_policy(log["click"].to_numpy().astype(float), weights)
    assert value.ips.value == pytest.approx(0.00744, abs=5e-6)
    assert value.snips.value == pytest.approx(0.00237, abs=5e-6)
    assert value.effective_n == pytest.approx(2.1, abs=0.05)
    assert not value.is_supported
    assert value.to_dict()["ips"]["value"] is None


def test_intervals_cover_the_value_of_another_policy() -> None:
    chances, logged, target = (np.array(row) for row in ([0.1, 0.3, 0.5], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]))
    covered = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        action = rng.choice(3, 2000, p=logged)
        rewards = (rng.random(2000) < chances[action]).astype(float)
        value = estimate_policy(rewards, (target / logged)[action])
        covered += [e.low <= target @ chances <= e.high for e in (value.ips, value.snips)]
    assert np.mean(covered) > 0.89


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=50))
def test_the_effective_sample_size_is_at_most_the_number_of_rows(weights: list[float]) -> None:
    value = estimate_policy(np.ones(len(weights)), np.array(weights))
    assert 1 - 1e-9 <= value.effective_n <= len(weights) * (1 + 1e-9)
    assert value.snips.value == pytest.approx(1)


def test_the_clicks_of_a_new_ranking_follow_from_the_log_of_another() -> None:
    views, attraction, rng = simulate_views(0, 20_000)
    pages = click_by_position(views, attraction, EXAMINATION, rng)
    rows = {}
    for query in range(30):
        documents = range(query * 8, query * 8 + 8)
        rows[f"q{query}"] = {f"d{doc}": 8.0 - rank for rank, doc in enumerate(documents)}
    truth_of = dict(zip(pages.documents.ravel().tolist(), attraction.ravel().tolist(), strict=True))
    shown = pages.queries[:, None] * 8 + np.arange(6)
    truth = (np.vectorize(truth_of.get)(shown) * EXAMINATION).sum(axis=1).mean()
    weights = weigh_ranking(pages, Run(rows), EXAMINATION, parse_gain("clicks"))
    value = weights.scale(estimate_policy(weights.rewards, weights.weights))
    assert value.snips.value == pytest.approx(truth, rel=0.05)
    assert value.coverage == pytest.approx(6 / 8, abs=0.01)
