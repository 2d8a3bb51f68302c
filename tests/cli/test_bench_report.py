"""assay bench report: what a person reads who wants to know what the mean recall hides."""

import json
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.bench.studies.findings import collect_findings
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.study import Study
from assay.bench.sweeps.folder import SweepFolder
from assay.bench.trials import Trial
from assay.cli import call as run
from assay.datasets.generate import generate
from assay.datasets.vectors import write_vectors
from assay.views.bench_charts import ReportData
from assay.views.bench_report import render_bench_report
from assay.views.sections import WIDTH
from assay.views.text import display_width
from assay.workflows.bench_report import reproduction_commands
from assay.workflows.study import open_study
from tests.browsers import marks, opened

DATA = ["--base", "base.fbin", "--queries", "queries.fbin", "--metric", "l2", "--repetitions", "1"]
INDEXES = ["faiss.hnsw M=4 efConstruction=20 / efSearch=16,32,64", "faiss.ivfflat nlist=64 / nprobe=2,4,6"]


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a sweep of two families, two of which have a mean recall of .90."""
    folder = tmp_path_factory.mktemp("report")
    made = generate("shifted", 3000, 24, queries=300)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_vectors(made.base, "base.fbin")
        write_vectors(made.queries, "queries.fbin")
        indexes = [word for index in INDEXES for word in ("--index", index)]
        assert run(["bench", *DATA, "--warmup", "0", *indexes, "-o", "sweep"]) == 0
        yield folder


def call_report(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run(["bench", "report", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_report_is_one_page_whose_figures_a_browser_draws_without_network(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, _ = call_report(capsys, "sweep", "--format", "html")
    assert code == 0
    page = tmp_path / "report.html"
    page.write_text(out, encoding="utf-8")
    dom, console = opened(page, tmp_path / "profile")
    assert console == []
    figures = dom.count('class="drawn')
    assert figures == 10  # no r²: only four configurations have a mean recall from 0.7 to 0.95
    assert [number for number in range(figures) if not marks(dom, number)] == []
    assert dom.count("<figcaption><p>") == 9  # histogram and curve stand together


def test_a_report_says_what_is_seen_in_words_and_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call_report(capsys, "sweep", "--format", "html")
    text = out.partition("<script")[0]
    graph, partition = "faiss.hnsw M=4 efConstruction=20 / efSearch=32", "faiss.ivfflat nlist=64 / nprobe=4"
    assert f"At a mean recall of 0.902, {graph} finds nothing for 2 of 300 queries" in text
    assert f"At a mean recall of 0.903, {partition} finds nothing for 0 of 300 queries" in text
    assert "3,000 × 24 float32, l2" in text
    for title in ("Robustness against mean recall", "Indexes", "How to reproduce this"):
        assert f">{title}</h2>" in text


def test_running_the_command_of_a_report_gives_the_same_trials(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call_report(capsys, "sweep", "--format", "json")
    command, again = json.loads(out)["reproduce"]
    words = shlex.split(command)
    assert words[:2] == ["assay", "bench"]
    assert words[-2:] == ["-o", "sweep"]
    assert run([*words[1:-1], "anew"]) == 0
    assert {one.trial.key for one in open_study("anew").scored_trials} == {
        one.trial.key for one in open_study("sweep", mode="single").scored_trials
    }
    assert {path.name for path in Path("anew/trials").iterdir()} < {
        path.name for path in Path("sweep/trials").iterdir()
    }  # the sweep was asked in batches as well, and the report is of single queries
    assert shlex.split(again)[:4] == ["assay", "bench", "report", "sweep"]


def test_the_commands_of_other_ways_to_ask_are_read_back_to_the_same_trials() -> None:
    ways = ["--rate", "400", "--seconds", "0.2", "--clients", "2", "-k", "3", "--limit", "50"]
    assert run(["bench", *DATA, "--index", "faiss.flat", "--index", INDEXES[1], *ways, "-o", "open"]) == 0
    (command,) = reproduction_commands(open_study("open"))
    assert run([*shlex.split(command)[1:-1], "open-anew"]) == 0
    assert SweepFolder("open-anew").trial_keys() == SweepFolder("open").trial_keys()


def test_a_report_says_how_passes_were_warmed_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", *DATA, "--mode", "batch", "--index", INDEXES[1], "-o", "warm"]) == 0
    for folder, said_of_it in (
        ("sweep", "0 searches"),
        ("warm", "every query, for 0.2 to 1 second"),
    ):
        _, out, _ = call_report(capsys, folder, "--format", "md")
        assert f"1, each after a warm-up of {said_of_it}" in out


def test_files_that_parameters_name_are_found_from_an_empty_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write_vectors(generate("shifted", 1000, 24, queries=200, seed=1).queries, "training.fbin")
    index = "adaptive inner=faiss.ivfflat;nlist=16 training=training.fbin / budget=4"
    assert run(["bench", *DATA, "--mode", "batch", "--index", index, "-o", "taught"]) == 0
    taught = Path("taught").absolute()
    monkeypatch.chdir(tmp_path)
    (command,) = reproduction_commands(open_study(taught))
    assert f"training={taught.parent / 'training.fbin'}" in command
    assert run([*shlex.split(command)[1:-1], "anew"]) == 0
    assert SweepFolder("anew").trial_keys() == SweepFolder(taught).trial_keys()


def test_parameters_that_options_cannot_say_are_left_to_a_file() -> None:
    about = {
        "sources": {"base": "b", "queries": None, "truth": None, "limit": None},
        "options": {"repetitions": 3, "warmup": 100},
        "data": {"metric": "l2", "k": 10},
    }
    cases: list[dict[str, Any]] = [
        {"dsn": "host=a user=b"},
        {"key": "IVF8,Flat"},
        {"api_key": "…"},
        {"name": "8"},
        {"exact": True},
    ]
    observed = tuple(ScoredTrial(Trial(str(at), "mine", build=build)) for at, build in enumerate(cases))
    *others, last = sorted(reproduction_commands(Study(observed, about, None, "out")))
    assert [line[0] for line in others] == ["#"] * 4
    assert "'mine exact=true'" in last


def test_json_has_the_findings_and_nothing_else_on_standard_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = call_report(capsys, "sweep", "--format", "json", "--delta", "0.5")
    made = json.loads(out)
    assert made["delta"] == 0.5
    assert {"about", "trials", "matched", "information", "failing", "notes", "reproduce"} <= set(made)
    assert made["about"]["data"]["queries"] == 300


@pytest.mark.parametrize("style", ["table", "md"])
def test_the_same_is_told_without_figures(capsys: pytest.CaptureFixture[str], style: str) -> None:
    code, out, _ = call_report(capsys, "sweep", "--format", style)
    assert code == 0
    for told in ("What was measured", "At the same mean recall", "One query at a time", "assay bench --base"):
        assert told in out


def test_of_published_figures_only_what_they_tell_is_drawn(
    capsys: pytest.CaptureFixture[str], shared: Path, tmp_path: Path
) -> None:
    source = shared / "robustness_paper" / "text2image_10M_k10_cdf.csv"
    _, out, _ = call_report(capsys, str(source), "--format", "html")
    page = tmp_path / "published.html"
    page.write_text(out, encoding="utf-8")
    dom, console = opened(page, tmp_path / "profile")
    assert console == []
    figures = dom.count('class="drawn')
    assert figures == 3  # curve, against recall, ratios; r² is withheld, since all have one recall
    assert [number for number in range(figures) if not marks(dom, number)] == []
    assert "the failing queries and their difficulty are not available" in dom
    assert "r² is withheld: mean recall varies by 0.0152" in dom
    assert "assay bench --base" not in dom
    assert "not measured again" not in dom


def test_in_a_terminal_only_commands_are_longer_than_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call_report(capsys, "sweep", "--delta", "0.5")
    long = [line for line in out.splitlines() if display_width(line) > WIDTH]
    assert [line.split()[:2] for line in long] == [["assay", "bench"]]
    assert "trials already in the folder are not measured again" in out


@pytest.mark.parametrize("style", ["md", "html"])
def test_names_stand_in_full_where_there_is_room(capsys: pytest.CaptureFixture[str], style: str) -> None:
    _, out, _ = call_report(capsys, "sweep", "--format", style)
    table = out.rpartition("At the same mean recall")[2].partition("How bad failures are")[0]
    assert "faiss.hnsw M=4 efConstruction=20 / efSearch=32" in table
    assert "against faiss.ivfflat nlist=64 / nprobe=4" in table


@pytest.mark.parametrize("style", ["table", "md", "html"])
def test_of_failed_trials_alone_no_caption_stands_over_nothing(style: str) -> None:
    trial = Trial("a", "hnswlib", {"M": 16}, status="failed", reason="killed by SIGSEGV")
    alone = Study((ScoredTrial(trial),), {}, None, "published.csv")
    shown = render_bench_report(
        ReportData(alone, collect_findings(alone)), ["assay bench report published.csv"], style
    )
    assert "killed by SIGSEGV" in shown
    assert "left out (failed): hnswlib M=16" in shown
    for caption in ("Behind the mean", "Robustness-δ", "stay below", "r²", "within", "not measured again"):
        assert caption not in shown


def test_a_figure_of_ratios_says_of_which_families_both_are(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call_report(capsys, "sweep", "--format", "html")
    assert '"faiss.hnsw (graph) over faiss.ivfflat (partition)"' in out


def test_a_recall_that_no_configuration_has_leaves_out_what_is_compared_at_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = call_report(capsys, "sweep", "--format", "html", "--recall", "0.3")
    assert "square-root scale" not in out
    assert "no configuration has a mean recall within 0.05 of 0.3" in out


@pytest.mark.parametrize(("option", "value"), [("--delta", "0"), ("--at-most", "3"), ("--recall", "nan")])
def test_a_recall_that_cannot_be_is_wrong_use(
    capsys: pytest.CaptureFixture[str], option: str, value: str
) -> None:
    code, out, err = call_report(capsys, "sweep", option, value)
    assert (code, out) == (2, "")
    assert f"{option}: expected a recall" in err
    assert f"found {value}" in err


def test_trials_that_are_not_there_are_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_report(capsys, "nowhere.csv")
    assert (code, out) == (2, "")
    assert "nowhere.csv" in err


def test_of_trials_at_several_k_those_at_the_k_that_is_asked_for_are_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for k in (5, 10):
        index = ["--index", "faiss.ivfflat nlist=64 / nprobe=2"]
        assert run(["bench", *DATA, "-k", str(k), "--mode", "single", *index, "-o", "several"]) == 0
    code, _, err = call_report(capsys, "several")
    assert (code, "trials are scored at K = 5 and 10: choose one with -k" in err) == (2, True)
    for k in (5, 10):
        code, out, _ = call_report(capsys, "several", "-k", str(k), "--format", "json")
        assert (code, json.loads(out)["k"]) == (0, k)


def test_damage_to_what_a_sweep_looked_for_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree("sweep", "damaged")
    Path("damaged/matched.json").write_text("{")
    code, _, err = call_report(capsys, "damaged")
    assert (code, "matched.json: is damaged" in err) == (2, True)


def test_published_tables_are_compared_side_by_side(capsys: pytest.CaptureFixture[str], shared: Path) -> None:
    names = ("text2image_10M", "deep_10M")
    tables = [str(shared / "robustness_paper" / f"{name}_k10_cdf.csv") for name in names]
    code, out, _ = call_report(capsys, *tables, "--format", "json")
    made = json.loads(out)
    assert (code, [each["dataset"] for each in made["data_sets"]]) == (
        0,
        ["text2image_10M_k10_cdf", "deep_10M_k10_cdf"],
    )
    assert [len(each["curves"]) for each in made["data_sets"]] == [6, 6]
    assert made["pooled"][0]["ratio"]["value"] == pytest.approx(4.6257, abs=1e-4)
    _, out, _ = call_report(capsys, *tables)
    assert "4.63 times as many queries below δ = 0.1" in " ".join(out.split())
    assert "Robustness-δ side by side" in out


def test_floors_tolerance_and_range_are_those_that_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    floors = ["--floor", "recall=0.8", "--floor", "recall=0.9", "--floor", "robustness=0.9"]
    options = [*floors, "--delta", "0.3", "--tolerance", "0.05", "--recall-range", "0.5", "1"]
    code, out, _ = call_report(capsys, "sweep", *options, "--format", "json")
    made = json.loads(out)
    assert code == 0
    assert [plane["floor"] for plane in made["tradeoff"] if plane["fixed"] == "recall"] == [0.8, 0.9]
    assert [plane["floor"] for plane in made["tradeoff"] if plane["fixed"] == "robustness-0.3"] == [0.9]
    assert sum(plane["fixed"] == "qps" for plane in made["tradeoff"]) == 2
    assert (made["tolerance"], made["pooling_tolerance"], made["recall_range"]) == (0.05, 0.05, [0.5, 1.0])
    assert {entry["n"] for entry in made["information"]} == {6}
    assert all(option in shlex.split(made["reproduce"][-1]) for option in options)


def test_every_k_that_is_given_has_its_curves(capsys: pytest.CaptureFixture[str]) -> None:
    made = json.loads(call_report(capsys, "sweep", "-k", "10", "-k", "5", "--format", "json")[1])
    assert [(each["k"], len(each["curves"][0]["curve"])) for each in made["data_sets"]] == [(10, 10), (5, 5)]
    assert made["k"] == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--recall-range", "0.9", "0.7"], "expected two recalls, the lower first, found 0.9 and 0.7"),
        (["--tolerance", "2"], "--tolerance: expected a recall"),
        (["--floor", "p99_ms=5"], "the trade-off uses recall, robustness-0.1, qps; found a floor for p99_ms"),
    ],
)
def test_thresholds_that_cannot_be_are_wrong_use(
    capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    code, out, err = call_report(capsys, "sweep", *options)
    assert (code, out, message in err) == (2, "", True)
