"""Score the stored trials of a sweep, and import results of other tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.bench import imported
from assay.bench.studies.scoring import read_trials
from assay.bench.trials import Trial, to_row, with_delta
from assay.views.trials import sort_trials, trials_dict
from assay.workflows.bench import DEFAULT_FOLDER
from assay.workflows.sweep_data import make_hit_rule, open_hit_rule, open_sweep_data


@dataclass(frozen=True, kw_only=True)
class ShowTrialsRequest:
    """The folder of a sweep, and how its hits are scored."""

    folder: str = DEFAULT_FOLDER
    k: int | None = None  # None: that of the last sweep
    ties: str | None = None
    delta: float | None = None  # of the robustness that is shown; None: DEFAULT_DELTA


@dataclass(frozen=True, kw_only=True)
class ImportResultsRequest:
    """Files of results, and the folder of a sweep of the same data."""

    files: Sequence[str]
    out: str = DEFAULT_FOLDER
    kind: str | None = None  # None: detected by content


@dataclass(frozen=True)
class TrialsResult:
    """Scored trials with the metadata of their sweep."""

    trials: tuple[Trial, ...]
    metadata: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The trials as plain data, with the keys that `assay bench show --format json` prints."""
        return trials_dict(self.trials, self.metadata)


def show_trials(request: ShowTrialsRequest) -> TrialsResult:
    """Score the stored answers of a sweep."""
    folder, hit_rule = open_hit_rule(request.folder, k=request.k, policy=request.ties)
    trials = read_trials(folder, hit_rule, with_delta(request.delta))
    return TrialsResult(tuple(sort_trials(trials)), folder.metadata())


def import_results(request: ImportResultsRequest) -> TrialsResult:
    """Import results of other tools into the folder of a sweep, and score those that have neighbours."""
    folder, data = open_sweep_data(request.out)
    keys = imported.import_results(request.files, folder, kind=request.kind, truth=data.truth)
    metadata = folder.metadata()
    trials = read_trials(folder, make_hit_rule(data, metadata["options"]["policy"]))
    folder.put_table([to_row(trial) for trial in trials])
    return TrialsResult(tuple(sort_trials([trial for trial in trials if trial.key in keys])), metadata)
