"""What [serve] allows pages to start."""

from pathlib import Path

import pytest

from assay.core.errors import ConfigurationError
from assay.workflows.job_settings import read_job_settings
from assay.workflows.serve_settings import read_serve_settings

JUDGE = """
[serve]
bench = "sweep.toml"

[serve.judges.tail]
endpoint = "http://localhost:8000/v1"
model = "m"
pairs = "pool.csv"
queries = "queries.jsonl"
documents = "documents.jsonl"
out = "labels.jsonl"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "assay.toml"
    path.write_text(text)
    return path


def test_without_a_project_nothing_is_allowed(tmp_path: Path) -> None:
    settings = read_job_settings(tmp_path / "assay.toml")
    assert (settings.bench, settings.judges) == ((), {})


def test_bench_files_and_judges_are_read_beside_the_accounts(tmp_path: Path) -> None:
    path = write(tmp_path, JUDGE)
    settings = read_job_settings(path)
    judge = settings.judges["tail"]
    assert settings.bench == ("sweep.toml",)
    assert (judge.pairs, judge.model.model) == (str(tmp_path / "pool.csv"), "m")
    assert read_serve_settings(path).may_start == ()


def test_all_problems_of_a_judge_are_named(tmp_path: Path) -> None:
    text = JUDGE.replace('model = "m"', "modell = 3").replace('out = "labels.jsonl"', "price_in = true")
    with pytest.raises(ConfigurationError) as error:
        read_job_settings(write(tmp_path, text))
    assert {"serve.judges.tail.model", "serve.judges.tail.out", "serve.judges.tail.price_in"} <= set(
        error.value.problems
    )
