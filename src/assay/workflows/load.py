"""Measure a search system under load: what `assay run --load` and `assay run --clients` do."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.core.errors import InputError
from assay.search.load_testing import LoadCap, LoadMeasurement, measure_closed_loop, measure_open_loop
from assay.workflows.latency_objective import check_slo, slo_dict
from assay.workflows.settings import PROJECT_FILE
from assay.workflows.systems import EMBEDDINGS, OptionOverrides, SearchSystems, results_folder

_NEARLY_ALL = 0.95  # clients that send this share of the highest rate would send more if they could


@dataclass(frozen=True, kw_only=True)
class LoadRequest:
    """The system to load: an open loop at a rate, or a closed loop of clients."""

    project: str | Path = PROJECT_FILE
    systems: Sequence[str] = ()  # one name; none if the project has one system
    out: str | Path | None = None  # the folder of the results, for the cache of embeddings
    rate: float | None = None  # requests a second of an open loop; None: a closed loop
    clients: int | None = None  # of a closed loop; of an open loop, at most so many
    seconds: float = 10.0
    max_rate: float = 100.0
    max_seconds: float = 60.0
    slo: float | None = None  # milliseconds
    options: OptionOverrides = field(default_factory=OptionOverrides)

    def __post_init__(self) -> None:
        check_slo(self.slo)
        if self.clients is not None and self.clients < 1:
            raise InputError(f"--clients: expected at least 1, found {self.clients}")


@dataclass(frozen=True)
class LoadResult:
    """How a system answered under load."""

    system: str
    load: LoadMeasurement
    is_rate_capped: bool  # the highest allowed rate limited it, not the system
    slo: float | None = None

    @property
    def exit_code(self) -> int:
        """0; 1 if requests failed."""
        return int(bool(self.load.errors))

    def to_dict(self) -> dict[str, Any]:
        """Return the measurement as plain data, as `assay run --load --format json` prints it."""
        plain = {**self.load.to_dict(), "held_back": self.is_rate_capped}
        return {"system": self.system, **plain, **slo_dict(self.load, self.slo)}


def load_system(request: LoadRequest) -> LoadResult:
    """Load one system, never above the highest rate and never longer than the longest time."""
    embeddings = results_folder(request.project, request.out) / EMBEDDINGS
    with closing(SearchSystems(request.project, embeddings)) as systems:
        names = systems.select_names(list(request.systems))
        if len(names) != 1:
            raise InputError(f"a load is for one system: name one of {', '.join(names)}")
        cap = LoadCap(request.max_rate, request.max_seconds)
        load = _measure(request, systems, names[0], cap)
    rate = load.requests / load.timing.seconds
    is_rate_capped = load.rate is None and load.answered_latency.n > 0 and rate > _NEARLY_ALL * cap.rate
    return LoadResult(names[0], load, is_rate_capped, request.slo)


def _measure(request: LoadRequest, systems: SearchSystems, name: str, cap: LoadCap) -> LoadMeasurement:
    options = request.options.apply(systems.options)
    searcher, queries = systems.searcher(name), systems.data.queries
    seconds, timeout = request.seconds, options.timeout
    if request.rate is None:
        clients = request.clients or 1
        return measure_closed_loop(
            searcher, queries, options.k, clients, cap, seconds=seconds, timeout=timeout
        )
    limit = {} if request.clients is None else {"clients": request.clients}
    return measure_open_loop(
        searcher, queries, options.k, request.rate, seconds, cap, timeout=timeout, **limit
    )
