"""What each kind of job does: a judge labels pairs, a sweep is saved, a worker is interrupted by a flag."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from assay.datasets.judgment_files import read_judgments
from assay.store.jobs import Job, Jobs
from assay.store.store import Store
from assay.workflows import jobs as job_workflows
from assay.workflows.job_worker import work
from assay.workflows.jobs import JobRequest, StartJobRequest, cancel_job, resume_job, start_job
from tests.chat_doubles import chat_double
from tests.web.slow_project import speed_up, write_slow_project

JUDGE = """
[serve.judges.tail]
endpoint = "{url}"
model = "m"
pairs = "pool.jsonl"
queries = "queries.jsonl"
documents = "documents.jsonl"
out = "labels.jsonl"
grades = "0-1"
"""
BENCH = """
[data]
base = "base.npy"
queries = "base.npy"
metric = "l2"

[run]
repetitions = 1
modes = ["batch"]

[[index]]
engine = "faiss.flat"
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(job_workflows, "start_worker", lambda job, store: None)
    return write_slow_project(tmp_path, seconds=1.5)


def read_job(store: Path, job: str) -> Job:
    with Store(store) as opened:
        return Jobs(opened.database).get(job)


def test_a_judge_labels_the_pairs_of_its_table(store: Path, tmp_path: Path) -> None:
    rows = range(4)
    tables = {
        "queries": [{"query_id": f"q{n}", "text": f"word{n}"} for n in rows],
        "documents": [{"doc_id": f"d{n}", "text": f"word{n}"} for n in rows],
        "pool": [{"query_id": f"q{n}", "doc_id": f"d{n}"} for n in rows],
    }
    for name, table in tables.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in table))
    with chat_double() as server, (tmp_path / "assay.toml").open("a") as project:
        project.write(JUDGE.format(url=server.url))
        project.flush()
        job = start_job(StartJobRequest(kind="judge", name="tail", store=str(store)))
        work(job.id, str(store))
    done = read_job(store, job.id)
    assert (done.state, done.error, done.done, done.location) == ("done", "", 4, "/judges")
    assert len(read_judgments("labels.jsonl").frame) == 4


def test_a_sweep_is_measured_and_saved(store: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "base.npy", np.random.default_rng(0).random((50, 4), dtype=np.float32))
    (tmp_path / "sweep.toml").write_text(BENCH)
    job = start_job(StartJobRequest(kind="bench", name="sweep.toml", store=str(store)))
    work(job.id, str(store))
    done = read_job(store, job.id)
    assert (done.state, done.error, done.done) == ("done", "", 1)
    assert done.location.startswith("/experiments/")


def test_a_worker_stops_when_it_is_asked_and_goes_on_from_there(store: Path) -> None:
    job = start_job(StartJobRequest(kind="run", name="slow", store=str(store)))
    request = JobRequest(job=job.id, store=str(store))
    worker = subprocess.Popen([sys.executable, "-m", "assay.workflows.job_worker", job.id])
    until = time.monotonic() + 60
    while not read_job(store, job.id).done and time.monotonic() < until:
        time.sleep(0.1)
    cancel_job(request)
    assert worker.wait(60) == 0
    stopped = read_job(store, job.id)
    assert stopped.state == "cancelled"
    assert 0 < (stopped.done or 0) < 40
    speed_up(store.parent)
    resume_job(request)
    work(job.id, str(store))
    done = read_job(store, job.id)
    assert (done.state, done.done, done.attempt) == ("done", 40, 2)
