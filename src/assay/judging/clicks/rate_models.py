"""Click models that only count: CTR of a pair, CTR of a rank, COEC, and clicks with a long dwell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.core.arrays import Floats
from assay.core.result_pages import Pages
from assay.judging.clicks.beta_intervals import beta_intervals, share_variance
from assay.judging.clicks.cells import Cells, count_cells
from assay.judging.clicks.model import ClickChances, FitSettings, FittedModel, Relevance, to_list
from assay.stats.intervals import Estimate, estimate_share

_EXPECTED_CLICKS_OF_PRIOR = 1.0  # COEC is drawn toward 1 as by one expected click


@dataclass(frozen=True)
class _RateModel(FittedModel):
    """A model of counts of clicks and impressions."""

    cells: Cells

    @classmethod
    def fit_pages(cls, pages: Pages, settings: FitSettings) -> FittedModel:
        """Return the model of pages."""
        cells = count_cells(pages)
        return cls(settings, cells.pairs, cells)

    @property
    def rank_counts(self) -> tuple[Floats, Floats]:
        """Clicks and impressions of each rank."""
        return self.cells.sum_by_group(self.cells.clicked), self.cells.sum_by_group(self.cells.shown)

    @property
    def rank_rates(self) -> Floats:
        """The smoothed CTR of each rank."""
        rates: Floats = self.settings.smooth(*self.rank_counts)
        return rates

    @property
    def parameters(self) -> dict[str, Any]:
        """CTR by rank."""
        return {"ctr_by_rank": to_list(self.rank_rates)}

    def intervals(self) -> Mapping[str, list[Estimate]]:
        """Return CTR by rank, not smoothed."""
        counts = zip(*self.rank_counts, strict=True)
        level = self.settings.level
        return {"ctr_by_rank": [estimate_share(float(clicks), int(n), level) for clicks, n in counts]}

    @property
    def pair_rates(self) -> Floats:
        """The smoothed CTR of each pair."""
        rates: Floats = self.settings.smooth(self.pairs.clicks, self.pairs.impressions)
        return rates

    def relevance(self) -> Relevance:
        """Return the CTR of each pair."""
        n: Floats = self.pairs.impressions + np.float64(self.settings.prior_weight)
        return beta_intervals(self.pair_rates, share_variance(self.pair_rates, n), self.settings.level)

    def rates_at(self, pages: Pages) -> Floats:
        """Return the CTR of the rank at each rank of pages; the prior mean below the deepest known."""
        rates = np.nan_to_num(self.rank_rates, nan=self.settings.prior_mean)
        deeper = np.full(max(0, pages.ranks - len(rates)), self.settings.prior_mean)
        return np.broadcast_to(np.append(rates, deeper)[: pages.ranks], pages.documents.shape)


class PairRates(_RateModel):
    """CTR: clicks per impression of each pair, at any rank."""

    name = "ctr"

    def click_chances(self, pages: Pages) -> ClickChances:
        """Return the CTR of the pair."""
        chances = self.of_pairs(self.pair_rates, pages)
        return ClickChances(chances, chances)


class RankRates(_RateModel):
    """RCTR: clicks per impression of each rank, whatever is shown there; a baseline for the others."""

    name = "rctr"
    has_relevance = False

    def click_chances(self, pages: Pages) -> ClickChances:
        """Return the CTR of the rank."""
        chances = self.rates_at(pages)
        return ClickChances(chances, chances)


class ClicksOverExpectedClicks(_RateModel):
    """COEC: clicks divided by what the CTR of the ranks predicts for the same impressions.

    The counts of a pair stay at the ranks at which it was shown, ranks count from 1 in every input, and the
    ratio is drawn toward 1 by one expected click (Zhang and Jones 2007 define it without).
    """

    name = "coec"

    @property
    def expected(self) -> Floats:
        """The clicks of each pair that the CTR of its ranks predicts."""
        clicks, shown = self.rank_counts
        rates = np.divide(clicks, shown, out=np.zeros_like(clicks), where=shown > 0)
        return self.cells.sum_by_pair(self.cells.shown * rates[self.cells.group])

    @property
    def ratios(self) -> Floats:
        """COEC of each pair."""
        return (self.pairs.clicks + _EXPECTED_CLICKS_OF_PRIOR) / (self.expected + _EXPECTED_CLICKS_OF_PRIOR)

    def relevance(self) -> Relevance:
        """Return COEC with the interval of a Poisson rate under a gamma prior."""
        from scipy.special import gammaincinv

        shape, rate = self.pairs.clicks + _EXPECTED_CLICKS_OF_PRIOR, self.expected + _EXPECTED_CLICKS_OF_PRIOR
        tails = (1 - self.settings.level) / 2, (1 + self.settings.level) / 2
        low, high = (gammaincinv(shape, tail) / rate for tail in tails)
        return Relevance(shape / rate, low, high)

    def click_chances(self, pages: Pages) -> ClickChances:
        """Return COEC times the CTR of the rank, at most 1."""
        chances = np.minimum(1.0, self.of_pairs(self.ratios, pages, unknown=1.0) * self.rates_at(pages))
        return ClickChances(chances, chances)


class SatisfiedClicks(_RateModel):
    """Dwell: a click counts only if the person stayed longer than a time, 30 seconds by default."""

    name = "dwell"

    @classmethod
    def fit_pages(cls, pages: Pages, settings: FitSettings) -> FittedModel:
        """Return the rates of long clicks."""
        cells = count_cells(long_clicks(pages, settings.dwell_seconds))
        return cls(settings, cells.pairs, cells)

    def clicks_of(self, pages: Pages) -> Pages:
        """Return the pages with long clicks only."""
        return long_clicks(pages, self.settings.dwell_seconds)

    def click_chances(self, pages: Pages) -> ClickChances:
        """Return the rate of long clicks of the pair."""
        chances = self.of_pairs(self.pair_rates, pages)
        return ClickChances(chances, chances)

    def notes(self) -> dict[str, Any]:
        """Return how long a click must last."""
        return {"dwell_seconds": self.settings.dwell_seconds}


def long_clicks(pages: Pages, seconds: float) -> Pages:
    """Return pages whose clicks are those with a longer dwell; an unknown one is not counted as long."""
    if pages.dwell is None:
        return replace(pages, clicks=np.zeros_like(pages.clicks))
    return replace(pages, clicks=pages.clicks & (np.nan_to_num(pages.dwell) > seconds))
