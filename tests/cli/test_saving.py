"""--save: every command that has a result can record it in the chosen store."""

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


def test_an_evaluation_is_saved_with_its_scores_and_digests(folder: Path) -> None:
    (folder / "index.toml").write_text("[index]\ntype = 'hnsw'\nef = 64\n")
    argv = ["eval", "qrels.txt", "new.run", "-m", "RR@10", "--save", "first", "--config", "index.toml"]
    assert run([*argv, "--tag", "nightly", "--note", "as it was"]) == 0
    with Store(".assay") as store:
        experiment = store.get("first")
        scores = store.scores(experiment)
    assert (experiment.kind, experiment.tags, experiment.note) == ("eval", ("nightly",), "as it was")
    assert experiment.configuration == {"index": {"type": "hnsw", "ef": 64}}
    assert experiment.digests["run"] == read("new.run", "run").digest
    assert experiment.digests["qrels"] == read("qrels.txt", "qrels").digest
    assert scores is not None
    assert scores.to_dict()["q0"] == {"RR@10": 1.0}
    metric = experiment.metric("RR@10")
    assert metric is not None
    assert (metric.value, metric.n) == (1.0, 30)


def test_several_runs_are_saved_under_their_names(folder: Path) -> None:
    assert run(["eval", "qrels.txt", "old.run", "new.run", "--save", "both"]) == 0
    assert run(["compare", "qrels.txt", "old.run", "new.run", "--save", "change"]) == 0
    with Store(".assay") as store:
        experiment = store.list()
    assert [e.name for e in experiment] == ["change/new", "change/old", "both/new", "both/old"]
    assert experiment[0].result["readings"]


def test_failures_are_saved_with_their_causes_and_a_gate_with_its_verdict(folder: Path) -> None:
    (folder / "assay.toml").write_text(GATE)
    assert run(["failures", "qrels.txt", "old.run", "-m", "R@1", "--save", "why"]) == 0
    assert run(["gate", "--save", "release"]) == 0
    with Store("kept") as store:  # as assay.toml says
        assert store.get("why").result["causes"] == {"near miss": 30}
        release = store.get("release")
    assert release.result["verdict"] == "passed"
    assert release.figures == {"cost_per_1k_queries": 0.2}


