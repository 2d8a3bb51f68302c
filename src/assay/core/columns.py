"""Matching of column names: which column of a file or a frame is which column of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assay.core.errors import TableError
from assay.core.suggestions import did_you_mean


def match_columns(
    names: Sequence[str], aliases: Mapping[str, tuple[str, ...]], columns: Mapping[str, str]
) -> dict[str, str]:
    """Return the name of each matching column in the file, with its name in the table.

    A name in `columns` takes precedence, then the column's own name, then its aliases.

    >>> match_columns(["QID", "query", "category"], {"query_id": ("qid",), "text": ("query",)}, {})
    {'QID': 'query_id', 'query': 'text'}
    """
    by_lower_name = {name.lower(): name for name in reversed(names)}
    matches = dict[str, str]()
    for target, source in columns.items():
        if source in names:
            matches[source] = target
        elif target in aliases:
            hint = did_you_mean(source, names)
            raise TableError(f"there is no column {source!r} among {', '.join(names)}{hint and f'; {hint}'}")
    for target, alternatives in aliases.items():
        match = next((by_lower_name[name] for name in (target, *alternatives) if name in by_lower_name), None)
        if target not in matches.values() and match is not None and match not in matches:
            matches[match] = target
    return matches


class PairColumns(NamedTuple):
    """The names in a file of the three columns of qrels or of a run."""

    query_id: str
    doc_id: str
    value: str
    value_column: str  # the column of the table that `value` is: grade, score or rank

    @property
    def sign(self) -> int:
        """−1 for ranks, of which the smallest is the best."""
        return -1 if self.value_column == "rank" else 1


def match_pair_columns(
    names: Sequence[str],
    aliases: Mapping[str, tuple[str, ...]],
    value_column: str,
    columns: Mapping[str, str],
) -> PairColumns:
    """Return the columns of qrels or of a run; raise TableError if one is missing.

    >>> aliases = {"query_id": ("qid",), "doc_id": ("docno",), "rank": ()}
    >>> match_pair_columns(["qid", "docno", "rank"], aliases, "score", {})
    PairColumns(query_id='qid', doc_id='docno', value='rank', value_column='rank')
    """
    sources = {target: name for name, target in match_columns(names, aliases, columns).items()}
    is_rank_chosen = "rank" in columns and value_column not in columns
    if "rank" in sources and (is_rank_chosen or value_column not in sources):
        value_column = "rank"
    require_columns(("query_id", "doc_id", value_column), sources, names)
    return PairColumns(sources["query_id"], sources["doc_id"], sources[value_column], value_column)


def require_columns(required: Sequence[str], available: Mapping[str, str], names: Sequence[str]) -> None:
    """Raise TableError if a required column is missing."""
    missing = [name for name in required if name not in available]
    if missing:
        raise TableError(
            f"expected columns {', '.join(required)}; no {', '.join(missing)} among {', '.join(names)}: "
            f"name them with --columns {missing[0]}=… (columns= in Python)"
        )
