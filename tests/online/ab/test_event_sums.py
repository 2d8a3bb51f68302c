"""The sums of an A/B test from a log of events."""

import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

from assay.core.errors import InputError
from assay.online.ab.analysis import ABTest, analyse_sums
from assay.online.ab.cells import TestSums
from assay.online.ab.design import ABDesign
from assay.online.ab.event_sums import LoggedTest, sum_events
from assay.online.event_tables import EventTables, connect_duckdb
from assay.online.metrics import MetricSettings, parse_metric
from assay.stats.clustered_quantiles import clustered_quantile
from assay.stats.moments import Moments

START = datetime.datetime(2026, 1, 1)
QUERIES: dict[str, Any] = {
    "query_id": pl.String,
    "client_id": pl.String,
    "at": pl.Datetime("us"),
    "experiment_id": pl.String,
    "variant": pl.String,
    "device": pl.String,
    "latency_ms": pl.Float64,
    "result_count": pl.Int64,
}


def simulate(users: int = 400, seed: int = 0, past: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Queries and clicks of users, who search on days of the test, and on days before without a variant."""
    rng = np.random.default_rng(seed)
    queries: list[tuple[Any, ...]] = []
    clicks: list[tuple[Any, ...]] = []
    for user in range(users):
        variant, taste = ("control", "candidate")[user % 2], rng.beta(2, 4)
        for day in range(-past, 10):
            for _ in range(rng.poisson(0.4)):
                number = f"q{len(queries)}"
                at = START + datetime.timedelta(days=day, minutes=float(rng.uniform(0, 1440)))
                device = "phone" if rng.random() < 0.5 else "desktop"
                is_past = day < 0
                row = (number, f"u{user}", at, None if is_past else "e1", None if is_past else variant)
                queries.append((*row, device, float(rng.gamma(4, 25)), 10))
                if rng.random() < taste + 0.05 * (variant == "candidate" and not is_past):
                    clicks.append((number, f"u{user}", at + datetime.timedelta(seconds=20), "click", 1))
    columns = ["query_id", "client_id", "at", "action", "rank"]
    return pl.DataFrame(queries, QUERIES, orient="row"), pl.DataFrame(clicks, columns, orient="row")


def open_log(queries: pl.DataFrame, clicks: pl.DataFrame) -> EventTables:
    connection = connect_duckdb()
    tables = (connection.create_table(n, f.to_arrow()) for n, f in (("q", queries), ("e", clicks)))
    return EventTables.from_tables(*tables)


def summed(queries: pl.DataFrame, clicks: pl.DataFrame, *metrics: str, **options: Any) -> TestSums:
    test = LoggedTest(metrics=[parse_metric(name) for name in metrics or ("ctr",)], **options)
    return sum_events(open_log(queries, clicks), test)


def analyse(sums: TestSums) -> ABTest:
    return analyse_sums(sums, ABDesign())


def test_the_click_through_rate_is_a_ratio_over_users() -> None:
    queries, clicks = simulate()
    found = summed(queries, clicks).arms()
    clicked = queries.with_columns(
        hit=pl.col("query_id").is_in(clicks["query_id"].to_list()).cast(pl.Float64)
    )
    for variant, arm in found.items():
        users = clicked.filter(variant=variant).group_by("client_id").agg(pl.col("hit").sum(), n=pl.len())
        expected = Moments.from_values(users["hit"], denominator=users["n"])
        assert arm.n == len(users)
        assert arm.metrics["ctr"].to_dict() == pytest.approx(expected.to_dict())


def test_latency_percentiles_are_clustered_by_user() -> None:
    queries, clicks = simulate()
    found = summed(queries, clicks, "latency_p50").quantiles["latency_p50"]
    own = queries.filter(variant="control")
    users = own["client_id"].cast(pl.Categorical).to_physical().to_numpy()
    expected = clustered_quantile(own["latency_ms"].to_numpy(), users, 0.5)
    assert found["control"].value == pytest.approx(expected.value, rel=0.02)
    assert found["control"].error == pytest.approx(expected.error, rel=0.1)
    assert found["control"].users == expected.users


def test_a_user_in_both_variants_is_left_out_everywhere() -> None:
    queries, clicks = simulate()
    mixed = queries.with_columns(
        variant=pl.when((pl.col("client_id") == "u0") & (pl.int_range(pl.len()) == 0))
        .then(pl.lit("candidate"))
        .otherwise("variant")
    )
    assert len(queries.filter(client_id="u0")) > 1
    sums, without = (
        summed(mixed, clicks, "ctr", "latency_p50"),
        summed(queries.filter(pl.col("client_id") != "u0"), clicks, "ctr", "latency_p50"),
    )
    assert sums.excluded == {"in several variants": 1}
    assert (sums.arms(), sums.quantiles) == (without.arms(), without.quantiles)


def test_a_unit_belongs_to_the_slice_and_the_day_of_its_first_query() -> None:
    queries, clicks = simulate()
    sums = summed(queries, clicks, by=["device"])
    first = queries.sort("at").group_by("client_id", maintain_order=True).first()
    for column, key in (("device", pl.col("device")), ("day", pl.col("at").dt.date().cast(pl.String))):
        expected = dict(first.group_by(key.alias("key")).len().iter_rows())
        found = {value: sum(arm.n for arm in arms.values()) for value, arms in sums.split(column).items()}
        assert found == expected


def test_what_users_did_before_the_test_explains_some_of_the_variance() -> None:
    queries, clicks = simulate(users=1500, past=60)
    plain, adjusted = (
        analyse(summed(queries, clicks, start="2026-01-01", uses_past=uses)).metrics[0].absolute
        for uses in (False, True)
    )
    assert adjusted.method == "Welch, ratio, CUPED"
    assert adjusted.n == plain.n
    assert (adjusted.variance_reduction or 0) > 0.05
    assert (adjusted.error or 1) < (plain.error or 0)


def test_queries_without_a_variant_do_not_count() -> None:
    queries, clicks = simulate(past=5)
    sums = summed(queries, clicks)
    own = queries.filter(pl.col("variant").is_not_null())
    assert sum(arm.n for arm in sums.arms().values()) == own["client_id"].n_unique()
    assert sums.notes == [
        f"{len(own):,} of {len(queries):,} queries belong to the test; "
        f"{len(queries) - len(own):,} have no variant"
    ]


def test_one_of_several_experiments_must_be_named() -> None:
    queries, clicks = simulate()
    other = queries.with_columns(
        query_id=pl.col("query_id") + "x", experiment_id=pl.lit("e2"), client_id=pl.col("client_id") + "x"
    )
    both = pl.concat([queries, other])
    with pytest.raises(InputError, match=r"2 experiments \(e1, e2\): name one with --experiment"):
        summed(both, clicks)
    assert summed(both, clicks, experiment="e1").arms() == summed(queries, clicks).arms()
    with pytest.raises(InputError, match="no such experiment_id; found e1, e2"):
        summed(both, clicks, experiment="e3")


def test_values_are_cut_on_request_and_it_is_said() -> None:
    queries, clicks = simulate()
    settings = MetricSettings(winsorise=0.9)
    sums = summed(queries, clicks, "clicks_per_query", settings=settings)
    assert "clicks_per_query: values above 1 count as 1" in sums.notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "never"}, "--start expects a day"),
        ({"start": "2027-01-01"}, "no query of the test is on or after this day"),
        ({"uses_past": True}, "--cuped needs the first day"),
        ({"by": ["devise"]}, "--by: there is no column devise of a query; did you mean device"),
    ],
)
def test_what_the_log_does_not_have_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        summed(*simulate(users=20), **options)
