"""The demo's evaluation set: sampled, pooled, labelled twice, checked, versioned, and used with a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from assay.core.judgments import Judgments
from assay.core.tables import Documents, Qrels, Queries
from assay.datasets import write
from assay.datasets.judgment_files import write_judgments
from assay.judging.aggregation.aggregate import Rule
from assay.search.in_memory import LSASearcher
from assay.views.demo import DemoStep
from assay.views.demo_judging import JudgedSet, label_step, pool_step
from assay.workflows.agreement import AgreementRequest, measure_agreement
from assay.workflows.dataset_check import CheckDatasetRequest, check_dataset
from assay.workflows.dataset_pool import PoolRequest, PoolResult, pool_runs
from assay.workflows.dataset_sample import QuerySample, SampleRequest, sample_queries
from assay.workflows.dataset_versions import ImportDatasetRequest, import_dataset
from assay.workflows.derive_qrels import DeriveQrelsRequest, derive_qrels
from assay.workflows.estimate import EstimateRequest, estimate
from assay.workflows.evaluation_sets import EvaluationSetFiles
from assay.workflows.inputs import TableFiles

_SAMPLED_QUERIES = 100
_ERROR_RATES = {"rater 1": 0.08, "rater 2": 0.15}  # how often a simulated rater is off by one grade
_SIMILARITIES = (0.3, 0.5, 0.65)  # from which cosines on a document has grade 1, 2, 3
_GRADES = (0, 3)


def judge_sample(
    folder: Path, runs: Sequence[Path], qrels: Qrels, queries: Queries, documents: Documents
) -> list[DemoStep]:
    """Build an evaluation set for a sample of the queries in `folder`/judging, and use it."""
    sample, pool = _choose_pairs(folder, runs)
    _write_labels(folder / "judging", qrels)
    _write_model_labels(folder / "judging", runs, queries, documents)
    judged = _use_labels(folder, runs)
    return [pool_step(sample, pool), label_step(judged)]


def _choose_pairs(folder: Path, runs: Sequence[Path]) -> tuple[QuerySample, PoolResult]:
    """Sample queries, and pool the first ten documents of the runs."""
    target = folder / "judging" / "sample"
    target.mkdir(parents=True, exist_ok=True)
    source = str(folder / "helpcentre" / "queries.jsonl")
    sample = sample_queries(SampleRequest(source=source, n=_SAMPLED_QUERIES, output=str(target)))
    files = TableFiles(runs=[str(run) for run in runs], queries=str(target / "queries.jsonl"))
    output = str(folder / "judging" / "pool.jsonl")
    return sample, pool_runs(PoolRequest(files=files, depth=10, output=output))


def _write_labels(folder: Path, qrels: Qrels) -> None:
    """Write the labels of two simulated raters: the true grades with errors drawn from a seed."""
    grades = qrels.to_dict()
    lines = (folder / "pool.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = [(row["query_id"], row["doc_id"]) for row in map(json.loads, lines)]
    truth = np.array([int(grades.get(query, {}).get(doc, 0)) for query, doc in pairs])
    rng = np.random.default_rng(0)
    rows: list[tuple[str, str, str, float | None]] = []
    for rater, rate in _ERROR_RATES.items():
        errors = np.where(rng.random(len(pairs)) < rate, rng.choice([-1, 1], len(pairs)), 0)
        labels = np.clip(truth + errors, *_GRADES)
        rows += [(*pair, rater, int(grade)) for pair, grade in zip(pairs, labels, strict=True)]
    write_judgments(Judgments.from_rows(rows), folder / "labels.csv")


def _write_model_labels(folder: Path, runs: Sequence[Path], queries: Queries, documents: Documents) -> None:
    """Write the labels of a model for the first documents of all queries: grades by cosine similarity."""
    files = TableFiles(
        runs=[str(run) for run in runs], queries=str(folder.parent / "helpcentre/queries.jsonl")
    )
    frame = pool_runs(PoolRequest(files=files, depth=10)).frame
    cosines = LSASearcher(documents).search(queries, len(documents)).to_dict()
    labels: dict[str, dict[str, int]] = {}
    for query, doc in frame.pairs(np.arange(len(frame))):
        cosine = cosines.get(query, {}).get(doc, 0.0)
        labels.setdefault(query, {})[doc] = int(np.searchsorted(_SIMILARITIES, cosine))
    write(Qrels(labels), folder / "model.qrels", format="trec")


def _use_labels(folder: Path, runs: Sequence[Path]) -> JudgedSet:
    """Measure the agreement, derive qrels, check and version the set, and estimate scores from it."""
    names = _names(folder / "judging")
    agreement = measure_agreement(AgreementRequest(judgments=[names["labels"]])).report
    derive_qrels(
        DeriveQrelsRequest(judgments=[names["labels"]], rule=Rule("dawid-skene"), output=names["people"])
    )
    files = EvaluationSetFiles(
        source=names["people"],
        queries=names["queries"],
        documents=str(folder / "helpcentre" / "corpus.jsonl"),
        runs=[str(run) for run in runs],
    )
    check = check_dataset(CheckDatasetRequest(files=files))
    saved = import_dataset(
        ImportDatasetRequest(
            name="helpcentre-sample",
            source=names["people"],
            queries=names["queries"],
            judgments=names["labels"],
            recipes=[names["sample_recipe"], names["people_recipe"]],
            store=str(folder / "store"),
        )
    )
    import_dataset(
        ImportDatasetRequest(
            name="helpcentre-model",
            source=names["model"],
            queries=str(folder / "helpcentre" / "queries.jsonl"),
            note="grades of a model for the first ten documents of all queries",
            store=str(folder / "store"),
        )
    )
    request = EstimateRequest(
        files=TableFiles(qrels=names["model"], runs=[str(run) for run in runs]),
        human=names["people"],
        measures=["nDCG@10"],
    )
    return JudgedSet(agreement, check.findings, saved.version.label, estimate(request).estimates)


def _names(folder: Path) -> Mapping[str, str]:
    names = {
        "labels": "labels.csv",
        "people": "people.qrels",
        "people_recipe": "people.recipe.json",
        "model": "model.qrels",
        "queries": "sample/queries.jsonl",
        "sample_recipe": "sample/recipe.json",
    }
    return {key: str(folder / name) for key, name in names.items()}
