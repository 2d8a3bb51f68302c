"""Time the analysis of an A/B test of many users and several metrics, beside DuckDB alone and tea-tasting.

The table of units is in DuckDB or in a Parquet file. Each repetition runs, one after the other: the bare sums
(one SELECT with the sums and the sums of squares of each metric by variant), Assay from the table to the
differences and the status, and tea-tasting from the table to the differences. The differences must agree.
A ratio is of the times in the same repetition: the median (minimum–maximum).
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from report import format_spread, format_table, print_progress, print_sections

from assay.online.ab.analysis import ABTest, analyse_sums
from assay.online.ab.design import ABDesign
from assay.online.ab.unit_columns import UnitColumns
from assay.online.ab.unit_sums import has_distinct_units, sum_units
from assay.online.event_tables import connect_duckdb

if TYPE_CHECKING:
    from ibis.expr.types import Table

USERS, METRICS, REPETITIONS = 2_000_000, 5, 7
MOST_TIMES_BARE, LEAST_TIMES_TEA = 2.0, 1.0
Section = Callable[[], tuple[str, list[str]]]


def write_units(path: Path, users: int) -> None:
    """Write a table of units with an id, a variant and metrics."""
    rng = np.random.default_rng(0)
    arm = rng.integers(0, 2, users)
    columns = {f"m{i}": rng.gamma(2.0, 1.0, users) + 0.01 * arm * i for i in range(METRICS)}
    frame = pl.DataFrame({"unit_id": np.arange(users), "variant": arm, **columns})
    names = pl.when(pl.col("variant") == 1).then(pl.lit("candidate")).otherwise(pl.lit("control"))
    frame.with_columns(pl.format("user-{}", "unit_id").alias("unit_id"), variant=names).write_parquet(path)


def open_table(path: Path, kind: str) -> Table:
    """Return the units as a table of DuckDB, or as a view of the file."""
    connection = connect_duckdb()
    table = connection.read_parquet(str(path), table_name="file")
    return table if kind == "Parquet" else connection.create_table("units", table)


def bare_sums(table: Table) -> list[Any]:
    """Return the sums of each variant by one statement."""
    sums = ", ".join(f"sum(m{i}), sum(m{i} * m{i})" for i in range(METRICS))
    query = f"SELECT variant, count(*), {sums} FROM {table.get_name()} GROUP BY variant"
    rows: list[Any] = table.get_backend().raw_sql(query).fetchall()
    return rows


def analyse(table: Table) -> ABTest:
    """Return the analysis by Assay."""
    return analyse_sums(sum_units(table, UnitColumns()), ABDesign())


def analyse_by_tea_tasting(table: Table) -> Any:
    """Return the analysis by tea-tasting."""
    import tea_tasting

    metrics = {f"m{i}": tea_tasting.Mean(f"m{i}") for i in range(METRICS)}
    return tea_tasting.Experiment(metrics).analyze(table, control="control")


def check_units(table: Table) -> bool:
    """Return whether each unit has one row: a part of Assay's analysis that tea-tasting does not have."""
    return has_distinct_units(table, "unit_id")


TOOLS: Mapping[str, Callable[[Table], Any]] = {
    "DuckDB, sums alone": bare_sums,
    "assay": analyse,
    "tea-tasting": analyse_by_tea_tasting,
    "of assay: the check that units are distinct": check_units,
}


def check_agreement(table: Table) -> list[str]:
    """Return the metrics whose differences or intervals are not the same."""
    others = analyse_by_tea_tasting(table)
    wrong = []
    for result in analyse(table).metrics:
        other = others[result.metric]
        ends = (other.effect_size, other.effect_size_ci_lower, other.effect_size_ci_upper)
        if not np.allclose(np.array(result.absolute.estimate[:3], float), ends, rtol=1e-6):
            wrong.append(f"{result.metric}: {result.absolute.estimate[:3]} is not {ends}")
    return wrong


def time_tools(table: Table, repetitions: int) -> dict[str, list[float]]:
    """Return the seconds of each tool in each repetition."""
    seconds: dict[str, list[float]] = {name: [] for name in TOOLS}
    for repetition in range(-1, repetitions):  # the first is not counted
        for name, run in TOOLS.items():
            start = perf_counter()
            run(table)
            if repetition >= 0:
                seconds[name].append(perf_counter() - start)
    return seconds


def table_section(path: Path, kind: str, repetitions: int, users: int) -> tuple[str, list[str]]:
    """Return the times over one kind of table."""
    print_progress(kind)
    table = open_table(path, kind)
    missed = check_agreement(table)
    seconds = time_tools(table, repetitions)
    bare, ours, tea, _ = seconds.values()
    ratios = {name: [a / b for a, b in zip(times, bare, strict=True)] for name, times in seconds.items()}
    to_assay = [a / b for a, b in zip(tea, ours, strict=True)]
    rows = [[name, format_spread(times, "×")] for name, times in ratios.items()]
    if median(ratios["assay"]) > MOST_TIMES_BARE:
        missed.append(f"{kind}: {format_spread(ratios['assay'], '×')} of the bare sums > {MOST_TIMES_BARE}")
    if median(to_assay) <= LEAST_TIMES_TEA:
        missed.append(f"{kind}: tea-tasting takes {format_spread(to_assay, '×')} of Assay's time")
    title = f"## {users:,} users, {METRICS} metrics, {kind}, {repetitions} repetitions"
    note = f"tea-tasting takes {format_spread(to_assay, '×')} of Assay's time."
    return f"{title}\n\n{format_table(['tool', 'times the bare sums'], rows)}\n\n{note}", missed


def sections(options: argparse.Namespace, path: Path) -> Iterator[Section]:
    """Yield a section for each kind of table."""
    for kind in ("DuckDB", "Parquet"):
        yield partial(table_section, path, kind, options.reps, options.users)


def main() -> None:
    """Print the tables; exit with 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", type=int, default=USERS, help=f"default: {USERS:,}")
    parser.add_argument("--reps", type=int, default=REPETITIONS, help=f"repetitions (default: {REPETITIONS})")
    options = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)  # of Ibis, with the newest DuckDB
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "units.parquet"
        write_units(path, options.users)
        print_sections(sections(options, path))


if __name__ == "__main__":
    main()
