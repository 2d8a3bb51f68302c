"""The space of tuning: floors, an objective, and the values of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assay.bench.selection.floors import LATENCIES, Figure, Floor, refuse_duplicate_floors
from assay.bench.sweeps.cases import (
    IndexBuild,
    IndexEntry,
    ParameterRange,
    RecallGoal,
    RecallGoals,
    RequestMode,
    TrialCase,
    range_names,
)
from assay.core.errors import InputError
from assay.remote.redaction import redact_parameters

if TYPE_CHECKING:
    import optuna.trial

BUILD_FIGURES = ("memory_mb", "disk_mb", "build_seconds")  # known as soon as an index is built
OBJECTIVES = ("qps", *LATENCIES, *BUILD_FIGURES, "cost")
_LOG_SCALE_FACTOR = 10  # ranges whose ends differ by this factor are sampled on a log scale


@dataclass(frozen=True)
class TuningSpace:
    """The goal, the space and the budget of tuning."""

    entries: tuple[IndexEntry, ...]
    floors: tuple[Floor, ...]
    objective: Figure
    request_mode: RequestMode = field(default_factory=RequestMode)
    budget: int = 30  # number of configurations
    seconds: float | None = None  # after which no configuration is started
    seed: int = 0
    price: float | None = None  # of one hour of the machine, for the cost

    def __post_init__(self) -> None:
        refuse_duplicate_floors(self.floors)
        if not self.entries:
            raise InputError(
                "expected an index to tune, found none: add [[index]] to the file, or use --index"
            )
        if self.objective.name not in OBJECTIVES:
            objectives = ", ".join(OBJECTIVES)
            raise InputError(
                f"the objective of tuning must be one of {objectives}; found {self.objective.name!r}"
            )
        for entry in self.entries:
            _refuse_mixed_ranges(entry)
        if not self.goals and any(_budget_parameter(entry) for entry in self.entries):
            raise InputError(
                "a range of a search parameter needs a floor to search for its smallest value: add a floor "
                "of recall or robustness (--floor recall=0.9)"
            )

    @property
    def goals(self) -> RecallGoals:
        """The floors of recall and robustness as goals of a search."""
        query_floors = [floor for floor in self.floors if floor.figure.is_per_query]
        return tuple(RecallGoal(floor.value, floor.figure.delta) for floor in query_floors)

    def example_cases(self) -> list[TrialCase]:
        """Return trials that cover every listed value and both ends of every range."""
        cases = []
        for entry in self.entries:
            build = {name: _endpoints(values) for name, values in entry.build.items()}
            search = {name: _endpoints(values) for name, values in entry.search.items()}
            turns = max(map(len, (*build.values(), *search.values())), default=1)
            for turn in range(turns):
                index = _make_build(entry, _values_at(build, turn))
                cases.append(TrialCase(index, _values_at(search, turn), self.request_mode))
        return cases

    def identity(self) -> dict[str, Any]:
        """Return the settings that identify the tuning."""
        entries = [
            {
                "engine": entry.engine,
                "build": _identity_values(entry.build),
                "search": _identity_values(entry.search),
                "threads": entry.threads,
            }
            for entry in self.entries
        ]
        floors = [floor.description for floor in self.floors]
        settings = {"objective": self.objective.name, "seed": self.seed, "price": self.price}
        return {"entries": entries, "floors": floors, **settings, **self.request_mode.identity()}


def suggest_case(suggester: optuna.trial.BaseTrial, space: TuningSpace) -> TrialCase:
    """Return the trial that a sampler proposes, with a value for every parameter but the search budget."""
    number = suggester.suggest_categorical("index", list(range(len(space.entries))))
    entry = space.entries[number]
    budget = _budget_parameter(entry)

    def value(kind: str, name: str, candidates: Sequence[Any]) -> Any:
        first, label = candidates[0], f"{number}.{kind}.{name}"
        if len(candidates) > 1:
            return suggester.suggest_categorical(label, list(candidates))
        if isinstance(first, ParameterRange):
            is_wide = first.low > 0 and first.high >= _LOG_SCALE_FACTOR * first.low
            return suggester.suggest_int(label, first.low, first.high, log=is_wide)
        return first

    build = {name: value("build", name, candidates) for name, candidates in entry.build.items()}
    search = {
        name: candidates[0] if name == budget else value("search", name, candidates)
        for name, candidates in entry.search.items()
    }
    return TrialCase(_make_build(entry, build), search, space.request_mode, space.goals if budget else ())


def _refuse_mixed_ranges(entry: IndexEntry) -> None:
    """Refuse a range next to other values of the same parameter."""
    for values in (entry.build, entry.search):
        for name in range_names(values):
            if len(values[name]) > 1:
                text = ",".join(map(str, values[name]))
                raise InputError(
                    f"{entry.engine}: a range must be the only value of a parameter; found {name}={text}"
                )


def _budget_parameter(entry: IndexEntry) -> str | None:
    """Return the search parameter that is searched rather than sampled: the first range."""
    return next(iter(range_names(entry.search)), None)


def _make_build(entry: IndexEntry, build: Mapping[str, Any]) -> IndexBuild:
    return IndexBuild(entry.engine, build, entry.threads, entry.python)


def _identity_values(values: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Return values in the form used for the identity, without secrets."""
    return {
        name: [
            str(value) if isinstance(value, ParameterRange) else redact_parameters({name: value})[name]
            for value in candidates
        ]
        for name, candidates in values.items()
    }


def _endpoints(values: Sequence[Any]) -> list[Any]:
    """Return values, with both ends in place of a range."""
    endpoints: list[Any] = []
    for value in values:
        endpoints += [value.low, value.high] if isinstance(value, ParameterRange) else [value]
    return endpoints


def _values_at(values: Mapping[str, Sequence[Any]], turn: int) -> dict[str, Any]:
    """Return one value of each parameter; shorter lists repeat.

    >>> _values_at({"M": [8, 16], "ef": [5]}, 1)
    {'M': 16, 'ef': 5}
    """
    return {name: candidates[turn % len(candidates)] for name, candidates in values.items()}
