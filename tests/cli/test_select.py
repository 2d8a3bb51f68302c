"""assay select: what a person sees who chooses an index, and the code it leaves with."""

import csv
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.bench.sweeps.folder import SweepFolder
from assay.cli import call as run
from assay.datasets.vectors import write_vectors
from tests.benches import install_test_engines, make_clusters

PUBLISHED = """algorithm,config,recall,robustness_0.1,qps
graph,ef_40,0.91,0.95,900
graph,ef_80,0.95,0.96,500
cells,probe_8,0.91,0.99,700
cells,probe_9,0.90,0.99,600
"""


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with published trials, and with a sweep of an engine that looks at some of the rows."""
    folder = tmp_path_factory.mktemp("select")
    with pytest.MonkeyPatch.context() as patch:
        install_test_engines(folder, patch)
        patch.chdir(folder)
        for vectors, path in zip(make_clusters(), ("base.fbin", "queries.fbin"), strict=True):
            write_vectors(vectors, path)
        Path("published.csv").write_text(PUBLISHED)
        Path("stated.csv").write_text("engine,recall,k\ngraph,0.91,10\n")
        data = ["--base", "base.fbin", "--queries", "queries.fbin", "--metric", "l2", "-k", "5"]
        index = ["--index", "misbehaving / rows=200,1400,1500", "--index", "misbehaving fails=refuse"]
        run(
            ["bench", *data, *index, "--repetitions", "1", "--warmup", "0", "--mode", "single", "-o", "swept"]
        )
        looked = ["--index", "misbehaving / rows=1000..1500", "--recall", "0.9", "--warmup", "0"]
        run(["bench", *data, *looked, "--repetitions", "1", "--mode", "single", "-o", "matched"])
        yield folder


def call_select(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run(["select", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_sweep_is_chosen_from_and_confirmed_on_other_queries(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_select(
        capsys, "swept", "--floor", "recall=0.8", "--objective", "recall", "--format", "json"
    )
    made = json.loads(out)
    assert (code, made["winner"], made["verdict"]) == (0, "misbehaving / rows=1500", "confirmed")
    assert made["parts"] == {"chosen_on": 20, "held_out": 20, "share": 0.5, "seed": 0}
    # all 20 have a recall of 1: the interval of 20 in 20 begins at 0.8316
    assert made["checks"][0]["found"] == {
        "value": 1.0, "low": pytest.approx(0.8316, abs=1e-4), "high": 1.0, "n": 20, "over": "queries",
    }  # fmt: skip
    whys = {trial["name"]: trial["why"] for trial in made["trials"]}
    assert whys["misbehaving / rows=200"].startswith("misses recall at least 0.8 by 0.")
    assert "the parameter is not to my liking" in whys["misbehaving fails=refuse"]


def test_the_sweep_is_scored_at_another_k_or_on_all_queries(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call_select(
        capsys, "swept", "-k", "1", "--ties", "strict", "--confirm", "0", "--format", "json"
    )
    made = json.loads(out)
    assert (made["k"], made["parts"]) == (1, None)
    assert made["trials"][0]["figures"]["recall"]["n"] == 40
    assert made["notes"][0] == "K = 1; selected on all queries: none were held out"


def test_no_queries_are_held_out_from_a_value_that_was_found_on_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["matched", "--floor", "recall=0.5", "--objective", "recall"]
    made = json.loads(call_select(capsys, *asked, "--format", "json")[1])
    assert (made["verdict"], made["trials"][0]["fitted"]) == ("not held out", True)
    _, out, _ = call_select(capsys, *asked)
    assert "not held out: its parameters were found on all queries" in out
    assert "selected on               the other part" in out
    assert "20 others in the other part (seed 0)" in out
    assert "- 1 trial with parameters found on all queries: none are held out for them" in out


def test_no_queries_are_held_out_from_what_was_tuned(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree("swept", "tuned")
    asked = ["tuned", "--floor", "recall=0.8", "--objective", "recall", "--format", "json"]
    before = json.loads(call_select(capsys, *asked)[1])
    tried = [{"key": before["trials"][0]["key"]}, {"key": None}]
    SweepFolder("tuned").put_entry("tuned", "a", {"tried": tried})
    after = json.loads(call_select(capsys, *asked)[1])
    assert [made["verdict"] for made in (before, after)] == ["confirmed", "not held out"]
    assert [one["fitted"] for one in after["trials"]] == [True, False, False, False]


def test_trials_that_all_failed_say_so_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--base", "base.fbin", "--queries", "queries.fbin", "--metric", "l2", "-k", "5"]
    run(["bench", *data, "--index", "misbehaving fails=refuse", "--mode", "single", "-o", "failed"])
    code, out, _ = call_select(capsys, "failed", "--floor", "recall=0.9")
    first, second, blank, title, head, *why = out.splitlines()
    assert (code, second, blank) == (1, "no trial can be selected: 1 failed", "")
    assert first == "none: the most qps with recall at least 0.9, of 1 trial"
    assert (title, head.split()) == ("Why none is selected", ["trial", "why"])
    assert why[0].startswith("misbehaving fails=refuse failed: ")
    assert "Notes" not in out


def test_published_trials_are_chosen_from_by_what_they_state(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_select(capsys, "published.csv", "--floor", "robustness-0.1=0.98")
    assert (code, err) == (0, "")
    assert out.startswith(
        "cells / config=probe_8: the most qps with robustness-0.1 at least 0.98, of 4 trials"
    )
    assert "not held out: these are the figures it was selected by" in out
    assert "graph / config=ef_40   misses robustness-0.1 at least 0.98 by 0.0300: 0.9500" in out
    assert "cells / config=probe_9 dominated by cells / config=probe_8: qps 700 against 600" in out


def test_the_papers_trials_are_chosen_from_as_they_were_published(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shared / "robustness_paper" / "text2image_10M_k10_cdf.csv"
    head, *rows = path.read_text().splitlines()
    Path("counted.csv").write_text("\n".join([f"{head},queries", *(f"{row},100000" for row in rows)]))
    asked = ["--floor", "recall=0.89", "--objective", "robustness-0.1", "--format", "json"]
    bare, counted = (json.loads(call_select(capsys, name, *asked)[1]) for name in (str(path), "counted.csv"))
    assert [one["engine"] for one in bare["trials"]] == [
        "ScaNN", "Puck", "DiskANN", "Zilliz", "HNSW", "IVFFlat",
    ]  # fmt: skip
    assert [one["key"] for one in bare["trials"] if one["on_front"]] == [
        one["key"] for one in bare["trials"][:3]
    ]
    found = {one["engine"]: one["figures"]["robustness-0.1"] for one in counted["trials"]}["ScaNN"]
    assert bare["trials"][0]["figures"]["robustness-0.1"] == dict.fromkeys(found) | {
        "value": 0.99974, "over": "stated",
    }  # fmt: skip
    # 26 failures in 100,000
    assert (found["low"], found["high"]) == pytest.approx((0.999619, 0.999830), abs=1e-6)


def test_no_trial_that_reaches_the_floors_leaves_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_select(capsys, "published.csv", "--floor", "recall=0.99")
    assert code == 1
    assert out.startswith(
        "none: the most qps with recall at least 0.99, of 4 trials\nno trial meets all floors"
    )
    assert "recall at least 0.99: the best is 0.9500, by graph / config=ef_80" in out


@pytest.mark.parametrize(
    ("floor", "code", "verdict"), [("0.8", 0, "confirmed"), ("0.99", 3, "cannot be decided")]
)
def test_what_the_queries_held_out_do_not_decide_leaves_with_3(
    capsys: pytest.CaptureFixture[str], floor: str, code: int, verdict: str
) -> None:
    argv = ["swept", "--floor", f"recall={floor}", "--objective", "recall", "--format", "json"]
    left, out, _ = call_select(capsys, *argv)
    assert (left, json.loads(out)["verdict"]) == (code, verdict)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["published.csv", "--floor", "recal=1"], "did you mean recall?"),
        (["published.csv", "--objective", "cost"], "cost needs the price of an hour of the machine"),
        (["published.csv", "--price", "0"], "--price is a number above 0, found 0"),
        (["stated.csv", "-k", "100"], "no trial is scored at K = 100; there are K = 10"),
        (["swept", "-k", "20"], "swept: no trial is scored at K = 20; there are K = 5"),
        (
            ["published.csv", "--floor", "robustness-2=0.9"],
            "δ of robustness must be above 0 and at most 1, found 2",
        ),
        (["published.csv", "--mode", "batch"], "no trial has the request mode batch"),
        (["nowhere.csv"], "nowhere.csv: cannot be read"),
    ],
)
def test_what_cannot_be_used_leaves_with_2(
    capsys: pytest.CaptureFixture[str], options: list[str], problem: str
) -> None:
    code, out, err = call_select(capsys, *options)
    assert (code, out) == (2, "")
    assert problem in err


def test_the_tradeoff_is_told_at_the_floors_that_were_given(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call_select(
        capsys, "published.csv", "--floor", "recall=0.91", "--tradeoff", "--format", "json"
    )
    planes = json.loads(out)["tradeoff"]
    assert [(plane["fixed"], plane["floor"]) for plane in planes] == [
        ("recall", 0.91), ("robustness-0.1", 0.96), ("qps", 700),
    ]  # fmt: skip
    first = planes[0]["points"][0]
    assert len(first.pop("key")) == 32
    assert first == {"label": "graph / config=ef_40", "x": 0.95, "y": 900, "on_front": True}


def test_csv_has_a_row_for_each_trial(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call_select(
        capsys, "published.csv", "--floor", "recall=0.91", "--price", "0.9", "--format", "csv"
    )
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["chosen"] for row in rows] == ["true", "false", "false", "false"]
    assert (rows[0]["trial"], rows[0]["recall"], rows[0]["recall_low"]) == (
        "graph / config=ef_40",
        "0.91",
        "",
    )
    assert float(rows[0]["cost"]) == pytest.approx(0.9 / (900 * 3600) * 1e6)


def test_the_delta_that_is_asked_for_is_that_of_robustness_and_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ["swept", "--floor", "robustness=0.5", "--delta", "0.4", "--confirm", "0"]
    code, out, _ = call_select(capsys, *options, "--format", "json")
    made = json.loads(out)
    assert (code, made["floors"][0]["figure"]) == (0, "robustness-0.4")
    _, out, _ = call_select(capsys, "swept", "--floor", "recall=0.5", "--delta", "0.4", "--confirm", "0")
    [head] = [line for line in out.splitlines() if line.startswith("trial ")][:1]
    assert head.split()[:4] == ["trial", "qps", "recall", "robustness-0.4"]
    made = json.loads(call_select(capsys, "swept", "--delta", "0.4", "--format", "json")[1])
    assert made["compared_by"] == ["qps", "recall", "robustness-0.4"]


def test_two_ways_to_give_delta_are_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call_select(capsys, "swept", "--delta", "0.4", "--delta-from", "study.json")
    assert (code, "--delta and --delta-from both give the δ" in err) == (2, True)
    code, _, err = call_select(capsys, "swept", "--delta", "1.4")
    assert (code, "must be above 0 and at most 1, found 1.4" in err) == (2, True)
