"""Why an offline win may not have been one: usual suspects, checked against what is in the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
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
_FROM_CLICKS = "click"  # in the judge or the source of a judgment
_CORRECTED = r"clicks:(?:pbm|ubm|cm|dcm|sdbn|dbn|coec)\b"  # models that allow for the position
_LEAST_SEARCHES = 100  # of judged queries, below which their shares say little
_MOST_LABELS = 20  # of a column that is compared
_NO_SLICES = ("query_id", "text", "issued", "frequency", "inclusion_probability", "weight")


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
    log: str | None  # its name in the store


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
    log, traffic = read_traffic(store) or (None, None)
    return _Case(
        store,
        test,
        store.get(test.links[BASELINE]),
        store.get(test.links[CANDIDATE]),
        version,
        judgments if isinstance(judgments, Judgments) else None,
        traffic,
        log,
    )


def read_traffic(store: Store) -> tuple[str, Queries] | None:
    """Return the name and the queries of the newest log whose searches are kept; None if there is none."""
    for record in store.online_metrics():
        digest = record.links.get(CLICKS)
        if digest is not None and store.tables.has(digest):
            table = table_from_parquet(Queries, store.tables.read(digest))
            assert isinstance(table, Queries)
            return record.name, table
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
    """Look for judgments that were derived from clicks by a model that does not allow for the position."""
    if case.judgments is None:
        return "unknown", {}
    frame = case.judgments.frame
    texts = pl.concat_str([pl.col(name).fill_null("") for name in ("judge", "source")], separator=" ")
    texts = texts.str.to_lowercase()
    counts = frame.select(
        from_clicks=texts.str.contains(_FROM_CLICKS, literal=True).sum(),
        uncorrected=texts.str.replace_all(_CORRECTED, "").str.contains(_FROM_CLICKS, literal=True).sum(),
    ).row(0, named=True)
    evidence = {**{name: int(count) for name, count in counts.items()}, "judgments": len(frame)}
    return ("yes" if evidence["uncorrected"] else "no"), evidence


def _traffic_mismatch(case: _Case) -> tuple[str, dict[str, Any]]:
    """Compare the slices of the judged queries with those of the searches in the log.

    Lengths are those of all searches; other columns are known of the searches of judged queries alone.
    """
    queries = read_queries(case.store, case.baseline)
    if case.traffic is None or queries is None or "text" not in queries.columns:
        return "unknown", {}
    issued = [float(count) for count in case.traffic.columns["issued"]]
    weights = _searches_of(queries, case.traffic, issued)
    in_log = {"length": _shares(zip(label_queries("length", case.traffic), issued, strict=True))}
    if sum(weights) >= _LEAST_SEARCHES:
        for column in queries.columns:
            if column not in _NO_SLICES and len({*label_queries(column, queries)}) <= _MOST_LABELS:
                in_log[column] = _shares(zip(label_queries(column, queries), weights, strict=True))
    shifts = [_shift(column, shares, queries, len(in_log)) for column, shares in in_log.items()]
    worst = max(shifts, key=lambda shift: (_is_shifted(shift), shift["shift"]))
    evidence = {
        "log": case.log,
        "coverage": sum(weights) / sum(issued) if sum(issued) else None,
        "searches": int(sum(issued)),
        "queries": len(queries),
        **worst,
    }
    return ("yes" if _is_shifted(worst) else "no"), evidence


def _shift(column: str, in_log: Mapping[str, float], queries: Queries, columns: int) -> dict[str, Any]:
    """Return how far the shares of a column are apart, with p corrected for the number of columns."""
    counts = Counter(label_queries(column, queries))
    shift, p = compare_shares(counts, in_log)
    shares = {
        label: {"evaluation": counts[label] / sum(counts.values()), "log": in_log.get(label, 0.0)}
        for label in sorted({*counts, *in_log})
    }
    return {"column": column, "shift": shift, "p": min(1.0, p * columns), "slices": shares}


def _is_shifted(shift: Mapping[str, Any]) -> bool:
    return bool(shift["shift"] > LEAST_SHIFT and shift["p"] < _ALPHA)


def _searches_of(queries: Queries, traffic: Queries, issued: Sequence[float]) -> list[float]:
    """Return how often each judged query was searched; queries of the same text share its searches."""
    texts = [_normalize(text) for text in queries.columns["text"]]
    same = Counter(texts)
    searches: dict[str, float] = {}
    for text, count in zip(traffic.columns["text"], issued, strict=True):
        name = _normalize(text)
        searches[name] = searches.get(name, 0.0) + count
    return [searches.get(text, 0.0) / same[text] for text in texts]


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
