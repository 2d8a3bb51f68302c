"""The sums of a table of units, beside those of numpy and the results of tea-tasting."""

from contextlib import closing
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import polars as pl
import pytest
import tea_tasting as tt

from assay.core.errors import FormatError, InputError
from assay.online.ab.analysis import analyse_sums
from assay.online.ab.cells import Arm
from assay.online.ab.design import ABDesign
from assay.online.ab.unit_columns import UnitColumns
from assay.online.ab.unit_sums import sum_units
from assay.online.event_tables import connect_duckdb
from assay.stats.clustered_quantiles import clustered_quantile
from assay.stats.moments import Moments


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    rng = np.random.default_rng(7)
    n = 2000
    arm, before, queries = rng.integers(0, 2, n), rng.gamma(2, 3, n), rng.poisson(4, n) + 1
    return pl.DataFrame(
        {
            "unit_id": [f"u{i}" for i in range(n)],
            "variant": np.where(arm == 1, "candidate", "control"),
            "device": np.where(rng.random(n) < 0.5, "phone", "desktop"),
            "revenue": before + rng.normal(5, 2, n) + 0.3 * arm,
            "before": before,
            "clicks": rng.binomial(queries, 0.3),
            "queries": queries,
            "is_buyer": rng.random(n) < 0.2,
        }
    )


def load(frame: pl.DataFrame) -> ibis.expr.types.Table:
    return connect_duckdb().create_table("units", frame.to_arrow())


def arms(frame: pl.DataFrame, **columns: Any) -> dict[str, Arm]:
    return sum_units(load(frame), UnitColumns(**columns)).arms()


def part(frame: pl.DataFrame, variant: str, *names: str) -> list[Any]:
    rows = frame.filter(pl.col("variant") == variant)
    return [rows[name].to_numpy().astype(float) for name in names]


def assert_moments(found: Moments, expected: Moments) -> None:
    assert found.to_dict() == pytest.approx(expected.to_dict())


def test_each_column_of_numbers_is_a_metric_with_the_sums_of_numpy(frame: pl.DataFrame) -> None:
    found = arms(frame)
    assert list(found["control"].metrics) == ["revenue", "before", "clicks", "queries", "is_buyer"]
    for name, arm in found.items():
        for metric, moments in arm.metrics.items():
            assert_moments(moments, Moments.from_values(*part(frame, name, metric)))
    assert found["control"].metrics["is_buyer"].is_share


def test_ratios_and_covariates_have_their_products(frame: pl.DataFrame) -> None:
    columns = {
        "ratios": {"ctr": ["clicks", "queries"]},
        "covariates": {"revenue": ["before"], "ctr": ["before", "queries"]},
    }
    found = arms(frame, metrics=["revenue", "ctr"], **columns)["candidate"].metrics
    revenue, before = part(frame, "candidate", "revenue", "before")
    assert_moments(found["revenue"], Moments.from_values(revenue, covariate=before))
    values = part(frame, "candidate", "clicks", "queries", "before", "queries")
    assert_moments(found["ctr"], Moments.from_values(*values))


def test_results_are_those_of_tea_tasting(frame: pl.DataFrame) -> None:
    table = frame.with_columns(variant=(pl.col("variant") == "candidate").cast(pl.Int64))
    metrics = {"revenue": tt.Mean("revenue"), "ctr": tt.RatioOfMeans("clicks", "queries")}
    expected = tt.Experiment(metrics).analyze(table.to_arrow())
    sums = sum_units(
        load(frame), UnitColumns(metrics=["revenue", "ctr"], ratios={"ctr": ["clicks", "queries"]})
    )
    for result in analyse_sums(sums, ABDesign()).metrics:
        other = expected[result.metric]
        assert result.absolute.estimate[:3] == pytest.approx(
            (other.effect_size, other.effect_size_ci_lower, other.effect_size_ci_upper)
        )
        assert result.absolute.p == pytest.approx(other.pvalue)


def test_a_new_unit_has_the_mean_covariate(frame: pl.DataFrame) -> None:
    gaps = frame.with_columns(before=pl.when(pl.int_range(pl.len()) % 3 > 0).then(pl.col("before")))
    filled = gaps.with_columns(pl.col("before").fill_null(pl.col("before").mean()))
    columns = {"metrics": ["revenue"], "covariates": {"revenue": ["before"]}}
    found, expected = arms(gaps, **columns), arms(filled, **columns)
    for name in found:
        assert_moments(found[name].metrics["revenue"], expected[name].metrics["revenue"])


def test_quantiles_are_of_the_values_of_each_variant(frame: pl.DataFrame) -> None:
    columns = UnitColumns(metrics=["clicks"], quantiles={"p90": ("revenue", 0.9)})
    sums = sum_units(load(frame), columns, level=0.9)
    (values,) = part(frame, "control", "revenue")
    expected = clustered_quantile(values, np.arange(len(values)), 0.9, 0.9)
    assert sums.quantiles["p90"]["control"] == pytest.approx(expected)
    assert sums.metrics == ["clicks", "p90"]


