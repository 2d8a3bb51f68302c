"""Pools of pairs to judge, with their cost and coverage, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from assay.judging.pool_coverage import DepthCost, RunCoverage
from assay.views import text
from assay.views.numbers import NO_VALUE, format_exact
from assay.views.sections import Section, render_sections

_METHODS = {
    "depth": "all pairs down to rank {depth}",
    "stratified": "a stratified random sample of the pairs down to rank {depth}",
    "move-to-front": "the next step of move-to-front over the pairs down to rank {depth}",
    "bandit": "the next step of a bandit over the runs, down to rank {depth}",
    "difference": "the pairs down to rank {depth} whose labels would change the order of systems most",
}


def render_pool(
    method: str,
    counts: dict[str, int],
    depth: int,
    hours: float,
    rate: float,
    k: int,
    depths: Sequence[DepthCost],
    runs: Sequence[RunCoverage],
    style: str,
) -> str:
    """The cost and the coverage of a pool, of other depths, and by run."""
    if style == "csv":
        return text.render_csv(_depth_head(k, depths), [_depth_cells(cost, style) for cost in depths])
    head = ["run", f"Judged@{k} with the pool", "now", "pairs only it has", f"Judged@{k} if left out"]
    rows = [_run_cells(run) for run in runs]
    return render_sections(
        "Pool of pairs to judge",
        [
            Section("", [describe_pool(method, counts, depth, hours, rate), describe_choice(method)]),
            Section("runs", (), head, rows),
            Section(
                "what each depth costs and covers",
                (),
                _depth_head(k, depths),
                [_depth_cells(cost, style) for cost in depths],
            ),
        ],
        style,
    )


def describe_pool(method: str, counts: dict[str, int], depth: int, hours: float, rate: float) -> str:
    """Return what is to be judged and how long it takes, in one sentence.

    >>> counts = {"pool_queries": 2, "pairs": 30, "judged": 4, "pool": 26}
    >>> describe_pool("depth", counts, 10, 0.217, 120)
    '26 pairs of 2 queries to judge, 0.2 hours at 120 an hour: all pairs down to rank 10; 4 of 30 have labels'
    """
    what = _METHODS[method].format(depth=depth)
    pairs = f"{counts['pool']:,} pairs of {counts['pool_queries']:,} queries to judge"
    labels = f"{counts['judged']:,} of {counts['pairs']:,} have labels"
    return f"{pairs}, {hours:,.1f} hours at {rate:g} an hour: {what}; {labels}"


def describe_choice(method: str) -> str:
    """Return what measures can do with the labels of a pool."""
    if method == "depth":
        return "every pair has inclusion probability 1: measures need no weights"
    if method == "stratified":
        return "inclusion probabilities are known: `assay eval --pool FILE` weights the measures by them"
    return (
        "the choice depends on labels, so pairs have no inclusion probabilities: add the new labels to "
        "--qrels and run this again for the next step"
    )


def _run_cells(run: RunCoverage) -> list[str]:
    shares = [_percent(share) for share in (run.judged, run.already)]
    return [run.run, *shares, f"{run.unique:,}", _percent(run.without)]


def _percent(share: float | None) -> str:
    return NO_VALUE if share is None else f"{100 * share:.1f} %"


def _depth_head(k: int, depths: Sequence[DepthCost]) -> list[str]:
    names = list(depths[0].judged) if depths else []
    return ["depth", "pairs to judge", "hours", *(f"Judged@{k} {name}" for name in names)]


def _depth_cells(cost: DepthCost, style: str) -> list[str]:
    if style == "csv":
        shares = [format_exact(share) for share in cost.judged.values()]
        return [str(cost.depth), str(cost.pairs), repr(cost.hours), *shares]
    shares = [_percent(share) for share in cost.judged.values()]
    return [str(cost.depth), f"{cost.pairs:,}", f"{cost.hours:,.1f}", *shares]
