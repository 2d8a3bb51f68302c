"""Labels that were made elsewhere, and labels of a project for other tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.datasets.judgment_files import write_judgments
from assay.datasets.query_list import query_id
from assay.judging.annotation.outside_labels import LabelImport, OutsideLabel
from assay.store.annotation import AnnotationProjects
from assay.store.annotation_labels import import_labels
from assay.workflows.annotation import project_judgments
from assay.workflows.judgment_inputs import open_judgments
from assay.workflows.stores import open_existing_store


@dataclass(frozen=True, kw_only=True)
class ImportLabelsRequest:
    """Files of labels made elsewhere, and the project to add them to."""

    name: str
    files: Sequence[str]
    columns: Sequence[str] = ()
    labels: Sequence[str] = ()  # TEXT=GRADE
    store: str | None = None


def import_project_labels(request: ImportLabelsRequest) -> LabelImport:
    """Add labels made elsewhere to a project, within the quota of each pair: those of all files, or none."""
    with open_existing_store(request.store) as store:
        projects = AnnotationProjects(store)
        project = projects.get(request.name)
        queries = _Queries(projects.query_texts(project))
        labels = [label for path in request.files for label in _read_outside(path, request, queries)]
        return import_labels(store.database, project, labels)


class _Queries:
    """The queries of a project, which a file may name by their texts or ids computed from them."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._ids = set(texts)
        same = Counter(query_id(text) for text in texts.values())
        self._by_text = {query_id(text): id_ for id_, text in texts.items() if same[query_id(text)] == 1}

    def own_id(self, name: str) -> str:
        """Return the id in the project of a query of a file."""
        if name in self._ids:
            return name
        return self._by_text.get(name) or self._by_text.get(query_id(name), name)


def _read_outside(path: str, request: ImportLabelsRequest, queries: _Queries) -> list[OutsideLabel]:
    judgments = open_judgments([path], request.columns, request.store, request.labels)
    source = Path(path.rpartition("=")[2]).name
    rows = judgments.frame.select("query_id", "doc_id", "judge", "grade", "at", "note").iter_rows()
    return [OutsideLabel(*(queries.own_id(query), *row, source)) for query, *row in rows]


@dataclass(frozen=True, kw_only=True)
class ExportLabelsRequest:
    """A project and the file to write its labels to."""

    name: str
    target: str
    format: str | None = None  # by the name of the file
    store: str | None = None


@dataclass(frozen=True)
class LabelExport:
    """Labels that were written to a file."""

    name: str
    target: str
    labels: int
    pairs: int
    raters: int

    def to_dict(self) -> dict[str, Any]:
        """Return what was written as plain data."""
        return dict(vars(self))


def export_labels(request: ExportLabelsRequest) -> LabelExport:
    """Write the counted labels of a project to a file."""
    judgments = project_judgments(request.name, request.store)
    with open_existing_store(request.store) as store:
        projects = AnnotationProjects(store)
        texts = projects.query_texts(projects.get(request.name))
    write_judgments(judgments, request.target, request.format, texts)
    return LabelExport(
        request.name, request.target, len(judgments), len(judgments.pairs), len(judgments.judges)
    )
