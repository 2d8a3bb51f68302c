"""predict_online: tests and experiments of a store, tables, and the reasons of a contradiction."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from assay.core.errors import FormatError, InputError, StoreError
from assay.core.online_records import BASELINE, CANDIDATE
from assay.online.prediction_report import PredictionReport, Suspect
from assay.store.store import Store
from assay.views.predict import describe_suspect
from assay.workflows.predict import PredictRequest, predict_online
from tests.online.planted_tests import DOCUMENTS, TEXTS, Planted, body

OFFLINE = [0.01, 0.03, 0.05, 0.02, 0.06, 0.04]
NOTHING_WRONG = Planted({"nDCG@10": OFFLINE}, [2 * value for value in OFFLINE])
REVERSED = Planted({"nDCG@10": OFFLINE[:1]}, [-0.05])


def predict(folder: Path, planted: Planted, **options: object) -> PredictionReport:
    with Store(folder / "store") as store:
        planted.save(store)
    return predict_online(PredictRequest(store=str(folder / "store"), **options))  # type: ignore[arg-type]


def suspects(folder: Path, planted: Planted) -> dict[str, Suspect]:
    (found,) = predict(folder, planted).suspects.values()
    return {suspect.name: suspect for suspect in found}


def test_offline_differences_in_the_order_of_the_online_ones_predict_them(tmp_path: Path) -> None:
    report = predict(tmp_path, NOTHING_WRONG)
    (measure,) = report.prediction.measures
    assert (measure.measure, measure.n, measure.spearman.value) == ("nDCG@10", 6, 1.0)
    assert measure.line.slope.value == pytest.approx(2, rel=0.05)
    assert measure.sign_agreement.value == 1
    assert report.to_dict()["reversals"] == []
    assert report.ids["t0"]


def test_the_measure_that_follows_online_is_the_best(tmp_path: Path) -> None:
    shuffled = [0.05, 0.01, 0.02, 0.06, 0.03, 0.04]
    planted = replace(NOTHING_WRONG, offline={"R@10": shuffled, "nDCG@10": OFFLINE})
    best = predict(tmp_path, planted).prediction.best
    assert best is not None
    assert (best.measure, best.measures, best.n) == ("nDCG@10", 2, 6)
    assert best.p < 0.05


def test_measures_can_be_chosen(tmp_path: Path) -> None:
    planted = replace(NOTHING_WRONG, offline={"R@10": OFFLINE, "nDCG@10": OFFLINE})
    report = predict(tmp_path, planted, measures=["r@10"])
    assert [measure.measure for measure in report.prediction.measures] == ["R@10"]


def test_fewer_than_five_tests_decide_nothing(tmp_path: Path) -> None:
    planted = Planted({"nDCG@10": OFFLINE[:4]}, OFFLINE[:4])
    report = predict(tmp_path, planted)
    assert not report.prediction.is_decidable
    assert report.prediction.measures[0].n == 4


def test_a_test_without_experiments_or_without_a_goal_is_left_out_with_its_reason(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        store.save_ab_test("alone", body(0.1), {})
        store.save_ab_test("secondary", body(0.1, role="secondary"), {})
        store.save_ab_test("gone", body(0.1), {BASELINE: "e-1", CANDIDATE: "e-2"})
    report = predict(tmp_path, NOTHING_WRONG)
    reasons = {entry.test: entry.reason for entry in report.skipped}
    assert (reasons["alone"], reasons["secondary"]) == ("no_offline", "no_metric")
    assert "e-1" in reasons["gone"]
    assert report.prediction.measures[0].n == 6


def test_another_metric_and_one_that_should_fall_can_be_chosen(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        NOTHING_WRONG.save(store)
        for record in store.ab_tests():
            rows = [*body(0.5)["metrics"], *body(-0.3, metric="latency", lower_is_better=True)["metrics"]]
            store.save_ab_test(record.name, {"metrics": rows}, record.links)
    pairs = predict_online(PredictRequest(store=str(tmp_path / "store"), metric="latency")).prediction.pairs
    assert {pair.online[:3] for pair in pairs} == {(0.3, 0.29, 0.31)}


def test_the_newest_of_the_tests_of_one_name_counts(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        NOTHING_WRONG.save(store)
        links = next(record for record in store.ab_tests() if record.name == "t0").links
        store.save_ab_test("t0", body(0.9), links)
    pairs = predict_online(PredictRequest(store=str(tmp_path / "store"))).prediction.pairs
    assert [pair.online.value for pair in pairs if pair.test == "t0"] == [0.9]
    assert len(pairs) == 6


def test_intervals_of_another_level_have_their_own_standard_errors(tmp_path: Path) -> None:
    planted = NOTHING_WRONG
    scatter = {}
    for name, factor, level in (("usual", 1.0, 0.95), ("wide", 2.575829 / 1.959964, 0.99)):
        with Store(tmp_path / name / "store") as store:
            planted.save(store)
            for number, record in enumerate(store.ab_tests()[::-1]):
                lift = planted.online[number]
                store.save_ab_test(record.name, body(lift, 0.02 * factor, level=level), record.links)
        report = predict_online(PredictRequest(store=str(tmp_path / name / "store")))
        scatter[name] = report.prediction.measures[0].line.slope.low
    assert scatter["usual"] == pytest.approx(scatter["wide"])


def test_a_candidate_that_won_offline_and_lost_online_has_all_suspects(tmp_path: Path) -> None:
    report = predict(tmp_path, REVERSED)
    (entry,) = report.to_dict()["reversals"]
    assert (entry["test"], entry["measures"]) == ("t0", ["nDCG@10"])
    names = ["stale_labels", "position_bias", "traffic_mismatch", "changed_corpus"]
    assert [suspect["name"] for suspect in entry["suspects"]] == names


def test_nothing_is_suspected_where_nothing_is_planted(tmp_path: Path) -> None:
    assert {suspect.status for suspect in suspects(tmp_path, REVERSED).values()} == {"no"}


LONG = {f"how do i find the thing that is called number {n} on my machine": 20 for n in range(60)}
HALF_LONG = {**dict.fromkeys(TEXTS, 10), **LONG}
ERRORS = {text: 40 if number % 2 else 1 for number, text in enumerate(TEXTS)}


@pytest.mark.parametrize(
    ("name", "change", "evidence", "sentence"),
    [
        (
            "stale_labels",
            {"judged_days_before": 200},
            {"median_age_days": 200.0, "limit_days": 90},
            "half of the 60 judgments were older than 200 days",
        ),
        (
            "position_bias",
            {"judge": "clicks:ctr"},
            {"from_clicks": 60, "uncorrected": 60},
            "60 of 60 judgments come from clicks without a correction for the position",
        ),
        (
            "traffic_mismatch",
            {"searches": HALF_LONG},
            {"column": "length", "log": "week 1"},
            "67 % of the judged queries would have to be of another length",
        ),
        (
            "traffic_mismatch",
            {"searches": ERRORS},
            {"column": "category", "coverage": 1.0},
            "48 % of the judged queries would have to be of another category",
        ),
        (
            "changed_corpus",
            {"documents": (DOCUMENTS.digest, "e" * 64)},
            {},
            f"the documents differ: baseline and dataset {DOCUMENTS.digest[:8]}; candidate eeeeeeee",
        ),
    ],
)
def test_each_suspect_is_found_where_it_is_planted_and_no_other(
    tmp_path: Path, name: str, change: dict[str, object], evidence: dict[str, object], sentence: str
) -> None:
    found = suspects(tmp_path, replace(REVERSED, **change))  # type: ignore[arg-type]
    assert {suspect.name for suspect in found.values() if suspect.status == "yes"} == {name}
    assert {key: found[name].evidence[key] for key in evidence} == evidence
    assert sentence in describe_suspect(found[name])


def test_labels_of_a_model_that_allows_for_the_position_are_not_suspected(tmp_path: Path) -> None:
    found = suspects(tmp_path, replace(REVERSED, judge="clicks:pbm"))["position_bias"]
    assert (found.status, found.evidence["from_clicks"], found.evidence["uncorrected"]) == ("no", 60, 0)
    assert "by models that allow for the position" in describe_suspect(found)


def test_what_the_store_does_not_have_cannot_be_checked(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        replace(REVERSED, searches={}).save(store)
        (record,) = store.ab_tests()
        links = {role: record.links[role] for role in (BASELINE, CANDIDATE)}
        store.save_ab_test("t0", record.body, links)
    report = predict_online(PredictRequest(store=str(tmp_path / "store")))
    statuses = {suspect.name: suspect.status for suspect in report.suspects["t0"]}
    assert [name for name, status in statuses.items() if status == "unknown"] == [
        "stale_labels",
        "position_bias",
        "traffic_mismatch",
    ]


def test_a_store_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises((InputError, StoreError), match="nothere"):
        predict_online(PredictRequest(store=str(tmp_path / "nothere")))


HEAD = "test,measure,offline,offline_low,offline_high,online,online_low,online_high\n"


def table(tmp_path: Path, text: str) -> str:
    (tmp_path / "tests.csv").write_text(text)
    return str(tmp_path / "tests.csv")


def test_a_table_is_read_in_each_format(tmp_path: Path) -> None:
    rows = [f"t{n},nDCG@10,{v},{v - 0.01},{v + 0.01},{2 * v},," for n, v in enumerate(OFFLINE)]
    path = table(tmp_path, HEAD + "\n".join(rows))
    expected = predict_online(PredictRequest(table=path)).prediction
    assert expected.measures[0].spearman.value == 1
    frame = pl.read_csv(path, schema_overrides=dict.fromkeys(HEAD.strip().split(",")[2:], pl.Float64))
    frame.write_parquet(tmp_path / "tests.parquet")
    frame.write_ndjson(tmp_path / "tests.jsonl")
    for name in ("tests.parquet", "tests.jsonl"):
        found = predict_online(PredictRequest(table=str(tmp_path / name))).prediction
        assert found.to_dict() == expected.to_dict()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "test,measure,offline\nt,m,1\n",
            "csv:2: expected the columns test, measure, offline, online; found",
        ),
        ("test,measure,offline,online\nt,m,x,1\n", r"csv:2: .*offline.*'x'"),
        (
            "test,measure,offline,online\nt,m,1,1\nt,m,1,1\n",
            "csv:3: the measure 'm' of the test 't' appears twice",
        ),
        ("test,measure,offline,online\nt,m,1,1\nt,n,1,2\n", "csv:3: the test 't' has two online differences"),
        ("test,measure,offline,online\n,m,1,1\n", "csv:2: expected a test and a measure, found '' and 'm'"),
        (HEAD + "t,m,1,2,3,1,1,1\n", "csv:2: expected offline_low ≤ offline ≤ offline_high, found 2, 1, 3"),
        ("test,measure,offline,online\n", "expected rows of tests, found none"),
    ],
)
def test_a_broken_table_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        predict_online(PredictRequest(table=table(tmp_path, text)))


def test_wrong_requests_are_refused(tmp_path: Path) -> None:
    path = table(tmp_path, "test,measure,offline,online\nt,m,1,1\n")
    with pytest.raises(InputError, match="has no measure 'x'; it has m"):
        predict_online(PredictRequest(table=path, measures=["x"]))
    with pytest.raises(InputError, match="--metric chooses a metric of the A/B tests of the store"):
        PredictRequest(table=path, metric="ctr")
    with pytest.raises(InputError, match="--level expects a number between 0 and 1, found 2"):
        PredictRequest(level=2)
