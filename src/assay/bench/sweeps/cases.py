"""The cases of a sweep: engines × build parameters × search parameters × request modes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple

from assay.bench.sweeps.identity import content_key
from assay.bench.trials import label, robustness_name
from assay.core.errors import InputError
from assay.remote.redaction import redact_parameters

REQUEST_MODES = ("single", "batch", "open", "capacity")
Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class ParameterRange:
    """A range of whole numbers in which the value of a search parameter is searched."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low}..{self.high}"


class RecallGoal(NamedTuple):
    """The average a search must reach: a recall, or a share of queries whose recall reaches δ."""

    minimum: float
    delta: float | None = None  # None: the goal is a mean recall
    is_approximate: bool = False  # approach the value from either side rather than reach it

    def measure_name(self, k: int) -> str:
        """Return the name of the measure of the goal.

        >>> RecallGoal(0.9).measure_name(10), RecallGoal(0.99, 0.1).measure_name(10)
        ('R@10', 'Robustness(delta=0.1)@10')
        """
        return f"R@{k}" if self.delta is None else robustness_name(self.delta, k)


RecallGoals = tuple[RecallGoal, ...]


@dataclass(frozen=True)
class IndexBuild:
    """An index to build."""

    engine: str
    parameters: Parameters
    threads: int = 1
    python: str | None = None  # the interpreter that has the engine installed; None: this one

    def identity(self) -> dict[str, Any]:
        """Return the settings that identify the index."""
        return {"engine": self.engine, "build": redact_parameters(self.parameters), "threads": self.threads}


@dataclass(frozen=True)
class RequestMode:
    """How queries are sent to an index."""

    mode: str = "single"
    clients: int = 1
    rate: float | None = None  # queries per second offered in an open loop
    seconds: float = 10.0  # duration of an open loop
    percentile: float | None = None  # the latency objective of a capacity search
    within_ms: float | None = None

    def __post_init__(self) -> None:
        if self.mode not in REQUEST_MODES:
            raise InputError(f"a mode must be one of {', '.join(REQUEST_MODES)}, found {self.mode!r}")

    def identity(self) -> dict[str, Any]:
        """Return the settings that apply to the mode."""
        identity: dict[str, Any] = {"mode": self.mode}
        if self.mode != "batch":
            identity["clients"] = self.clients
        if self.mode in ("open", "capacity"):
            identity["seconds"] = self.seconds
        if self.mode == "open":
            identity["rate"] = self.rate
        if self.mode == "capacity":
            identity |= {"percentile": self.percentile, "within_ms": self.within_ms}
        return identity


@dataclass(frozen=True)
class TrialCase:
    """One index configuration and one request mode to measure it in."""

    build: IndexBuild
    search: Parameters
    request_mode: RequestMode
    goals: RecallGoals = ()  # goals that the value from a range must reach
    note: str = ""  # how the value of the range was found

    @property
    def range_parameter(self) -> tuple[str, ParameterRange] | None:
        """The search parameter that is given as a range, with the range; None if there is none."""
        ranges = ((name, value) for name, value in self.search.items() if isinstance(value, ParameterRange))
        return next(ranges, None)

    def with_value(self, value: Any, note: str = "") -> TrialCase:
        """Return the case with this value in place of the range."""
        assert self.range_parameter is not None
        return replace(self, search={**self.search, self.range_parameter[0]: value}, goals=(), note=note)

    @property
    def label(self) -> str:
        """The configuration as one line of text."""
        return label(self.build.engine, redact_parameters(self.build.parameters), self.search)

    def identity(self) -> dict[str, Any]:
        """Return the settings that identify the trial."""
        search = {
            name: str(value) if isinstance(value, ParameterRange) else value
            for name, value in self.search.items()
        }
        goals = {"goals": [list(goal) for goal in self.goals]} if self.goals else {}
        return {**self.build.identity(), "search": search, **self.request_mode.identity(), **goals}


@dataclass(frozen=True)
class IndexEntry:
    """An engine with the values of each of its parameters, as configured by the user."""

    engine: str
    build: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    search: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    threads: int = 1
    python: str | None = None

    def builds(self) -> Iterator[IndexBuild]:
        """Yield every index to build with the engine."""
        for parameters in cross_values(self.build):
            yield IndexBuild(self.engine, parameters, self.threads, self.python)


def cross_values(values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of one value for each name.

    >>> cross_values({"M": [16, 32], "ef": [5]})
    [{'M': 16, 'ef': 5}, {'M': 32, 'ef': 5}]
    """
    return [dict(zip(values, choice, strict=True)) for choice in product(*values.values())]


def plan_cases(
    entries: Sequence[IndexEntry], request_modes: Sequence[RequestMode], targets: Sequence[RecallGoals] = ()
) -> list[TrialCase]:
    """Return every distinct trial of a sweep, with one trial for each target of a range."""
    _refuse_ranges(entries, targets)
    unique_cases: dict[str, TrialCase] = {}
    for entry in entries:
        for goals in targets if range_names(entry.search) else [()]:
            for build, search, request_mode in product(
                entry.builds(), cross_values(entry.search), request_modes
            ):
                case = TrialCase(build, search, request_mode)
                case = replace(case, goals=goals) if case.range_parameter else case
                unique_cases.setdefault(content_key(case.identity() | {"python": build.python}), case)
    return list(unique_cases.values())


def range_names(values: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the names of the parameters that are given as a range.

    >>> range_names({"M": [16, 32], "ef": [ParameterRange(8, 512)]})
    ['ef']
    """
    return [
        name
        for name, candidates in values.items()
        for value in candidates
        if isinstance(value, ParameterRange)
    ]


def _refuse_ranges(entries: Sequence[IndexEntry], targets: Sequence[RecallGoals]) -> None:
    """Refuse ranges that cannot be searched, and targets without a range to search."""
    for entry in entries:
        for name in range_names(entry.build):
            raise InputError(
                f"{entry.engine}: {name} is a range, but an index is built with single values: "
                "list them (8,16,32), or search the range with `assay tune`"
            )
        names = range_names(entry.search)
        if len(names) > 1:
            raise InputError(
                f"{entry.engine}: only one range can be searched for a target, found {len(names)} "
                f"({', '.join(names)}): list values for the others"
            )
    engines_with_ranges = [entry.engine for entry in entries if range_names(entry.search)]
    if engines_with_ranges and not targets:
        raise InputError(
            f"{engines_with_ranges[0]}: a range needs a target recall to search for: set it "
            "(--recall 0.9, or recall = 0.9 in [run])"
        )
    if targets and not engines_with_ranges:
        raise InputError(
            "a target recall (--recall) needs a search parameter given as a range: "
            "write whole numbers after the slash, such as efSearch=8..512"
        )
