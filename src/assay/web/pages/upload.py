"""Drop a run or judgments: they are scored and kept as an experiment."""

from __future__ import annotations

from typing import Any

from fastapi import UploadFile

from assay.core.errors import InputError
from assay.evaluation import DEFAULT_MEASURES
from assay.web.page import Action, Context, Page, Parameters, Result, Role, View
from assay.workflows.jobs import start_upload_job
from assay.workflows.uploads import (
    LARGE_UPLOAD_BYTES,
    Upload,
    UploadChoices,
    UploadedFile,
    evaluate_upload,
    list_upload_choices,
    remove_files,
    store_files,
)

_MAX_FILE_NAME = 120  # characters that are shown of it


class UploadParameters(Parameters):
    """What is chosen already."""

    dataset: str = ""
    experiment: str = ""


class UploadForm(Parameters):
    """A run or judgments, what to score them with, and the name of the experiment."""

    run: UploadFile | str | None = None
    qrels: UploadFile | str | None = None
    dataset: str = ""
    experiment: str = ""
    name: str
    tags: str = ""
    measures: str = ""


def read(context: Context, parameters: UploadParameters) -> UploadChoices:
    """Return the evaluation sets to choose from."""
    return list_upload_choices(context.store)


def present(context: Context, value: UploadChoices, parameters: UploadParameters) -> View:
    """Return the form."""
    parts = {
        "choices": value,
        "measures": " ".join(DEFAULT_MEASURES),
        "most": value.most_bytes >> 20,
        "large": LARGE_UPLOAD_BYTES >> 20,
    }
    return View("Upload", "assay eval QRELS RUN --save NAME", parts)


def _upload(context: Context, form: UploadForm) -> Result:
    upload = _store(context, form)
    if upload.size > LARGE_UPLOAD_BYTES:
        job = start_upload_job(upload, context.user)
        return Result(f"/jobs/{job.id}", "a job scores the run")
    try:
        (saved,) = evaluate_upload(upload)
    finally:
        remove_files(upload.folder)
    return Result(f"/experiments/{saved.id}", "the run is scored and saved")


def _store(context: Context, form: UploadForm) -> Upload:
    """Return the uploaded files in a folder of their own; nothing is left of files that are refused."""
    sent = {"run": form.run, "qrels": form.qrels}
    files = {
        kind: UploadedFile(name=(file.filename or kind)[-_MAX_FILE_NAME:], content=file.file)
        for kind, file in sent.items()
        if file is not None and not isinstance(file, str) and file.filename
    }
    folder = store_files(files)
    options: dict[str, Any] = {"measures": form.measures.split()} if form.measures.strip() else {}
    try:
        return Upload(
            folder=folder,
            names={kind: file.name for kind, file in files.items()},
            dataset="" if "qrels" in files else form.dataset,
            experiment="" if "run" in files else form.experiment.strip(),
            name=form.name,
            tags=[tag.strip() for tag in form.tags.split(",") if tag.strip()],
            store=context.store,
            **options,
        )
    except InputError:
        remove_files(folder)
        raise


PAGES = (Page("/upload", "", "upload.html", read, present, UploadParameters, role=Role.ENGINEER),)
ACTIONS = (Action("/upload", UploadForm, _upload),)
