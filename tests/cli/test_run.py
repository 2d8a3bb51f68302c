"""assay run: systems run, scored and compared; resumed, interrupted, failing, under load."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from assay import Store
from assay.cli import call as run
from tests.model_doubles import KEY, double
from tests.projects import MINE, QUERIES, lines, project, sent_queries

ASSAY = Path(sys.executable).parent / "assay"
TWO = MINE + '[systems.bm25]\nkind = "bm25"\n'
FAILS = MINE.replace(":search", ":fails") + "[run]\nretries = 0\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    return tmp_path


def call_run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["run", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def run_json(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(call_run(capsys, *argv, "--format", "json")[1])
    return result


def test_one_system_is_run_scored_and_explained(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder)
    code, out, err = call_run(capsys, "-m", "R@10", "--slo", "60000", "--by", "kind")
    assert code == 0
    heads = [
        "How they answered",
        "measure",
        "mine: where 9 relevant documents of 6 queries went",
        "mine, kind: how",
    ]
    assert [head for head in heads if head not in out] == []
    assert "within 60000 ms" in out
    assert "1.0000 (0.541 … 1.000)" in out
    assert "runs, stages and figures are in runs" in err
    assert "what it means" not in out


def test_several_systems_are_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder, TWO)
    _, out, _ = call_run(capsys, "bm25", "mine", "-m", "R@10")
    assert "what it means" in out
    assert max(map(len, out.splitlines())) <= 118
    _, md, _ = call_run(capsys, "-m", "R@10", "--format", "md")
    assert "| missed by retrieval |" in md


def test_json_has_the_documented_keys(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder, TWO)
    result = run_json(capsys, "-m", "R@10", "--slo", "60000")
    assert list(result) == ["systems", "comparison"]
    asked_of = "name queries answered empty repeated failed errors attempts resumed seconds qps latency"
    of_it = "histogram_ns stages tokens cost cost_per_1k sittings configuration scores losses problem slo"
    assert list(result["systems"][0]) == f"{asked_of} {of_it}".split()
    assert result["systems"][0]["slo"]["value"] == 1.0
    assert list(result["systems"][0]["losses"]) == ["parts", "ceilings", "steps", "per_query", "left_out"]


def test_a_system_that_returns_nothing_is_reported_and_not_replaced_as_the_baseline(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, TWO + MINE.replace("systems.mine", "systems.none").replace(":search", ":none"))
    code, out, err = call_run(capsys, "none", "mine", "bm25", "-m", "R@10")
    assert (code, "what it means" in out) == (0, False)
    assert (
        "none returned no document for any of 6 queries: 6 were answered with none: it has no scores" in err
    )
    assert "nothing is compared: none is the baseline" in err
    result = run_json(capsys, "mine", "none", "bm25", "-m", "R@10")
    assert [item["problem"] is None for item in result["systems"]] == [True, False, True]
    assert [item["name"] for item in result["comparison"]["candidates"]] == ["bm25"]


def test_results_are_saved_even_if_the_output_is_closed(folder: Path) -> None:
    project(folder)
    command = f"{ASSAY} run -m R@10 --save night --store kept | true"
    subprocess.run(["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"], check=True)
    with Store(str(folder / "kept")) as store:
        assert [item.name for item in store.list()] == ["night"]


def test_a_latency_objective_is_above_0(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder)
    code, _, err = call_run(capsys, "--slo", "-1")
    assert (code, err) == (2, "assay run: --slo: expected milliseconds above 0, found -1\n")


def test_a_second_run_sends_no_query(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder)
    first = run_json(capsys, "-m", "R@10")["systems"][0]
    second = run_json(capsys, "-m", "R@10")["systems"][0]
    assert sorted(sent_queries(folder)) == sorted(text for text, _ in QUERIES.values())
    assert (first.pop("resumed"), second.pop("resumed")) == (0, 6)
    same = ("scores", "losses", "latency", "attempts")
    assert [first[name] for name in same] == [second[name] for name in same]
    assert call_run(capsys, "-k", "1")[0] == 0
    assert len(sent_queries(folder)) == 12  # another k is another request


def test_failed_queries_are_reported_and_can_be_sent_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, FAILS)
    code, out, _ = call_run(capsys, "-m", "R@10")
    assert code == 1
    assert "mine: 2 connection (q3, q6)" in out
    assert "left out: 2 judged queries without an answer from it or from exact search" in out
    assert call_run(capsys, "-m", "R@10")[0] == 1  # a failed query is not sent again by default
    (folder / "mended").touch()
    assert call_run(capsys, "-m", "R@10")[0] == 1
    assert len(sent_queries(folder)) == 4
    assert call_run(capsys, "-m", "R@10", "--retry-failed")[0] == 0
    assert len(sent_queries(folder)) == 6


def test_an_interrupted_run_is_resumed_to_the_same_result(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, MINE.replace(":search", ":held") + "[run]\nconcurrency = 1\n")
    (folder / "held").touch()  # from the second query on
    process = subprocess.Popen([ASSAY, "run", "-m", "R@10"], stderr=subprocess.PIPE, text=True)
    while len(sent_queries(folder)) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    (folder / "held").unlink()
    assert process.returncode == 130
    assert "the same command resumes the run" in err
    result = run_json(capsys, "-m", "R@10")["systems"][0]
    whole = run_json(capsys, "-m", "R@10", "-o", "whole")["systems"][0]
    assert 0 < result["resumed"] < 6
    assert [result[name] for name in ("scores", "losses")] == [whole[name] for name in ("scores", "losses")]
    assert (folder / "runs/mine.run").read_text() == (folder / "whole/mine.run").read_text()


def test_experiments_are_saved_with_latency_and_figures(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, TWO + '[store]\nurl = "kept"\n')
    _, _, err = call_run(capsys, "-m", "R@10", "--save", "nightly", "--tag", "t", "--note", "why")
    assert "saved nightly/mine as" in err
    with Store(folder / "kept") as store:
        experiment = store.get("nightly/mine")
    assert (experiment.kind, experiment.tags, experiment.note) == ("run", ("t",), "why")
    assert experiment.latency == {}  # six queries are too few for a percentile
    assert experiment.figures["failed"] == 0
    assert experiment.figures["qps"] > 0
    assert experiment.configuration["kind"] == "callable"


def test_percentiles_are_saved_if_there_are_enough_queries(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder)
    rows = [{"query_id": f"r{i}", "text": "reset router"} for i in range(20)]
    rows.append({"query_id": "q1", "text": "reset router"})
    (folder / "queries.jsonl").write_text(lines(rows))
    call_run(capsys, "-m", "R@10", "--save", "nightly")
    with Store(folder / ".assay") as store:
        assert list(store.get("nightly").latency) == ["p50_ms"]


def test_a_system_without_scores_is_not_saved_and_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, MINE, '[data]\nqueries = "queries.jsonl"\n')
    code, out, err = call_run(capsys, "--save", "nightly")
    assert (code, "mine is not saved: it has no scores" in err) == (0, True)
    assert "where 9 relevant" not in out
    assert call_run(capsys, "--save", " ")[0] == 2


def test_the_gate_reads_the_files_of_a_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = """
[baseline]
run = "runs/bm25.run"
[candidate]
run = "runs/mine.run"
latencies = "runs/mine.latencies.jsonl"
figures = "runs/mine.figures.json"
[[gate.rules]]
measure = "R@10"
at_least = 0.1
[[gate.rules]]
figure = "failed"
at_most = 0
"""
    project(folder, TWO + rules)
    assert call_run(capsys, "-m", "R@10")[0] == 0
    assert run(["gate"]) in (0, 3)
    assert "failed at most 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["nine"], "systems.nine: there is no system 'nine'; did you mean mine?"),
        (["-k", "0"], "k: expected at least 1, found 0"),
        (["--shown", "0"], "shown: expected 1 to 100"),
        (["--project", "other.toml"], "there is no other.toml"),
        (["--load", "5", "--seconds", "99"], "seconds: expected more than 0 and at most the cap of 60"),
        (["--load", "500"], "rate: expected more than 0 and at most the cap of 100"),
        (["mine", "bm25", "--load", "5"], "a load is for one system"),
        (["mine", "--clients", "0"], "--clients: expected at least 1, found 0"),
        (["mine", "--clients", "1", "--save", "x"], "--save has no meaning with a load"),
        (["mine", "--load", "5", "-m", "R@10"], "--measure has no meaning with a load"),
        (["mine", "--load", "5", "--by", "kind"], "--by has no meaning with a load"),
    ],
)
def test_wrong_use_says_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str], argv: list[str], words: str
) -> None:
    project(folder, TWO)
    code, _, err = call_run(capsys, *([*argv, "mine"] if "--load" in argv and "mine" not in argv else argv))
    assert code == 2
    assert words in err


@pytest.mark.parametrize(("loop", "mode"), [(["--load", "50"], "open"), (["--clients", "2"], "closed")])
def test_a_load_is_reported_in_numbers(
    folder: Path, capsys: pytest.CaptureFixture[str], loop: list[str], mode: str
) -> None:
    project(folder)
    options = ["mine", *loop, "--seconds", "1", "--slo", "60000"]
    code, out, _ = call_run(capsys, *options)
    assert code == 0
    assert "Under load" in out
    result = run_json(capsys, *options)
    assert (result["slo"]["ms"], result["slo"]["value"]) == (60000, 1.0)
    assert (result["system"], result["mode"], result["errors"]) == ("mine", mode, {})
    assert result["requests"] == 50 if mode == "open" else 0 < result["requests"] <= 100
    assert not (folder / "runs/mine.run").exists()


def test_a_closed_loop_that_is_limited_by_the_highest_rate_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project(folder)
    loop = ["mine", "--clients", "4", "--seconds", "0.5"]
    result = run_json(capsys, *loop, "--max-rate", "1000000")
    assert result["held_back"] is False
    monkeypatch.setattr("assay.workflows.load._NEARLY_ALL", 0.0)  # every rate is near the cap
    assert "limited by --max-rate" in call_run(capsys, *loop, "--max-rate", "10")[1]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--again"], "the same command without --again resumes the run"),
        (["--clients", "1"], "nothing is kept of a load that was interrupted"),
    ],
)
def test_an_interruption_reports_what_is_kept(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    option: list[str],
    words: str,
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    project(folder)
    for name in ("run_systems", "load_system"):
        monkeypatch.setattr(f"assay.cli.run.{name}", interrupted)
    code, _, err = call_run(capsys, "mine", *option)
    assert (code, words in err) == (130, True)


def test_a_load_with_failed_requests_exits_with_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder, FAILS)
    code, out, _ = call_run(capsys, "--load", "50", "--seconds", "0.4")
    assert code == 1
    assert "connection" in out


def test_the_usage_of_models_is_counted_and_their_key_is_written_nowhere(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)
    monkeypatch.setenv("SEARCH_KEY", "a-secret-of-the-search")
    with double("401") as endpoint:
        endpoint_settings = f'base_url = "{endpoint.url}"\nkey_env = "MODEL_KEY"\n'
        models = f'[models.e]\nkind = "openai"\nmodel = "x"\n{endpoint_settings}price = 1000.0\n'
        models += f'[models.r]\nkind = "endpoint"\nmodel = "y"\n{endpoint_settings}price_searches = 2.0\n'
        dense = '[systems.dense]\nkind = "index"\nencoder = "e"\n'
        both = dense + '[systems.both]\nretrieve = ["dense"]\nrerank = { model = "r", depth = 3 }\n'
        project(folder, FAILS + models + both)
        assert (
            call_run(capsys, "both", "-m", "R@10")[0] == 2
        )  # the endpoint refuses once, while documents are encoded
        code, out, err = call_run(capsys, "-m", "R@10")
    assert code == 1  # of mine
    saved = json.loads((folder / "runs/both.json").read_text())
    assert saved["tokens"] == sum(len(text.split()) for text, _ in QUERIES.values()) + 6 * 50
    assert saved["cost"] == pytest.approx(12 * 1000 / 1e6 + 6 * 2 / 1e3)
    texts = [
        path.read_bytes().decode(errors="replace") for path in folder.rglob("runs/**/*") if path.is_file()
    ]
    assert "${SEARCH_KEY}" in "".join(texts)
    for secret in (KEY, os.environ["SEARCH_KEY"]):
        assert not [text for text in [out, err, *texts] if secret in text]


def test_the_json_has_the_losses_of_each_slice(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder)
    losses = run_json(capsys, "-m", "R@10", "--by", "kind")["systems"][0]["losses"]
    assert sorted(losses["slices"]) == ["kind: how", "kind: what"]
    whole = sum(part["documents"] for part in losses["parts"])
    assert sum(part["documents"] for parts in losses["slices"].values() for part in parts) == whole


GONE = '[models.e]\nkind = "openai"\nmodel = "x"\nbase_url = "http://127.0.0.1:1/v1"\nretries = 0\n'
DENSE = '[systems.dense]\nkind = "index"\nencoder = "e"\n'


def test_a_system_that_cannot_start_is_left_out_and_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, TWO + GONE + DENSE)
    code, out, err = call_run(
        capsys, "mine", "dense", "bm25", "-m", "R@10", "--save", "night", "--store", "kept"
    )
    assert (code, "what it means" in out) == (1, True)
    assert "assay run: dense could not be run: connection: http://127.0.0.1:1/v1 cannot be reached" in err
    with Store(folder / "kept") as store:
        assert sorted(item.name for item in store.list()) == ["night/bm25", "night/mine"]
    result = run_json(capsys, "mine", "dense", "-m", "R@10")
    assert ([item["name"] for item in result["systems"]], list(result["lost"])) == (["mine"], ["dense"])


def test_a_baseline_that_cannot_start_is_not_replaced(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, TWO + GONE + DENSE)
    code, out, err = call_run(capsys, "dense", "mine", "bm25", "-m", "R@10")
    assert (code, "what it means" in out) == (1, False)
    assert "nothing is compared: dense is the baseline" in err
    assert call_run(capsys, "dense", "-m", "R@10")[0] == 2  # nothing could be run


def test_the_problem_of_a_system_is_reported_before_any_query_is_sent(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = '[systems.other]\nkind = "http"\nurl = "http://127.0.0.1:1/{query}/{kidn}"\nids = "$"\n'
    project(folder, MINE + other)
    code, _, err = call_run(capsys, "mine", "other")
    assert (code, "other uses {kidn} in its request" in err) == (2, True)
    project(folder, MINE + '[systems.bm25]\nkind = "bm26"\n')
    assert call_run(capsys, "mine", "bm25")[0] == 2
    assert sent_queries(folder) == []


def test_a_model_has_the_timeout_of_the_query_and_is_retried(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)
    monkeypatch.setattr(
        "assay.search.run_queries._TIMEOUT_GRACE_NS", 60_000_000_000
    )  # the model reports the timeout itself, however late
    with double("", "hang") as endpoint:  # the documents are encoded, the first query is not
        model = GONE.replace("http://127.0.0.1:1/v1", endpoint.url) + 'key_env = "MODEL_KEY"\n'
        project(folder, model + DENSE)
        result = run_json(capsys, "-m", "R@10", "--timeout", "3", "--concurrency", "1")["systems"][0]
    assert (result["failed"], result["answered"]) == ({}, 6)
    assert result["attempts"] > 6


def test_another_price_is_another_cost_and_documents_are_not_encoded_again(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)
    with double() as endpoint:
        model = GONE.replace("http://127.0.0.1:1/v1", endpoint.url) + 'key_env = "MODEL_KEY"\n'
        costs = []
        for price in ("", "price = 1000.0\n", "price = 2000.0\n"):
            project(folder, model + price + DENSE)
            costs.append(run_json(capsys, "-m", "R@10")["systems"][0]["cost"])
        batches = [body for body in endpoint.seen() if len(body["input"]) > 1]
    assert costs == [None, pytest.approx(12 * 1000 / 1e6), pytest.approx(12 * 2000 / 1e6)]
    assert len(batches) == 1


def test_documents_that_were_never_judged_are_warned_of(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "other.py").write_text("def search(text): return ['x1', 'x2', 'x1']\n")
    system = '[systems.other]\nkind = "callable"\nfunction = "other:search"\n'
    project(folder, system)
    code, out, err = call_run(capsys)
    assert code == 0
    assert "warning: no document that other returned was ever judged; the qrels have ids such as d1" in err
    assert "6 documents were returned again for the same query; each counts once" in out
