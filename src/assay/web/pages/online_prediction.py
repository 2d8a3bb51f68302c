"""Offline against online: whether the offline differences of past tests predicted the online ones."""

from __future__ import annotations

import math
import shlex
from typing import Any

from assay.online.prediction import MeasurePrediction, Prediction
from assay.online.prediction_report import PredictionReport
from assay.views.predict import (
    csv_rows,
    describe_best,
    describe_measure,
    describe_method,
    describe_reversal,
    describe_shortage,
    describe_skips,
    describe_suspect,
)
from assay.web.online_charts import scatter_chart
from assay.web.page import Action, Context, Page, Parameters, View
from assay.workflows.predict import PredictRequest, predict_online


class PredictionParameters(Parameters):
    """The offline measure of the chart, and the online metric."""

    measure: str = ""
    metric: str = ""


def read(context: Context, parameters: PredictionParameters) -> PredictionReport:
    """Return how well offline differences predicted online ones, over the tests in the store."""
    return predict_online(PredictRequest(store=context.store, metric=parameters.metric or None))


def present(context: Context, value: PredictionReport, parameters: PredictionParameters) -> View:
    """Return the reading, the chart of one measure, and the measures side by side."""
    prediction = value.prediction
    chosen = _chosen(prediction, parameters.measure)
    parts = {
        "report": value,
        "prediction": prediction,
        "is_empty": not prediction.pairs,
        "banner": _banner(prediction, chosen),
        "measures": sorted(prediction.measures, key=_rank),
        "chosen": chosen,
        "chart": None if chosen is None else _chart(prediction, chosen),
        "rows": [] if chosen is None else _rows(prediction, chosen.measure),
        "best": describe_best(prediction.best) if prediction.best else "",
        "reversals": [
            {
                "sentence": describe_reversal(test, pairs).removeprefix("warning: "),
                "id": value.ids.get(test),
                "test": test,
                "suspects": [(s.status, describe_suspect(s)) for s in value.suspects.get(test, ())],
            }
            for test, pairs in prediction.reversals.items()
        ],
        "method": describe_method(prediction),
        "skipped": describe_skips(value),
        "metric": parameters.metric,
    }
    option = f" --metric {shlex.quote(parameters.metric)}" if parameters.metric else ""
    return View("Offline against online", f"assay online predict{option}", parts)


def _rank(measure: MeasurePrediction) -> float:
    """Return a number that puts the highest correlation first and an unknown one last."""
    return math.inf if measure.spearman.value is None else -measure.spearman.value


def _chosen(prediction: Prediction, measure: str) -> MeasurePrediction | None:
    """Return the measure of the address, else the best, else the first."""
    best = prediction.best.measure if prediction.best else ""
    for wanted in (measure, best):
        for found in prediction.measures:
            if found.measure == wanted:
                return found
    return prediction.measures[0] if prediction.measures else None


def _banner(prediction: Prediction, chosen: MeasurePrediction | None) -> dict[str, str] | None:
    if not prediction.pairs:
        return None
    if chosen is None or chosen.spearman.value is None:
        title = "It cannot be decided yet whether offline predicts online"
        return {"state": "open", "title": title, "evidence": describe_shortage(prediction)}
    head, _, rest = describe_measure(chosen).partition(": ")
    low, high = chosen.spearman.low, chosen.spearman.high
    state = "better" if low is not None and low > 0 else "worse" if high is not None and high < 0 else "open"
    return {"state": state, "title": head, "evidence": rest}


def _rows(prediction: Prediction, measure: str) -> list[Any]:
    return [pair for pair in prediction.pairs if pair.measure == measure]


def _chart(prediction: Prediction, chosen: MeasurePrediction) -> dict[str, Any]:
    rows = [
        {"test": pair.test, "offline": pair.offline, "online": pair.online, "is_reversal": pair.is_reversal}
        for pair in _rows(prediction, chosen.measure)
        if pair.offline.value is not None and pair.online.value is not None
    ]
    slope, intercept = chosen.line.slope.value, chosen.line.intercept.value
    line = None if slope is None or intercept is None else (slope, intercept)
    return scatter_chart(rows, line)


def export(context: Context, parameters: PredictionParameters) -> tuple[list[str], list[list[str]]]:
    """Return the differences of all tests, in the columns that `assay online predict` reads."""
    return csv_rows(read(context, parameters).prediction)


PAGES = (
    Page(
        "/online/predict",
        "",
        "online_prediction.html",
        read,
        present,
        PredictionParameters,
        export=export,
        is_long=True,
    ),
)
ACTIONS: tuple[Action, ...] = ()
