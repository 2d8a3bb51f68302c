"""Reading and writing of tables: detection of formats, opening of runs, output files."""

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import FormatError, InputError
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.datasets import FORMATS, KINDS, Collection, open_run, read, write
from assay.datasets.trec import RunFile

QRELS = Qrels({"q": {"a": 1, "b": 0}})
RUN = Run({"q": {"a": 0.5, "b": 0.25}})
QUERIES = Queries({"query_id": ["q"], "text": ["how"], "category": ["faq"]})
DOCUMENTS = Documents({"doc_id": ["a"], "title": ["A"], "text": ["one"]})
SINGLE_TABLES = [
    (kind, name)
    for name, file_format in FORMATS.items()
    if not file_format.is_collection
    for kind in file_format.writes
]
TABLES: dict[str, Any] = {"qrels": QRELS, "run": RUN, "queries": QUERIES, "documents": DOCUMENTS}


def test_every_format_has_a_description() -> None:
    names = ["trec", "beir", "json", "guide", "csv", "tsv", "jsonl", "parquet", "arrow", "smart"]
    names += ["sgml", "judgments", "ir_datasets"]
    assert list(FORMATS) == names
    for name, file_format in FORMATS.items():
        assert file_format.name == name
        assert "\n" not in file_format.description
        assert set(file_format.writes) <= set(file_format.reads) <= set(KINDS)


@pytest.mark.parametrize(("kind", "name"), SINGLE_TABLES)
@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_a_written_file_is_detected_by_its_content_alone(
    kind: Any, name: str, packing: str, tmp_path: Path
) -> None:
    write(TABLES[kind], tmp_path / f"a{FORMATS[name].extensions[0]}{packing}")
    (tmp_path / f"a{FORMATS[name].extensions[0]}{packing}").rename(tmp_path / "nameless")
    assert read(tmp_path / "nameless") == TABLES[kind]
    assert read(tmp_path / "nameless", kind) == TABLES[kind]


@pytest.mark.parametrize("name", [name for kind, name in SINGLE_TABLES if kind == "run"])
def test_a_run_of_any_format_can_be_opened(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"mine{FORMATS[name].extensions[0]}"
    write(RUN, path)
    run = open_run(path)
    assert isinstance(run, RunFile if name == "trec" else Run)
    assert run.name == ("mine" if name != "trec" else path.stem)
    assert [list(block.query_ids) for block in run.blocks()] == [["q"]]
    assert isinstance(open_run(path, format=name), type(run))


def test_opening_something_else_as_a_run_is_refused(tmp_path: Path) -> None:
    write(Collection(QUERIES, QRELS), tmp_path / "folder")
    with pytest.raises(InputError, match="beir cannot hold run"):
        open_run(tmp_path / "folder")


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"q 0 a 1\nq 0 b 0\n")))
    assert read("-") == QRELS


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "the file is empty; expected qrels, a run, queries or documents"),
        (b"  \n\n", "the file is empty"),
        (
            b"Dear reader,\nnothing of the kind.\n",
            "the format is unknown: .* begins with 'Dear reader,'.*--from",
        ),
        (b"<xml/>\n", "the format is unknown"),
        (b"x" * 500, r"begins with 'x{80}…'"),
        (b"PK\x03\x04\x00\x00\x08\x00", "found binary data that begins with b'PK"),
        (bytes(range(200, 207)) + b"\0" + bytes(range(128, 228)), "binary data|UTF"),
        (b"q 0 caf\xe9 1\n", r"nameless:1: expected UTF-8 text, found other bytes: b'\\xe9"),
        ("q 0 a 1\n".encode("utf-16"), "UTF-16 text that begins with .*; save it as UTF-8"),
        (b"\x1f\x8b\x08\x00garbage", "cannot be read|truncated"),
        (b"\x1f\x8b", "truncated"),
    ],
)
def test_the_error_of_unknown_content_says_what_was_expected_and_found(
    text: bytes, problem: str, tmp_path: Path
) -> None:
    (tmp_path / "nameless").write_bytes(text)
    with pytest.raises(FormatError, match=problem) as caught:
        read(tmp_path / "nameless")
    assert caught.value.path == str(tmp_path / "nameless")


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_file_and_an_empty_folder_are_refused(kind: Any, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="none: cannot be read: No such file"):
        read(tmp_path / "none", kind)
    with pytest.raises(FormatError, match="an empty folder"):
        read(tmp_path, kind)
    with pytest.raises(FormatError, match="cannot be read: Is a directory"):
        read(tmp_path, "qrels", format="trec")


def test_a_wrong_format_is_explained_by_its_reader(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("query_id,doc_id,grade\nq,a,1\n")
    with pytest.raises(FormatError, match="a:1: expected 4 fields"):
        read(tmp_path / "a", "qrels", format="trec")
    with pytest.raises(InputError, match="no format 'xml'; choose one of trec"):
        read(tmp_path / "a", format="xml")
    with pytest.raises(InputError, match="expected one of qrels, run, queries, documents as the kind"):
        read(tmp_path / "a", "judgments")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("table", "name", "problem"),
    [
        (QRELS, "a.xyz", "cannot be told from the name.*give format="),
        (QRELS, "none/a.csv", "there is no folder .*none"),
        (QUERIES, "a.run", "trec cannot hold queries; beir"),
        (Collection(QUERIES), "a.csv", "a collection is written as beir, guide, smart"),
        ("text", "a.csv", "expected Qrels, Run, Queries, Documents or a Collection, found str"),
        (QRELS, "folder.csv", "is a folder"),
    ],
)
def test_what_cannot_be_written_is_refused(table: Any, name: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match=problem):
        write(table, tmp_path / name)
    assert [place.name for place in tmp_path.iterdir()] == ["folder.csv"]


def test_a_file_is_replaced_completely_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    write(RUN, path)
    before = path.read_bytes()
    with pytest.raises(FormatError, match="cannot hold the id"):
        write(Run({"q": {"a": 1.0}, "r s": {"a": 1.0}}), path)
    assert path.read_bytes() == before
    assert [place.name for place in tmp_path.iterdir()] == ["a.run"]
    write(QRELS, path)
    assert read(path) == QRELS


def test_compressing_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.run.gz", "b.run.gz"):
        write(RUN, tmp_path / name)
    assert (tmp_path / "a.run.gz").read_bytes() == (tmp_path / "b.run.gz").read_bytes()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(FormatError, match="cannot be written: Permission denied"):
        write(RUN, tmp_path / "a.run")


_LIGHT = """
import sys
from pathlib import Path
folder = Path(sys.argv[1])
from assay.datasets import open_run, read
for path in sorted(folder.iterdir()):
    read(path)
assert list(open_run(folder / "a.run").blocks())
print(*sorted({"polars", "pandas", "pyarrow", "duckdb"} & set(sys.modules)))
"""


def test_small_files_are_read_without_polars(tmp_path: Path) -> None:
    write(RUN, tmp_path / "a.run")
    write(QRELS, tmp_path / "a.qrels")
    for ending in ("csv", "tsv", "jsonl"):
        for name, table in TABLES.items():
            write(table, tmp_path / f"{name}.{ending}")
    write(RUN, tmp_path / "run.json")
    write(QRELS, tmp_path / "qrels.json")
    write(Collection(QUERIES, QRELS), tmp_path / "guide.json")
    write(Collection(QUERIES, QRELS, DOCUMENTS), tmp_path / "beir")
    process = subprocess.run(
        [sys.executable, "-c", _LIGHT, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == ""
