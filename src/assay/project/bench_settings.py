"""A benchmark as a person writes it down: in a TOML file, or by options."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.core.errors import ConfigurationError, InputError
from assay.core.settings import Fields, is_number
from assay.core.vectors import METRICS
from assay.indexes.hits import POLICIES
from assay.indexes.sweeps.plan import MODES, Asking, Entry, Range
from assay.indexes.sweeps.sweep import Options
from assay.project.bench import Bench

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""")  # blanks in quotes do not end it
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
_VALUE = re.compile(r"""(?:'[^']*'|"[^"]*"|[^,'"])+""")
_SLASH = re.compile(r"[^/:]/[A-Za-z]\w*=")  # a slash that should stand between blanks


def bench_in(settings: Mapping[str, Any], folder: Path, path: str = "") -> Bench:
    """A benchmark in settings; everything wrong with them is said at once."""
    fields = Fields(settings, "")
    made = _data(fields.inner("data"), folder)
    runs = fields.inner("run")
    threads = runs.count("threads", 1, 1)
    made = replace(
        made,
        entries=tuple(_entry(entry, folder, threads) for entry in fields.each("index")),
        askings=tuple(_askings(runs)),
        options=_options(runs),
        recall=tuple(_recall(runs)),
    )
    runs.done()
    fields.seen.add("tune")  # is read by `assay tune`
    fields.done()
    if fields.problems:
        raise ConfigurationError(fields.problems, path)
    return made


def _data(fields: Fields, folder: Path) -> Bench:
    paths = {name: fields.text(name, "a path") for name in ("base", "queries", "truth")}
    metric = fields.take("metric", f"one of {', '.join(METRICS)}", lambda v: v in METRICS, None)
    k = fields.count("k", 10, 1)
    limit = fields.count("limit", 0, 1) or None
    if paths["base"] is None and "data.base" not in fields.problems:
        fields.wrong("base", "expected the path of the vectors, found none")
    fields.done()
    base, queries, truth = (None if path is None else str(folder / path) for path in paths.values())
    return Bench(base or "", queries, truth, metric, k, limit)


def _entry(fields: Fields, folder: Path, threads: int) -> Entry:
    engine = fields.text("engine", "the name of an engine")
    if engine is None and f"{fields.where}.engine" not in fields.problems:
        fields.wrong("engine", "expected the name of an engine, found none")
    python = fields.text("python", "the path of an interpreter")
    made = Entry(
        engine or "",
        _values(fields.inner("build")),
        _values(fields.inner("search")),
        fields.count("threads", threads, 1),
        str(folder / python) if python and "/" in python else python,
    )
    fields.done()
    return made


def _values(fields: Fields) -> dict[str, list[Any]]:
    """Every parameter with the values it takes: one, or a list of them."""
    made = {}
    for name, value in fields.given.items():
        values = value if isinstance(value, list) else [value]
        if not values or any(isinstance(v, list | Mapping) for v in values):
            fields.wrong(name, f"expected a value or a list of values, found {value!r}")
        try:
            made[name] = [range_in(v) or v if isinstance(v, str) else v for v in values]
        except InputError as error:
            fields.wrong(name, str(error))
    return made


def _askings(fields: Fields) -> list[Asking]:
    closed = MODES[:2]
    modes = fields.texts("modes", f"of {', '.join(closed)}") if "modes" in fields.given else list(closed)
    fields.seen.add("modes")
    for mode in modes:
        if mode not in closed:
            fields.wrong("modes", f"expected {' or '.join(closed)}, found {mode!r}; rates make an open loop")
    clients = fields.count("clients", 1, 1)
    seconds = fields.number("seconds", "a number above 0", lambda v: v > 0, 10.0)
    rates = fields.take("rates", "queries per second, above 0, or a list of them", _are_rates, [])
    made = [Asking(mode, clients) for mode in modes if mode in closed]
    made += [
        Asking("open", clients, float(rate), seconds)
        for rate in (rates if isinstance(rates, list) else [rates])
    ]
    objective = fields.take("objective", "such as { p99_ms = 10 }", _is_objective, {})
    for name, within in objective.items():
        made.append(Asking("capacity", clients, None, seconds, float(name[1:-3]), float(within)))
    return made


