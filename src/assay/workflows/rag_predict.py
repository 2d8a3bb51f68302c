"""Which of recall and robustness predicts the accuracy of a published table: `assay rag predict`."""

from __future__ import annotations

from dataclasses import dataclass

from assay.core.errors import InputError
from assay.datasets.table_rows import read_table_rows
from assay.rag.published_table import TablePredictors, parse_rows, predict_from_table


@dataclass(frozen=True, kw_only=True)
class RagPredictRequest:
    """The table of published configurations."""

    table: str
    level: float = 0.95

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise InputError(f"--level expects a number between 0 and 1, found {self.level:g}")


def predict_accuracy(request: RagPredictRequest) -> TablePredictors:
    """Return for each scenario of the table how closely the accuracy follows recall and robustness."""
    rows = parse_rows(read_table_rows(request.table), request.table)
    return predict_from_table(rows, request.level)
