"""Make an annotation project of the unjudged documents at the top of queries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, product
from typing import Any

from assay.core.errors import InputError, UndecidableError
from assay.core.records import Experiment
from assay.core.tables import Queries
from assay.judging.annotation.project import Grade, ProjectPair
from assay.store.annotation import AnnotationProjects
from assay.store.rankings import read_grades, read_queries, read_ranking, read_texts
from assay.store.store import Store
from assay.workflows.annotate_pairs import PairsProject, save_pairs_project
from assay.workflows.annotation import CreatedProject
from assay.workflows.stores import open_existing_store

DEFAULT_DEPTH = 10
_GRADE_NAMES = {1: ("not relevant", "relevant"), 2: ("not relevant", "partly relevant", "relevant")}


@dataclass(frozen=True, kw_only=True)
class AnnotateFailuresRequest:
    """The queries whose unjudged documents people are to judge."""

    experiment: str
    query_ids: Sequence[str]
    depth: int = DEFAULT_DEPTH  # documents of each query
    per_pair: int = 1
    name: str = ""  # of the project; empty: after the experiment
    store: str | None = None


@dataclass(frozen=True, kw_only=True)
class AnnotateQueryRequest:
    """A query whose unjudged documents in some experiments people are to judge."""

    query_id: str
    experiments: Sequence[str]
    depth: int = DEFAULT_DEPTH  # documents of each experiment
    store: str | None = None


def annotate_failures(request: AnnotateFailuresRequest) -> CreatedProject:
    """Create the project with the unjudged documents among the first of each query."""
    with open_existing_store(request.store) as store:
        experiment = store.get(request.experiment)
        name = request.name.strip() or _free_name(store, f"failures of {experiment.name}")
        note = f"unjudged documents of failing queries of {experiment.id}"
        new = PairsProject(name=name, pairs=(), grades=(), per_pair=request.per_pair, note=note)
        return _create(store, [experiment], request.query_ids, request.depth, new)


def annotate_query(request: AnnotateQueryRequest) -> CreatedProject:
    """Create a project with the unjudged documents among the first of the query in each experiment."""
    with open_existing_store(request.store) as store:
        experiments = [store.get(name) for name in request.experiments]
        note = f"unjudged documents of a query in {', '.join(e.id for e in experiments)}"
        name = _free_name(store, f"query {request.query_id}")
        new = PairsProject(name=name, pairs=(), grades=(), note=note)
        return _create(store, experiments, [request.query_id], request.depth, new)


def _create(
    store: Store, experiments: Sequence[Experiment], query_ids: Sequence[str], depth: int, new: PairsProject
) -> CreatedProject:
    """Create the project with the unjudged pairs, the grades there are, and the texts that are kept."""
    pairs, highest = _unjudged_pairs(store, experiments, query_ids, depth)
    if not pairs:
        noun = "this query" if len(query_ids) == 1 else f"these {len(query_ids)} queries"
        raise InputError(f"every document among the first {depth} of {noun} is judged: nothing to send")
    queries: dict[str, dict[str, str]] = {}
    documents: dict[str, dict[str, str]] = {}
    for experiment in experiments:
        queries |= _drop_empty(_query_fields(read_queries(store, experiment), [p.query_id for p in pairs]))
        documents |= _drop_empty(_document_fields(store, experiment, [p.doc_id for p in pairs]))
    new = replace(new, pairs=pairs, grades=_make_grades(highest))
    return CreatedProject(save_pairs_project(store, new, queries, documents), store.url)


def _unjudged_pairs(
    store: Store, experiments: Sequence[Experiment], query_ids: Sequence[str], depth: int
) -> tuple[list[ProjectPair], int]:
    """Return the pairs, and the highest grade of the queries."""
    pairs, highest = [], 1
    for query_id, experiment in product(dict.fromkeys(query_ids), experiments):
        ranking = read_ranking(store, experiment, query_id)
        if ranking is None:
            raise UndecidableError(
                f"the rankings of {experiment.name} ({experiment.id}) are not kept: save it again"
            )
        grades = read_grades(store, experiment.digests.get("qrels"), query_id) or {}
        highest = max([highest, *grades.values()])
        pairs += [ProjectPair(query_id, doc_id) for doc_id in ranking[:depth] if grades.get(doc_id, -1) < 0]
    return list(dict.fromkeys(pairs)), highest


def _free_name(store: Store, name: str) -> str:
    """Return the name, with a number if a project has it."""
    plain = re.sub("[@:/]", " ", name)
    known = {project.name for project in AnnotationProjects(store).find()}
    numbered = (f"{plain} {number}" for number in count(2))
    return plain if plain not in known else next(other for other in numbered if other not in known)


def _make_grades(highest: int) -> tuple[Grade, ...]:
    """Return the grades from 0 to the highest of the judgments there are.

    >>> [grade.name for grade in _make_grades(2)]
    ['not relevant', 'partly relevant', 'relevant']
    """
    names = _GRADE_NAMES.get(highest, ("not relevant", *[""] * (highest - 1), "fully relevant"))
    return tuple(Grade(float(value), name) for value, name in enumerate(names))


def _query_fields(queries: Queries | None, query_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the texts of queries; one without a text is shown by its id."""
    if queries is None or "text" not in queries.columns:
        return {query_id: {} for query_id in query_ids}
    texts = dict(zip(queries.ids, queries.columns["text"], strict=True))
    return {query_id: {"text": str(texts.get(query_id) or "")} for query_id in query_ids}


def _document_fields(
    store: Store, experiment: Experiment, doc_ids: Sequence[str]
) -> dict[str, dict[str, str]]:
    """Return the titles and texts of documents; without them nobody can judge."""
    collection = experiment.digests.get("documents")
    if collection is None:
        raise UndecidableError(
            f"the texts of documents of {experiment.name} ({experiment.id}) are not kept, and raters read "
            "them: save it again with --documents FILE, or use `assay judge create`"
        )
    texts = read_texts(store, collection, doc_ids)
    return {doc_id: _shown_fields(texts.get(doc_id, {})) for doc_id in doc_ids}


def _drop_empty(fields: Mapping[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    return {item: texts for item, texts in fields.items() if texts}


def _shown_fields(fields: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(fields[name]) for name in ("title", "text") if fields.get(name)}
