"""Why an offline win may not have been one: usual suspects, checked against what is in the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl

from assay.core.judgments import Judgments
from assay.core.online_records import BASELINE, CANDIDATE, CLICKS, DATASET, OnlineRecord
from assay.core.records import DatasetVersion, Experiment
from assay.core.tables import Queries
from assay.evaluation.slices import label_queries
from assay.online.prediction_report import LEAST_SHIFT, STALE_DAYS, Suspect, compare_shares
from assay.store.datasets import DatasetVersions
from assay.store.rankings import read_queries
from assay.store.store import Store
from assay.store.table_files import table_from_parquet

_ALPHA = 0.05
_CLICK_WORD = "click"


@dataclass(frozen=True)
class _Case:
    """What the store has of a test and of its offline evidence."""

    store: Store
    test: OnlineRecord
    baseline: Experiment
    candidate: Experiment
    version: DatasetVersion | None
    judgments: Judgments | None
    traffic: Queries | None  # the queries of the log with how often they were issued


def check_suspects(store: Store, test: OnlineRecord) -> list[Suspect]:
    """Return all suspects of a test that has both experiments."""
    case = _collect(store, test)
    checks: Mapping[str, Callable[[_Case], tuple[str, dict[str, Any]]]] = {
        "stale_labels": _stale_labels,
        "position_bias": _position_bias,
        "traffic_mismatch": _traffic_mismatch,
        "changed_corpus": _changed_corpus,
    }
    return [Suspect(name, *check(case)) for name, check in checks.items()]


def _collect(store: Store, test: OnlineRecord) -> _Case:
    versions = DatasetVersions(store)
    version = next((v for v in versions.find() if v.digest == test.links.get(DATASET)), None)
    judgments = None if version is None else versions.table(version, "judgments")
    return _Case(
        store,
        test,
        store.get(test.links[BASELINE]),
        store.get(test.links[CANDIDATE]),
        version,
        judgments if isinstance(judgments, Judgments) else None,
        read_traffic(store),
    )


def read_traffic(store: Store) -> Queries | None:
    """Return the queries of the newest log whose clicks are kept; None if there is none."""
    for record in store.online_metrics():
        digest = record.links.get(CLICKS)
        if digest is not None and store.tables.has(digest):
            table = table_from_parquet(Queries, store.tables.read(digest))
            assert isinstance(table, Queries)
            return table
    return None


def _stale_labels(case: _Case) -> tuple[str, dict[str, Any]]:
    """Compare the median age of the judgments at the time of the test with STALE_DAYS."""
    times = [] if case.judgments is None else case.judgments.frame["at"].drop_nulls().to_list()
    if not times:
        return "unknown", {}
    ages = [_days(at, case.test.at) for at in times]
    median = float(np.median(ages))
    evidence = {"median_age_days": round(median, 1), "judgments": len(ages), "limit_days": STALE_DAYS}
    return ("yes" if median > STALE_DAYS else "no"), evidence


def _days(at: datetime, end: datetime) -> float:
    return (end - at).total_seconds() / 86400


def _position_bias(case: _Case) -> tuple[str, dict[str, Any]]:
    """Look for judgments that were derived from clicks."""
    if case.judgments is None:
        return "unknown", {}
    frame = case.judgments.frame
    texts = pl.concat_str([pl.col(name).fill_null("") for name in ("judge", "source")], separator=" ")
    count = frame.select(texts.str.to_lowercase().str.contains(_CLICK_WORD, literal=True).sum()).item()
    evidence = {"from_clicks": int(count), "judgments": len(frame)}
    return ("yes" if count else "no"), evidence


def _traffic_mismatch(case: _Case) -> tuple[str, dict[str, Any]]:
    """Compare the lengths of the judged queries with those of the searches in the log."""
    queries = read_queries(case.store, case.baseline)
    if case.traffic is None or queries is None or "text" not in queries.columns:
        return "unknown", {}
    issued = [float(count) for count in case.traffic.columns["issued"]]
    judged = {_normalize(text) for text in queries.columns["text"]}
    covered = sum(
        count
        for text, count in zip(case.traffic.columns["text"], issued, strict=True)
        if _normalize(text) in judged
    )
    in_log = _shares(zip(label_queries("length", case.traffic), issued, strict=True))
    counts = Counter(label_queries("length", queries))
    shift, p = compare_shares(counts, in_log)
    evidence = {
        "coverage": covered / sum(issued) if sum(issued) else None,
        "searches": int(sum(issued)),
        "queries": len(queries),
        "shift": shift,
        "p": p,
        "slices": {
            label: {"evaluation": counts[label] / sum(counts.values()), "log": in_log.get(label, 0.0)}
            for label in sorted({*counts, *in_log})
        },
    }
    return ("yes" if shift > LEAST_SHIFT and p < _ALPHA else "no"), evidence


def _normalize(text: Any) -> str:
    return " ".join(str(text or "").casefold().split())


def _shares(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for label, count in pairs:
        sums[label] = sums.get(label, 0.0) + count
    total = sum(sums.values()) or 1.0
    return {label: value / total for label, value in sums.items()}


def _changed_corpus(case: _Case) -> tuple[str, dict[str, Any]]:
    """Compare the documents that both experiments searched with each other and with the dataset version."""
    sources = {"baseline": case.baseline.digests, "candidate": case.candidate.digests}
    if case.version is not None:
        sources["dataset"] = case.version.digests
    digests = {name: parts["documents"] for name, parts in sources.items() if "documents" in parts}
    if len(digests) < 2:
        return "unknown", {}
    return ("yes" if len(set(digests.values())) > 1 else "no"), {"documents": digests}
