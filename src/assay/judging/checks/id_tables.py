"""The ids of the tables of an evaluation set, and how those of two tables are related."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from assay.judging.checks.evaluation_set import EvaluationSet

MAX_IDS = 500_000  # of one table, that are compared by their form; more say the same
_LEVELS = 3  # how many parts an id may have after that of its document: section, passage, sentence
_LAST_PART = r"(?:[^\p{L}\p{N}]+[\p{L}\p{N}]*|(?:chunk|part|passage|para|page|sec|seg|p|c|s)\d+)$"
_INVISIBLE = r"[\s\x{200B}\x{200C}\x{200D}\x{2060}\x{FEFF}\x{00AD}\"'`]+"


class IdTable(NamedTuple):
    """The different ids of one table."""

    name: str  # as it is named in messages
    ids: pl.Series


def document_tables(data: EvaluationSet) -> list[IdTable]:
    """Return the ids of the documents in the qrels, in each run and in the documents."""
    tables = [IdTable("the qrels", _unique(data.labels["doc_id"]))]
    tables += [IdTable(f"run {top.name}", _unique(top.frame["doc_id"])) for top in data.runs]
    if data.documents is not None:
        tables.append(IdTable("the documents", pl.Series("id", data.documents.ids, dtype=pl.String)))
    return tables


def query_tables(data: EvaluationSet) -> list[IdTable]:
    """Return the ids of the queries in the qrels, in each run and in the queries."""
    tables = [IdTable("the qrels", pl.Series("id", list(data.qrels.query_ids), dtype=pl.String))]
    tables += [IdTable(f"run {top.name}", _unique(top.frame["query_id"])) for top in data.runs]
    if data.queries is not None:
        tables.append(IdTable("the queries", pl.Series("id", data.queries.ids, dtype=pl.String)))
    return tables


def _unique(ids: pl.Series) -> pl.Series:
    return ids.unique(maintain_order=True).alias("id")


def missing_ids(first: IdTable, second: IdTable) -> pl.Series:
    """Return the ids of the first table that the second lacks."""
    return first.ids.filter(~first.ids.is_in(second.ids.implode()))


def parents_in(ids: pl.Series, others: pl.Series) -> pl.DataFrame:
    """Return the ids that are parts of other ids, each with the longest of these: id, parent.

    >>> parents_in(pl.Series(["a#3", "b_2_1", "c"]), pl.Series(["a", "b", "d"]))["parent"].to_list()
    ['a', 'b']
    """
    rows = pl.DataFrame({"id": ids.head(MAX_IDS)}).with_columns(parent=pl.col("id"))
    known = pl.DataFrame({"parent": others})
    found = []
    for _ in range(_LEVELS):
        shorter = pl.col("parent").str.replace(_LAST_PART, "")
        rows = rows.with_columns(shorter=shorter).filter(
            (pl.col("shorter") != pl.col("parent")) & (pl.col("shorter") != "")
        )
        rows = rows.select("id", parent="shorter")
        found.append(rows.join(known, on="parent", how="semi", maintain_order="left"))
        rows = rows.join(known, on="parent", how="anti", maintain_order="left")
    return pl.concat(found)


def near_matches(ids: pl.Series, others: pl.Series) -> pl.DataFrame:
    """Return the ids that equal one other id but for their spelling: id, meant.

    Case, blanks, quotes, leading zeros, separators, a final .0 and a common prefix may differ.

    >>> near_matches(pl.Series(["D07 ", "x1"]), pl.Series(["d7", "d8"])).rows()
    [('D07 ', 'd7')]
    """
    ids = ids.head(MAX_IDS)
    spelled = _match_keys(ids, others, spelling_key(pl.col("id")))
    rest = ids.filter(~ids.is_in(spelled["id"].implode()))
    return pl.concat(
        [spelled, *(_match_without_prefix(rest, others, is_first) for is_first in (True, False))]
    )


def spelling_key(column: pl.Expr) -> pl.Expr:
    """Return ids without what is often mistyped."""
    plain = column.str.normalize("NFKC").str.replace_all(_INVISIBLE, "").str.to_lowercase()
    plain = plain.str.replace(r"^(\d+)\.0+$", "$1").str.replace_all(r"[^\p{L}\p{N}#+]+", "-")
    return plain.str.strip_chars("-").str.replace_all(r"(^|[^\d])0+(\d)", "$1$2")


def _match_keys(ids: pl.Series, others: pl.Series, key: pl.Expr) -> pl.DataFrame:
    """Return the ids that have the same key as exactly one other id."""
    known = pl.DataFrame({"id": others}).with_columns(key=key).rename({"id": "meant"})
    known = known.filter(pl.col("key") != "").unique("key", keep="none")
    rows = pl.DataFrame({"id": ids}).with_columns(key=key)
    return rows.join(known, on="key", maintain_order="left").select("id", "meant")


def _match_without_prefix(ids: pl.Series, others: pl.Series, is_first: bool) -> pl.DataFrame:
    """Return the matches if a prefix that most ids of one table have is left out."""
    longer, shorter = (ids, others) if is_first else (others, ids)
    prefix = _common_prefix(longer)
    if prefix is None or not len(shorter):
        return pl.DataFrame(schema={"id": pl.String, "meant": pl.String})
    rows = pl.DataFrame({"longer": longer}).filter(pl.col("longer").str.starts_with(prefix))
    rows = rows.with_columns(shorter=pl.col("longer").str.slice(len(prefix)))
    rows = rows.join(pl.DataFrame({"shorter": shorter}), on="shorter", how="semi", maintain_order="left")
    names = ("longer", "shorter") if is_first else ("shorter", "longer")
    return rows.select(id=names[0], meant=names[1])


def _common_prefix(ids: pl.Series) -> str | None:
    """Return the letters before the number, or the words before the last separator, of most of the ids."""
    prefixes = ids.str.extract(r"^(.*?[^\d])\d+$").drop_nulls()
    if not len(prefixes):
        return None
    top = prefixes.value_counts(sort=True, name="n").row(0)
    return str(top[0]) if 2 * int(top[1]) > len(ids) else None


class Relation(NamedTuple):
    """Which ids of one table belong to which ids of another that has them in another form."""

    first: IdTable
    second: IdTable
    pairs: pl.DataFrame  # of the first and the second table


def unit_relations(data: EvaluationSet) -> Iterator[Relation]:
    """Yield the tables of which one has parts of the documents of the other: id, parent."""
    tables = document_tables(data)
    for i, first in enumerate(tables):
        for second in tables[i + 1 :]:
            for fine, coarse in ((first, second), (second, first)):
                pairs = _unit_pairs(fine, coarse)
                if len(pairs):
                    yield Relation(fine, coarse, pairs)


def _unit_pairs(fine: IdTable, coarse: IdTable) -> pl.DataFrame:
    """Return the parts with their documents, none unless most ids that the other table lacks are parts."""
    missing = missing_ids(fine, coarse)
    shared = len(fine.ids) - len(missing)
    pairs = parents_in(missing, coarse.ids)
    is_most = 2 * len(pairs) > min(len(missing), MAX_IDS) and len(pairs) > shared
    return pairs if is_most else pairs.clear()
