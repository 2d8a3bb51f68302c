"""Tables of published configurations: scenario, algorithm, k, delta, recall, robustness, accuracy."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from assay.bench.studies.families import family_of_engine
from assay.core.errors import FormatError
from assay.rag.predictors import ConfigurationScores, Predictor, rank_predictors

N = TypeVar("N", int, float)
COLUMNS = ("scenario", "algorithm", "k", "delta", "recall", "robustness", "accuracy")
_REQUIRED = ("algorithm", "recall", "robustness", "accuracy")
_SHARES = ("recall", "robustness", "accuracy")
_K_NN = re.compile(r"\bk[-_ ]?nn", re.IGNORECASE)
_EXACT_NAMES = re.compile(r"(knn|enn|exhaustive|indexflat|linear|full)\b|indexflat", re.IGNORECASE)
RECALL, ROBUSTNESS = "recall", "robustness"
_SHARED = "all"  # the scenario of a table without that column


@dataclass(frozen=True)
class PublishedConfiguration:
    """One row: an algorithm with its recall and robustness, and the accuracy of the answers."""

    scenario: str
    algorithm: str
    k: int | None
    delta: float | None
    recall: float
    robustness: float
    accuracy: float

    @property
    def is_control(self) -> bool:
        """Whether it is exact search, which no index is compared by.

        >>> names = ("K-NN", "Brute Force", "IVF-Flat", "Lucene kNN")
        >>> [PublishedConfiguration("naive", name, 10, 0.2, 1.0, 1.0, 0.9).is_control for name in names]
        [True, True, False, False]
        """
        family = family_of_engine(self.algorithm)
        if family != "other":
            return family == "exact"
        name = _K_NN.sub("knn", self.algorithm.strip()).replace("_", " ")
        return bool(_EXACT_NAMES.match(name)) and "graph" not in name.lower()

    @property
    def family(self) -> str:
        """The family of its algorithm; an algorithm of no known family is one of its own."""
        family = family_of_engine(self.algorithm)
        return self.algorithm if family == "other" else family


@dataclass(frozen=True)
class ScenarioPredictors:
    """Which of recall and robustness predicts the accuracy in one scenario."""

    scenario: str
    configurations: int
    controls: tuple[str, ...]  # the algorithms that were left out
    predictors: tuple[Predictor, ...]
    delta: float | None = None  # of all rows; None: of several, or not known
    ks: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the scenario as plain data."""
        return {
            "scenario": self.scenario,
            "n": self.configurations,
            "controls": len(self.controls),
            "left_out": list(self.controls),
            "predictors": [self._predictor_dict(predictor) for predictor in self.predictors],
        }

    def _predictor_dict(self, predictor: Predictor) -> dict[str, Any]:
        measure, _, delta = predictor.measure.partition("-")
        chosen = float(delta) if delta else self.delta
        return {
            **predictor.to_dict(),
            "measure": measure.lower(),
            "delta": chosen if measure != RECALL else None,
        }


@dataclass(frozen=True)
class TablePredictors:
    """The predictors of each scenario of a table."""

    scenarios: tuple[ScenarioPredictors, ...]

    @property
    def is_decidable(self) -> bool:
        """Whether a correlation is defined in some scenario."""
        return any(p.r2 is not None for scenario in self.scenarios for p in scenario.predictors)

    def to_dict(self) -> dict[str, Any]:
        """Return the predictors as plain data, as `assay rag predict --format json` prints them."""
        return {"scenarios": [scenario.to_dict() for scenario in self.scenarios]}


def predict_from_table(rows: Iterable[PublishedConfiguration], level: float = 0.95) -> TablePredictors:
    """Return for each scenario how closely the accuracy follows recall and robustness."""
    scenarios: dict[str, list[PublishedConfiguration]] = {}
    for row in rows:
        scenarios.setdefault(row.scenario, []).append(row)
    return TablePredictors(tuple(_predict(name, group, level) for name, group in scenarios.items()))


