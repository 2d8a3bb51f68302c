"""The guide of `assay bench` is true: its benchmark and its engine are run, and every key is named."""

import json
import re
from pathlib import Path

import pytest

from assay.cli import call as run
from assay.cli.bench import parser
from assay.datasets.vectors import write_vectors
from tests.benches import make_clusters
from tests.indexes.example_engines import install_examples

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "bench.md").read_text(encoding="utf-8")
ENGINE_GUIDE = (DOCS / "write-an-engine.md").read_text(encoding="utf-8")
DATA = ["--base", "base.fbin", "--queries", "queries.fbin", "--metric", "l2"]
QUICK = ["--repetitions", "1", "--warmup", "0", "--format", "json"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with vectors, and the engine of the guide installed beside them."""
    monkeypatch.chdir(tmp_path)
    for vectors, path in zip(make_clusters(), ("base.fbin", "queries.fbin"), strict=True):
        write_vectors(vectors, path)
    installed = tmp_path / "installed"
    installed.mkdir()
    install_examples(installed, monkeypatch)
    return tmp_path


def block(language: str, holds: str) -> str:
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", GUIDE, re.S)
    return next(text for text in found if holds in text)


def test_the_engine_of_the_guide_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    (index,) = re.findall(r"--index '(sample [^']+)'", ENGINE_GUIDE)
    assert run(["bench", *DATA, *QUICK, "--index", index, "--mode", "single"]) == 0
    poor, whole = json.loads(capsys.readouterr().out)["trials"]
    assert (whole["indexed"], whole["build"]) == (True, {"seed": 1})
    assert re.fullmatch("0.1.0 source [0-9a-f]{8}", whole["version"])
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
    run(["bench", *DATA, *QUICK, "--index", "sample", "--mode", "single"])
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
