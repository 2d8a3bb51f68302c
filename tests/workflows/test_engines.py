"""The workflow `list_engines`."""

import pytest

from assay.core.errors import AssayError, InputError
from assay.workflows.engines import EnginesRequest, list_engines


def test_all_engines_are_listed() -> None:
    plain = list_engines(EnginesRequest()).to_dict()
    assert isinstance(plain, list)
    assert {"engine", "needs", "state"} == set(plain[0])
    assert "faiss.hnsw" in [row["engine"] for row in plain]


def test_the_parameters_of_an_engine_are_described() -> None:
    pytest.importorskip("faiss")
    plain = list_engines(EnginesRequest(names=["faiss.hnsw"])).to_dict()
    assert isinstance(plain, dict)
    assert set(plain["faiss.hnsw"]["search"]) == {"efSearch"}


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(AssayError, match="there is no engine"):
        list_engines(EnginesRequest(names=["fais.hnsw"]))


def test_an_interpreter_without_engines_to_describe_is_refused() -> None:
    with pytest.raises(InputError, match="--python names the interpreter of the engines to describe"):
        list_engines(EnginesRequest(python="/nowhere"))
