"""Ids that a table should have and lacks: queries without results, judged documents that are gone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from assay.judging.checks.evaluation_set import EvaluationSet
from assay.judging.checks.finding import ERROR, EXAMPLES, INFO, WARNING, Finding, count_of
from assay.judging.checks.id_tables import (
    IdTable,
    document_tables,
    missing_ids,
    near_matches,
    query_tables,
    unit_relations,
)

_FEW = 0.1  # of the ids; more missing ids are a warning


def find(data: EvaluationSet) -> Iterator[Finding]:
    """Find ids of the qrels that other tables lack, unless they are only written differently there."""
    related = {table.name for relation in unit_relations(data) for table in (relation.first, relation.second)}
    judged, *others = query_tables(data)
    yield from chain.from_iterable(_compare(judged, other, "query", "queries") for other in others)
    judged, *others = document_tables(data)
    for other in others:
        if other.name in related:
            continue
        if other.name == "the documents":
            yield from _compare(judged, other, "document", "documents")
        else:
            yield from _find_no_overlap(judged, other)


def _compare(judged: IdTable, other: IdTable, noun: str, plural: str) -> Iterator[Finding]:
    missing = missing_ids(judged, other)
    matches = near_matches(missing, other.ids)["id"] if len(missing) else missing
    missing = missing.filter(~missing.is_in(matches.implode()))
    if not len(missing):
        return
    is_none_shared = len(missing) == len(judged.ids)
    severity = ERROR if is_none_shared else WARNING if len(missing) > _FEW * len(judged.ids) else INFO
    share = "none" if is_none_shared else f"{len(judged.ids) - len(missing):,}"
    yield Finding(
        f"missing_{plural}",
        severity,
        len(missing),
        f"{share} of the {count_of(len(judged.ids), f'judged {noun}', f'judged {plural}')} "
        f"{'is' if share in ('none', '1') else 'are'} in {other.name}; it has ids such as {other.ids[0]!r}",
        _fix(other, noun, plural, is_none_shared),
        [{"query_id" if noun == "query" else "doc_id": name} for name in missing.head(EXAMPLES)],
    )


def _fix(other: IdTable, noun: str, plural: str, is_none_shared: bool) -> str:
    if is_none_shared:
        return f"use the same {noun} ids in the qrels and in {other.name}, or give files of one collection"
    if other.name.startswith("run "):
        return f"search the missing {plural}, too: they score 0"
    return f"add the missing {plural} to {other.name}, or drop their judgments from the qrels"


def _find_no_overlap(judged: IdTable, run: IdTable) -> Iterator[Finding]:
    """Find a run that returns no judged document."""
    missing = missing_ids(judged, run)
    if len(missing) < len(judged.ids) or len(near_matches(missing, run.ids)):
        return
    yield Finding(
        "missing_documents",
        ERROR,
        len(missing),
        f"no judged document is in {run.name}: the qrels have ids such as {judged.ids[0]!r}, the run "
        f"{run.ids[0]!r}",
        "use the same document ids in both, or give the qrels and the runs of the same collection",
        [
            {"qrels": a, "run": b}
            for a, b in zip(judged.ids.head(EXAMPLES), run.ids.head(EXAMPLES), strict=False)
        ],
    )
