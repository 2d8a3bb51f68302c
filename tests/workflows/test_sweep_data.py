"""The data of a sweep are opened from its folder, or refused with what to do."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.bench.sweeps.folder import SweepFolder
from assay.core.errors import InputError
from assay.datasets.vectors import write_vectors
from assay.workflows.benchmark import Benchmark
from assay.workflows.sweep_data import open_hit_rule, open_sweep_data
from tests.benches import make_clusters

BASE, QUERIES = make_clusters(n=300, queries=20)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_vectors(BASE, "base.fbin")
    write_vectors(QUERIES, "queries.fbin")
    return tmp_path


def store_metadata(**sources: Any) -> None:
    """The folder `out`, as a sweep of the data leaves it."""
    opened = Benchmark("base.fbin", "queries.fbin", metric="l2").open_data("out")
    paths = {"base": "base.fbin", "queries": "queries.fbin", "truth": None, "limit": None} | sources
    options = {"policy": "ties"}
    SweepFolder("out").put_metadata({"data": opened.summary(), "sources": paths, "options": options})


def test_a_judge_by_another_k_or_policy() -> None:
    store_metadata()
    judge = open_hit_rule("out", k=3, policy="strict")[1]
    assert (judge.k, judge.policy) == (3, "strict")
    assert open_hit_rule("out")[1].policy == "ties"
    with pytest.raises(InputError, match="k is from 1 to 300"):
        open_hit_rule("out", k=0)


def test_a_folder_without_its_data_says_what_to_do() -> None:
    with pytest.raises(
        InputError, match=r"out is not the folder of a sweep.*`assay bench … -o out` makes one"
    ):
        open_sweep_data("out")
    store_metadata(base="gone.fbin")
    with pytest.raises(
        InputError, match=r"gone\.fbin; if it was moved, run the same benchmark with the new path"
    ):
        open_sweep_data("out")


def test_a_sweep_of_vectors_in_memory_cannot_be_opened_from_its_folder() -> None:
    store_metadata()
    said = json.loads(Path("out/sweep.json").read_text())
    Path("out/sweep.json").write_text(json.dumps(said | {"sources": {}}))
    with pytest.raises(InputError, match="out: the vectors came from memory, not from files"):
        open_sweep_data("out")


def test_data_that_changed_since_are_refused() -> None:
    store_metadata()
    changed = QUERIES.to_matrix().copy()
    changed[0] += 1
    write_vectors(changed, "queries.fbin")
    with pytest.raises(
        InputError, match=r"the queries are not those that were searched: queries\.fbin changed"
    ):
        open_sweep_data("out")
