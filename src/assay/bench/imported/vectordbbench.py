"""Results of VectorDBBench: reported figures of each case, without neighbors to score.

Only the label and the version of a database are imported; how to reach it (addresses, names, passwords, keys)
is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.bench.imported.result import ImportedResult, finite_figures, make_record, parse_metric
from assay.core.errors import FormatError

SOURCE = "VectorDBBench"
DEFAULT_K = 100  # if a file does not state K
_SECRET_NAMES = re.compile(
    r"pass|secret|token|credential|api_?key|access_?key|uri|url|host|user|account|endpoint|cloud_?id|region",
    re.IGNORECASE,
)
_SEARCH_NAMES = re.compile(
    r"search(?!_list_size$)|query_search|^ef$|probes?$|candidates|leaves_to|reorder|rescore|rerank|oversample|refine_k|refine_ratio|"
    r"itopk|team_size|^level$|iterations|fetch_limit|query",
    re.IGNORECASE,
)
_DURATION_FIELDS = {
    "build_seconds": "load_duration",
    "insert_seconds": "insert_duration",
    "optimize_seconds": "optimize_duration",
}
_CLIENT_FIELDS = {"qps": ("conc_qps_list", 1.0), "p99_ms": ("conc_latency_p99_list", 1e3)}
_CASE_SIZES = {  # vectors and dimensions by case
    **dict.fromkeys((4, 6, 8), (10_000_000, 768)),
    **dict.fromkeys((5, 7, 9), (1_000_000, 768)),
    **dict.fromkeys((10, 12, 14), (500_000, 1536)),
    **dict.fromkeys((11, 13, 15), (5_000_000, 1536)),
    3: (100_000_000, 768),
    50: (50_000, 1536),
}
_CASE_FILTERS = {**dict.fromkeys((6, 7, 12, 13), 0.01), **dict.fromkeys((8, 9, 14, 15), 0.99)}
_SIZE_PATTERN = re.compile(r"\((\d+)dim, (\d+)([KM])\)")
_LABELS = {":)": "", "x": "failed", "?": "out of range, or out of time"}


def read(path: str) -> Iterator[ImportedResult]:
    """Yield the cases of a file."""
    document = _read_document(path)
    for number, result in enumerate(document["results"]):
        try:
            yield _parse_result(result, str(document.get("run_id", "")))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            problem = f"has no {error}" if isinstance(error, KeyError) else f"is invalid: {error}"
            raise FormatError(
                f"results[{number}] {problem}; expected metrics and task_config as VectorDBBench writes them",
                path,
            ) from None


def _read_document(path: str) -> dict[str, Any]:
    try:
        document = json.loads(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot be read as JSON: {error}; download or write it again", path) from None
    if not isinstance(document, dict) or not isinstance(document.get("results"), list):
        raise FormatError("expected an object with a list 'results', as VectorDBBench writes it", path)
    if not document["results"]:
        raise FormatError("has an empty list of results", path)
    return document


def _parse_result(result: dict[str, Any], run_id: str) -> ImportedResult:
    task, metrics = result["task_config"], result["metrics"]
    case, database = task["case_config"], task["db_config"]
    settings = {
        name: value
        for name, value in (task.get("db_case_config") or {}).items()
        if _is_parameter(name, value)
    }
    n, d = _case_size(case)
    build, search = _split_settings(settings)
    label = str(result.get("label", ":)"))
    figures = _reported_figures(metrics)
    record = make_record(
        SOURCE,
        str(task["db"]),
        build=build,
        search=search | _filter_settings(case),
        mode="single",
        metric=parse_metric(str(settings.get("metric_type", ""))),
        version=str(database.get("version") or ""),
        machine={"label": str(database["db_label"])} if database.get("db_label") else {},
        n=n,
        d=d,
        k=int(case.get("k") or DEFAULT_K),
        dataset=f"case {case['case_id']}",
        reported=figures,
        note=_note(metrics, label),
    )
    if label != ":)" and not figures:
        record |= {
            "status": "failed",
            "reason": f"VectorDBBench marks it {label!r}: {_LABELS.get(label, '')}",
        }
    return ImportedResult(record, record | {"run": run_id})


def _is_parameter(name: str, value: Any) -> bool:
    """Return whether a setting is a plain parameter that does not reveal how to reach the database."""
    is_secret = _SECRET_NAMES.search(name) or (isinstance(value, str) and ("://" in value or "**" in value))
    return isinstance(value, (str, int, float)) and not is_secret


def _split_settings(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the build and the search settings, distinguished by their names."""
    rest = {name: value for name, value in settings.items() if name != "metric_type"}
    search = {name: value for name, value in rest.items() if _SEARCH_NAMES.search(name)}
    return {name: value for name, value in rest.items() if name not in search}, search


def _filter_settings(case: Mapping[str, Any]) -> dict[str, Any]:
    custom = case.get("custom_case") or {}
    settings = {name: custom[name] for name in ("filter_rate", "label_percentage") if custom.get(name)}
    return settings or (
        {"filter_rate": _CASE_FILTERS[case["case_id"]]} if case["case_id"] in _CASE_FILTERS else {}
    )


def _case_size(case: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the number of vectors and of dimensions of a case, as far as known."""
    match = _SIZE_PATTERN.search(str((case.get("custom_case") or {}).get("dataset_with_size_type", "")))
    if match:
        return int(match[2]) * {"K": 1000, "M": 1_000_000}[match[3]], int(match[1])
    return _CASE_SIZES.get(case["case_id"], (None, None))


def _reported_figures(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return the measured figures; VectorDBBench writes 0 for figures that were not measured."""
    serial_p99 = metrics.get("serial_latency_p99") or 0
    values = {name: metrics.get(field) for name, field in _DURATION_FIELDS.items()}
    values |= {name: metrics.get(name) for name in ("qps", "ndcg", "max_load_count")}
    values |= {f"p{p}_ms": 1e3 * (metrics.get(f"serial_latency_p{p}") or 0) for p in (99, 95)}
    values |= _figures_by_clients(metrics)
    positive = {name: value for name, value in finite_figures(values).items() if value > 0}
    return positive | finite_figures({"recall": metrics.get("recall") if serial_p99 else None})


def _figures_by_clients(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return throughput and latency by number of clients."""
    clients = metrics.get("conc_num_list") or []
    return {
        f"{name}@{count}": unit * value
        for name, (field, unit) in _CLIENT_FIELDS.items()
        for count, value in zip(clients, metrics.get(field) or [], strict=False)
    }


def _note(metrics: Mapping[str, Any], label: str) -> str:
    """Return the note of a trial; it is part of the key of the trial, so its text must not change."""
    parts = ["as reported; no neighbours to score"]
    clients, rates = metrics.get("conc_num_list") or [], metrics.get("conc_qps_list") or []
    if clients and len(clients) == len(rates):
        best = clients[rates.index(max(rates))]
        parts.append(f"latency of one client, qps of {best}")
    if _LABELS.get(label):
        parts.append(f"marked {label!r}: {_LABELS[label]}")
    return "; ".join(parts)
