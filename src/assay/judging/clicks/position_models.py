"""Click models that separate the position from the document: PBM and UBM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from assay.core.arrays import Floats
from assay.core.result_pages import Pages
from assay.judging.clicks.beta_intervals import beta_intervals, share_variance
from assay.judging.clicks.cells import count_cells, last_click_groups
from assay.judging.clicks.examination import (
    ExaminationFit,
    attraction_information,
    fit_examination,
    relative_examination,
)
from assay.judging.clicks.model import ClickChances, FitSettings, FittedModel, Relevance, to_list
from assay.stats.intervals import Estimate


@dataclass(frozen=True)
class _ExaminationModel(FittedModel):
    """A model whose click is an examination times an attraction."""

    fit: ExaminationFit

    by_last_click: ClassVar[bool] = False

    @classmethod
    def fit_pages(cls, pages: Pages, settings: FitSettings) -> FittedModel:
        """Return the model fitted to pages."""
        cells = count_cells(pages, cls.by_last_click)
        return cls(settings, cells.pairs, fit_examination(cells, settings))

    @property
    def scale(self) -> float:
        """The factor of all attractions, by which the examinations are divided; clicks do not tell it."""
        return float(self.fit.examination[0]) if self.settings.is_first_examined else 1.0

    def relevance(self) -> Relevance:
        """Return the attraction of each pair."""
        n = attraction_information(self.fit) + self.settings.prior_weight
        variance = share_variance(self.fit.attraction, n)
        relevance = beta_intervals(self.fit.attraction, variance, self.settings.level)
        return Relevance(*(column * self.scale for column in relevance))

    def notes(self) -> dict[str, Any]:
        """Return how far EM came."""
        return self.fit.progress.to_dict()

    @cached_property
    def relative(self) -> list[Estimate]:
        """The examination of each group divided by that of the first."""
        return relative_examination(self.fit, self.settings.level)

    def _examination_at(self, ranks: int) -> Floats:
        """Return the examination of each group of deeper or shallower pages; the prior mean if unknown."""
        known = np.nan_to_num(self.fit.examination, nan=self.settings.prior_mean)
        if not self.by_last_click:
            return np.append(known, np.full(max(0, ranks - len(known)), self.settings.prior_mean))[:ranks]
        depth = int(np.sqrt(len(known)))
        table = np.full((ranks, ranks + 1), self.settings.prior_mean)
        both = min(ranks, depth)
        table[:both, : both + 1] = known.reshape(depth, depth + 1)[:both, : both + 1]
        return table


class PositionBasedModel(_ExaminationModel):
    """PBM: whether a rank is examined depends on the rank alone (Craswell et al. 2008)."""

    name = "pbm"

    @property
    def parameters(self) -> dict[str, Any]:
        """The chance that each rank is examined."""
        return {"examination": to_list(self.fit.examination / self.scale)}

    def intervals(self) -> Mapping[str, list[Estimate]]:
        """Return the examination relative to that of rank 1."""
        return {"examination_relative": self.relative}

    def click_chances(self, pages: Pages) -> ClickChances:
        """Return attraction times examination: earlier clicks change nothing."""
        attraction = self.of_pairs(self.fit.attraction, pages)
        chances = attraction * self._examination_at(pages.ranks)[None, :]
        return ClickChances(chances, chances)


class UserBrowsingModel(_ExaminationModel):
    """UBM: examination depends on the rank and on that of the last click (Dupret and Piwowarski 2008)."""

    name = "ubm"
    by_last_click = True

    @property
    def parameters(self) -> dict[str, Any]:
        """The chance of examination by rank (row) and rank of the last click above it (0: none)."""
        ranks = self.pairs.pages.ranks
        table = (self.fit.examination / self.scale).reshape(ranks, ranks + 1)
        return {"examination": [to_list(row[: rank + 1]) for rank, row in enumerate(table)]}

    def intervals(self) -> Mapping[str, list[Estimate]]:
        """Return the examination without a click above, relative to that of rank 1."""
        return {"examination_relative": self.relative[:: self.pairs.pages.ranks + 1]}

    def click_chances(self, pages: Pages) -> ClickChances:
        """Return the chances given the last click, and summed over where it may have been."""
        attraction = self.of_pairs(self.fit.attraction, pages)
        table = self._examination_at(pages.ranks)
        given = attraction * table.ravel()[last_click_groups(pages)]
        last = np.zeros((len(attraction), pages.ranks + 1))  # the chance of each rank of the last click
        last[:, 0] = 1.0
        before = np.empty_like(attraction)
        for rank in range(pages.ranks):
            click = last * attraction[:, rank, None] * table[rank]
            before[:, rank] = click.sum(axis=1)
            last -= click
            last[:, rank + 1] = before[:, rank]
        return ClickChances(given, before)
