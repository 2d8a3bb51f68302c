"""One evaluation set: its versions, their differences, who used them, their faults and their pools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl

from assay.core.errors import InputError
from assay.core.judgments import Judgments
from assay.core.recent_values import RecentValues
from assay.core.records import DatasetVersion, Experiment
from assay.core.tables import Qrels, Queries
from assay.judging.annotation.progress import ProjectOverview
from assay.judging.annotation.project import AnnotationProject
from assay.judging.dataset_diff import TableDiff, diff_datasets
from assay.stats import Estimate
from assay.stats.intervals import estimate_mean
from assay.store.annotation import AnnotationProjects
from assay.store.annotation_decisions import read_pair_ids
from assay.store.annotation_labels import read_overview
from assay.store.datasets import TABLES, DatasetTable, DatasetVersions
from assay.store.experiment_order import count_uses
from assay.store.store import Store
from assay.workflows.dataset_check import CheckDatasetRequest, DatasetCheck, check_dataset
from assay.workflows.dataset_versions import PREFIX, DatasetDifference
from assay.workflows.evaluation_sets import EvaluationSetFiles
from assay.workflows.stored_runs import has_rankings, read_rankings
from assay.workflows.stores import open_existing_store

TABS = ("diff", "coverage", "checks", "pools")
JUDGED_DEPTH = 10
_MOST_EXPERIMENTS = 50  # whose judged shares are computed
_MOST_ROWS = 50  # of each kind in a difference

_KEPT = 8  # checks of versions, which never change


@dataclass(frozen=True, kw_only=True)
class DatasetHistoryRequest:
    """An evaluation set, the version to look at, and what to show of it."""

    name: str
    version: str = ""  # the beginning of a digest; empty: the newest
    against: str = ""  # the version to compare with; empty: the parent
    tab: str = "diff"
    store: str | None = None

    def __post_init__(self) -> None:
        if self.tab not in TABS:
            raise InputError(f"expected one of {', '.join(TABS)} as the tab, found {self.tab!r}")


@dataclass(frozen=True)
class ExperimentCoverage:
    """Which version an experiment was scored by, and how much of its top a version has judged."""

    experiment: Experiment
    version: str | None  # the label; None: other judgments
    judged: Estimate | None  # the mean share over queries; None: the rankings were not kept

    def to_dict(self) -> dict[str, Any]:
        """Return the coverage as plain data."""
        names = {"experiment": self.experiment.id, "name": self.experiment.name}
        at = self.experiment.at.isoformat()
        judged = None if self.judged is None else self.judged.to_dict()
        return {**names, "at": at, "version": self.version, f"judged@{JUDGED_DEPTH}": judged}


@dataclass(frozen=True)
class DatasetPool:
    """An annotation project with pairs of the queries of a version."""

    progress: ProjectOverview
    pairs: int  # of queries of the version
    labelled: int  # pairs that the version has labels of

    def to_dict(self) -> dict[str, Any]:
        """Return the pool as plain data."""
        return {"pairs_of_queries": self.pairs, "labelled": self.labelled, **self.progress.to_dict()}


@dataclass(frozen=True)
class VersionDifference:
    """What differs between two versions, with the grades and the query texts of its rows."""

    difference: DatasetDifference
    grades: Mapping[tuple[str, ...], float | None]  # of added and dropped rows, by their key
    texts: Mapping[str, str]  # of queries

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain data, as `assay dataset diff --format json` prints it."""
        return self.difference.to_dict()


@dataclass(frozen=True)
class DatasetHistory:
    """The versions of an evaluation set, and one view of one of them."""

    versions: Sequence[DatasetVersion]  # the newest first
    version: DatasetVersion
    tab: str
    diff: VersionDifference | None = None  # None: nothing to compare with
    coverage: Sequence[ExperimentCoverage] = ()
    check: DatasetCheck | None = None
    pools: Sequence[DatasetPool] = ()
    uses: Mapping[str, int] | None = None  # experiments by the digest of a version

    def to_dict(self) -> dict[str, Any]:
        """Return the history as plain data."""
        views: dict[str, Any] = {
            "diff": None if self.diff is None else self.diff.to_dict(),
            "coverage": [row.to_dict() for row in self.coverage],
            "checks": None if self.check is None else self.check.to_dict(),
            "pools": [pool.to_dict() for pool in self.pools],
        }
        return {
            "versions": [version.to_dict() for version in self.versions],
            "version": self.version.label,
            "experiments": dict(self.uses or {}),
            "tab": self.tab,
            self.tab: views[self.tab],
        }