def test_units_in_several_variants_are_left_out_and_counted(frame: pl.DataFrame) -> None:
    again = frame.head(5).with_columns(
        variant=pl.when(pl.col("variant") == "control").then(pl.lit("candidate")).otherwise(pl.lit("control"))
    )
    sums = sum_units(load(pl.concat([frame, again])), UnitColumns())
    assert sums.excluded == {"in several variants": 5}
    assert sum(arm.n for arm in sums.arms().values()) == 1995


def test_rows_without_a_unit_or_a_variant_are_counted(frame: pl.DataFrame) -> None:
    odd = frame.with_columns(
        unit_id=pl.when(pl.int_range(pl.len()) == 0).then(None).otherwise(pl.col("unit_id")),
        variant=pl.when(pl.int_range(pl.len()) == 1).then(None).otherwise(pl.col("variant")),
    )
    odd = pl.concat([odd, odd.head(1)])
    assert sum_units(load(odd), UnitColumns()).excluded == {"no unit id": 2, "no variant": 1}


def test_days_strata_and_slices_divide_the_sums(frame: pl.DataFrame) -> None:
    days = frame.with_columns(day=pl.lit("2026-01-01 13:00:00").str.to_datetime())
    sums = sum_units(load(days), UnitColumns(metrics=["revenue"], by=["device"], stratum="device"))
    assert sums.columns == ("day", "stratum", "device")
    assert list(sums.split("day")) == ["2026-01-01"]
    assert list(sums.split("device")) == ["desktop", "phone"]


@pytest.mark.parametrize(
    ("changes", "columns", "message"),
    [
        ({}, {"unit": "user"}, "expected a column user, found unit_id.*name it with --unit"),
        ({}, {"variant": "arm"}, "expected a column arm.*name it with --variant"),
        ({}, {"metrics": ["revenu"]}, "--metric: there is no column revenu; did you mean revenue"),
        ({}, {"metrics": ["device"]}, "expected numbers in device, found"),
        ({}, {"by": ["devise"]}, "--by: there is no column devise; did you mean device"),
        ({}, {"covariates": {"revenue": ["past"]}}, "--covariate: there is no column past"),
        (
            {"revenue": pl.lit(float("nan"))},
            {},
            "finite numbers in revenue, found NaN or infinity in 2,000 rows",
        ),
        ({"revenue": pl.lit(1e200)}, {}, "too large to add up"),
        ({"revenue": pl.lit("5")}, {"metrics": ["revenue"]}, None),
        ({"queries": -pl.col("queries")}, {"ratios": {"ctr": ["clicks", "queries"]}}, "counts of 0 or more"),
        (
            {"unit_id": pl.lit("u1"), "variant": pl.lit("a")},
            {},
            "one row for each unit, but 1 unit has several",
        ),
    ],
)
def test_what_cannot_be_summed_is_refused_with_the_file(
    frame: pl.DataFrame, changes: dict[str, Any], columns: dict[str, Any], message: str | None
) -> None:
    if message is None:
        message = "expected numbers in the column revenue|expected numbers in revenue"
    with pytest.raises(FormatError, match=message) as raised:
        sum_units(load(frame.with_columns(**changes)), UnitColumns(**columns), "units.csv")
    assert str(raised.value).startswith("units.csv: ")


def test_a_text_among_numbers_is_named_with_its_unit(frame: pl.DataFrame) -> None:
    texts = frame.with_columns(
        revenue=pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("n/a")).otherwise(pl.lit("5"))
    )
    with pytest.raises(InputError, match="expected numbers in revenue, found 'n/a' of unit 'u3'"):
        sum_units(load(texts), UnitColumns())


def test_a_database_on_disk_gives_the_same_sums(frame: pl.DataFrame, tmp_path: Path) -> None:
    connection = connect_duckdb(str(tmp_path / "units.duckdb"))
    table = connection.create_table("units", frame.to_arrow())
    assert sum_units(table, UnitColumns()).arms() == arms(frame)


def test_postgresql_gives_the_same_sums(frame: pl.DataFrame, postgres: str) -> None:
    again = frame.head(3).with_columns(variant=pl.lit("third"))
    both = pl.concat([frame, again]).with_columns(day=pl.lit("2026-01-01").str.to_date())
    columns = UnitColumns(
        ratios={"ctr": ["clicks", "queries"]},
        covariates={"revenue": ["before"]},
        quantiles={"p90": ("revenue", 0.9)},
        by=["device"],
    )
    connection = ibis.connect(postgres.replace("postgresql", "postgres", 1))
    with closing(connection.con):
        found = sum_units(connection.create_table("units", both.to_arrow()), columns)
    expected = sum_units(load(both), columns)
    assert (found.columns, found.excluded) == (("day", "device"), {"in several variants": 3})
    assert found.excluded == expected.excluded
    assert found.quantiles == expected.quantiles
    for value, slices in expected.split("device").items():
        for name, arm in slices.items():
            for metric, moments in arm.metrics.items():
                assert_moments(found.split("device")[value][name].metrics[metric], moments)
