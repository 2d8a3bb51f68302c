"""--save: every command that makes a result can record it, in the store that was meant."""

import json
from pathlib import Path

import pytest

from assay import Store, read
from assay.cli import call as run

QRELS = "".join(f"q{i} 0 a 1\nq{i} 0 b 0\n" for i in range(30))
GATE = """
[data]
qrels = "qrels.txt"
[baseline]
run = "old.run"
[candidate]
run = "new.run"
figures = { cost_per_1k_queries = 0.2 }
[store]
url = "kept"
[gate]
[[gate.rules]]
measure = "RR@10"
at_least = 0.4
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "old.run").write_text("".join(f"q{i} Q0 b 1 2 t\nq{i} Q0 a 2 1 t\n" for i in range(30)))
    (tmp_path / "new.run").write_text("".join(f"q{i} Q0 a 1 2 t\nq{i} Q0 b 2 1 t\n" for i in range(30)))
    return tmp_path


def test_an_evaluation_is_kept_with_its_scores_and_where_they_come_from(folder: Path) -> None:
    (folder / "index.toml").write_text("[index]\ntype = 'hnsw'\nef = 64\n")
    argv = ["eval", "qrels.txt", "new.run", "-m", "RR@10", "--save", "first", "--config", "index.toml"]
    assert run([*argv, "--tag", "nightly", "--note", "as it was"]) == 0
    with Store(".assay") as store:
        kept = store.get("first")
        scores = store.scores(kept)
    assert (kept.kind, kept.tags, kept.note) == ("eval", ("nightly",), "as it was")
    assert kept.configuration == {"index": {"type": "hnsw", "ef": 64}}
    assert kept.digests["run"] == read("new.run", "run").digest
    assert kept.digests["qrels"] == read("qrels.txt", "qrels").digest
    assert scores is not None
    assert scores.to_dict()["q0"] == {"RR@10": 1.0}
    metric = kept.metric("RR@10")
    assert metric is not None
    assert (metric.value, metric.n) == (1.0, 30)


def test_several_runs_are_kept_under_their_names(folder: Path) -> None:
    assert run(["eval", "qrels.txt", "old.run", "new.run", "--save", "both"]) == 0
    assert run(["compare", "qrels.txt", "old.run", "new.run", "--save", "change"]) == 0
    with Store(".assay") as store:
        kept = store.list()
    assert [e.name for e in kept] == ["change/new", "change/old", "both/new", "both/old"]
    assert kept[0].result["readings"]


def test_failures_keep_their_causes_and_a_gate_its_verdict(folder: Path) -> None:
    (folder / "assay.toml").write_text(GATE)
    assert run(["failures", "qrels.txt", "old.run", "-m", "R@1", "--save", "why"]) == 0
    assert run(["gate", "--save", "release"]) == 0
    with Store("kept") as store:  # as assay.toml says
        assert store.get("why").result["causes"] == {"near miss": 30}
        release = store.get("release")
    assert release.result["verdict"] == "passed"
    assert release.figures == {"cost_per_1k_queries": 0.2}


def test_the_store_is_the_one_given_then_that_of_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "assay.toml").write_text(GATE)
    argv = ["eval", "qrels.txt", "new.run", "--save", "x"]
    assert run([*argv, "--store", "given"]) == 0
    monkeypatch.setenv("ASSAY_STORE", str(folder / "named"))
    assert run(argv) == 0
    monkeypatch.delenv("ASSAY_STORE")
    assert run(argv) == 0
    for name in ("given", "named", "kept"):
        with Store(name) as store:
            assert len(store.list()) == 1


def test_latencies_and_figures_are_kept_beside_one_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ms.txt").write_text("".join(f"{i}\n" for i in range(1, 101)))
    (folder / "cost.json").write_text(json.dumps({"cost_per_1k_queries": 0.4}))
    beside = ["--latencies", "ms.txt", "--figures", "cost.json", "--save", "x"]
    assert run(["eval", "qrels.txt", "new.run", *beside]) == 0
    with Store(".assay") as store:
        kept = store.get("x")
    assert kept.latency == {"p50_ms": 50.0, "p90_ms": 90.0, "p95_ms": 95.0}
    assert kept.figures == {"cost_per_1k_queries": 0.4}
    assert run(["eval", "qrels.txt", "new.run", "old.run", *beside]) == 2
    assert "are of one run" in capsys.readouterr().err


def test_nothing_is_kept_where_nobody_asked_for_it(folder: Path) -> None:
    assert run(["eval", "qrels.txt", "new.run"]) == 0
    assert not (folder / ".assay").exists()


def test_an_empty_name_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", "qrels.txt", "new.run", "--save", ""]) == 2
    assert "--save expects a name" in capsys.readouterr().err
