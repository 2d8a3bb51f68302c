"""What each judge said about the documents of an experiment, stored once for all experiments."""

from __future__ import annotations

import io

import polars as pl

from assay.core.judgments import Judgments
from assay.core.records import Experiment
from assay.store.datasets import DatasetVersions
from assay.store.store import Store
from assay.store.table_files import table_to_parquet

JUDGMENTS = "judgments"  # the role of the table


def put_judgments(
    store: Store, judgments: Judgments | None, qrels: str | None, with_texts: bool = True
) -> str | None:
    """Store the labels by judge of an experiment and return their digest; None if there are none.

    Without labels of its own, an experiment has those of the newest version of an evaluation set with
    the same qrels. Notes of judges are texts, which `with_texts` leaves out.
    """
    digest = None if judgments is not None else _digest_of_version(store, qrels)
    if digest is not None and with_texts:
        return digest
    if digest is not None:
        judgments = Judgments(pl.read_parquet(io.BytesIO(store.tables.read(digest))))
    if judgments is None:
        return None
    if not with_texts:
        judgments = Judgments(judgments.frame.with_columns(note=pl.lit("")))
    if not store.tables.has(judgments.digest):
        store.tables.write(judgments.digest, table_to_parquet(judgments))
    return judgments.digest


def find_judgments(store: Store, experiment: Experiment) -> str | None:
    """Return the digest of the labels by judge of an experiment; None if none are kept.

    An experiment of an older store has no link to labels: those of an evaluation set with the same qrels
    are its labels.
    """
    digest = experiment.digests.get(JUDGMENTS) or _digest_of_version(store, experiment.digests.get("qrels"))
    return digest if digest is not None and store.tables.has(digest) else None


def _digest_of_version(store: Store, qrels: str | None) -> str | None:
    versions = DatasetVersions(store).find() if qrels is not None else []
    found = (v.digests for v in versions if v.digests.get("qrels") == qrels and JUDGMENTS in v.digests)
    digest = next((digests[JUDGMENTS] for digests in found), None)
    return digest if digest is not None and store.tables.has(digest) else None


def read_query_judgments(
    store: Store, digest: str | None, query_id: str
) -> list[tuple[str, str, float | None]] | None:
    """Return document, judge and grade of each label of a query; None if no labels are kept."""
    if digest is None:
        return None
    rows = store.tables.rows_of(digest, query_id).sort("doc_id", "judge")
    return list(zip(rows["doc_id"], rows["judge"], rows["grade"], strict=True))
