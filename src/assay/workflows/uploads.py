"""Runs and judgments that somebody uploaded: kept outside the project, scored, and saved as an experiment."""

from __future__ import annotations

import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from assay.core.errors import AssayError, InputError
from assay.core.groups import RunBlocks
from assay.evaluation import DEFAULT_MEASURES
from assay.store.rankings import read_queries
from assay.workflows.dataset_versions import ListDatasetsRequest, list_datasets
from assay.workflows.evaluate import EvaluateRequest, EvaluateResult, evaluate
from assay.workflows.inputs import TableFiles
from assay.workflows.recording import SavedExperiment, SaveRequest
from assay.workflows.saving import check_saving, save
from assay.workflows.stores import open_existing_store

MAX_UPLOAD_BYTES = 256 << 20  # of a file, as it is sent
MAX_UNPACKED_BYTES = 2 << 30  # of a compressed file
LARGE_UPLOAD_BYTES = 8 << 20  # from which on a job does the work
_CHUNK = 1 << 20
_PREFIX = "assay-upload-"
_GZIP = b"\x1f\x8b"
KINDS = ("run", "qrels")

RunWatch = Callable[[RunBlocks], RunBlocks]


@dataclass(frozen=True, kw_only=True)
class UploadedFile:
    """A file as somebody sent it; its name is shown, and never used as a path."""

    name: str
    content: BinaryIO


@dataclass(frozen=True, kw_only=True)
class Upload:
    """Uploaded files in a folder of their own, and how to score and save them."""

    folder: str
    names: Mapping[str, str]  # of the files as they were sent, by kind: run, qrels
    dataset: str = ""  # the label of a stored evaluation set, in place of uploaded judgments
    experiment: str = ""  # whose kept ranking is scored, in place of an uploaded run
    name: str
    tags: Sequence[str] = ()
    measures: Sequence[str] = DEFAULT_MEASURES
    store: str | None = None

    def __post_init__(self) -> None:
        if "run" not in self.names and not self.experiment:
            raise InputError(
                "expected a run, or an experiment whose ranking is scored on other judgments; found neither"
            )
        if "qrels" not in self.names and not self.dataset:
            raise InputError("expected judgments, or a stored evaluation set; found neither")
        SaveRequest(name=self.name)

    @property
    def size(self) -> int:
        """The size of the uploaded files in bytes."""
        return sum((Path(self.folder) / kind).stat().st_size for kind in self.names)

    def to_dict(self) -> dict[str, Any]:
        """Return the upload as plain data, from which a job makes it again."""
        return {**vars(self), "tags": list(self.tags), "measures": list(self.measures)}

    @property
    def files(self) -> TableFiles:
        """The files to score."""
        qrels = self._path("qrels") if "qrels" in self.names else f"dataset:{self.dataset}"
        return TableFiles(
            qrels=qrels, runs=[self._path("run")], names=[self.name.strip()[:100]], store=self.store
        )

    def _path(self, kind: str) -> str:
        return str(Path(self.folder) / kind)


def store_files(files: Mapping[str, UploadedFile], most: int = MAX_UPLOAD_BYTES) -> str:
    """Write uploaded files to a new folder for temporary files, by kind, and return the folder."""
    folder = tempfile.mkdtemp(prefix=_PREFIX)
    try:
        for kind, file in files.items():
            _write_file(file, Path(folder) / kind, most)
    except BaseException:
        remove_files(folder)
        raise
    return folder


def _write_file(file: UploadedFile, path: Path, most: int) -> None:
    size = 0
    with path.open("xb") as target:
        while chunk := file.content.read(_CHUNK):
            size += len(chunk)
            if size > most:
                raise InputError(
                    f"{file.name}: expected at most {most >> 20} MB, found more; score it with `assay eval`"
                )
            target.write(chunk)
    if not size:
        raise InputError(f"{file.name}: expected a run or judgments, found an empty file")
    _refuse_bomb(file.name, path)


