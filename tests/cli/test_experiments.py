"""assay experiments: listed, shown, followed, compared, watched, and tidied up."""

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.cli import call as run
from assay.cli.experiments import SUBCOMMANDS, parser
from assay.core.records import Experiment, Metric
from assay.core.tables import Scores
from assay.store.provenance import POLICY
from assay.store.store import Store

N = 120
START = datetime(2026, 1, 1, tzinfo=UTC)
HARD = np.random.default_rng(3).random(N) * 0.6 + 0.2
Output = pytest.CaptureFixture[str]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_STORE", str(tmp_path / "store"))
    with Store(tmp_path / "store") as made:
        yield made


def save_experiment(
    store: Store, day: int = 0, shift: float = 0.0, kept: bool = True, **fields: Any
) -> Experiment:
    """An experiment of a nightly job."""
    noise = np.random.default_rng(day).normal(0, 0.03, N)
    values = {"nDCG@10": HARD + noise + shift, "R@10": HARD - noise + shift}
    metrics = [Metric(m, "", "", v.mean(), v.mean() - 0.03, v.mean() + 0.03, N) for m, v in values.items()]
    given: dict[str, Any] = {
        "name": "nightly",
        "at": START + timedelta(days=day),
        "configuration": {"ef": 64, "m": 16},
        "metrics": tuple(metrics),
        "digests": {"qrels": "a" * 32},
        "policy": POLICY,
        "code": "abc",
    }
    made = Experiment(**{**given, **fields})
    return store.put(made, Scores([f"q{i}" for i in range(N)], values) if kept else None)


def save_regression(store: Store) -> Experiment:
    """A series with a regression in its middle; the experiment it came with."""
    for day in range(5):
        save_experiment(store, day)
    worse = [save_experiment(store, day, -0.05, configuration={"ef": 16, "m": 16}) for day in range(5, 9)]
    return worse[0]


def save_three(store: Store) -> None:
    """Three experiments: the best is the slowest and the dearest, and the newest has no latency."""
    save_experiment(
        store, 0, 0.1, name="best", latency={"p95_ms": 90.5}, figures={"cost_per_1k_queries": 3.0}
    )
    save_experiment(store, 1, name="fast", latency={"p95_ms": 4.25}, figures={"cost_per_1k_queries": 0.5})
    save_experiment(store, 2, -0.1, name="newest", configuration={"ef": 16, "m": 16})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ["newest", "fast", "best"]),
        (["--sort", "nDCG@10"], ["best", "fast", "newest"]),
        (["--sort", "metrics.R@10", "--reverse"], ["newest", "fast", "best"]),
        (["--sort", "latency.p95_ms"], ["fast", "best", "newest"]),
        (["--sort", "latency.p95_ms", "--reverse"], ["best", "fast", "newest"]),
        (["--sort", "figures.cost_per_1k_queries"], ["fast", "best", "newest"]),
        (["--sort", "params.ef"], ["newest", "fast", "best"]),
        (["--sort", "nDCG@10", "--limit", "1"], ["best"]),
    ],
)
def test_a_list_is_sorted_by_a_measure_a_latency_a_cost_or_a_setting(
    store: Store, capsys: Output, options: list[str], expected: list[str]
) -> None:
    save_three(store)
    assert run(["experiments", "list", *options, "--format", "json"]) == 0
    assert [e["name"] for e in json.loads(capsys.readouterr().out)["experiments"]] == expected


def test_a_list_shows_latency_and_cost_and_any_other_column(store: Store, capsys: Output) -> None:
    save_three(store)
    assert run(["experiments", "list", "--format", "csv"]) == 0
    head, newest, fast, _ = capsys.readouterr().out.splitlines()
    assert head.split(",")[3:7] == ["nDCG@10", "R@10", "latency.p95_ms", "figures.cost_per_1k_queries"]
    assert (newest.split(",")[5:7], fast.split(",")[5:7]) == (["", ""], ["4.25", "0.5"])
    columns = ["-m", "R@10", "--column", "params.m", "--column", "latency.p95_ms", "--sort", "nDCG@10"]
    assert run(["experiments", "list", *columns]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[3:7] == ["R@10", "params.m", "latency.p95_ms", "nDCG@10"]
    assert [line.split()[1] for line in lines[1:]] == ["best", "fast", "newest"]
    assert lines[1].split()[5:7] == ["16", "90.5"]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("latency.p59_ms", "no experiment has latency.p59_ms; there are R@10, nDCG@10, latency.p95_ms"),
        ("speed", "expected a measure, latency.KEY, figures.KEY or params.KEY, such as latency.p95_ms"),
    ],
)
def test_a_field_that_no_experiment_has_is_refused(
    store: Store, capsys: Output, field: str, message: str
) -> None:
    save_three(store)
    assert run(["experiments", "list", "--sort", field]) == 2
    assert message in capsys.readouterr().err


