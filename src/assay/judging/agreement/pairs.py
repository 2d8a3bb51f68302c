"""Agreement of each two raters, on the items that both labelled, for all pairs of raters at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.judging.agreement.coefficients import WEIGHTS, distances, gwet_factor
from assay.judging.agreement.intervals import (
    Coefficients,
    Disagreement,
    coefficient_intervals,
    unanimous_weight,
)
from assay.judging.agreement.labels import Labels, sum_by

_BLOCK = 1 << 21  # pairs of labels enumerated at a time
_MOST_CELLS = 1 << 22  # of the tables of grades by grades that are filled, not sorted
_MOST_MARGINS = 1 << 23  # shares of grades held at a time
_KEYS = {"none": "", "linear": "_linear", "quadratic": "_quadratic"}


@dataclass(frozen=True)
class ConfusionTables:
    """How often two raters gave the same item these two grades: a row for each cell that is not 0."""

    first: Ints  # of each pair of raters that share an item
    second: Ints
    pair: Ints  # of each cell, ascending
    first_code: Ints
    second_code: Ints
    count: Floats
    scale: Floats

    @property
    def n(self) -> Floats:
        """The items that each pair of raters shares."""
        return sum_by(self.pair, self.count, len(self.first))

    def blocks(self) -> Iterator[ConfusionTables]:
        """Return the tables in blocks of pairs of raters, of which all shares of grades fit in memory."""
        step = max(1, _MOST_MARGINS // max(1, len(self.scale)))
        for start in range(0, len(self.first), step):
            rows = slice(*np.searchsorted(self.pair, (start, start + step)))
            pairs = slice(start, start + step)
            yield ConfusionTables(
                self.first[pairs],
                self.second[pairs],
                self.pair[rows] - start,
                self.first_code[rows],
                self.second_code[rows],
                self.count[rows],
                self.scale,
            )


def confusion_tables(labels: Labels) -> ConfusionTables:
    """Return the tables of grades by grades of all pairs of raters that share an item."""
    raters, grades = len(labels.raters), max(1, len(labels.scale))
    keys, counts = _count_keys(_paired_keys(labels, raters, grades), (raters * grades) ** 2)
    rest, second_code = np.divmod(keys, grades)
    pair_key, first_code = np.divmod(rest, grades)
    pairs, pair = np.unique(pair_key, return_inverse=True)
    first, second = np.divmod(pairs, raters)
    return ConfusionTables(first, second, pair, first_code, second_code, counts, labels.scale)


def _paired_keys(labels: Labels, raters: int, grades: int) -> Iterator[Ints]:
    """Return a number for each two labels of an item: both raters and both grades."""
    starts = np.cumsum(labels.sizes) - labels.sizes
    for size in np.unique(labels.sizes[labels.sizes > 1]).tolist():
        items = np.flatnonzero(labels.sizes == size)
        left, right = np.triu_indices(size, 1)
        step = max(1, _BLOCK // len(left))
        for begin in range(0, len(items), step):
            rows = starts[items[begin : begin + step], None] + np.arange(size)
            rater, code = labels.rater[rows], labels.code[rows]
            lower = rater * (raters * grades**2) + code * grades
            upper = rater * grades**2 + code
            yield (lower[:, left] + upper[:, right]).ravel()


def _count_keys(keys: Iterator[Ints], cells: int) -> tuple[Ints, Floats]:
    """Return the distinct keys, ascending, and how often each occurs."""
    if cells <= _MOST_CELLS:
        table = np.zeros(cells, np.int64)
        for block in keys:
            table += np.bincount(block, minlength=cells)
        distinct = np.flatnonzero(table)
        return distinct, table[distinct].astype(np.float64)
    blocks = [np.unique(block, return_counts=True) for block in keys]
    if not blocks:
        return np.zeros(0, np.int64), np.zeros(0)
    distinct, place = np.unique(np.concatenate([block for block, _ in blocks]), return_inverse=True)
    counts = np.concatenate([count for _, count in blocks]).astype(np.float64)
    return distinct, sum_by(place, counts, len(distinct))


@dataclass(frozen=True)
class PairAgreements:
    """The agreement of each two raters; pairs of raters without a shared item have no coefficients."""

    raters: Sequence[str]
    first: Ints
    second: Ints
    n: Floats
    agreement: Coefficients
    kappa: Mapping[str, Coefficients]  # Cohen's, by weights
    gwet: Mapping[str, Coefficients]  # AC1 without weights, AC2 with weights
    chance: Floats  # the agreement expected of the grades that each of both gave

    def __len__(self) -> int:
        return len(self.first)

    def names(self, row: int) -> tuple[str, str]:
        """Return the names of both raters."""
        return self.raters[int(self.first[row])], self.raters[int(self.second[row])]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return each pair as plain data, with those that share nothing."""
        rows = {(int(a), int(b)): row for row, (a, b) in enumerate(zip(self.first, self.second, strict=True))}
        count = len(self.raters)
        if count > MOST_RATERS_IN_FULL:
            return [self._to_dict(*self.names(row), row) for row in range(len(self))]
        pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
        return [self._to_dict(self.raters[a], self.raters[b], rows.get((a, b))) for a, b in pairs]

    def _to_dict(self, first: str, second: str, row: int | None) -> dict[str, Any]:
        coefficients = {f"kappa{_KEYS[name]}": column for name, column in self.kappa.items()}
        coefficients |= {f"ac2{_KEYS[name]}": column for name, column in self.gwet.items()}
        coefficients["ac1"] = coefficients.pop("ac2")
        if row is None:
            nothing = {"value": None, "low": None, "high": None, "n": 0}
            data = {"n": 0, "agreement": None, "agreement_interval": None}
            return {"a": first, "b": second, **data, **{name: dict(nothing) for name in coefficients}}
        raw = self.agreement.estimate(row)
        return {
            "a": first,
            "b": second,
            "n": raw.n,
            "agreement": raw.value,
            "agreement_interval": [raw.low, raw.high],
            **{name: column.estimate(row).to_dict() for name, column in coefficients.items()},
        }


