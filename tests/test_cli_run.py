"""assay run: systems asked, scored and compared; resumed, interrupted, failing, under load."""

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
from model_doubles import KEY, double
from projects import MINE, QUERIES, asked, lines, project

ASSAY = Path(sys.executable).parent / "assay"
TWO = MINE + '[systems.bm25]\nkind = "bm25"\n'
FAILS = MINE.replace(":search", ":fails") + "[run]\nretries = 0\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["run", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def plain(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(said(capsys, *argv, "--format", "json")[1])
    return made


def test_one_system_is_answered_scored_and_explained(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder)
    code, out, err = said(capsys, "-m", "R@10", "--slo", "60000", "--by", "kind")
    assert code == 0
    heads = [
        "How they answered",
        "measure",
        "mine: where 9 relevant documents of 6 queries went",
        "mine, kind: how",
    ]
    assert [head for head in heads if head not in out] == []
    assert "within 60000 ms" in out
    assert "1.0000 (0.610 … 1.000)" in out
    assert "runs, stages and figures are in runs" in err
    assert "what it means" not in out


def test_several_systems_end_in_the_comparison(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder, TWO)
    _, out, _ = said(capsys, "bm25", "mine", "-m", "R@10")
    assert "what it means" in out
    assert max(map(len, out.splitlines())) <= 118
    _, md, _ = said(capsys, "-m", "R@10", "--format", "md")
    assert "| missed by retrieval |" in md


def test_json_has_the_documented_keys(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder, TWO)
    made = plain(capsys, "-m", "R@10", "--slo", "60000")
    assert list(made) == ["systems", "comparison"]
    asked_of = "name queries answered empty failed errors attempts resumed seconds qps latency histogram_ns"
    of_it = "stages tokens cost cost_per_1k sittings configuration scores losses problem slo"
    assert list(made["systems"][0]) == f"{asked_of} {of_it}".split()
    assert made["systems"][0]["slo"]["value"] == 1.0
    assert list(made["systems"][0]["losses"]) == ["parts", "ceilings", "steps", "per_query", "left_out"]


def test_a_system_that_returns_nothing_says_so_and_is_not_replaced_as_the_baseline(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, TWO + MINE.replace("systems.mine", "systems.none").replace(":search", ":none"))
    code, out, err = said(capsys, "none", "mine", "bm25", "-m", "R@10")
    assert (code, "what it means" in out) == (0, False)
    assert (
        "none returned no document for any of 6 queries: 6 were answered with none: it has no scores" in err
    )
    assert "nothing is compared: none is the baseline" in err
    made = plain(capsys, "mine", "none", "bm25", "-m", "R@10")
    assert [one["problem"] is None for one in made["systems"]] == [True, False, True]
    assert [one["name"] for one in made["comparison"]["candidates"]] == ["bm25"]


def test_what_is_saved_is_saved_even_if_nobody_reads_the_rest(folder: Path) -> None:
    project(folder)
    command = f"{ASSAY} run -m R@10 --save night --store kept | true"
    subprocess.run(["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"], check=True)
    with Store(str(folder / "kept")) as store:
        assert [one.name for one in store.list()] == ["night"]


def test_an_objective_of_latency_is_above_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder)
    code, _, err = said(capsys, "--slo", "-1")
    assert (code, err) == (2, "assay run: --slo: expected milliseconds above 0, found -1\n")


def test_a_second_run_asks_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder)
    first = plain(capsys, "-m", "R@10")["systems"][0]
    second = plain(capsys, "-m", "R@10")["systems"][0]
    assert sorted(asked(folder)) == sorted(text for text, _ in QUERIES.values())
    assert (first.pop("resumed"), second.pop("resumed")) == (0, 6)
    same = ("scores", "losses", "latency", "attempts")
    assert [first[name] for name in same] == [second[name] for name in same]
    assert said(capsys, "-k", "1")[0] == 0
    assert len(asked(folder)) == 12  # another k is another question


def test_failed_queries_are_failed_queries_and_can_be_asked_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, FAILS)
    code, out, _ = said(capsys, "-m", "R@10")
    assert code == 1
    assert "mine: 2 connection (q3, q6)" in out
    assert "left out: 2 judged queries without an answer, of it or of exact search" in out
    assert said(capsys, "-m", "R@10")[0] == 1  # a failure is not repeated unasked
    (folder / "mended").touch()
    assert said(capsys, "-m", "R@10")[0] == 1
    assert len(asked(folder)) == 4
    assert said(capsys, "-m", "R@10", "--retry-failed")[0] == 0
    assert len(asked(folder)) == 6


