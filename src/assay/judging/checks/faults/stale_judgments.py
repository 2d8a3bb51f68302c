"""Judgments of texts that changed since: the label is of another document than the one that is searched."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from assay.core.judgments import Judgments
from assay.core.tables import Documents
from assay.judging.checks.evaluation_set import PAIR, EvaluationSet
from assay.judging.checks.finding import EXAMPLES, WARNING, Finding, agree, count_of, examples_of

_TIME_COLUMNS = ("updated_at", "modified_at", "changed_at", "last_modified", "updated", "modified")
_SHOWN_CHARACTERS = 80
_FIX = "judge these pairs again (`assay judge create --pairs FILE`), or drop their labels"


def find(data: EvaluationSet) -> Iterator[Finding]:
    """Find labels of documents and queries whose text changed after they were judged."""
    if data.previous is not None:
        yield from _find_changed_texts(data, data.previous, "query_id", "query")
        yield from _find_changed_texts(data, data.previous, "doc_id", "document")
    if data.documents is not None and data.judgments is not None:
        yield from _find_later_changes(data.documents, data.judgments)


def _find_changed_texts(
    data: EvaluationSet, previous: EvaluationSet, key: str, noun: str
) -> Iterator[Finding]:
    """Find labels that both versions have, of texts that differ."""
    changed = _changed_texts(data, previous, key)
    kept = data.labels.join(previous.labels.select(*PAIR, old="grade"), on=PAIR, maintain_order="left")
    kept = kept.filter(pl.col("grade") == pl.col("old")).drop("old")
    if data.judgments is not None and previous.judgments is not None:
        kept = kept.join(_judged_again(data.judgments, previous.judgments), on=PAIR, how="anti")
    rows = kept.join(changed, on=key, how="inner", maintain_order="left")
    if len(rows):
        count = rows[key].n_unique()
        yield Finding(
            "stale_judgments",
            WARNING,
            len(rows),
            f"{count_of(len(rows), 'label')} {agree(len(rows), 'is', 'are')} older than the text: "
            f"{count_of(count, noun, 'queries' if noun == 'query' else '')} changed since the previous "
            "version, and the labels did not",
            _FIX,
            examples_of(rows.select(*PAIR, "grade", "before", "after")),
        )


def _changed_texts(data: EvaluationSet, previous: EvaluationSet, key: str) -> pl.DataFrame:
    """Return the ids whose text is another one in both versions, with the beginning where they differ."""
    now, before = (
        (part.query_texts if key == "query_id" else part.document_texts).drop_nulls("text")
        for part in (data, previous)
    )
    joined = now.join(before.rename({"text": "before"}), on=key, maintain_order="left")
    blanks = r"\s+"
    changed = joined.filter(
        pl.col("text").str.replace_all(blanks, " ") != pl.col("before").str.replace_all(blanks, " ")
    )
    return changed.select(
        key,
        before=pl.col("before").str.slice(0, _SHOWN_CHARACTERS),
        after=pl.col("text").str.slice(0, _SHOWN_CHARACTERS),
    )


def _judged_again(judgments: Judgments, previous: Judgments) -> pl.DataFrame:
    """Return the pairs of which a judgment is new or has a new time."""
    names = [*PAIR, "judge", "at"]
    fresh = judgments.frame.select(names).join(
        previous.frame.select(names), on=names, how="anti", nulls_equal=True
    )
    return fresh.select(PAIR).unique()


def _find_later_changes(documents: Documents, judgments: Judgments) -> Iterator[Finding]:
    """Find judgments that are older than the last change of their document."""
    column = next((name for name in _TIME_COLUMNS if name in documents.columns), None)
    if column is None:
        return
    times = _to_times(documents, column)
    rows = judgments.frame.drop_nulls("at").select(*PAIR, "judge", "at")
    rows = rows.join(times, on="doc_id", maintain_order="left").filter(pl.col("changed_at") > pl.col("at"))
    if not len(rows):
        return
    shown = rows.head(EXAMPLES).with_columns(pl.col("at", "changed_at").dt.strftime("%Y-%m-%dT%H:%M:%SZ"))
    count = rows["doc_id"].n_unique()
    yield Finding(
        "stale_judgments",
        WARNING,
        len(rows),
        f"{count_of(len(rows), 'judgment')} {agree(len(rows), 'is', 'are')} older than the last change "
        f"({column}) of {count_of(count, 'document')}",
        _FIX,
        examples_of(shown),
    )


def _to_times(documents: Documents, column: str) -> pl.DataFrame:
    """Return the time of the last change of each document that has one, in UTC."""
    values = [None if value is None else str(value) for value in documents.columns[column]]
    frame = pl.DataFrame(
        {"doc_id": pl.Series(documents.ids, dtype=pl.String), "text": pl.Series(values, dtype=pl.String)}
    )
    text = pl.col("text").str.replace(" ", "T").str.replace(r"Z$", "+00:00")
    has_zone = text.str.contains(r"T.*[+-]\d\d:?\d\d$")
    has_clock = text.str.contains("T")
    whole = (
        pl.when(has_zone).then(text).when(has_clock).then(text + "+00:00").otherwise(text + "T00:00:00+00:00")
    )
    times = whole.str.to_datetime("%+", time_unit="us", time_zone="UTC", strict=False)
    return frame.select("doc_id", changed_at=times).drop_nulls("changed_at")
