"""Results of ann-benchmarks, VIBE and big-ann-benchmarks are imported whole, and scored by our rule."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.bench.imported import import_results
from assay.bench.studies.scoring import read_trial, read_trials
from assay.bench.sweeps.folder import SweepFolder
from assay.core.errors import FormatError, InputError
from assay.core.vectors import InMemoryVectors, Neighbors
from assay.indexes.hits import HitRule
from tests.imported_files import (
    ann_benchmarks,
    big_ann,
    fill,
    make_hit_rule,
    median_qps,
    recall_value,
    robustness_of,
)

h5py = pytest.importorskip("h5py")


@pytest.fixture
def results(tmp_path: Path) -> SweepFolder:
    return SweepFolder(tmp_path / "out")


def kept(results: SweepFolder) -> dict[str, tuple[bytes, int]]:
    files = [path for path in results.path.rglob("*") if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_duplicates_padding_short_lists_and_ties_are_scored_by_our_rule(
    tmp_path: Path, results: SweepFolder
) -> None:
    # hits 4, 4 (a tie), 1 (one id four times), 2 (short), 0 of 4 each
    [key] = import_results([ann_benchmarks(tmp_path / "a.hdf5")], results)
    ties, strict = (
        read_trial(results, key, make_hit_rule()),
        read_trial(results, key, make_hit_rule("strict")),
    )
    assert (recall_value(ties), recall_value(strict)) == (11 / 20, 10 / 20)
    assert (robustness_of(ties, 0.5).value, robustness_of(ties, 1.0).value) == (3 / 5, 2 / 5)
    assert robustness_of(strict, 1.0).value == 1 / 5
    assert robustness_of(ties, 0.5).low == pytest.approx(0.1466, abs=1e-4)  # Clopper and Pearson, 3 of 5
    assert (ties.zero_hits, ties.undefined, ties.policy, strict.policy) == (1, 0, "ties", "strict")


def test_their_recall_stands_beside_ours(tmp_path: Path, results: SweepFolder) -> None:
    # by distances alone one id returned four times counts four times: 4, 4, 4, 2, 0
    truth = Neighbors(np.tile([0, 1, 2, 3], (5, 1)), np.tile([1.0, 2.0, 3.0, 4.0], (5, 1)))
    [key] = import_results([ann_benchmarks(tmp_path / "a.hdf5")], results, truth=truth)
    trial = read_trial(results, key, make_hit_rule("strict"))
    assert recall_value(trial) == 0.5
    assert trial.reported["recall"] == pytest.approx(14 / 20)


def test_an_absolute_tolerance_makes_925_of_a_true_900(tmp_path: Path, results: SweepFolder) -> None:
    # 1 − cos is .01 … .10 for the ten nearest, .1005 for id 10, and .5 or more for 11 and 12
    far = np.array([*np.arange(1, 11) / 100, 0.1005, 0.5, 0.6])
    base = np.stack([1 - far, np.sqrt(1 - (1 - far) ** 2)], axis=1)
    nine = list(range(9))
    returned = [[*nine, 9], [*nine, 10], [*nine, 11], [*nine[:8], 11, 12]]
    path = ann_benchmarks(
        tmp_path / "a.hdf5", returned, distances=[far[row].tolist() for row in returned], count=10,
        distance="angular",
    )  # fmt: skip
    truth = Neighbors(np.tile(np.arange(10), (4, 1)), np.tile(far[:10], (4, 1)))
    [key] = import_results([path], results, truth=truth)
    queries = InMemoryVectors(np.tile([1.0, 0.0], (4, 1)))
    for policy in ("ties", "strict"):
        trial = read_trial(results, key, HitRule(truth, 10, InMemoryVectors(base), queries, "cosine", policy))
        assert recall_value(trial) == pytest.approx(0.9)
        assert trial.reported["recall"] == pytest.approx(0.925)


def test_a_recall_that_their_plotting_left_in_the_file_is_kept(tmp_path: Path, results: SweepFolder) -> None:
    path = ann_benchmarks(tmp_path / "a.hdf5")
    with h5py.File(path, "r+") as file:
        file.create_group("metrics").create_group("knn").attrs["mean"] = 0.7
    [key] = import_results([path], results)
    assert read_trial(results, key, None).reported["recall"] == 0.7


def test_what_is_known_of_a_run_is_taken_over(tmp_path: Path, results: SweepFolder) -> None:
    [key] = import_results([ann_benchmarks(tmp_path / "a.hdf5")], results)
    trial = read_trial(results, key, make_hit_rule())
    assert (trial.engine, trial.source, trial.metric, trial.k) == ("annoy", "ann-benchmarks", "l2", 4)
    assert (trial.mode, trial.threads, trial.search) == (
        "single", None, {"name": "Annoy(n_trees=100, search_k=200)"},
    )  # fmt: skip
    assert trial.reported == {
        "qps": 2000, "build_seconds": 2.5, "memory_bytes": 4096, "candidates": 4,
    }  # fmt: skip
    assert (trial.build_seconds, trial.memory_bytes) == (None, None)
    assert trial.note.startswith("times are from the last of 5 runs, the reported qps is from the best")


def test_percentiles_come_from_the_times_of_single_queries(tmp_path: Path, results: SweepFolder) -> None:
    times = [(i + 1) / 1e6 for i in range(1000)]
    path = ann_benchmarks(tmp_path / "a.hdf5", [[0]] * 1000, times=times)
    [key] = import_results([path], results)
    trial = read_trial(results, key, None)
    assert trial.latency["p50_ms"] == pytest.approx(0.5)
    assert trial.latency["p99_ms"] == pytest.approx(0.99)
    assert trial.latency["p99.9_ms"] is None
    assert trial.samples == 1000
    assert median_qps(trial) == pytest.approx(1000 / 0.5005)


def test_a_batch_has_no_percentiles(tmp_path: Path, results: SweepFolder) -> None:
    alike = ann_benchmarks(tmp_path / "a.hdf5", batch_mode=True)
    own = ann_benchmarks(tmp_path / "b.hdf5", batch_mode=True, times=[0.001, 0.002, 0.003, 0.004, 0.005])
    keys = import_results([alike, own], results)
    first, second = (read_trial(results, key, make_hit_rule()) for key in keys)
    assert (first.mode, first.latency, first.samples) == ("batch", {}, 0)
    assert median_qps(first) == pytest.approx(1000)
    assert "the engine's own" not in first.note
    assert "the engine's own" in second.note


def test_a_file_that_is_imported_again_changes_nothing(tmp_path: Path, results: SweepFolder) -> None:
    path = ann_benchmarks(tmp_path / "a.hdf5")
    keys = import_results([path], results)
    before = kept(results)
    with h5py.File(path, "r+") as file:
        file.create_group("metrics")  # as their plotting does
    copied = tmp_path / "b.hdf5"
    copied.write_bytes(path.read_bytes())
    assert import_results([path, copied], results) == keys
    assert kept(results) == before


def test_runs_that_differ_are_trials_of_their_own(tmp_path: Path, results: SweepFolder) -> None:
    names = ["search_k=1", "search_k=2"]
    paths = [ann_benchmarks(tmp_path / f"{name}.hdf5", name=name) for name in names]
    file = ann_benchmarks(tmp_path / "c.hdf5", [[0], [0], [0], [0], [1]], name=names[0])
    assert len(import_results([*paths, file], results)) == 3


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_a_damaged_file_stops_the_import_before_anything_is_written(
    tmp_path: Path, results: SweepFolder, share: float
) -> None:
    good, bad = ann_benchmarks(tmp_path / "a.hdf5"), ann_benchmarks(tmp_path / "b.hdf5")
    whole = bad.read_bytes()
    bad.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(FormatError, match=r"b\.hdf5: cannot be read as HDF5"):
        import_results([good, bad], results)
    assert kept(results) == {}


def test_an_import_that_is_cut_off_shows_no_half_trial_and_is_taken_up_again(
    tmp_path: Path, results: SweepFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ann_benchmarks(tmp_path / "a.hdf5")
    with monkeypatch.context() as patched:
        patched.setattr(SweepFolder, "put_trial", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            import_results([path], results)
    assert results.trial_keys() == []
    assert import_results([path], results) == results.trial_keys()
    assert [trial.zero_hits for trial in read_trials(results, make_hit_rule())] == [1]


def test_results_on_other_data_do_not_mix(tmp_path: Path, results: SweepFolder) -> None:
    first, second = ann_benchmarks(tmp_path / "a.hdf5"), ann_benchmarks(tmp_path / "b.hdf5", dataset="sift")
    import_results([first], results)
    with pytest.raises(FormatError, match=r"b\.hdf5: has 5 queries of 'sift'.*one folder for each set"):
        import_results([second], results)
    assert len(results.trial_keys()) == 1


def test_a_truth_of_other_queries_is_refused(tmp_path: Path, results: SweepFolder) -> None:
    [key] = import_results([ann_benchmarks(tmp_path / "a.hdf5", [[0], [1]])], results)
    with pytest.raises(InputError, match="answers 2 queries, but the truth has 5"):
        read_trial(results, key, make_hit_rule())


def test_hits_among_more_than_were_asked_for_are_not_counted(tmp_path: Path, results: SweepFolder) -> None:
    [key] = import_results([ann_benchmarks(tmp_path / "a.hdf5", [[0, 1]] * 5, count=2)], results)
    trial = read_trial(results, key, make_hit_rule())
    assert (trial.recall, trial.measures, trial.k) == (None, {}, 2)
    assert trial.note.startswith("2 neighbors were requested: no score at 4; ")
    assert recall_value(read_trial(results, key, make_hit_rule(k=2))) == 1


def test_a_table_narrower_than_what_was_asked_for_misses_the_rest(
    tmp_path: Path, results: SweepFolder
) -> None:
    path = big_ann(tmp_path / "a.hdf5", [[0, 1]] * 5)
    [key] = import_results([path], results)
    assert recall_value(read_trial(results, key, make_hit_rule())) == 0.5


def test_each_group_of_a_vibe_file_is_a_trial(tmp_path: Path, results: SweepFolder) -> None:
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        for arguments, row in (("10", [0, 1]), ("20", [0, 1, 2])):
            group, distances = file.create_group(arguments), [[1.0] * len(row)] * 5
            fill(group, [row] * 5, distances, gpu_mode=False, distance="normalized")
    keys = import_results([tmp_path / "a.hdf5"], results)
    trials = [read_trial(results, key, make_hit_rule()) for key in keys]
    assert [(item.source, item.metric, item.search["arguments"]) for item in trials] == [
        ("VIBE", "cosine", "10"),
        ("VIBE", "cosine", "20"),
    ]
    assert [recall_value(item) for item in trials] == [0.5, 0.75]


def test_a_folder_stands_for_the_files_in_it(tmp_path: Path, results: SweepFolder) -> None:
    place = tmp_path / "results" / "line" / "4"
    place.mkdir(parents=True)
    ann_benchmarks(place / "a.hdf5", name="a")
    ann_benchmarks(place / "b.hdf5", name="b")
    (place / "notes.txt").write_text("not results")
    keys = import_results([tmp_path / "results"], results)
    assert len(keys) == 2
    assert import_results([tmp_path], results) == keys  # though what was imported lies in it too
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="contains no results"):
        import_results([tmp_path / "empty"], results)


def test_big_ann_gives_a_throughput_and_no_latency(tmp_path: Path, results: SweepFolder) -> None:
    [key] = import_results([big_ann(tmp_path / "a.hdf5")], results)
    trial = read_trial(results, key, make_hit_rule())
    assert (median_qps(trial), trial.reported["qps"]) == (5.0, 10.0)  # 5 queries in 1 s, at best in 0.5 s
    assert (trial.mode, trial.latency, recall_value(trial)) == ("batch", {}, 11 / 20)
    assert trial.reported["dist_comps"] == 100  # 1,500 over three runs of five queries
    assert "the median of 3 runs" in trial.note


def test_big_ann_with_only_the_best_time_says_so(tmp_path: Path, results: SweepFolder) -> None:
    path = big_ann(tmp_path / "a.hdf5", search_times=None, type="knn_filtered")
    [key] = import_results([path], results)
    trial = read_trial(results, key, make_hit_rule())
    assert median_qps(trial) == 10
    assert "the best of 3 runs" in trial.note
    assert "score it by the policy strict" in trial.note


@pytest.mark.parametrize("lacking", ["", "times"])
def test_a_mean_time_is_not_taken_for_that_of_all_queries(
    tmp_path: Path, results: SweepFolder, lacking: str
) -> None:
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        fill(file, [[0, 1]] * 5, [[1.0, 2.0]] * 5)
        if lacking:
            del file[lacking]
    with pytest.raises(FormatError, match="is from ann-benchmarks, which stores the time of each query"):
        import_results([tmp_path / "a.hdf5"], results, kind="big-ann")
    assert kept(results) == {}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["neighbors", "lims", "distances"], "a range search"),
        (["neighbors_step3", "neighbors_step7"], "a streaming run"),
        (["train", "test", "neighbors", "distances"], "a set of vectors"),
        (["labels"], "found 'labels'"),
    ],
)
def test_what_has_not_one_list_for_each_query_is_refused(
    tmp_path: Path, results: SweepFolder, names: list[str], message: str
) -> None:
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        for name in names:
            file.create_dataset(name, data=np.zeros((3, 4), np.int32))
    with pytest.raises(FormatError, match=rf"a\.hdf5: .*{message}"):
        import_results([tmp_path / "a.hdf5"], results)
    assert kept(results) == {}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("neighbors", np.zeros((5, 4)), "'neighbors' contains float64"),
        ("neighbors", np.zeros((0, 4), np.int32), "'neighbors' contains int32 of shape"),
        ("times", np.ones(3), r"'times' has the shape \(3,\); expected numbers of shape \(5,\)"),
        ("times", np.array([1, np.nan, 1, 1, 1]), "'times' contains invalid values"),
        ("times", np.zeros(5), "'times' contains invalid values"),
        ("distances", np.ones((5, 3)), "'distances' has the shape"),
    ],
)
def test_a_dataset_that_does_not_fit_is_named(
    tmp_path: Path, results: SweepFolder, name: str, value: Any, message: str
) -> None:
    path = ann_benchmarks(tmp_path / "a.hdf5")
    with h5py.File(path, "r+") as file:
        del file[name]
        file[name] = value
    with pytest.raises(FormatError, match=message):
        import_results([path], results)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"algo": "", "name": ""}, "does not name the algorithm"),
        ({"build_time": "long"}, "'build_time' is 'long'; expected a number"),
    ],
)
def test_an_attribute_that_cannot_be_used_is_named(
    tmp_path: Path, results: SweepFolder, attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(FormatError, match=message):
        import_results([ann_benchmarks(tmp_path / "a.hdf5", **attributes)], results)


def test_a_big_ann_file_without_any_time_is_refused(tmp_path: Path, results: SweepFolder) -> None:
    path = big_ann(tmp_path / "a.hdf5", search_times=None, best_search_time=None)
    with pytest.raises(FormatError, match="has no times"):
        import_results([path], results)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(returned=st.lists(st.lists(st.integers(-1, 12), max_size=4), min_size=5, max_size=5))
def test_an_imported_run_has_the_hits_of_its_own_ids(tmp_path: Path, returned: list[list[int]]) -> None:
    distances = [[0.0] * len(row) for row in returned]
    path = ann_benchmarks(tmp_path / "a.hdf5", returned, distances=distances)
    results = SweepFolder(tmp_path / "out")
    [key] = import_results([path], results)
    padded = np.array([row + [-1] * (4 - len(row)) for row in returned])
    assert results.read_pass(key, 0).ids.tolist() == padded.tolist()
    expected = [len({i for i in row if 0 <= i <= 3}) for row in returned]
    assert recall_value(read_trial(results, key, make_hit_rule("strict"))) == pytest.approx(
        sum(expected) / 20
    )


def test_neighbours_under_another_metric_than_that_of_the_sweep_are_refused(
    tmp_path: Path, results: SweepFolder
) -> None:
    angular = ann_benchmarks(tmp_path / "a.hdf5", distance="angular")
    inner = big_ann(tmp_path / "b.hdf5", distance="ip")
    about: dict[str, Any] = {"sources": {}, "options": {}}
    results.put_metadata({**about, "data": {"metric": "l2", "digests": {}}})
    for path, metric in ((angular, "cosine"), (inner, "ip")):
        message = f"has neighbors by the metric {metric}, but the sweep in the folder uses l2: "
        with pytest.raises(FormatError, match=f"{path.name}: {message}"):
            import_results([path], results)
    assert results.trial_keys() == []
    same = ann_benchmarks(tmp_path / "c.hdf5", distance="euclidean")
    silent = ann_benchmarks(tmp_path / "d.hdf5", name="silent", distance="")
    assert len(import_results([same, silent], results)) == 2
    results.put_metadata({**about, "data": {"metric": "cosine", "digests": {}}})
    assert len(import_results([angular], results)) == 1


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("metric", "cosine", "has neighbors by the metric cosine, but the sweep in the folder uses l2"),
        ("n", "999", "has 999 vectors, but the sweep in the folder has 4,000"),
        ("d", "3", "has 3 dimensions, but the sweep in the folder has 16"),
    ],
)
def test_figures_of_other_data_than_those_of_the_sweep_are_refused(
    tmp_path: Path, results: SweepFolder, column: str, value: str, message: str
) -> None:
    swept = {"metric": "l2", "n": 4000, "d": 16, "digests": {}}
    results.put_metadata({"sources": {}, "options": {}, "data": swept})
    for number, text in enumerate((value, str(swept[column]))):
        (tmp_path / f"{number}.csv").write_text(f"engine,k,recall,qps,{column}\nfast,10,0.9,100,{text}\n")
    with pytest.raises(FormatError, match=f"0.csv: {message}"):
        import_results([tmp_path / "0.csv"], results)
    assert len(import_results([tmp_path / "1.csv"], results)) == 1