def test_an_interrupted_run_goes_on_to_the_same_result(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, MINE.replace(":search", ":held") + "[run]\nconcurrency = 1\n")
    (folder / "held").touch()  # from the second query on
    process = subprocess.Popen([ASSAY, "run", "-m", "R@10"], stderr=subprocess.PIPE, text=True)
    while len(asked(folder)) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    (folder / "held").unlink()
    assert process.returncode == 130
    assert "the same command goes on from there" in err
    made = plain(capsys, "-m", "R@10")["systems"][0]
    whole = plain(capsys, "-m", "R@10", "-o", "whole")["systems"][0]
    assert 0 < made["resumed"] < 6
    assert [made[name] for name in ("scores", "losses")] == [whole[name] for name in ("scores", "losses")]
    assert (folder / "runs/mine.run").read_text() == (folder / "whole/mine.run").read_text()


def test_experiments_are_saved_with_latency_and_figures(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, TWO + '[store]\nurl = "kept"\n')
    _, _, err = said(capsys, "-m", "R@10", "--save", "nightly", "--tag", "t", "--note", "why")
    assert "saved nightly/mine as" in err
    with Store(folder / "kept") as store:
        kept = store.get("nightly/mine")
    assert (kept.kind, kept.tags, kept.note) == ("run", ("t",), "why")
    assert kept.latency == {}  # six queries tell no percentile
    assert kept.figures["failed"] == 0
    assert kept.figures["qps"] > 0
    assert kept.configuration["kind"] == "callable"


def test_percentiles_are_saved_where_there_are_enough_queries(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder)
    rows = [{"query_id": f"r{i}", "text": "reset router"} for i in range(20)]
    rows.append({"query_id": "q1", "text": "reset router"})
    (folder / "queries.jsonl").write_text(lines(rows))
    said(capsys, "-m", "R@10", "--save", "nightly")
    with Store(folder / ".assay") as store:
        assert list(store.get("nightly").latency) == ["p50_ms"]


def test_nothing_is_saved_without_scores_and_that_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, MINE, '[data]\nqueries = "queries.jsonl"\n')
    code, out, err = said(capsys, "--save", "nightly")
    assert (code, "mine is not saved: it has no scores" in err) == (0, True)
    assert "where 9 relevant" not in out
    assert said(capsys, "--save", " ")[0] == 2


def test_the_gate_takes_what_a_run_leaves(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    assert said(capsys, "-m", "R@10")[0] == 0
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
    code, _, err = said(capsys, *([*argv, "mine"] if "--load" in argv and "mine" not in argv else argv))
    assert code == 2
    assert words in err


@pytest.mark.parametrize(("loop", "mode"), [(["--load", "50"], "open"), (["--clients", "2"], "closed")])
def test_a_load_is_told_in_numbers(
    folder: Path, capsys: pytest.CaptureFixture[str], loop: list[str], mode: str
) -> None:
    project(folder)
    asked = ["mine", *loop, "--seconds", "1", "--slo", "60000"]
    code, out, _ = said(capsys, *asked)
    assert code == 0
    assert "Under load" in out
    made = plain(capsys, *asked)
    assert (made["slo"]["ms"], made["slo"]["value"]) == (60000, 1.0)
    assert (made["system"], made["mode"], made["errors"]) == ("mine", mode, {})
    assert made["requests"] == 50 if mode == "open" else 0 < made["requests"] <= 100
    assert not (folder / "runs/mine.run").exists()


def test_a_closed_loop_that_the_cap_holds_back_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder)
    loop = ["mine", "--clients", "4", "--seconds", "0.5"]
    tries = (said(capsys, *loop, "--max-rate", "10")[1] for _ in range(5))
    assert any("held back by --max-rate" in out for out in tries)  # a machine that stands still is no cap
    made = plain(capsys, *loop, "--max-rate", "1000000")
    assert made["held_back"] is False


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--again"], "the same command without --again goes on from there"),
        (["--clients", "1"], "nothing is kept of a load that was interrupted"),
    ],
)
def test_an_interruption_says_what_is_kept(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    option: list[str],
    words: str,
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    project(folder)
    for name in ("_ran", "_loads"):
        monkeypatch.setattr(f"assay.cli.run.{name}", interrupted)
    code, _, err = said(capsys, "mine", *option)
    assert (code, words in err) == (130, True)


def test_a_load_that_fails_leaves_with_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder, FAILS)
    code, out, _ = said(capsys, "--load", "50", "--seconds", "0.4")
    assert code == 1
    assert "connection" in out


