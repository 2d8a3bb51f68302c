"""Read a benchmark from a TOML file, from options, or from both."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.bench.sweeps.cases import REQUEST_MODES, IndexEntry, ParameterRange, RequestMode
from assay.bench.sweeps.options import SweepOptions
from assay.core.errors import ConfigurationError, InputError
from assay.core.settings import SettingsReader, is_number
from assay.core.vectors import METRICS
from assay.indexes.hits import POLICIES
from assay.workflows.benchmark import Benchmark
from assay.workflows.settings import read_settings

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""")  # spaces in quotes do not end it
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
_VALUE = re.compile(r"""(?:'[^']*'|"[^"]*"|[^,'"])+""")
_SLASH_WITHOUT_SPACES = re.compile(r"[^/:]/[A-Za-z]\w*=")
_PATH_OPTIONS = ("base", "queries", "truth")
_DATA_OPTIONS = ("base", "metric", "k", "limit")
_RUN_OPTIONS = ("repetitions", "warmup", "threads", "memory", "timeout")


@dataclass(frozen=True, kw_only=True)
class MeasureRequest:
    """The data, the indexes and the passes of a benchmark: a file in TOML, options, or both."""

    file: str | None = None
    out: str
    base: str | None = None
    queries: str | None = None
    truth: str | None = None
    metric: str | None = None
    k: int | None = None
    limit: int | None = None
    indexes: Sequence[str] = ()  # ENGINE NAME=V,V… / NAME=V,V…
    repetitions: int | None = None
    warmup: int | None = None
    threads: int | None = None
    memory: str | None = None
    timeout: float | None = None


def read_request_settings(request: MeasureRequest, command: str) -> dict[str, Any]:
    """The settings in the file of a request; none if its options name the data."""
    if request.file is not None:
        return dict(read_settings(request.file))
    if request.base is None:
        raise InputError(f"expected a benchmark in TOML, or --base with --index; see assay {command} --help")
    return {}


def make_benchmark(request: MeasureRequest, settings: Mapping[str, Any], run: Mapping[str, Any]) -> Benchmark:
    """The benchmark of the settings, with the options of the request and `run` in place of their values."""
    options: dict[str, Mapping[str, Any]] = {
        "data": {name: getattr(request, name) for name in _DATA_OPTIONS},
        "run": {**run, **{name: getattr(request, name) for name in _RUN_OPTIONS}},
    }
    overridden = dict(settings)
    for table, values in options.items():
        if isinstance(settings.get(table, {}), dict):  # what is not a table is refused below
            overrides = {name: value for name, value in values.items() if value is not None}
            overridden[table] = settings.get(table, {}) | overrides
    benchmark = read_benchmark(overridden, Path(request.file or "").parent, request.file or "")
    paths = {name: getattr(request, name) for name in _PATH_OPTIONS if getattr(request, name)}
    threads = overridden["run"].get("threads", 1)
    entries = tuple(parse_index(text, threads) for text in request.indexes)
    return replace(benchmark, **paths, entries=benchmark.entries + entries)


def read_benchmark(settings: Mapping[str, Any], folder: Path, path: str = "") -> Benchmark:
    """The benchmark of settings; all their problems are reported at once."""
    fields = SettingsReader(settings, "")
    benchmark = _read_data(fields.table("data"), folder)
    run = fields.table("run")
    threads = run.count("threads", 1, 1)
    benchmark = replace(
        benchmark,
        entries=tuple(_read_entry(entry, folder, threads) for entry in fields.tables("index")),
        request_modes=tuple(_read_request_modes(run)),
        options=_read_options(run),
        recall=tuple(_read_recall(run)),
    )
    run.refuse_unknown()
    fields.names_read.add("tune")  # is read by `assay tune`
    fields.refuse_unknown()
    if fields.problems:
        raise ConfigurationError(fields.problems, path)
    return benchmark


def _read_data(fields: SettingsReader, folder: Path) -> Benchmark:
    paths = {name: fields.text(name, "a path") for name in _PATH_OPTIONS}
    metric = fields.value("metric", f"one of {', '.join(METRICS)}", lambda v: v in METRICS, None)
    k = fields.count("k", 10, 1)
    limit = fields.count("limit", 0, 1) or None
    if paths["base"] is None and "data.base" not in fields.problems:
        fields.add_problem("base", "expected the path of the vectors, found none")
    fields.refuse_unknown()
    base, queries, truth = (None if path is None else str(folder / path) for path in paths.values())
    return Benchmark(base or "", queries, truth, metric, k, limit)


def _read_entry(fields: SettingsReader, folder: Path, threads: int) -> IndexEntry:
    engine = fields.text("engine", "the name of an engine")
    if engine is None and f"{fields.prefix}.engine" not in fields.problems:
        fields.add_problem("engine", "expected the name of an engine, found none")
    python = fields.text("python", "the path of an interpreter")
    entry = IndexEntry(
        engine or "",
        _read_values(fields.table("build")),
        _read_values(fields.table("search")),
        fields.count("threads", threads, 1),
        str(folder / python) if python and "/" in python else python,
    )
    fields.refuse_unknown()
    return entry


def _read_values(fields: SettingsReader) -> dict[str, list[Any]]:
    """Every parameter with its values: one, or a list."""
    parameters = {}
    for name, value in fields.settings.items():
        values = value if isinstance(value, list) else [value]
        if not values or any(isinstance(v, list | Mapping) for v in values):
            fields.add_problem(name, f"expected a value or a list of values, found {value!r}")
        try:
            parameters[name] = [parse_range(v) or v if isinstance(v, str) else v for v in values]
        except InputError as error:
            fields.add_problem(name, str(error))
    return parameters


