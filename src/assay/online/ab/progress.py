"""How far a test is: units and days until now, of those that are planned or that its power needs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.core.errors import InputError
from assay.online.ab.design import ABDesign
from assay.stats.experiment_power import days_left

BY_PLAN, BY_POWER = "plan", "power"


@dataclass(frozen=True)
class Progress:
    """The units and days of a test, and those that are left."""

    n: int
    days: int | None = None  # on which units came; None: the data do not say
    planned_n: float | None = None  # of all variants together
    by_day: Sequence[float] = ()  # new units of each day
    planned_days: int | None = None
    basis: str = ""  # BY_PLAN or BY_POWER; empty: no end is planned

    @property
    def fraction(self) -> float | None:
        """The share of the planned units that are there; None without a planned end."""
        return None if not self.planned_n else self.n / self.planned_n

    @property
    def has_ended(self) -> bool:
        """Whether the planned end is reached; True without one."""
        return self.fraction is None or self.fraction >= 1 - 1e-9

    @property
    def units_left(self) -> int:
        """How many units are left to the planned end."""
        return 0 if self.has_ended or self.planned_n is None else math.ceil(self.planned_n - self.n - 1e-9)

    @property
    def days_left(self) -> int | None:
        """How many days are left at the pace until now; None if that is unknown."""
        if self.has_ended:
            return 0 if self.planned_n else None
        if self.planned_days and self.days:
            return max(1, self.planned_days - self.days)
        by_day = self.by_day or ([self.n / self.days] if self.days else [])
        return days_left(self.n, self.planned_n, by_day)

    def to_dict(self) -> dict[str, Any]:
        """Return the progress as plain data."""
        return {
            "n": self.n,
            "days": self.days,
            "planned_n": None if self.planned_n is None else math.ceil(self.planned_n - 1e-9),
            "fraction": self.fraction,
            "days_left": self.days_left,
            "units_left": self.units_left if self.planned_n else None,
            "basis": self.basis or None,
        }


def measure_progress(
    design: ABDesign, units: int, new_units: Mapping[str, int], needed_n: float | None
) -> Progress:
    """Return the progress to the planned end, or to the units that the power needs.

    `new_units` are those of each day, if the data say.
    """
    days = count_days(list(new_units)) if new_units else design.days
    progress = Progress(units, days, by_day=[float(n) for n in new_units.values()])
    if design.planned_n:
        return replace(progress, planned_n=float(design.planned_n), basis=BY_PLAN)
    if design.planned_days:
        if not days:
            raise InputError(
                "--planned-days needs to know how many days the data cover: a column of days "
                "(--day COLUMN), or --days N"
            )
        planned_n = units * design.planned_days / days
        return replace(progress, planned_n=planned_n, planned_days=design.planned_days, basis=BY_PLAN)
    return replace(progress, planned_n=needed_n, basis=BY_POWER if needed_n else "")


def count_days(labels: Sequence[str]) -> int:
    """Return the number of days from the first to the last; numbers and dates may leave gaps.

    >>> count_days(["2026-01-01", "2026-01-03"]), count_days(["1", "2"])
    (3, 2)
    """
    from datetime import date

    try:
        dates = [date.fromisoformat(label[:10]) for label in labels]
        return (max(dates) - min(dates)).days + 1
    except ValueError:
        pass
    if all(label.lstrip("-").isdigit() for label in labels):
        return max(map(int, labels)) - min(map(int, labels)) + 1
    return len(labels)
