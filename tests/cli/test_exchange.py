"""assay experiments export, import, backup, restore and move."""

from pathlib import Path

import pytest

from assay.cli.experiments import command, parser
from assay.core.errors import FormatError, InputError
from assay.store.store import Store
from tests.stores import experiment, scores


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    with Store(tmp_path / ".assay") as store:
        store.put(experiment("a"), scores())
        store.put(experiment("b"))
    return tmp_path


def call(*words: str) -> None:
    assert command(parser().parse_args(words)) == 0


@pytest.mark.parametrize("target", ["out.csv", "out.jsonl", "sqlite:///out.db"])
def test_experiments_go_out_and_come_in(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    call("export", target)
    call("import", target, "--store", "other")
    call("import", target, "--store", "other")
    assert capsys.readouterr().out.splitlines() == [
        f"2 experiments written to {target}",
        "2 experiments added",
        "0 experiments added, 2 already there",
    ]


def test_a_filter_and_a_table_are_heeded(capsys: pytest.CaptureFixture[str]) -> None:
    call("export", "sqlite:///out.db", "--where", "name = 'a'", "--table", "results")
    call("import", "sqlite:///out.db", "--table", "results", "--store", "other")
    assert capsys.readouterr().out.splitlines()[1] == "1 experiment added"


def test_columns_taken_for_settings_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "given.csv").write_text("experiment_id,chunk_size\nx,512\n")
    call("import", "given.csv")
    assert capsys.readouterr().err == "columns taken as settings: chunk_size\n"


def test_a_column_with_nearly_a_known_name_is_refused(folder: Path) -> None:
    (folder / "given.csv").write_text("experiment_id,recal_at_10\nx,0.5\n")
    with pytest.raises(FormatError, match=r"no column 'recal_at_10'; did you mean recall_at_10\? rename it"):
        command(parser().parse_args(["import", "given.csv"]))


def test_a_backup_is_restored(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call("backup", "all.zip")
    call("restore", "all.zip", "back")
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("2 experiments and 1 table in all.zip, 0.0 MB")
    assert said[1] == "2 experiments and 1 table restored to back"
    with Store(folder / "back") as back:
        assert back.scores(back.get("a")) is not None


def test_a_store_is_moved(capsys: pytest.CaptureFixture[str]) -> None:
    call("move", "other")
    told = capsys.readouterr()
    assert told.out == "2 experiments and 1 table copied to other; the copies were checked and are equal\n"
    assert told.err.startswith(".assay is unchanged")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("export", "out.xlsx"), "expected FILE.csv"),
        (("import", "mlflow:http://x"), "not imported from it"),
        (("export", "out.csv", "--store", "none"), "there is no store at none"),
        (("restore", "none.zip", "back"), "there is no file none.zip"),
    ],
)
def test_wrong_use_is_told(words: tuple[str, ...], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        call(*words)


def test_a_password_is_not_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.workflows.exchange.export_sql", lambda *_: 2)
    call("export", "postgresql://me:secret@db/x")
    assert capsys.readouterr().out == "2 experiments written to postgresql://me:***@db/x\n"