def _read_request_modes(fields: SettingsReader) -> list[RequestMode]:
    closed = REQUEST_MODES[:2]
    names = fields.texts("modes", f"of {', '.join(closed)}") if "modes" in fields.settings else list(closed)
    fields.names_read.add("modes")
    for name in names:
        if name not in closed:
            fields.add_problem(
                "modes", f"expected {' or '.join(closed)}, found {name!r}; rates make an open loop"
            )
    clients = fields.count("clients", 1, 1)
    seconds = fields.number("seconds", "a number above 0", lambda v: v > 0, 10.0)
    rates = fields.value("rates", "queries per second, above 0, or a list of them", _are_rates, [])
    modes = [RequestMode(name, clients) for name in names if name in closed]
    modes += [
        RequestMode("open", clients, float(rate), seconds)
        for rate in (rates if isinstance(rates, list) else [rates])
    ]
    objective = fields.value("objective", "such as { p99_ms = 10 }", _is_objective, {})
    for name, within in objective.items():
        modes.append(RequestMode("capacity", clients, None, seconds, float(name[1:-3]), float(within)))
    return modes


def _are_rates(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return all(is_number(v) and v > 0 for v in values)


def _read_recall(fields: SettingsReader) -> list[float]:
    value = fields.value("recall", "a share above 0 and at most 1, or a list of them", _are_shares, [])
    return value if isinstance(value, list) else [value]


def _are_shares(value: Any) -> bool:
    return _are_rates(value) and all(v <= 1 for v in (value if isinstance(value, list) else [value]))


def _is_objective(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        re.fullmatch(r"p\d\d?(\.\d+)?_ms", name) and is_number(v) and v > 0 for name, v in value.items()
    )


def _read_options(fields: SettingsReader) -> SweepOptions:
    default = SweepOptions()
    return SweepOptions(
        fields.count("repetitions", default.repetitions, 1),
        fields.count("warmup", 0) if "warmup" in fields.settings else default.warmup,
        _read_size(fields, "memory"),
        _read_size(fields, "room"),
        fields.number("timeout", "seconds", lambda v: v > 0, default.timeout),
        fields.count("seed", default.seed),
        fields.one_of("ties", POLICIES, default.policy),
    )


def _read_size(fields: SettingsReader, name: str) -> int | None:
    value = fields.value(name, 'a size such as "4 GB"', lambda v: parse_size(v) is not None, None)
    return None if value is None else parse_size(value)


def parse_size(text: Any) -> int | None:
    """A size in bytes; None if the text is not a size.

    >>> parse_size("1.5 GB"), parse_size("1 GiB"), parse_size(2048), parse_size("much"), parse_size("0")
    (1610612736, 1073741824, 2048, None, None)
    """
    if isinstance(text, int):
        return text if text > 0 else None
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?(?:([KMGT]?)i?B|)", str(text).strip(), re.IGNORECASE)
    return round(float(match[1]) * _UNITS[(match[2] or "").upper()]) or None if match else None


def parse_index(text: str, threads: int = 1) -> IndexEntry:
    """An engine with its build parameters and, after a slash, its search parameters.

    >>> parse_index("faiss.hnsw M=16,32 / efSearch=40").build
    {'M': [16, 32]}
    >>> parse_index("milvus uri='my data.db' token='123'").build
    {'uri': ['my data.db'], 'token': ['123']}
    """
    if _SLASH_WITHOUT_SPACES.search(text):
        raise InputError(f"the slash before the search parameters needs spaces around it; found {text!r}")
    build, _, search = text.partition(" / ")
    engine, *parameters = _WORD.findall(build) or [""]
    if not engine or "=" in engine:
        raise InputError(
            f"expected the name of an engine first, such as 'hnswlib M=16 / ef=40', found {text!r}"
        )
    return IndexEntry(
        engine, _parse_parameters(parameters, text), _parse_parameters(_WORD.findall(search), text), threads
    )


def _parse_parameters(words: Sequence[str], text: str) -> dict[str, list[Any]]:
    parameters = {}
    for word in words:
        name, equals, value_text = word.partition("=")
        values = _VALUE.findall(value_text)
        if not equals or not name or not values or ",".join(values) != value_text:
            raise InputError(
                f"expected ENGINE NAME=VALUE[,VALUE…] / NAME=VALUE[,VALUE…], found {text!r}; "
                "text with spaces must be quoted, as in uri='my data.db'"
            )
        if name in parameters:
            raise InputError(f"{name} appears twice in {text!r}: write its values as {name}=VALUE,VALUE")
        parameters[name] = [parse_value(value) for value in values]
    return parameters


def parse_range(text: str) -> ParameterRange | None:
    """A range of whole numbers; None if the text is not a range.

    >>> parse_range("8..512"), parse_range("8bit")
    (ParameterRange(low=8, high=512), None)
    """
    match = re.fullmatch(r"(\d+)\.\.(\d+)", text)
    if not match:
        return None
    parameter_range = ParameterRange(int(match[1]), int(match[2]))
    if parameter_range.low >= parameter_range.high:
        raise InputError(f"a range goes from the least to the most, such as 8..512; found {text}")
    return parameter_range


def parse_value(text: str) -> Any:
    """The value of a parameter: a number, a boolean, a range or text.

    >>> [parse_value(text) for text in ("16", "0.5", "true", "8bit", "'16'")]
    [16, 0.5, True, '8bit', '16']
    """
    quoted = _QUOTED.fullmatch(text)
    if quoted:
        return quoted[0][1:-1]
    if text in ("true", "false"):
        return text == "true"
    parameter_range = parse_range(text)
    if parameter_range is not None:
        return parameter_range
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
