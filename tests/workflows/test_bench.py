"""The workflow `bench`: each pass is read once, one hit rule is built, and trials are recorded."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay.bench.studies.families import family_of_trial
from assay.bench.sweeps.folder import Pass, SweepFolder
from assay.bench.sweeps.progress import Progress, ProgressCallback
from assay.bench.sweeps.sweep import Sweep
from assay.core.errors import ConfigurationError, InputError
from assay.core.vectors import InMemoryVectors
from assay.datasets.vectors import read_vectors, write_vectors
from assay.indexes.hits import HitRule
from assay.store.store import Store
from assay.views.truth import describe_easy_queries
from assay.workflows.bench import BenchRequest, bench, save_trials
from assay.workflows.recording import SaveRequest
from assay.workflows.select import SelectRequest, select
from tests.workflows.sweeps import bench_request, prepare_folder


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    prepare_folder(tmp_path, monkeypatch)
    return tmp_path


def test_a_benchmark_returns_its_trials_and_keeps_a_table(folder: Path) -> None:
    result = bench(bench_request())
    assert [trial.search for trial in result.trials] == [{"rows": 200}, {"rows": 1500}]
    assert result.trials[1].recall is not None
    assert result.trials[1].recall.value == 1.0
    assert (result.total, result.has_answers, result.exit_code) == (2, True, 0)
    assert [trial["key"] for trial in result.to_dict()["trials"]] == [t.key for t in result.trials]
    assert result.to_dict()["data"]["queries"] == 40
    assert len(pl.read_parquet(folder / "swept" / "trials.parquet")) == 2


def test_a_failed_trial_is_exit_code_1() -> None:
    result = bench(bench_request(indexes=["misbehaving fails=refuse"]))
    assert (result.has_failures, result.has_answers, result.exit_code) == (True, False, 1)


def count_reads(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, int]]:
    """How often each pass is read from now on."""
    reads: Counter[tuple[str, int]] = Counter()
    read_pass = SweepFolder.read_pass

    def counted(self: SweepFolder, key: str, number: int) -> Pass:
        reads[key, number] += 1
        return read_pass(self, key, number)

    monkeypatch.setattr(SweepFolder, "read_pass", counted)
    return reads


def test_each_pass_is_read_once_whether_it_is_measured_now_or_known(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = count_reads(monkeypatch)
    for _ in range(2):  # the second time nothing is measured
        reads.clear()
        result = bench(bench_request())
        save_trials(SaveRequest(name="nightly", store="store"), result)
        keys = [trial.key for trial in result.trials]
        assert reads == {(key, number): 1 for key in keys for number in (0, 1)}


def test_one_hit_rule_is_built_for_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = []
    initialize = HitRule.__init__

    def counted(self: HitRule, *arguments: object, **options: object) -> None:
        rules.append(self)
        initialize(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(HitRule, "__init__", counted)
    save_trials(SaveRequest(name="nightly", store="store"), bench(bench_request()))
    assert len([rule for rule in rules if len(rule.out_of) == 40]) == 1


def test_known_trials_are_reported_with_their_figures() -> None:
    events: list[Progress] = []

    @contextmanager
    def watch(sweep: Sweep) -> Iterator[ProgressCallback]:
        yield events.append

    bench(bench_request())
    bench(bench_request(), watch=watch)
    assert [event.kind for event in events] == ["known", "known"]
    assert sorted(event.figures.recall for event in events if event.figures)[1] == 1.0  # type: ignore[type-var]


def test_trials_are_recorded_with_the_scores_of_their_queries() -> None:
    saved = save_trials(SaveRequest(name="nightly", store="store", tags=["a"]), bench(bench_request()))
    assert {experiment.name for experiment in saved} == {
        f"nightly/misbehaving / rows={rows} (batch)" for rows in (200, 1500)
    }
    with Store("store") as store:
        experiment = store.get("nightly/misbehaving / rows=1500 (batch)")
        scores = store.scores(experiment)
    assert scores is not None
    assert (len(scores.query_ids), scores["R@5"].mean(), experiment.tags) == (40, 1.0, ("a",))


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (BenchRequest(), "expected a benchmark in TOML, or --base with --index"),
        (bench_request(objective="p99"), "such as p99=10; found 'p99'"),
        (bench_request(indexes=[]), "expected an index to measure, found none"),
    ],
)
def test_wrong_requests_are_refused(request_: BenchRequest, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        bench(request_)
    assert not Path("swept").exists()


OWN_ENGINE = """
import numpy as np
from assay.indexes.index import Index

class Own(Index):
    family = "tree"
    def build(self, vectors): self.vectors = np.array(vectors)[:{rows}]
    def search(self, queries, k):
        return np.argsort(((queries[:, None] - self.vectors) ** 2).sum(axis=2), axis=1)[:, :k]
"""


def test_trials_of_an_own_engine_are_measured_again_after_its_source_changed() -> None:
    changes: list[list[str]] = []

    @contextmanager
    def watch(sweep: Sweep) -> Iterator[ProgressCallback]:
        changes.append(sweep.version_changes())
        yield lambda progress: None

    request = bench_request("own", indexes=["own_engine:Own"], repetitions=1)
    for rows in (1400, 1400, 20):
        Path("own_engine.py").write_text(OWN_ENGINE.format(rows=rows))
        result = bench(request, watch=watch)
    assert changes[:2] == [[], []]
    assert len(changes[2]) == 1
    assert re.fullmatch(
        r"own_engine:Own changed from source \w{8} to source \w{8}: 1 trial is measured again", changes[2][0]
    )
    assert (result.total, family_of_trial(result.trials[0])) == (2, "tree")
    chosen = select(SelectRequest(trials="own", confirm=0)).to_dict()
    assert [trial["why"][:47] for trial in chosen["trials"][1:]] == [
        "measured with an earlier source of the engine: "
    ]


@pytest.mark.parametrize(
    ("index", "problem"),
    [
        ("hnswlib / ef=0", "search.ef: must be 1 or more, found 0"),
        ("hnswlib / ef=many", "search.ef: expected int, found 'many'"),
        ("hnswlib / eff=8", "search.eff: there is no such parameter"),
    ],
)
def test_a_bad_search_value_is_refused_before_anything_is_built(index: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        bench(bench_request("refused", indexes=[index]))
    assert not Path("refused").exists()


def test_queries_that_are_vectors_of_the_base_are_a_finding() -> None:
    base = read_vectors("base.fbin").to_matrix()
    queries = read_vectors("queries.fbin").to_matrix()
    write_vectors(InMemoryVectors(np.vstack([base[7:17], queries[:30]])), "easy.fbin")
    assert bench(bench_request("others")).findings == ()
    (finding,) = bench(bench_request("easy", queries="easy.fbin")).findings
    assert (finding.cases, finding.out_of, finding.share) == (10, 40, 0.25)
    assert describe_easy_queries([finding], 5) == [
        "warning: queries contained in the base: 10 of 40 (0.2500), for example query 0 is at position 7 of "
        "the base; the nearest neighbour is the query itself, an easy hit, so recall@1 says little, and "
        "recall@5 gains up to 1/5 for such a query"
    ]
