"""assay tune: what a person sees who looks for the cheapest index that is good enough."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.cli import call as run
from assay.datasets.vectors import write_vectors
from tests.benches import install_test_engines, make_clusters

pytest.importorskip("optuna")
DATA = ["--base", "base.fbin", "--queries", "queries.fbin", "--metric", "l2", "-k", "5"]
QUICK = [*DATA, "--repetitions", "1", "--warmup", "0"]
INDEX = ["--index", "misbehaving seed=1..90 / rows=100..1500"]
TUNE = """
[data]
base = "base.fbin"
queries = "queries.fbin"
metric = "l2"
k = 5

[run]
repetitions = 1
warmup = 0
seed = 3

[[index]]
engine = "misbehaving"
build = { seed = "1..90" }
search = { rows = "100..1500" }

[tune]
floors = ["recall=0.9", "robustness-0.2=0.9"]
objective = "cost"
price = 0.5
mode = "batch"
budget = 2
seconds = 600
"""


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with vectors and somebody's engines."""
    folder = tmp_path_factory.mktemp("tune")
    with pytest.MonkeyPatch.context() as patch:
        install_test_engines(folder, patch)
        patch.chdir(folder)
        for vectors, path in zip(make_clusters(), ("base.fbin", "queries.fbin"), strict=True):
            write_vectors(vectors, path)
        Path("tune.toml").write_text(TUNE)
        yield folder


