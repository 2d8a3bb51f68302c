"""The demo's answers: a small language model on this machine, with the passages of two indexes."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from assay.models.local.catalogue import find_local_model
from assay.models.local.server import LocalServer, ServerSettings
from assay.rag.study import RagStudy
from assay.store.rag_studies import RagStudies
from assay.store.store import Store
from assay.views.demo import DemoStep
from assay.views.demo_answers import answer_step, no_answer_step
from assay.workflows.handbook_project import HandbookIndex, write_handbook_project
from assay.workflows.language_models import ModelRequest
from assay.workflows.rag_run import RagRunRequest, run_rag
from assay.workflows.rag_searches import SearchRequest

MODEL = "smollm2-135m"
_NAME = "handbook"
_PAGES, _QUESTIONS, _K = 400, 6, 2
_INDEXES = {
    "graph": HandbookIndex("faiss.hnsw", {"M": 4, "efConstruction": 8}, {"efSearch": 2}),
    "cells": HandbookIndex("faiss.ivfflat", {"nlist": 32}, {"nprobe": 1}),
}


def answer_questions(folder: Path) -> DemoStep:
    """Have the model answer questions in `folder`/answers, and keep the study in the store of the demo."""
    missing = missing_model()
    if missing:
        return no_answer_step(missing)
    store = folder / "store"
    with Store(store) as opened:
        kept = [stored for stored in RagStudies(opened).find() if stored.name == _NAME]
    return answer_step(kept[0].study if kept else _run(folder / "answers", str(store)))


def missing_model() -> str:
    """Return what is missing to serve the model; empty if nothing is."""
    if find_spec("xllamacpp") is None:
        return "the library that serves a model is not installed: pip install 'assay-search[llm]'"
    model = find_local_model(MODEL)
    return "" if model.is_present else f"{MODEL} is not on this machine: assay models fetch {MODEL}"


def _run(folder: Path, store: str) -> RagStudy:
    project = write_handbook_project(folder, _PAGES, _QUESTIONS, _INDEXES)
    server = LocalServer(find_local_model(MODEL), ServerSettings(context=1024, threads=1))
    try:
        model = ModelRequest(
            endpoint=server.url, model=MODEL, workers=1, timeout=300, replies=str(folder / "replies")
        )
        request = RagRunRequest(
            model=model,
            searches=SearchRequest(project=project),
            k=_K,
            removals=(),  # so few questions choose no δ
            max_tokens=24,
            save=_NAME,
            store=store,
        )
        study = run_rag(request).study
    finally:
        server.close()
    assert study is not None
    return study
