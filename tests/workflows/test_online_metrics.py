"""Online metrics of logs with known answers, of other shapes and places, and of projects."""

import json
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import ibis
import polars as pl
import pytest

from assay.core.errors import ConfigurationError, InputError
from assay.online.bots import BotRules
from assay.online.measured_metrics import OnlineMetrics
from assay.online.metrics import MetricSettings
from assay.stats.moments import Moments
from assay.workflows.event_inputs import EventSource, open_database, open_database_table, open_project_events
from assay.workflows.online_metrics import MetricsRequest, measure_online_metrics

AT = datetime(2026, 1, 31, 12)
FEW = ("ctr", "mrr", "zero_result", "latency_p50", "cost")


def measure(source: EventSource | Path, *metrics: str, **more: Any) -> OnlineMetrics:
    source = source if isinstance(source, EventSource) else EventSource(paths=[str(source)])
    return measure_online_metrics(MetricsRequest(source=source, metrics=metrics, **more))


def query(number: int, client: str, hits: int = 3, **attributes: Any) -> dict[str, Any]:
    return {
        "query_id": f"q{number}",
        "client_id": client,
        "user_query": f"text {number}",
        "timestamp": f"{(AT + timedelta(hours=number)).isoformat()}Z",
        "query_response_hit_ids": ["a", "b", "c"][:hits],
        "query_attributes": attributes,
    }


def click(number: int, client: str, rank: int, seconds: float = 5.0) -> dict[str, Any]:
    return {
        "action_name": "click",
        "query_id": f"q{number}",
        "client_id": client,
        "timestamp": f"{(AT + timedelta(hours=number, seconds=seconds)).isoformat()}Z",
        "event_attributes": {"object": {"object_id": "abc"[rank - 1]}, "position": {"ordinal": rank}},
    }


