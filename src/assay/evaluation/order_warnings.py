"""Reasons to doubt that the scores of a run order its documents as its system did."""

from __future__ import annotations

from assay.core.groups import ScoreChanges
from assay.core.score_order import ScoreOrder

_LEAST_CHANGES = 10  # fewer changes from row to row may rise by chance
_RISING_SHARE = 0.95  # of the changes, if the rows are listed from the worst score to the best
_CONTRADICTING_SHARE = 0.05  # of the changes from rank to rank; below it they may be due to rounding
_BY_RANK = (
    "to order documents by the ranks of the file, give --columns run:rank=rank "
    "(data.columns in assay.toml, columns= in Python)"
)


def order_warnings(by_row: ScoreChanges, by_rank: ScoreChanges, order: ScoreOrder) -> list[str]:
    """Return a warning if the scores contradict the ranks or the rows, and one if they are constant."""
    warnings = []
    if by_rank.rises > _CONTRADICTING_SHARE * _count(by_rank):
        warnings.append(
            f"its scores contradict its rank column in {by_rank.rises:,} of the first {_count(by_rank):,} "
            f"pairs of consecutive ranks: {_remedy(order)}; {_BY_RANK}"
        )
    elif not _count(by_rank) and by_row.rises >= max(_LEAST_CHANGES, _RISING_SHARE * _count(by_row)):
        warnings.append(f"its rows are listed from the worst score to the best: {_remedy(order)}")
    constant = by_row.ranked_queries - by_row.varied_queries
    if 2 * constant > by_row.ranked_queries:
        warnings.append(
            f"in {constant:,} of {by_row.ranked_queries:,} queries all documents have the same score, so "
            f"they are ordered by their ids: give scores that fall from the best to the worst; {_BY_RANK}"
        )
    return warnings


def _count(changes: ScoreChanges) -> int:
    return changes.rises + changes.falls


def _remedy(order: ScoreOrder) -> str:
    if order.lower_is_better:
        return "if the highest score is the best, leave out --lower-is-better (lower_is_better in Python)"
    return (
        "if the lowest score is the best, as with distances, give --lower-is-better "
        "(order=ScoreOrder(lower_is_better=True) in Python)"
    )
