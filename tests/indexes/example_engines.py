"""The package of examples/engines, made importable in tests as if it were installed."""

import os
import tomllib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "engines"
PROJECT = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENTRY_POINTS: dict[str, str] = PROJECT["entry-points"]["assay.indexes"]
TRIES_LIBRARIES = bool(os.environ.get("ASSAY_EXAMPLE_ENGINES"))


def install_examples(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the metadata of the package to a folder and put both on the path of this and of new processes."""
    metadata = folder / f"assay_example_engines-{PROJECT['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {PROJECT['name']}\nVersion: {PROJECT['version']}\n"
    )
    lines = [f"{name} = {target}" for name, target in ENTRY_POINTS.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[assay.indexes]", *lines, ""]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(FOLDER)]), prepend=os.pathsep)
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.syspath_prepend(folder)
