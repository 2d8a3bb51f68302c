"""Adaptive search: hard queries are seen before they are searched, and get more of the same mean budget."""

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.bench.studies.scoring import read_trials
from assay.bench.sweeps.cases import IndexEntry, RequestMode, plan_cases
from assay.bench.sweeps.folder import SweepFolder
from assay.bench.sweeps.options import SweepOptions
from assay.bench.sweeps.sweep import Sweep
from assay.core.errors import FormatError, InputError
from assay.core.vectors import InMemoryVectors
from assay.indexes.adaptive.allocation import QueryGroups, group_queries
from assay.indexes.adaptive.difficulty import fit_difficulty
from assay.indexes.adaptive.engine import Adaptive
from assay.indexes.adaptive.inner_index import parse_inner
from assay.indexes.adaptive.landmarks import Landmarks, find_landmarks
from assay.indexes.adaptive.learning import learn_allocation
from assay.indexes.adaptive.queries import perturb_rows, read_training_queries
from assay.indexes.adaptive.training import TrainingGoal, TrainingRecall, measure_training_recall
from assay.indexes.exact.truth import truth
from assay.indexes.hits import HitRule, Hits
from assay.indexes.index import Setup
from assay.indexes.vector_data import normalize_rows
from assay.stats.comparison import Subject, compare_columns
from tests.benches import small_data


def rows(*values: Any) -> Any:
    return np.array(values, np.float32)


def clusters(n: int, d: int, seed: int) -> Any:
    """A few large clusters and many small ones."""
    random = np.random.default_rng(seed)
    middles = np.random.default_rng(0).normal(size=(40, d))
    neighbors = middles[random.zipf(1.5, n) % 40] + random.uniform(0.1, 1.2, (n, 1)) * random.normal(
        size=(n, d)
    )
    return neighbors.astype(np.float32)


# what is seen of a query


def test_features_are_the_nearest_distance_and_how_much_farther_the_others_are() -> None:
    inputs = Landmarks(rows([-6, 0], [-8, 0]), rows(25, 0), "l2")  # landmarks at (3, 4) and (0, 0)
    assert inputs.features(rows([0, 0], [3, 0])).tolist() == [[0, 5], [3, 1]]


def test_under_inner_product_the_length_of_a_query_does_not_count() -> None:
    inputs = Landmarks(rows([-3, 0], [-4, 0]), rows(0, 0), "ip")
    assert inputs.features(rows([3, 4], [30, 40])).tolist() == [[-5, 5], [-5, 5]]


def test_a_small_base_has_fewer_landmarks() -> None:
    assert find_landmarks(clusters(2500, 4, 1), 512, "l2").offsets.shape == (80,)  # 1.6 × 50
    assert find_landmarks(clusters(2500, 4, 1), 10, "l2").offsets.shape == (10,)


def test_landmarks_lie_in_the_middle_of_what_is_around_them() -> None:
    inputs = find_landmarks(np.repeat(rows([0, 0], [10, 0], [0, 20]), 400, axis=0), 40, "l2")
    assert {tuple(middle) for middle in (inputs.factors.T / -2).round(3).tolist()} == {
        (0, 0),
        (10, 0),
        (0, 20),
    }


def test_a_product_of_features_is_learnt_and_far_features_say_no_more_than_the_farthest() -> None:
    inputs = np.random.default_rng(0).normal(size=(4000, 2)).astype(np.float32)
    model = fit_difficulty(inputs, np.exp(1 + inputs[:, 0] * inputs[:, 1]))
    assert model.scores(rows([1, 1], [1, -1], [0, 0])) == pytest.approx([2, 0, 1], abs=0.1)
    assert model.scores(rows([1e6, 0])) == pytest.approx(model.scores(rows([1e9, 0])))


# what training queries need


def test_the_needed_budget_is_the_least_that_reaches_the_target_or_the_last() -> None:
    recall = rows([0.2, 0.9, 0.9], [0.9, 0.5, 0.9], [0, 0, 0.8])
    assert TrainingRecall(np.array([1, 2, 4]), recall, 0.9).needed_budgets.tolist() == [2, 1, 4]


