"""Open trials as a study: those in the folder of a sweep, or those of a table that others published."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from assay.bench.imported import read_reported_trials
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.scoring import score_trials
from assay.bench.studies.study import Study, choose_mode
from assay.bench.sweeps.folder import SweepFolder
from assay.bench.sweeps.pass_figures import HitSource
from assay.bench.sweeps.stored_hits import open_stored_hits
from assay.bench.trials import Trial, with_delta
from assay.core.errors import InputError
from assay.core.vectors import Neighbors
from assay.datasets.vectors import read_neighbors
from assay.datasets.vectors.formats import parse_file_part
from assay.indexes.hits import HitRule
from assay.indexes.vector_data import VectorData
from assay.views.trials import sort_trials
from assay.workflows.benchmark import read_stored_truth, truth_path
from assay.workflows.sweep_data import (
    MissingVectorsError,
    make_hit_rule,
    open_sweep_data,
    open_sweep_folder,
)


def open_study(
    source: str | os.PathLike[str],
    *,
    k: int | None = None,
    policy: str | None = None,
    mode: str | None = None,
    delta: float | None = None,
) -> Study:
    """The trials of a folder with the results of their queries, or those of a table as it states them.

    Measures have robustness at δ too. If the vectors that were searched are gone, the hits that the sweep
    stored are used.
    """
    if os.path.isdir(source):
        return _open_folder(source, k, policy, mode, with_delta(delta))
    return _open_table(os.fspath(source), k, mode)


def is_without_vectors(study: Study) -> bool:
    """Whether the trials were scored by stored hits, because the vectors are gone."""
    return bool(study.metadata) and study.data is None


def _open_table(path: str, k: int | None, mode: str | None) -> Study:
    """The trials of a table, scored already: K selects among them, and is that of rows that state none."""
    return _select_trials(read_reported_trials(path, k), k, mode, Study((), {}, None, path))


def _open_folder(
    folder: str | os.PathLike[str],
    k: int | None,
    policy: str | None,
    mode: str | None,
    deltas: Sequence[float],
) -> Study:
    sweep_folder, data, hit_source = _open_hit_source(folder, k, policy)
    scored_trials = score_trials(sweep_folder, hit_source, deltas)
    if not scored_trials:
        raise InputError(f"{folder} holds no trials: `assay bench … -o {folder}` makes some")
    by_key = {scored_trial.trial.key: scored_trial for scored_trial in scored_trials}
    trials = sort_trials([scored_trial.trial for scored_trial in scored_trials])
    fitted_keys = _fitted_keys(sweep_folder, trials)
    ordered = [
        replace(by_key[trial.key], is_fitted=trial.key in fitted_keys and by_key[trial.key].hits is not None)
        for trial in trials
    ]
    study = Study((), sweep_folder.metadata(), data, os.fspath(folder))
    return _select_trials(ordered, k, mode, study)


def _select_trials(
    scored_trials: Sequence[ScoredTrial], k: int | None, mode: str | None, study: Study
) -> Study:
    """A study of the trials at K and of one request mode."""
    _refuse_k([scored_trial.trial for scored_trial in scored_trials], k, study.source)
    at_k = [scored_trial for scored_trial in scored_trials if k in (None, scored_trial.trial.k)]
    trials = [scored_trial.trial for scored_trial in at_k]
    own_trials = [trial for trial in trials if trial.source == "assay"]  # imported ones do not set the mode
    chosen_mode = choose_mode(trials if mode else own_trials or trials, mode)
    selected = tuple(scored_trial for scored_trial in at_k if scored_trial.trial.mode == chosen_mode)
    return replace(study, scored_trials=selected)


def _open_hit_source(
    folder: str | os.PathLike[str], k: int | None, policy: str | None
) -> tuple[SweepFolder, VectorData | None, HitSource]:
    """The folder, its data if the files exist, and what decides which answers are hits."""
    try:
        sweep_folder, data = open_sweep_data(folder, k)
    except MissingVectorsError as error:
        sweep_folder = open_sweep_folder(folder)
        return sweep_folder, None, _stored_hit_source(sweep_folder, k, policy, error)
    default = sweep_folder.metadata()["options"]["policy"]
    return sweep_folder, data, make_hit_rule(data, policy or default)


def _stored_hit_source(
    folder: SweepFolder, k: int | None, policy: str | None, error: MissingVectorsError
) -> HitSource:
    """The stored hits of a sweep, or a rule that needs the truth alone; otherwise the error is raised."""
    truth = _find_truth(folder)
    if truth is None and not _has_complete_truth(folder):
        raise error
    stored = open_stored_hits(folder, truth)
    wanted_k, wanted_policy = k or stored.k, policy or stored.policy
    if (wanted_k, wanted_policy) == (stored.k, stored.policy):
        return stored
    if wanted_policy == "strict" and truth is not None and wanted_k <= truth.k:
        return HitRule(truth, wanted_k, policy="strict")
    raise InputError(
        f"{error}; the hits that are stored are those at K = {stored.k} by the policy {stored.policy}"
    ) from None


def _find_truth(folder: SweepFolder) -> Neighbors | None:
    """The exact neighbours of a sweep, from its folder or its source; None if both are gone."""
    metadata = folder.metadata()
    data, source = metadata["data"], metadata["sources"]["truth"]
    path, _ = truth_path(folder.path, data["digests"], data["metric"], data["n"], data["k"])
    if path.exists():
        return read_stored_truth(path)
    if source is None or not os.path.exists(parse_file_part(source).path):
        return None
    neighbors = read_neighbors(source)
    return Neighbors(neighbors.positions[: data["queries"]], None)


def _has_complete_truth(folder: SweepFolder) -> bool:
    """Whether every query had exact neighbours when the trials were scored last."""
    path = Path(folder.path) / "trials.parquet"
    if not path.exists():
        return False
    table = pl.read_parquet(path)
    return "undefined" in table.columns and not table["undefined"].fill_null(0).sum()


def _refuse_k(trials: Sequence[Trial], k: int | None, source: str) -> None:
    """Refuse a K at which no trial is scored."""
    scored_ks = sorted({trial.k for trial in trials})
    if k is not None and k not in scored_ks:
        values = ", ".join(map(str, scored_ks))
        raise InputError(
            f"{source}: no trial is scored at K = {k}; there are K = {values}: choose one of these with -k; "
            "in a table, the column `k` states the K of each row"
        )


def _fitted_keys(folder: SweepFolder, trials: Sequence[Trial]) -> set[str]:
    """The keys of the trials whose parameters were chosen by their answers to all queries."""
    matches = folder.entries("matched").values()
    keys = {trial.key for trial in trials if any(_is_match(trial, entry) for entry in matches)}
    attempts = [attempt for entry in folder.entries("tuned").values() for attempt in entry["tried"]]
    return keys | {attempt["key"] for attempt in attempts}


def _is_match(trial: Trial, entry: Mapping[str, Any]) -> bool:
    """Whether a trial has the value that was found for a range, and the other parameters of the search."""
    is_same_index = all(getattr(trial, name) == entry[name] for name in ("engine", "build", "threads"))
    names = {*trial.search, *entry["search"]}
    different = [name for name in names if trial.search.get(name) != entry["search"].get(name)]
    return is_same_index and [trial.search.get(name) for name in different] == [entry["value"]]
