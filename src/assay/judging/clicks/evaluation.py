"""How well click models predict clicks: log-likelihood and perplexity, with both ways to average them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.core.result_pages import Pages
from assay.judging.clicks.model import FittedModel, to_list
from assay.stats.distributions import normal_quantile
from assay.stats.intervals import Estimate

LEAST_CHANCE = 1e-6  # instead of 0, for clicks that a model calls impossible
_BLOCK_ROWS = 1 << 17
AVERAGES = {
    "log_likelihood": "mean over pages of the mean over ranks of ln P(click or not | clicks above)",
    "perplexity": "mean over ranks of 2^(−mean over pages of log2 P(click or not))",
    "log_likelihood_per_impression": "mean over all impressions of ln P(click or not | clicks above)",
    "perplexity_per_impression": "2^(−mean over all impressions of log2 P(click or not))",
}


@dataclass(frozen=True)
class Prediction:
    """The log-likelihood and the perplexity of clicks on some pages."""

    page_log_likelihood: Floats  # of each row of pages, the mean over its ranks
    page_weights: Ints
    log_likelihood_per_impression: float
    perplexity_by_rank: Floats  # NaN: no page has this rank
    perplexity_per_impression: float
    impossible: int  # clicks (or their absence) with a chance below 1e-6
    level: float

    @property
    def pages(self) -> int:
        """The number of pages."""
        return int(self.page_weights.sum())

    @property
    def log_likelihood(self) -> Estimate:
        """The mean over pages of the mean over ranks."""
        return _weighted_mean(self.page_log_likelihood, self.page_weights, self.level)

    @property
    def perplexity(self) -> float | None:
        """The mean over ranks."""
        known = self.perplexity_by_rank[~np.isnan(self.perplexity_by_rank)]
        return float(known.mean()) if len(known) else None

    def difference(self, other: Prediction) -> Estimate:
        """Return how much higher the log-likelihood of another model is on the same pages."""
        differences = other.page_log_likelihood - self.page_log_likelihood
        return _weighted_mean(differences, self.page_weights, self.level)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        estimate = self.log_likelihood
        return {
            "log_likelihood": estimate.value,
            "perplexity": self.perplexity,
            "perplexity_by_rank": to_list(self.perplexity_by_rank),
            "log_likelihood_interval": estimate.to_dict(),
            "log_likelihood_per_impression": self.log_likelihood_per_impression,
            "perplexity_per_impression": self.perplexity_per_impression,
            "impossible_events": self.impossible,
        }


def predict_clicks(model: FittedModel, pages: Pages) -> Prediction:
    """Return how well a model predicts the clicks on pages, which may be other than those of its fit."""
    pages = model.clicks_of(pages.recode(model.pairs.pages))
    blocks = [
        _measure(model, pages.take(slice(begin, begin + _BLOCK_ROWS)))
        for begin in range(0, len(pages.queries), _BLOCK_ROWS)
    ]
    surprise = np.sum([block[1] for block in blocks], axis=0)
    impressions = np.sum([block[2] for block in blocks], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_rank = np.exp2(surprise / impressions)
    total = float(impressions.sum())
    return Prediction(
        np.concatenate([block[0] for block in blocks]),
        pages.row_weights,
        float(np.sum([block[3] for block in blocks]) / total) if total else math.nan,
        by_rank,
        float(np.exp2(surprise.sum() / total)) if total else math.nan,
        int(np.sum([block[4] for block in blocks])),
        model.settings.level,
    )


def _measure(model: FittedModel, pages: Pages) -> tuple[Floats, Floats, Floats, float, int]:
    """Return log-likelihoods of pages, bits and impressions by rank, their sum, and how many are clipped."""
    chances = model.click_chances(pages)
    weights = pages.row_weights[:, None] * pages.shown
    given, before = (np.where(pages.clicks, chance, 1 - chance) for chance in chances)
    impossible = int((weights * (given < LEAST_CHANCE)).sum())
    logs = np.log(np.clip(given, LEAST_CHANCE, 1.0))
    bits = -np.log2(np.clip(before, LEAST_CHANCE, 1.0))
    lengths = pages.shown.sum(axis=1)
    means = (logs * pages.shown).sum(axis=1) / np.maximum(lengths, 1)
    return (
        np.where(lengths > 0, means, np.nan),
        (weights * bits).sum(axis=0),
        weights.sum(axis=0).astype(np.float64),
        float((weights * logs).sum()),
        impossible,
    )


def _weighted_mean(values: Floats, weights: Ints, level: float) -> Estimate:
    """Return the mean of values that occur several times, with the interval of its normal approximation."""
    known = ~np.isnan(values)
    values, weights = values[known], weights[known]
    n = int(weights.sum())
    if not n:
        return Estimate(None, None, None, level, 0)
    mean = float((weights * values).sum() / n)
    if n < 2:
        return Estimate(mean, None, None, level, n)
    variance = float((weights * (values - mean) ** 2).sum()) / (n - 1) / n
    half = normal_quantile(0.5 + level / 2) * math.sqrt(variance)
    return Estimate(mean, mean - half, mean + half, level, n)


@dataclass(frozen=True)
class ModelComparison:
    """Models on the same pages, the best log-likelihood first."""

    predictions: Sequence[tuple[str, Prediction]]

    @property
    def best(self) -> str:
        """The name of the model with the highest log-likelihood."""
        return self.predictions[0][0]

    @property
    def equally_good(self) -> list[str]:
        """The models whose difference from the best has an interval that contains 0."""
        first = self.predictions[0][1]
        return [
            name
            for name, prediction in self.predictions
            if (low := prediction.difference(first).low) is None or low <= 0
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        """Return a row for each model as plain data."""
        first = self.predictions[0][1]
        return [
            {
                "model": name,
                "log_likelihood": prediction.log_likelihood.value,
                "perplexity": prediction.perplexity,
                "behind_best": prediction.difference(first).to_dict(),
                "impossible_events": prediction.impossible,
            }
            for name, prediction in self.predictions
        ]


def compare_models(predictions: Sequence[tuple[str, Prediction]]) -> ModelComparison:
    """Return the models in the order of their log-likelihood."""
    ordered = sorted(predictions, key=lambda row: -(row[1].log_likelihood.value or -math.inf))
    return ModelComparison(ordered)
