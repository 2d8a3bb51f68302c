"""Trials scored from their stored passes, so that any later measure needs no new search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.bench.studies.robustness_columns import published_distribution
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.sweeps.folder import Pass, SweepFolder
from assay.bench.sweeps.pass_figures import HitSource, query_measures, score_pass, timing_figures
from assay.bench.sweeps.stored_hits import StoredHits
from assay.bench.trials import DELTAS, Trial
from assay.core.errors import InputError
from assay.core.vectors import Positions
from assay.indexes.hits import Hits, first_occurrences
from assay.indexes.recall import mean_recall
from assay.stats.intervals import estimate

_RECORD_FIELDS = (
    "engine", "build", "search", "mode", "threads", "version", "metric", "n", "d", "k", "status", "reason",
    "indexed", "build_seconds", "memory_bytes", "disk_bytes", "policy", "machine", "source", "note",
    "reported", "dataset", "family",
)  # fmt: skip
_REQUEST_FIELDS = ("clients", "rate", "seconds", "percentile", "within_ms")


def read_trials(
    folder: SweepFolder, hit_source: HitSource | None, deltas: Sequence[float] = DELTAS
) -> list[Trial]:
    """Return every trial of a sweep with its measures."""
    return [scored_trial.trial for scored_trial in score_trials(folder, hit_source, deltas)]


def read_trial(folder: SweepFolder, key: str, hit_source: HitSource | None) -> Trial:
    """Return one trial of a sweep with its measures."""
    return score_trial(folder, key, hit_source).trial


def score_trials(
    folder: SweepFolder, hit_source: HitSource | None, deltas: Sequence[float] = DELTAS
) -> list[ScoredTrial]:
    """Return every trial of a sweep with its measures and the results of its queries."""
    return [score_trial(folder, key, hit_source, deltas) for key in folder.trial_keys()]


def score_trial(
    folder: SweepFolder,
    key: str,
    hit_source: HitSource | None,
    deltas: Sequence[float] = DELTAS,
    level: float = 0.95,
    numbers: Sequence[int] | None = None,
) -> ScoredTrial:
    """Return one trial, scored by all its passes or by some; without a hit source, only its timings.

    Each pass is read once. The first pass decides the hits.
    """
    record = folder.trial_record(key) or {}
    numbers = folder.pass_numbers(key) if numbers is None else numbers
    passes = [folder.read_pass(key, number) for number in numbers]
    fields: dict[str, Any] = {name: record[name] for name in _RECORD_FIELDS if name in record}
    fields["request"] = {name: record[name] for name in _REQUEST_FIELDS if record.get(name) is not None}
    fields |= timing_figures(passes, record.get("rate")) if passes else {}
    notes = _pass_notes(record, passes, folder)
    hits = None
    if hit_source is not None and _can_be_scored(record, passes, hit_source, key):
        notes += [_k_note(record, hit_source.k)]
        fields |= {"k": hit_source.k, "policy": hit_source.policy}
        if passes:
            hits = score_pass(passes[0], hit_source)
            fields |= _recall_figures(hits, hit_source, deltas, level)
    elif hit_source is not None and passes:
        notes = [_unscored_note(record, hit_source), *notes]
    trial = Trial(key=key, **fields | {"note": "; ".join(filter(None, notes))})
    if hits is None:
        return ScoredTrial(trial, published_distribution=published_distribution(trial))
    return ScoredTrial(trial, hits, _returned_ids(passes[0], len(hits.out_of)))


def _returned_ids(timed_pass: Pass, n: int) -> Positions:
    """Return the ids of a pass by query number."""
    ids = np.full((n, timed_pass.ids.shape[1]), -1, np.int64)
    ids[timed_pass.queries[:n]] = timed_pass.ids[:n]
    return ids


def _recall_figures(
    hits: Hits, hit_source: HitSource, deltas: Sequence[float], level: float
) -> dict[str, Any]:
    """Return the recall measures of hits as fields of a trial; each query counts once."""
    measures = query_measures(hits, deltas)
    shares = {name: values for name, values in measures.items() if not name.startswith("R@")}
    estimates = {name: estimate(values, "share", level) for name, values in shares.items()}
    return {
        "measures": {f"R@{hits.k}": mean_recall(hits.recall, level)} | estimates,
        "zero_hits": int(((hits.counts == 0) & (hits.out_of > 0)).sum()),
        "undefined": int((hit_source.out_of == 0).sum()),
        "short": hit_source.short_truths,
    }


def _can_be_scored(
    record: Mapping[str, Any], passes: Sequence[Pass], hit_source: HitSource, key: str
) -> bool:
    """Return whether the answers of a trial can be scored, which an imported trial may not have."""
    is_imported = record.get("source", "assay") != "assay"
    queries = record.get("queries")
    if is_imported and queries is None:
        return False
    if is_imported and queries != len(hit_source.out_of):
        raise InputError(
            f"trial {key} answers {queries} queries, but the truth has {len(hit_source.out_of)}: "
            f"it belongs to other data ({record.get('dataset', 'not named')})"
        )
    if isinstance(hit_source, StoredHits) and passes:
        is_same_rule = (record["k"], record.get("policy")) == (hit_source.k, hit_source.policy)
        return passes[0].hits is not None and is_same_rule
    return bool(record["k"] >= hit_source.k)


def _unscored_note(record: Mapping[str, Any], hit_source: HitSource) -> str:
    if isinstance(hit_source, StoredHits) and record["k"] >= hit_source.k:
        return f"no hits at {hit_source.k} by the policy {hit_source.policy} are stored: no score"
    return f"{record['k']} neighbors were requested: no score at {hit_source.k}"


def _k_note(record: Mapping[str, Any], k: int) -> str:
    return f"{record['k']} neighbors were requested" if record.get("k", k) != k else ""


def _pass_notes(record: Mapping[str, Any], passes: Sequence[Pass], folder: SweepFolder) -> list[str]:
    """Return the note of a trial, the remarks of its engine and notes on invalid ids."""
    remarks = dict.fromkeys(timed_pass.extra.get("remark", "") for timed_pass in passes)
    invalid = _invalid_id_notes(passes[0].ids, record.get("n") or _base_size(folder)) if passes else []
    return [record.get("note", ""), *remarks, *invalid]


def _base_size(folder: SweepFolder) -> int | None:
    """Return the number of vectors that the sweep searches, which imported trials do not state."""
    metadata = folder.find_metadata()
    return None if metadata is None else metadata["data"].get("n")


def _invalid_id_notes(ids: Positions, n: int | None) -> list[str]:
    """Return notes on ids that no index should return; they all count as misses.

    >>> _invalid_id_notes(np.array([[0, 7, 7], [3, 9, -1]]), 8)
    ['1 of 6 returned ids lies outside the base', '1 of 6 was already returned for the same query']
    """
    outside_count = int(((ids < -1) | (ids >= n)).sum()) if n is not None else 0
    repeated_count = int((~first_occurrences(ids) & (ids >= 0)).sum())
    notes = []
    if outside_count:
        verb = "lies" if outside_count == 1 else "lie"
        notes.append(f"{outside_count:,} of {ids.size:,} returned ids {verb} outside the base")
    if repeated_count:
        verb = "was" if repeated_count == 1 else "were"
        notes.append(f"{repeated_count:,} of {ids.size:,} {verb} already returned for the same query")
    return notes