MOST_RATERS_IN_FULL = 300  # of more raters, only pairs that share an item are listed


def compare_raters(labels: Labels, level: float = 0.95) -> PairAgreements:
    """Return the agreement of each two raters that labelled the same items.

    >>> pairs = compare_raters(Labels.from_matrix(np.array([[1, 1], [0, 0], [1, 0], [0, 0]])))
    >>> pairs.agreement.value.tolist(), pairs.kappa["none"].value.tolist()
    ([0.75], [0.5])
    """
    tables = confusion_tables(labels)
    blocks = [_compare_block(block, level) for block in tables.blocks()] or [_compare_block(tables, level)]
    kappa = {name: _join([block.kappa[name] for block in blocks], level) for name in WEIGHTS}
    gwet = {name: _join([block.gwet[name] for block in blocks], level) for name in WEIGHTS}
    agreement = _join([block.agreement for block in blocks], level)
    chance = np.concatenate([block.chance for block in blocks])
    return PairAgreements(
        labels.raters, tables.first, tables.second, tables.n, agreement, kappa, gwet, chance
    )


class _Block(NamedTuple):
    agreement: Coefficients
    kappa: dict[str, Coefficients]
    gwet: dict[str, Coefficients]
    chance: Floats


def _compare_block(tables: ConfusionTables, level: float) -> _Block:
    pairs, grades = len(tables.first), max(1, len(tables.scale))
    margins = _margins(tables, pairs, grades)
    observed = sum_by(tables.pair, tables.count * (tables.first_code == tables.second_code), pairs)
    chance = (margins.first * margins.second).sum(axis=1)
    return _Block(
        _shares(observed, tables.n, level),
        {name: _cohen(tables, margins, name, level) for name in WEIGHTS},
        {name: _gwet(tables, margins, name, level) for name in WEIGHTS},
        chance,
    )


def _join(parts: Sequence[Coefficients], level: float) -> Coefficients:
    value, low, high, n = (
        np.concatenate(column) for column in zip(*(part[:4] for part in parts), strict=True)
    )
    return Coefficients(value, low, high, n, level)


class _Margins(NamedTuple):
    first: Floats  # the share of each grade of the first rater: pairs of raters × grades
    second: Floats


def _margins(tables: ConfusionTables, pairs: int, grades: int) -> _Margins:
    n = np.maximum(tables.n, 1)[:, None]
    first, second = (
        sum_by(tables.pair * grades + code, tables.count, pairs * grades).reshape(pairs, grades) / n
        for code in (tables.first_code, tables.second_code)
    )
    return _Margins(first, second)


