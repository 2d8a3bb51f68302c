"""A store of any size for the benchmark of the dashboard, written in bulk with tables shared by digest."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
from sqlalchemy import text

from assay.core.arrays import Floats, Ints
from assay.core.judgments import Judgments
from assay.core.rankings import Rankings
from assay.core.records import DatasetVersion, Experiment, Metric
from assay.core.tables import Documents, Qrels, Queries
from assay.judging.annotation.project import AnnotationProject, parse_grade
from assay.store.annotation import ProjectContents, ProjectKind
from assay.store.datasets import DatasetTable, DatasetVersions
from assay.store.rankings import ShownTables, assign_system_numbers, put_shown_tables
from assay.store.store import Store
from store import SLICES, make_scores

FIRST_DATE = datetime(2026, 1, 1, tzinfo=UTC)
SYSTEMS = 20
PROJECT, DATASET = "labels", "catalogue"
_SCORE_TABLES = 40  # different ones; experiments share them
_RANKING_TABLES = 4
_SHOWN = 20  # documents kept of each ranking
_MOST_DOCUMENTS = 20_000
_COUNT = "WITH RECURSIVE numbers(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < :end)"


@dataclass(frozen=True)
class DashboardSize:
    """What a store holds: qrels and labels of two raters have `judgments` rows each."""

    experiments: int
    queries: int
    judgments: int

    @property
    def per_query(self) -> int:
        """The judged documents of a query."""
        return self.judgments // self.queries

    @property
    def documents(self) -> int:
        """The documents of the collection, which the queries share."""
        return min(_MOST_DOCUMENTS, self.judgments)


def build_store(folder: Path, size: DashboardSize) -> None:
    """Write a store of this size."""
    with Store(folder) as store:
        qrels, queries = _qrels(size), _queries(size)
        assign_system_numbers(store, [f"system-{n}" for n in range(SYSTEMS)])
        _save_templates(store, size, qrels, queries)
        _copy_experiments(store, size.experiments)
        _save_versions(store, size, qrels, queries)
        _save_project(store, size)
        with store.database.engine.connect() as connection:
            connection.exec_driver_sql("ANALYZE")


def _document_ids(size: DashboardSize, queries: Ints, places: Ints) -> list[str]:
    return [f"doc-{n}" for n in ((queries * 37 + places) % size.documents).tolist()]


def _pairs(size: DashboardSize, count: int) -> tuple[list[str], list[str]]:
    """The ids of the queries, and of their first `count` documents."""
    numbers = np.repeat(np.arange(size.queries), count)
    places = np.tile(np.arange(count), size.queries)
    return [f"query-{n}" for n in numbers.tolist()], _document_ids(size, numbers, places)


def _qrels(size: DashboardSize) -> Qrels:
    query_ids, doc_ids = _pairs(size, size.per_query)
    grades = np.tile(np.arange(size.per_query), size.queries) % 10 // 7  # the 8th to 10th of ten are relevant
    return Qrels(pl.DataFrame({"query_id": query_ids, "doc_id": doc_ids, "grade": grades}))


def _queries(size: DashboardSize) -> Queries:
    numbers = range(size.queries)
    return Queries(
        {
            "query_id": [f"query-{n}" for n in numbers],
            "text": [f"how to replace part {n} of the machine" for n in numbers],
            "category": [SLICES[n % len(SLICES)] for n in numbers],
        }
    )


def _documents(size: DashboardSize) -> Documents:
    numbers = range(size.documents)
    return Documents(
        {
            "doc_id": [f"doc-{n}" for n in numbers],
            "title": [f"Part {n}" for n in numbers],
            "text": [f"Turn the machine off, then pull part {n} out. " * 6 for n in numbers],
        }
    )


def _rankings(size: DashboardSize, seed: int) -> Rankings:
    shown = min(_SHOWN, size.per_query)
    rng = np.random.default_rng(seed)
    places = np.argsort(rng.random((size.queries, size.per_query)), axis=1)[:, :shown].ravel()
    numbers = np.repeat(np.arange(size.queries), shown)
    columns = {
        "query_id": [f"query-{n}" for n in numbers.tolist()],
        "rank": np.tile(np.arange(1, shown + 1), size.queries),
        "doc_id": _document_ids(size, numbers, places),
    }
    return Rankings(pl.DataFrame(columns))


def _save_templates(store: Store, size: DashboardSize, qrels: Qrels, queries: Queries) -> None:
    """Save the first experiments, each with its own scores."""
    documents = _documents(size)
    shown = [
        put_shown_tables(
            store,
            ShownTables(rankings=_rankings(size, n), qrels=qrels, queries=queries, documents=documents),
        )
        for n in range(_RANKING_TABLES)
    ]
    for number in range(min(_SCORE_TABLES, size.experiments)):
        scores = make_scores(size.queries, number)
        record = Experiment(
            name=f"system-{number % SYSTEMS}",
            at=FIRST_DATE + timedelta(minutes=number),
            configuration={"index_type": ("hnsw", "ivf")[number % 2], "seed": number},
            metrics=tuple(_metrics(scores.values, size)),
            digests=shown[number % _RANKING_TABLES],
            policy={"formulas": 1, "ties": "higher score, then larger document id", "missing": "0"},
            latency={"p95_ms": 20.0 + number},
            tags=("nightly",),
            id=f"e{number:05}",
        )
        store.put(record, scores)


def _metrics(values: Mapping[str, Floats], size: DashboardSize) -> list[Metric]:
    """All measures over all queries, and those at 10 by slice."""
    metrics = [Metric(name, "", "", *_interval(column)) for name, column in values.items()]
    places = np.arange(size.queries) % len(SLICES)
    for name in (name for name in values if name.endswith("@10")):
        metrics += [
            Metric(name, "category", part, *_interval(values[name][places == place]))
            for place, part in enumerate(SLICES)
        ]
    return metrics


def _interval(column: Floats) -> tuple[float, float, float, int]:
    mean, half = float(column.mean()), 1.96 * float(column.std()) / len(column) ** 0.5
    return mean, mean - half, mean + half, len(column)


def _copy_experiments(store: Store, count: int) -> None:
    """Copy the first experiments until there are `count`; each copy has other values and settings."""
    first = min(_SCORE_TABLES, count)
    own, source = "printf('e%05d', i)", f"printf('e%05d', i % {first})"
    minute = 60 * 10**6
    selects = {
        "experiments": f"{own}, name, kind, at + (i - i % {first}) * {minute}, body, note, 0, NULL",
        "metrics": f'{own}, measure, "column", slice, value * (0.9 + i % 97 / 1000.0), '
        "low * (0.9 + i % 97 / 1000.0), high * (0.9 + i % 97 / 1000.0), n",
        "attributes": f"{own}, space, key, text, number",
        "tags": f"{own}, tag",
        "links": f"{own}, role, digest",
    }
    with store.database.write_transaction() as connection:
        for table, columns in selects.items():
            key = "id" if table == "experiments" else "experiment"
            statement = f"{_COUNT} INSERT INTO {table} SELECT {columns} FROM numbers JOIN {table}"
            if first < count:
                bounds = {"first": first, "end": count}
                connection.execute(text(f"{statement} ON {table}.{key} = {source}"), bounds)


def _save_versions(store: Store, size: DashboardSize, qrels: Qrels, queries: Queries) -> None:
    """Save two versions of an evaluation set; the second has judgments of one more judge."""
    frame = qrels.frame
    judgments = Judgments(frame.with_columns(judge=pl.lit("ann")))
    earlier = Qrels(frame.head(len(frame) * 9 // 10))
    for number, own_qrels in enumerate((earlier, qrels)):
        tables: dict[str, DatasetTable] = {"queries": queries, "qrels": own_qrels}
        if number:
            tables["judgments"] = judgments
        counts = {"queries": size.queries, "labels": len(own_qrels)}
        version = DatasetVersion(DATASET, {}, counts=counts, at=FIRST_DATE + timedelta(number))
        DatasetVersions(store).save(version, tables)


def _save_project(store: Store, size: DashboardSize) -> None:
    """Save a project in which two raters judged all pairs but the last ones."""
    pairs = size.judgments // 2
    left = max(1, pairs // 100)
    project = AnnotationProject(
        PROJECT,
        (parse_grade("0 no"), parse_grade("1 partly"), parse_grade("2 yes")),
        counts={"counted": pairs},
        at=FIRST_DATE,
        id="project001",
    )
    texts = {f"query-{n}": {"text": f"how to replace part {n}"} for n in range(size.queries)}
    documents = {
        f"doc-{n}": {"title": f"Part {n}", "text": "Pull it out. " * 20} for n in range(size.documents)
    }
    store.records(ProjectKind(ProjectContents([], texts, documents))).add([project])
    at, per_query = int(FIRST_DATE.timestamp() * 1e6), max(1, pairs // size.queries)
    doc = f"'doc-' || ((i / {per_query} * 37 + i % {per_query}) % {size.documents})"
    number, end = "i * 2 + rater", at + 10**9
    raters = "(SELECT 0 AS rater UNION ALL SELECT 1)"
    grade = "(i * 7 + i / 11 + CASE WHEN (i * 31 + rater) % 6 = 0 THEN rater ELSE 0 END) % 3"
    statements = {
        "annotation_pairs (experiment, number, query_id, doc_id, role, is_full)": "SELECT 'project001', i, "
        f"'query-' || (i / {per_query}), {doc}, 'counted', i < {pairs - left} FROM numbers",
        "annotation_labels (experiment, number, pair, rater, action, grade, shown_at, at)": "SELECT "
        f"'project001', {number}, i, 'r' || rater, 'grade', {grade}, {at}, {at} + i * 1000 "
        f"FROM numbers, {raters} WHERE i < {pairs - left}",
        "annotation_assignments (experiment, pair, rater, state, shown_at, expires_at, label)": "SELECT "
        f"'project001', i, 'r' || rater, 'labelled', {at}, {end}, {number} "
        f"FROM numbers, {raters} WHERE i < {pairs - left}",
    }
    with store.database.write_transaction() as connection:
        for target, select in statements.items():
            connection.execute(text(f"{_COUNT} INSERT INTO {target} {select}"), {"first": 0, "end": pairs})
