"""What all tests share."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from assay.store.store import Store
from served import served

settings.load_profile("ci")  # the same examples every time; others are drawn by --hypothesis-profile=default

# pynndescent is compiled in every process that names it: here for its answers, not for its speed
os.environ["NUMBA_OPT"] = "0"

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
POSTGRES = Path(__file__).parent.parent / "scripts" / "postgres.sh"
_numbers = count(1)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The real data beside the repository."""
    if not SHARED.is_dir():
        pytest.skip(f"the sets in {SHARED} are not here")
    return SHARED


Called = tuple[subprocess.CompletedProcess[str], Path]


@pytest.fixture(scope="session")
def called_demo(tmp_path_factory: pytest.TempPathFactory) -> Called:
    """What the demo said, and the folder in which it was called, once for all tests: only to be read."""
    folder = tmp_path_factory.mktemp("called")
    command = [str(Path(sys.executable).with_name("assay")), "demo"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True), folder


@pytest.fixture(scope="module")
def demo(called_demo: Called, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `assay-demo` that the demo leaves, to play with."""
    done, folder = called_demo
    assert done.returncode == 0, done.stderr
    return Path(shutil.copytree(folder / "assay-demo", tmp_path_factory.mktemp("left") / "assay-demo"))


@pytest.fixture
def benchmark(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark that a file of tests names, as a module."""
    script: Path = request.module.SCRIPT
    monkeypatch.syspath_prepend(str(script.parent))
    return import_module(script.stem)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(folder)], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The URL of a PostgreSQL of the tests' own, installed where it is missing."""
    with served(str(POSTGRES)) as (url, reason):
        if not url:
            assert "is not installed" in reason, reason
            pytest.skip(reason)
        yield url


@pytest.fixture
def postgres(cluster: str) -> str:
    """The URL of a new database; a store needs ?tables=FOLDER after it."""
    import psycopg

    name = f"test{next(_numbers)}"
    with psycopg.connect(cluster, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return cluster.removesuffix("postgres") + name


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new store is to be: in a folder, and in PostgreSQL."""
    if request.param == "sqlite":
        return str(tmp_path / "store")
    return f"{request.getfixturevalue('postgres')}?tables={tmp_path}/tables"


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    """A new store of either kind."""
    with Store(place) as made:
        yield made
