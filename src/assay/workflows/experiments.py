"""List, show, follow, compare, watch and change the experiments of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

from assay.core.errors import InputError
from assay.core.records import Experiment
from assay.evaluation.experiment_fields import (
    ExperimentField,
    default_columns,
    default_measures,
    sort_experiments,
)
from assay.evaluation.trends import Trend, WatchStatus, watch_trend
from assay.measures import parse
from assay.rollout.machine import Rollout
from assay.store.datasets import DatasetVersions
from assay.store.experiment_order import sort_order
from assay.store.rollouts import Rollouts
from assay.views.experiments import differences_dict
from assay.views.trends import trend_dict
from assay.workflows.online_links import OnlineLink, find_online_links, link_rollout
from assay.workflows.stores import open_existing_store
from assay.workflows.trends import read_trend

DEFAULT_LIMIT = 20


@dataclass(frozen=True, kw_only=True)
class ListExperimentsRequest:
    """Which experiments to list."""

    where: str = ""
    names: Sequence[str] = ()
    measures: Sequence[str] = ()
    columns: Sequence[str] = ()  # fields to show beside the measures, such as latency.p95_ms
    sort: str = ""  # a field; empty: the newest first
    reverse: bool = False  # the worst value of `sort` first
    limit: int = DEFAULT_LIMIT
    offset: int = 0
    deleted: bool = False
    store: str | None = None


@dataclass(frozen=True)
class ExperimentList:
    """Experiments in order: the newest first, or by a field."""

    experiments: tuple[Experiment, ...]
    fields: tuple[ExperimentField, ...]  # to show
    has_more: bool

    def to_dict(self) -> dict[str, Any]:
        """The list as plain data, with the keys that `assay experiments list --format json` prints."""
        return {"experiments": [experiment.to_dict() for experiment in self.experiments]}


def list_experiments(request: ListExperimentsRequest) -> ExperimentList:
    """The experiments that a filter admits: the newest, or the best by a field."""
    sort = ExperimentField.parse(request.sort) if request.sort else None
    measures = [ExperimentField("metrics", str(parse(text))) for text in request.measures]
    chosen = [ExperimentField.parse(column) for column in request.columns]
    sorted_by = [sort] if sort else []
    read_measures = {field.key for field in (*measures, *chosen, *sorted_by) if field.space == "metrics"}
    with open_existing_store(request.store) as store:
        experiments = store.list(
            request.where,
            names=request.names,
            deleted=request.deleted,
            limit=request.limit + 1,
            offset=request.offset,
            order=sort_order(sort, request.reverse),
            metrics_of=read_measures if measures else None,
        )
    if sort:  # refuses a field that none of them has
        experiments = sort_experiments(experiments, sort, request.reverse)
    shown, has_more = tuple(experiments[: request.limit]), len(experiments) > request.limit
    columns = [*(chosen or default_columns(shown)), *sorted_by]
    fields = [*(measures or default_measures(shown)), *columns]
    return ExperimentList(shown, tuple(dict.fromkeys(fields)), has_more)


@dataclass(frozen=True, kw_only=True)
class ShowExperimentsRequest:
    """The experiments to show, by name or id."""

    names: Sequence[str]
    store: str | None = None


@dataclass(frozen=True)
class ShownExperiments:
    """One experiment in full, or several by their differences."""

    experiments: tuple[Experiment, ...]
    datasets: Mapping[str, str] = field(default_factory=dict)  # the version of the evaluation set by id
    online: Sequence[OnlineLink] = ()  # the A/B tests and the interleaving of a single experiment
    rollouts: Sequence[Rollout] = ()  # those of a single experiment

    def to_dict(self) -> dict[str, Any]:
        """The experiments as plain data, with the keys that `assay experiments show --format json` prints."""
        if len(self.experiments) == 1:
            (experiment,) = self.experiments
            links = {
                "dataset": self.datasets.get(experiment.id),
                "online": [link.to_dict() for link in self.online],
                "rollouts": [link_rollout(rollout, experiment.id) for rollout in self.rollouts],
            }
            return {**experiment.to_dict(), **links}
        return differences_dict(self.experiments)


def show_experiments(request: ShowExperimentsRequest) -> ShownExperiments:
    """The experiments of these names or ids."""
    with open_existing_store(request.store) as store:
        experiments = tuple(store.get(name) for name in request.names)
        labels = DatasetVersions(store).labels_by_qrels()
        single = experiments[0].id if len(experiments) == 1 else ""
        online = find_online_links(store, single) if single else ()
        rollouts = Rollouts(store.database).of_experiment(single) if single else ()
    versions = {e.id: labels[digest] for e in experiments if (digest := e.digests.get("qrels")) in labels}
    return ShownExperiments(experiments, versions, online, rollouts)


@dataclass(frozen=True, kw_only=True)
class TrendRequest:
    """The measure and the experiments to follow over time."""

    measure: str = "nDCG@10"
    name: str | None = None
    where: str = ""
    by: str = ""  # COLUMN=VALUE
    limit: int | None = None
    store: str | None = None

    @property
    def slice(self) -> tuple[str, str]:
        """The column and the value of the slice; both are empty for all queries."""
        column, equals, value = self.by.partition("=")
        if self.by and not (column and equals and value):
            raise InputError(f"--by expects a slice such as category=faq, found {self.by!r}")
        return column, value


@dataclass(frozen=True, kw_only=True)
class WatchRequest(TrendRequest):
    """A trend whose newest experiment is compared with those before it."""

    against: str = "level"
    margin: float = 0.0


@dataclass(frozen=True)
class TrendResult:
    """A measure over time, and whether its newest value is a regression if that was asked for."""

    trend: Trend
    status: WatchStatus | None = None

    @property
    def exit_code(self) -> int:
        """That of the status: 0 fine, 1 regression, 3 cannot tell."""
        return 0 if self.status is None else self.status.exit_code

    def to_dict(self) -> dict[str, Any]:
        """The trend as plain data, with the keys that `assay experiments trend --format json` prints."""
        return trend_dict(self.trend, self.status)


def follow_trend(request: TrendRequest) -> TrendResult:
    """One measure over time, with breaks and changes."""
    return TrendResult(_read_trend(request))


def watch_experiments(request: WatchRequest) -> TrendResult:
    """A trend with its status: whether the newest experiment is a regression beyond noise."""
    trend = _read_trend(request)
    names = dict.fromkeys(point.name for point in trend.points)
    if len(names) > 1 and not request.name and not request.where:
        raise InputError(f"expected one system to watch, found {', '.join(names)}: say which with --name")
    return TrendResult(trend, watch_trend(trend, request.against, request.margin))


def _read_trend(request: TrendRequest) -> Trend:
    column, value = request.slice
    with open_existing_store(request.store) as store:
        return read_trend(
            store,
            request.measure,
            column=column,
            value=value,
            name=request.name,
            where=request.where,
            limit=request.limit,
        )


@dataclass(frozen=True, kw_only=True)
class ExperimentRequest:
    """An experiment to change, by name (the newest of it) or id."""

    experiment: str
    store: str | None = None


@dataclass(frozen=True, kw_only=True)
class NoteRequest(ExperimentRequest):
    """The note that replaces the one of an experiment."""

    text: str


@dataclass(frozen=True, kw_only=True)
class TagRequest(ExperimentRequest):
    """Tags to add to an experiment, or to remove."""

    tags: Sequence[str]
    remove: bool = False


@dataclass(frozen=True, kw_only=True)
class PinRequest(ExperimentRequest):
    """Whether an experiment is kept from being deleted."""

    pinned: bool = True


@dataclass(frozen=True, kw_only=True)
class DeleteRequest(ExperimentRequest):
    """An experiment to delete, or a deleted one to restore."""

    restore: bool = False


@dataclass(frozen=True)
class ExperimentChange:
    """An experiment that was changed."""

    change: str  # noted, tagged, untagged, pinned, unpinned, deleted, restored
    name: str
    id: str

    def to_dict(self) -> dict[str, Any]:
        """The change as plain data."""
        return asdict(self)


def note_experiment(request: NoteRequest) -> ExperimentChange:
    """Replace the note of an experiment."""
    with open_existing_store(request.store) as store:
        return _describe_change("noted", store.annotate(request.experiment, note=request.text))


def tag_experiment(request: TagRequest) -> ExperimentChange:
    """Add tags to an experiment, or remove them."""
    with open_existing_store(request.store) as store:
        if request.remove:
            return _describe_change("untagged", store.annotate(request.experiment, drop_tags=request.tags))
        return _describe_change("tagged", store.annotate(request.experiment, add_tags=request.tags))


def pin_experiment(request: PinRequest) -> ExperimentChange:
    """Keep an experiment from being deleted, or allow it again."""
    with open_existing_store(request.store) as store:
        experiment = store.annotate(request.experiment, pinned=request.pinned)
    return _describe_change("pinned" if request.pinned else "unpinned", experiment)


def delete_experiment(request: DeleteRequest) -> ExperimentChange:
    """Mark an experiment as deleted, or restore it."""
    with open_existing_store(request.store) as store:
        experiment = store.drop(request.experiment, restore=request.restore)
    return _describe_change("restored" if request.restore else "deleted", experiment)


def _describe_change(change: str, experiment: Experiment) -> ExperimentChange:
    return ExperimentChange(change, experiment.name, experiment.id)


@dataclass(frozen=True, kw_only=True)
class GarbageRequest:
    """Which tables to remove, and whether to remove them or only to count them."""

    yes: bool = False
    purge: bool = False
    older: float = 1.0  # hours
    store: str | None = None


@dataclass(frozen=True)
class GarbageResult:
    """Tables that no experiment refers to, and deleted experiments."""

    is_removed: bool  # False: a dry run
    purged: int | None  # deleted experiments; None if they stay
    tables: int
    size: int  # bytes

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        return asdict(self)


def collect_garbage(request: GarbageRequest) -> GarbageResult:
    """Remove the tables that no experiment refers to; without `yes`, only count them."""
    age = timedelta(hours=request.older)
    with open_existing_store(request.store) as store:
        purged = None
        if request.purge:
            purged = store.purge() if request.yes else len(store.list(deleted=True))
        tables = store.clean(age) if request.yes else store.unused_tables(age)
    return GarbageResult(request.yes, purged, len(tables), sum(table.size for table in tables))
