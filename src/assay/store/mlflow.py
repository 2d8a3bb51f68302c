"""Experiments as runs of MLflow."""

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
from assay.evaluation.configuration import flat
from assay.store.rows import Column, cell, name_of
from assay.store.store import Store

ID = "assay.id"  # the tag by which a run is known again
_NOT_ALLOWED = re.compile(r"[^\w./ -]", re.ASCII)
_LONGEST_NAME = 250
_LONGEST_PARAM = 6000
_LONGEST_TAG = 5000
Value = TypeVar("Value")
_MOST = 100  # params or tags in one call; of metrics there may be more


class Exported(NamedTuple):
    """What went out."""

    added: int
    skipped: int  # were there already


def export_mlflow(store: Store, uri: str, experiment_name: str, where: str = "") -> Exported:
    """Write each experiment as a run of MLflow, its scores as an artifact; what is there is not repeated."""
    try:
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
    except ImportError:
        raise MissingExtraError("MLflow", "an export to MLflow", "mlflow") from None
    try:
        client = MlflowClient(tracking_uri=uri)
        found = client.get_experiment_by_name(experiment_name)
        group = found.experiment_id if found else client.create_experiment(experiment_name)
        there, experiments = _ids(client, group), store.list(where)
        new = [e for e in reversed(experiments) if e.id not in there]
        for experiment in new:
            _log(client, group, store, experiment)
    except MlflowException as error:
        raise StoreError(f"MLflow at {uri} cannot be written: {error.message}") from error
    return Exported(len(new), len(experiments) - len(new))


def _ids(client: Any, group: str) -> set[str]:
    """The experiments that have a run already."""
    found, token = set[str](), None
    while True:
        page = client.search_runs([group], max_results=1000, page_token=token)
        found |= {run.data.tags[ID] for run in page if ID in run.data.tags}
        token = page.token
        if not token:
            return found


def _log(client: Any, group: str, store: Store, e: Experiment) -> None:
    """Write one run; the tag that says it is whole comes last."""
    from mlflow.entities import Metric, Param, RunTag

    at = _milliseconds(e.at)
    run = client.create_run(group, start_time=at, run_name=e.name).info.run_id
    logged: list[tuple[str, list[Any]]] = [
        ("metrics", [Metric(key, value, at, 0) for key, value in cleaned(metrics(e)).items()]),
        ("params", [Param(key, value[:_LONGEST_PARAM]) for key, value in cleaned(_params(e)).items()]),
        ("tags", [RunTag(key, value[:_LONGEST_TAG]) for key, value in cleaned(_tags(e)).items()]),
    ]
    for kind, values in logged:
        for some in _parts(values):
            client.log_batch(run, **{kind: some})
    _attach(client, run, store, e)
    client.set_tag(run, ID, e.id)
    client.set_terminated(run, end_time=at)


def _parts(values: list[Any]) -> Iterator[list[Any]]:
    return (values[start : start + _MOST] for start in range(0, len(values), _MOST))


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def metrics(e: Experiment) -> dict[str, float]:
    """The numbers of an experiment by name; those of a slice below it."""
    made = {}
    for m in e.metrics:
        if m.value is not None:
            part = "/".join(word.replace("/", "_") for word in (m.column, m.value_of, "") if m.column)
            made[part + name_of(Column("metrics", m.measure)).removeprefix("metrics.")] = m.value
    figures = {key: value for key, value in flat(e.figures).items() if is_number(value)}
    return made | {f"latency_{key}": value for key, value in e.latency.items()} | figures


def _params(e: Experiment) -> dict[str, str]:
    others = {key: value for key, value in flat(e.figures).items() if not is_number(value)}
    return {key: str(cell(value)) for key, value in {**others, **flat(e.configuration)}.items()}


def _tags(e: Experiment) -> dict[str, str]:
    made = {"assay.kind": e.kind, "assay.tags": ", ".join(e.tags), "assay.code": e.code or ""}
    made |= {f"assay.digest.{role}": digest for role, digest in e.digests.items()}
    made |= {f"assay.policy.{key}": str(cell(value)) for key, value in flat(e.policy).items()}
    return {key: value for key, value in {**made, "mlflow.note.content": e.note}.items() if value}


def cleaned(values: Mapping[str, Value]) -> dict[str, Value]:
    """The same values under names that MLflow allows, no two of them alike."""
    made: dict[str, Value] = {}
    for key, value in values.items():
        made[_unlike(clean(key), made.__contains__)] = value
    return made


def clean(name: str) -> str:
    """A name with what MLflow allows: letters, digits, _ - . / and blanks.

    >>> clean("Robustness(delta=0.3)@10"), clean("../a")
    ('Robustness_delta_0.3_at_10', 'a')
    """
    plain = _NOT_ALLOWED.sub("_", name.replace(")@", "_at_").replace("@", "_at_")).strip("_ ")
    parts = [part for part in plain.split("/") if part.strip(".")]
    return "/".join(parts)[:_LONGEST_NAME] or "_"


def _unlike(name: str, taken: Callable[[str], bool]) -> str:
    number, made = 1, name
    while taken(made):
        number += 1
        made = f"{name[: _LONGEST_NAME - 5]}_{number}"
    return made


def _attach(client: Any, run: str, store: Store, e: Experiment) -> None:
    """Add the scores of each query, where the store has them."""
    digest = e.digests.get("scores")
    if digest is None or not store.tables.has(digest):  # it may have come without its tables
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.parquet"
        path.write_bytes(store.tables.read(digest))
        client.log_artifact(run, str(path))
