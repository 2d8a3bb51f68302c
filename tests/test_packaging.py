"""A wheel and a source distribution are built, and the wheel works in an environment of its own."""

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
QRELS = "q1 0 reset-password 1\nq2 0 invoice 1\n"
RUN = "q1 Q0 reset-password 1 12.1 mine\nq2 Q0 plans 1 7.7 mine\n"


def run(*command: str | Path, cwd: Path) -> str:
    """The standard output of a command that must succeed, without this process's import path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    process = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the source distribution; the wheel is built from the latter."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


def test_wheel_and_source_distribution_hold_the_same_package(distributions: Path) -> None:
    (wheel,), (source,) = (
        distributions.glob("assay_search-*.whl"),
        distributions.glob("assay_search-*.tar.gz"),
    )
    package = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "assay").rglob("*.py")}
    assert package <= set(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(source) as archive:
        top = source.name.removesuffix(".tar.gz")
        assert {f"{top}/src/{name}" for name in package} <= set(archive.getnames())


def test_wheel_works_in_a_clean_environment(distributions: Path, tmp_path: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    bin_folder = tmp_path / "venv" / "bin"
    run(
        bin_folder / "pip",
        "install",
        "--quiet",
        "--constraint",
        ROOT / "constraints.txt",
        wheel,
        cwd=tmp_path,
    )
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "run.txt").write_text(RUN)
    assert run(bin_folder / "assay", "--version", cwd=tmp_path).startswith("assay ")
    table = run(bin_folder / "assay", "eval", "qrels.txt", "run.txt", "-m", "R@10", cwd=tmp_path)
    assert "0.5000" in table
