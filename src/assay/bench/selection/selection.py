"""The selection of the trial that is best in one figure among those that meet the floors of others.

The choice is made on one part of the queries and confirmed on the other, because the best of many trials was
also lucky, and only queries that had no part in the choice show by how much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from assay.bench.selection.floors import (
    HIGHER_IS_BETTER,
    LATENCIES,
    LEVEL,
    LOWER_IS_BETTER,
    Figure,
    FigureEstimate,
    Floor,
    Rows,
    dominating_figures,
    estimate_figure,
    parse_figure,
    parse_floor,
    refuse_duplicate_floors,
)
from assay.bench.studies.robustness_columns import parse_robustness_column
from assay.bench.studies.same_data import other_data_reasons
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.study import Study
from assay.bench.trials import Trial, number_order
from assay.core.errors import InputError

_VERDICTS = {"holds": "confirmed", "open": "cannot be decided", "misses": "not confirmed"}
_DEFAULT_DELTA = 0.1  # the default δ of robustness, for queries with almost no hits


class QuerySplit(NamedTuple):
    """The queries used for the choice and those held out for its confirmation."""

    choosing_rows: Rows
    held_out_rows: Rows
    share: float
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return the sizes of both parts as plain data."""
        sizes = {"chosen_on": len(self.choosing_rows), "held_out": len(self.held_out_rows)}
        return {**sizes, "share": self.share, "seed": self.seed}


@dataclass(frozen=True)
class Candidate:
    """A trial to select from."""

    name: str
    trial: Trial
    figures: Mapping[Figure, FigureEstimate | None]  # on the queries used for the choice
    exclusion: str = ""  # why it cannot be selected, regardless of floors
    missed_floors: tuple[Floor, ...] = ()
    dominated_by: str | None = None  # the best trial that is as good in every figure and better in some
    better_in: tuple[Figure, ...] = ()  # the figures in which the dominating trial is better
    on_front: bool = False
    is_fitted: bool = False  # its parameters were found on all queries, so none are held out
    is_of_other_data: bool = False  # or not known to be of the same data

    @property
    def is_eligible(self) -> bool:
        """Whether the trial can be selected and meets every floor."""
        return not self.exclusion and not self.missed_floors

    def value(self, figure: Figure) -> float:
        """Return the value of a known figure."""
        estimate = self.figures[figure]
        assert estimate is not None
        return estimate.value

    def shortfall(self, floor: Floor) -> float:
        """Return how much the trial misses a floor by."""
        return abs(floor.value - self.value(floor.figure))

    def to_dict(self) -> dict[str, Any]:
        """Return the candidate as plain data."""
        return {
            "name": self.name,
            "key": self.trial.key,
            "engine": self.trial.engine,
            "build": dict(self.trial.build),
            "search": dict(self.trial.search),
            "meets": self.is_eligible,
            "on_front": self.on_front,
            "fitted": self.is_fitted,
            "misses": [floor.to_dict() | {"by": self.shortfall(floor)} for floor in self.missed_floors],
            "dominated_by": self.dominated_by,
            "better_in": [figure.name for figure in self.better_in],
            "figures": {
                figure.name: _estimate_to_dict(estimate) for figure, estimate in self.figures.items()
            },
        }


class FloorCheck(NamedTuple):
    """The check of a floor for the winner."""

    floor: Floor
    estimate: FigureEstimate | None
    status: str  # holds; open: the value meets it, but not the worse end of the interval; misses

    def to_dict(self) -> dict[str, Any]:
        """Return the check as plain data."""
        return self.floor.to_dict() | {"status": self.status, "found": _estimate_to_dict(self.estimate)}


@dataclass(frozen=True)
class Confirmation:
    """The check of the winner on the held-out queries."""

    verdict: str  # confirmed, cannot be decided, not confirmed, nothing to confirm, not held out
    checks: tuple[FloorCheck, ...]
    objective: FigureEstimate | None


