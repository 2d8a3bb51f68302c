"""A table of sums: the units and the sums of each variant, as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from assay.core.errors import FormatError, InputError
from assay.core.suggestions import did_you_mean
from assay.online.ab.cells import DAY, STRATUM, Cell, TestSums, add_cells
from assay.stats.moments import Moments

_NAMES = [field.name for field in fields(Moments)]
_PARTS = {"days": DAY, "strata": STRATUM}
_TOLERANCE = 1e-9


def parse_sums(text: str, path: str = "") -> TestSums:
    """Return the sums of a JSON text.

    >>> sums = parse_sums('{"variants": [{"name": "a", "n": 9, "metrics": {"ctr": {"sum": 3}}}]}')
    >>> sums.arms()["a"].metrics["ctr"].sum
    3.0
    """
    try:
        body = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise FormatError(f"expected a table of sums in JSON: {error.msg}", path, error.lineno) from None
    except InputError as error:
        raise FormatError(str(error), path) from None
    try:
        return read_sums(body)
    except InputError as error:
        raise FormatError(str(error), path) from None


def _refuse_constant(name: str) -> float:
    raise InputError(f"expected numbers, found {name}: leave out what is undefined")


def read_sums(body: Any) -> TestSums:
    """Return the sums of plain data: {"variants": […]} with optional lists "days" or "strata"."""
    if not isinstance(body, Mapping):
        raise InputError(f'expected {{"variants": […]}}, found {type(body).__name__}')
    parts = [name for name in _PARTS if name in body]
    if len(parts) > 1:
        raise InputError("expected days or strata in a table of sums, found both")
    totals = _read_variants(body.get("variants"), "variants") if "variants" in body else []
    if not parts:
        if "variants" not in body:
            raise InputError(f'expected the key "variants", found {", ".join(map(str, body)) or "no key"}')
        return TestSums(totals)
    cells = _read_parts(body[parts[0]], parts[0])
    if totals:
        _compare_totals(totals, cells, parts[0])
    return TestSums(cells, (_PARTS[parts[0]],))


def _read_parts(values: Any, name: str) -> list[Cell]:
    key = _PARTS[name]
    cells = []
    for number, part in enumerate(_list(values, name), 1):
        place = f"{name}[{number}]"
        if not isinstance(part, Mapping) or key not in part:
            raise InputError(f'{place}: expected "{key}" and "variants", found {part!r:.80}')
        cells += [
            replace(cell, keys=(str(part[key]),))
            for cell in _read_variants(part.get("variants"), f"{place}.variants")
        ]
    repeated = _first_repeated([(cell.variant, cell.keys) for cell in cells])
    if repeated is not None:
        raise InputError(f"{name}: {key} {cells[repeated].keys[0]} appears twice")
    return cells


def _read_variants(values: Any, place: str) -> list[Cell]:
    cells = [_read_variant(value, f"{place}[{i}]") for i, value in enumerate(_list(values, place), 1)]
    repeated = _first_repeated([cell.variant for cell in cells])
    if repeated is not None:
        raise InputError(f"{place}: the variant {cells[repeated].variant!r} appears twice: add its sums up")
    return cells


def _read_variant(value: Any, place: str) -> Cell:
    if not isinstance(value, Mapping) or "name" not in value or "n" not in value:
        raise InputError(f'{place}: expected "name", "n" and "metrics", found {value!r:.80}')
    name, n = str(value["name"]), _count(value["n"], f"{place} ({value['name']}): n")
    metrics = value.get("metrics", {})
    if not isinstance(metrics, Mapping):
        raise InputError(f"{place} ({name}): expected sums by metric, found {metrics!r:.80}")
    return Cell(name, (), n, {str(m): _read_moments(s, n, f"{name}, {m}") for m, s in metrics.items()})


def _read_moments(sums: Any, n: int, place: str) -> Moments:
    if not isinstance(sums, Mapping):
        raise InputError(f'{place}: expected sums such as "sum" and "sum_squares", found {sums!r:.80}')
    for name, value in sums.items():
        if name not in _NAMES:
            hint = did_you_mean(name, _NAMES) or f"known: {', '.join(_NAMES)}"
            raise InputError(f"{place}: there is no sum named {name}; {hint}")
        if value is not None and not (_is_number(value) and math.isfinite(value)):
            raise InputError(f"{place}: expected a number as {name}, found {value!r}")
    own_n = _count(sums.get("n", n), f"{place}: n")
    if own_n > n:
        raise InputError(f"{place}: expected at most the {n:,} units of the variant, found n {own_n:,}")
    try:
        return Moments.from_fields({**sums, "n": own_n})
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def _compare_totals(totals: Sequence[Cell], cells: Sequence[Cell], name: str) -> None:
    """Refuse sums of the whole that are not the sums of the parts."""
    added = add_cells(cells)
    for total in totals:
        arm = added.get(total.variant)
        if arm is None or arm.n != total.n:
            found = "no units" if arm is None else f"{arm.n:,}"
            raise InputError(f"{total.variant}: {total.n:,} units in variants, but {found} in {name}")
        for metric, moments in total.metrics.items():
            if metric in arm.metrics and not _are_close(moments.sum, arm.metrics[metric].sum):
                raise InputError(
                    f"{total.variant}, {metric}: the sum is {moments.sum:g} in variants, but "
                    f"{arm.metrics[metric].sum:g} in {name}"
                )


def _are_close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


def _list(values: Any, place: str) -> Sequence[Any]:
    if not isinstance(values, list):
        raise InputError(f"expected a list of {place}, found {values!r:.80}")
    return values


def _count(value: Any, place: str) -> int:
    if not _is_number(value) or value < 0 or value != int(value):
        raise InputError(f"{place}: expected a count of units, 0 or more, found {value!r}")
    return int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _first_repeated(values: Sequence[Any]) -> int | None:
    seen = set()
    for place, value in enumerate(values):
        if value in seen:
            return place
        seen.add(value)
    return None
