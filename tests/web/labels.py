"""A store with labels: two raters of an evaluation set, a model, and experiments with rankings."""

from pathlib import Path

import numpy as np
import polars as pl

from assay.core.document_clicks import DocumentClicks
from assay.core.online_records import ONLINE_METRICS
from assay.workflows.dataset_versions import ImportDatasetRequest, import_dataset
from assay.workflows.document_clicks import put_document_clicks
from assay.workflows.evaluate import EvaluateRequest, evaluate
from assay.workflows.inputs import TableFiles
from assay.workflows.online_saving import SaveOnlineRequest, save_online
from assay.workflows.recording import SaveRequest
from assay.workflows.saving import save
from tests.web.dashboards import save_experiments

QUERIES, DOCUMENTS = 40, "abx"


def save_labels(folder: Path) -> Path:
    """Save experiments, labels of two raters who differ on some pairs, and labels of a model."""
    store = save_experiments(folder, QUERIES)
    rng = np.random.default_rng(0)
    lines, people, model = ["query_id,doc_id,judge,grade"], [], []
    for n in range(QUERIES):
        for doc in DOCUMENTS:
            truth = 2 * (doc == "a")
            second = abs(truth - int(n % 5 == 0))
            lines += [f"q{n},{doc},rater 1,{truth}", f"q{n},{doc},rater 2,{second}"]
            people += [f"q{n} 0 {doc} {truth}"] * (n % 2)
            model.append(f"q{n} 0 {doc} {min(2, truth + int(rng.random() < 0.3))}")
    (folder / "labels.csv").write_text("\n".join(lines))
    _import(folder, store, "people", people, "labels.csv")
    _import(folder, store, "model", model)
    return store


def _import(folder: Path, store: Path, name: str, lines: list[str], judgments: str | None = None) -> None:
    path = folder / f"{name}.qrels"
    path.write_text("\n".join(lines) + "\n")
    import_dataset(
        ImportDatasetRequest(
            name=name,
            source=str(path),
            queries=str(folder / "queries.jsonl"),
            judgments=None if judgments is None else str(folder / judgments),
            store=str(store),
        )
    )


def save_clicks(store: Path) -> None:
    """Save a log in which the query q5 was searched."""
    rows = [
        {"query_id": "reset 5", "doc_id": doc, "rank": rank, "impressions": 20, "clicks": 20 // rank}
        for rank, doc in enumerate("ab", 1)
    ]
    clicks = DocumentClicks(pl.DataFrame(rows).with_columns(other_clicks=pl.lit(1)))
    tables = put_document_clicks(clicks, str(store))
    save_online(ONLINE_METRICS, {}, SaveOnlineRequest(name="march", tables=tables, store=str(store)))


def save_second_version(folder: Path, store: Path, note: str = "") -> None:
    """Save a version of the labels of people with one label changed, one dropped and one added."""
    lines = (folder / "people.qrels").read_text().splitlines()
    lines = [lines[0].replace(" 2", " 1"), *lines[2:], "q0 0 b 1"]
    (folder / "people2.qrels").write_text("\n".join(lines) + "\n")
    import_dataset(
        ImportDatasetRequest(
            name="people",
            source=str(folder / "people2.qrels"),
            queries=str(folder / "queries.jsonl"),
            note=note,
            store=str(store),
        )
    )


def save_judged(store: Path, folder: Path, qrels: str, with_texts: bool = True) -> None:
    """Save the experiment `judged`: the run `words` on other judgments."""
    files = TableFiles(
        qrels=qrels,
        runs=[str(folder / "words.run")],
        queries=str(folder / "queries.jsonl"),
        documents=str(folder / "documents.jsonl"),
        store=str(store),
    )
    result = evaluate(EvaluateRequest(files=files, measures=["RR@10"], with_recordings=True))
    save(SaveRequest(name="judged", store=str(store), with_texts=with_texts), result.recordings)