def call_experiments(capsys: Output, *argv: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run(["experiments", *argv])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return code, out, err


def test_a_list_shows_the_newest_first_with_what_differs(store: Store, capsys: Output) -> None:
    first = save_experiment(store, 0, tags=("base",), pinned=True)
    second = save_experiment(store, 1, configuration={"ef": 16, "m": 16})
    code, out, _ = call_experiments(capsys, "list")
    head, *rows = [line.split() for line in out.splitlines()]
    assert code == 0
    assert head == ["id", "name", "at", "nDCG@10", "R@10", "ef", "tags", "pin"]
    assert [row[0] for row in rows] == [second.id, first.id]
    assert rows[1][-3:] == ["64", "base", "pinned"]


def test_a_list_leaves_out_settings_where_many_differ(store: Store, capsys: Output) -> None:
    save_experiment(store, 0)
    save_experiment(store, 1, configuration={f"p{i}": i for i in range(9)})
    shown, written = (call_experiments(capsys, "list", *form)[1] for form in ([], ["--format", "csv"]))
    assert "p3" not in shown.splitlines()[0].split()
    assert "p3" in written.splitlines()[0].split(",")


def test_a_list_is_chosen_by_filter_name_and_limit(store: Store, capsys: Output) -> None:
    save_experiment(store, 0)
    kept = save_experiment(store, 1, 0.1, name="branch")
    for argv in (["--where", "metrics.nDCG@10 > 0.55"], ["--name", "branch"], ["--limit", "1"]):
        code, out, err = call_experiments(capsys, "list", "--format", "json", *argv)
        assert code == 0
        assert [e["id"] for e in json.loads(out)["experiments"]] == [kept.id], argv
    assert "--limit shows more" in err


def test_a_list_shows_the_measures_that_are_asked_for(store: Store, capsys: Output) -> None:
    save_experiment(store)
    head = call_experiments(capsys, "list", "-m", "recall_10")[1].splitlines()[0].split()
    assert head == ["id", "name", "at", "R@10", "tags", "pin"]


def test_an_empty_list_says_so(store: Store, capsys: Output) -> None:
    assert call_experiments(capsys, "list")[:2] == (0, "no experiment\n")


@pytest.mark.parametrize("style", ["table", "json", "csv", "md", "html"])
@pytest.mark.parametrize("action", [["list"], ["show", "nightly"], ["trend"], ["show", "nightly", "other"]])
def test_everything_prints_in_every_format(
    store: Store, capsys: Output, action: list[str], style: str
) -> None:
    save_regression(store)
    save_experiment(store, 10, name="other", metrics=(Metric("nDCG@10", "category", "faq", None),))
    code, out, _ = call_experiments(capsys, *action, "--format", style)
    assert code == 0
    assert out.strip()
    if style == "json":
        json.loads(out)


def test_one_is_shown_in_full(store: Store, capsys: Output) -> None:
    save_experiment(
        store, note="why", figures={"cost": 0.3}, latency={"p95_ms": 12.5}, environment={"python": "3.11"}
    )
    code, out, _ = call_experiments(capsys, "show", "nightly")
    assert code == 0
    for word in ("abc", "note: why", "nDCG@10", "ef", "tie", "12.5", "0.3", "3.11", "aaaaaaaa", "●"):
        assert word in out, word


def test_of_several_only_what_differs_is_shown(store: Store, capsys: Output) -> None:
    first, second = save_experiment(store, 0), save_experiment(store, 1, configuration={"ef": 16, "m": 16})
    found = json.loads(call_experiments(capsys, "show", first.id, second.id, "--format", "json")[1])[
        "differences"
    ]
    assert found["params.ef"] == {f"nightly ({first.id})": 64, f"nightly ({second.id})": 16}
    assert "params.m" not in found
    assert "metrics.nDCG@10" in found


def test_a_trend_marks_the_regression_and_names_what_changed(store: Store, capsys: Output) -> None:
    worse = save_regression(store)
    code, out, _ = call_experiments(capsys, "trend", "-m", "nDCG@10", "--name", "nightly")
    assert code == 0
    (marked,) = [line for line in out.splitlines() if "▼ worse" in line]
    assert marked.startswith(worse.id)
    assert f"nightly ({worse.id}): worse than the experiments before: nDCG@10 −0.0" in " ".join(out.split())
    assert "changed: ef 64 → 16" in " ".join(out.split())
    assert "against the best before (" in out


def test_a_trend_marks_a_break_and_names_why(store: Store, capsys: Output) -> None:
    save_experiment(store, 0)
    other = save_experiment(store, 1, digests={"qrels": "b" * 32})
    made = json.loads(call_experiments(capsys, "trend", "--format", "json")[1])
    assert [p["mark"] for p in made["points"]] == ["", "break"]
    assert made["points"][1]["reasons"][0]["what"] == "judgments"
    out = " ".join(call_experiments(capsys, "trend")[1].split())
    assert (
        f"({other.id}): not comparable with the experiments before: judgments: aaaaaaaa and bbbbbbbb" in out
    )


def test_a_trend_of_a_slice_names_column_and_value(store: Store, capsys: Output) -> None:
    part = Metric("nDCG@10", "category", "faq", 0.5, 0.4, 0.6, 9)
    save_experiment(store, metrics=(part,))
    made = json.loads(call_experiments(capsys, "trend", "--by", "category=faq", "--format", "json")[1])
    assert [(made["column"], made["slice"]), made["points"][0]["value"]] == [("category", "faq"), 0.5]
    assert call_experiments(capsys, "trend", "--by", "category")[0] == 2


def test_watch_leaves_with_0_1_or_3(store: Store, capsys: Output) -> None:
    watch = ["watch", "-m", "nDCG@10", "--name", "nightly"]
    assert call_experiments(capsys, *watch)[0] == 3  # nothing yet
    for day in range(3):
        save_experiment(store, day)
    assert call_experiments(capsys, *watch)[0] == 0
    save_experiment(store, 3, -0.05)
    code, out, _ = call_experiments(capsys, *watch)
    assert code == 1
    assert out.startswith("regression: worse: nDCG@10 −0.0")
    assert call_experiments(capsys, *watch, "--margin", "0.2")[0] == 0
    save_experiment(store, 4, -0.05)
    assert call_experiments(capsys, *watch)[0] == 0
    assert call_experiments(capsys, *watch, "--against", "best")[0] == 1
    save_experiment(store, 5, digests={"qrels": "b" * 32})
    code, out, err = call_experiments(capsys, *watch, "--format", "json")
    assert code == 3
    assert json.loads(out)["status"]["state"] == "cannot tell"
    assert "judgments: aaaaaaaa and bbbbbbbb" in err


def test_watch_asks_which_of_several_systems(store: Store, capsys: Output) -> None:
    save_experiment(store, 0)
    save_experiment(store, 1, name="other")
    code, _, err = call_experiments(capsys, "watch")
    assert code == 2
    assert "expected one system to watch, found nightly, other: say which with --name" in err


def test_comparable_experiments_are_compared_with_what_differs(store: Store, capsys: Output) -> None:
    save_experiment(store, 0, name="main")
    save_experiment(store, 1, -0.05, name="branch", configuration={"ef": 16, "m": 16})
    code, out, err = call_experiments(capsys, "compare", "main", "branch")
    assert (code, err) == (0, "")
    assert "▼ worse" in out
    assert "what differs in configuration" in out
    assert ["ef", "64", "16"] in [line.split() for line in out.splitlines()]


def test_two_of_one_name_are_told_apart_by_their_ids(store: Store, capsys: Output) -> None:
    first, second = save_experiment(store, 0), save_experiment(store, 1)
    made = json.loads(call_experiments(capsys, "compare", first.id, second.id, "--format", "json")[1])
    assert made["baseline"] == f"nightly ({first.id})"
    assert call_experiments(capsys, "compare", "nightly", second.id)[0] == 2


def test_what_is_not_comparable_is_refused_with_3_and_the_reasons(store: Store, capsys: Output) -> None:
    save_experiment(store, 0, name="main")
    save_experiment(
        store, 1, name="branch", digests={"qrels": "b" * 32}, policy=POLICY | {"ties": "as returned"}
    )
    code, out, err = call_experiments(capsys, "compare", "main", "branch")
    assert (code, out) == (3, "")
    assert "judgments: aaaaaaaa and bbbbbbbb" in err
    assert "tie policy: higher score, then larger document id and as returned" in err
    code, out, err = call_experiments(capsys, "compare", "main", "branch", "--anyway")
    assert code == 0
    assert "nDCG@10" in out
    assert err.startswith("warning: compared although they are not comparable:\n  judgments: ")


def test_another_threshold_is_refused_unless_the_measure_is_not_asked_for(
    store: Store, capsys: Output
) -> None:
    shared = Metric("nDCG@10", "", "", 0.5, 0.4, 0.6, N)
    save_experiment(store, 0, name="main", metrics=(shared, Metric("P@10", "", "", 0.5)))
    save_experiment(store, 1, name="branch", metrics=(shared, Metric("P(rel=2)@10", "", "", 0.3)))
    code, _, err = call_experiments(capsys, "compare", "main", "branch")
    assert code == 3
    assert "relevance threshold of P: rel=1 and rel=2" in err
    assert call_experiments(capsys, "compare", "main", "branch", "-m", "nDCG@10")[0] == 0


def test_an_experiment_without_scores_is_refused_with_3(store: Store, capsys: Output) -> None:
    save_experiment(store, 0, name="main")
    save_experiment(store, 1, name="branch", kept=False)
    code, _, err = call_experiments(capsys, "compare", "main", "branch")
    assert code == 3
    assert "was saved without the scores of its queries" in err


def test_notes_tags_and_pins_are_kept(store: Store, capsys: Output) -> None:
    e = save_experiment(store, tags=("old",))
    for argv in (
        ["note", e.id, "why"],
        ["tag", e.id, "a", "b"],
        ["tag", e.id, "old", "--remove"],
        ["pin", e.id],
    ):
        assert call_experiments(capsys, *argv)[0] == 0
    found = store.get(e.id)
    assert (found.note, found.tags, found.pinned) == ("why", ("a", "b"), True)
    assert call_experiments(capsys, "unpin", e.id)[0] == 0
    assert not store.get(e.id).pinned


def test_a_pinned_experiment_is_not_deleted(store: Store, capsys: Output) -> None:
    save_experiment(store, pinned=True)
    code, _, err = call_experiments(capsys, "delete", "nightly")
    assert code == 2
    assert "pinned" in err


def test_what_is_deleted_can_be_brought_back(store: Store, capsys: Output) -> None:
    e = save_experiment(store)
    assert call_experiments(capsys, "delete", "nightly")[0] == 0
    assert store.list() == []
    assert e.id in call_experiments(capsys, "list", "--deleted")[1]
    assert call_experiments(capsys, "undelete", e.id)[0] == 0
    assert [found.id for found in store.list()] == [e.id]


def test_garbage_is_removed_only_when_told_to(store: Store, capsys: Output) -> None:
    kept, gone = save_experiment(store, 0), save_experiment(store, 1)
    store.drop(gone.id)
    gc = ["gc", "--older", "0"]
    assert call_experiments(capsys, *gc, "--yes")[1].endswith(
        "removed: 0 (0 bytes)\n"
    )  # a deleted experiment keeps its own
    code, out, err = call_experiments(capsys, *gc, "--purge")
    assert out.startswith("deleted experiments to be removed for good: 1\n")
    assert "nothing was removed" in err
    assert len(store.list(deleted=True)) == 1
    code, out, err = call_experiments(capsys, *gc, "--purge", "--yes")
    assert (code, err) == (0, "")
    assert "unused tables removed: 1 (" in out
    assert store.list(deleted=True) == []
    assert store.scores(kept) is not None


def test_a_store_that_is_not_there_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    code, _, err = call_experiments(capsys, "list")
    assert code == 2
    assert "there is no store at .assay: record an experiment with --save NAME" in err
    assert os.listdir(tmp_path) == []


def test_a_store_can_be_named(store: Store, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    e = save_experiment(store)
    url = os.environ["ASSAY_STORE"]
    monkeypatch.delenv("ASSAY_STORE")
    assert e.id in call_experiments(capsys, "list", "--store", url)[1]


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["nothing"],
        ["list", "--limit", "0"],
        ["list", "--where", "metrics."],
        ["show", "gone"],
        ["trend", "-m", "Nope@10"],
        ["watch", "--margin", "-1"],
    ],
)
def test_wrong_use_leaves_with_2(store: Store, capsys: Output, argv: list[str]) -> None:
    save_experiment(store)
    assert call_experiments(capsys, *argv)[0] == 2


def test_help_names_every_action_and_the_exit_codes(capsys: Output) -> None:
    shown = parser().format_help()
    assert all(f"    {action} " in shown for action in SUBCOMMANDS)
    assert "exit codes: 0 done; 1 a regression (watch); 2 wrong use" in shown
    for action in SUBCOMMANDS:
        code, out, _ = call_experiments(capsys, action, "--help")
        assert code == 0
        assert out.startswith(f"usage: assay experiments {action}")