def test_what_models_use_is_counted_and_their_key_is_nowhere(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)
    monkeypatch.setenv("SEARCH_KEY", "a-secret-of-the-search")
    with double("401") as endpoint:
        given = f'base_url = "{endpoint.url}"\nkey_env = "MODEL_KEY"\n'
        models = f'[models.e]\nkind = "openai"\nmodel = "x"\n{given}price = 1000.0\n'
        models += f'[models.r]\nkind = "endpoint"\nmodel = "y"\n{given}price_searches = 2.0\n'
        dense = '[systems.dense]\nkind = "index"\nencoder = "e"\n'
        both = dense + '[systems.both]\nretrieve = ["dense"]\nrerank = { model = "r", depth = 3 }\n'
        project(folder, FAILS + models + both)
        assert (
            said(capsys, "both", "-m", "R@10")[0] == 2
        )  # the endpoint refuses once, while documents are encoded
        code, out, err = said(capsys, "-m", "R@10")
    assert code == 1  # of mine
    told = json.loads((folder / "runs/both.json").read_text())
    assert told["tokens"] == sum(len(text.split()) for text, _ in QUERIES.values()) + 6 * 50
    assert told["cost"] == pytest.approx(12 * 1000 / 1e6 + 6 * 2 / 1e3)
    texts = [
        path.read_bytes().decode(errors="replace") for path in folder.rglob("runs/**/*") if path.is_file()
    ]
    assert "${SEARCH_KEY}" in "".join(texts)
    for secret in (KEY, os.environ["SEARCH_KEY"]):
        assert not [text for text in [out, err, *texts] if secret in text]


def test_the_slices_of_a_waterfall_are_in_the_json_as_well(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder)
    lost = plain(capsys, "-m", "R@10", "--by", "kind")["systems"][0]["losses"]
    assert sorted(lost["slices"]) == ["kind: how", "kind: what"]
    whole = sum(part["documents"] for part in lost["parts"])
    assert sum(part["documents"] for parts in lost["slices"].values() for part in parts) == whole


GONE = '[models.e]\nkind = "openai"\nmodel = "x"\nbase_url = "http://127.0.0.1:1/v1"\nretries = 0\n'
DENSE = '[systems.dense]\nkind = "index"\nencoder = "e"\n'


def test_a_system_that_cannot_start_costs_itself_and_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, TWO + GONE + DENSE)
    code, out, err = said(capsys, "mine", "dense", "bm25", "-m", "R@10", "--save", "night", "--store", "kept")
    assert (code, "what it means" in out) == (1, True)
    assert "assay run: dense could not be run: connection: http://127.0.0.1:1/v1 cannot be reached" in err
    with Store(folder / "kept") as store:
        assert sorted(one.name for one in store.list()) == ["night/bm25", "night/mine"]
    made = plain(capsys, "mine", "dense", "-m", "R@10")
    assert ([one["name"] for one in made["systems"]], list(made["lost"])) == (["mine"], ["dense"])


def test_a_baseline_that_cannot_start_is_not_replaced(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, TWO + GONE + DENSE)
    code, out, err = said(capsys, "dense", "mine", "bm25", "-m", "R@10")
    assert (code, "what it means" in out) == (1, False)
    assert "nothing is compared: dense is the baseline" in err
    assert said(capsys, "dense", "-m", "R@10")[0] == 2  # nothing could be run


def test_what_is_wrong_with_a_system_is_said_before_another_is_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = '[systems.other]\nkind = "http"\nurl = "http://127.0.0.1:1/{kidn}"\nids = "$"\n'
    project(folder, MINE + other)
    code, _, err = said(capsys, "mine", "other")
    assert (code, "other puts {kidn} in what it asks" in err) == (2, True)
    project(folder, MINE + '[systems.bm25]\nkind = "bm26"\n')
    assert said(capsys, "mine", "bm25")[0] == 2
    assert asked(folder) == []


def test_a_model_has_the_time_of_the_query_and_is_asked_again(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)
    monkeypatch.setattr("assay.search.running._GRACE", 60_000_000_000)  # it says so itself, however late
    with double("", "hang") as endpoint:  # the documents are encoded, the first query is not
        model = GONE.replace("http://127.0.0.1:1/v1", endpoint.url) + 'key_env = "MODEL_KEY"\n'
        project(folder, model + DENSE)
        made = plain(capsys, "-m", "R@10", "--timeout", "3", "--concurrency", "1")["systems"][0]
    assert (made["failed"], made["answered"]) == ({}, 6)
    assert made["attempts"] > 6


def test_another_price_is_another_cost_and_documents_are_not_encoded_again(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", KEY)
    with double() as endpoint:
        model = GONE.replace("http://127.0.0.1:1/v1", endpoint.url) + 'key_env = "MODEL_KEY"\n'
        costs = []
        for price in ("", "price = 1000.0\n", "price = 2000.0\n"):
            project(folder, model + price + DENSE)
            costs.append(plain(capsys, "-m", "R@10")["systems"][0]["cost"])
        batches = [body for body in endpoint.seen() if len(body["input"]) > 1]
    assert costs == [None, pytest.approx(12 * 1000 / 1e6), pytest.approx(12 * 2000 / 1e6)]
    assert len(batches) == 1
