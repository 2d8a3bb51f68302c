"""Sentences about the failing queries of a stored experiment."""

from __future__ import annotations

from collections.abc import Sequence

from assay.evaluation.failures import Failures
from assay.views.numbers import format_interval, format_percent, format_value


def describe_share(failures: Failures) -> str:
    """Return how many queries fail, as a headline."""
    side = "above" if failures.measure.lower_is_better else "below"
    count = f"{len(failures.failing):,} of {failures.n:,} queries"
    return f"{count} are {side} {failures.below:g} by {failures.measure}: {format_percent(failures.share)}"


def describe_score(failures: Failures) -> str:
    """Return the score over all queries, and what the best order of the kept documents would give."""
    e, best = failures.estimate, failures.reranked_estimate
    line = f"{failures.measure} {format_value(e.value)} ({format_interval(e)}), n {e.n:,}"
    if failures.failing and failures.scope.depth > failures.scope.k:
        line += (
            f"; with the first {failures.scope.depth} results of each query in the best order "
            f"{format_value(best.value)} ({format_interval(best)})"
        )
    return line


def describe_missing(missing: Sequence[str], unread: int, name: str) -> list[str]:
    """Return what is not kept of an experiment, and what that leaves open.

    >>> describe_missing(["judgments"], 0, "bm25")
    ['the judgments of bm25 are not kept: save it again with `assay eval … --save bm25`']
    """
    lines = [
        f"the {what} of {name} are not kept: save it again with `assay eval … --save {name}`"
        for what in missing
    ]
    if unread:
        lines.append(
            f"{unread:,} relevant documents are in no kept ranking, so their texts are not known: for "
            "them no term or word is compared"
        )
    return lines
