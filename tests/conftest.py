"""What all tests share."""

import fcntl
import json
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
from tests.served import served

settings.load_profile("ci")  # the same examples every time; others are drawn by --hypothesis-profile=default

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
POSTGRES = Path(__file__).parent.parent / "scripts" / "postgres.sh"
_numbers = count(1)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The real data beside the repository."""
    if not SHARED.is_dir():
        pytest.skip(f"the sets in {SHARED} are not here")
    return SHARED


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give every file to one test process, and the cases of a file with `IS_DIVIDED` to any of them."""
    for item in items if config.pluginmanager.hasplugin("xdist") else ():
        file, _, test = item.nodeid.partition("::")
        if getattr(getattr(item, "module", None), "IS_DIVIDED", False):
            case = getattr(item, "callspec", None)
            file += f":{case.id if case else test}"
        item.add_marker(pytest.mark.xdist_group(file.replace("]", ")")))  # xdist ignores a group with ]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse a version of pytest with which xdist ignores the groups: tests would only be slower."""
    if getattr(session.config.option, "loadgroup", False):
        is_grouped = (item.nodeid.rfind("@") > item.nodeid.rfind("]") for item in session.items)
        assert all(is_grouped), "expected tests in groups by file"


Called = tuple[subprocess.CompletedProcess[str], Path]


@pytest.fixture(scope="session")
def called_demo(tmp_path_factory: pytest.TempPathFactory) -> Called:
    """What the demo printed and the folder it ran in, once for all test processes: only to be read."""
    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent  # the test processes of one session have one parent folder
    folder, output = shared / "called-demo", shared / "called-demo.json"
    with open(shared / "called-demo.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not output.exists():
            folder.mkdir()
            command = [str(Path(sys.executable).with_name("assay")), "demo"]
            run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            output.write_text(json.dumps([run.args, run.returncode, run.stdout, run.stderr]))
    return subprocess.CompletedProcess(*json.loads(output.read_text())), folder


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
