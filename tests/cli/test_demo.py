"""assay demo: what it prints, and what it leaves to try things on."""

import json
import os
import subprocess
import sys
from pathlib import Path

from assay.views.demo import DemoStep, render_step
from assay.workflows.demo_answers import missing_model
from tests.web.dashboards import open_dashboard

DemoCall = tuple[subprocess.CompletedProcess[str], Path]


def assay(*argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "assay"), *argv]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)


def test_the_demo_scores_compares_explains_and_decides(called_demo: DemoCall) -> None:
    done, folder = called_demo
    assert done.returncode == 0, done.stderr
    for expected in (
        "lsa has the higher nDCG@10",
        "→ undecided by nDCG@10, RR@10, Robustness(delta=0.5)@10; better by R@10",
        "→ the most frequent cause is near miss (63 queries): rerank the first 100",
        "worst slice: category: paraphrase, 60 of 64 fail",
        "→ most are lost in fusion",
        "since i put this on”: 0 of 3 relevant found; 2 missed even by exact search; 1 lost in fusion",
        "→ passed: 9 of 9 checks hold",
        "100 sampled queries and the first 10 documents of both searches: 1,255 pairs",
        "two simulated raters agree on 88 % of 1,255 pairs: κ 0.6715",
        "by the labels of people and a model; the model alone says 0.8646",
        "kept as version helpcentre-sample@",
        "changed: dimensions 160 → 30",
        "→ Ready to ship: ctr better; abandonment not worse by more than 5 %",
        "The sample ratio holds: bm25 2,032, lsa 1,969",
        "→ Users prefer lsa",
        "6 A/B tests with offline experiments",
        "→ nDCG@10 predicts the online difference: Spearman's ρ +0.97",
        "Robustness-0.9@10",
        "faiss.ivfflat nlist=256 / nprobe=6",
        "finds nothing for",
    ):
        assert expected in done.stdout
    assert os.listdir(folder) == ["assay-demo"]
    expected_files = "" if missing_model() else "answers "
    expected_files += "assay.toml base.fbin bench bench.html bench.toml bm25.run compare.html failures.html"
    expected_files += " helpcentre judging lsa.run queries.fbin report.html runs store traffic"
    assert sorted(os.listdir(folder / "assay-demo")) == expected_files.split()


def test_the_demo_prints_a_headline_and_a_verdict_for_each_step_in_under_100_lines(
    called_demo: DemoCall,
) -> None:
    done, _ = called_demo
    lines = done.stdout.splitlines()
    titles = [number for number, line in enumerate(lines) if line.startswith("── ")]
    assert len(titles) == 13
    assert all(lines[number + 2].startswith("→ ") for number in titles)
    assert len(lines) + len(done.stderr.splitlines()) < 100


def test_answers_of_a_model_are_kept_for_the_dashboard_or_said_to_be_left_out(
    called_demo: DemoCall, demo: Path
) -> None:
    step = called_demo[0].stdout.partition("── Are answers right?")[2]
    studies = open_dashboard(demo / "store").get("/rag.json").json()["studies"]
    if missing_model():
        assert "left out: " in step
        assert studies == []
    else:
        assert "right with the passages of exact search" in step
        assert [(study["name"], study["questions"]) for study in studies] == [("handbook", 6)]


def test_the_demo_ends_with_the_address_of_its_dashboard(called_demo: DemoCall) -> None:
    end = called_demo[0].stderr.splitlines()[-1]
    assert end.endswith("serve --store assay-demo/store  # the dashboard: http://127.0.0.1:8765")


def test_the_online_evidence_is_kept_for_the_dashboard(demo: Path) -> None:
    client = open_dashboard(demo / "store")
    evidence = client.get("/online.json").json()
    assert evidence["tests"][0]["name"] == "lsa against bm25"
    assert len(evidence["tests"]) == 6
    assert len(evidence["prediction"]["measures"]) == 4
    page = client.get("/online/tests/lsa against bm25").text
    assert "Ready to ship" in page
    assert "relative difference of ctr over 14 points" in page
    assert "ctr over 14 points" in client.get("/online").text


def test_the_test_is_decided_by_the_settings_that_the_demo_leaves(demo: Path) -> None:
    rerun = assay("online", "ab", "traffic/ab_test.ndjson", "--project", "assay.toml", cwd=demo)
    assert rerun.returncode == 0, rerun.stderr
    assert rerun.stdout.startswith("Ready to ship: ctr better")


def test_details_are_printed_on_request() -> None:
    step = DemoStep("May it ship?", "assay gate", "4 checks", "passed", ["✓ R@10"], "the table")
    assert render_step(step) == "── May it ship? (assay gate)\n4 checks\n→ passed\n  ✓ R@10"
    assert render_step(step, verbose=True) == f"{render_step(step)}\n\nthe table"


def test_what_the_demo_leaves_can_be_played_with(demo: Path) -> None:
    argv = ("eval", "helpcentre", "bm25.run", "lsa.run", "--by", "intent", "--by", "frequency")
    rerun = assay(*argv, cwd=demo)
    assert rerun.returncode == 0, rerun.stderr
    assert "intent: semantic" in rerun.stdout
    assert "frequency: head" in rerun.stdout
    report = json.loads(assay("bench", "report", "bench", "--format", "json", cwd=demo).stdout)
    graph, partition = (
        next(trial for trial in report["trials"] if trial["label"].endswith(search))
        for search in ("efSearch=72", "nprobe=6")
    )  # the same mean recall, and not the same failures
    assert abs(graph["recall"]["value"] - partition["recall"]["value"]) < 0.01
    assert graph["zero_hit"]["low"] > partition["zero_hit"]["high"]
    page = (demo / "bench.html").read_text(encoding="utf-8")
    assert "finds nothing for" in page.partition("<script")[0]


def test_the_demo_can_be_run_twice(called_demo: DemoCall, demo: Path) -> None:
    rerun = assay("demo", cwd=demo.parent)
    assert rerun.stdout == called_demo[0].stdout
    assert os.listdir(demo.parent) == ["assay-demo"]
