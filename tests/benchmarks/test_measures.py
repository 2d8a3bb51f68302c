"""The benchmark runs, shows no time whose values differ, and shows that memory stays bounded."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "measures.py"


def run_benchmark(folder: Path, *options: str) -> tuple[str, list[dict[str, Any]]]:
    """Run the benchmark and return what it prints, and its samples."""
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
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return process.stdout, json.loads(samples.read_text())["samples"]


def test_files_are_timed_with_pytrec_eval_and_all_values_agree(tmp_path: Path) -> None:
    printed, samples = run_benchmark(tmp_path, "--only", "files", "--tools", "assay", "pytrec_eval")
    assert "## From files: MSM-70\n\n| tool | files → values, s | ratio |" in printed
    assert "× (" in printed
    assert "differ" not in printed
    assert {sample["tool"] for sample in samples} == {"assay", "pytrec_eval"}
    assert max(sample["off"] for sample in samples) < 1e-6


def test_a_time_whose_values_differ_is_not_shown(tmp_path: Path) -> None:
    """Judgments that change after the expected values were computed are noticed."""
    options = ("--only", "files", "--tools", "assay")
    run_benchmark(tmp_path, *options)
    qrels = tmp_path / "MSM-70.qrels"
    queries = {line.split()[0] for line in qrels.read_text().splitlines()}
    qrels.write_text("".join(f"{query} 0 1 1\n" for query in queries))
    command = [sys.executable, str(SCRIPT), "--quick", "--folder", str(tmp_path), *options]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 1
    assert "| assay | values differ by" in process.stdout


def test_memory_of_a_streamed_file_stays_bounded_as_rows_grow(tmp_path: Path) -> None:
    """Both files are larger than what is processed at a time, so the larger one needs no more memory."""
    options = ("--only", "growth", "--millions", "1.5", "4", "--tools", "assay", "--reps", "2")
    peaks: dict[float, list[float]] = {}
    for sample in run_benchmark(tmp_path, *options)[1]:
        peaks.setdefault(sample["megabytes"], []).append(sample["peak"])
    (small_size, small_peak), (large_size, large_peak) = ((size, min(peaks[size])) for size in sorted(peaks))
    assert large_size - small_size > 80
    assert large_peak - small_peak < (large_size - small_size) / 3
