"""A small project with a search function in a file, whose behaviour a test chooses."""

import json
from itertools import count
from pathlib import Path
from typing import Any

from assay.models.model import Usage
from assay.models.reranker import Reranker
from assay.remote.errors import RemoteError

DOCUMENTS = {
    "d1": "reset the router by its button",
    "d2": "the router has a lamp that blinks",
    "d3": "reset a password that was forgotten",
    "d4": "an invoice is paid within a month",
    "d5": "the button of the lamp is stuck",
    "d6": "a month without an invoice",
}
QUERIES = {
    "q1": ("reset router", "how"),
    "q2": ("forgotten password", "how"),
    "q3": ("invoice month", "what"),
    "q4": ("lamp button", "what"),
    "q5": ("router lamp", "what"),
    "q6": ("paid invoice", "how"),
}
RELEVANT = {
    "q1": ["d1", "d3"],
    "q2": ["d3"],
    "q3": ["d4", "d6"],
    "q4": ["d5"],
    "q5": ["d2"],
    "q6": ["d4", "d9"],
}
FUNCTION = """
import json, os, time
DOCUMENTS = {documents!r}

def search(text, k):
    with open({log!r}, "a") as file:
        file.write(text + "\\n")
    words = set(text.split())
    found = sorted(((len(words & set(body.split())), key) for key, body in DOCUMENTS.items()), reverse=True)
    return [(key, score) for score, key in found if score][:k]

def fails(text, k):
    if "invoice" in text and not os.path.exists({mended!r}):
        raise ConnectionResetError("gone: " + os.environ.get("SEARCH_KEY", "no key"))
    return search(text, k)

def held(text, k):
    found = search(text, k)
    while os.path.exists({held!r}) and len(open({log!r}).readlines()) > 1:
        time.sleep(0.02)
    return found

def none(text, k):
    return []
"""
DATA = '[data]\nqrels = "qrels.txt"\nqueries = "queries.jsonl"\ndocuments = "documents.jsonl"\n'
MINE = '[systems.mine]\nkind = "callable"\nfunction = "{module}:search"\n'
_numbers = count(1)


class Lengths(Reranker):
    """Score a text by its length, for 3 tokens a query."""

    name = "length"

    def score_texts(self, query: str, texts: list[str]) -> list[float]:
        self.add_usage(Usage(3, 1, 0.25))
        if "broken" in texts:
            raise RemoteError("limited", "429", is_transient=True, retry_after=2.0)
        return [float(len(text)) for text in texts]


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def project(folder: Path, systems: str = MINE, data: str = DATA) -> Path:
    """Write data, a module and an assay.toml, in which `{module}` is the name of the module."""
    queries = [{"query_id": key, "text": text, "kind": kind} for key, (text, kind) in QUERIES.items()]
    (folder / "queries.jsonl").write_text(lines(queries))
    documents = [{"doc_id": key, "text": text, "language": "en"} for key, text in DOCUMENTS.items()]
    (folder / "documents.jsonl").write_text(lines(documents))
    qrels = "".join(f"{query} 0 {doc} 1\n" for query, docs in RELEVANT.items() for doc in docs)
    (folder / "qrels.txt").write_text(qrels)
    module = f"mine_{next(_numbers)}"  # a module of the same name would not be imported again
    names = {"log": "asked.txt", "mended": "mended", "held": "held"}
    places = {name: str(folder / file) for name, file in names.items()}
    (folder / f"{module}.py").write_text(FUNCTION.format(documents=DOCUMENTS, **places))
    (folder / "assay.toml").write_text(data + systems.replace("{module}", module))
    return folder / "assay.toml"


def sent_queries(folder: Path) -> list[str]:
    """Return the queries that were sent to the function so far."""
    return (folder / "asked.txt").read_text().splitlines() if (folder / "asked.txt").exists() else []
