"""The differences of past tests, offline and online: of a table, or of the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.columns import match_columns
from assay.core.errors import AssayError, FormatError, TableError
from assay.core.online_records import BASELINE, CANDIDATE, OnlineRecord
from assay.datasets.columnar import read_frame
from assay.datasets.delimited import DelimitedRows
from assay.datasets.detection import detect_format
from assay.datasets.input_files import InputFile
from assay.datasets.jsonl import read_rows
from assay.datasets.rows import parse_number
from assay.online.prediction import DifferencePair
from assay.online.prediction_report import SkippedTest
from assay.stats.intervals import Estimate
from assay.workflows.compare_experiments import CompareExperimentsRequest, compare_experiments

SIDES = ("offline", "online")
_ALIASES: Mapping[str, tuple[str, ...]] = {
    "test": ("experiment", "ab_test"),
    "measure": ("metric", "offline_measure"),
    **{f"{side}{end}": () for side in SIDES for end in ("", "_low", "_high")},
}
_REQUIRED = ("test", "measure", *SIDES)


@dataclass(frozen=True)
class StoredDifferences:
    """The differences of the tests in a store, and the tests that are left out."""

    pairs: Sequence[DifferencePair]
    tests: Mapping[str, OnlineRecord]  # by the name of the test in the pairs
    skipped: Sequence[SkippedTest]


def read_difference_table(path: str, level: float) -> list[DifferencePair]:
    """Return the rows of a table `test, measure, offline, offline_low, …`; FormatError names the line."""
    source = InputFile(path)
    pairs: dict[tuple[str, str], DifferencePair] = {}
    online: dict[str, Estimate] = {}
    names: dict[str, str] = {}
    for line, row in _rows(source):
        try:
            names = names or _match_names(list(row))
            pair = _parse(row, names, level)
            _check_repeated(pair, pairs, online)
        except TableError as error:
            raise FormatError(str(error), source.label, line) from None
        pairs[pair.test, pair.measure] = pair
        online[pair.test] = pair.online
    if not pairs:
        raise FormatError("expected rows of tests, found none", source.label)
    return list(pairs.values())


def _rows(source: InputFile) -> Iterator[tuple[int, Mapping[str, Any]]]:
    name = detect_format(source, None, {})
    if name in ("csv", "tsv"):
        rows = DelimitedRows(source, name, {column: column for column in _ALIASES})
        yield from rows if rows.has_header else DelimitedRows(source, name, {})  # to name its first line
    elif name == "jsonl":
        yield from read_rows(source)
    elif name in ("parquet", "arrow"):
        yield from enumerate(read_frame(source, name).iter_rows(named=True), 1)
    else:
        expected = (
            "a table of tests as CSV, TSV, JSONL or Parquet with the columns test, measure, offline, online"
        )
        raise FormatError(f"expected {expected}; found {name}", source.label)


def _match_names(columns: list[str]) -> dict[str, str]:
    """Return the column of the file for each of ours."""
    names = {target: column for column, target in match_columns(columns, _ALIASES, {}).items()}
    missing = [name for name in _REQUIRED if name not in names]
    if missing:
        raise TableError(f"expected the columns {', '.join(_REQUIRED)}; found {', '.join(columns)}")
    return names


def _parse(row: Mapping[str, Any], names: Mapping[str, str], level: float) -> DifferencePair:
    test, measure = (str(row.get(names[name]) or "").strip() for name in ("test", "measure"))
    if not test or not measure:
        raise TableError(f"expected a test and a measure, found {test!r} and {measure!r}")
    offline, online = (_estimate(row, names, side, level) for side in SIDES)
    return DifferencePair(test, measure, offline, online)


def _estimate(row: Mapping[str, Any], names: Mapping[str, str], side: str, level: float) -> Estimate:
    """Return a difference with its interval; an empty cell is unknown."""
    cells = [
        row.get(names[name]) if name in names else None for name in (side, f"{side}_low", f"{side}_high")
    ]
    value, low, high = (None if c is None or c == "" else parse_number(c, side) for c in cells)
    if low is not None and high is not None and value is not None and not low <= value <= high:
        raise TableError(f"expected {side}_low ≤ {side} ≤ {side}_high, found {low:g}, {value:g}, {high:g}")
    return Estimate(value, low, high, level, 0 if value is None else 1)


def _check_repeated(
    pair: DifferencePair, pairs: Mapping[tuple[str, str], DifferencePair], online: Mapping[str, Estimate]
) -> None:
    if (pair.test, pair.measure) in pairs:
        raise TableError(f"the measure {pair.measure!r} of the test {pair.test!r} appears twice")
    before = online.get(pair.test, pair.online)
    if before.value != pair.online.value:
        raise TableError(
            f"the test {pair.test!r} has two online differences, {before.value} and {pair.online.value}: "
            "expected the same in each of its rows"
        )


def stored_differences(
    tests: Sequence[OnlineRecord], metric: str | None, measures: Sequence[str], level: float, store: str
) -> StoredDifferences:
    """Return the differences of tests with linked experiments, the oldest first."""
    pairs: list[DifferencePair] = []
    skipped, used = [], {}
    names = _unique_names(tests)
    for name, record in names.items():
        online = find_online(record.body, metric)
        if online is None or not {BASELINE, CANDIDATE} <= record.links.keys():
            skipped.append(SkippedTest(name, "no_offline" if online is not None else "no_metric"))
            continue
        try:
            offline = _offline_differences(record, measures, level, store)
        except AssayError as error:
            skipped.append(SkippedTest(name, _first_reason(error)))
            continue
        used[name] = record
        pairs += [DifferencePair(name, measure, e, online) for measure, e in offline.items()]
    return StoredDifferences(pairs, used, skipped)


def _first_reason(error: AssayError) -> str:
    """Return the first lines of a message: what is wrong, and the first of its reasons."""
    return " ".join(line.strip() for line in str(error).splitlines()[:2])


def _unique_names(tests: Sequence[OnlineRecord]) -> dict[str, OnlineRecord]:
    """Return the newest record of each name, the oldest first: a later one replaces an earlier one."""
    newest: dict[str, OnlineRecord] = {}
    for record in tests:  # the newest first
        newest.setdefault(record.name, record)
    return dict(reversed(newest.items()))


def find_online(body: Mapping[str, Any], metric: str | None) -> Estimate | None:
    """Return the relative difference by a metric (the goal, if none is named); above 0 is better."""
    rows = [row for row in body.get("metrics", ()) if _is_wanted(row, metric)]
    variants = list(dict.fromkeys(row.get("variant") for row in rows))
    if len(variants) != 1:  # of several candidates, none is known to be that of the experiment
        return None
    row = rows[0]
    relative = row.get("relative") or {}
    if relative.get("value") is None:
        return None
    level = row.get("level") or 0.95
    e = Estimate(relative["value"], relative.get("low"), relative.get("high"), level, relative.get("n") or 0)
    return turn_over(e) if row.get("lower_is_better") else e


def _is_wanted(row: Mapping[str, Any], metric: str | None) -> bool:
    return row.get("metric") == metric if metric else row.get("role") == "goal"


def turn_over(e: Estimate) -> Estimate:
    """Return an estimate with the other sign."""
    value, low, high = (None if x is None else -x for x in (e.value, e.high, e.low))
    return e._replace(value=value, low=low, high=high)


def _offline_differences(
    record: OnlineRecord, measures: Sequence[str], level: float, store: str
) -> dict[str, Estimate]:
    """Return the paired difference by each measure, above 0 if the candidate is better."""
    request = CompareExperimentsRequest(
        baseline=record.links[BASELINE],
        candidates=[record.links[CANDIDATE]],
        measures=measures,
        level=level,
        store=store,
    )
    rows = compare_experiments(request).comparisons.rows
    return {
        row.measure: turn_over(row.difference) if row.lower_is_better else row.difference
        for row in rows
        if not row.column
    }
