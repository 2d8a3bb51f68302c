"""Matching of qrels with a run: the ranks of the judged documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Bools, Ints
from assay.core.errors import UndecidableError
from assay.core.groups import (
    DocIds,
    RunBlocks,
    ScatteredQueryError,
    ScoreChanges,
    Segments,
    expand_ranges,
)
from assay.core.parallel import ordered_map
from assay.core.strings import StringColumn
from assay.core.tables import Qrels, Queries
from assay.measures import Rankings

_NONE = StringColumn.from_strings([])


class _BlockMatches(NamedTuple):
    """The matches of one block of a run."""

    unjudged_queries: list[str]  # queries of the block without judgments
    query: Ints  # the numbers of the judged queries of the block
    returned_counts: Ints
    has_tie: Bools
    row: Ints  # the rows in the qrels of the judged documents that were returned
    rank: Ints
    top_counts: Ints  # the number of ids of each query in `top`
    top: StringColumn
    score_changes: ScoreChanges


class Tops:
    """The ids of the first documents that a run returned for each judged query."""

    def __init__(self, depth: int, offsets: Ints, ids: StringColumn) -> None:
        self.depth = depth  # at most this many per query; 0: none were kept
        self.offsets, self.ids = offsets, ids

    def __getitem__(self, query: int) -> list[str]:
        return self.ids.slice(int(self.offsets[query]), int(self.offsets[query + 1])).tolist()


class Matches(NamedTuple):
    """The rankings of the judged queries, and the queries that could not be matched."""

    rankings: Rankings
    in_run: Bools  # which judged queries are in the run
    has_tie: Bools  # which judged queries have a tie that crosses a cutoff
    unjudged_queries: list[str]  # queries of the run without judgments
    row: Ints  # the row in the qrels of each judged document that was returned, as in the rankings
    top: Tops  # the first `keep` documents of each judged query
    score_changes: ScoreChanges  # from row to row, in all queries of the run


def match(
    qrels: Qrels, run: RunBlocks, cutoffs: Sequence[int], queries: Queries | None = None, keep: int = 0
) -> Matches:
    """Find the judged documents of each query in the run, which may name a query by its id or its text."""
    places = {name: place for place, name in enumerate(qrels.query_ids)}
    matches = _match_by_names(qrels, run, cutoffs, places, keep)
    if matches.unjudged_queries and queries is not None and "text" in queries.columns:
        texts = _unique_texts(queries.column("text", qrels.query_ids))
        named = (name for name in matches.unjudged_queries if name in texts)
        by_text = {name: texts[name] for name in named if not matches.in_run[texts[name]]}
        if by_text:
            matches = _match_by_names(qrels, run, cutoffs, places | by_text, keep)
    if not matches.in_run.any():
        raise UndecidableError(
            f"run {run.name!r} shares no query with the qrels: expected ids such as "
            f"{', '.join(qrels.query_ids[:3])}, found {', '.join(matches.unjudged_queries[:3])}; "
            "check that both use the same query ids"
        )
    return matches


def _unique_texts(texts: Sequence[str | None]) -> dict[str, int]:
    """Return the place of each text that only one query has."""
    counts = Counter(texts)
    return {text: place for place, text in enumerate(texts) if text and counts[text] == 1}


def _match_by_names(
    qrels: Qrels, run: RunBlocks, cutoffs: Sequence[int], number: dict[str, int], keep: int
) -> Matches:
    """Find the judged documents of each query, given the number of the query by its names in the run."""
    wanted_documents = qrels.doc_ids

    def match_block(block: Segments) -> _BlockMatches:
        return _match_block(qrels, number, wanted_documents, block, cutoffs, keep)

    try:
        parts = list(ordered_map(match_block, run.blocks()))
    except ScatteredQueryError:
        parts = list(ordered_map(match_block, run.blocks_in_memory()))
    return _combine_blocks(qrels, parts, keep)


def _match_block(
    qrels: Qrels,
    number: dict[str, int],
    wanted_documents: DocIds,
    block: Segments,
    cutoffs: Sequence[int],
    keep: int,
) -> _BlockMatches:
    numbers = np.array([number.get(query, -1) for query in block.query_ids], np.int64)
    group = np.flatnonzero(numbers >= 0)
    query = numbers[group]
    lengths = qrels.groups.lengths[query]
    row = expand_ranges(qrels.groups.offsets[query], lengths)
    groups = np.repeat(group, lengths)
    is_found, rank = block.rank_documents(groups, wanted_documents.take(row))
    has_tie = block.ties_at(cutoffs)[group]
    unjudged_queries = [block.query_ids[place] for place in np.flatnonzero(numbers < 0).tolist()]
    top_counts, top = block.top(group, keep) if keep else (np.zeros_like(group), _NONE)
    return _BlockMatches(
        unjudged_queries,
        query,
        block.lengths[group],
        has_tie,
        row[is_found],
        rank,
        top_counts,
        StringColumn.concat([top]),
        block.score_changes,
    )


def _combine_blocks(qrels: Qrels, parts: Sequence[_BlockMatches], keep: int) -> Matches:
    """Combine the matches of all blocks."""
    groups = qrels.groups
    returned_counts = np.zeros(len(groups.query_ids), np.int64)
    has_tie = np.zeros(len(groups.query_ids), np.bool_)
    unjudged_queries = list[str]()
    rows, ranks = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for part in parts:
        returned_counts[part.query], has_tie[part.query] = part.returned_counts, part.has_tie
        unjudged_queries += part.unjudged_queries
        rows.append(part.row)
        ranks.append(part.rank)
    row, rank = np.concatenate(rows), np.concatenate(ranks)
    judged_queries = np.repeat(np.arange(len(groups.query_ids)), groups.lengths)
    order = np.lexsort((rank, judged_queries[row]))
    row, rank = row[order], rank[order]
    rankings = Rankings(
        returned_counts, judged_queries[row], rank, qrels.grades[row], judged_queries, qrels.grades
    )
    tops = _combine_tops(parts, len(returned_counts), keep)
    changes = sum((part.score_changes for part in parts), start=ScoreChanges())
    return Matches(rankings, returned_counts > 0, has_tie, unjudged_queries, row, tops, changes)


def _combine_tops(parts: Sequence[_BlockMatches], queries: int, keep: int) -> Tops:
    """Return the first documents of all queries, in the order of the queries."""
    lengths = np.zeros(queries, np.int64)
    for part in parts:
        lengths[part.query] = part.top_counts
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    rows = [expand_ranges(offsets[part.query], part.top_counts) for part in parts]
    return Tops(keep, offsets, StringColumn.scatter([part.top for part in parts], rows))
