"""The pages of an interleaving and of offline against online."""

from pathlib import Path

from assay.core.online_records import INTERLEAVING
from assay.workflows.online_saving import SaveOnlineRequest, save_online
from tests.web.dashboards import open_dashboard, save_experiments
from tests.web.online_evidence import analyse, read_table, save_interleaving, save_releases, save_test


def test_the_preferred_ranker_is_named_with_the_users_of_each(tmp_path: Path) -> None:
    save_interleaving(tmp_path / "store")
    client = open_dashboard(tmp_path / "store")
    page = client.get("/online/interleavings/interleaved").text
    assert "<h2>Users prefer vectors</h2>" in page
    assert "500 users: 240 for vectors, 160 for words, 100 ties; p &lt; 0.001 (wilcoxon)" in page
    (row,) = read_table(client, "/online/interleavings/interleaved")
    assert row == ["vectors against words", "240", "100", "160", "0.6000", "0.5500 to 0.6500", "<.001", "500"]


def test_users_that_an_ab_test_would_need_are_beside_it(tmp_path: Path) -> None:
    needed = {"value": 300.4, "low": 200.0, "high": None, "n": 500}
    many = {"value": 9.96, "low": 4.0, "high": None, "n": 500}
    ab = [{"metric": "clicks per query", "users_needed": needed, "times_as_many": many}]
    beside = {"power": 0.8, "interleaving": {"users_needed": needed}, "ab": ab}
    body = {"baseline": "a", "candidate": "b", "users": 1, "winner": None, "beside_ab": beside}
    save_online(INTERLEAVING, body, SaveOnlineRequest(name="i", store=str(tmp_path / "store")))
    client = open_dashboard(tmp_path / "store")
    rows = read_table(client, "/online/interleavings/i", 2)  # no interval has an upper end: no column
    assert rows[0] == ["interleaving", "300", "200", "", "500"]
    assert rows[1] == ["A/B test by clicks per query", "300", "200", "10.0 (4.0 … –)", "500"]
    assert "Users are not shown to prefer one ranker" in client.get("/online/interleavings/i").text


def test_prediction_shows_the_best_measure_and_a_point_for_each_test(tmp_path: Path) -> None:
    save_releases(tmp_path / "store")
    client = open_dashboard(tmp_path / "store")
    page = client.get("/online/predict").text
    assert "<h2>nDCG@10 predicts the online difference</h2>" in page
    assert "6 tests: offline difference by nDCG@10" in page
    rows = client.get("/online/predict.csv").text.splitlines()
    assert rows[0] == "test,measure,offline,offline_low,offline_high,online,online_low,online_high"
    assert len(rows) == 7


def test_a_candidate_that_won_offline_and_lost_online_is_named_with_suspects(tmp_path: Path) -> None:
    save_releases(tmp_path / "store", reversed_at=5)
    page = open_dashboard(tmp_path / "store").get("/online/predict").text
    assert ">release 5</a> won offline and lost online</h2>" in page
    assert "stale labels: cannot be checked" in page


def test_too_few_tests_decide_nothing_and_say_how_many_are_needed(tmp_path: Path) -> None:
    store = save_experiments(tmp_path)
    save_test(store, "t", analyse(days=2), "words", "vectors")
    page = open_dashboard(store).get("/online/predict").text
    assert "It cannot be decided yet whether offline predicts online" in page
    assert "1 test has both differences, and 5 are the least" in page


def test_tests_without_offline_experiments_are_named(tmp_path: Path) -> None:
    save_test(tmp_path / "store", "alone", analyse(days=2))
    page = open_dashboard(tmp_path / "store").get("/online/predict").text
    assert "No A/B test with offline experiments is kept" in page
    assert "alone is left out: it has no offline experiments" in page
