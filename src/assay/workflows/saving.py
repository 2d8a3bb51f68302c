"""Record results as experiments in a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.core.errors import ConfigurationError, InputError
from assay.core.rankings import Rankings
from assay.core.records import Experiment
from assay.core.settings import is_number
from assay.core.tables import Scores
from assay.datasets.judgment_files import read_judgments
from assay.datasets.latencies import percentiles, read_latencies
from assay.evaluation.configuration import flatten_settings
from assay.store.evaluations import experiment_from_evaluation
from assay.store.experiments import check_experiment
from assay.store.rankings import ShownTables, put_shown_tables
from assay.store.store import Store
from assay.workflows.recording import Recording, SavedExperiment, SaveRequest
from assay.workflows.settings import PROJECT_FILE, read_settings
from assay.workflows.store_location import store_url
from assay.workflows.stores import check_store


def check_saving(request: SaveRequest, run_count: int = 1) -> None:
    """Refuse a name, a store or files of measurements that could not be saved, before anything is scored."""
    measurements = _read_measurements(request, run_count)
    experiment = Experiment(name=request.name, tags=tuple(request.tags), note=request.note, **measurements)
    check_experiment(experiment)
    check_store(store_url(request.store, request.project))


def save(request: SaveRequest, recordings: Sequence[Recording]) -> list[SavedExperiment]:
    """Record evaluations as experiments with their scores."""
    experiments = []
    measurements = _read_measurements(request, len(recordings))
    for recording in (replace(recording, **measurements) for recording in recordings):
        experiment = experiment_from_evaluation(
            recording.evaluation,
            f"{request.name}/{recording.label}" if recording.label else request.name,
            kind=recording.kind,
            qrels=recording.qrels,
            queries=recording.queries,
            run=recording.run,
            only_common=recording.only_common,
            configuration=recording.configuration,
            latency=recording.latency,
            figures=recording.figures,
            result=recording.result,
            tags=request.tags,
            note=request.note,
        )
        tables = _shown_tables(recording, request.with_texts)
        experiments.append((experiment, recording.evaluation.scores, tables))
    return save_experiments(request.store, experiments, request.project)


def _shown_tables(recording: Recording, with_texts: bool) -> ShownTables:
    """Return the tables that pages show of a recording."""
    return ShownTables(
        rankings=Rankings.from_tops(recording.tops) if recording.tops else None,
        qrels=recording.qrels,
        judgments=None if recording.judgments is None else read_judgments(recording.judgments),
        queries=recording.queries,
        documents=recording.documents if with_texts else None,
        with_texts=with_texts,
        losses=recording.losses,
    )


def save_experiments(
    store: str | None,
    experiments: Sequence[tuple[Experiment, Scores, ShownTables]],
    project: str | Path = PROJECT_FILE,
) -> list[SavedExperiment]:
    """Put experiments, their scores and what pages show into a store; None is that of `store_url`."""
    saved = []
    with Store(store_url(store, project)) as database:
        for experiment, scores, tables in experiments:
            digests = {**experiment.digests, **put_shown_tables(database, tables)}
            stored = database.put(replace(experiment, digests=digests), scores)
            saved.append(SavedExperiment(stored.name, stored.id, database.url))
    return saved


def _read_measurements(request: SaveRequest, run_count: int) -> dict[str, Any]:
    """Return the latencies and figures of files, which belong to a single run."""
    if (request.figures or request.latencies) and run_count > 1:
        raise InputError("--figures and --latencies are of one run: save each run by itself")
    measurements: dict[str, Any] = {}
    if request.figures:
        measurements["figures"] = _read_figures(request.figures)
    if request.latencies:
        measurements["latency"] = percentiles(read_latencies(request.latencies))
    return measurements


def _read_figures(path: str) -> Mapping[str, Any]:
    """Return costs and other numbers by name; anything but a number is refused."""
    figures = read_settings(path)
    problems = {
        name: f"expected a number, found {value!r}"
        for name, value in flatten_settings(figures).items()
        if not is_number(value)
    }
    if problems:
        raise ConfigurationError(problems, path)
    return figures
