"""Click models in which people read from the top until they stop: CM, DCM, SDBN and DBN."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.core.arrays import Bools, Floats
from assay.core.result_pages import Pages
from assay.judging.clicks.beta_intervals import beta_intervals, product_variance, share_variance
from assay.judging.clicks.cells import Pairs, count_cells
from assay.judging.clicks.model import (
    ClickChances,
    FitProgress,
    FitSettings,
    FittedModel,
    Relevance,
    to_list,
)
from assay.stats.intervals import Estimate, estimate_share

_JACKKNIFE_GROUPS = 10
_JACKKNIFE_ITERATIONS = 20


@dataclass(frozen=True)
class PairShare:
    """A chance of each pair, and how many trials it is known from."""

    value: Floats
    n: Floats

    @property
    def variance(self) -> Floats:
        """The variance of the chance; the trials include those of the prior."""
        return share_variance(self.value, self.n)


@dataclass(frozen=True)
class _CascadeModel(FittedModel):
    """A model in which each rank is reached from the one above it, with a chance that its click changes."""

    attraction: PairShare

    @abstractmethod
    def _continuation(self, pages: Pages) -> tuple[Any, Any]:
        """Return the chance to go on at each rank after a click, and without one."""

    def relevance(self) -> Relevance:
        """Return the attraction of each pair."""
        return beta_intervals(self.attraction.value, self.attraction.variance, self.settings.level)

    def click_chances(self, pages: Pages) -> ClickChances:
        """Return the chances rank by rank: those of reaching it times the attraction."""
        attraction = self.of_pairs(self.attraction.value, pages)
        after_click, after_none = self._continuation(pages)
        after_click = np.broadcast_to(after_click, attraction.shape)
        given, before = np.empty_like(attraction), np.empty_like(attraction)
        reached = reached_before = np.ones(len(attraction))
        for rank in range(pages.ranks):
            chance = attraction[:, rank]
            given[:, rank], before[:, rank] = reached * chance, reached_before * chance
            unclicked = after_none * reached * (1 - chance) / np.maximum(1 - reached * chance, 1e-300)
            reached = np.where(pages.clicks[:, rank], after_click[:, rank], unclicked)
            reached_before = reached_before * (chance * after_click[:, rank] + (1 - chance) * after_none)
        return ClickChances(given, before)


def _has_click(pages: Pages) -> Bools:
    """Return a column that says whether each page has a click."""
    has_click: Bools = pages.clicks.sum(axis=1, keepdims=True) > 0
    return has_click


def examined_to_last_click(pages: Pages) -> Bools:
    """Return which ranks lie at or above the last click; on a page without a click, all."""
    below = np.cumsum(pages.clicks[:, ::-1], axis=1)[:, ::-1] > 0
    examined: Bools = (below | ~_has_click(pages)) & pages.shown
    return examined


def examined_to_first_click(pages: Pages) -> Bools:
    """Return which ranks lie at or above the first click; on a page without a click, all."""
    examined: Bools = (np.cumsum(pages.clicks, axis=1) - pages.clicks == 0) & pages.shown
    return examined


def is_last_click(pages: Pages) -> Bools:
    """Return which clicks are the last of their page."""
    is_last: Bools = pages.clicks & (np.cumsum(pages.clicks[:, ::-1], axis=1)[:, ::-1] == 1)
    return is_last


class _PageCounts:
    """Sums over pages by pair."""

    def __init__(self, pages: Pages, pairs: Pairs) -> None:
        self.weights = pages.row_weights[:, None].astype(np.float64)
        self.pair = pairs.find(pages)
        self.count = len(pairs)

    def sum(self, values: Any) -> Floats:
        """Return the sum of values of a rank of a page for each pair."""
        weighted = np.broadcast_to(self.weights * values, self.pair.shape)
        sums = np.bincount(self.pair.ravel() + 1, weighted.ravel(), self.count + 1)[1:]
        return sums.astype(np.float64, copy=False)

    def share(self, successes: Any, trials: Any, settings: FitSettings) -> PairShare:
        """Return a smoothed share for each pair."""
        n = self.sum(trials)
        return PairShare(settings.smooth(self.sum(successes), n), n + settings.prior_weight)


def _merge(pages: Pages) -> tuple[Pages, Pairs]:
    """Return each different page once, and the pairs."""
    return pages.merge_equal(), count_cells(pages).pairs


class CascadeModel(_CascadeModel):
    """CM: people read down to the first click and stop there (Craswell et al. 2008)."""

    name = "cm"

    @classmethod
    def fit_pages(cls, pages: Pages, settings: FitSettings) -> FittedModel:
        """Return the model of pages; what is below a first click is not used."""
        merged, pairs = _merge(pages)
        examined = examined_to_first_click(merged)
        share = _PageCounts(merged, pairs).share(examined & merged.clicks, examined, settings)
        return cls(settings, pairs, share)

    @property
    def parameters(self) -> dict[str, Any]:
        """Nothing: the model has only chances of pairs."""
        return {}

    def _continuation(self, pages: Pages) -> tuple[Any, Any]:
        return 0.0, 1.0


@dataclass(frozen=True)
class DependentClickModel(_CascadeModel):
    """DCM: after a click people go on with a chance that depends on its rank (Guo, Liu and Wang 2009)."""

    continued: Floats  # clicks by rank that were not the last of their page
    clicks: Floats

    name = "dcm"

    @classmethod
    def fit_pages(cls, pages: Pages, settings: FitSettings) -> FittedModel:
        """Return the model of pages; the last click is taken as the end of reading."""
        merged, pairs = _merge(pages)
        share = _PageCounts(merged, pairs).share(merged.clicks, examined_to_last_click(merged), settings)
        weights = merged.row_weights[:, None]
        clicks = (weights * merged.clicks).sum(axis=0)
        last = (weights * is_last_click(merged)).sum(axis=0)
        return cls(settings, pairs, share, (clicks - last).astype(float), clicks.astype(float))

    @property
    def continuation(self) -> Floats:
        """The smoothed chance to go on after a click, by rank."""
        smoothed: Floats = self.settings.smooth(self.continued, self.clicks)
        return smoothed

    @property
    def parameters(self) -> dict[str, Any]:
        """The chance to go on after a click, by rank."""
        return {"continuation": to_list(self.continuation)}

    def intervals(self) -> Mapping[str, list[Estimate]]:
        """Return the chances to go on, not smoothed."""
        counts = zip(self.continued.tolist(), self.clicks.tolist(), strict=True)
        return {"continuation": [estimate_share(a, int(n), self.settings.level) for a, n in counts]}

    def _continuation(self, pages: Pages) -> tuple[Any, Any]:
        known = np.nan_to_num(self.continuation, nan=self.settings.prior_mean)
        deeper = np.full(max(0, pages.ranks - len(known)), self.settings.prior_mean)
        return np.append(known, deeper)[: pages.ranks][None, :], 1.0


@dataclass(frozen=True)
class SimplifiedDynamicBayesianNetwork(_CascadeModel):
    """SDBN: people read to their last click and are satisfied there (Chapelle and Zhang 2009, section 5)."""

    satisfaction: PairShare

    name = "sdbn"

    @classmethod
    def fit_pages(cls, pages: Pages, settings: FitSettings) -> FittedModel:
        """Return the model of pages, which is counted."""
        merged, pairs = _merge(pages)
        counts = _PageCounts(merged, pairs)
        attraction = counts.share(merged.clicks, examined_to_last_click(merged), settings)
        return cls(settings, pairs, attraction, counts.share(is_last_click(merged), merged.clicks, settings))

    @property
    def continuation(self) -> float:
        """The chance to go on for somebody who is not satisfied."""
        return 1.0

    @property
    def parameters(self) -> dict[str, Any]:
        """The chance to go on without satisfaction, which is fixed."""
        return {"continuation": self.continuation}

    def relevance(self) -> Relevance:
        """Return attraction times satisfaction of each pair."""
        means = self.attraction.value, self.satisfaction.value
        variance = product_variance(means, (self.attraction.variance, self.satisfaction.variance))
        return beta_intervals(means[0] * means[1], variance, self.settings.level)

    def _continuation(self, pages: Pages) -> tuple[Any, Any]:
        satisfied = self.of_pairs(self.satisfaction.value, pages)
        return self.continuation * (1 - satisfied), self.continuation


@dataclass(frozen=True)
class DynamicBayesianNetwork(SimplifiedDynamicBayesianNetwork):
    """DBN: as SDBN, but somebody who is not satisfied may stop at any rank (Chapelle and Zhang 2009)."""

    gamma: float
    gamma_half_width: float
    progress: FitProgress

    name = "dbn"

    @classmethod
    def fit_pages(cls, pages: Pages, settings: FitSettings) -> FittedModel:
        """Return the model fitted by EM."""
        merged, pairs = _merge(pages)
        fit = _DynamicFit(merged, pairs, settings)
        for _ in range(settings.iterations):
            fit.improve()
        known = fit.counts.sum(fit.is_certain) + settings.prior_weight
        clicks = fit.satisfaction_information() + settings.prior_weight
        return cls(
            settings,
            pairs,
            PairShare(fit.attraction, known),
            PairShare(fit.satisfaction, clicks),
            fit.gamma,
            _gamma_half_width(fit),
            FitProgress(settings.iterations, fit.last_change),
        )

    @property
    def continuation(self) -> float:
        """The chance to go on for somebody who is not satisfied."""
        return self.gamma

    def intervals(self) -> Mapping[str, list[Estimate]]:
        """Return the chance to go on without satisfaction."""
        low, high = self.gamma - self.gamma_half_width, min(1.0, self.gamma + self.gamma_half_width)
        estimate = Estimate(self.gamma, max(0.0, low), high, self.settings.level, len(self.pairs.pages))
        has_interval = not np.isnan(self.gamma_half_width)
        return {"continuation": [estimate if has_interval else estimate._replace(low=None, high=None)]}

    def notes(self) -> dict[str, Any]:
        """Return how far EM came."""
        return self.progress.to_dict()


def _gamma_half_width(fit: _DynamicFit) -> float:
    """Return half the width of the interval of γ: a jackknife over groups of queries."""
    from scipy.special import stdtrit

    group = fit.pages.queries % _JACKKNIFE_GROUPS
    if len(np.unique(group)) < _JACKKNIFE_GROUPS:
        return float("nan")
    parts = [fit.refit(fit.pages.take(group != left_out)) for left_out in range(_JACKKNIFE_GROUPS)]
    spread = np.std(parts) * np.sqrt(_JACKKNIFE_GROUPS - 1)
    return float(spread * stdtrit(_JACKKNIFE_GROUPS - 1, 0.5 + fit.settings.level / 2))


class _DynamicFit:
    """EM of DBN: what happened below the last click is expected from the chances of all ways to stop.

    Above the last click all is known: each rank was examined and no click satisfied.
    """

    def __init__(self, pages: Pages, pairs: Pairs, settings: FitSettings) -> None:
        self.pages, self.pairs, self.settings = pages, pairs, settings
        self.counts = _PageCounts(pages, pairs)
        self.attraction = np.full(len(pairs), settings.prior_mean)
        self.satisfaction = np.full(len(pairs), settings.prior_mean)
        self.gamma, self.last_change = settings.prior_mean, np.inf
        self.shown = pages.shown
        self.is_last = is_last_click(pages)
        has_click = _has_click(pages)
        self.is_certain = examined_to_last_click(pages) & has_click
        self.is_certain[:, :1] |= ~has_click  # the first rank is always examined

    def improve(self) -> None:
        """Do one iteration of EM."""
        examined, is_satisfied = self._expectations()
        counts, clicks = self.counts, self.pages.clicks
        self.attraction = self.settings.smooth(counts.sum(clicks), counts.sum(examined))
        self.satisfaction = self.settings.smooth(counts.sum(is_satisfied), counts.sum(clicks))
        has_next = np.zeros_like(self.shown)
        has_next[:, :-1] = self.shown[:, 1:]
        could_go_on = np.where(has_next, examined - is_satisfied, 0.0)
        went_on = np.where(has_next[:, :-1], examined[:, 1:], 0.0)
        weights, before = self.counts.weights, self.gamma
        self.gamma = float(self.settings.smooth((weights * went_on).sum(), (weights * could_go_on).sum()))
        self.last_change = abs(self.gamma - before)

    def refit(self, pages: Pages) -> float:
        """Return the chance to go on of some of the pages, by EM from the values of this fit."""
        part = _DynamicFit(pages, self.pairs, self.settings)
        part.attraction, part.satisfaction, part.gamma = self.attraction, self.satisfaction, self.gamma
        for _ in range(_JACKKNIFE_ITERATIONS):
            part.improve()
        return part.gamma

    def satisfaction_information(self) -> Floats:
        """Return how many clicks of each pair with a known outcome would tell as much of its satisfaction.

        Whether a last click satisfied is not known: what is missing is the variance of that (Louis 1982).
        """
        _, is_satisfied = self._expectations()
        unknown = self.counts.sum(np.where(self.is_last, is_satisfied * (1 - is_satisfied), 0.0))
        variance = np.maximum(self.satisfaction * (1 - self.satisfaction), 1e-9)
        known: Floats = np.maximum(self.counts.sum(self.pages.clicks) - unknown / variance, 0.0)
        return known

    def _expectations(self) -> tuple[Floats, Floats]:
        attracted = np.append(self.attraction, 0.0)[self.counts.pair]
        satisfied = np.append(self.satisfaction, 0.0)[self.counts.pair]
        return self._expect(attracted, satisfied, self._silence(attracted))

    def _silence(self, attracted: Floats) -> Floats:
        """Return the chance of no click from each rank on, for somebody who may go on to it."""
        ranks = self.pages.ranks
        silence = np.ones((len(attracted), ranks + 1))
        for rank in range(ranks - 1, -1, -1):
            going_on = self.gamma * (1 - attracted[:, rank]) * silence[:, rank + 1]
            silence[:, rank] = np.where(self.shown[:, rank], 1 - self.gamma + going_on, 1.0)
        return silence

    def _expect(self, attracted: Floats, satisfied: Floats, silence: Floats) -> tuple[Floats, Floats]:
        """Return the chance that each rank was examined, and that its click satisfied, given the clicks."""
        examined = self.is_certain.astype(np.float64)
        ends = satisfied + (1 - satisfied) * silence[:, 1:]
        is_satisfied = np.where(self.is_last, satisfied / ends, 0.0)
        for rank in range(1, self.pages.ranks):
            # who examined the rank above and was not satisfied goes on with this chance, given silence
            going_on = self.gamma * (1 - attracted[:, rank]) * silence[:, rank + 1] / silence[:, rank]
            expected = (examined[:, rank - 1] - is_satisfied[:, rank - 1]) * going_on
            examined[:, rank] = np.where(self.is_certain[:, rank], 1.0, expected) * self.shown[:, rank]
        return examined, is_satisfied
