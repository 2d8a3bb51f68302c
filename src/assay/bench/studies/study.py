"""Studies: scored trials of the same data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.trials import Trial
from assay.core.errors import InputError
from assay.indexes.vector_data import VectorData


@dataclass(frozen=True)
class Study:
    """Scored trials of the same data."""

    scored_trials: tuple[ScoredTrial, ...]
    metadata: Mapping[str, Any]  # of the sweep: data, machine, options; empty if unknown
    data: VectorData | None  # None: only figures are known
    source: str  # the folder or file of the trials

    @property
    def k(self) -> int:
        """The K of all trials."""
        ks = {scored_trial.trial.k for scored_trial in self.scored_trials}
        if len(ks) > 1:
            values = " and ".join(map(str, sorted(ks)))
            raise InputError(f"{self.source}: the trials are scored at K = {values}: choose one with -k")
        return ks.pop()

    def has_earlier_source(self, trial: Trial) -> bool:
        """Return whether the source of an engine of one's own has changed since the trial was measured."""
        facts = self.metadata.get("engines", {}).get(trial.engine, {})
        version = str(facts.get("version", trial.version))
        return version != trial.version and "source " in version


def choose_mode(trials: Sequence[Trial], mode: str | None) -> str:
    """Return the request mode to study: the requested one, else `single` if there is any.

    >>> choose_mode([Trial("a", "flat", mode="batch")], None)
    'batch'
    """
    modes = list(dict.fromkeys(trial.mode for trial in trials))
    if mode is not None and mode not in modes:
        raise InputError(f"no trial has the request mode {mode}; there are trials of {', '.join(modes)}")
    return mode or ("single" if "single" in modes else modes[0])
