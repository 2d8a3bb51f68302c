"""The searches of a study: how deep each is asked, how long it took, and which is exact."""

from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.datasets.handbook import generate_handbook
from assay.rag.contexts import EXACT
from assay.workflows.handbook_project import HandbookIndex, write_handbook_project
from assay.workflows.rag_searches import SearchRequest, StudySearches, open_searches

K = 3
INDEXES = {
    "graph": HandbookIndex("hnswlib", {"M": 2, "ef_construction": 2}, {"ef": 1}),
    "cells": HandbookIndex("faiss.ivfflat", {"nlist": 8}, {"nprobe": 1}),
}


@pytest.fixture(scope="module")
def searches(tmp_path_factory: pytest.TempPathFactory) -> StudySearches:
    project = write_handbook_project(tmp_path_factory.mktemp("book"), 80, 6, INDEXES)
    with open_searches(SearchRequest(project=project), K) as searches:
        return searches


def test_an_index_is_asked_for_k_documents_and_exact_search_for_those_after_them(
    searches: StudySearches,
) -> None:
    # a graph that is asked for more than it shows searches wider, and is better than in use
    for name in INDEXES:
        assert max(len(documents) for documents in searches.rankings[name].values()) <= K
    assert {len(documents) for documents in searches.truth.values()} == {2 * K}


def test_the_exact_search_of_the_first_index_is_the_truth(searches: StudySearches) -> None:
    book = generate_handbook(80, 6)
    assert searches.exact == EXACT
    assert searches.families == {"graph": "graph", "cells": "partition", EXACT: EXACT}
    assert set(searches.truth) == set(book.questions.ids)


def test_the_latency_of_each_search_is_known(searches: StudySearches) -> None:
    for name in (*INDEXES, EXACT):
        assert searches.milliseconds[name].keys() == searches.rankings[name].keys()
        assert min(searches.milliseconds[name].values()) > 0


def test_two_run_files_of_one_name_are_refused(tmp_path: Path) -> None:
    write_handbook_project(tmp_path, 10, 2, {})
    files = SearchRequest(
        runs=["a/x.run", "b/x.run"],
        questions=str(tmp_path / "questions.jsonl"),
        documents=str(tmp_path / "corpus.jsonl"),
    )
    with pytest.raises(InputError, match="two files have the same name"), open_searches(files, K):
        pass


def test_without_a_project_and_without_runs_the_error_says_what_to_name(tmp_path: Path) -> None:
    request = SearchRequest(project=str(tmp_path / "assay.toml"))
    expected = pytest.raises(InputError, match="name --run files, or a project with systems")
    with expected, open_searches(request, K):
        pass