RECORDS = [
    query(1, "x", variant="control", latency_ms=100, cost=1, category="how_to"),
    click(1, "x", 1),
    query(2, "x", 0, variant="control", latency_ms=200, cost=2, category="fix"),
    query(13, "y", variant="treatment", latency_ms=300, cost=3, category="how_to"),
    click(13, "y", 2),
    query(14, "z", variant="treatment", latency_ms=400),
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.ndjson"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return path


def values(result: OnlineMetrics) -> dict[str, float | None]:
    return {name: estimate.value for name, estimate in result.estimates.items()}


def test_sessions_of_trec_have_the_published_figures(shared: Path) -> None:
    folder = shared / "trec_session_2013"
    names = [*(f"ctr@{rank}" for rank in range(1, 11)), "abandonment", "zero_result"]
    result = measure(folder / "sessiontrack2013.xml", *names)
    rates = [round(result.estimates[f"ctr@{rank}"].value or 0, 4) for rank in range(1, 11)]
    assert (rates[0], rates[9]) == (0.3033, 0.0179)
    assert rates[:9] == sorted(rates[:9], reverse=True) or rates[7:9] == [0.0578, 0.0584]
    assert result.counts["sessions"] == 133
    assert (result.moments["abandonment"].sum, result.moments["zero_result"].sum) == (150, 2)


def test_the_real_dirty_log_has_the_published_counts(shared: Path) -> None:
    result = measure(shared / "chorus_ubi", "zero_result")
    counts = {name: result.counts[name] for name in ("queries", "events", "clients")}
    assert counts == {"queries": 4130, "events": 26828, "clients": 280}
    assert result.moments["zero_result"].sum == 3271
    problems = {problem.kind: problem.count for problem in result.problems}
    assert problems["session in the attributes"] == 26828
    assert problems["result ids under another name"] == 4130
    assert all(problem.example and problem.treatment for problem in result.problems)


def test_a_small_log_has_the_metrics_that_are_counted_by_hand(log: Path) -> None:
    result = measure(log)
    expected = {"ctr": 2 / 4, "ctr@1": 1 / 3, "ctr@2": 1 / 3, "mrr": 0.75, "zero_result": 1 / 4}
    expected |= {"abandonment": 1 / 3, "clicks@1": 1 / 4, "clicks_per_query": 2 / 4, "cost": 2.0}
    expected |= {"session_success": 2 / 4, "queries_per_unit": 4 / 3, "latency_p50": 250.0, "slo": 1.0}
    assert {name: values(result)[name] for name in expected} == pytest.approx(expected)
    assert (values(result)["completion"], values(result)["dwell"]) == (None, None)
    assert result.reasons["completion"] == "the log has no such action"
    assert result.counts["censored_clicks"] == 2
    assert result.problems[0].kind == "query without results"


def test_slices_add_up_to_the_whole(log: Path) -> None:
    result = measure(log, *FEW, by=["day", "variant", "category"])
    found = {(part.column, part.value): part for part in result.slices}
    assert [*found][:2] == [("day", "2026-01-31"), ("day", "2026-02-01")]
    assert [*found][2:] == [("variant", "control"), ("variant", "treatment")] + [
        ("category", value) for value in ("fix", "how_to", None)
    ]
    assert found["variant", "control"].estimates["ctr"].value == 1 / 2
    assert found["variant", "treatment"].estimates["latency_p50"].value == 350
    assert found["category", None].estimates["cost"].value is None
    assert sum(part.units for key, part in found.items() if key[0] == "variant") == 3


@pytest.mark.parametrize("place", ["parquet", "folder", "duckdb", "csv"])
def test_a_log_has_the_same_metrics_wherever_it_is(log: Path, tmp_path: Path, place: str) -> None:
    expected = values(measure(log, *FEW))
    if place == "folder":
        kept = EventSource(paths=[str(log)], normalised=str(tmp_path / "kept"))
        assert values(measure(kept, *FEW)) == expected
        assert values(measure(tmp_path / "kept", *FEW)) == expected
        return
    assert values(measure(other_log(tmp_path, place), *FEW)) == expected


def other_log(folder: Path, place: str) -> EventSource:
    """The same log in columns of other names."""
    columns = {"client_id": "visitor", "at": "moment", "query_id": "search"}
    columns |= {"object_id": "document"} if place != "csv" else {"object_id": "document", "rank": "place"}
    queries, events = frames()
    if place == "csv":
        joined = queries.join(events.drop("visitor", "moment", "action"), on="search", how="left")
        joined.write_csv(folder / "log.csv")
        return EventSource(paths=[str(folder / "log.csv")], columns=columns | {"hit_ids": "shown"})
    columns |= {"rank": "place"}
    if place == "parquet":
        queries.write_parquet(folder / "q.parquet")
        events.write_parquet(folder / "e.parquet")
        return EventSource(paths=[str(folder / f"{name}.parquet") for name in "qe"], columns=columns)
    with duckdb.connect(str(folder / "log.db")) as connection:
        for name, frame in (("searches", queries), ("actions", events)):
            connection.register("frame", frame.to_arrow())
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM frame")
    return EventSource(
        url=f"duckdb://{folder}/log.db",
        queries_table="searches",
        events_table="actions",
        columns=columns,
    )


def frames() -> tuple[pl.DataFrame, pl.DataFrame]:
    asked = [record for record in RECORDS if "user_query" in record]
    clicked = [record for record in RECORDS if "action_name" in record]
    shared = [("search", "query_id"), ("visitor", "client_id"), ("moment", "timestamp")]
    queries = [
        {name: record[source] for name, source in shared}
        | {"shown": " ".join(record["query_response_hit_ids"]), "user_query": record["user_query"]}
        | {name: record["query_attributes"].get(name) for name in ("latency_ms", "cost")}
        | {"result_count": len(record["query_response_hit_ids"])}
        for record in asked
    ]
    events = [
        {name: record[source] for name, source in shared}
        | {"action": "click", "document": record["event_attributes"]["object"]["object_id"]}
        | {"place": record["event_attributes"]["position"]["ordinal"]}
        for record in clicked
    ]
    return pl.DataFrame(queries), pl.DataFrame(events)


def test_a_table_of_events_alone_has_their_queries(tmp_path: Path) -> None:
    frames()[1].write_parquet(tmp_path / "e.parquet")
    columns = {"client_id": "visitor", "at": "moment", "query_id": "search", "rank": "place"}
    result = measure(EventSource(paths=[str(tmp_path / "e.parquet")], columns=columns), "ctr", "zero_result")
    assert result.counts["queries"] == 2
    assert values(result) == {"ctr": 1.0, "zero_result": None}


def test_what_does_not_fit_in_scanned_tables_is_counted(tmp_path: Path) -> None:
    at = [AT, AT, AT, None]
    pl.DataFrame(
        {"query_id": ["q", "q", "r", None], "at": at, "result_count": [1, 1, 0, None]}
    ).write_parquet(tmp_path / "q.parquet")
    early = AT - timedelta(hours=1)
    late = AT + timedelta(days=2)
    times = [AT, AT, early, late, AT, AT]
    ids = ["q", "q", "r", "r", "unknown", None]
    pl.DataFrame({"query_id": ids, "at": times, "action": ["click"] * 6}).write_parquet(
        tmp_path / "e.parquet"
    )
    result = measure(EventSource(paths=[str(tmp_path / f"{name}.parquet") for name in "qe"]), "ctr")
    problems = {problem.kind: problem.count for problem in result.problems}
    once = ["query without an id", "query without a time", "query without results", "repeated query"]
    once += [
        "repeated event",
        "event of an unknown query",
        "event before its query",
        "event more than a day after its query",
        "event without a query id",
    ]
    assert {kind: problems[kind] for kind in once} == dict.fromkeys(once, 1)
    assert problems["query whose results are not logged"] == 1
    assert result.moments["ctr"].sum == 2


def test_programs_are_left_out_by_stated_rules(tmp_path: Path) -> None:
    busy = [{**query(n, "busy"), "timestamp": f"2026-01-31T12:0{n % 10}:00Z"} for n in range(100, 106)]
    hasty = [{**query(n, "hasty"), "timestamp": "2026-01-31T12:00:00Z"} for n in range(400, 405)]
    agent = {"user_agent": "Examplebot/1.0 (+http://example.org)"}
    crawler = {**query(200, "crawler"), "query_attributes": agent}
    fast = [r for n in range(300, 303) for r in (query(n, "fast"), click(n, "fast", 1, 0.05))]
    path = tmp_path / "log.ndjson"
    path.write_text("".join(f"{json.dumps(r)}\n" for r in (*RECORDS, *busy, *hasty, crawler, *fast)))
    rules = BotRules(queries_per_day=5, queries_per_minute=4, fast_clicks=3)
    result = measure(EventSource(paths=[str(path)], bots=rules), "ctr")
    problems = {problem.kind: problem for problem in result.problems}
    treatment = "taken for a program; queries left out: {}, events: {}"
    expected = {"busy": (6, 0), "hasty": (5, 0), "crawler": (1, 0), "fast": (3, 3)}
    for sentence, (client, counts) in zip(rules.sentences(), expected.items(), strict=True):
        assert problems[sentence].example == f"client {client}"
        assert problems[sentence].treatment == treatment.format(*counts)
    assert result.counts["queries"] == 4
    assert measure(EventSource(paths=[str(path)], bots=None), "ctr").counts["queries"] == 19


OWN = """
[online.events]
paths = "log.ndjson"
bots = "off"
[online.metrics.deep]
value = "_.best_clicked_rank > 1"
definition = "queries whose best click is below rank 1 / queries with a click"
[online.metrics.clicks_on_b]
events = "(_.object_id == 'b').sum()"
[online.metrics.any_fix]
value = "_.category == 'fix'"
scope = "session"
[online.metrics.cost_per_click]
value = "_.cost.sum() / _.clicks.sum()"
lower_is_better = true
"""


@pytest.fixture
def project(log: Path) -> Path:
    path = log.with_name("assay.toml")
    path.write_text(OWN)
    return path


def test_a_metric_of_a_project_is_one_expression(project: Path) -> None:
    names = ["deep", "clicks_on_b", "any_fix", "cost_per_click"]
    result = measure(open_project_events(project), *names, project=project)
    expected = {"deep": 0.5, "clicks_on_b": 0.25, "any_fix": 1 / 3, "cost_per_click": 6 / 2}
    assert values(result) == pytest.approx(expected)
    assert result.moments["deep"] == Moments.from_fields(
        {"n": 2, "sum": 1, "sum_squares": 1, "denominator_sum": 2, "denominator_sum_squares": 2, "cross": 1}
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('value = "_.clicks > 1 and _.events > 1"', "expected & for and"),
        ('value = "_.execute()"', "expected a column or a method"),
        ('value = "open(1)"', "found the name open"),
        ('value = "_.clicks >"', "expected an Ibis expression"),
        ("", "expected an Ibis expression over the facts of a query"),
        ('value = "_.clicks"\nlower_is_better = 1', "expected true or false"),
    ],
)
def test_a_metric_that_is_no_expression_is_refused(log: Path, settings: str, message: str) -> None:
    path = log.with_name("assay.toml")
    path.write_text(f"[online.metrics.own]\n{settings}\n")
    with pytest.raises(ConfigurationError, match="own") as error:
        measure(log, "own", project=path)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("_.clickz > 1", "no column clickz of a query; did you mean clicks?"),
        ("_.user_query", "expected a number or a truth"),
        ("_.clicks.nothing()", "cannot be computed"),
    ],
)
def test_an_expression_that_does_not_fit_the_log_is_refused(log: Path, value: str, message: str) -> None:
    path = log.with_name("assay.toml")
    path.write_text(f'[online.metrics.own]\nvalue = "{value}"\n')
    with pytest.raises(InputError) as error:
        measure(log, "own", project=path)
    assert message in str(error.value)