@dataclass(frozen=True)
class Selection:
    """The selected trial, its competitors and the criteria."""

    study: Study
    k: int
    floors: tuple[Floor, ...]
    objective: Figure
    axes: tuple[Figure, ...]  # the figures that decide whether one trial dominates another
    unknown_figures: tuple[Figure, ...]  # not among the axes, because not every trial has them
    split: QuerySplit | None
    candidates: tuple[Candidate, ...]  # the winner first, then in descending order
    confirmation: Confirmation | None
    price: float | None = None

    @property
    def winner(self) -> Candidate | None:
        """The best trial that meets all floors; None if none does."""
        return next((candidate for candidate in self.candidates if candidate.is_eligible), None)

    @property
    def front(self) -> list[Candidate]:
        """The Pareto set: trials that no other dominates, whether they meet the floors or not."""
        return [candidate for candidate in self.candidates if candidate.on_front]

    def to_dict(self) -> dict[str, Any]:
        """Return the selection as plain data, without sentences."""
        confirmation, split, winner = self.confirmation, self.split, self.winner
        return {
            "source": self.study.source,
            "k": self.k,
            "mode": self.study.scored_trials[0].trial.mode,
            "floors": [floor.to_dict() for floor in self.floors],
            "objective": self.objective.name,
            "compared_by": [figure.name for figure in self.axes],
            "price": self.price,
            "level": LEVEL,
            "parts": split and split.to_dict(),
            "winner": winner and winner.name,
            "front": [candidate.name for candidate in self.front],
            "verdict": confirmation and confirmation.verdict,
            "checks": [check.to_dict() for check in confirmation.checks] if confirmation else [],
            "confirmed_objective": confirmation and _estimate_to_dict(confirmation.objective),
            "trials": [candidate.to_dict() for candidate in self.candidates],
        }


def _estimate_to_dict(estimate: FigureEstimate | None) -> dict[str, Any] | None:
    return estimate and estimate._asdict()


def select_trial(
    study: Study,
    floors: Sequence[str] = (),
    objective: str = "qps",
    *,
    price: float | None = None,
    confirm: float = 0.5,
    seed: int = 0,
    dataset: str | None = None,
    delta: float | None = None,
) -> Selection:
    """Select by floors such as "recall=0.9" and one objective; `confirm` is the share of held-out queries.

    Robustness at `delta` is shown too, and decides only if a floor or the objective names it.

    Trials of other data are not selected; `dataset` names the data to select for, "all" those of all data.
    """
    parsed_floors, aim = tuple(map(parse_floor, floors)), parse_figure(objective)
    refuse_duplicate_floors(parsed_floors)
    k = study.data.k if study.data else study.k
    split = _split_queries(study, confirm, seed)
    rows = split.choosing_rows if split else None
    requested_figures = tuple(dict.fromkeys([aim, *(floor.figure for floor in parsed_floors)]))
    figures = requested_figures if len(requested_figures) > 1 else _default_figures(aim, delta)
    shown_figures = _shown_figures(figures, price, delta)
    estimates = [
        {figure: estimate_figure(scored_trial, figure, rows, price) for figure in shown_figures}
        for scored_trial in study.scored_trials
    ]
    entries = _make_candidates(study, k, estimates, dataset)
    axes = _axes(entries, figures, requested_figures, study, price)
    checked_candidates = [_check_floors(candidate, axes, parsed_floors) for candidate in entries]
    candidates = _order_candidates(checked_candidates, axes)
    unknown = tuple(figure for figure in figures if figure not in axes)
    selection = Selection(study, k, parsed_floors, aim, axes, unknown, split, tuple(candidates), None, price)
    return replace(selection, confirmation=_confirm(selection))


def _make_candidates(
    study: Study,
    k: int,
    estimates: Sequence[Mapping[Figure, FigureEstimate | None]],
    dataset: str | None,
) -> list[Candidate]:
    """Return a candidate for each trial, with why it cannot be selected."""
    names, other_data = _distinct_names(study.scored_trials), other_data_reasons(study, dataset)
    return [
        Candidate(
            name,
            scored_trial.trial,
            figures,
            _exclusion_reason(scored_trial.trial, k, study) or other_data_reason,
            is_fitted=scored_trial.is_fitted,
            is_of_other_data=bool(other_data_reason),
        )
        for name, scored_trial, figures, other_data_reason in zip(
            names, study.scored_trials, estimates, other_data, strict=True
        )
    ]


def _shown_figures(
    figures: tuple[Figure, ...], price: float | None, delta: float | None
) -> tuple[Figure, ...]:
    """Return the figures of each trial: those they are compared by, the cost, and robustness at δ."""
    others = [] if delta is None else [parse_figure(f"robustness-{delta:g}")]
    others += [] if price is None else [parse_figure("cost")]
    return tuple(dict.fromkeys([*figures, *others]))


