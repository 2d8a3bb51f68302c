"""A dashboard over a store with experiments, as a browser calls it."""

import re
from pathlib import Path

import httpx2
from starlette.testclient import TestClient

from assay.web.access import Access
from assay.web.app import create_app
from assay.workflows.annotation import CreateProjectRequest, create_project
from assay.workflows.evaluate import EvaluateRequest, evaluate
from assay.workflows.inputs import TableFiles
from assay.workflows.recording import SaveRequest
from assay.workflows.saving import save

RANKINGS = {"words": "bax", "vectors": "abx"}  # the documents of every query, best first


def save_experiments(folder: Path, queries: int = 6) -> Path:
    """Save two systems over some queries, of which only document a is relevant; return the store."""
    numbers = range(queries)
    (folder / "qrels.txt").write_text("".join(f"q{n} 0 a 2\nq{n} 0 b 0\n" for n in numbers))
    texts = (f'{{"_id": "q{n}", "text": "reset {n}", "category": "{"ab"[n % 2]}"}}\n' for n in numbers)
    (folder / "queries.jsonl").write_text("".join(texts))
    documents = (f'{{"_id": "{d}", "title": "Title {d}", "text": "text <i>{d}</i>"}}\n' for d in "abx")
    (folder / "documents.jsonl").write_text("".join(documents))
    store = folder / "store"
    for name, ranking in RANKINGS.items():
        lines = (f"q{n} Q0 {d} {r} {9 - r} t\n" for n in numbers for r, d in enumerate(ranking, 1))
        (folder / f"{name}.run").write_text("".join(lines))
        files = TableFiles(
            qrels=str(folder / "qrels.txt"),
            runs=[str(folder / f"{name}.run")],
            queries=str(folder / "queries.jsonl"),
            documents=str(folder / "documents.jsonl"),
        )
        result = evaluate(EvaluateRequest(files=files, measures=["RR@10"], with_recordings=True))
        save(SaveRequest(name=name, store=str(store)), result.recordings)
    return store


def open_dashboard(store: Path) -> TestClient:
    """Return a client of the dashboard of a store, for one person on this machine."""
    return TestClient(create_app(Access(str(store))), base_url="http://127.0.0.1:8765")


def token_of(client: httpx2.Client, path: str = "/experiments") -> dict[str, str]:
    """Return the header that a change must carry, as the pages of the dashboard send it."""
    match = re.search(r'"X-CSRF-Token": "([^"]+)"', client.get(path).text)
    assert match is not None
    return {"X-CSRF-Token": match[1]}


def create_annotation_project(folder: Path, store: Path, per_pair: int = 2, name: str = "shop") -> None:
    """Create a project, `shop` unless it is named, with the four judged pairs of two queries."""
    grades = ["0 not relevant", "1 related", "2 answers it"]
    (folder / "pairs.jsonl").write_text(
        "".join(f'{{"query_id": "q{n}", "doc_id": "{d}"}}\n' for n in range(2) for d in "ab")
    )
    create_project(
        CreateProjectRequest(
            name=name,
            pairs=str(folder / "pairs.jsonl"),
            grades=grades,
            per_pair=per_pair,
            queries=str(folder / "queries.jsonl"),
            documents=str(folder / "documents.jsonl"),
            store=str(store),
        )
    )
