"""The registry of searchers: kinds, their parameters and inputs."""

from pathlib import Path

import pytest

from assay.core.errors import ConfigurationError, InputError
from assay.search import Query, Searcher
from assay.search.registry import (
    SEARCHERS,
    build_searcher,
    load_searcher_class,
    parameter_problems,
    required_inputs,
)
from tests.search import searches


def test_an_unknown_kind_is_refused_with_a_suggestion() -> None:
    with pytest.raises(InputError, match="no kind of system 'opensaerch'; did you mean opensearch"):
        load_searcher_class("opensaerch")


@pytest.mark.parametrize("kind", SEARCHERS)
def test_every_kind_has_parameters_and_inputs(kind: str) -> None:
    assert issubclass(load_searcher_class(kind), Searcher)
    assert set(required_inputs(kind)) <= {"documents", "encoder"}
    assert parameter_problems(kind, {"nonsense": 1})["nonsense"].startswith("there is no such parameter")


def test_all_wrong_parameters_of_a_searcher_are_reported() -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_searcher("qdrant", "mine", {"ulr": "http://x", "params": "exact"})
    assert caught.value.problems == {
        "systems.mine.ulr": "there is no such parameter; did you mean url?",
        "systems.mine.params": "expected dict, found 'exact'",
        "systems.mine.url": "must be given (str)",
        "systems.mine.collection": "must be given (str)",
        "systems.mine.encoder": "must be given: qdrant cannot search without it",
    }


def test_a_kind_of_another_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = tmp_path / "theirs-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[assay.systems]\ntheirs = assay.search.in_memory:BM25Searcher\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    searcher = build_searcher("theirs", "t", {"k1": 2.0}, documents=searches.TABLE)
    assert searcher.ask(Query("q", "router"), 1).documents[0][0] in ("d2", "d4")