def call_tune(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["tune", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_winner_is_told_with_its_figures_and_what_was_tried(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_tune(capsys, *QUICK, *INDEX, "--floor", "recall=0.9", "--budget", "3", "-o", "told")
    assert code == 0
    winner = out.split(":")[0]
    assert winner.startswith("misbehaving seed=")
    assert "recall at least 0.9" in out
    assert "3 configurations: 3 met the floors" in out
    lines = err.splitlines()
    assert [line.split(" ")[:2] for line in lines[:3]] == [[f"{n}/3", "met:"] for n in (1, 2, 3)]
    assert winner in [line.split(": ")[1] for line in lines[:3]]
    assert "the best 3 were timed again in turn, and the selection is based on" in out


def test_the_same_command_tries_nothing_again_and_a_higher_budget_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = [*QUICK, *INDEX, "--floor", "recall=0.9", "-o", "again", "--format", "json"]
    first = json.loads(call_tune(capsys, *argv, "--budget", "2")[1])
    same, more = (json.loads(call_tune(capsys, *argv, "--budget", budget)[1]) for budget in ("2", "3"))
    assert [made["tuning"]["new"] for made in (first, same, more)] == [2, 0, 1]
    assert same["tuning"]["tried"] == first["tuning"]["tried"]
    keys = [[one["key"] for one in made["tuning"]["tried"]] for made in (first, more)]
    assert keys[0] == keys[1][:2]
    assert first["tuning"]["counts"] == {"met": 2, "missed": 0, "skipped": 0, "failed": 0}
    assert first["tuning"]["ended"] == "the budget of 2 is used"


def test_a_file_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_tune(capsys, "tune.toml", "-o", "filed", "--format", "json")
    made = json.loads(out)
    assert (code, made["objective"], made["mode"], made["price"]) == (0, "cost", "batch", 0.5)
    assert [floor["figure"] for floor in made["floors"]] == ["recall", "robustness-0.2"]
    assert len(made["tuning"]["tried"]) == 2
    assert run(["bench", "tune.toml", "--recall", "0.9", "--index", "misbehaving seed=1..2"]) == 2
    assert "seed is a range, but an index is built with single values" in capsys.readouterr().err


def test_what_was_tried_is_a_sweep_to_show_and_to_choose_from(capsys: pytest.CaptureFixture[str]) -> None:
    call_tune(capsys, *QUICK, *INDEX, "--floor", "recall=0.9", "--budget", "2", "-o", "kept")
    assert run(["bench", "show", "kept", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["trials"]) == 2
    assert run(["select", "kept", "--floor", "recall=0.5", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["winner"].startswith("misbehaving")
    assert Path("kept/trials.parquet").exists()


def test_floors_that_nothing_meets_are_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["--index", "misbehaving seed=1..90 / rows=100..200", "--floor", "recall=0.99", "--budget", "1"]
    code, out, _ = call_tune(capsys, *QUICK, *argv, "-o", "unmet")
    assert code == 1
    assert "no trial meets all floors" in out
    assert "1 configurations: 1 missed a floor" in out


def test_a_ceiling_that_every_index_is_above_is_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["--floor", "recall=0.9", "--floor", "build_seconds=0", "--budget", "2", "-o", "skipped"]
    code, out, err = call_tune(capsys, *QUICK, *INDEX, *argv)
    assert code == 1
    assert "2 configurations: 2 skipped" in out
    assert "all answers are stored" not in err
    code, out, _ = call_tune(capsys, *QUICK, *INDEX, *argv, "--format", "json")
    made = json.loads(out)
    assert (code, made["winner"], made["tuning"]["counts"]["skipped"]) == (1, None, 2)
    assert [one["why"].split(": ")[:2] for one in made["trials"]] == [
        ["skipped", "build_seconds at most 0"]
    ] * 2
    assert {(one["engine"], str(one["search"])) for one in made["trials"]} == {
        ("misbehaving", "{'rows': '100..1500'}")
    }


def test_nothing_measured_is_exit_code_3(capsys: pytest.CaptureFixture[str]) -> None:
    index = ["--index", "misbehaving fails=refuse / rows=100..1500"]
    code, out, err = call_tune(capsys, *QUICK, *index, "--floor", "recall=0.9", "-o", "refused")
    assert (code, out) == (3, "")
    assert "no configuration could be measured: misbehaving fails=refuse" in err
    assert "to my liking" in err


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        ([], "expected a benchmark in TOML, or --base with --index; see assay tune --help"),
        ([*DATA, "--floor", "recall=0.9"], "expected an index to tune, found none"),
        ([*DATA, *INDEX], "add a floor of recall or robustness (--floor recall=0.9)"),
        ([*DATA, *INDEX, "--floor", "recal=0.9"], "unknown figure 'recal'; did you mean recall?"),
        ([*DATA, *INDEX, "--floor", "recall=0.9", "--objective", "cost"], "tune.price: expected the price"),
        ([*DATA, *INDEX, "--floor", "recall=0.9", "--budget", "0"], "tune.budget: expected a whole number"),
        ([*DATA, "--index", "misbehaving sed=1..2", "--floor", "recall=0.9"], "did you mean seed?"),
        ([*DATA, "--index", "misbehaving / row=1..2", "--floor", "recall=0.9"], "did you mean rows?"),
    ],
)  # fmt: skip
def test_wrong_use_is_told_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], argv: list[str], problem: str
) -> None:
    code, out, err = call_tune(capsys, *argv, "-o", "wrong")
    assert (code, out) == (2, "")
    assert err.startswith("assay tune: ")
    assert problem in err
    assert not Path("wrong").exists()


def test_after_ctrl_c_the_same_command_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    argv = [*QUICK, *INDEX, "--floor", "recall=0.9", "--budget", "40", "-o", "halved"]
    start = [sys.executable, "-c", "from assay.cli import main; main()", "tune", *argv]
    process = subprocess.Popen(start, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr
    first = process.stderr.readline()
    os.kill(process.pid, signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "attempts are stored in halved: the same command continues from there" in rest
    begun = len([line for line in [first, *rest.splitlines()] if " met: " in line])
    code, out, _ = call_tune(capsys, *argv[:-3], str(begun), "-o", "halved", "--format", "json")
    assert (code, json.loads(out)["tuning"]["new"]) == (0, 0)


def test_floors_of_robustness_have_the_delta_that_is_given_and_it_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    floors = ["--floor", "robustness=0.5", "--delta", "0.4", "--budget", "1"]
    code, out, _ = call_tune(capsys, *QUICK, *INDEX, *floors, "-o", "delta", "--format", "json")
    made = json.loads(out)
    assert (code, made["floors"][0]["figure"]) == (0, "robustness-0.4")
    assert "robustness-0.4" in made["trials"][0]["figures"]
    code, _, err = call_tune(capsys, *QUICK, *INDEX, "--floor", "recall=0.5", "--delta", "0", "-o", "zero")
    assert (code, "must be above 0 and at most 1, found 0" in err) == (2, True)