def _refuse_bomb(name: str, path: Path) -> None:
    """Refuse a compressed file that would fill the memory."""
    with path.open("rb") as source:
        if source.read(2) != _GZIP:
            return
        source.seek(0)
        unpacker, size = zlib.decompressobj(31), 0
        while (chunk := source.read(_CHUNK)) and not unpacker.eof:
            while chunk:
                size += len(unpacker.decompress(chunk, _CHUNK))
                chunk = unpacker.unconsumed_tail
                if size > MAX_UNPACKED_BYTES:
                    raise InputError(f"{name}: expected at most {MAX_UNPACKED_BYTES >> 30} GB when unpacked")


def remove_files(folder: str) -> None:
    """Remove the folder of an upload; no other folder."""
    path = Path(folder)
    if path.name.startswith(_PREFIX) and path.parent == Path(tempfile.gettempdir()):
        shutil.rmtree(path, ignore_errors=True)


def evaluate_upload(upload: Upload, watch: RunWatch | None = None) -> list[SavedExperiment]:
    """Score uploaded files and save the result as an experiment; errors name the files as they were sent."""
    try:
        request = SaveRequest(
            name=upload.name.strip(), store=upload.store, tags=upload.tags, note=_note(upload)
        )
        check_saving(request)
        if "run" not in upload.names:
            _write_kept_ranking(upload)
        options = EvaluateRequest(files=upload.files, measures=upload.measures, with_recordings=True)
        return save(request, _with_queries(upload, evaluate(options, watch)).recordings)
    except AssayError as error:
        raise InputError(_with_names(str(error), upload)) from None


def _note(upload: Upload) -> str:
    ranking = f" of the kept ranking of {upload.experiment}" if "run" not in upload.names else ""
    names = ", ".join(upload.names.values())
    return f"uploaded: {names}{ranking}"[:1000]


def _with_names(message: str, upload: Upload) -> str:
    """Return a message with the names of the files as they were sent, not as they are kept."""
    for kind, name in upload.names.items():
        message = message.replace(os.path.join(upload.folder, kind), name)
    return message.replace(upload.folder, "the upload")


def _with_queries(upload: Upload, result: EvaluateResult) -> EvaluateResult:
    """Return a result with the queries of the experiment whose ranking was scored."""
    if "run" in upload.names or result.tables.queries is not None:
        return result
    with open_existing_store(upload.store) as store:
        queries = read_queries(store, store.get(upload.experiment))
    return replace(result, recordings=[replace(r, queries=queries) for r in result.recordings])


def _write_kept_ranking(upload: Upload) -> None:
    """Write the ranking that an experiment kept as the run to score."""
    with open_existing_store(upload.store) as store:
        experiment = store.get(upload.experiment)
        digest = experiment.digests.get("rankings")
        if digest is None or not store.tables.has(digest):
            raise InputError(
                f"the ranking of {experiment.name} ({experiment.id}) was not kept; upload its run"
            )
        frame = pl.read_parquet(BytesIO(store.tables.read(digest)))
    path = Path(upload.folder) / "run"
    frame.select("query_id", "doc_id", (-pl.col("rank").cast(pl.Float64)).alias("score")).write_parquet(path)


@dataclass(frozen=True)
class UploadChoices:
    """What can be chosen for an upload."""

    datasets: Sequence[str]  # labels of stored evaluation sets, the newest first
    most_bytes: int = MAX_UPLOAD_BYTES

    def to_dict(self) -> dict[str, Any]:
        """Return the choices as plain data."""
        return {"datasets": list(self.datasets), "most_bytes": self.most_bytes}


def list_upload_choices(store: str | None = None) -> UploadChoices:
    """Return the stored evaluation sets on which an uploaded run can be scored."""
    versions = list_datasets(ListDatasetsRequest(store=store)).versions
    return UploadChoices([version.label for version in versions if "qrels" in version.digests])
