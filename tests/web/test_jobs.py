"""The pages of jobs: what may be started, how far it is, and what is refused."""

from datetime import timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.store import jobs as stored_jobs
from assay.store.jobs import Job, Jobs
from assay.store.store import Store
from assay.workflows import jobs as job_workflows
from assay.workflows.job_worker import work
from tests.web.dashboards import open_dashboard, token_of
from tests.web.slow_project import write_slow_project

JSON = {"accept": "application/json"}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(job_workflows, "start_worker", lambda job, store: None)  # the test is the worker
    return write_slow_project(tmp_path)


@pytest.fixture
def client(store: Path) -> TestClient:
    client = open_dashboard(store)
    client.headers.update(token_of(client))
    return client


def start(client: TestClient) -> str:
    response = client.post("/jobs/start", data={"kind": "run", "name": "slow"}, headers=JSON)
    return str(response.json()["location"]).removeprefix("/jobs/")


def stored(store: Path, job: str) -> Job:
    with Store(store) as opened:
        return Jobs(opened.database).get(job)


def test_without_jobs_the_page_says_what_can_be_started(client: TestClient) -> None:
    page = client.get("/jobs").text
    assert "No job yet" in page
    assert "may_start = [&#34;other&#34;]" in page
    startable = {one["name"]: one["is_allowed"] for one in client.get("/jobs.json").json()["startable"]}
    assert startable == {"slow": True, "other": False, "sweep.toml": True}


def test_only_what_an_admin_allowed_is_started(client: TestClient) -> None:
    for kind, name in (("run", "other"), ("bench", "../secret.toml"), ("judge", "x"), ("shell", "ls")):
        response = client.post("/jobs/start", data={"kind": kind, "name": name}, headers=JSON)
        assert response.status_code == 400, response.text
    assert client.get("/jobs.json").json()["jobs"] == []


def test_a_system_is_run_and_its_result_is_linked(client: TestClient, store: Path) -> None:
    job = start(client)
    assert client.get(f"/jobs/{job}.json").json()["state"] == "waiting"
    work(job, str(store))
    data = client.get(f"/jobs/{job}.json").json()
    assert (data["state"], data["done"], data["total"]) == ("done", 40, 40)
    assert "asked reset 7" in [line["text"] for line in data["lines"]]
    assert client.get(data["location"] + ".json").json()["name"] == "slow"
    assert data["location"] in client.get("/jobs").text


def test_a_job_that_fails_says_why_and_can_be_resumed(client: TestClient, store: Path) -> None:
    job = start(client)
    qrels = store.parent / "qrels.txt"
    good = qrels.read_text()
    qrels.write_text("<b>broken</b>\n")
    work(job, str(store))
    page = client.get(f"/jobs/{job}").text
    assert "The job failed" in page
    assert "&lt;b&gt;broken" in page
    assert "qrels.txt:1" in page
    qrels.write_text(good)
    client.post(f"/jobs/{job}/resume")
    work(job, str(store))
    assert stored(store, job).state == "done"


def test_a_job_whose_worker_died_is_interrupted_and_resumed(
    client: TestClient, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = start(client)
    monkeypatch.setattr(stored_jobs, "SILENCE", timedelta(seconds=-1))
    assert "its worker ended" in client.get(f"/jobs/{job}").text
    assert stored(store, job).state == "interrupted"
    client.post(f"/jobs/{job}/resume")
    assert stored(store, job).attempt == 2


def test_a_job_that_is_done_is_not_resumed(client: TestClient, store: Path) -> None:
    job = start(client)
    work(job, str(store))
    response = client.post(f"/jobs/{job}/resume", headers=JSON)
    assert response.status_code == 400
    assert "only one that stopped can be resumed" in response.json()["error"]


def test_what_may_no_longer_be_started_is_not_resumed(client: TestClient, store: Path) -> None:
    job = start(client)
    project = store.parent / "assay.toml"
    project.write_text(project.read_text().replace('may_start = ["slow"]', "may_start = []"))
    work(job, str(store))
    assert "cannot be started from a page" in stored(store, job).error
    assert client.post(f"/jobs/{job}/resume", headers=JSON).status_code == 400


def test_an_unknown_job_is_an_error(client: TestClient) -> None:
    assert "there is no job" in client.get("/jobs/none.json").json()["error"]
