"""The planned trials of a sweep, with their keys and their status in the folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from assay.bench.sweeps.cases import IndexBuild, RequestMode, TrialCase
from assay.bench.sweeps.engine_descriptions import (
    EngineDescriptions,
    describe_engines,
    engine_facts,
    refuse_metrics,
)
from assay.bench.sweeps.folder import SweepFolder
from assay.bench.sweeps.identity import content_key, describe_machine, file_digests
from assay.bench.sweeps.options import SweepOptions
from assay.bench.sweeps.range_search import RangeMatch
from assay.indexes.hits import HitRule
from assay.indexes.vector_data import VectorData


class PlannedTrial(NamedTuple):
    """A trial with its key and the key of its index."""

    key: str
    build_key: str
    case: TrialCase


class SweepPlan:
    """The trials of a sweep, finished and pending."""

    def __init__(
        self,
        data: VectorData,
        cases: Sequence[TrialCase],
        folder: str | os.PathLike[str],
        options: SweepOptions | None = None,
        sources: Mapping[str, Any] | None = None,  # the files the data came from
        engines: EngineDescriptions | None = None,  # None: ask the engines now
    ) -> None:
        self.data, self.options, self.folder = data, options or SweepOptions(), SweepFolder(folder)
        self.sources = dict(sources or {})
        self.engines = describe_engines(cases) if engines is None else engines
        refuse_metrics(self.engines, data.metric)
        self.machine = describe_machine()
        self.cases = list(cases)
        self.planned_trials = self.plan()

    @cached_property
    def hit_rule(self) -> HitRule:
        """The rule that decides which answers are hits, built once for all trials."""
        data = self.data
        return HitRule(data.truth, data.k, data.base, data.queries, data.metric, self.options.policy)

    def plan(self) -> list[PlannedTrial]:
        """Return every distinct trial, with the value found in place of each range."""
        trials_by_key: dict[str, PlannedTrial] = {}
        for case in self.cases:
            match = self.find_match(case)
            trial = self._plan_trial(case if match is None else case.with_value(match.value, match.note))
            if trial.key in trials_by_key:
                trial = _join_notes(trial, trials_by_key[trial.key])
            trials_by_key[trial.key] = trial
        return list(trials_by_key.values())

    def _plan_trial(self, case: TrialCase) -> PlannedTrial:
        """Return a trial with its key, which covers data, engine, version, parameters, files and machine."""
        version = self.engines[case.build.engine, case.build.python].version
        settings = {**self.data.identity(), "version": version, "machine": self.machine}
        inputs = self.build_inputs(case.build)
        settings |= {name: value for name, value in inputs.items() if value}
        trial, index = (_without_file_names(part.identity(), inputs["files"]) for part in (case, case.build))
        return PlannedTrial(content_key(settings | trial), content_key(settings | index), case)

    def build_inputs(self, build: IndexBuild) -> dict[str, Any]:
        """Return the inputs of a build besides its parameters: the interpreter and file contents."""
        files = self.engines[build.engine, build.python].file_parameters
        return {"python": build.python, "files": file_digests(build.parameters, files)}

    def find_match(self, case: TrialCase) -> RangeMatch | None:
        """Return the stored value for a trial with a range; None if it has not been found yet."""
        if not case.range_parameter:
            return None
        entry = self.folder.entry("matched", content_key(self._match_identity(case)))
        return None if entry is None else RangeMatch.from_dict(entry)

    def put_match(self, case: TrialCase, match: RangeMatch) -> None:
        """Store the value that was found for a trial with a range."""
        identity = self._match_identity(case)
        self.folder.put_entry("matched", content_key(identity), identity | match.to_dict())

    def _match_identity(self, case: TrialCase) -> dict[str, Any]:
        """Return what identifies the search for a value, which does not depend on the request mode."""
        build_key = self._plan_trial(case).build_key
        settings = {"index": build_key, "k": self.data.k, "policy": self.options.policy}
        return settings | replace(case, request_mode=RequestMode("batch")).identity()

    def pending_repetitions(self, trial: PlannedTrial) -> list[int]:
        """Return the numbers of the repetitions of a trial that have not been run."""
        record = self.folder.trial_record(trial.key)
        if record and record.get("status") == "failed" and not self.options.retry:
            return []
        finished_numbers = self.folder.pass_numbers(trial.key)
        return [number for number in self.options.repetition_numbers if number not in finished_numbers]

    def update_status(self, trial: PlannedTrial) -> None:
        """Mark a trial as done if all its passes are stored, which an interruption may have prevented."""
        record = self.folder.trial_record(trial.key)
        if record is None:
            return
        new_record = record | ({"note": trial.case.note} if trial.case.note else {})
        if len(self.folder.pass_numbers(trial.key)) >= self.options.repetitions:
            new_record |= {"status": "done", "reason": ""}
        if new_record != record:
            self.folder.put_trial(trial.key, new_record)

    def version_changes(self) -> list[str]:
        """Return why trials of other versions of an engine are measured again, one line for each version."""
        records = [self.folder.trial_record(key) or {} for key in self.folder.trial_keys()]
        counts: Counter[tuple[str, str, str]] = Counter()
        for trial in self.planned_trials:
            build = trial.case.build
            version = self.engines[build.engine, build.python].version
            versions = [str(record.get("version", "")) for record in records if _is_same_case(record, trial)]
            if version and versions and version not in versions:
                counts[build.engine, versions[-1] or "an unknown version", version] += 1
        return [
            f"{engine} changed from {earlier} to {version}: "
            f"{count:,} trial{'s are' if count > 1 else ' is'} measured again"
            for (engine, earlier, version), count in counts.items()
        ]

    def metadata(self) -> dict[str, Any]:
        """Return the data, machine, options and engine versions of the sweep."""
        names = ("repetitions", "warmup", "seed", "policy")
        options = {name: getattr(self.options, name) for name in names}
        data = self.data.summary()
        engines = {name: engine_facts(engine) for (name, _), engine in self.engines.items()}
        facts = {"data": data, "sources": self.sources, "machine": self.machine, "options": options}
        return facts | {"engines": engines}


def _without_file_names(identity: dict[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """Return an identity without file names, since the content of files counts."""
    return identity | {
        "build": {name: value for name, value in identity["build"].items() if name not in files}
    }


def _is_same_case(record: Mapping[str, Any], trial: PlannedTrial) -> bool:
    """Return whether a record is of the same configuration and request mode."""
    return all(record.get(name) == value for name, value in trial.case.identity().items())


def _join_notes(trial: PlannedTrial, other: PlannedTrial) -> PlannedTrial:
    """Return a trial with the notes of several targets."""
    notes = dict.fromkeys(filter(None, (other.case.note, trial.case.note)))
    return trial._replace(case=replace(trial.case, note="; ".join(notes)))