def _default_figures(aim: Figure, given_delta: float | None) -> tuple[Figure, ...]:
    """Return the figures to compare trials by if only the objective is given."""
    delta = (given_delta or _DEFAULT_DELTA) if aim.delta is None else aim.delta
    defaults = [parse_figure(name) for name in ("recall", f"robustness-{delta:g}", "qps")]
    return tuple(dict.fromkeys([aim, *defaults]))


def _split_queries(study: Study, share: float, seed: int) -> QuerySplit | None:
    """Split the queries at random; None if no single queries are known or none are to be held out."""
    if not 0 <= share < 1:
        raise InputError(f"the share of held-out queries must be 0 or more and below 1, found {share:g}")
    if seed < 0:
        raise InputError(f"the seed must be a whole number of 0 or more, found {seed}")
    all_hits = (scored_trial.hits for scored_trial in study.scored_trials)
    n = next((len(hits.counts) for hits in all_hits if hits is not None), 0)
    if not n or not share:
        return None
    held_out = round(n * share)
    if not 0 < held_out < n:
        raise InputError(
            f"{n:,} queries cannot be split with a share of {share:g} held out: choose another share, or 0"
        )
    order = np.random.default_rng(seed).permutation(n)
    return QuerySplit(np.sort(order[held_out:]), np.sort(order[:held_out]), share, seed)


def _distinct_names(scored_trials: Sequence[ScoredTrial]) -> list[str]:
    """Return a name for each trial, with the details added to equal names in which their trials differ."""
    trials = [scored_trial.trial for scored_trial in scored_trials]
    names = [trial.label for trial in trials]
    for detail in (_dataset_text, _version_text, _request_text, _thread_text, _key_text):
        details: dict[str, set[str]] = {}
        for name, trial in zip(names, trials, strict=True):
            details.setdefault(name, set()).add(detail(trial))
        names = [
            f"{name} ({text})" if len(details[name]) > 1 and (text := detail(trial)) else name
            for name, trial in zip(names, trials, strict=True)
        ]
    return names


def _dataset_text(trial: Trial) -> str:
    return trial.dataset


def _version_text(trial: Trial) -> str:
    return trial.version


def _request_text(trial: Trial) -> str:
    return trial.request_text


def _key_text(trial: Trial) -> str:
    return trial.key[:8]


def _thread_text(trial: Trial) -> str:
    return f"{trial.threads:,} thread{'s' * (trial.threads != 1)}" if trial.threads else "threads not known"


def _exclusion_reason(trial: Trial, k: int, study: Study) -> str:
    """Return why a trial cannot be selected; "" if it can."""
    if trial.status == "failed":
        return f"failed: {' '.join(trial.reason.split())}"
    if trial.indexed is False:
        return "not indexed: it answers by brute force, and its recall says nothing about an index"
    if study.has_earlier_source(trial):
        return f"measured with an earlier source of the engine: {trial.version}"
    return f"scored at K = {trial.k}, but the others at {k}" if trial.k != k else ""


def _axes(
    trials: Sequence[Candidate],
    figures: tuple[Figure, ...],
    requested_figures: tuple[Figure, ...],
    study: Study,
    price: float | None,
) -> tuple[Figure, ...]:
    """Return the requested figures, which some trial must have, and the default ones that all trials have."""
    selectable = [candidate for candidate in trials if not candidate.exclusion]
    if not selectable:
        return ()

    def is_axis(figure: Figure) -> bool:
        is_known = [candidate.figures[figure] is not None for candidate in selectable]
        return any(is_known) if figure in requested_figures else all(is_known)

    axes = tuple(filter(is_axis, figures))
    missing = [figure for figure in requested_figures if figure not in axes]
    if missing:
        pairs = zip(study.scored_trials, trials, strict=True)
        usable = [scored_trial for scored_trial, candidate in pairs if not candidate.exclusion]
        available = ", ".join(_available_figures(usable, figures, price)) or "none"
        raise InputError(
            f"{_missing_text(selectable[0], missing)} for any trial; known are {available}: "
            "choose another floor or objective"
        )
    return axes


def _available_figures(
    scored_trials: Sequence[ScoredTrial], figures: tuple[Figure, ...], price: float | None
) -> list[str]:
    """Return the names of the figures that any trial has, with robustness at requested and reported δ."""
    reported_names = [name for scored_trial in scored_trials for name in scored_trial.trial.reported]
    deltas = {_DEFAULT_DELTA, *(figure.delta for figure in figures if figure.delta)}
    deltas |= {column.delta for column in map(parse_robustness_column, reported_names) if column}
    recall, *others = HIGHER_IS_BETTER
    robustness = [f"robustness-{delta:g}" for delta in sorted(deltas)]
    names = [recall, *robustness, *others, *LOWER_IS_BETTER]
    computable = [parse_figure(name) for name in names if name != "cost" or price is not None]
    return [
        figure.name
        for figure in computable
        if any(estimate_figure(scored_trial, figure, None, price) for scored_trial in scored_trials)
    ]


