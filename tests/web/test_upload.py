"""Uploads: scored and kept, refused with the line, never trusted."""

import gzip
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from assay.core.errors import InputError
from assay.store.jobs import Jobs
from assay.store.store import Store
from assay.web.body_limit import MAX_BODY_BYTES
from assay.web.pages import upload as upload_page
from assay.workflows import jobs as job_workflows
from assay.workflows import uploads
from assay.workflows.dataset_versions import ImportDatasetRequest, import_dataset
from assay.workflows.job_worker import work
from tests.web.dashboards import open_dashboard, save_experiments, token_of

RUN = b"q0 Q0 a 1 2 t\nq1 Q0 b 1 2 t\n"
QRELS = b"q0 0 a 1\nq1 0 a 1\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, in which nothing may be left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def client(tmp_path: Path, folder: Path) -> TestClient:
    client = open_dashboard(save_experiments(tmp_path))
    client.headers.update({**token_of(client), "accept": "application/json"})
    return client


def send(client: TestClient, files: dict[str, bytes], **form: str) -> Any:
    named = {kind: (f"{kind}<b>.txt", content) for kind, content in files.items()}
    return client.post("/upload", data={"name": "dropped", **form}, files=named)


def test_a_run_is_scored_on_uploaded_judgments(client: TestClient, folder: Path) -> None:
    response = send(client, {"run": RUN, "qrels": QRELS}, tags="a, b", measures="RR@10")
    assert response.status_code == 200, response.text
    saved = client.get(response.json()["location"] + ".json").json()
    assert (saved["name"], saved["tags"]) == ("dropped", ["a", "b"])
    assert [m["value"] for m in saved["metrics"]] == [0.5]
    assert not list(folder.iterdir())


def test_a_compressed_run_is_scored_on_a_stored_evaluation_set(client: TestClient, tmp_path: Path) -> None:
    request = ImportDatasetRequest(
        name="shop", source=str(tmp_path / "qrels.txt"), store=str(tmp_path / "store")
    )
    label = import_dataset(request).version.label
    assert label in client.get("/upload", headers={"accept": "text/html"}).text
    response = send(client, {"run": gzip.compress(RUN)}, dataset=label, measures="RR@10")
    assert response.status_code == 200, response.text


def test_judgments_score_the_kept_ranking_of_an_experiment(client: TestClient) -> None:
    response = send(client, {"qrels": b"q0 0 b 1\nq1 0 b 1\n"}, experiment="vectors", measures="RR@10")
    saved = client.get(response.json()["location"] + ".json").json()
    assert [m["value"] for m in saved["metrics"]] == [0.5]
    assert "kept ranking of vectors" in saved["note"]


@pytest.mark.parametrize(
    ("files", "form", "problem"),
    [
        ({"run": RUN + b"q2 Q0\n", "qrels": QRELS}, {}, "run<b>.txt:3: expected 6 fields"),
        ({"run": RUN, "qrels": b"\x00\xff\xfe"}, {}, "qrels<b>.txt"),
        ({"run": b"", "qrels": QRELS}, {}, "found an empty file"),
        ({"run": RUN}, {}, "expected judgments"),
        ({}, {}, "expected a run"),
        ({"run": RUN}, {"dataset": "../../etc/passwd"}, "there is no dataset '../../etc/passwd'"),
        ({"run": RUN, "qrels": QRELS}, {"measures": "Magic@3"}, "Magic"),
        ({"run": RUN, "qrels": QRELS}, {"name": " "}, "expects a name"),
    ],
)
def test_what_cannot_be_scored_is_refused_and_nothing_is_left(
    client: TestClient, folder: Path, files: dict[str, bytes], form: dict[str, str], problem: str
) -> None:
    response = send(client, files, **form)
    assert response.status_code == 400, response.text
    assert problem in response.json()["error"]
    assert str(folder) not in response.text
    assert not list(folder.iterdir())


def test_a_file_that_is_too_large_or_unpacks_too_far_is_refused(
    client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_UNPACKED_BYTES", 1 << 16)
    bomb = send(client, {"run": gzip.compress(b"q0 Q0 a 1 2 t\n" * 100_000), "qrels": QRELS})
    assert "when unpacked" in bomb.json()["error"]
    large = uploads.UploadedFile(name="x", content=BytesIO(RUN))
    with pytest.raises(InputError, match="at most 0 MB"):
        uploads.store_files({"run": large}, most=3)
    assert not list(folder.iterdir())


def test_a_large_run_is_scored_by_a_job(
    client: TestClient, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_page, "LARGE_UPLOAD_BYTES", 10)
    monkeypatch.setattr(job_workflows, "start_worker", lambda job, store: None)
    location = send(client, {"run": RUN, "qrels": QRELS}, measures="RR@10").json()["location"]
    job = location.removeprefix("/jobs/")
    assert str(folder) not in client.get(f"/jobs/{job}.json").text
    work(job, str(tmp_path / "store"))
    with Store(tmp_path / "store") as store:
        done = Jobs(store.database).get(job)
    assert (done.state, done.done) == ("done", 2)
    assert client.get(f"{done.location}.json").json()["name"] == "dropped"
    assert not list(folder.iterdir())


def test_a_change_may_not_send_more_than_a_form(client: TestClient) -> None:
    response = client.post("/experiments/words/note", data={"text": "x" * (MAX_BODY_BYTES + 1)})
    assert response.status_code == 413
    assert "expected at most 1,048,576 bytes" in response.json()["error"]


def test_only_folders_of_uploads_are_removed(tmp_path: Path) -> None:
    uploads.remove_files(str(tmp_path))
    assert tmp_path.is_dir()
