"""Assignment: uniform, stable, monotone when the coverage grows, independent between experiments."""

import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare

from assay.rollout import assignment
from assay.rollout.assignment import Assignment, Slot, TrafficSplit
from assay.rollout.assignment_arrays import assign_many

MODULE = Path(assignment.__file__)
ARMS = "2001201000010120111220110102121010000101"  # of the first users in new-ranker at a coverage of a half
SCRIPT = (
    "from assay.rollout.assignment import TrafficSplit as T\n"
    "s = T('new-ranker', 0.5)\n"
    "found = (s.assign(f'user-{i}') for i in range(40))\n"
    "print(''.join(str(s.arms.index(f.arm) + 1) if f.is_counted else '0' for f in found))"
)
USERS = [f"user-{i}" for i in range(40_000)]
ALPHA = 1e-4  # of each test on these fixed users: a failure is a fault, not chance
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)


@pytest.mark.parametrize("name", ["a", "b", "ranking-2026", "é"])
@pytest.mark.parametrize("arms", [2, 3, 7])
def test_the_arms_are_equally_large(name: str, arms: int) -> None:
    split = TrafficSplit(name, arms=tuple(f"arm {i}" for i in range(arms)))
    assert chisquare(np.bincount(assign_many(split, USERS))).pvalue > ALPHA


@pytest.mark.parametrize("coverage", [0.01, 0.05, 0.25, 0.5])
def test_the_coverage_is_the_share_of_units(coverage: float) -> None:
    counts = np.bincount(assign_many(TrafficSplit("a", coverage), USERS) + 1)
    expected = np.array([1 - coverage, coverage / 2, coverage / 2]) * len(USERS)
    assert chisquare(counts, expected).pvalue > ALPHA


def test_a_unit_keeps_its_arm_when_the_coverage_grows() -> None:
    ramp = [assign_many(TrafficSplit("a", c), USERS) for c in (0, 0.01, 0.05, 0.1, 0.25, 0.5, 1)]
    for before, after in pairwise(ramp):
        was_in = before >= 0
        assert (after[was_in] == before[was_in]).all()
    assert (ramp[0] == -1).all()
    assert (ramp[-1] >= 0).all()


@pytest.mark.parametrize("other", ["b", "a2", "a ", "A", "ab"])
def test_two_experiments_are_independent(other: str) -> None:
    first, second = (assign_many(TrafficSplit(name, 0.5), USERS) for name in ("a", other))
    table = np.array([[((first == i) & (second == j)).sum() for j in (-1, 0, 1)] for i in (-1, 0, 1)])
    assert chi2_contingency(table).pvalue > ALPHA


def test_holdout_and_coverage_are_independent() -> None:
    held_out = assign_many(TrafficSplit("a", holdout=0.1), USERS) == -1
    covered = assign_many(TrafficSplit("a", 0.5), USERS) >= 0
    table = [[(held_out & covered).sum(), (held_out & ~covered).sum()]]
    table.append([(~held_out & covered).sum(), (~held_out & ~covered).sum()])
    assert chi2_contingency(np.array(table)).pvalue > ALPHA
    assert held_out.mean() == pytest.approx(0.1, abs=0.01)


def test_experiments_of_one_group_exclude_each_other() -> None:
    first = assign_many(TrafficSplit("a", slot=Slot("ranking", 0, 0.4)), USERS) >= 0
    second = assign_many(TrafficSplit("b", slot=Slot("ranking", 0.4, 1)), USERS) >= 0
    assert not (first & second).any()
    assert (first | second).all()


def test_every_experiment_leaves_out_the_same_holdout() -> None:
    outside = [assign_many(TrafficSplit(name, holdout=0.05), USERS) == -1 for name in "ab"]
    assert (outside[0] == outside[1]).all()


