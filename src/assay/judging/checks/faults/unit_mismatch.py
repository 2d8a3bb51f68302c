"""Passages in one table and documents in another: their ids never match."""

from __future__ import annotations

from collections.abc import Iterator

from assay.judging.checks.evaluation_set import EvaluationSet
from assay.judging.checks.finding import ERROR, Finding, count_of, examples_of
from assay.judging.checks.id_tables import Relation, unit_relations


def find(data: EvaluationSet) -> Iterator[Finding]:
    """Find tables that hold parts of the documents of another table, by the form of their ids."""
    for relation in unit_relations(data):
        fine, coarse = relation.first.name, relation.second.name
        part, whole = relation.pairs.row(0)
        yield Finding(
            "unit_mismatch",
            ERROR,
            len(relation.pairs),
            f"{_holds(fine)} passages and {_holds(coarse)} documents: {count_of(len(relation.pairs), 'id')} "
            f"such as {part!r} belong to documents such as {whole!r}, so they match no row",
            _fix(relation, part, whole),
            examples_of(relation.pairs.select(passage="id", document="parent")),
        )


def _holds(table: str) -> str:
    """Return the name of a table with the verb that agrees with it."""
    return f"{table} has" if table.startswith("run ") else f"{table} have"


def _fix(relation: Relation, part: str, whole: str) -> str:
    fine, coarse = relation.first.name, relation.second.name
    if fine == "the qrels":
        return (
            f"cut the ids of the qrels to those of the documents ({part!r} to {whole!r}), keep the highest "
            f"grade of each document, or use the passages in {coarse}"
        )
    return (
        f"cut the ids in {fine} to those of the documents ({part!r} to {whole!r}) and keep the best passage "
        f"of each document, or use passages in {coarse}, too"
    )
