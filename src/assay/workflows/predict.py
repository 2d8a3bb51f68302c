"""Whether offline differences predict online ones: what `assay online predict` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.errors import InputError
from assay.core.online_records import AB_TEST
from assay.measures import parse
from assay.online.prediction import DifferencePair, assess_prediction
from assay.online.prediction_report import PredictionReport
from assay.store.online_records import newest_of_name
from assay.workflows.prediction_inputs import (
    read_difference_table,
    stored_differences,
)
from assay.workflows.prediction_suspects import check_suspects
from assay.workflows.store_location import store_url
from assay.workflows.stores import open_existing_store


@dataclass(frozen=True, kw_only=True)
class PredictRequest:
    """The tests whose offline and online differences are compared."""

    table: str | None = None  # a file; None: the A/B tests of the store with their experiments
    measures: Sequence[str] = ()  # offline measures; empty: all
    metric: str | None = None  # of the A/B tests; None: their goal
    level: float = 0.95
    seed: int = 0
    store: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise InputError(f"--level expects a number between 0 and 1, found {self.level:g}")
        if self.table is not None and self.metric is not None:
            raise InputError(
                "--metric chooses a metric of the A/B tests of the store: leave it out for a table"
            )


def predict_online(request: PredictRequest) -> PredictionReport:
    """Return how well offline differences predicted online ones."""
    if request.table is not None:
        pairs = _choose(read_difference_table(request.table, request.level), request.measures, request.table)
        prediction = assess_prediction(pairs, request.level, request.seed)
        return PredictionReport(prediction, source=request.table)
    return _predict_from_store(request)


def _choose(pairs: Sequence[DifferencePair], measures: Sequence[str], path: str) -> list[DifferencePair]:
    """Return the pairs of the wanted measures; one that no row has is refused."""
    names = {pair.measure for pair in pairs}
    for measure in measures:
        if measure not in names:
            raise InputError(f"{path} has no measure {measure!r}; it has {', '.join(sorted(names))}")
    return [pair for pair in pairs if not measures or pair.measure in measures]


def _predict_from_store(request: PredictRequest) -> PredictionReport:
    measures = [str(parse(measure)) for measure in request.measures]
    with open_existing_store(request.store) as store:
        location = store_url(request.store)
        found = stored_differences(
            store.ab_tests(newest_of_name(AB_TEST)), request.metric, measures, request.level, location
        )
        prediction = assess_prediction(found.pairs, request.level, request.seed)
        suspects = {test: check_suspects(store, found.tests[test]) for test in prediction.reversals}
        ids = {name: record.id for name, record in found.tests.items()}
        return PredictionReport(
            prediction, suspects, found.skipped, ids, request.metric, store.url, has_store=True
        )
