"""assay rollout: its words, its JSON keys, and what a command that is not allowed leaves as it was."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli import call
from assay.cli.rollout import parser
from tests.rollout.logs import NAME, act, save_experiment, start, write_log

GUIDE = Path(__file__).parents[2] / "docs" / "rollouts.md"
Shown = pytest.CaptureFixture[str]
Prepare = Callable[[str], object]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A rollout at its gate."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_ACTOR", "ann")
    for name in ("ASSAY_STORE", "ASSAY_TOKEN", "ASSAY_SPLITS_FILE", "ASSAY_SPLITS_KEY"):
        monkeypatch.delenv(name, raising=False)
    return start(tmp_path)


def history(store: str, capsys: Shown) -> dict[str, object]:
    """Return the record of the rollout."""
    capsys.readouterr()
    assert call(["rollout", "history", NAME, "--store", store, "--format", "json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def stay(store: str) -> None:
    """Leave the rollout where it is."""


def hold(store: str) -> None:
    act(store, "hold")


def roll_back(store: str) -> None:
    act(store, "rollback")


def abandon(store: str) -> None:
    act(store, "abandon")


@pytest.mark.parametrize(
    ("prepare", "words", "problem"),
    [
        (hold, ["advance"], "expected a rollout that is running, found one that is held"),
        (roll_back, ["advance"], "found one that is reverted"),
        (roll_back, ["hold", "--reason", "a look"], "found one that is reverted"),
        (roll_back, ["resume"], "found one that is reverted"),
        (roll_back, ["abandon", "--reason", "no"], "found one that is reverted"),
        (abandon, ["rollback", "--reason", "late"], "found one that is abandoned"),
        (stay, ["approve"], "the step after gate needs no approval"),
        (stay, ["hold"], "hold needs a reason"),
        (stay, ["rollback"], "rollback needs a reason"),
        (stay, ["advance", "--skip"], "--skip needs a reason"),
        (
            stay,
            ["advance", "--events", "none.jsonl", "--format", "json", "--skip", "--reason", " "],
            "reason",
        ),
    ],
)
def test_a_command_that_is_not_allowed_exits_with_2_and_changes_nothing(
    store: str, capsys: Shown, prepare: Prepare, words: list[str], problem: str
) -> None:
    prepare(store)
    before = history(store, capsys)
    action, *options = words
    assert call(["rollout", action, NAME, *options, "--store", store]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert problem in " ".join(captured.err.split())
    assert history(store, capsys) == before


@pytest.mark.parametrize("action", ["status", "advance", "resume", "history", "watch"])
def test_an_unknown_rollout_exits_with_2_and_names_those_there_are(
    store: str, capsys: Shown, action: str
) -> None:
    assert call(["rollout", action, "none", "--store", store, *["--once"] * (action == "watch")]) == 2
    assert f"there is no rollout 'none'; those there are: {NAME}" in capsys.readouterr().err


def test_a_step_that_may_not_be_left_yet_exits_with_1_and_says_what_is_missing(
    store: str, tmp_path: Path, capsys: Shown
) -> None:
    act(store, "advance")
    write_log(tmp_path / "log.jsonl", {"control": (0.3, 0.05), "treatment": (0.3, 0.05)}, users=40)
    before = history(store, capsys)
    assert call(["rollout", "advance", NAME, "--store", store]) == 1
    assert "may not leave ab yet: 200 units in each arm" in capsys.readouterr().err
    assert history(store, capsys) == before


def test_a_repeated_command_exits_with_0_says_so_and_adds_nothing(store: str, capsys: Shown) -> None:
    words = ["rollout", "rollback", NAME, "--reason", "slow", "--store", store]
    assert call(words) == 0
    before = history(store, capsys)
    assert call(words) == 0
    assert "nothing changed: ranker is rolled back" in capsys.readouterr().err
    assert history(store, capsys) == before


def test_the_json_has_the_keys_that_stay(store: str, capsys: Shown) -> None:
    assert call(["rollout", "status", NAME, "--store", store, "--format", "json"]) == 0
    status = json.loads(capsys.readouterr().out)
    keys = {"name", "state", "stage", "coverage", "reason", "next", "evidence"}
    assert keys <= set(status)
    assert (status["state"], status["stage"], status["coverage"]) == ("running", "gate", 0)
    found = history(store, capsys)
    assert {"name", "experiment", "transitions"} <= set(found)
    assert isinstance(found["transitions"], list)
    (move,) = found["transitions"]
    assert {"at", "actor", "from", "to", "reason", "evidence"} <= set(move)
    assert (move["actor"], move["from"], move["to"]) == ("ann", None, "running: gate")


def test_the_policy_of_a_rollout_is_the_one_it_was_started_with(
    store: str, tmp_path: Path, capsys: Shown
) -> None:
    before = history(store, capsys)["policy"]
    (tmp_path / "assay.toml").write_text("[rollout]\nmin_traffic = 0\n")
    assert call(["rollout", "advance", NAME, "--store", store]) == 0
    save_experiment(store, "another")
    words = ["rollout", "start", NAME, "--experiment", "another", "--store", store]
    assert call(words) == 2
    assert "exists and releases the experiment" in capsys.readouterr().err
    assert history(store, capsys)["policy"] == before


def test_every_command_has_a_help_with_an_example(capsys: Shown) -> None:
    actions = ["start", "status", "list", "advance", "approve", "hold", "resume", "rollback", "abandon"]
    for action in [*actions, "history", "watch", "splits"]:
        assert call(["rollout", action, "--help"]) == 0
        shown = capsys.readouterr().out
        examples = [line.strip() for line in shown.splitlines() if line.startswith("  assay rollout ")]
        assert examples, action
        for line in examples:
            assert line.startswith(f"assay rollout {action}")


def test_the_examples_of_the_help_are_commands_that_the_parser_takes() -> None:
    lines = [line.strip() for line in parser().format_help().splitlines()]
    examples = [shlex.split(line)[2:] for line in lines if line.startswith("assay rollout ")]
    assert len(examples) > 10
    for words in examples:
        parser().parse_args(words)


def test_the_commands_of_the_guide_are_ones_that_the_parser_takes() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
    found = re.findall(r"(?m)\bassay rollout ([^\n]*)", "".join(blocks))
    assert len(found) > 5
    for words in found:
        parser().parse_args(shlex.split(words, comments=True))