def _predict(name: str, rows: Sequence[PublishedConfiguration], level: float) -> ScenarioPredictors:
    compared = [row for row in rows if not row.is_control]
    controls = tuple(dict.fromkeys(row.algorithm for row in rows if row.is_control))
    groups = _configurations(compared)
    has_own_delta = all(len(group) == 1 for group in groups)
    configurations = [
        ConfigurationScores(
            group[0].algorithm, group[0].family, group[0].accuracy, _measures(group, has_own_delta)
        )
        for group in groups
    ]
    deltas = {row.delta for row in compared}
    delta = next(iter(deltas)) if len(deltas) == 1 else None
    return ScenarioPredictors(
        name,
        len(configurations),
        controls,
        tuple(rank_predictors(configurations, level)),
        delta if has_own_delta else None,
        tuple(sorted({row.k for row in compared if row.k is not None})),
    )


def _configurations(rows: Sequence[PublishedConfiguration]) -> list[list[PublishedConfiguration]]:
    """Return the rows of each configuration: rows that differ in δ and robustness alone are of one."""
    groups: dict[tuple[Any, ...], list[PublishedConfiguration]] = {}
    seen: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        key = (row.algorithm, row.k, row.recall, row.accuracy)
        seen[key, row.delta] += 1  # a second row of one δ is of another configuration
        groups.setdefault((key, seen[key, row.delta]), []).append(row)
    return list(groups.values())


def _measures(group: Sequence[PublishedConfiguration], has_own_delta: bool) -> dict[str, float | None]:
    measures: dict[str, float | None] = {RECALL: group[0].recall}
    for row in group:
        is_named = not has_own_delta and row.delta is not None
        measures[f"{ROBUSTNESS.capitalize()}-{row.delta:g}" if is_named else ROBUSTNESS] = row.robustness
    return measures


def parse_rows(rows: Iterable[tuple[int, Mapping[str, Any]]], path: str) -> list[PublishedConfiguration]:
    """Return the configurations of the rows of a file, each with its line number.

    A cell with a per cent sign is a percentage; so are all cells of a column whose values are all above 1.
    """
    cells = [(line, _cells(row, path, line)) for line, row in rows]
    columns = {
        name: _shares([_number(row, name, path, line) for line, row in cells], cells, name, path)
        for name in _SHARES
    }
    return [
        PublishedConfiguration(
            scenario=str(row.get("scenario") or _SHARED),
            algorithm=str(row["algorithm"]).strip(),
            k=_optional(row, "k", path, line, int),
            delta=_optional(row, "delta", path, line, float),
            **{name: values[place] for name, values in columns.items()},
        )
        for place, (line, row) in enumerate(cells)
    ]


def _cells(row: Mapping[str, Any], path: str, line: int) -> dict[str, Any]:
    """Return the cells of a row by the names of the columns in small letters."""
    cells = {str(name).strip().lower(): value for name, value in row.items()}
    missing = [name for name in _REQUIRED if cells.get(name) in (None, "")]
    if missing:
        raise FormatError(
            f"expected the columns {', '.join(COLUMNS)} (scenario, k and delta may be missing), found no "
            f"{' and no '.join(missing)} in {', '.join(cells)}",
            path,
            line,
        )
    return cells


def _shares(
    values: Sequence[float], rows: Sequence[tuple[int, Mapping[str, Any]]], name: str, path: str
) -> list[float]:
    has_sign = [_has_percent_sign(row[name]) for _, row in rows]
    is_percent = not any(has_sign) and all(value > 1 or value == 0 for value in values) and any(values)
    shares = [value / 100 if is_percent else value for value in values]
    for value, (line, _) in zip(shares, rows, strict=True):
        if not 0 <= value <= 1:
            found = f"{100 * value:g} %" if is_percent else f"{value:g}"
            expected = "a share from 0 to 1 (or percentages in the whole column)"
            raise FormatError(f"{name}: expected {expected}, found {found}", path, line)
    return shares


def _optional(
    row: Mapping[str, Any], name: str, path: str, line: int, kind: Callable[[float], N]
) -> N | None:
    return None if row.get(name) in (None, "") else kind(_number(row, name, path, line))


def _has_percent_sign(cell: Any) -> bool:
    return isinstance(cell, str) and cell.rstrip().endswith("%")


def _number(row: Mapping[str, Any], name: str, path: str, line: int) -> float:
    """Return the number in a cell; of a percentage, the share."""
    cell = row[name]
    try:
        number = float(cell.rstrip().removesuffix("%")) / 100 if _has_percent_sign(cell) else float(cell)
    except (TypeError, ValueError):
        raise FormatError(f"{name}: expected a number, found {cell!r}", path, line) from None
    if not math.isfinite(number):
        raise FormatError(f"{name}: expected a number, found {cell!r}", path, line)
    return number