def test_large_values_are_cut_only_on_request(log: Path) -> None:
    settings = MetricSettings(winsorise=0.75)
    result = measure(log, "cost", "ctr", settings=settings)
    assert result.caps == {"cost": 2.5}
    assert values(result) == pytest.approx({"cost": 5.5 / 3, "ctr": 0.5})
    assert measure(log, "cost").caps == {}


def test_a_database_that_is_absent_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        measure(EventSource(url=f"duckdb://{tmp_path}/none.db", queries_table="q"), "ctr")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(InputError, match="cannot be opened"):
        measure(EventSource(url="nothing://host", queries_table="q"), "ctr")


def test_tables_of_postgres_are_checked_and_measured_where_they_are(log: Path, postgres: str) -> None:
    names = ["ctr", "zero_result", "reformulation", "dwell", "latency_p50", "cost"]
    connection = ibis.connect(postgres.replace("postgresql", "postgres"))
    with closing(connection.con):
        for name, frame in zip(("searches", "actions"), frames(), strict=True):
            times = pl.col("moment").str.to_datetime(time_zone="UTC")
            connection.create_table(name, frame.with_columns(times).to_arrow())
    columns = {"client_id": "visitor", "at": "moment", "query_id": "search"}
    columns |= {"object_id": "document", "rank": "place"}
    source = EventSource(url=postgres, queries_table="searches", events_table="actions", columns=columns)
    result = measure(source, *names, by=["day"], settings=MetricSettings(winsorise=0.9))
    expected = measure(log, *names, by=["day"], settings=MetricSettings(winsorise=0.9))
    assert values(result) == pytest.approx(values(expected))
    assert [part.value for part in result.slices] == ["2026-01-31", "2026-02-01"]
    assert {problem.kind for problem in result.problems} == {"query without results"}


