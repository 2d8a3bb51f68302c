"""assay online ab: every kind of data, what it prints, and its exit codes."""

import csv
import gzip
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from assay.cli import call as run
from assay.online.event_tables import connect_duckdb
from assay.store.store import Store
from tests.stats.effect_vectors import read_vectors

ESTIMATE = ["value", "low", "high", "n"]
RESULT_KEYS = ["metric", "role", "variant", "control", "treatment", "difference", "relative", "p", "method"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def units() -> pl.DataFrame:
    """A table of 3,000 units, written as units.csv."""
    rng = np.random.default_rng(0)
    n = 3000
    arm, before, queries = rng.integers(0, 2, n), rng.gamma(2, 5, n), rng.poisson(4, n) + 1
    frame = pl.DataFrame(
        {
            "unit_id": [f"u{i}" for i in range(n)],
            "variant": np.where(arm == 1, "candidate", "control"),
            "day": [f"2026-03-{1 + 10 * i // n:02d}" for i in range(n)],
            "device": np.where(rng.random(n) < 0.5, "phone", "desktop"),
            "revenue": before + rng.normal(5, 2, n) + 0.7 * arm,
            "before": before,
            "clicks": rng.binomial(queries, 0.3),
            "queries": queries,
            "latency": rng.gamma(4, 25, n),
        }
    )
    frame.write_csv("units.csv")
    return frame


def call(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["online", "ab", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def call_json(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    _, out, err = call(capsys, *argv, "--format", "json")
    assert err == ""
    body: dict[str, Any] = json.loads(out)
    return body


def write_sums(arms: Mapping[str, tuple[int, Mapping[str, Mapping[str, float]]]]) -> str:
    body = {"variants": [{"name": name, "n": n, "metrics": m} for name, (n, m) in arms.items()]}
    Path("sums.json").write_text(json.dumps(body))
    return "sums.json"


def test_json_has_the_documented_keys(units: pl.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    body = call_json(capsys, "units.csv", "--goal", "revenue")
    assert {"srm", "metrics", "status"} <= body.keys()
    assert list(body["srm"])[:4] == ["p", "method", "observed", "expected"]
    row = body["metrics"][0]
    assert list(row)[:9] == RESULT_KEYS
    for name in ("control", "treatment", "difference", "relative"):
        assert list(row[name]) == ESTIMATE
    assert body["status"] == "Ready to ship"


def test_a_table_of_units_gives_welchs_test(units: pl.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    row = call_json(capsys, "units.csv", "-m", "revenue")["metrics"][0]
    arms = [units.filter(pl.col("variant") == v)["revenue"].to_numpy() for v in ("candidate", "control")]
    expected = stats.ttest_ind(*arms, equal_var=False)
    interval = expected.confidence_interval()
    assert row["p"] == pytest.approx(expected.pvalue)
    assert [row["difference"][end] for end in ("low", "high")] == pytest.approx([interval.low, interval.high])
    assert row["method"] == "Welch"


@pytest.mark.parametrize("name", ["units.csv", "units.parquet", "units.ndjson", "units.json", "units.csv.gz"])
def test_every_format_of_a_table_of_units_gives_the_same(
    name: str, units: pl.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    if name.endswith("gz"):
        Path(name).write_bytes(gzip.compress(Path("units.csv").read_bytes()))
    elif name != "units.csv":
        getattr(units, f"write_{name.rpartition('.')[2]}")(name)
    (row,) = call_json(capsys, name, "-m", "revenue")["metrics"]
    control, candidate = (units.filter(variant=v)["revenue"].to_numpy() for v in ("control", "candidate"))
    assert row["difference"]["n"] == 3000
    assert row["difference"]["value"] == pytest.approx(candidate.mean() - control.mean())


def test_json_of_one_long_line_is_read(units: pl.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    units.with_columns(note=pl.lit("x" * 400)).write_json("units.json")
    assert Path("units.json").read_bytes().count(b"\n") == 0
    assert Path("units.json").stat().st_size > 1 << 20
    assert call_json(capsys, "units.json", "-m", "revenue")["metrics"][0]["difference"]["n"] == 3000


def test_standard_input_is_read(
    units: pl.DataFrame, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Input:
        buffer = io.BytesIO(Path("units.csv").read_bytes())

    monkeypatch.setattr("sys.stdin", Input())
    assert call_json(capsys, "-", "-m", "clicks")["metrics"][0]["difference"]["n"] == 3000


def test_a_table_of_a_database_is_read(units: pl.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    connection = connect_duckdb("units.duckdb")
    connection.create_table("exposed", units.to_arrow())
    connection.disconnect()
    body = call_json(capsys, "--url", "duckdb://units.duckdb", "--table", "exposed", "-m", "clicks")
    assert body["metrics"][0]["difference"]["n"] == 3000
    code, _, err = call(capsys, "--url", "duckdb://units.duckdb", "--table", "exposures")
    assert (code, "tables of the database: exposed" in err) == (2, True)


def test_ratios_covariates_quantiles_and_slices_are_chosen_by_options(
    units: pl.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--goal", "revenue", "--covariate", "revenue=before", "--ratio", "ctr=clicks/queries"]
    options += ["--guardrail", "p95=20%", "--lower", "p95", "--quantile", "p95=latency@95", "--by", "device"]
    body = call_json(capsys, "units.csv", *options)
    methods = {row["metric"]: row["method"] for row in body["metrics"]}
    assert methods == {
        "revenue": "Welch, CUPED",
        "ctr": "Welch, ratio",
        "p95": "p95, clustered by user",
    }
    assert {row["value"] for row in body["slices"]} == {"phone", "desktop"}
    assert body["metrics"][0]["variance_reduction"] > 0.5
    assert len(body["over_time"]) == 20
    assert {row["metric"] for row in body["novelty"]} == {"revenue", "ctr"}


@pytest.mark.parametrize("style", ["table", "md", "html", "latex", "csv"])
def test_every_format_has_the_result(
    style: str, units: pl.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = call(capsys, "units.csv", "--goal", "revenue", "--by", "device", "--format", style)
    assert code == 0
    assert "revenue" in out
    if style == "csv":
        rows = list(csv.DictReader(io.StringIO(out)))
        assert {row["column"] for row in rows} == {"", "device", "day"}
    else:
        assert "Ready to ship" in out
        assert "The sample ratio holds" in out


def test_udacitys_published_intervals_come_from_its_sums(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shared / "abtest" / "Udacity-AB-Testing-Final-Project-Experiment-Results.csv"
    days = pl.read_csv(path).filter(pl.col("payments_con").is_not_null())
    arms = {
        arm: (
            int(days[f"clicks_{arm}"].sum()),
            {name: {"sum": float(days[f"{name}_{arm}"].sum())} for name in ("enrollments", "payments")},
        )
        for arm in ("con", "exp")
    }
    body = call_json(capsys, write_sums(arms))
    assert body["control"] == "con"
    found = {row["metric"]: [row["difference"][end] for end in ESTIMATE[:3]] for row in body["metrics"]}
    assert found["enrollments"] == pytest.approx([-0.0206, -0.0291, -0.0120], abs=5.1e-5)
    assert found["payments"] == pytest.approx([-0.0049, -0.0116, 0.0019], abs=5.1e-5)


def test_a_public_engines_results_come_from_its_sums(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors = [v for v in read_vectors(shared) if v.alternative == "two-sided"]
    assert len(vectors) >= 6
    for vector in vectors:
        arms = {"control": vector.control, "treatment": vector.treatment}
        path = write_sums({name: (m.n, {"x": m.to_dict()}) for name, m in arms.items()})
        plan = ["--watch", "--planned-n", str(int(vector.planned_n))] * vector.test.startswith("Sequential")
        (row,) = call_json(capsys, path, *plan, *["--days", "1"] * bool(plan))["metrics"]
        relative = [row["relative"][end] for end in ESTIMATE[:3]]
        assert relative == pytest.approx([vector.result["expected"], *vector.ends], rel=1e-6)
        assert row["relative_p"] == pytest.approx(vector.result["pValue"], rel=1e-6)


def test_an_arm_of_share_0_is_no_degree_of_freedom(capsys: pytest.CaptureFixture[str]) -> None:
    path = write_sums({name: (n, {"x": {"sum": 500.0}}) for name, n in (("control", 4900), ("b", 5100))})
    srm = call_json(capsys, path, "--shares", "control=1,b=1,off=0")["srm"]
    assert srm["p"] == pytest.approx(stats.chisquare([4900, 5100]).pvalue)
    assert srm["expected"] == {"control": 5000, "b": 5000, "off": 0}


def test_exit_codes_say_what_the_data_decide(capsys: pytest.CaptureFixture[str]) -> None:
    def code(control: tuple[int, int], candidate: tuple[int, int], *options: str) -> int:
        arms = {"control": control, "candidate": candidate}
        path = write_sums({name: (n, {"x": {"sum": float(hits)}}) for name, (n, hits) in arms.items()})
        return call(capsys, path, *options)[0]

    assert code((5000, 500), (5000, 600)) == 0
    assert code((5000, 600), (5000, 500), "--guardrail", "x") == 1
    assert code((5000, 500), (6000, 600)) == 3
    assert code((50, 10), (50, 20)) == 3
    assert code((5000, 500), (5000, 600), "--goal", "y") == 2


def test_failure_is_null_and_never_a_p_of_1(capsys: pytest.CaptureFixture[str]) -> None:
    path = write_sums({name: (500, {"x": {"sum": 0.0}}) for name in ("control", "candidate")})
    (row,) = call_json(capsys, path)["metrics"]
    assert (row["p"], row["difference"]["low"], row["reason"]) == (
        None,
        None,
        "no variance: the values are equal, or nearly so beside their size",
    )
    Path("one.csv").write_text("unit_id,variant,x\na,control,1\nb,control,2\nc,candidate,4\n")
    code, out, _ = call(capsys, "one.csv", "--format", "json")
    (row,) = json.loads(out)["metrics"]
    assert (code, row["p"], row["reason"]) == (3, None, "fewer than 2 units in an arm")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("user,variant,x\na,control,1\n", [], "expected a column unit_id, found user, variant, x"),
        ("unit_id,group,x\na,control,1\n", [], "name it with --variant COLUMN"),
        ("id,group,x\na,control,1\n", [], "expected a table of units (unit_id, variant, METRIC…) or a log"),
        ("unit_id,variant,x\na,control,1\nb,candidate,NaN\n", [], "found NaN or infinity in 1 row"),
        ("unit_id,variant,x\na,control,1\nb,control,2\nc,candidate,many\n", [], "found 'many' of unit 'c'"),
        ("unit_id,variant,x\na,left,1\nb,right,2\n", [], "name it with --control"),
        (
            "unit_id,variant,x\n" + "a,control,1\n" * 9 + "b,control\n" + "c,control,1\n" * 9,
            [],
            "broken.csv:11: expected 3 fields (unit_id, variant, x), found 2",
        ),
        ("unit_id,variant,x\na,control,1\n", ["-m", "y"], "there is no column y"),
        ("unit_id,variant,x\na,control,1\n", ["--start", "2026-01-01"], "is for a log of events"),
        ("unit_id,variant,x\na,control,1\n", ["--quantile", "p95=x"], "--quantile expects"),
        ("unit_id,variant,x\na,control,1\n", ["--shares", "control"], "--shares expects"),
        ("unit_id,variant,x\na,control,1\n", ["--looks", "3"], "--looks needs the planned end"),
        ("unit_id,variant,x\na,control,1\n", ["--mde", "x"], "--mde expects a margin"),
        ("unit_id,variant,x\na,control,1\n", ["--offline", "a", "b"], "--offline expects --save NAME"),
    ],
)
def test_broken_tables_and_options_are_errors_that_say_what_to_do(
    content: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("broken.csv").write_text(content)
    code, out, err = call(capsys, "broken.csv", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert options or "broken.csv" in err


def test_a_table_of_sums_has_no_columns_to_choose(capsys: pytest.CaptureFixture[str]) -> None:
    path = write_sums({"control": (100, {}), "b": (100, {})})
    code, _, err = call(capsys, path, "--by", "device")
    assert (code, "--by chooses columns, which a table of sums does not have" in err) == (2, True)
    assert call(capsys)[0] == 2
    assert call(capsys, "missing.csv")[0] == 2


def test_settings_are_read_from_assay_toml_and_options_win(
    units: pl.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("assay.toml").write_text(
        '[online.ab]\ngoals = ["clicks"]\ninference = "always-valid"\ncontrol = "candidate"\nlevel = 0.9\n'
        'guardrails = {latency = "5%"}\nlower = ["latency"]\n[online.ab.shares]\ncontrol = 1\ncandidate = 1\n'
    )
    body = call_json(capsys, "units.csv", "--level", "0.8")
    roles = {row["metric"]: row["role"] for row in body["metrics"]}
    assert (roles["clicks"], roles["latency"], roles["revenue"]) == ("goal", "guardrail", "secondary")
    assert (body["control"], body["inference"], body["level"]) == ("candidate", "always-valid", 0.8)
    Path("assay.toml").write_text('[online.ab]\ngoal = "clicks"\n')
    code, _, err = call(capsys, "units.csv")
    assert code == 2
    assert "assay.toml" in err
    assert "online.ab.goal" in err


def test_looks_on_the_command_line_win_over_watching_in_the_project(
    units: pl.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("assay.toml").write_text('[online.ab]\ninference = "always-valid"\n')
    planned = call_json(capsys, "units.csv", "--looks", "5", "--planned-days", "10")
    assert planned["inference"] == "group-sequential"
    assert call_json(capsys, "units.csv")["inference"] == "always-valid"
    code, _, err = call(capsys, "units.csv", "--watch", "--inference", "fixed")
    assert (code, "found both" in err) == (2, True)


def test_a_log_without_variants_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    query = {"query_id": "q1", "client_id": "u1", "user_query": "vpn", "timestamp": "2026-01-01T00:00:00Z"}
    Path("log.ndjson").write_text(json.dumps(query) + "\n")
    body = call_json(capsys, "log.ndjson")
    assert (body["status"], body["metrics"]) == ("No data", [])
    assert body["notes"] == ["0 of 1 queries belong to the test; 1 have no variant"]


def test_a_saved_test_is_in_the_store(units: pl.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "units.csv", "--goal", "revenue", "--save", "spring", "--store", "store")
    assert code == 0
    assert "saved spring as" in err
    with Store("store") as store:
        (record,) = store.ab_tests()
    assert (record.name, record.body["status"]) == ("spring", "Ready to ship")
    code, _, err = call(capsys, "units.csv", "--save", "x", "--offline", "main", "branch", "--store", "store")
    assert code == 2
