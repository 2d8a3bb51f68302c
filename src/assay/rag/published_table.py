"""Tables of published configurations: scenario, algorithm, k, delta, recall, robustness, accuracy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.bench.studies.families import family_of_engine
from assay.core.errors import FormatError
from assay.rag.predictors import ConfigurationScores, Predictor, rank_predictors

COLUMNS = ("scenario", "algorithm", "k", "delta", "recall", "robustness", "accuracy")
_REQUIRED = ("algorithm", "recall", "robustness", "accuracy")
_SHARES = ("recall", "robustness", "accuracy")
_CONTROLS = re.compile(r"\b(k-?nn|exact|flat|brute)\b", re.IGNORECASE)
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

        >>> PublishedConfiguration("naive", "K-NN", 10, 0.2, 1.0, 1.0, 0.9).is_control
        True
        """
        return bool(_CONTROLS.search(self.algorithm.replace("_", "-")))

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

    def to_dict(self) -> dict[str, Any]:
        """Return the scenario as plain data."""
        return {
            "scenario": self.scenario,
            "n": self.configurations,
            "controls": len(self.controls),
            "left_out": list(self.controls),
            "predictors": [predictor.to_dict() for predictor in self.predictors],
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
    deltas = {row.delta for row in compared}
    merged: dict[tuple[Any, ...], dict[str, float | None]] = {}
    for row in compared:  # rows that differ in δ alone are one configuration
        key = (row.algorithm, row.k, row.recall, row.accuracy)
        measures = merged.setdefault(key, {"recall": row.recall})
        measures["robustness" if len(deltas) == 1 else f"Robustness-{row.delta:g}"] = row.robustness
    families = {row.algorithm: row.family for row in compared}
    configurations = [
        ConfigurationScores(key[0], families[key[0]], key[3], measures) for key, measures in merged.items()
    ]
    return ScenarioPredictors(
        name, len(configurations), controls, tuple(rank_predictors(configurations, level))
    )


def parse_rows(rows: Iterable[tuple[int, Mapping[str, Any]]], path: str) -> list[PublishedConfiguration]:
    """Return the configurations of the rows of a file, each with its line number."""
    return [_parse_row(row, path, line) for line, row in rows]


def _parse_row(row: Mapping[str, Any], path: str, line: int) -> PublishedConfiguration:
    cells = {str(name).strip().lower(): value for name, value in row.items()}
    missing = [name for name in _REQUIRED if cells.get(name) in (None, "")]
    if missing:
        raise FormatError(
            f"expected the columns {', '.join(COLUMNS)} (scenario, k and delta may be missing), found no "
            f"{' and no '.join(missing)} in {', '.join(cells)}",
            path,
            line,
        )
    shares = {name: _number(cells, name, path, line) for name in _SHARES}
    for name, value in shares.items():
        if not 0 <= value <= 1:
            raise FormatError(f"{name}: expected a share from 0 to 1, found {value:g}", path, line)
    optional = {
        name: _number(cells, name, path, line) if cells.get(name) not in (None, "") else None
        for name in ("k", "delta")
    }
    return PublishedConfiguration(
        scenario=str(cells.get("scenario") or _SHARED),
        algorithm=str(cells["algorithm"]).strip(),
        k=None if optional["k"] is None else int(optional["k"]),
        delta=optional["delta"],
        **shares,
    )


def _number(cells: Mapping[str, Any], name: str, path: str, line: int) -> float:
    try:
        return float(cells[name])
    except (TypeError, ValueError):
        raise FormatError(f"{name}: expected a number, found {cells[name]!r}", path, line) from None
