"""The colours of trials in the charts of what the mean recall hides."""

from types import SimpleNamespace
from typing import Any

from assay.web.pages.index_findings import _numbers_apart


def test_trials_of_one_engine_have_numbers_of_their_own() -> None:
    trials: Any = [SimpleNamespace(key=key) for key in ("ef=8", "ef=16", "nprobe=4")]
    assert _numbers_apart(trials, {"ef=8": 1, "ef=16": 1, "nprobe=4": 2}) == {
        "ef=8": 1,
        "ef=16": 2,
        "nprobe=4": 3,
    }


def test_trials_of_different_engines_keep_the_colours_that_these_have_everywhere() -> None:
    trials: Any = [SimpleNamespace(key=key) for key in ("ef=8", "nprobe=4")]
    numbers = {"ef=8": 5, "nprobe=2": 3, "nprobe=4": 3}
    assert _numbers_apart(trials, numbers) == numbers