_checks = RecentValues[DatasetCheck](_KEPT)
_shares = RecentValues[Estimate | None](500)  # by the digests of the labels and the rankings
_pool_counts = RecentValues[tuple[int, int]](200)
_differences = RecentValues[VersionDifference](2)  # with all rows that differ, so only a few


def show_dataset(request: DatasetHistoryRequest) -> DatasetHistory:
    """Return the versions of an evaluation set and one view of one of them."""
    with open_existing_store(request.store) as store:
        known = DatasetVersions(store)
        reference = f"{request.name}@{request.version}" if request.version else request.name
        version = known.get(reference)
        versions = known.find(version.name)
        uses = _count_uses(store, versions)
        if request.tab == "coverage":
            rows = _measure_coverage(store, versions, version)
            return DatasetHistory(versions, version, request.tab, coverage=rows, uses=uses)
        if request.tab == "pools":
            return DatasetHistory(versions, version, request.tab, pools=_pools(store, version), uses=uses)
    if request.tab == "checks":
        key = (version.digest, version.parent)
        check = _checks.get(key, lambda: _check(version, request.store))
        return DatasetHistory(versions, version, request.tab, check=check, uses=uses)
    return DatasetHistory(versions, version, request.tab, diff=_diff(version, request), uses=uses)


def _check(version: DatasetVersion, store: str | None) -> DatasetCheck:
    files = EvaluationSetFiles(source=f"{PREFIX}{version.label}", store=store)
    return check_dataset(CheckDatasetRequest(files=files))


def _diff(version: DatasetVersion, request: DatasetHistoryRequest) -> VersionDifference | None:
    reference = request.against or version.parent
    if reference is None:
        return None
    with open_existing_store(request.store) as store:
        other = DatasetVersions(store).get(f"{version.name}@{reference}")
    key = (other.name, other.digest, version.name, version.digest)
    return _differences.get(key, lambda: _compare(other, version, request.store))


def _compare(other: DatasetVersion, version: DatasetVersion, store: str | None) -> VersionDifference:
    """Return the difference of two versions; of a table that both have, only the number of rows is read."""
    with open_existing_store(store) as opened:
        versions = DatasetVersions(opened)
        same = {role for role, digest in other.digests.items() if version.digests.get(role) == digest}
        before, after = (versions.unchecked_tables(one, without=same) for one in (other, version))
        unchanged = {role: TableDiff([], [], [], versions.count_rows(version, role)) for role in same}
        texts = _texts_of(versions.table(other, "queries")) | _texts_of(versions.table(version, "queries"))
    found = {**unchanged, **diff_datasets(before, after)}
    diff = {role: found[role] for role in TABLES if role in found}
    shown = {
        key for table in diff.values() for key in (*table.added[:_MOST_ROWS], *table.dropped[:_MOST_ROWS])
    }
    grades = _grades_of(before, shown) | _grades_of(after, shown)
    return VersionDifference(DatasetDifference(other.label, version.label, diff, _MOST_ROWS), grades, texts)


def _grades_of(
    tables: Mapping[str, DatasetTable], keys: set[tuple[str, ...]]
) -> dict[tuple[str, ...], float | None]:
    """Return the grades of labels and judgments by their key."""
    grades: dict[tuple[str, ...], float | None] = {}
    for role, width in (("qrels", 2), ("judgments", 3)):
        table = tables.get(role)
        wanted = [key for key in keys if len(key) == width]
        if isinstance(table, Qrels | Judgments) and wanted:
            names = ["query_id", "doc_id", "judge"][:width]
            shown = pl.DataFrame(wanted, schema=dict.fromkeys(names, pl.String), orient="row")
            rows = table.frame.select(*names, "grade").join(shown, on=names, how="semi").rows()
            grades |= {row[:width]: row[width] for row in rows}
    return grades


