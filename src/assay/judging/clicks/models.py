"""The click models by name."""

from __future__ import annotations

from collections.abc import Callable

from assay.core.errors import InputError
from assay.core.result_pages import Pages
from assay.core.suggestions import did_you_mean
from assay.judging.clicks import cascade_models, position_models, rate_models
from assay.judging.clicks.model import FitSettings, FittedModel

MODELS: dict[str, Callable[[Pages, FitSettings], FittedModel]] = {
    model.name: model.fit_pages
    for model in (
        position_models.PositionBasedModel,
        cascade_models.CascadeModel,
        cascade_models.DependentClickModel,
        cascade_models.SimplifiedDynamicBayesianNetwork,
        cascade_models.DynamicBayesianNetwork,
        position_models.UserBrowsingModel,
        rate_models.ClicksOverExpectedClicks,
        rate_models.SatisfiedClicks,
        rate_models.PairRates,
        rate_models.RankRates,
    )
}
COMPARABLE = tuple(name for name in MODELS if name != "dwell")  # which predict the same clicks


def fit_model(name: str, pages: Pages, settings: FitSettings | None = None) -> FittedModel:
    """Return the click model of this name fitted to pages."""
    if name not in MODELS:
        hint = did_you_mean(name, MODELS)
        raise InputError(
            f"expected a click model of {', '.join(MODELS)}, found {name!r}{hint and f'; {hint}'}"
        )
    return MODELS[name](pages, settings or FitSettings())
