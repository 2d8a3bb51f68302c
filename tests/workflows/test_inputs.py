"""TableFiles: where tables are and how they are written, opened as one value."""

from dataclasses import replace
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.datasets import Collection, helpcentre, write
from assay.workflows.inputs import TableFiles, read_configurations
from tests.workflows.small_files import write_files


def test_tables_are_opened_with_their_runs(tmp_path: Path) -> None:
    tables = write_files(tmp_path).open()
    assert [run.name for run in tables.runs] == ["bm25"]
    assert tables.qrels.to_dict()["q2"] == {"c": 1}
    assert tables.texts()["q1"] == "reset"
    assert tables.documents is None


def test_a_collection_brings_its_queries_and_documents(tmp_path: Path) -> None:
    queries, qrels, documents = helpcentre()
    write(Collection(queries, qrels, documents), tmp_path / "centre", format="beir")
    tables = TableFiles(qrels=str(tmp_path / "centre")).open()
    assert tables.queries is not None
    assert tables.documents is not None
    assert (len(tables.queries), len(tables.documents)) == (len(queries), len(documents))
    (tmp_path / "own.tsv").write_text("query_id\ttext\nq1\tmine\n")
    own = TableFiles(qrels=str(tmp_path / "centre"), queries=str(tmp_path / "own.tsv")).open()
    assert own.texts() == {"q1": "mine"}


def test_queries_and_documents_are_opened_without_judgments(tmp_path: Path) -> None:
    files = replace(write_files(tmp_path), qrels=None)
    queries, documents = files.open_unjudged()
    assert queries is not None
    assert (queries.ids[0], documents) == ("q1", None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qrels": None}, "expected the path of the judgments, found none"),
        ({"runs": ["-"], "queries": "-"}, r"standard input \(-\) can be read only once"),
        ({"columns": ["colour=x"]}, "run: query_id, doc_id, score, rank"),
        ({"columns": ["query_id"]}, "NAME=COLUMN"),
        ({"formats": ["xml"]}, "a format is one of trec"),
        ({"formats": ["table=trec"]}, "KIND=FORMAT, found 'table=trec'"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(write_files(tmp_path), **change).open()  # type: ignore[arg-type]


def test_a_folder_without_judgments_is_refused(tmp_path: Path) -> None:
    queries, _, documents = helpcentre()
    write(Collection(queries, None, documents), tmp_path / "centre", format="beir")
    with pytest.raises(InputError, match="expected judgments, found none in this folder"):
        TableFiles(qrels=str(tmp_path / "centre")).open()


def test_runs_of_the_same_name_are_named_by_their_paths(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    (tmp_path / "new").mkdir()
    other = tmp_path / "new" / "bm25.run"
    other.write_text((tmp_path / "bm25.run").read_text())
    paths = [*files.runs, str(other)]
    assert [run.name for run in replace(files, runs=paths).open().runs] == paths
    with pytest.raises(InputError, match="the same run is given twice"):
        replace(files, runs=[*files.runs, *files.runs]).open()


def test_configurations_are_one_for_each_run_or_none(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("k = 1\n")
    (tmp_path / "b.json").write_text('{"k": 2}')
    paths = [str(tmp_path / name) for name in ("a.toml", "b.json")]
    assert read_configurations(paths, ["x", "y"]) == {"x": {"k": 1}, "y": {"k": 2}}
    assert read_configurations([], ["x", "y"]) == {}
    with pytest.raises(InputError, match="one file for each of the 1 runs, found 2"):
        read_configurations(paths, ["x"])


def test_a_parameter_of_an_unknown_run_is_refused() -> None:
    with pytest.raises(InputError, match="there is no run 'bm52'; did you mean bm25"):
        read_configurations([], ["bm25", "dense"], ["bm52:k1=2"])