def _are_rates(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return all(is_number(v) and v > 0 for v in values)


def _recall(fields: Fields) -> list[float]:
    found = fields.take("recall", "a share above 0 and at most 1, or a list of them", _are_shares, [])
    return found if isinstance(found, list) else [found]


def _are_shares(value: Any) -> bool:
    return _are_rates(value) and all(v <= 1 for v in (value if isinstance(value, list) else [value]))


def _is_objective(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        re.fullmatch(r"p\d\d?(\.\d+)?_ms", name) and is_number(v) and v > 0 for name, v in value.items()
    )


def _options(fields: Fields) -> Options:
    default = Options()
    return Options(
        fields.count("repetitions", default.repetitions, 1),
        fields.count("warmup", 0) if "warmup" in fields.given else default.warmup,
        _size(fields, "memory"),
        _size(fields, "room"),
        fields.number("timeout", "seconds", lambda v: v > 0, default.timeout),
        fields.count("seed", default.seed),
        fields.one_of("ties", POLICIES, default.policy),
    )


def _size(fields: Fields, name: str) -> int | None:
    value = fields.take(name, 'a size such as "4 GB"', lambda v: size_of(v) is not None, None)
    return None if value is None else size_of(value)


def size_of(text: Any) -> int | None:
    """A size in bytes; None where it is none.

    >>> size_of("1.5 GB"), size_of("1 GiB"), size_of(2048), size_of("much"), size_of("0")
    (1610612736, 1073741824, 2048, None, None)
    """
    if isinstance(text, int):
        return text if text > 0 else None
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(?:([KMGT]?)i?B|)", str(text).strip(), re.IGNORECASE)
    return round(float(found[1]) * _UNITS[(found[2] or "").upper()]) or None if found else None


def entry_in(text: str, threads: int = 1) -> Entry:
    """An engine with its parameters in one line; what stands after the slash is for searching.

    >>> entry_in("faiss.hnsw M=16,32 / efSearch=40").build
    {'M': [16, 32]}
    >>> entry_in("milvus uri='my data.db' token='123'").build
    {'uri': ['my data.db'], 'token': ['123']}
    """
    if _SLASH.search(text):
        raise InputError(
            f"the slash before the parameters of searching stands between blanks; found {text!r}"
        )
    build, _, search = text.partition(" / ")
    engine, *parameters = _WORD.findall(build) or [""]
    if not engine or "=" in engine:
        raise InputError(
            f"expected the name of an engine first, such as 'hnswlib M=16 / ef=40', found {text!r}"
        )
    return Entry(engine, _spelled(parameters, text), _spelled(_WORD.findall(search), text), threads)


def _spelled(parameters: Sequence[str], text: str) -> dict[str, list[Any]]:
    made = {}
    for one in parameters:
        name, equals, given = one.partition("=")
        values = _VALUE.findall(given)
        if not equals or not name or not values or ",".join(values) != given:
            raise InputError(
                f"expected ENGINE NAME=VALUE[,VALUE…] / NAME=VALUE[,VALUE…], found {text!r}; "
                "text with blanks stands in quotes, as in uri='my data.db'"
            )
        if name in made:
            raise InputError(f"{name} is given twice in {text!r}: write its values as {name}=VALUE,VALUE")
        made[name] = [value_of(value) for value in values]
    return made


def range_in(text: str) -> Range | None:
    """A range of whole numbers as it is written; None where it is none.

    >>> range_in("8..512"), range_in("8bit")
    (Range(least=8, most=512), None)
    """
    found = re.fullmatch(r"(\d+)\.\.(\d+)", text)
    if not found:
        return None
    made = Range(int(found[1]), int(found[2]))
    if made.least >= made.most:
        raise InputError(f"a range goes from the least to the most, such as 8..512; found {text}")
    return made


def value_of(text: str) -> Any:
    """A value as it is written.

    >>> [value_of(text) for text in ("16", "0.5", "true", "8bit", "'16'")]
    [16, 0.5, True, '8bit', '16']
    """
    quoted = _QUOTED.fullmatch(text)
    if quoted:
        return quoted[0][1:-1]
    if text in ("true", "false"):
        return text == "true"
    found = range_in(text)
    if found is not None:
        return found
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
