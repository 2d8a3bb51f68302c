"""The guide of `assay bench` is true: its benchmark and its engine are run, and every key is named."""

import json
import re
from pathlib import Path

import pytest

from assay.cli import call as run
from assay.cli.bench import parser
from assay.datasets.vectors import write_vectors
from benches import clustered

GUIDE = (Path(__file__).parents[1] / "docs" / "bench.md").read_text(encoding="utf-8")
DATA = ["--base", "base.fbin", "--queries", "queries.fbin", "--metric", "l2"]
QUICK = ["--repetitions", "1", "--warmup", "0", "--format", "json"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with vectors, and the engine of the guide installed beside them."""
    monkeypatch.chdir(tmp_path)
    for vectors, path in zip(clustered(), ("base.fbin", "queries.fbin"), strict=True):
        write_vectors(vectors, path)
    about = tmp_path / "halves-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: halves\nVersion: 0.1\n")
    line = re.search(r"^(halves) = \"(halves:\w+)\"$", block("toml", "entry-points"), re.M)
    assert line
    (about / "entry_points.txt").write_text(f"[assay.indexes]\n{line[1]} = {line[2]}\n")
    (tmp_path / "halves.py").write_text(block("python", "class Halves"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def block(language: str, holds: str) -> str:
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", GUIDE, re.S)
    return next(text for text in found if holds in text)


def test_the_engine_of_the_guide_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    (index,) = re.findall(r"--index '(halves [^']+)'", block("text", "halves"))
    assert run(["bench", *DATA, *QUICK, "--index", index, "--mode", "single"]) == 0
    poor, whole = json.loads(capsys.readouterr().out)["trials"]
    assert (whole["indexed"], whole["version"], whole["build"]) == (True, "0.1", {"seed": 1})
    assert whole["measures"]["R@10"]["value"] == 1.0
    assert poor["measures"]["R@10"]["value"] < 0.9
    assert whole["disk_bytes"] > 1500 * 8 * 4


def test_the_file_of_the_guide_is_a_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    for library in ("faiss", "hnswlib"):
        pytest.importorskip(library)
    Path("bench.toml").write_text(block("toml", "[[index]]"))
    assert run(["bench", "bench.toml", "--mode", "batch", *QUICK]) == 0
    found = json.loads(capsys.readouterr().out)["trials"]
    assert [t["engine"] for t in found] == ["faiss.hnsw"] * 2 + ["faiss.ivfflat"] * 2 + ["hnswlib"] * 2


def test_the_guide_names_every_key_of_the_results(capsys: pytest.CaptureFixture[str]) -> None:
    run(["bench", *DATA, *QUICK, "--index", "halves", "--mode", "single"])
    found = json.loads(capsys.readouterr().out)
    keys = {*found, *found["data"], *found["sources"], *found["options"], *found["trials"][0]}
    assert [key for key in sorted(keys) if f"`{key}`" not in GUIDE] == []


def test_the_guide_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["run", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {
        "--help",
        "--note",
        "--tag",
        "--store",
    }
    assert len(options) > 20
    assert [option for option in sorted(options) if f"`{option}" not in GUIDE] == []
