"""A sweep builds, searches and times every index of a plan, each engine in its own process.

Indexes stay loaded in groups that fit into memory, and repetitions alternate among all trials of a group, so
that a slow minute of the machine affects all of them. Every pass is stored as soon as it ends.
"""

from __future__ import annotations

import shutil

from assay.bench.sweeps.plan import SweepPlan
from assay.bench.sweeps.progress import ProgressCallback
from assay.bench.sweeps.runner import SkipRule, SweepRunner, report_known


class Sweep(SweepPlan):
    """The trials of a plan, which can be run."""

    def run(self, watch: ProgressCallback | None = None, skip_rule: SkipRule | None = None) -> None:
        """Run every pending trial; an index that the skip rule rejects is not measured."""
        with self.folder.lock():
            self._run(watch, skip_rule)

    def _run(self, watch: ProgressCallback | None, skip_rule: SkipRule | None) -> None:
        for trial in self.planned_trials:
            if self.folder.trial_record(trial.key) is None:
                self.folder.delete_trial(trial.key)  # passes without a trial record cannot be used
        waiting = [trial for trial in self.planned_trials if self.pending_repetitions(trial)]
        self._put_metadata(bool(waiting))
        needed_builds = {trial.build_key for trial in waiting}
        for trial in self.planned_trials:
            if trial not in waiting:
                self.update_status(trial)
                report_known(trial, watch)
            if trial.build_key not in needed_builds:
                self.folder.delete_leftover_index(trial.build_key)
        if not waiting:
            return
        scratch = self.folder.path / "vectors"
        try:
            SweepRunner(self, waiting, scratch, watch, skip_rule).run()
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _put_metadata(self, has_waiting: bool) -> None:
        """Store the metadata of the sweep; if nothing is pending, only the paths and the engine versions."""
        stored = self.folder.find_metadata()
        metadata = self.metadata()
        if stored is not None:
            metadata["engines"] = {**stored.get("engines", {}), **metadata["engines"]}
        is_new = stored is None or self.folder.trial_record(self.planned_trials[0].key) is None
        if stored is not None and not has_waiting and not is_new:
            is_same_data = stored["data"]["digests"] == self.data.digests
            sources = self.sources if self.sources and is_same_data else stored["sources"]
            metadata = stored | {"sources": sources, "engines": metadata["engines"]}
        self.folder.put_metadata(metadata)
