"""Where a recall lies among the levels of search guides, in a sentence and as plain data."""

from __future__ import annotations

from typing import Any

from assay.evaluation.recall_levels import HYBRID, LOW, RERANKING, TUNED, Standing


def describe_standing(standing: Standing) -> str:
    """Return the level that a score reaches, and what comes next.

    >>> describe_standing(Standing("R@10", 0.83, "tuned", 0.88, 0.05))
    'the level of a tuned search (0.80); a hybrid search reaches 0.88: 0.05 more'
    """
    if standing.ceiling is not None:
        best = f"the best possible ranking has {standing.measure} {standing.ceiling:.4f}"
        return f"none: {best}; look at RCap@10"
    if not standing.uncertain_levels:
        return _describe_level(standing)
    levels = " and ".join(f"{level:.2f}" for level in standing.uncertain_levels)
    return f"{_describe_level(standing)}; the interval contains {levels}: either side is possible"


def _describe_level(standing: Standing) -> str:
    if standing.level == "hybrid":
        return f"the level of a hybrid search ({HYBRID:.2f})"
    if standing.level == "tuned":
        more = f"a hybrid search reaches {HYBRID:.2f}: {HYBRID - standing.value:.2f} more"
        return f"the level of a tuned search ({TUNED:.2f}); {more}"
    gap = f"{TUNED - standing.value:.2f} below a tuned search ({TUNED:.2f})"
    if standing.level == "low":
        return f"{gap}; below {LOW:.2f} look at chunking or the embedding model"
    return f"{gap}; reranking usually adds {RERANKING[0]:.2f} to {RERANKING[1]:.2f}"


def standing_dict(standing: Standing) -> dict[str, Any]:
    """Return a standing as plain data."""
    return {
        "reached": standing.level,
        "text": describe_standing(standing),
        "next": standing.next_level,
        "distance": standing.distance,
        "held": list(standing.uncertain_levels),
    }