def test_the_store_is_that_of_the_option_then_that_of_the_environment(
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


def test_latencies_and_figures_are_saved_with_one_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ms.txt").write_text("".join(f"{i}\n" for i in range(1, 101)))
    (folder / "cost.json").write_text(json.dumps({"cost_per_1k_queries": 0.4}))
    measurements = ["--latencies", "ms.txt", "--figures", "cost.json", "--save", "x"]
    assert run(["eval", "qrels.txt", "new.run", *measurements]) == 0
    with Store(".assay") as store:
        experiment = store.get("x")
    assert experiment.latency == {"p50_ms": 50.0, "p90_ms": 90.0, "p95_ms": 95.0}
    assert experiment.figures == {"cost_per_1k_queries": 0.4}
    assert run(["eval", "qrels.txt", "new.run", "old.run", *measurements]) == 2
    assert "are of one run" in capsys.readouterr().err


def test_nothing_is_saved_without_the_option(folder: Path) -> None:
    assert run(["eval", "qrels.txt", "new.run"]) == 0
    assert not (folder / ".assay").exists()


def test_an_empty_name_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", "qrels.txt", "new.run", "--save", ""]) == 2
    assert "--save expects a name" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [
        ["eval", "qrels.txt", "missing.run"],
        ["compare", "qrels.txt", "missing.run", "new.run"],
        ["failures", "qrels.txt", "missing.run"],
        ["gate", "--project", "missing.toml"],
        ["run", "--project", "missing.toml"],
        ["bench", "missing.toml"],
    ],
)
def test_a_store_that_cannot_be_used_is_refused_before_any_work(
    folder: Path, capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    (folder / "taken").write_text("a file")
    (folder / "damaged").mkdir()
    (folder / "damaged" / "assay.db").write_text("no database")
    messages = {
        "taken": "the store taken cannot be created",
        "taken/below": "the store taken/below cannot be created",
        "damaged": "cannot be used: file is not a database",
        "s3://bucket": "a store is a folder or postgresql://",
    }
    for store, message in messages.items():
        assert run([*argv, "--save", "x", "--store", store]) == 2
        assert message in capsys.readouterr().err


def test_files_of_measurements_and_names_are_checked_before_any_work(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ms.csv").write_text("query_id,ms\nq1,2\n")
    (folder / "cost.json").write_text('{"cost": NaN}')
    options = {
        "expected a column latency_ms, found query_id, ms": ["--save", "x", "--latencies", "ms.csv"],
        "nowhere.csv": ["--save", "x", "--latencies", "nowhere.csv"],
        "nowhere.json: cannot be read": ["--save", "x", "--figures", "nowhere.json"],
        "cost: expected a number, found nan": ["--save", "x", "--figures", "cost.json"],
        "a name or a tag of": ["--save", "x" * 2000],
        "contains a NUL character": ["--save", "x", "--tag", "a\0b"],
    }
    for message, words in options.items():
        assert run(["eval", "qrels.txt", "missing.run", *words]) == 2
        assert message in capsys.readouterr().err
    assert not (folder / ".assay").exists()


def test_a_failed_command_leaves_no_store(folder: Path) -> None:
    assert run(["eval", "qrels.txt", "missing.run", "--save", "x"]) == 2
    assert not (folder / ".assay").exists()


def test_a_gate_is_saved_in_the_store_of_its_project(folder: Path, tmp_path: Path) -> None:
    (folder / "gate.toml").write_text(GATE)
    assert run(["gate", "--project", "gate.toml", "--save", "x"]) == 0
    with Store("kept") as store:
        assert store.get("x").kind == "gate"


def test_parameters_are_settings_of_every_run_or_of_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "index.toml").write_text("[index]\ntype = 'hnsw'\nef = 32\n")
    params = ["--param", "index.ef=64", "--param", "model=e5", "--param", "exact=false"]
    assert run(["eval", "qrels.txt", "new.run", "--save", "x", "--config", "index.toml", *params]) == 0
    assert run(["failures", "qrels.txt", "new.run", "--save", "y", "--param", "top_k=10"]) == 0
    both = ["--param", "old:ef=16", "--param", "new:ef=64", "--param", "m=8", "--save", "z"]
    capsys.readouterr()
    assert run(["compare", "qrels.txt", "old.run", "new.run", *both]) == 0
    assert "ef" in capsys.readouterr().out
    with Store(".assay") as store:
        settings = [dict(store.get(name).configuration) for name in ("x", "y", "z/old", "z/new")]
    assert settings == [
        {"index": {"type": "hnsw", "ef": 64}, "model": "e5", "exact": False},
        {"top_k": 10},
        {"ef": 16, "m": 8},
        {"ef": 64, "m": 8},
    ]


@pytest.mark.parametrize("param", ["ef", "=64", "index..ef=64"])
def test_a_parameter_without_a_key_or_a_value_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], param: str
) -> None:
    assert run(["eval", "qrels.txt", "new.run", "--param", param]) == 2
    assert f"--param expects KEY=VALUE or RUN:KEY=VALUE, such as index.ef=64; found {param!r}" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("option", [("--tag", "a"), ("--note", "b"), ("--figures", "c.json")])
def test_what_is_recorded_with_a_result_needs_a_name(
    folder: Path, option: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["eval", "qrels.txt", "a.run", *option]) == 2
    assert f"{option[0]} is recorded with a result: give --save NAME" in capsys.readouterr().err


def test_figures_are_numbers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "cost.json").write_text('{"cost": "cheap"}')
    assert run(["eval", "qrels.txt", "a.run", "--save", "x", "--figures", "cost.json"]) == 2
    assert "cost: expected a number, found 'cheap'" in capsys.readouterr().err