@given(st.lists(TEXTS, max_size=30), TEXTS.filter(bool), st.floats(0, 1), st.floats(0, 1))
def test_many_are_assigned_as_one_is(units: list[str], name: str, coverage: float, holdout: float) -> None:
    split = TrafficSplit(name, coverage, ("x", "y", "z"), holdout=holdout, slot=Slot("g", 0.1, 0.8))
    single = [split.assign(unit) for unit in units]
    numbers = [split.arms.index(found.arm) if found.is_counted else -1 for found in single]
    assert assign_many(split, units).tolist() == numbers


def test_arrays_of_bytes_are_assigned_as_texts_are() -> None:
    split = TrafficSplit("a", 0.5, overrides={"user-3": "treatment"})
    assert (assign_many(split, np.array(USERS, dtype="S")) == assign_many(split, USERS)).all()
    assert assign_many(split, USERS)[3] == -1


def test_these_arms_never_change() -> None:
    """They are those of every process, machine and version of Python: users would change their arm."""
    split = TrafficSplit("new-ranker", 0.5)
    arms = "".join(str(number + 1) for number in assign_many(split, USERS[:40]))
    assert arms == ARMS
    command = [sys.executable, "-X", "faulthandler", "-c", SCRIPT]
    other = subprocess.run(command, env={"PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == arms


@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14"])
def test_other_versions_of_python_assign_the_same_arms(version: str) -> None:
    python = other_python(version)
    if python is None:
        pytest.skip(f"there is no Python {version} on this machine")
    alone = f"import sys\nsys.path.insert(0, {str(MODULE.parent)!r})\n" + SCRIPT.replace(
        "assay.rollout.assignment", "assignment"
    )
    other = subprocess.run([python, "-I", "-c", alone], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == ARMS


def other_python(version: str) -> str | None:
    """Return an interpreter of a version, None if there is none."""
    installed = Path.home() / ".pyenv" / "versions"
    found = [str(path / "bin" / "python") for path in sorted(installed.glob(f"{version}.*"))]
    on_path = shutil.which(f"python{version}")
    for python in [*found, *([on_path] if on_path else [])]:
        command = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        if subprocess.run(command, capture_output=True, text=True).stdout.strip() == version:
            return python
    return None


def test_overrides_are_shown_their_arm_and_not_counted() -> None:
    split = TrafficSplit("a", 0.0, overrides={"tester": "treatment"})
    assert split.assign("tester") == Assignment("treatment", "overridden")
    assert not split.assign("tester").is_counted


def test_a_rollback_holds_for_overrides_and_a_release_spares_the_holdout() -> None:
    reverted = TrafficSplit("a", everyone="control", overrides={"tester": "treatment"})
    assert {reverted.assign(user).arm for user in [*USERS[:50], "tester"]} == {"control"}
    released = TrafficSplit("a", everyone="treatment", holdout=0.1)
    shown = [released.assign(user) for user in USERS[:2000]]
    assert {found.arm for found in shown if found.reason == "held out"} == {"control"}
    assert {found.arm for found in shown if found.reason == "all units"} == {"treatment"}
    assert (assign_many(released, USERS) == -1).all()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"coverage": 1.1}, "coverage: expected a share from 0 to 1, found 1.1"),
        ({"coverage": float("nan")}, "coverage: expected a share"),
        ({"holdout": -0.1}, "holdout: expected a share"),
        ({"arms": ("a",)}, "arms: expected two or more"),
        ({"arms": ("a", "a")}, "arms: expected two or more different names"),
        ({"everyone": "x"}, "expected one of the arms control, treatment, found 'x'"),
        ({"overrides": {"u": "x"}}, "expected one of the arms"),
        ({"slot": Slot("g", 0, 2)}, "the end of the slot: expected a share"),
    ],
)
def test_wrong_fields_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrafficSplit("a", **fields)


def test_the_module_needs_nothing_but_the_standard_library() -> None:
    script = (
        "import sys, assay.rollout.assignment, assay.rollout.served_splits\n"
        "names = {name.split('.')[0] for name in sys.modules}\n"
        "print(sorted(names & {'numpy', 'polars', 'scipy', 'sqlalchemy', 'ibis'}))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
