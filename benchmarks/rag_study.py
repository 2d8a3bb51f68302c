"""Answers of a real language model against retrieval: eight indexes of two families over a handbook.

    python benchmarks/rag_study.py --model smollm2-135m --questions 40 --folder STUDY
    python benchmarks/rag_study.py --model qwen2.5-coder-1.5b --questions 40 --folder STUDY

It fetches the weights, serves the model on this machine, and asks every question with the results of each
index, of exact search, without documents, and with true neighbours removed. Ctrl-C loses no reply: the same
command goes on.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import vl_convert

from assay.rag.prompts import BEST_LAST, ORDERS
from assay.rag.study import ConfigurationResult, RagStudy
from assay.stats.linear_correlation import pearson
from assay.views.rag import render_study
from assay.workflows.handbook_project import HandbookIndex, write_handbook_project
from assay.workflows.language_models import ModelRequest
from assay.workflows.rag_run import RagRunRequest, run_rag
from assay.workflows.rag_searches import SearchRequest

ASSAY = str(Path(sys.executable).with_name("assay"))
INDEXES = {
    "hnsw-a": HandbookIndex("hnswlib", {"M": 3, "ef_construction": 6}, {"ef": 2}),
    "hnsw-b": HandbookIndex("hnswlib", {"M": 3, "ef_construction": 8}, {"ef": 8}),
    "hnsw-c": HandbookIndex("hnswlib", {"M": 4, "ef_construction": 8}, {"ef": 8}),
    "hnsw-d": HandbookIndex("hnswlib", {"M": 6, "ef_construction": 16}, {"ef": 8}),
    "ivf-a": HandbookIndex("faiss.ivfflat", {"nlist": 32}, {"nprobe": 1}),
    "ivf-b": HandbookIndex("faiss.ivfflat", {"nlist": 32}, {"nprobe": 2}),
    "ivf-c": HandbookIndex("faiss.ivfflat", {"nlist": 64}, {"nprobe": 2}),
    "ivf-d": HandbookIndex("faiss.ivfflat", {"nlist": 32}, {"nprobe": 4}),
}


def run_study(options: argparse.Namespace, url: str) -> str:
    """Return the study as text; it is also written to the folder."""
    folder = Path(options.folder)
    project = write_handbook_project(folder, options.pages, options.questions, INDEXES)
    model = ModelRequest(
        endpoint=url, model=options.model, workers=1, timeout=900, replies=str(folder / "replies")
    )
    request = RagRunRequest(
        model=model,
        searches=SearchRequest(project=project),
        k=options.k,
        max_tokens=24,
        order=options.order,
        out=str(folder / f"{options.model}.json"),
    )
    study = run_rag(request).study
    assert study is not None
    if options.figure:
        options.figure.write_bytes(vl_convert.vegalite_to_png(draw_accuracy(study, options.delta), scale=1.5))
    return render_study(study, "table")


def draw_accuracy(study: RagStudy, delta: float) -> dict[str, Any]:
    """Return the chart of accuracy against the mean recall and against a robustness."""
    results = [result for result in study.configurations if not result.is_control]
    robustness = min(results[0].robustness, key=lambda level: abs(level - delta))
    panels = [
        draw_panel(results, f"mean recall R@{study.k}", [result.recall.value for result in results]),
        draw_panel(
            results,
            f"Robustness-{delta:g}@{study.k}",
            [result.robustness[robustness].value for result in results],
        ),
    ]
    return {"config": {"background": "white", "font": "sans-serif"}, "hconcat": panels}


def draw_panel(results: list[ConfigurationResult], title: str, places: list[float | None]) -> dict[str, Any]:
    """Return the accuracy of each index, with its interval, against one measure of retrieval."""
    rows = [
        {"index": result.name, "family": result.family, "place": place}
        | {end: getattr(result.accuracy, end) for end in ("value", "low", "high")}
        for result, place in zip(results, places, strict=True)
    ]
    accuracies = [result.accuracy.value for result in results]
    r = pearson(np.array(places, float), np.array(accuracies, float))
    fit = f"{r.n} indexes"
    if r.value is not None and r.low is not None:
        fit = f"r {r.value:+.2f} ({r.low:+.2f} to {r.high:+.2f}), {fit}"
    place = {
        "field": "place",
        "type": "quantitative",
        "title": title,
        "scale": {"zero": False, "padding": 12},
    }
    accuracy = {"field": "low", "type": "quantitative", "title": "accuracy", "scale": {"domain": [0, 1]}}
    shown = {"x": place, "color": {"field": "family", "type": "nominal"}}
    point = {
        "y": {**accuracy, "field": "value"},
        "shape": {"field": "family", "type": "nominal", "legend": None},
    }
    interval = {"y": accuracy, "y2": {"field": "high"}}
    layers = [
        {"mark": {"type": "rule"}, "encoding": shown | interval},
        {"mark": {"type": "point", "filled": True, "size": 70}, "encoding": shown | point},
    ]
    return {"data": {"values": rows}, "width": 330, "height": 240, "title": fit, "layer": layers}


def main() -> None:
    """Serve the model, and print the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("-k", type=int, default=4)
    parser.add_argument("--order", choices=ORDERS, default=BEST_LAST, help="of the passages in the prompt")
    parser.add_argument("--threads", type=int, default=1, help="of the model; more only on an idle machine")
    parser.add_argument("--folder", default="rag-study")
    parser.add_argument("--figure", type=Path, help="a PNG of accuracy against recall and robustness")
    parser.add_argument("--delta", type=float, default=0.25, help="of the robustness in the figure")
    options = parser.parse_args()
    subprocess.run([ASSAY, "models", "fetch", options.model], check=True)
    command = [ASSAY, "models", "serve", options.model, "--port", "0", "--threads", str(options.threads)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout
        try:
            print(run_study(options, server.stdout.readline().strip()))
        finally:
            server.kill()


if __name__ == "__main__":
    main()
