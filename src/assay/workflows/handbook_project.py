"""A project over a generated handbook: its pages, questions with answers, judgments, and indexes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from assay.datasets import write
from assay.datasets.handbook import generate_handbook


class HandbookIndex(NamedTuple):
    """An index of the project, with its parameters."""

    engine: str
    build: Mapping[str, Any]
    search: Mapping[str, Any]


def write_handbook_project(
    folder: Path, pages: int, questions: int, indexes: Mapping[str, HandbookIndex]
) -> str:
    """Write a handbook, its questions and an assay.toml with the indexes; return the path of the last."""
    folder.mkdir(parents=True, exist_ok=True)
    book = generate_handbook(pages, questions)
    write(book.documents, folder / "corpus.jsonl")
    write(book.qrels, folder / "judged.qrels")
    columns = (book.questions.ids, book.questions.columns["text"], book.questions.columns["answers"])
    rows = [{"query_id": key, "text": text, "answers": a} for key, text, a in zip(*columns, strict=True)]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    lines = ["[data]", 'queries = "questions.jsonl"', 'documents = "corpus.jsonl"', 'qrels = "judged.qrels"']
    for name, index in indexes.items():
        lines += [f"[systems.{name}]", 'kind = "index"', f'engine = "{index.engine}"', 'encoder = "lsa"']
        lines += [f"build.{key} = {json.dumps(value)}" for key, value in index.build.items()]
        lines += [f"search.{key} = {json.dumps(value)}" for key, value in index.search.items()]
    path = folder / "assay.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)
