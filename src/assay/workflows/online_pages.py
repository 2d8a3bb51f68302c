"""What the dashboard shows of online evidence: tests, interleaving, metrics over time and one record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.core.errors import InputError
from assay.core.online_records import AB_TEST, BASELINE, CANDIDATE, DATASET, INTERLEAVING, OnlineRecord
from assay.core.records import Experiment
from assay.online.prediction_report import PredictionReport
from assay.store.datasets import DatasetVersions
from assay.store.online_records import has_id_or_name, newest_of_name
from assay.store.store import Store
from assay.workflows.predict import PredictRequest, predict_online
from assay.workflows.stores import open_existing_store

_MOST_LOOKS = 100
_SUMMARY = (
    *("status", "reasons", "srm", "metrics", "control", "variants"),
    *("inference", "level", "days_left", "progress", "verdicts"),
)
_NOUNS = {AB_TEST: "A/B test", INTERLEAVING: "interleaving"}


@dataclass(frozen=True, kw_only=True)
class OnlineRequest:
    """The store whose online evidence is shown."""

    store: str | None = None


@dataclass(frozen=True, kw_only=True)
class OnlineRecordRequest:
    """One record of online evidence, by its id or its name."""

    kind: str
    name: str
    store: str | None = None


@dataclass(frozen=True)
class OnlineOverview:
    """All online evidence of a store; of each name the newest record."""

    tests: Sequence[OnlineRecord] = ()
    interleavings: Sequence[OnlineRecord] = ()
    metrics: Sequence[OnlineRecord] = ()  # all of them, the oldest first
    prediction: PredictionReport | None = None  # None: no A/B test has offline experiments

    @property
    def is_empty(self) -> bool:
        """Whether the store has no online evidence at all."""
        return not (self.tests or self.interleavings or self.metrics)

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as plain data."""
        return {
            "tests": [record_dict(record, _SUMMARY) for record in self.tests],
            "interleavings": [record_dict(record) for record in self.interleavings],
            "metrics": [record_dict(record) for record in self.metrics],
            "prediction": None if self.prediction is None else self.prediction.to_dict(),
        }


def record_dict(record: OnlineRecord, keys: Sequence[str] = ()) -> dict[str, Any]:
    """Return a record as plain data: its result, or these keys of it, and what it belongs to."""
    return {
        "id": record.id,
        "name": record.name,
        "at": record.at.isoformat(),
        "links": dict(record.links),
        **{key: value for key, value in record.body.items() if key in keys or not keys},
    }


@dataclass(frozen=True)
class StoredOnlineRecord:
    """One record with the offline evidence that it belongs to, and earlier records of its name."""

    record: OnlineRecord
    experiments: Mapping[str, Experiment] = field(default_factory=dict)  # by role
    dataset: str | None = None  # the label of the version
    earlier: Sequence[OnlineRecord] = ()  # looks, the oldest first, the record itself last; if it has no days

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain data."""
        experiments = {role: {"id": e.id, "name": e.name} for role, e in self.experiments.items()}
        looks = [{"id": r.id, "at": r.at.isoformat()} for r in self.earlier]
        offline = {"experiments": experiments, "dataset": self.dataset}
        return {**record_dict(self.record), "offline": offline, "looks": looks}


def summarize_online(request: OnlineRequest) -> OnlineOverview:
    """Return all online evidence of a store."""
    with open_existing_store(request.store) as store:
        tests = _newest(store.ab_tests(newest_of_name(AB_TEST)))
        interleavings = _newest(store.interleavings(newest_of_name(INTERLEAVING)))
        overview = OnlineOverview(tests, interleavings, store.online_metrics()[::-1])
    if not any(CANDIDATE in record.links for record in tests):
        return overview
    report = predict_online(PredictRequest(store=request.store))
    return OnlineOverview(overview.tests, overview.interleavings, overview.metrics, report)


def _newest(records: Sequence[OnlineRecord]) -> list[OnlineRecord]:
    newest: dict[str, OnlineRecord] = {}
    for record in records:
        newest.setdefault(record.name, record)
    return list(newest.values())


def show_online_record(request: OnlineRecordRequest) -> StoredOnlineRecord:
    """Return one record; InputError if there is none of this id or name."""
    with open_existing_store(request.store) as store:
        read = store.ab_tests if request.kind == AB_TEST else store.interleavings
        matching = read(has_id_or_name(request.name))
        if not matching:
            raise InputError(f"there is no {_NOUNS[request.kind]} {request.name!r} in {store.url}")
        record = next((r for r in matching if r.id == request.name), matching[0])
        earlier = (
            [record] if record.body.get("over_time") else _looks(read(has_id_or_name(record.name)), record)
        )
        return StoredOnlineRecord(record, _experiments(store, record), _dataset(store, record), earlier)


def _looks(records: Sequence[OnlineRecord], record: OnlineRecord) -> list[OnlineRecord]:
    """Return the newest records of the name until this one, the oldest first."""
    return [r for r in records if r.name == record.name and r.at <= record.at][:_MOST_LOOKS][::-1]


def _experiments(store: Store, record: OnlineRecord) -> dict[str, Experiment]:
    """Return the linked experiments by role; those that were purged are left out."""
    found = {}
    for role in (BASELINE, CANDIDATE):
        if role in record.links:
            try:
                found[role] = store.get(record.links[role])
            except InputError:
                continue
    return found


def _dataset(store: Store, record: OnlineRecord) -> str | None:
    digest = record.links.get(DATASET)
    versions = DatasetVersions(store).find() if digest else []
    return next((version.label for version in versions if version.digest == digest), digest)