def test_budgets_grow_until_all_training_queries_are_served() -> None:
    base = rows(*([x, 0] for x in range(50)))
    budgets_tried: list[int] = []

    def ask(queries: Any, budget: int, k: int) -> Any:
        """The nearest from a budget of 4 on, else others."""
        budgets_tried.append(budget)
        neighbors = np.argsort(np.abs(queries[:, :1] - np.arange(50)), axis=1, kind="stable")
        return neighbors[:, :k] if budget >= 4 else neighbors[:, -k:]

    result = measure_training_recall(
        ask, base, base[10:40] + np.float32(0.1), Setup("l2", 2, 1, Path()), TrainingGoal(2, 0.9, 64)
    )
    assert budgets_tried == result.levels.tolist() == [1, 2, 3, 4]
    assert result.recall[0] == pytest.approx([0, 0, 0, 0.9])


def test_training_queries_are_read_from_either_format(tmp_path: Path) -> None:
    queries = clusters(130, 3, 1)
    np.save(tmp_path / "q.npy", queries)
    (tmp_path / "q.fbin").write_bytes(np.array([130, 3], np.uint32).tobytes() + queries.tobytes())
    setup = Setup("l2", 3, 1, tmp_path)
    assert np.array_equal(read_training_queries(str(tmp_path / "q.npy"), 120, setup), queries[:120])
    assert np.array_equal(read_training_queries(str(tmp_path / "q.fbin"), 999, setup), queries)
    equal = read_training_queries(str(tmp_path / "q.npy"), 120, setup._replace(metric="cosine"))
    assert np.linalg.norm(equal, axis=1) == pytest.approx(1)


@pytest.mark.parametrize("name", ["q.csv", "none.npy", "short.fbin", "wide.npy"])
def test_a_file_that_holds_no_training_queries_is_refused(name: str, tmp_path: Path) -> None:
    np.save(tmp_path / "wide.npy", clusters(30, 5, 1))
    (tmp_path / "short.fbin").write_bytes(np.array([30, 3], np.uint32).tobytes())
    with pytest.raises((FormatError, InputError), match=name):
        read_training_queries(str(tmp_path / name), 20, Setup("l2", 3, 1, tmp_path))


def test_a_hundred_training_queries_are_the_fewest(tmp_path: Path) -> None:
    np.save(tmp_path / "few.npy", clusters(99, 3, 1))
    with pytest.raises(InputError, match=r"training: expected 100 queries or more, found 99 in .*few\.npy"):
        read_training_queries(str(tmp_path / "few.npy"), 4000, Setup("l2", 3, 1, tmp_path))


def test_one_half_of_the_training_queries_teaches_and_the_other_decides() -> None:
    features = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    recall = np.tile(rows(0.5, 1), (20, 1))
    before = learn_allocation(features, TrainingRecall(np.array([1, 2]), recall, 1.0))
    teaching = deciding = 0
    for number in range(20):
        other = recall.copy()
        other[number] = 1
        difficulty, groups = learn_allocation(features, TrainingRecall(np.array([1, 2]), other, 1.0))
        teaching += not np.array_equal(difficulty.constant, before[0].constant)
        deciding += not np.allclose(groups.shares @ groups.recall, before[1].shares @ before[1].recall)
    assert (teaching, deciding) == (10, 10)


def test_without_a_file_rows_of_the_base_are_moved_by_half_their_spread() -> None:
    base = np.random.default_rng(0).normal(0, [1, 10], (5000, 2)).astype(np.float32)
    budgets = perturb_rows(base, 5000, "l2")
    assert (budgets - base).std(axis=0) == pytest.approx([0.5, 5], rel=0.05)


# who gets how much


def test_a_hard_group_gets_what_an_easy_one_does_not_need() -> None:
    levels, scores = np.array([1, 2, 4, 8]), np.log(rows(1, 8))
    easy_and_hard = rows([1, 1, 1, 1], [0, 0, 0.5, 1])
    budgets = QueryGroups(rows(1), scores, rows(0.5, 0.5), levels, easy_and_hard).budgets(4)
    assert budgets.tolist() == [1, 7]  # 8 would make the mean 4.5


def test_all_get_the_same_where_nothing_is_won_by_leaning() -> None:
    levels, recall = np.array([1, 2, 4, 8]), rows([0, 0.4, 0.8, 1], [0, 0.4, 0.8, 1])
    assert QueryGroups(rows(1), rows(0, 2), rows(0.5, 0.5), levels, recall).budgets(4).tolist() == [4, 4]