def _shares(counts: Floats, n: Floats, level: float) -> Coefficients:
    """Return shares with their exact intervals (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    low = np.where(counts > 0, betaincinv(np.maximum(counts, 1), n - counts + 1, 0.5 - level / 2), 0.0)
    high = np.where(counts < n, betaincinv(counts + 1, np.maximum(n - counts, 1), 0.5 + level / 2), 1.0)
    return Coefficients(counts / n, low, high, n, level)


def _cell_distances(tables: ConfusionTables, weights: str) -> Floats:
    scale = tables.scale
    return distances(scale[tables.first_code], scale[tables.second_code], scale, weights)


def _cohen(tables: ConfusionTables, margins: _Margins, weights: str, level: float) -> Coefficients:
    """Return the κ of Cohen (1960; 1968 with weights) of each pair of raters."""
    from_first = _expected_distances(margins.second, tables.scale, weights)
    from_second = _expected_distances(margins.first, tables.scale, weights)
    expected = (margins.first * from_first).sum(axis=1)
    unseen = 1 / _one_if_zero(1 - (margins.first * margins.second).sum(axis=1))
    return _coefficients(tables, margins, weights, expected, _Margins(from_first, from_second), unseen, level)


def _expected_distances(shares: Floats, scale: Floats, weights: str) -> Floats:
    """Return the mean distance of each grade from a label drawn by these shares: pairs of raters × grades."""
    if weights == "none":
        return 1 - shares
    values = _unit_values(scale)
    mean = (shares @ values)[:, None]
    if weights == "quadratic":
        return values**2 - 2 * mean * values + (shares @ values**2)[:, None]
    below, sums = np.cumsum(shares, axis=1), np.cumsum(shares * values, axis=1)
    total: Floats = values * (2 * below - below[:, -1:]) + mean - 2 * sums
    return total


def _unit_values(scale: Floats) -> Floats:
    """Return the grades on a scale from 0 to 1."""
    spread = scale[-1] - scale[0] if len(scale) else 0.0
    return (scale - scale[0]) / spread if spread else np.zeros(max(1, len(scale)))


def _gwet(tables: ConfusionTables, margins: _Margins, weights: str, level: float) -> Coefficients:
    """Return AC1, or AC2 with weights, of each pair of raters; undefined if both gave one grade only."""
    shares = (margins.first + margins.second) / 2
    factor = gwet_factor(tables.scale, weights) if len(tables.scale) > 1 else 0.0
    expected = 1 - factor * (shares * (1 - shares)).sum(axis=1)
    expected[shares.max(axis=1, initial=0.0) > 1 - 1e-12] = 0.0
    half = -factor * (1 - 2 * shares) / 2
    return _coefficients(
        tables, margins, weights, expected, _Margins(half, half), 1 / _one_if_zero(expected), level
    )


def _coefficients(
    tables: ConfusionTables,
    margins: _Margins,
    weights: str,
    expected: Floats,
    pulls: _Margins,
    unseen: Floats,
    level: float,
) -> Coefficients:
    """Return 1 - observed / expected; `pulls`: how a label of each rater changes the expected distance."""
    pair, count, n, pairs = tables.pair, tables.count, tables.n, len(tables.first)
    cell = _cell_distances(tables, weights) if len(tables.scale) > 1 else np.zeros(len(pair))
    observed = sum_by(pair, count * cell, pairs) / n
    divisor = _one_if_zero(expected)
    pull = pulls.first[pair, tables.first_code] + pulls.second[pair, tables.second_code]
    influence = cell / _one_if_zero(observed)[pair] - pull / divisor[pair]
    centre = sum_by(pair, count * influence, pairs) / n
    squares = sum_by(pair, count * (influence - centre[pair]) ** 2, pairs)
    is_used = margins.first + margins.second > 0
    unanimous = -(pulls.first + pulls.second) / divisor[:, None] - centre[:, None]
    weight = unanimous_weight(is_used.sum(axis=1))
    squares += weight * (is_used * unanimous**2).sum(axis=1)
    variance = squares / (n * np.maximum(n - 1, 1))
    expected = np.where(expected > 1e-12, expected, 0.0)
    return coefficient_intervals(Disagreement(observed, expected, variance, n, unseen), level)


def _one_if_zero(values: Floats) -> Floats:
    return np.where(values == 0, 1.0, values)