def test_the_connection_to_a_database_is_closed_after_use_and_after_an_error(postgres: str) -> None:
    with open_database(postgres) as connection:
        assert not connection.con.closed
    assert connection.con.closed
    with pytest.raises(InputError, match="there is no table units"), open_database(postgres) as connection:
        open_database_table(connection, "units")
    assert connection.con.closed


def text_queries(*times: str | None) -> pl.DataFrame:
    """Queries whose times and latencies are texts."""
    number = range(len(times))
    ids = {"query_id": [f"q{n}" for n in number], "client_id": [f"c{n}" for n in number]}
    return pl.DataFrame({**ids, "at": times, "latency_ms": ["12", "slow", "20"], "result_count": [1, 1, 1]})


def test_texts_of_scanned_tables_are_read_or_counted(tmp_path: Path) -> None:
    times = ["2026-01-05T23:30:00-02:00", "yesterday", "2026-01-05 10:00:00"]
    text_queries(*times).write_parquet(tmp_path / "q.parquet")
    result = measure(tmp_path / "q.parquet", "latency_p50", by=["day"])
    assert [part.value for part in result.slices] == ["2026-01-05", "2026-01-06", None]
    assert result.estimates["latency_p50"].value == 16
    counts = {problem.kind: problem.count for problem in result.problems}
    assert counts["at that cannot be read as a time"] == 1
    assert counts["latency_ms that cannot be read as a number"] == 1


def test_texts_of_a_database_that_are_no_times_are_refused(postgres: str) -> None:
    connection = ibis.connect(postgres.replace("postgresql", "postgres"))
    with closing(connection.con):
        late = text_queries("2026-01-05T23:30:00-02:00", None, None).drop("latency_ms")
        connection.create_table("zoned", late.to_arrow())
        connection.create_table("broken", late.with_columns(at=pl.lit("soon")).to_arrow())
    result = measure(EventSource(url=postgres, queries_table="zoned"), "zero_result", by=["day"])
    assert [part.value for part in result.slices] == ["2026-01-06", None]
    with pytest.raises(InputError, match=r"expected times and numbers, found text in at: .*soon"):
        measure(EventSource(url=postgres, queries_table="broken"), "zero_result")
