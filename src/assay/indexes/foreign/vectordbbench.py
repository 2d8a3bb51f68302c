"""Results of VectorDBBench: figures of each case, without neighbours, so they stay as they were reported.

Of the settings of a database only its label and its version are taken over; what tells how to reach it
(addresses, names, passwords, keys) is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.core.errors import FormatError
from assay.indexes.foreign.found import Found, figures, metric_of, told

SOURCE = "VectorDBBench"
K = 100  # where a file does not say it
_SECRET = re.compile(
    r"pass|secret|token|credential|api_?key|access_?key|uri|url|host|user|account|endpoint|cloud_?id|region",
    re.IGNORECASE,
)
_SEARCH = re.compile(
    r"search(?!_list_size$)|query_search|^ef$|probes?$|candidates|leaves_to|reorder|rescore|rerank|oversample|refine_k|refine_ratio|"
    r"itopk|team_size|^level$|iterations|fetch_limit|query",
    re.IGNORECASE,
)
_SECONDS = {
    "build_seconds": "load_duration",
    "insert_seconds": "insert_duration",
    "optimize_seconds": "optimize_duration",
}
_LISTS = {"qps": ("conc_qps_list", 1.0), "p99_ms": ("conc_latency_p99_list", 1e3)}
_SIZES = {  # vectors and dimensions, by case
    **dict.fromkeys((4, 6, 8), (10_000_000, 768)),
    **dict.fromkeys((5, 7, 9), (1_000_000, 768)),
    **dict.fromkeys((10, 12, 14), (500_000, 1536)),
    **dict.fromkeys((11, 13, 15), (5_000_000, 1536)),
    3: (100_000_000, 768),
    50: (50_000, 1536),
}
_FILTERED = {**dict.fromkeys((6, 7, 12, 13), 0.01), **dict.fromkeys((8, 9, 14, 15), 0.99)}
_SIZE = re.compile(r"\((\d+)dim, (\d+)([KM])\)")
_LABELS = {":)": "", "x": "failed", "?": "out of range, or out of time"}


def read(path: str) -> Iterator[Found]:
    """The cases of a file."""
    document = _document(path)
    for at, result in enumerate(document["results"]):
        try:
            yield _found(result, str(document.get("run_id", "")))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            said = f"lacks {error}" if isinstance(error, KeyError) else f"cannot be used: {error}"
            raise FormatError(
                f"results[{at}] {said}; expected metrics and task_config as VectorDBBench writes them", path
            ) from None


def _document(path: str) -> dict[str, Any]:
    try:
        found = json.loads(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot be read as JSON: {error}; fetch or write it again", path) from None
    if not isinstance(found, dict) or not isinstance(found.get("results"), list):
        raise FormatError("expected an object with a list 'results', as VectorDBBench writes it", path)
    if not found["results"]:
        raise FormatError("its list of results is empty: there is nothing to import", path)
    return found


def _found(result: dict[str, Any], run: str) -> Found:
    task, metrics = result["task_config"], result["metrics"]
    case, database = task["case_config"], task["db_config"]
    settings = {
        name: value for name, value in (task.get("db_case_config") or {}).items() if _plain(name, value)
    }
    n, d = _size(case)
    build, search = _split(settings)
    label = str(result.get("label", ":)"))
    reported = _reported(metrics)
    made = told(
        SOURCE,
        str(task["db"]),
        build=build,
        search=search | _filter(case),
        mode="single",
        metric=metric_of(str(settings.get("metric_type", ""))),
        version=str(database.get("version") or ""),
        machine={"label": str(database["db_label"])} if database.get("db_label") else {},
        n=n,
        d=d,
        k=int(case.get("k") or K),
        dataset=f"case {case['case_id']}",
        reported=reported,
        note=_note(metrics, label),
    )
    if label != ":)" and not reported:
        made |= {"status": "failed", "reason": f"VectorDBBench marks it {label!r}: {_LABELS.get(label, '')}"}
    return Found(made, made | {"run": run})


def _plain(name: str, value: Any) -> bool:
    """Whether a setting is a parameter: one value, which tells nobody how to reach the database."""
    hidden = _SECRET.search(name) or (isinstance(value, str) and ("://" in value or "**" in value))
    return isinstance(value, (str, int, float)) and not hidden


def _split(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of building, and those of searching, told by their names."""
    rest = {name: value for name, value in settings.items() if name != "metric_type"}
    search = {name: value for name, value in rest.items() if _SEARCH.search(name)}
    return {name: value for name, value in rest.items() if name not in search}, search


def _filter(case: Mapping[str, Any]) -> dict[str, Any]:
    custom = case.get("custom_case") or {}
    chosen = {name: custom[name] for name in ("filter_rate", "label_percentage") if custom.get(name)}
    return chosen or ({"filter_rate": _FILTERED[case["case_id"]]} if case["case_id"] in _FILTERED else {})


def _size(case: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """How many vectors of how many dimensions a case has, as far as it is known."""
    said = _SIZE.search(str((case.get("custom_case") or {}).get("dataset_with_size_type", "")))
    if said:
        return int(said[2]) * {"K": 1000, "M": 1_000_000}[said[3]], int(said[1])
    return _SIZES.get(case["case_id"], (None, None))


def _reported(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The figures that were measured: VectorDBBench writes 0 for what was not."""
    serial = metrics.get("serial_latency_p99") or 0
    values = {name: metrics.get(field) for name, field in _SECONDS.items()}
    values |= {name: metrics.get(name) for name in ("qps", "ndcg", "max_load_count")}
    values |= {f"p{p}_ms": 1e3 * (metrics.get(f"serial_latency_p{p}") or 0) for p in (99, 95)} | _by_clients(
        metrics
    )
    made = {name: value for name, value in figures(values).items() if value > 0}
    return made | figures({"recall": metrics.get("recall") if serial else None})


def _by_clients(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Throughput and latency at each number of clients."""
    clients = metrics.get("conc_num_list") or []
    return {
        f"{name}@{count}": unit * value
        for name, (field, unit) in _LISTS.items()
        for count, value in zip(clients, metrics.get(field) or [], strict=False)
    }


def _note(metrics: Mapping[str, Any], label: str) -> str:
    said = ["as reported; no neighbours to score"]
    clients, rates = metrics.get("conc_num_list") or [], metrics.get("conc_qps_list") or []
    if clients and len(clients) == len(rates):
        best = clients[rates.index(max(rates))]
        said.append(f"latency of one client, qps of {best}")
    if _LABELS.get(label):
        said.append(f"marked {label!r}: {_LABELS[label]}")
    return "; ".join(said)
