"""The sums of an A/B test: one cell for each variant, day, stratum and slice; cells add up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assay.stats.clustered_quantiles import ClusteredQuantile
from assay.stats.moments import Moments

DAY, STRATUM, PHASE = "day", "stratum", "phase"


@dataclass(frozen=True)
class Cell:
    """The units of one variant that share a day, a stratum and slices."""

    variant: str
    keys: tuple[str | None, ...]  # one for each column of the table of sums
    n: int
    metrics: Mapping[str, Moments]


@dataclass(frozen=True)
class Arm:
    """All units of one variant."""

    name: str
    n: int = 0
    metrics: Mapping[str, Moments] = field(default_factory=dict)

    def __add__(self, other: Arm) -> Arm:
        names = dict.fromkeys([*self.metrics, *other.metrics])
        sums = {name: [arm.metrics[name] for arm in (self, other) if name in arm.metrics] for name in names}
        return Arm(self.name, self.n + other.n, {name: sum(m[1:], m[0]) for name, m in sums.items()})


@dataclass(frozen=True)
class TestSums:
    """The sums of all variants, by the columns that were asked for."""

    cells: Sequence[Cell]
    columns: tuple[str, ...] = ()  # of the keys: DAY, STRATUM, PHASE or a column to slice by
    notes: Sequence[str] = ()  # what was left out, and why
    excluded: Mapping[str, int] = field(default_factory=dict)  # units that were left out, by the reason
    quantiles: Mapping[str, Mapping[str, ClusteredQuantile]] = field(default_factory=dict)
    """Of all units of each variant, by metric."""

    __test__ = False  # no test of pytest

    @property
    def variants(self) -> list[str]:
        """The names of the variants, in order."""
        return sorted({cell.variant for cell in self.cells})

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics, in the order of the source."""
        names = (name for cell in self.cells for name in cell.metrics)
        return list(dict.fromkeys([*names, *self.quantiles]))

    @property
    def summed_metrics(self) -> list[str]:
        """The names of the metrics that have sums."""
        return [name for name in self.metrics if name not in self.quantiles]

    def has(self, column: str) -> bool:
        """Whether the cells are divided by a column."""
        return column in self.columns

    def arms(self) -> dict[str, Arm]:
        """Return the sums of each variant over all cells."""
        return add_cells(self.cells)

    def split(self, column: str) -> dict[str, dict[str, Arm]]:
        """Return the sums of each variant for each value of a column, in the order of the values."""
        return {label: part.arms() for label, part in self.divide(column).items()}

    def divide(self, column: str) -> dict[str, TestSums]:
        """Return the cells with each value of a column, in the order of the values."""
        place = self.columns.index(column)
        return self._divide(lambda cell: cell.keys[place])

    def _divide(self, key: Callable[[Cell], str | None]) -> dict[str, TestSums]:
        groups: dict[str, list[Cell]] = {}
        for cell in self.cells:
            groups.setdefault(_label(key(cell)), []).append(cell)
        return {label: replace(self, cells=groups[label]) for label in sorted(groups, key=_sort_key)}

    def split_by(self, columns: Sequence[str], phase_of: Mapping[str, str]) -> dict[str, dict[str, Arm]]:
        """Return the sums for each combination of these columns and of the phases of the days, if any."""
        places = [self.columns.index(column) for column in columns]
        day = self.columns.index(DAY) if phase_of else None

        def label(cell: Cell) -> str:
            parts = [] if day is None else [phase_of[_label(cell.keys[day])]]
            return " · ".join([*parts, *(_label(cell.keys[place]) for place in places)])

        return {name: part.arms() for name, part in self._divide(label).items()}


def _label(value: str | None) -> str:
    return "(none)" if value is None else value


def _sort_key(label: str) -> tuple[int, float, str]:
    """Sort numbers by their value and texts after them."""
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label


def add_cells(cells: Iterable[Cell]) -> dict[str, Arm]:
    """Return the sums of each variant over these cells."""
    counts: dict[str, int] = {}
    sums: dict[str, dict[str, Moments]] = {}
    for cell in cells:
        counts[cell.variant] = counts.get(cell.variant, 0) + cell.n
        metrics = sums.setdefault(cell.variant, {})
        for name, moments in cell.metrics.items():
            metrics[name] = metrics[name] + moments if name in metrics else moments
    return {name: Arm(name, counts[name], sums[name]) for name in sorted(counts)}


def counts_of(arms: Mapping[str, Arm], names: Sequence[str]) -> list[int]:
    """Return the number of units of each of these variants."""
    return [arms[name].n if name in arms else 0 for name in names]


def plain_sums(sums: TestSums) -> dict[str, Any]:
    """Return the sums as a table of sums, which `assay online ab` reads again."""
    return {
        "variants": [
            {
                "name": arm.name,
                "n": arm.n,
                "metrics": {
                    name: {key: value for key, value in m.to_dict().items() if key != "n" or m.n != arm.n}
                    for name, m in arm.metrics.items()
                },
            }
            for arm in sums.arms().values()
        ]
    }
