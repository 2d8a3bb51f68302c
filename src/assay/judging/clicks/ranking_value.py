"""Inverse-propensity weights for the value of a new ranking on logged result pages."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from assay.core.arrays import Floats, Ints
from assay.core.errors import InputError, UndecidableError
from assay.core.result_pages import Pages
from assay.core.tables import Run
from assay.judging.clicks.off_policy import OffPolicyValue
from assay.stats.intervals import Estimate


@dataclass(frozen=True)
class Gain:
    """What a click at a rank is worth: its examination there (clicks), or the discount of DCG."""

    name: str
    depth: int | None  # None: as many ranks as have an examination

    def at_ranks(self, examination: Floats) -> Floats:
        """Return the gain of each rank from 1."""
        if self.name == "clicks":
            return np.nan_to_num(examination)[: self.depth]
        return 1 / np.log2(np.arange(2, (self.depth or len(examination)) + 2))


def parse_gain(text: str) -> Gain:
    """Return the gain of a text.

    >>> parse_gain("DCG@10")
    Gain(name='DCG', depth=10)
    """
    match = re.fullmatch(r"(clicks|DCG)(?:@(\d+))?", text)
    if match is None or match[2] == "0":
        raise InputError(f"--gain expects clicks, clicks@K or DCG@K, found {text!r}")
    return Gain(match[1], int(match[2]) if match[2] else None)


@dataclass(frozen=True)
class RankingWeights:
    """Clicks on logged documents that a new ranking shows, too, with their weights."""

    rewards: Floats
    weights: Floats
    gain_per_page: float  # of a whole page of the new ranking
    covered_gain: float  # per page, of documents that the log showed
    rows_per_page: float
    is_clicks: bool  # whether the gain is clicks, so that the log itself has one

    def scale(self, value: OffPolicyValue) -> OffPolicyValue:
        """Return a value per impression as one per page.

        IPS counts documents that the log never showed as worth nothing, SNIPS as worth as much as the others.
        """

        def times(estimate: Estimate, factor: float) -> Estimate:
            value, low, high = (None if end is None else end * factor for end in estimate[:3])
            return Estimate(value, low, high, estimate.level, estimate.n)

        logged = times(value.logged, self.rows_per_page)
        return replace(
            value,
            ips=times(value.ips, self.rows_per_page),
            snips=times(value.ips, self.rows_per_page * self.gain_per_page / self.covered_gain),
            logged=logged if self.is_clicks else Estimate(None, None, None, logged.level, logged.n),
            coverage=self.covered_gain / self.gain_per_page,
        )


def weigh_ranking(pages: Pages, run: Run, examination: Floats, gain: Gain) -> RankingWeights:
    """Return a row for each logged impression: its click, and gain at the new rank / examination at the old.

    The expected sum of weight × click is the gain of the new ranking (Joachims, Swaminathan and Schnabel
    2017), for documents that were logged at a rank that is examined.
    """
    gains = gain.at_ranks(examination)
    new_rank = _new_ranks(pages, run)
    is_ranked = (new_rank >= 0) & (new_rank < len(gains))
    if not is_ranked.any():
        raise UndecidableError(
            "no document of the run was shown in the log at all: check that both use the same ids"
        )
    old = np.append(examination, np.full(max(0, pages.ranks - len(examination)), np.nan))[: pages.ranks]
    is_used = pages.shown & (old > 0)[None, :]
    new_gain = np.where(is_ranked, gains[np.clip(new_rank, 0, len(gains) - 1)], 0.0)
    weights = new_gain / np.where(old > 0, old, 1.0)
    return RankingWeights(
        pages.clicks[is_used].astype(np.float64),
        weights[is_used],
        float(gains.sum()),
        float(new_gain[is_used].sum()) / len(pages.queries),
        int(is_used.sum()) / len(pages.queries),
        gain.name == "clicks",
    )


def _new_ranks(pages: Pages, run: Run) -> Ints:
    """Return the rank (from 0) in the run of the document at each rank of each page; −1: not in the run."""
    frame = run.frame.with_columns(
        rank=pl.struct("score", "doc_id").rank("ordinal", descending=True).over("query_id").cast(pl.Int64) - 1
    )
    rows = pl.DataFrame(
        {
            "query_id": pages.query_ids.gather(np.repeat(pages.queries, pages.ranks)),
            "doc_id": pages.doc_ids.gather(np.maximum(pages.documents, 0).ravel()),
        }
    )
    joined = rows.join(frame, on=["query_id", "doc_id"], how="left", maintain_order="left")
    return joined["rank"].fill_null(-1).to_numpy().reshape(pages.documents.shape)
