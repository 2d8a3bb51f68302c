"""Trials are opened as a study: from the vectors, or from stored hits if the vectors are gone."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import InputError
from assay.core.vectors import Neighbors
from assay.datasets.vectors import read_neighbors, write_neighbors
from assay.workflows.bench import bench
from assay.workflows.study import is_without_vectors, open_study
from tests.workflows.sweeps import bench_request, prepare_folder


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a sweep of two trials."""
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        prepare_folder(folder, patch)
        bench(bench_request())
        yield folder


@pytest.fixture
def gone(folder: Path) -> Iterator[None]:
    """The vectors are gone during a test."""
    Path("base.fbin").rename("moved.fbin")
    yield
    Path("moved.fbin").rename("base.fbin")


def test_a_study_has_the_hits_and_the_returned_ids_of_every_query() -> None:
    study = open_study("swept")
    poor, good = study.scored_trials
    assert good.hits is not None
    assert (good.hits.counts == 5).all()
    assert poor.returned_ids is not None
    assert poor.returned_ids.shape == (40, 5)
    assert not is_without_vectors(study)


def test_stored_hits_replace_the_vectors_that_are_gone(gone: None) -> None:
    without = open_study("swept")
    assert is_without_vectors(without)
    Path("moved.fbin").rename("base.fbin")
    study = open_study("swept")
    Path("base.fbin").rename("moved.fbin")
    for scored, expected in zip(without.scored_trials, study.scored_trials, strict=True):
        assert scored.hits is not None
        assert expected.hits is not None
        assert np.array_equal(scored.hits.counts, expected.hits.counts)
        assert scored.trial.measures == expected.trial.measures


def test_without_the_vectors_strict_hits_need_the_truth_alone(gone: None) -> None:
    study = open_study("swept", k=2, policy="strict")
    assert [scored.trial.k for scored in study.scored_trials] == [2, 2]


def test_without_the_vectors_other_hits_are_refused(gone: None) -> None:
    with pytest.raises(InputError, match="the hits that are stored are those at K = 5 by the policy ties"):
        open_study("swept", k=2)


def test_without_vectors_and_truth_the_last_table_says_whether_every_query_has_neighbours(
    gone: None,
) -> None:
    (truth,) = Path("swept").glob("truth-*.parquet")
    neighbors = read_neighbors(truth)
    truth.unlink()
    study = open_study("swept")
    assert [scored.hits is not None for scored in study.scored_trials] == [True, True]
    Path("swept/trials.parquet").rename("trials.parquet")
    with pytest.raises(InputError, match="a file that was searched does not exist any more"):
        open_study("swept")
    Path("trials.parquet").rename("swept/trials.parquet")
    write_neighbors(Neighbors(neighbors.positions, neighbors.distances), truth)
