"""The benchmark runs, believes no time whose values differ, and shows that memory stays bounded."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "measures.py"


def bench(folder: Path, *options: str) -> tuple[str, list[dict[str, Any]]]:
    """What the benchmark prints, and its samples."""
    samples = folder / "samples.json"
    command = [
        sys.executable,
        str(SCRIPT),
        "--quick",
        "--folder",
        str(folder),
        "--json",
        str(samples),
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(samples.read_text())["samples"]


def test_files_are_timed_beside_pytrec_eval_and_all_values_agree(tmp_path: Path) -> None:
    printed, samples = bench(tmp_path, "--only", "files", "--tools", "assay", "pytrec_eval")
    assert "## From files: MSM-70\n\n| tool | files → values, s | ratio |" in printed
    assert "× (" in printed
    assert "differ" not in printed
    assert {sample["tool"] for sample in samples} == {"assay", "pytrec_eval"}
    assert max(sample["off"] for sample in samples) < 1e-6


def test_a_time_whose_values_differ_is_not_shown(tmp_path: Path) -> None:
    """The check has teeth: judgments that are changed behind its back are noticed."""
    chosen = ("--only", "files", "--tools", "assay")
    bench(tmp_path, *chosen)
    qrels = tmp_path / "MSM-70.qrels"
    queries = {line.split()[0] for line in qrels.read_text().splitlines()}
    qrels.write_text("".join(f"{query} 0 1 1\n" for query in queries))
    command = [sys.executable, str(SCRIPT), "--quick", "--folder", str(tmp_path), *chosen]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "| assay | values differ by" in done.stdout


def test_memory_of_a_streamed_file_stays_bounded_as_rows_grow(tmp_path: Path) -> None:
    """Both files are longer than what is worked on at a time, so what is added need not be held."""
    growth = ("--only", "growth", "--millions", "1.5", "4", "--tools", "assay", "--reps", "2")
    peaks: dict[float, list[float]] = {}
    for sample in bench(tmp_path, *growth)[1]:
        peaks.setdefault(sample["megabytes"], []).append(sample["peak"])
    (less, low), (more, high) = ((size, min(peaks[size])) for size in sorted(peaks))
    assert more - less > 80
    assert high - low < (more - less) / 3
