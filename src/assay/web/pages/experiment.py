"""One experiment: its scores with intervals, its settings and data, and its note and tags."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from assay.core.online_records import AB_TEST, OnlineRecord
from assay.evaluation.configuration import flatten_settings
from assay.rollout.machine import Rollout
from assay.views.online_pages import describe_interleaving, state_of
from assay.views.rollouts import describe_rollout
from assay.web.page import Action, Context, Page, Parameters, Result, View
from assay.workflows.experiments import (
    NoteRequest,
    PinRequest,
    ShowExperimentsRequest,
    ShownExperiments,
    TagRequest,
    note_experiment,
    pin_experiment,
    show_experiments,
    tag_experiment,
)
from assay.workflows.online_links import link_rollout
from assay.workflows.system_numbers import number_systems


class ExperimentParameters(Parameters):
    """The experiment."""

    experiment: str = ""  # part of the path


class NoteForm(ExperimentParameters):
    """The note that replaces the one of the experiment."""

    text: str = ""


class TagForm(ExperimentParameters):
    """A tag to add or to remove."""

    tag: str
    remove: bool = False


class PinForm(ExperimentParameters):
    """Whether the experiment is kept from being deleted."""

    pinned: bool


def read(context: Context, parameters: ExperimentParameters) -> ShownExperiments:
    """Return the experiment."""
    return show_experiments(ShowExperimentsRequest(names=[parameters.experiment], store=context.store))


def present(context: Context, value: ShownExperiments, parameters: ExperimentParameters) -> View:
    """Return the metrics by measure, and the settings and data as rows."""
    (experiment,) = value.experiments
    spaces: dict[str, Any] = {
        "configuration": experiment.configuration,
        "latency": experiment.latency,
        "figures": experiment.figures,
        "how it was measured": experiment.policy,
        "data by digest": experiment.digests,
        "environment": experiment.environment,
    }
    ends = [end for m in experiment.metrics for end in (m.value, m.low, m.high) if end is not None]
    parts = {
        "experiment": experiment,
        "number": number_systems([experiment.name], context.store)[experiment.name],
        "dataset": value.datasets.get(experiment.id),
        "online": [{"link": link, **_mark(link.record)} for link in value.online],
        "rollouts": [_rollout_row(rollout, experiment.id) for rollout in value.rollouts],
        "axis": (min([0.0, *ends]), max([1.0, *ends])),
        "spaces": {title: flatten_settings(values) for title, values in spaces.items() if values},
    }
    return View(experiment.name, f"assay experiments show {experiment.id}", parts)


def _rollout_row(rollout: Rollout, experiment: str) -> dict[str, str]:
    """Return where a rollout is, and which side of it an experiment is."""
    return {
        **link_rollout(rollout, experiment),
        "address": f"/rollouts/{quote(rollout.name, safe='')}",
        "sentence": describe_rollout(rollout),
    }


def _mark(record: OnlineRecord) -> dict[str, str]:
    """Return the address of an A/B test or an interleaving, its result and how that is marked."""
    if record.kind == AB_TEST:
        status = str(record.body.get("status") or "No data")
        return {"address": f"/online/tests/{record.id}", "words": status, "state": state_of(status)}
    banner = describe_interleaving(record.body)
    address = f"/online/interleavings/{record.id}"
    return {"address": address, "words": banner["title"], "state": banner["state"]}


def _note(context: Context, form: NoteForm) -> Result:
    note_experiment(NoteRequest(experiment=form.experiment, text=form.text, store=context.store))
    return Result(f"/experiments/{form.experiment}", "the note is saved")


def _tag(context: Context, form: TagForm) -> Result:
    request = TagRequest(experiment=form.experiment, tags=[form.tag], remove=form.remove, store=context.store)
    tag_experiment(request)
    return Result(f"/experiments/{form.experiment}", "the tags are saved")


def _pin(context: Context, form: PinForm) -> Result:
    pin_experiment(PinRequest(experiment=form.experiment, pinned=form.pinned, store=context.store))
    return Result(f"/experiments/{form.experiment}", "the pin is saved")


PAGES = (Page("/experiments/{experiment}", "", "experiment.html", read, present, ExperimentParameters),)
ACTIONS = (
    Action("/experiments/{experiment}/note", NoteForm, _note),
    Action("/experiments/{experiment}/tag", TagForm, _tag),
    Action("/experiments/{experiment}/pin", PinForm, _pin),
)