@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.integers(1, 60))
def test_budgets_never_cost_more_than_asked_nor_find_less_than_the_same_for_all(
    seed: int, mean: int, distinct: int
) -> None:
    random = np.random.default_rng(seed)
    scores = (random.integers(0, distinct, 200) / 9).astype(np.float32)
    recall = np.sort(random.random((200, 8)), axis=1).astype(np.float32)
    groups = group_queries(scores, 2 ** np.arange(8), recall)
    budgets = groups.budgets(mean)
    given_out = budgets[groups.group_of(scores)]
    assert given_out.mean() <= mean + 1e-3
    assert (budgets >= 1).all()
    assert (np.diff(budgets) >= 0).all()
    assert groups.expected_recall(budgets) >= groups.expected_recall(np.full(len(budgets), mean)) - 1e-6


# the index inside


def test_the_index_inside_is_named_with_its_parameters() -> None:
    result = parse_inner("faiss.fastscan; nlist=16 ;k_factor=3.5", "ip")
    assert (result.build, result.search, result.budget) == ({"nlist": 16}, {"k_factor": 3.5}, "nprobe")
    assert parse_inner("faiss.ivfsq;qtype=8bit", "l2").build == {"qtype": "8bit"}


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("faiss.hnws", "did you mean faiss.hnsw?"),
        ("faiss.hnsw M=16", "there is no engine"),
        ("faiss.hnsw;M", "expected ENGINE;NAME=VALUE;…, found 'faiss.hnsw;M'"),
        ("faiss.hnsw;m=16", "search.m of faiss.hnsw: there is no such parameter"),
        ("faiss.hnsw;M=many", "build.M of faiss.hnsw: expected int, found 'many'"),
        ("faiss.hnsw;efSearch=16", "efSearch of faiss.hnsw is set for each query"),
        ("faiss.flat", "faiss.flat has no integer search parameter"),
    ],
)
def test_an_index_that_cannot_be_inside_is_refused_in_words(text: str, remark: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_inner(text, "l2")
    assert remark in str(refused.value)


# the engine


def open_adaptive(folder: Path, queries: Any, d: int, **build: Any) -> Adaptive:
    np.save(folder / "training.npy", queries)
    return Adaptive(Setup("l2", d, 1, folder), training=str(folder / "training.npy"), **build)


def test_few_vectors_or_a_wrong_target_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="1,000 vectors or more, found 200"):
        Adaptive(Setup("l2", 4, 1, tmp_path)).build(clusters(200, 4, 1))
    with pytest.raises(InputError, match=r"above 0 and at most 1, found 1\.5"):
        Adaptive(Setup("l2", 4, 1, tmp_path), target=1.5)


def test_the_same_is_found_after_loading_and_one_by_one(tmp_path: Path) -> None:
    base, queries = clusters(3000, 8, 1), clusters(300, 8, 3)
    index = open_adaptive(tmp_path, clusters(400, 8, 2), 8, inner="faiss.ivfflat;nlist=64")
    index.build(base)
    index.save()
    index.set_search(budget=4)
    assert len(set(index.budgets)) > 2
    again = Adaptive(Setup("l2", 8, 1, tmp_path), inner="faiss.ivfflat;nlist=64")
    again.load()
    again.set_search(budget=4)
    result = index.search(queries, 10)
    assert np.array_equal(result, again.search(queries, 10))
    alone = np.vstack([again.search(queries[i : i + 1], 10) for i in range(len(queries))])
    assert (alone == result).all(axis=1).mean() > 0.98  # a query may lie on the edge of two groups


@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_it_tells_the_mean_budget_and_how_many_queries_it_was_taught_by(metric: str, tmp_path: Path) -> None:
    base, queries, training = clusters(1500, 8, 1), clusters(300, 8, 3), clusters(400, 8, 2)
    np.save(tmp_path / "training.npy", training)
    queries[100:107] = training[:7]
    if metric == "cosine":
        base, queries = (normalize_rows(table).astype(np.float32) for table in (base, queries))
    setup, inside = Setup(metric, 8, 1, tmp_path), "faiss.ivfflat;nlist=64"
    index = Adaptive(setup, inner=inside, training=str(tmp_path / "training.npy"))
    index.build(base)
    index.save()
    again = Adaptive(setup, inner=inside)
    again.load()
    again.set_search(budget=5)
    groups = again.groups.group_of(again.difficulty.scores(again.landmarks.features(queries)))
    mean = sum(again.budgets[group] for group in groups) / 300
    remark = f"mean budget {mean:.1f} of 5 requested"
    assert again.remark(queries) == f"{remark}; 7 of 300 queries are training queries as well"
    assert "as well" not in again.remark(queries[:100])


