"""Who gave what grade to the documents that an experiment shows."""

from __future__ import annotations

from pydantic import Field

from assay.web.page import Action, Context, Page, Parameters, View
from assay.workflows.shown_judgments import PAGE, ShownJudgments, ShownJudgmentsRequest, show_judgments
from assay.workflows.system_numbers import number_systems


class JudgmentsParameters(Parameters):
    """The experiment, and the first of the pairs to show."""

    experiment: str = ""  # part of the path
    offset: int = Field(default=0, ge=0, le=10**12)


def read(context: Context, parameters: JudgmentsParameters) -> ShownJudgments:
    """Return the labels by judge."""
    request = ShownJudgmentsRequest(
        experiment=parameters.experiment, offset=parameters.offset, store=context.store
    )
    return show_judgments(request)


def present(context: Context, value: ShownJudgments, parameters: JudgmentsParameters) -> View:
    """Return the judges with their counts, and a page of pairs."""
    experiment = value.experiment
    parts = {
        "judgments": value,
        "number": number_systems([experiment.name], context.store)[experiment.name],
        "page": PAGE,
        "names": sorted({judge for pair in value.pairs for judge in pair.labels}),
    }
    return View(f"Who judged {experiment.name}", f"assay experiments show {experiment.id}", parts)


PAGES = (
    Page(
        "/experiments/{experiment}/judgments",
        "",
        "experiment_judgments.html",
        read,
        present,
        JudgmentsParameters,
    ),
)
ACTIONS: tuple[Action, ...] = ()
