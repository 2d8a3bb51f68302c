"""Logs of real and simulated result pages for the tests of click models."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from assay.core.result_pages import Pages, ResultPage
from assay.datasets.result_pages import read_pages
from assay.judging.clicks.simulation import SimulatedQueries

EXAMINATION = 1 / np.arange(1, 7) ** 0.7


def trec_pages(shared: Path) -> Pages:
    return read_pages(shared / "trec_session_2013/first_pages.json")


def tiangong_pages(shared: Path, part: str) -> Pages:
    return read_pages(shared / f"tiangong_demo/{part}.txt")


def trec_oracle(shared: Path, model: str) -> dict[str, Any]:
    oracle = json.loads((shared / "trec_session_2013/click_model_oracle.json").read_text())
    fits: dict[str, dict[str, Any]] = oracle["models"]
    return fits[model]


def simulate_views(seed: int, pages: int = 6000) -> tuple[Pages, np.ndarray, np.random.Generator]:
    """Return pages without clicks, the attraction of the document at each rank, and the generator."""
    rng = np.random.default_rng(seed)
    queries = SimulatedQueries.draw(30, 8, 6, rng)
    views = queries.draw_pages(pages, rng)
    return views, queries.attraction_of(views), rng


def attraction_of_pairs(pages: Pages, values: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the value of each pair, of values at the ranks of pages."""
    flat, first = np.unique(pages.pair_keys.ravel(), return_index=True)
    return values.ravel()[first][np.searchsorted(flat, keys)]


def page(query: str, documents: str, clicks: str) -> ResultPage:
    return ResultPage(query, list(documents), [int(click) for click in clicks])