# in a sweep


def run_sweep(folder: Path, training: Path) -> SweepFolder:
    build = {"inner": ["faiss.ivfflat;nlist=32"], "training": [str(training)]}
    planned = plan_cases([IndexEntry("adaptive", build, {"budget": [3]})], [RequestMode("batch")])
    budgets = Sweep(small_data(), planned, folder, SweepOptions(repetitions=1, warmup=0, timeout=60))
    budgets.run()
    return budgets.folder


def test_another_training_file_of_the_same_name_is_another_trial(tmp_path: Path) -> None:
    file, perturbed = tmp_path / "training.npy", tmp_path / "moved.npy"
    np.save(file, clusters(200, 8, 2))
    assert len(run_sweep(tmp_path / "out", file).trial_keys()) == 1
    file.touch()
    assert len(run_sweep(tmp_path / "out", file).trial_keys()) == 1
    np.save(perturbed, clusters(200, 8, 3))
    perturbed.replace(file)
    results = run_sweep(tmp_path / "out", file)
    assert len(results.trial_keys()) == 2
    digests = [(results.trial_record(key) or {})["files"]["training"] for key in results.trial_keys()]
    assert len(set(digests)) == 2


def test_the_mean_budget_is_kept_with_the_pass_and_told_of_the_trial(tmp_path: Path) -> None:
    np.save(tmp_path / "training.npy", clusters(200, 8, 2))
    results = run_sweep(tmp_path / "out", tmp_path / "training.npy")
    (key,) = results.trial_keys()
    results.put_trial(key, (results.trial_record(key) or {}) | {"status": "begun"})  # as a kill leaves it
    run_sweep(tmp_path / "out", tmp_path / "training.npy")
    (result,) = read_trials(results, None)
    assert result.status == "done"
    assert re.fullmatch(r"mean budget \d+\.\d of 3 requested", result.note)


def hits(index: Adaptive, base: Any, queries: Any, budget: int) -> tuple[Hits, Hits, Any]:
    """The hits of a fixed budget and of adaptive search with this mean, and the contrast of the queries."""
    neighbors = truth(InMemoryVectors(base), InMemoryVectors(queries), 10, "l2")
    judge = HitRule(neighbors, 10, InMemoryVectors(base), InMemoryVectors(queries), "l2")
    index.set_search(budget=budget)
    adaptive = judge.hits(index.search(queries, 10))
    index.index.set_search(**{index.inner.budget: budget})
    assert neighbors.distances is not None
    mean = np.linalg.norm(queries[:, None] - base[None, ::100], axis=2).mean(axis=1)
    return judge.hits(index.index.search(queries, 10)), adaptive, mean / neighbors.distances[:, 9]


@pytest.mark.parametrize(
    ("inside", "budget"), [("faiss.hnsw;M=8;efConstruction=80", 10), ("faiss.ivfflat;nlist=128", 4)]
)
def test_on_mnist_hard_queries_fail_less_often_at_the_same_mean_budget(
    inside: str, budget: int, shared: Path, tmp_path: Path
) -> None:
    packed = (shared / "mnist" / "t10k-images-idx3-ubyte.gz").read_bytes()
    pixels = np.frombuffer(gzip.decompress(packed)[16:], np.uint8).reshape(-1, 784)[:, ::4]
    images = np.random.default_rng(0).permutation(pixels).astype(np.float32)
    index = open_adaptive(tmp_path, images[5000:6000], 196, inner=inside, most=64)
    index.build(images[:5000])
    fixed, adaptive, contrast = hits(index, images[:5000], images[6000:], budget)
    hard = contrast <= np.quantile(contrast, 0.1)
    columns = (np.column_stack([result.reaches(0.5)[hard]]) for result in (fixed, adaptive))
    (compared,) = compare_columns([Subject("Robustness-0.5@10", "share")], *columns)
    assert compared.difference.low is not None
    assert compared.difference.low > 0
    scores = index.difficulty.scores(index.landmarks.features(images[6000:]))
    assert np.array(index.budgets)[index.groups.group_of(scores)].mean() <= 1.05 * budget