def _texts_of(queries: DatasetTable | None) -> dict[str, str]:
    if not isinstance(queries, Queries) or "text" not in queries.columns:
        return {}
    pairs = zip(queries.ids, queries.columns["text"], strict=True)
    return {query: str(text) for query, text in pairs if text}


def _count_uses(store: Store, versions: Sequence[DatasetVersion]) -> dict[str, int]:
    """Return how many experiments were scored by the labels of each version, by its digest."""
    digests = {version.digest: version.digests.get("qrels", "") for version in versions}
    used = count_uses(store, "qrels", list(dict.fromkeys(filter(None, digests.values()))))
    return {version: used.get(digest, 0) for version, digest in digests.items()}


def _measure_coverage(
    store: Store, versions: Sequence[DatasetVersion], version: DatasetVersion
) -> list[ExperimentCoverage]:
    """Return the experiments that used a version, or whose kept rankings have queries of this one."""
    labels = {v.digests["qrels"]: v.label for v in reversed(versions) if "qrels" in v.digests}
    shares = _judged_shares(store, version)
    rows = []
    for experiment in store.list(limit=_MOST_EXPERIMENTS, metrics_of=()):
        used = labels.get(experiment.digests.get("qrels", ""))
        share = shares(experiment)
        if used is not None or (share is not None and share.n):
            rows.append(ExperimentCoverage(experiment, used, share))
    return rows


def _judged_shares(store: Store, version: DatasetVersion) -> Callable[[Experiment], Estimate | None]:
    """Return the share of the top of an experiment that a version has judged, computed once for both."""
    judged = cache(lambda: _judged_pairs(store, version))

    def read_share(experiment: Experiment) -> Estimate | None:
        pairs = judged()
        return None if pairs is None else _judged_share(read_rankings(store, experiment).frame, pairs)

    def share_of(experiment: Experiment) -> Estimate | None:
        if not has_rankings(store, experiment):
            return None
        key = (version.digests.get("qrels"), experiment.digests["rankings"])
        return _shares.get(key, lambda: read_share(experiment))

    return share_of


def _judged_pairs(store: Store, version: DatasetVersion) -> pl.DataFrame | None:
    qrels = DatasetVersions(store).table(version, "qrels")
    assert qrels is None or isinstance(qrels, Qrels)
    return None if qrels is None else qrels.frame.select("query_id", "doc_id", is_judged=pl.lit(1.0))


def _judged_share(rankings: pl.DataFrame, judged: pl.DataFrame) -> Estimate:
    """Return the mean share of judged documents in the top of the judged queries."""
    top = rankings.filter(pl.col("rank") <= JUDGED_DEPTH).join(
        judged.select("query_id").unique(), on="query_id", how="semi"
    )
    joined = top.join(judged, on=["query_id", "doc_id"], how="left")
    shares = joined.group_by("query_id").agg(pl.col("is_judged").fill_null(0.0).mean())
    values = shares["is_judged"].to_numpy().astype(np.float64)
    return estimate_mean(values, bounds=(0.0, 1.0)) if len(values) else Estimate(None, None, None, 0.95, 0)


def _pools(store: Store, version: DatasetVersion) -> list[DatasetPool]:
    """Return the annotation projects with pairs of the queries of a version."""
    judged = cache(lambda: _judged_pairs(store, version))
    pools = []
    for project in AnnotationProjects(store).find():
        counts = tuple(sorted(project.counts.items()))  # they change when pairs are added
        key = (store.database.url, project.id, counts, version.digests.get("qrels"))
        pairs, labelled = _pool_counts.get(key, partial(_count_judged, store, project, judged))
        if pairs:
            pools.append(DatasetPool(read_overview(store.database, project), pairs, labelled))
    return pools


def _count_judged(
    store: Store, project: AnnotationProject, read_judged: Callable[[], pl.DataFrame | None]
) -> tuple[int, int]:
    """Return how many pairs of a project have a judged query, and how many of them are judged."""
    judged = read_judged()
    if judged is None:
        return 0, 0
    own = read_pair_ids(store.database, project).join(judged, on="query_id", how="semi")
    return len(own), len(own.join(judged, on=["query_id", "doc_id"], how="semi"))
