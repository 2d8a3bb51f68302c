"""Collections of ir_datasets, which a module of the same shape stands for here."""

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from assay.core.errors import FormatError, MissingExtraError
from assay.core.tables import Documents, Qrels, Queries
from assay.datasets import Collection, open_run, read, read_collection


class RequestsDownload:
    """What ir_datasets downloads with."""

    url = "https://example.org/docs.tgz"

    def stream(self) -> None:
        raise AssertionError("a download was started")


class Vaswani:
    """A collection whose documents are not on this machine."""

    def has_qrels(self) -> bool:
        return True

    has_queries = has_docs = has_qrels

    def has_scoreddocs(self) -> bool:
        return False

    def qrels_iter(self) -> Iterator[Any]:
        yield SimpleNamespace(query_id="1", doc_id="7", relevance=1)

    def queries_iter(self) -> Iterator[Any]:
        yield SimpleNamespace(query_id="1", text="dielectric")

    def docs_iter(self) -> Iterator[Any]:
        RequestsDownload().stream()
        yield SimpleNamespace(doc_id="7", title="late")


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    module, util, download = (ModuleType(f"ir_datasets{end}") for end in ("", ".util", ".util.download"))
    datasets = {"vaswani": Vaswani()}
    vars(module).update(load=datasets.__getitem__, registry=list(datasets), util=util)
    vars(util).update(download=download)
    vars(download).update(RequestsDownload=RequestsDownload)
    for part in (module, util, download):
        monkeypatch.setitem(sys.modules, part.__name__, part)


@pytest.mark.usefixtures("package")
def test_queries_and_judgments_are_read_by_id() -> None:
    collection = read("ir_datasets:vaswani")
    assert isinstance(collection, Collection)
    assert collection.qrels == Qrels({"1": {"7": 1}})
    assert collection.queries == Queries({"query_id": ["1"], "text": ["dielectric"]})
    assert collection.documents is None
    assert read_collection("ir_datasets:vaswani").qrels == collection.qrels


@pytest.mark.usefixtures("package")
def test_no_download_is_started_and_the_error_says_how_to_start_one() -> None:
    with pytest.raises(
        FormatError, match=r"not on this machine, and Assay starts no download \(https://exa"
    ) as caught:
        read("ir_datasets:vaswani", "documents")
    assert "`ir_datasets export vaswani docs > /dev/null`" in str(caught.value)
    with pytest.raises(AssertionError):  # the package itself is as it was
        RequestsDownload().stream()


@pytest.mark.usefixtures("package")
def test_documents_on_this_machine_are_read_with_their_default_text(monkeypatch: pytest.MonkeyPatch) -> None:
    row = SimpleNamespace(doc_id="7", default_text=lambda: "very late")
    monkeypatch.setattr(Vaswani, "docs_iter", lambda self: iter([row]))
    assert read("ir_datasets:vaswani", "documents") == Documents({"doc_id": ["7"], "text": ["very late"]})


@pytest.mark.usefixtures("package")
def test_an_unknown_collection_and_a_missing_part_are_refused() -> None:
    with pytest.raises(FormatError, match=r"no collection 'vaswanni'; did you mean vaswani\?"):
        read("ir_datasets:vaswanni", "qrels")
    with pytest.raises(FormatError, match="expected run, and this collection of ir_datasets has none"):
        open_run("ir_datasets:vaswani")


def test_a_missing_package_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtraError, match="pip install ir_datasets"):
        read("ir_datasets:vaswani")
