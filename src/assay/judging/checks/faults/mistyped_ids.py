"""Ids that no other table has, but for case, blanks, leading zeros, separators or a prefix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from assay.judging.checks.evaluation_set import EvaluationSet
from assay.judging.checks.finding import ERROR, WARNING, Finding, agree, count_of, examples_of
from assay.judging.checks.id_tables import (
    IdTable,
    document_tables,
    missing_ids,
    near_matches,
    query_tables,
)


def find(data: EvaluationSet) -> Iterator[Finding]:
    """Find ids that are spelled differently in two tables."""
    yield from _find_among(query_tables(data), "query", "queries", data.queries is not None)
    yield from _find_among(document_tables(data), "document", "documents", data.documents is not None)


def _find_among(tables: Sequence[IdTable], noun: str, plural: str, has_table: bool) -> Iterator[Finding]:
    """Compare each table with the one that defines the ids; without it, the qrels with each run."""
    pairs = [(table, tables[-1]) for table in tables[:-1]] if has_table else []
    pairs = pairs or [(tables[0], run) for run in tables[1:]]
    for table, reference in pairs:
        unknown = missing_ids(table, reference)
        matches = near_matches(unknown, reference.ids) if len(unknown) else pl.DataFrame()
        if len(matches):
            yield _describe(table, reference, matches, noun, plural)


def _describe(table: IdTable, reference: IdTable, matches: pl.DataFrame, noun: str, plural: str) -> Finding:
    written, meant = matches.row(0)
    is_most = 2 * len(matches) > len(table.ids)
    return Finding(
        "mistyped_ids",
        ERROR if is_most else WARNING,
        len(matches),
        f"{count_of(len(matches), noun, plural)} of {table.name} {agree(len(matches), 'is', 'are')} "
        f"spelled differently in {reference.name}, such as {written!r} for {meant!r}, and "
        f"{agree(len(matches), 'matches', 'match')} nothing",
        f"write the ids of both tables in the same way: {written!r} as {meant!r}, and alike for the others",
        examples_of(matches.select(pl.col("id").alias("written"), "meant")),
    )
