"""Clicks held against human labels: correlation, area under the curve, agreement, and CTR by grade."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assay.core.arrays import Bools, Floats
from assay.core.tables import Qrels
from assay.judging.agreement.labels import Labels
from assay.judging.agreement.pairs import compare_raters
from assay.judging.clicks.cells import Pairs
from assay.stats.distributions import normal_quantile
from assay.stats.intervals import Estimate, estimate_share


class HumanAgreement(NamedTuple):
    """How the relevance of pairs from clicks relates to the labels of people on the same pairs."""

    pairs: int
    spearman: Estimate
    auc: Estimate  # the chance that a relevant pair has the higher relevance
    relevant_from: float
    kappa: Estimate  # of the grades; unweighted
    kappa_quadratic: Estimate
    ctr_by_grade: list[tuple[float, Estimate]]  # n are impressions

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "pairs": self.pairs,
            "spearman": self.spearman.to_dict(),
            "auc": self.auc.to_dict(),
            "relevant_from": self.relevant_from,
            "kappa": self.kappa.to_dict(),
            "kappa_quadratic": self.kappa_quadratic.to_dict(),
            "ctr_by_grade": [{"grade": grade, "ctr": ctr.to_dict()} for grade, ctr in self.ctr_by_grade],
        }


def compare_with_labels(
    table: pl.DataFrame, pairs: Pairs, qrels: Qrels, relevant_from: float, level: float
) -> HumanAgreement:
    """Return how a table of pairs with their relevance agrees with qrels."""
    labels = qrels.frame.select("query_id", "doc_id", human=pl.col("grade").cast(pl.Float64))
    common = table.join(labels, on=["query_id", "doc_id"], how="inner", maintain_order="left")
    relevance, grades = common["relevance"].to_numpy(), common["human"].to_numpy()
    kappas = _kappas(common["grade"].to_numpy(), grades, level)
    return HumanAgreement(
        len(common),
        rank_correlation(relevance, grades, level),
        area_under_curve(relevance, grades >= relevant_from, level),
        relevant_from,
        *kappas,
        click_rates_by_grade(pairs, labels, level),
    )


def _kappas(grades: Floats, human: Floats, level: float) -> tuple[Estimate, Estimate]:
    """Return Cohen's κ of two columns of grades, without weights and with quadratic ones."""
    if not len(grades):
        nothing = Estimate(None, None, None, level, 0)
        return nothing, nothing
    kappa = compare_raters(Labels.from_matrix(np.column_stack([grades, human])), level).kappa
    return kappa["none"].estimate(0), kappa["quadratic"].estimate(0)


def click_rates_by_grade(pairs: Pairs, labels: pl.DataFrame, level: float) -> list[tuple[float, Estimate]]:
    """Return the share of impressions with a click for each grade, of all pairs that have a label."""
    shown = pairs.ids().with_columns(impressions=pairs.impressions, clicks=pairs.clicks)
    sums = (
        shown.join(labels, on=["query_id", "doc_id"], how="inner")
        .group_by("human")
        .agg(pl.col("clicks", "impressions").sum())
        .sort("human")
    )
    return [(grade, estimate_share(clicks, n, level)) for grade, clicks, n in sums.rows()]


def rank_correlation(first: Floats, second: Floats, level: float) -> Estimate:
    """Return Spearman's ρ with Fisher's interval; undefined without variation.

    The standard error is that of Bonett and Wright (2000): √((1 + ρ²/2) / (n − 3)).

    >>> rank_correlation(np.array([1.0, 2.0]), np.array([1.0, 1.0]), 0.95).value
    """
    from scipy.stats import rankdata

    n = len(first)
    ranks = rankdata(first), rankdata(second)
    if n < 2 or min(np.ptp(rank) for rank in ranks) == 0:
        return Estimate(None, None, None, level, n)
    rho = float(np.corrcoef(*ranks)[0, 1])
    if n < 4 or abs(rho) >= 1:
        return Estimate(rho, None, None, level, n)
    half = normal_quantile(0.5 + level / 2) * math.sqrt((1 + rho**2 / 2) / (n - 3))
    low, high = (math.tanh(math.atanh(rho) + sign * half) for sign in (-1, 1))
    return Estimate(rho, low, high, level, n)


def area_under_curve(values: Floats, is_relevant: Bools, level: float) -> Estimate:
    """Return the area under the ROC curve with the interval of DeLong et al. (1988); ties count half."""
    from scipy.stats import rankdata

    positive, negative = values[is_relevant], values[~is_relevant]
    n = len(values)
    if not len(positive) or not len(negative):
        return Estimate(None, None, None, level, n)
    ranks = rankdata(values)
    above = (ranks[is_relevant] - rankdata(positive)) / len(negative)
    below = 1 - (ranks[~is_relevant] - rankdata(negative)) / len(positive)
    area = float(above.mean())
    if min(len(positive), len(negative)) < 2:
        return Estimate(area, None, None, level, n)
    variance = above.var(ddof=1) / len(positive) + below.var(ddof=1) / len(negative)
    half = normal_quantile(0.5 + level / 2) * math.sqrt(variance)
    return Estimate(area, max(0.0, area - half), min(1.0, area + half), level, n)
