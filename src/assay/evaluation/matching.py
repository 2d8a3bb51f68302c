"""Qrels against a run: where the judged documents stand in what was returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.core.errors import UndecidableError
from assay.core.groups import Blocks, Scattered, Segments, Wanted, expand
from assay.core.parallel import ordered_map
from assay.core.tables import Qrels, Queries
from assay.core.texts import Bools, Ints, Texts
from assay.measures import Rankings

_NONE = Texts.of([])


class _Part(NamedTuple):
    """What one block of a run has to say about the judged queries."""

    unjudged: list[str]  # queries of the block that nobody judged
    query: Ints  # judged queries of the block, by their number
    returned: Ints
    tied: Bools
    row: Ints  # judgments whose document was returned, by their row in the qrels
    rank: Ints
    kept: Ints  # how many ids each query has in `top`
    top: Texts


class Tops:
    """The ids of the first documents that a run returned for each judged query."""

    def __init__(self, offsets: Ints, ids: Texts) -> None:
        self.offsets, self.ids = offsets, ids

    def __getitem__(self, query: int) -> list[str]:
        return self.ids.slice(int(self.offsets[query]), int(self.offsets[query + 1])).tolist()


class Matches(NamedTuple):
    """The rankings of the judged queries, and what was left out."""

    rankings: Rankings
    returned: Bools  # which judged queries are in the run
    tied: Bools  # in which a tie crosses a cutoff
    unjudged: list[str]  # queries of the run that nobody judged
    row: Ints  # the row in the qrels of each judged document that was returned, as in the rankings
    top: Tops  # the first `keep` documents of each judged query


def match(
    qrels: Qrels, run: Blocks, cutoffs: Sequence[int], queries: Queries | None = None, keep: int = 0
) -> Matches:
    """Find the judged documents of each query in the run, which may name the queries by their texts."""
    matches = _matched(qrels, run, cutoffs, qrels.query_ids, keep)
    if not matches.returned.any() and queries is not None and "text" in queries.columns:
        by_text = _matched(qrels, run, cutoffs, queries.column("text", qrels.query_ids), keep)
        matches = by_text if by_text.returned.any() else matches
    if not matches.returned.any():
        raise UndecidableError(
            f"run {run.name!r} shares no query with the qrels: expected ids such as "
            f"{', '.join(qrels.query_ids[:3])}, found {', '.join(matches.unjudged[:3])}; "
            "check that both use the same query ids"
        )
    return matches


def _matched(qrels: Qrels, run: Blocks, cutoffs: Sequence[int], names: Sequence[str], keep: int) -> Matches:
    """Find the judged documents of each query under the name that the run has for it."""
    number = {name: place for place, name in enumerate(names)}
    wanted = qrels.wanted

    def one(block: Segments) -> _Part:
        return _match_block(qrels, number, wanted, block, cutoffs, keep)

    try:
        parts = list(ordered_map(one, run.blocks()))
    except Scattered:
        parts = list(ordered_map(one, run.gathered()))
    return _together(qrels, parts)


def _match_block(
    qrels: Qrels,
    number: dict[str, int],
    wanted: Wanted,
    block: Segments,
    cutoffs: Sequence[int],
    keep: int,
) -> _Part:
    known = np.array([number.get(query, -1) for query in block.query_ids], np.int64)
    group = np.flatnonzero(known >= 0)
    query = known[group]
    lengths = qrels.groups.lengths[query]
    row = expand(qrels.groups.offsets[query], lengths)
    groups = np.repeat(group, lengths)
    found, rank = block.place(groups, wanted.take(row))
    tied = block.ties_at(cutoffs)[group]
    strange = [block.query_ids[place] for place in np.flatnonzero(known < 0).tolist()]
    kept, top = block.top(group, keep) if keep else (np.zeros_like(group), _NONE)
    return _Part(strange, query, block.lengths[group], tied, row[found], rank, kept, Texts.concat([top]))


def _together(qrels: Qrels, parts: Sequence[_Part]) -> Matches:
    """The parts of all blocks as one."""
    groups = qrels.groups
    returned = np.zeros(len(groups.query_ids), np.int64)
    tied = np.zeros(len(groups.query_ids), np.bool_)
    unjudged = list[str]()
    rows, ranks = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for part in parts:
        returned[part.query], tied[part.query] = part.returned, part.tied
        unjudged += part.unjudged
        rows.append(part.row)
        ranks.append(part.rank)
    row, rank = np.concatenate(rows), np.concatenate(ranks)
    judged = np.repeat(np.arange(len(groups.query_ids)), groups.lengths)
    order = np.lexsort((rank, judged[row]))
    row, rank = row[order], rank[order]
    rankings = Rankings(returned, judged[row], rank, qrels.grades[row], judged, qrels.grades)
    return Matches(rankings, returned > 0, tied, unjudged, row, _tops(parts, len(returned)))


def _tops(parts: Sequence[_Part], queries: int) -> Tops:
    """The first documents of all queries, in the order of the queries."""
    lengths = np.zeros(queries, np.int64)
    for part in parts:
        lengths[part.query] = part.kept
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    rows = [expand(offsets[part.query], part.kept) for part in parts]
    return Tops(offsets, Texts.scatter([part.top for part in parts], rows))
