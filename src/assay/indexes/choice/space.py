"""What tuning looks for and where: floors, an objective, and the values that parameters may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assay.core.errors import InputError
from assay.indexes.choice.floors import LATENCIES, Figure, Floor, refuse_twice
from assay.indexes.sweeps.plan import Asking, Build, Case, Entry, Goal, Goals, Range, ranges, told

if TYPE_CHECKING:
    import optuna.trial

BUILT = ("memory_mb", "disk_mb", "build_seconds")  # known once an index is built
OBJECTIVES = ("qps", *LATENCIES, *BUILT, "cost")
_WIDE = 10  # times the least, from which on a range is drawn by its logarithm


@dataclass(frozen=True)
class Tuning:
    """What is looked for, where, and how long."""

    entries: tuple[Entry, ...]
    floors: tuple[Floor, ...]
    objective: Figure
    asking: Asking = field(default_factory=Asking)
    budget: int = 30  # configurations
    seconds: float | None = None  # after which no other is begun
    seed: int = 0
    price: float | None = None  # of an hour of the machine, for the cost

    def __post_init__(self) -> None:
        refuse_twice(self.floors)
        if not self.entries:
            raise InputError("expected an index to tune, found none: [[index]] in the file, or --index")
        if self.objective.name not in OBJECTIVES:
            named = ", ".join(OBJECTIVES)
            raise InputError(f"what can be tuned for is {named}; found {self.objective.name!r}")
        for entry in self.entries:
            _refuse_mixed(entry)
        if not self.goals and any(_budget(entry) for entry in self.entries):
            raise InputError(
                "a range of searching is searched for the least value that meets the floors: give a floor of "
                "recall or robustness (--floor recall=0.9)"
            )

    @property
    def goals(self) -> Goals:
        """The floors that a search is to reach."""
        mine = [floor for floor in self.floors if floor.figure.of_queries]
        return tuple(Goal(floor.value, floor.figure.delta) for floor in mine)

    def examples(self) -> list[Case]:
        """Trials in which every value that is named, and both ends of every range, occur."""
        made = []
        for entry in self.entries:
            ends = [{n: _ends(v) for n, v in values.items()} for values in (entry.build, entry.search)]
            for turn in range(max((len(v) for values in ends for v in values.values()), default=1)):
                build, search = ({n: v[turn % len(v)] for n, v in values.items()} for values in ends)
                made.append(Case(_index(entry, build), search, self.asking))
        return made

    def identity(self) -> dict[str, Any]:
        """What makes it this search and no other."""
        entries = [
            {
                "engine": e.engine,
                "build": _written(e.build),
                "search": _written(e.search),
                "threads": e.threads,
            }
            for e in self.entries
        ]
        floors = [floor.words for floor in self.floors]
        named = {"objective": self.objective.name, "seed": self.seed, "price": self.price}
        return {"entries": entries, "floors": floors, **named, **self.asking.identity()}


def drawn_case(asked: optuna.trial.BaseTrial, tuning: Tuning) -> Case:
    """The trial that a sampler proposes: an index with values for all but the budget of its search."""
    number = asked.suggest_categorical("index", list(range(len(tuning.entries))))
    entry = tuning.entries[number]
    budget = _budget(entry)

    def value(kind: str, name: str, some: Sequence[Any]) -> Any:
        only, label = some[0], f"{number}.{kind}.{name}"
        if len(some) > 1:
            return asked.suggest_categorical(label, list(some))
        if isinstance(only, Range):
            wide = only.least > 0 and only.most >= _WIDE * only.least
            return asked.suggest_int(label, only.least, only.most, log=wide)
        return only

    build = {name: value("build", name, some) for name, some in entry.build.items()}
    search = {n: some[0] if n == budget else value("search", n, some) for n, some in entry.search.items()}
    return Case(_index(entry, build), search, tuning.asking, tuning.goals if budget else ())


def _refuse_mixed(entry: Entry) -> None:
    """Refuse a range beside other values of the same parameter."""
    for values in (entry.build, entry.search):
        for name in ranges(values):
            if len(values[name]) > 1:
                found = ",".join(map(str, values[name]))
                raise InputError(f"{entry.engine}: a range stands alone; found {name}={found}")


def _budget(entry: Entry) -> str | None:
    """The parameter of searching that is found and not drawn: the first that is a range."""
    return next(iter(ranges(entry.search)), None)


def _index(entry: Entry, build: Mapping[str, Any]) -> Build:
    return Build(entry.engine, build, entry.threads, entry.python)


def _written(values: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Values as they may be written down."""
    return {
        name: [str(v) if isinstance(v, Range) else told({name: v})[name] for v in some]
        for name, some in values.items()
    }


def _ends(values: Sequence[Any]) -> list[Any]:
    """Values, a range as its ends."""
    return [end for v in values for end in ([v.least, v.most] if isinstance(v, Range) else [v])]