def _check_floors(candidate: Candidate, axes: tuple[Figure, ...], floors: tuple[Floor, ...]) -> Candidate:
    if candidate.exclusion:
        return candidate
    missing = [figure for figure in axes if candidate.figures[figure] is None]
    if missing:
        return replace(candidate, exclusion=_missing_text(candidate, missing))
    missed_floors = tuple(floor for floor in floors if not floor.is_met_by(candidate.value(floor.figure)))
    return replace(candidate, missed_floors=missed_floors)


def _missing_text(candidate: Candidate, missing: Sequence[Figure]) -> str:
    text = f"{' and '.join(figure.name for figure in missing)}: not known"
    has_latency = any(figure.name in LATENCIES for figure in missing)
    if has_latency and candidate.trial.saturated:
        return f"{text} (saturated: its latencies are meaningless)"
    return text + " (too few searches)" * (has_latency and candidate.trial.samples > 0)


def _order_candidates(trials: Sequence[Candidate], axes: tuple[Figure, ...]) -> list[Candidate]:
    """Return the trials ordered by objective, other figures and name, with the trials that dominate them."""
    selectable = [candidate for candidate in trials if not candidate.exclusion]
    selectable.sort(key=lambda candidate: _sort_key(candidate, axes))
    ordered_candidates = [_mark_dominated(candidate, selectable, axes) for candidate in selectable]
    ordered_candidates.sort(
        key=lambda candidate: (not candidate.is_eligible, not candidate.on_front)
    )  # stable
    excluded_candidates = [candidate for candidate in trials if candidate.exclusion]
    return ordered_candidates + sorted(
        excluded_candidates, key=lambda candidate: number_order(candidate.name)
    )


def _sort_key(candidate: Candidate, axes: tuple[Figure, ...]) -> tuple[list[float], Any]:
    values = [-candidate.value(axis) if axis.higher_is_better else candidate.value(axis) for axis in axes]
    return values, number_order(candidate.name)


def _mark_dominated(candidate: Candidate, rivals: Sequence[Candidate], axes: tuple[Figure, ...]) -> Candidate:
    values = [candidate.value(figure) for figure in axes]
    for other in rivals:
        better = dominating_figures(axes, [other.value(figure) for figure in axes], values)
        if better:
            return replace(candidate, dominated_by=other.name, better_in=better)
    return replace(candidate, on_front=True)


def _confirm(selection: Selection) -> Confirmation | None:
    if selection.winner is None:
        return None
    winner, scored_trials = selection.winner.trial, selection.study.scored_trials
    scored_trial = next(study_trial for study_trial in scored_trials if study_trial.trial is winner)
    rows = selection.split.held_out_rows if selection.split else None

    def estimate(figure: Figure) -> FigureEstimate | None:
        return estimate_figure(scored_trial, figure, rows, selection.price)

    checks = tuple(_check_floor(floor, estimate(floor.figure)) for floor in selection.floors)
    is_held_out = rows is not None and scored_trial.hits is not None and not scored_trial.is_fitted
    return Confirmation(_verdict(checks, is_held_out), checks, estimate(selection.objective))


def _check_floor(floor: Floor, estimate: FigureEstimate | None) -> FloorCheck:
    if estimate is None:
        return FloorCheck(floor, None, "open")
    if not floor.is_met_by(estimate.value):
        return FloorCheck(floor, estimate, "misses")
    worse_end = estimate.worse_end(floor.figure)
    if worse_end is None:  # a single measurement counts as it is; queries and passes need an interval
        is_uncertain = floor.figure.is_per_query or estimate.over == "passes"
        return FloorCheck(floor, estimate, "open" if is_uncertain else "holds")
    return FloorCheck(floor, estimate, "holds" if floor.is_met_by(worse_end) else "open")


def _verdict(checks: Sequence[FloorCheck], held_out: bool) -> str:
    if not held_out:
        return "not held out"
    statuses = {check.status for check in checks if check.floor.figure.is_per_query}
    return next((_VERDICTS[s] for s in ("misses", "open", "holds") if s in statuses), "nothing to confirm")
