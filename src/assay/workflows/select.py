"""Choose an index by floors and an objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.bench.selection.floors import name_delta
from assay.bench.selection.selection import Selection, select_trial
from assay.bench.selection.tradeoff import TradeoffPlane, tradeoff_planes
from assay.core.errors import InputError, UndecidableError
from assay.views.selection import selection_dict
from assay.workflows.rag_studies import read_any_study
from assay.workflows.study import is_without_vectors, open_study

_EXIT_CODES = {"not confirmed": 1, "cannot be decided": 3}
_DEFAULT_DELTA = 0.1


@dataclass(frozen=True, kw_only=True)
class SelectRequest:
    """The trials to choose from, and what the choice must reach."""

    trials: str  # the folder of a sweep, or a table of trials
    floors: Sequence[str] = ()
    objective: str = "qps"
    price: float | None = None  # of an hour of the machine
    mode: str | None = None
    k: int | None = None
    ties: str | None = None
    confirm: float = 0.5  # the share of queries that is held out
    seed: int = 0
    tradeoff: bool = False
    data: str | None = None  # the dataset to choose for, or "all"; None: that of the sweep
    delta: float | None = None  # of the figure `robustness`, which is shown
    delta_from: str | None = None  # a study of answers, whose δ is that of the figure `robustness`

    def __post_init__(self) -> None:
        if self.delta is not None and self.delta_from is not None:
            raise InputError("--delta and --delta-from both give the δ of robustness: keep one")
        if self.price is not None and not 0 < self.price < float("inf"):
            raise InputError(f"--price is a number above 0, found {self.price:g}")


@dataclass(frozen=True)
class SelectResult:
    """A choice, with the planes of its trade-off if they were requested."""

    selection: Selection
    planes: tuple[TradeoffPlane, ...] = ()

    @property
    def is_without_vectors(self) -> bool:
        """Whether the trials were scored by stored hits, because the vectors are gone."""
        return is_without_vectors(self.selection.study)

    @property
    def exit_code(self) -> int:
        """0 chosen, 1 no trial reaches the floors or the choice is not confirmed, 3 cannot be decided."""
        confirmation = self.selection.confirmation
        return _EXIT_CODES.get(confirmation.verdict, 0) if confirmation else 1

    def to_dict(self) -> dict[str, Any]:
        """The choice as plain data, with the keys that `assay select --format json` prints."""
        return selection_dict(self.selection, self.planes)


def select(request: SelectRequest) -> SelectResult:
    """Choose the trial that is best at the objective among those that reach the floors."""
    study = open_study(request.trials, k=request.k, policy=request.ties, mode=request.mode)
    floors, objective = _named_figures(request)
    selection = select_trial(
        study,
        floors,
        objective,
        price=request.price,
        confirm=request.confirm,
        seed=request.seed,
        dataset=request.data,
        delta=request.delta,
    )
    return SelectResult(selection, _planes(selection, request.delta) if request.tradeoff else ())


def _named_figures(request: SelectRequest) -> tuple[Sequence[str], str]:
    """Return the floors and the objective; the figure `robustness` gets the δ of the study of answers."""
    names = [*request.floors, request.objective]
    if request.delta_from is None:
        named = [name_delta(name, request.delta) for name in names]
        return named[:-1], named[-1]
    if all(name_delta(name, 1.0) == name for name in names):
        raise InputError(
            "--delta-from gives the δ of the figure robustness: name it, such as --floor robustness=0.99"
        )
    choice = read_any_study(request.delta_from).delta
    if choice.delta.value is None:
        raise UndecidableError(
            f"{request.delta_from} has no δ ({choice.problem}): `assay rag delta` shows why; name one, "
            "such as robustness-0.3"
        )
    chosen = [name_delta(name, choice.delta.value) for name in names]
    return chosen[:-1], chosen[-1]


def _planes(selection: Selection, given_delta: float | None) -> tuple[TradeoffPlane, ...]:
    """The planes at the given floors, with the given δ or that of the first robustness that is named."""
    figures = [*(floor.figure for floor in selection.floors), selection.objective]
    deltas = (given_delta, *(figure.delta for figure in figures))
    delta = next((delta for delta in deltas if delta is not None), _DEFAULT_DELTA)
    axes = ("recall", f"robustness-{delta:g}", "qps")
    floors = {floor.figure.name: floor.value for floor in selection.floors if floor.figure.name in axes}
    other_keys = {candidate.trial.key for candidate in selection.candidates if candidate.is_of_other_data}
    trials = [one for one in selection.study.scored_trials if one.trial.key not in other_keys]
    return tuple(tradeoff_planes(trials, delta, floors))
