"""Moments: the sums over units (users) from which a mean or a ratio and its error are computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import reduce
from typing import Any

import numpy as np

from assay.core.arrays import Floats
from assay.core.errors import InputError

COMPONENTS = ("value", "denominator", "covariate", "covariate_denominator")
_SUMS = ("sum", "denominator_sum", "covariate_sum", "covariate_denominator_sum")
_SQUARES = (
    "sum_squares",
    "denominator_sum_squares",
    "covariate_sum_squares",
    "covariate_denominator_sum_squares",
)
_CROSSES = {  # the sum of products of two components
    (0, 1): "cross",
    (0, 2): "cross_covariate",
    (1, 2): "denominator_cross_covariate",
    (0, 3): "cross_covariate_denominator",
    (1, 3): "denominator_cross_covariate_denominator",
    (2, 3): "covariate_cross",
}
_PRECISION = 1e-12  # a variance below this share of the mean square is rounding


@dataclass(frozen=True)
class Moments:
    """Sums over the units of one arm; None: the metric has no such component.

    A ratio has a denominator per unit. CUPED has a covariate, measured before the experiment, and for a
    ratio also the denominator of the covariate. `Moments() + other` is `other`.

    >>> Moments.from_values([1.0, 3.0]) + Moments.from_values([2.0]) == Moments.from_values([1.0, 3.0, 2.0])
    True
    """

    n: int = 0
    sum: float = 0.0
    sum_squares: float = 0.0
    denominator_sum: float | None = None
    denominator_sum_squares: float | None = None
    cross: float | None = None
    covariate_sum: float | None = None
    covariate_sum_squares: float | None = None
    cross_covariate: float | None = None
    denominator_cross_covariate: float | None = None
    covariate_denominator_sum: float | None = None
    covariate_denominator_sum_squares: float | None = None
    cross_covariate_denominator: float | None = None
    denominator_cross_covariate_denominator: float | None = None
    covariate_cross: float | None = None

    def __add__(self, other: Moments) -> Moments:
        """The moments of the units of both."""
        if not self.n or not other.n:
            return self if self.n else other
        if self.names != other.names:
            message = f"expected moments with the same sums, found {self.names} and {other.names}"
            raise InputError(message)
        return Moments(self.n + other.n, **{k: getattr(self, k) + getattr(other, k) for k in self.names})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sums that are known."""
        known = (field.name for field in fields(self) if getattr(self, field.name) is not None)
        return tuple(name for name in known if name != "n")

    @property
    def is_ratio(self) -> bool:
        """Whether the metric is a ratio of two sums."""
        return self.denominator_sum is not None

    @property
    def has_covariate(self) -> bool:
        """Whether a covariate from before the experiment is known."""
        return self.covariate_sum is not None

    @property
    def is_share(self) -> bool:
        """Whether the values are taken to be 0 or 1: whole sums, and squares that add up to the same."""
        is_whole = self.sum == math.floor(self.sum)
        return is_whole and self.sum == self.sum_squares and 0 <= self.sum <= self.n and not self.is_ratio

    def means(self) -> Floats:
        """The means of the four components; an absent denominator is 1, an absent covariate 0."""
        absent = (0.0, 1.0, 0.0, 1.0)
        sums = [getattr(self, name) for name in _SUMS]
        pairs = zip(sums, absent, strict=True)
        return np.array([default if total is None else total / self.n for total, default in pairs])

    def covariance(self) -> Floats:
        """The 4 × 4 covariance of the components (n - 1; a share without covariate: n); needs two units."""
        means, matrix = self.means(), np.zeros((4, 4))
        divisor = self.n if self.is_share and not self.has_covariate else self.n - 1
        for i, name in enumerate(_SQUARES):
            matrix[i, i] = self._centred(getattr(self, name), means[i], means[i]) / divisor
        for (i, j), name in _CROSSES.items():
            matrix[i, j] = matrix[j, i] = self._centred(getattr(self, name), means[i], means[j]) / divisor
        constant = np.diag(matrix) <= 0
        matrix[constant, :] = matrix[:, constant] = 0.0
        return matrix

    def _centred(self, products: float | None, mean: float, other: float) -> float:
        if products is None:
            return 0.0
        centred = products - self.n * mean * other
        return 0.0 if abs(centred) <= _PRECISION * abs(products) else float(centred)

    def to_dict(self) -> dict[str, float]:
        """The sums that are known, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_fields(cls, sums: Mapping[str, Any]) -> Moments:
        """Read sums by name; without `sum_squares` the values are 0 or 1.

        >>> Moments.from_fields({"n": 10, "sum": 4}).sum_squares
        4.0
        """
        known = {field.name for field in fields(cls)}
        unknown, missing = sorted(set(sums) - known), sorted({"n", "sum"} - set(sums))
        if unknown or missing:
            problem = f"unknown {unknown}" if unknown else f"no {missing}"
            raise InputError(f"expected sums named {', '.join(sorted(known))}; found {problem}")
        try:
            values = {name: float(value) for name, value in sums.items() if value is not None}
            n = int(values.pop("n"))
        except (TypeError, ValueError) as error:
            raise InputError(f"expected numbers as sums, found {dict(sums)}") from error
        moments = cls(n, **{"sum_squares": values["sum"], **values})
        moments._check("sum_squares" in values)
        return moments

    def _check(self, has_squares: bool) -> None:
        """Refuse sums that no values can have."""
        if not all(math.isfinite(getattr(self, name)) for name in self.names) or self.n < 0:
            raise InputError(f"expected finite sums and n of at least 0, found {self.to_dict()}")
        if not has_squares and not 0 <= self.sum <= self.n:
            found = f"found a sum of {self.sum:g} and n {self.n}"
            raise InputError(f"expected sum_squares, unless all values are 0 or 1; {found}")
        for name, squares in zip(_SUMS, _SQUARES, strict=True):
            total, square = getattr(self, name), getattr(self, squares)
            if (total is None) != (square is None):
                raise InputError(f"expected {name} and {squares} together, found one of them")
            if total is not None and self.n * square < total * total * (1 - 1e-9):
                raise InputError(f"expected {squares} of at least {name}² / n, found {square:g}")
        self._check_crosses()

    def _check_crosses(self) -> None:
        has = [getattr(self, name) is not None for name in _SUMS]
        for (i, j), name in _CROSSES.items():
            if has[i] and has[j] and getattr(self, name) is None:
                raise InputError(f"expected {name}, since {_SUMS[i]} and {_SUMS[j]} are there; found none")

    @classmethod
    def from_values(
        cls,
        values: Iterable[float],
        denominator: Iterable[float] | None = None,
        covariate: Iterable[float] | None = None,
        covariate_denominator: Iterable[float] | None = None,
    ) -> Moments:
        """The sums of one row per unit; units with an undefined component (NaN) are left out.

        >>> Moments.from_values([1.0, 0.0], denominator=[2.0, 1.0]).cross
        2.0
        """
        columns = (values, denominator, covariate, covariate_denominator)
        known = {i: np.asarray(column, float) for i, column in enumerate(columns) if column is not None}
        rows = np.stack(list(known.values()))
        defined = ~np.isnan(rows).any(axis=0)
        known = {i: column[defined] for i, column in known.items()}
        sums = {_SUMS[i]: float(column.sum()) for i, column in known.items()}
        sums |= {_SQUARES[i]: float(column @ column) for i, column in known.items()}
        pairs = (pair for pair in _CROSSES if pair[0] in known and pair[1] in known)
        sums |= {_CROSSES[i, j]: float(known[i] @ known[j]) for i, j in pairs}
        return cls(int(defined.sum()), **sums)


def add_moments(parts: Iterable[Moments]) -> Moments:
    """The moments of the units of all parts."""
    return reduce(Moments.__add__, parts, Moments())
