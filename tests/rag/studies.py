"""Studies with a model that answers correctly exactly when enough of the true context is there."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from assay.datasets import write
from assay.datasets.handbook import Handbook, generate_handbook
from assay.workflows.language_models import ModelRequest
from assay.workflows.rag_run import RagRunRequest
from assay.workflows.rag_searches import SearchRequest
from tests.chat_doubles import ChatDouble, Message

K = 5
NEIGHBOURS = 2 * K  # of each question: K true ones, and as many after them


PUBLISHED = [
    ("naive", "K-NN", 10, 0.2, 1.0, 1.0, 0.62),
    ("naive", "HNSW", 10, 0.2, 0.90, 0.93, 0.571),
    ("naive", "DiskANN", 10, 0.2, 0.91, 0.94, 0.575),
    ("naive", "ScaNN", 10, 0.2, 0.89, 0.99, 0.612),
    ("naive", "IVFFlat", 10, 0.2, 0.90, 0.985, 0.607),
    ("agentic", "exact", 5, 0.4, 1.0, 1.0, 0.71),
    ("agentic", "HNSW", 5, 0.4, 0.9, 0.9, 0.6),
    ("agentic", "ScaNN", 5, 0.4, 0.9, 0.97, 0.66),
    ("agentic", "Puck", 5, 0.4, 0.91, 0.95, 0.64),
]
_HEAD = "scenario,algorithm,k,delta,recall,robustness,accuracy"


def write_published_table(path: Path, rows: Sequence[Sequence[object]] | int = len(PUBLISHED)) -> str:
    """Write a table of published configurations, or its first rows, and return its path."""
    chosen = PUBLISHED[:rows] if isinstance(rows, int) else rows
    path.write_text("\n".join([_HEAD, *(",".join(map(str, row)) for row in chosen)]) + "\n")
    return str(path)


class Book:
    """A handbook with planted neighbours of each question, in files."""

    def __init__(self, folder: Path, questions: int = 30) -> None:
        self.folder = folder
        self.handbook: Handbook = generate_handbook(pages=200, questions=questions)
        pages = self.handbook.documents.ids
        self.neighbours: dict[str, list[str]] = {}
        for row, (key, judged) in enumerate(self.handbook.qrels.to_dict().items()):
            others = [page for page in pages[row:] + pages[:row] if page not in judged]
            self.neighbours[key] = [*judged, *others[: NEIGHBOURS - 1]]
        self._write()

    def _write(self) -> None:
        queries = self.handbook.questions
        rows = zip(queries.ids, queries.columns["text"], queries.columns["answers"], strict=True)
        lines = (json.dumps({"query_id": key, "text": text, "answers": a}) for key, text, a in rows)
        self.path("questions.jsonl").write_text("\n".join(lines))
        write(self.handbook.documents, self.path("corpus.jsonl"))
        write(self.handbook.qrels, self.path("judged.qrels"))
        self.write_run("exact", self.neighbours)

    def path(self, name: str) -> Path:
        """Return the path of a file of the book."""
        return self.folder / name

    def write_run(self, name: str, rankings: dict[str, list[str]]) -> str:
        """Write a run file, and return its path."""
        path = self.path(f"{name}.run")
        rows = [
            f"{query} Q0 {page} {rank} {100 - rank} {name}"
            for query, pages in rankings.items()
            for rank, page in enumerate(pages, 1)
        ]
        path.write_text("\n".join(rows) + "\n")
        return str(path)

    def write_runs(self, hits: dict[str, Callable[[int], int]]) -> list[str]:
        """Write a run for each name, which finds so many true neighbours of the question of each row."""
        return [
            self.write_run(
                name,
                {
                    key: [*near[: count(row)], *near[K : NEIGHBOURS - count(row)]]
                    for row, (key, near) in enumerate(self.neighbours.items())
                },
            )
            for name, count in hits.items()
        ]

    def answers_if(self, enough: int, known: Sequence[str] = ()) -> Callable[[list[Message]], Message]:
        """Return a model that answers correctly exactly when so many of the true passages are there.

        It knows the answers to the questions of `known` without any passage.
        """
        queries = self.handbook.questions
        texts = self.handbook.documents.texts()
        by_text = dict(zip(queries.columns["text"], queries.ids, strict=True))
        answers = dict(zip(queries.ids, queries.columns["answers"], strict=True))

        def converse(messages: list[Message]) -> Message:
            content = messages[-1]["content"]
            key = by_text[re.findall(r"Question: (.*)", content)[-1]]
            near = self.neighbours[key][:K]
            count = sum(texts[page] in content for page in near)
            is_correct = count >= enough or key in known
            return {"content": answers[key][0] if is_correct else "I don't know."}

        return converse

    def request(self, double: ChatDouble, runs: list[str], **options: Any) -> RagRunRequest:
        """Return the request of a study of runs."""
        searches = SearchRequest(
            runs=runs,
            exact=str(self.path("exact.run")),
            questions=str(self.path("questions.jsonl")),
            documents=str(self.path("corpus.jsonl")),
            qrels=str(self.path("judged.qrels")),
        )
        return RagRunRequest(model=self.model(double), searches=searches, **{"k": K, **options})

    def model(self, double: ChatDouble, **options: Any) -> ModelRequest:
        """Return the request of the double."""
        replies = str(self.path("replies"))
        return ModelRequest(endpoint=double.url, model="double", retries=0, replies=replies, **options)
