"""Metrics of units equal a plain Python reference on DuckDB, PostgreSQL and Spark."""

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from shutil import which
from typing import Any

import ibis
import pytest
from hypothesis import given, settings

from assay.online.event_tables import EventTables, connect_duckdb
from assay.online.metrics import METRICS
from assay.online.unit_quantiles import unit_quantiles
from assay.online.units import UnitQueries, unit_moments, unit_table
from tests.online.reference_metrics import (
    Reference,
    Row,
    event_frame,
    logs,
    merge_logs,
    query_frame,
    sample_logs,
)

SUMMED = [metric for metric in METRICS.values() if metric.quantile is None]
QUANTILES = [metric for metric in METRICS.values() if metric.quantile is not None]
Units = dict[str, dict[str, Any]]


@cache
def merged_log() -> tuple[list[Row], list[Row]]:
    return merge_logs(sample_logs(150))


@cache
def reference_units() -> Units:
    return Reference(*merged_log()).units()


def load_duckdb(queries: list[Row], events: list[Row]) -> EventTables:
    connection = connect_duckdb()
    tables = {"q": query_frame(queries), "e": event_frame(events)}
    return EventTables.from_tables(*(connection.create_table(n, f.to_arrow()) for n, f in tables.items()))


def unit_values(tables: EventTables) -> Units:
    """The sums of each metric by unit, as the reference has them."""
    table = UnitQueries(tables, SUMMED).unit_table()
    return {row["unit_id"]: _defined(row) for row in table.to_pyarrow().to_pylist()}


def _defined(row: Row) -> dict[str, tuple[float, float]]:
    return {
        m.name: (row[m.name], row[f"{m.name}__denominator"] if m.is_ratio else row[m.name])
        for m in SUMMED
        if row[m.name] is not None
    }


def assert_equal(found: Units, expected: Units) -> None:
    assert {*found} == {*expected}
    for unit, values in expected.items():
        values["queries_per_unit"] = (values["queries_per_unit"][0],) * 2
        assert found[unit] == {name: pytest.approx(pair) for name, pair in values.items()}, unit


@given(logs())
@settings(max_examples=15)
def test_metrics_of_a_small_log_equal_the_reference(log: tuple[list[Row], list[Row]]) -> None:
    assert_equal(unit_values(load_duckdb(*log)), Reference(*log).units())


@pytest.fixture(scope="module")
def duckdb_tables() -> EventTables:
    return load_duckdb(*merged_log())


def test_duckdb_computes_the_reference(duckdb_tables: EventTables) -> None:
    assert_equal(unit_values(duckdb_tables), reference_units())


def test_postgres_computes_the_reference_and_the_same_quantiles(
    cluster: str, duckdb_tables: EventTables
) -> None:
    queries, events = merged_log()
    connection = ibis.connect(cluster.replace("postgresql", "postgres"))
    with closing(connection.con):
        tables = [
            connection.create_table("units_q", query_frame(queries).to_arrow(), temp=True),
            connection.create_table("units_e", event_frame(events).to_arrow(), temp=True),
        ]
        opened = EventTables.from_tables(*tables)
        assert_equal(unit_values(opened), reference_units())
        assert_same_quantiles(opened, duckdb_tables)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    _require_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # for a minute of work
        "spark.sql.codegen.wholeStage": "false",  # compiling costs more than it saves on few rows
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder),
        "spark.driver.host": "127.0.0.1",
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


def _require_java() -> None:
    """Install Java where it is missing."""
    if which("java") is None:
        apt = Path(__file__).parents[2] / "scripts" / "apt.sh"
        done = subprocess.run([apt, "default-jre-headless"], capture_output=True, text=True)
        if which("java") is None:
            pytest.skip(done.stderr.strip())


def test_spark_computes_the_reference_and_the_same_quantiles(
    spark: Any, duckdb_tables: EventTables, tmp_path: Path
) -> None:
    connection = ibis.pyspark.connect(spark)
    queries, events = merged_log()
    query_frame(queries).write_parquet(tmp_path / "q.parquet")
    event_frame(events).write_parquet(tmp_path / "e.parquet")
    tables = [connection.read_parquet(str(tmp_path / f"{name}.parquet")) for name in "qe"]
    opened = EventTables.from_tables(*tables)
    assert_equal(unit_values(opened), reference_units())
    assert_same_quantiles(opened, duckdb_tables)


def assert_same_quantiles(tables: EventTables, others: EventTables) -> None:
    found, expected = (
        unit_quantiles(UnitQueries(t, QUANTILES, ["variant"]).facts, QUANTILES, ["variant"])
        for t in (tables, others)
    )
    assert {*found} == {*expected} == {("control",), ("treatment",), (None,)}
    for key, quantiles in expected.items():
        for name, quantile in quantiles.items():
            assert found[key][name].estimate[:5] == pytest.approx(quantile.estimate[:5])


def test_sums_over_units_are_those_of_the_units(duckdb_tables: EventTables) -> None:
    (whole,) = unit_moments(UnitQueries(duckdb_tables, SUMMED).unit_table(), SUMMED)
    units = reference_units().values()
    pairs = [found["ctr"] for found in units]
    moments = whole.moments["ctr"]
    assert whole.units == len(units)
    assert (moments.n, moments.sum) == (len(pairs), sum(a for a, _ in pairs))
    assert moments.denominator_sum_squares == sum(b * b for _, b in pairs)
    assert moments.cross == sum(a * b for a, b in pairs)


def test_a_unit_has_a_row_for_each_variant_and_day(duckdb_tables: EventTables) -> None:
    rows = unit_table(duckdb_tables, [METRICS["ctr"]], by=("day",)).to_pyarrow().to_pylist()
    keys = {(row["unit_id"], row["variant"], row["day"]) for row in rows}
    queries, _ = merged_log()
    expected = {
        (q["client_id"] or q["session_id"] or q["query_id"], q["variant"], q["at"] and q["at"].date())
        for q in queries
    }
    assert len(rows) == len(keys)
    assert keys == expected
    assert {*rows[0]} == {"unit_id", "variant", "day", "first_at", "ctr", "ctr__denominator"}
