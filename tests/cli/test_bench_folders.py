"""assay bench: what is in the folder of a sweep beside its own trials, and what is damaged there."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.cli import call as run
from assay.datasets.vectors import write_vectors
from tests.benches import install_test_engines, make_clusters

QUICK = ["--base", "base.fbin", "--queries", "queries.fbin", "--metric", "l2", "-k", "5"]
QUICK += ["--repetitions", "1", "--warmup", "0"]


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with vectors, and somebody's engines."""
    folder = tmp_path_factory.mktemp("folders")
    with pytest.MonkeyPatch.context() as patch:
        install_test_engines(folder, patch)
        patch.chdir(folder)
        for name, vectors in zip(("base", "queries"), make_clusters(), strict=True):
            write_vectors(vectors, f"{name}.fbin")
        yield folder


def call_bench(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["bench", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_ids_of_others_that_lie_outside_the_base_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    h5py = pytest.importorskip("h5py")
    from tests.imported_files import fill

    assert call_bench(capsys, *QUICK, "-o", "outside", "--mode", "batch", "--index", "misbehaving")[0] == 0
    with h5py.File("outside.hdf5", "w") as file:
        fill(file, [[0, 1, 2, 3, 1500]] * 40, [[1.0] * 5] * 40, count=5)
    out = call_bench(capsys, "import", "outside.hdf5", "-o", "outside", "--format", "json")[1]
    assert "40 of 200 returned ids lie outside the base" in json.loads(out)["trials"][0]["note"]


def test_a_copy_that_another_tool_left_is_no_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert call_bench(capsys, *QUICK, "-o", "copied", "--mode", "batch", "--index", "misbehaving")[0] == 0
    shown = call_bench(capsys, "show", "copied")
    (first,) = Path("copied").rglob("repetition-0.parquet")
    first.with_name("repetition-0 (copy).parquet").write_bytes(first.read_bytes())
    assert call_bench(capsys, "show", "copied") == shown


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("sweep.json", '{"data": {}, "sources": {}, "options": {}}', "does not name its data"),
        ("sweep.json", '{"data": {"digests": {}}}', "has no sources and options"),
        ("truth-*.parquet", "PAR1", "is damaged; a sweep wrote it: delete it"),
    ],
)
def test_damage_is_told_with_what_helps(
    capsys: pytest.CaptureFixture[str], name: str, text: str, problem: str, tmp_path: Path
) -> None:
    folder = str(tmp_path / "damaged")
    assert call_bench(capsys, *QUICK, "-o", folder, "--mode", "batch", "--index", "misbehaving")[0] == 0
    (path,) = Path(folder).glob(name)
    path.write_text(text)
    code, _, err = call_bench(capsys, "show", folder)
    assert (code, problem in err) == (2, True)


def test_a_folder_whose_description_was_deleted_takes_no_other_data(
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = ["-o", "undescribed", "--mode", "batch", "--index", "misbehaving"]
    assert call_bench(capsys, *QUICK, *argv)[0] == 0
    Path("undescribed/sweep.json").unlink()
    write_vectors(make_clusters(seed=1)[1], "others.fbin")
    code, _, err = call_bench(capsys, *(name.replace("queries.", "others.") for name in QUICK), *argv)
    assert code == 2
    assert "undescribed holds trials of other data: not the same queries" in err
    code, _, err = call_bench(capsys, *QUICK, *argv, "--index", "misbehaving seed=1")
    assert code == 0
    assert "2 trials in undescribed; all answers are stored" in err


def test_trials_that_are_there_are_counted_and_failed_ones_have_no_answers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for number in (1, 2):
        index = ["--index", f"misbehaving fails=refuse seed={number}"]
        code, _, err = call_bench(capsys, *QUICK, "-o", "failing", "--mode", "batch", *index)
        assert code == 1
        assert f"\n{number} trial{'s' * (number > 1)} in failing: assay bench show failing\n" in err


def test_a_base_that_changed_is_told_with_what_helps(capsys: pytest.CaptureFixture[str]) -> None:
    argv = [name.replace("base.", "changing.") for name in QUICK]
    shutil.copy("base.fbin", "changing.fbin")
    assert call_bench(capsys, *argv, "-o", "changed", "--mode", "batch", "--index", "misbehaving")[0] == 0
    write_vectors(make_clusters(seed=2)[0], "changing.fbin")
    code, _, err = call_bench(capsys, "show", "changed")
    assert code == 2
    assert "changed since; restore the old files, or measure the new ones into another folder (-o)" in err


def test_a_folder_without_trials_is_said_to_have_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert call_bench(capsys, *QUICK, "-o", "emptied", "--mode", "batch", "--index", "misbehaving")[0] == 0
    shutil.rmtree("emptied/trials")
    assert "emptied holds no trials yet" in call_bench(capsys, "show", "emptied")[2]
