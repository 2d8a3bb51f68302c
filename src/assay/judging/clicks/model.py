"""What every click model has: how it is fitted, and what a fitted one says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from assay.core.arrays import Floats
from assay.core.errors import InputError
from assay.core.result_pages import Pages
from assay.judging.clicks.cells import Pairs
from assay.stats.intervals import Estimate


@dataclass(frozen=True)
class FitSettings:
    """How a model is fitted: the prior of its chances, EM iterations, and how long a satisfied click is."""

    prior_mean: float = 0.5
    prior_weight: float = 2.0  # impressions that the prior counts as
    iterations: int = 50
    dwell_seconds: float = 30.0
    level: float = 0.95
    is_first_examined: bool = False  # whether examinations are scaled so that rank 1 is always examined

    def __post_init__(self) -> None:
        limits = {
            "--prior-mean": (self.prior_mean, 0 < self.prior_mean < 1, "a number between 0 and 1"),
            "--prior-weight": (self.prior_weight, self.prior_weight >= 0, "0 or more"),
            "--iterations": (self.iterations, self.iterations >= 1, "1 or more"),
            "--dwell": (self.dwell_seconds, self.dwell_seconds >= 0, "0 seconds or more"),
            "--level": (self.level, 0 < self.level < 1, "a number between 0 and 1"),
        }
        for name, (value, is_valid, expected) in limits.items():
            if not is_valid:
                raise InputError(f"{name} expects {expected}, found {value:g}")

    @property
    def successes(self) -> float:
        """Clicks that the prior counts as."""
        return self.prior_mean * self.prior_weight

    def smooth(self, count: Any, n: Any) -> Any:
        """Return count / n after the impressions of the prior; NaN if both are 0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(count + self.successes) / (n + self.prior_weight)


class Relevance(NamedTuple):
    """The relevance of each pair with its interval."""

    value: Floats
    low: Floats
    high: Floats


class ClickChances(NamedTuple):
    """The chance of a click at each rank of each page."""

    given_earlier: Floats  # given the clicks at the ranks above
    before: Floats  # before anything is clicked


@dataclass(frozen=True)
class FittedModel(ABC):
    """A click model with its parameters."""

    settings: FitSettings
    pairs: Pairs

    name: ClassVar[str] = ""
    has_relevance: ClassVar[bool] = True  # whether it says anything of single documents

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The parameters that all queries share, by name, as plain data."""

    @abstractmethod
    def relevance(self) -> Relevance:
        """Return the relevance of each pair."""

    @abstractmethod
    def click_chances(self, pages: Pages) -> ClickChances:
        """Return the chances of clicks on pages whose ids begin with those of the pages of the fit."""

    def intervals(self) -> Mapping[str, list[Estimate]]:
        """Return the shared parameters that have an interval."""
        return {}

    def notes(self) -> dict[str, Any]:
        """Return what else is to be known of the fit, as plain data."""
        return {}

    def clicks_of(self, pages: Pages) -> Pages:
        """Return the pages with what the model counts as a click."""
        return pages

    def of_pairs(self, values: Floats, pages: Pages, unknown: float | None = None) -> Floats:
        """Return the value of the pair at each rank of pages; that of the prior if the pair is unknown."""
        prior = self.settings.prior_mean if unknown is None else unknown
        return np.append(values, prior)[self.pairs.find(pages)]  # the position −1 is the prior


@dataclass(frozen=True)
class FitProgress:
    """How far an iterative fit came."""

    iterations: int
    last_change: float  # the largest change of a shared parameter in the last iteration
    history: list[float] = field(default_factory=list, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the progress as plain data."""
        return {"iterations": self.iterations, "last_change": self.last_change}


def to_list(values: Floats) -> list[Any]:
    """Return numbers as plain data; NaN becomes None."""
    if values.ndim > 1:
        return [to_list(row) for row in values]
    return [None if np.isnan(value) else float(value) for value in values]
