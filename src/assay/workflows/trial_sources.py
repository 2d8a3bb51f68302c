"""Where the trials of indexes are: folders of `assay bench`, and experiments of `assay bench --save`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import polars as pl

from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.study import Study, choose_mode
from assay.core.errors import InputError
from assay.core.records import Experiment
from assay.core.suggestions import did_you_mean
from assay.store.store import Store
from assay.store.trials import hits_of_scores, trial_from_experiment
from assay.views.trials import sort_trials
from assay.workflows.store_location import store_url
from assay.workflows.stores import open_existing_store
from assay.workflows.study import open_study

SAVED = "saved:"  # before the name of saved trials, so that no folder has the same name
_CONDITION = "kind = bench"
_MOST_SAVED = 2000  # experiments that are read, the newest


class TrialSource(NamedTuple):
    """Trials that can be shown."""

    name: str  # in addresses
    path: str = ""  # of a folder; empty: saved experiments
    experiments: tuple[Experiment, ...] = ()


class OpenedTrials(NamedTuple):
    """The trials of one source and one request mode, and the modes there are."""

    study: Study
    modes: tuple[str, ...]


def list_sources(benches: Mapping[str, str], store: str | None) -> list[TrialSource]:
    """Return the folders that may be shown, then the saved sweeps, the newest first."""
    folders = [TrialSource(name, path) for name, path in benches.items()]
    with open_existing_store(store) as opened:
        return folders + _saved_sources(opened)


def _saved_sources(store: Store) -> list[TrialSource]:
    """Return the experiments of each sweep; of a trial that was saved twice, the newest."""
    sweeps: dict[str, dict[str, Experiment]] = {}
    for experiment in store.list(_CONDITION, limit=_MOST_SAVED):
        if "trial" in experiment.result:
            trials = sweeps.setdefault(_sweep_name(experiment), {})
            same_data = not trials or _data_of(next(iter(trials.values()))) == _data_of(experiment)
            if same_data:
                trials.setdefault(str(experiment.result["trial"]), experiment)
    return [
        TrialSource(f"{SAVED}{name}", experiments=tuple(trials.values())) for name, trials in sweeps.items()
    ]


def _sweep_name(experiment: Experiment) -> str:
    """Return the name that was given to --save, which stands before the label of the trial."""
    trial = trial_from_experiment(experiment)
    return experiment.name.removesuffix(f"/{trial.label} ({trial.request_text})")


def _data_of(experiment: Experiment) -> str | None:
    return experiment.digests.get("queries")


def find_source(sources: Sequence[TrialSource], name: str) -> TrialSource:
    """Return a source by its name; empty: the first."""
    if not name:
        return sources[0]
    found = next((source for source in sources if source.name == name), None)
    if found is None:
        names = [source.name for source in sources]
        hint = did_you_mean(name, names) or f"there are {', '.join(names)}"
        raise InputError(f"no trials are named {name!r}; {hint}; `assay serve --bench FOLDER` adds a folder")
    return found


def open_source(source: TrialSource, store: str | None, mode: str | None = None) -> OpenedTrials:
    """Open the trials of a source; a folder is read again only if it has changed."""
    if source.path:
        modes = _folder_modes(source.path)
        return OpenedTrials(_open_folder(source.path, _last_change(source.path), mode), modes)
    ids = tuple(experiment.id for experiment in source.experiments)
    return _open_saved(store_url(store), source.name, ids, mode)


@lru_cache(maxsize=4)
def _open_folder(path: str, changed: int, mode: str | None) -> Study:
    return open_study(path, mode=mode)


def _last_change(path: str) -> int:
    """Return when a folder of trials was last written, in nanoseconds."""
    folder = Path(path)
    files = [folder, folder / "sweep.json", *folder.glob("trials/*")]
    return max((file.stat().st_mtime_ns for file in files if file.exists()), default=0)


def _folder_modes(path: str) -> tuple[str, ...]:
    table = Path(path) / "trials.parquet"
    if not table.exists():
        return ()
    return tuple(pl.read_parquet(table, columns=["mode"])["mode"].unique(maintain_order=True))


@lru_cache(maxsize=4)
def _open_saved(url: str, name: str, ids: tuple[str, ...], mode: str | None) -> OpenedTrials:
    """Open saved trials; experiments never change, so they are read once."""
    with open_existing_store(url) as store:
        scored = _read_scored(store, [store.get(experiment) for experiment in ids])
    trials = sort_trials([each.trial for each in scored.values()])
    modes = tuple(dict.fromkeys(trial.mode for trial in trials))
    chosen = choose_mode(trials, mode)
    shown = tuple(scored[trial.key] for trial in trials if trial.mode == chosen)
    return OpenedTrials(Study(shown, {}, None, name.removeprefix(SAVED)), modes)


def _read_scored(store: Store, experiments: Sequence[Experiment]) -> dict[str, ScoredTrial]:
    scored = {}
    for experiment in experiments:
        trial = trial_from_experiment(experiment)
        scores = store.scores(experiment) if _has_scores(store, experiment) else None
        scored[trial.key] = ScoredTrial(trial, None if scores is None else hits_of_scores(scores, trial.k))
    return scored


def _has_scores(store: Store, experiment: Experiment) -> bool:
    digest = experiment.digests.get("scores")
    return digest is not None and store.tables.has(digest)
