"""Create an annotation project of pairs that a page or a program chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.core.errors import InputError
from assay.judging.annotation.arrangement import arrange_pairs
from assay.judging.annotation.project import AnnotationProject, Grade, ProjectPair
from assay.store.annotation import AnnotationProjects, Fields, ProjectContents
from assay.store.store import Store
from assay.workflows.label_sources import Source, read_document_fields, read_query_fields


@dataclass(frozen=True, kw_only=True)
class PairsProject:
    """A new annotation project of chosen pairs; what raters read comes from what the store has."""

    name: str
    pairs: Sequence[ProjectPair]
    grades: Sequence[Grade]
    per_pair: int = 1
    guidelines: str = ""
    note: str = ""


def create_pairs_project(store: Store, request: PairsProject, source: Source) -> AnnotationProject:
    """Create the project; a text that the store does not have is left out."""
    queries = list(dict.fromkeys(pair.query_id for pair in request.pairs))
    documents = list(dict.fromkeys(pair.doc_id for pair in request.pairs))
    fields = read_query_fields(store, source, queries), read_document_fields(store, source, documents)
    return save_pairs_project(store, request, *fields)


def save_pairs_project(
    store: Store, request: PairsProject, queries: Mapping[str, Fields], documents: Mapping[str, Fields]
) -> AnnotationProject:
    """Create the project with what raters read of each query and document."""
    if not request.pairs:
        raise InputError("expected pairs to judge, found none")
    project = AnnotationProject(
        name=request.name.strip(),
        grades=tuple(sorted(request.grades)),
        per_pair=request.per_pair,
        guidelines=request.guidelines,
        note=request.note,
    )
    contents = ProjectContents(arrange_pairs(request.pairs, (), 0, project.seed), queries, documents)
    return AnnotationProjects(store).create(project, contents)
