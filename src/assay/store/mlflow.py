"""Export of experiments as runs of MLflow."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from assay.core.errors import MissingExtraError, StoreError
from assay.core.records import Experiment
from assay.core.settings import is_number
from assay.evaluation.configuration import flatten_settings
from assay.store.rows import Column, column_name, format_cell
from assay.store.store import Store

ID_TAG = "assay.id"  # the tag that identifies the experiment of a run
_FORBIDDEN = re.compile(r"[^\w./ -]", re.ASCII)
_LONGEST_NAME = 250
_LONGEST_PARAM = 6000
_LONGEST_TAG = 5000
Value = TypeVar("Value")
_BATCH_SIZE = 100  # params or tags in one call; the limit for metrics is higher


class ExportCounts(NamedTuple):
    """How many experiments were exported."""

    added: int
    skipped: int  # already in MLflow


def export_mlflow(store: Store, uri: str, experiment_name: str, where: str = "") -> ExportCounts:
    """Write each experiment as a run of MLflow with its scores as an artifact; existing runs are skipped."""
    try:
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
    except ImportError:
        raise MissingExtraError("MLflow", "an export to MLflow", "mlflow") from None
    try:
        client = MlflowClient(tracking_uri=uri)
        mlflow_experiment = client.get_experiment_by_name(experiment_name)
        group = (
            mlflow_experiment.experiment_id
            if mlflow_experiment
            else client.create_experiment(experiment_name)
        )
        exported_ids, experiments = _exported_ids(client, group), store.list(where)
        new = [e for e in reversed(experiments) if e.id not in exported_ids]
        for experiment in new:
            _log_run(client, group, store, experiment)
    except MlflowException as error:
        raise StoreError(f"MLflow at {uri} cannot be written: {error.message}") from error
    return ExportCounts(len(new), len(experiments) - len(new))


def _exported_ids(client: Any, group: str) -> set[str]:
    """The ids of the experiments that already have a run."""
    ids, token = set[str](), None
    while True:
        page = client.search_runs([group], max_results=1000, page_token=token)
        ids |= {run.data.tags[ID_TAG] for run in page if ID_TAG in run.data.tags}
        token = page.token
        if not token:
            return ids


def _log_run(client: Any, group: str, store: Store, e: Experiment) -> None:
    """Write one run; the tag that marks it as complete is written last."""
    from mlflow.entities import Metric, Param, RunTag

    at = _milliseconds(e.at)
    run = client.create_run(group, start_time=at, run_name=e.name).info.run_id
    logged: list[tuple[str, list[Any]]] = [
        ("metrics", [Metric(key, value, at, 0) for key, value in clean_names(metric_values(e)).items()]),
        ("params", [Param(key, value[:_LONGEST_PARAM]) for key, value in clean_names(_params(e)).items()]),
        ("tags", [RunTag(key, value[:_LONGEST_TAG]) for key, value in clean_names(_tags(e)).items()]),
    ]
    for kind, values in logged:
        for batch in _batches(values):
            client.log_batch(run, **{kind: batch})
    _attach_scores(client, run, store, e)
    client.set_tag(run, ID_TAG, e.id)
    client.set_terminated(run, end_time=at)


def _batches(values: list[Any]) -> Iterator[list[Any]]:
    return (values[start : start + _BATCH_SIZE] for start in range(0, len(values), _BATCH_SIZE))


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def metric_values(e: Experiment) -> dict[str, float]:
    """The numbers of an experiment by name; names of slices start with column/value/."""
    values = {}
    for m in e.metrics:
        if m.value is not None:
            part = "/".join(word.replace("/", "_") for word in (m.column, m.value_of, "") if m.column)
            values[part + column_name(Column("metrics", m.measure)).removeprefix("metrics.")] = m.value
    figures = {key: value for key, value in flatten_settings(e.figures).items() if is_number(value)}
    return values | {f"latency_{key}": value for key, value in e.latency.items()} | figures


def _params(e: Experiment) -> dict[str, str]:
    texts = {key: value for key, value in flatten_settings(e.figures).items() if not is_number(value)}
    return {
        key: str(format_cell(value)) for key, value in {**texts, **flatten_settings(e.configuration)}.items()
    }


def _tags(e: Experiment) -> dict[str, str]:
    tags = {"assay.kind": e.kind, "assay.tags": ", ".join(e.tags), "assay.code": e.code or ""}
    tags |= {f"assay.digest.{role}": digest for role, digest in e.digests.items()}
    tags |= {
        f"assay.policy.{key}": str(format_cell(value)) for key, value in flatten_settings(e.policy).items()
    }
    return {key: value for key, value in {**tags, "mlflow.note.content": e.note}.items() if value}


def clean_names(values: Mapping[str, Value]) -> dict[str, Value]:
    """The same values under distinct names that MLflow allows."""
    cleaned_values: dict[str, Value] = {}
    for key, value in values.items():
        cleaned_values[_unique_name(clean_name(key), cleaned_values.__contains__)] = value
    return cleaned_values


def clean_name(name: str) -> str:
    """The name with only the characters that MLflow allows: letters, digits, _ - . / and spaces.

    >>> clean_name("Robustness(delta=0.3)@10"), clean_name("../a")
    ('Robustness_delta_0.3_at_10', 'a')
    """
    plain = _FORBIDDEN.sub("_", name.replace(")@", "_at_").replace("@", "_at_")).strip("_ ")
    parts = [part for part in plain.split("/") if part.strip(".")]
    return "/".join(parts)[:_LONGEST_NAME] or "_"


def _unique_name(name: str, is_taken: Callable[[str], bool]) -> str:
    number, candidate = 1, name
    while is_taken(candidate):
        number += 1
        candidate = f"{name[: _LONGEST_NAME - 5]}_{number}"
    return candidate


def _attach_scores(client: Any, run: str, store: Store, e: Experiment) -> None:
    """Attach the scores of each query if the store has them."""
    digest = e.digests.get("scores")
    if digest is None or not store.tables.has(digest):  # it may have been imported without its tables
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.parquet"
        path.write_bytes(store.tables.read(digest))
        client.log_artifact(run, str(path))
