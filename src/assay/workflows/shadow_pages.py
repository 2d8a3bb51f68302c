"""What the page of a saved shadow report shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.core.errors import InputError
from assay.core.online_records import BASELINE, CANDIDATE, OnlineRecord
from assay.core.records import Experiment
from assay.store.rollouts import Rollouts
from assay.workflows.rollout_evidence import find_experiment
from assay.workflows.shadow import read_saved_report
from assay.workflows.stores import open_existing_store


@dataclass(frozen=True)
class StoredShadowReport:
    """A saved report, the experiments that it is linked to, and whether a rollout has its name."""

    record: OnlineRecord
    experiments: Mapping[str, Experiment]  # by role
    has_rollout: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data, as `assay shadow report --format json` printed it."""
        return self.record.to_dict()


def read_shadow_page(report: str, store: str | None) -> StoredShadowReport:
    """Return a saved shadow report by its id or name."""
    record = read_saved_report(report, store)
    with open_existing_store(store) as opened:
        found = {role: find_experiment(opened, record.links.get(role, "")) for role in (BASELINE, CANDIDATE)}
        experiments = {role: experiment for role, experiment in found.items() if experiment}
        try:
            Rollouts(opened.database).get(record.name)
            has_rollout = True
        except InputError:
            has_rollout = False
        return StoredShadowReport(record, experiments, has_rollout)
