"""assay dataset sample, pool and split: what they write, show and refuse."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.cli import call as run
from assay.datasets import read, read_collection
from assay.datasets.pool_files import read_pool
from assay.store.store import Store

LOG = "".join(f"query number {'x' * (i % 7)} {i}\n" * (1 + 60 // (i + 1)) for i in range(40))
DAYS = [f"2026-01-{day:02}" for day in range(1, 31)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.txt").write_text(LOG)
    lines = [f"q{q} Q0 d{(q * 3 + d) % 50} {d} {10 - d} t\n" for q in range(12) for d in range(10)]
    (tmp_path / "a.run").write_text("".join(lines))
    (tmp_path / "b.run").write_text("".join(line.replace(" d1", " e1") for line in lines))
    return tmp_path


def call_dataset(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["dataset", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def call_json(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    code, out, err = call_dataset(capsys, *argv, "--format", "json")
    assert code == 0, err
    data: dict[str, Any] = json.loads(out)
    return data


def test_a_log_becomes_a_sample_with_probabilities_and_a_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["-n", "12", "--method", "frequency", "--near-duplicates", "0", "--seed", "3", "-o", "sample"]
    data = call_json(capsys, "sample", "log.txt", *options)
    queries = read("sample/queries.jsonl", "queries")
    recipe = json.loads(Path("sample/recipe.json").read_text())["sample"]
    assert len(queries) == data["counts"]["sample"] == 12
    assert sum(1 / p for p in queries.columns["inclusion_probability"]) == pytest.approx(40)
    assert [s["name"] for s in data["strata"]] == ["head", "torso", "tail"]
    assert (recipe["seed"], recipe["digests"]["queries"]) == (3, queries.digest)
    assert data["plan"]["planned"]["n"] == 12


def test_a_seed_draws_the_same_queries(capsys: pytest.CaptureFixture[str]) -> None:
    for name, seed in (("one", "1"), ("again", "1"), ("two", "2")):
        call_json(capsys, "sample", "log.txt", "-n", "9", "--seed", seed, "-o", name)
    one, again, two = (Path(name, "queries.jsonl").read_text() for name in ("one", "again", "two"))
    assert one == again != two


def test_the_recipe_is_kept_by_import(capsys: pytest.CaptureFixture[str]) -> None:
    call_json(capsys, "sample", "log.txt", "-n", "9", "-o", "sample")
    Path("labels.qrels").write_text("q1 0 d 1\n")
    argv = [
        "import",
        "labels.qrels",
        "--queries",
        "sample/queries.jsonl",
        "--name",
        "shop",
        "--store",
        "store",
    ]
    data = call_json(capsys, *argv, "--recipe", "sample/recipe.json")
    assert data["recipe"]["sample"]["method"] == "uniform"


def test_hard_and_zero_result_queries_are_drawn_from_these_only(capsys: pytest.CaptureFixture[str]) -> None:
    ids = [f"q{q}" for q in range(14)]
    Path("q.csv").write_text(
        "query_id,text\n" + "".join(f"{q},{'abcdefghijklmnop'[i] * 9}\n" for i, q in enumerate(ids))
    )
    Path("s.csv").write_text("query_id,RR\n" + "".join(f"{q},{i / 20}\n" for i, q in enumerate(ids)))
    hard = call_json(
        capsys, "sample", "q.csv", "-n", "3", "--method", "hard", "--scores", "s.csv", "--below", "0.2"
    )
    assert (hard["counts"]["frame"], hard["population"]) == (5, "queries with a score of at most 0.2")
    empty = call_json(
        capsys, "sample", "q.csv", "-n", "2", "--method", "zero-results", "--run", "a.run", "-o", "z"
    )
    assert read("z/queries.jsonl", "queries").ids == ["q12", "q13"]
    assert empty["population"] == "queries without results"


def test_plan_alone_needs_no_queries(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_dataset(capsys, "sample", "--plan", "--variance", "0.09", "--width", "0.1")
    assert code == 0
    assert " ".join(out.split()).endswith("± 0.05 (95 % interval of width 0.1) 141")
    code, out, _ = call_dataset(capsys, "sample", "--plan", "--difference", "0.1", "--format", "csv")
    assert out.splitlines()[-1].endswith(",144")


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["log.txt"], "expected QUERIES and -n N"),
        (["log.txt", "-n", "99"], "-n must be from 1 to"),
        (["log.txt", "-n", "9", "--method", "stratifed"], "did you mean stratified?"),
        (["log.txt", "-n", "9", "--method", "stratified"], "--by COLUMN are used together"),
        (["log.txt", "-n", "9", "--method", "stratified", "--by", "kind"], "there is no column 'kind'"),
        (["log.txt", "-n", "9", "--method", "hard"], "needs --scores FILE or --run FILE"),
        (["log.txt", "-n", "9", "--method", "zero-results"], "number of results"),
        (["log.txt", "-n", "9", "--run", "a.run"], "--run is for --method hard"),
        (["log.txt", "-n", "9", "--near-duplicates", "7"], "above 0, at most 1"),
        (["log.txt", "-n", "9", "--columns", "text"], "--columns expects NAME=VALUE"),
        (["log.txt", "-n", "9", "--columns", "txt=a"], "expected one of query_id, text"),
        (["missing.csv", "-n", "9"], "cannot be read"),
        (["--plan", "--variance", "0.1", "--pilot", "s.csv"], "give one"),
    ],
)
def test_wrong_samples_are_refused(capsys: pytest.CaptureFixture[str], argv: list[str], problem: str) -> None:
    code, _, err = call_dataset(capsys, "sample", *argv)
    assert (code, problem in err) == (2, True), err


def test_a_sample_of_a_sample_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    call_json(capsys, "sample", "log.txt", "-n", "9", "-o", "sample")
    code, _, err = call_dataset(capsys, "sample", "sample/queries.jsonl", "-n", "3")
    assert (code, "it is a sample already" in err) == (2, True)


def test_a_pool_is_blind_and_deduplicated(capsys: pytest.CaptureFixture[str]) -> None:
    data = call_json(capsys, "pool", "a.run", "b.run", "--depth", "5", "-o", "pool.jsonl")
    rows = [json.loads(line) for line in Path("pool.jsonl").read_text().splitlines()]
    assert len(rows) == data["counts"]["pool"] == len({(r["query_id"], r["doc_id"]) for r in rows})
    assert all(set(row) == {"query_id", "doc_id", "inclusion_probability"} for row in rows)
    assert data["coverage"]["runs"][0]["judged"] == pytest.approx(5 / 10)
    assert json.loads(Path("pool.recipe.json").read_text())["pool"]["digests"]["run a"]


def test_ranks_are_written_only_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    call_json(capsys, "pool", "a.run", "b.run", "--with-ranks", "-o", "pool.csv")
    assert Path("pool.csv").read_text().splitlines()[0].endswith("rank a,rank b")


def test_a_stratified_pool_weights_the_measures_of_eval(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["a.run", "b.run", "--method", "stratified", "--budget", "100", "-o", "pool.jsonl"]
    call_json(capsys, "pool", *argv)
    pool = read_pool("pool.jsonl")
    pairs = zip(pool.query_ids, pool.doc_ids, strict=True)
    Path("labels.qrels").write_text("".join(f"{q} 0 {d} {len(d) % 2}\n" for q, d in pairs))
    assert run(["eval", "labels.qrels", "a.run", "-m", "P@10", "--pool", "pool.jsonl"]) == 0
    _out, err = capsys.readouterr()
    assert "measures are estimated from a random sample" in err
    assert run(["eval", "labels.qrels", "a.run", "-m", "RR", "--pool", "pool.jsonl"]) == 2


def test_adaptive_steps_leave_judged_pairs_out(capsys: pytest.CaptureFixture[str]) -> None:
    Path("labels.qrels").write_text("".join(f"q{q} 0 d{q * 3} 1\n" for q in range(12)))
    for method in ("move-to-front", "bandit", "difference"):
        argv = [
            "a.run",
            "b.run",
            "--method",
            method,
            "--budget",
            "24",
            "--qrels",
            "labels.qrels",
            "-o",
            "p.csv",
        ]
        data = call_json(capsys, "pool", *argv)
        assert (data["counts"]["pool"], data["counts"]["judged"]) == (24, 12)
        assert not data["has_inclusion_probabilities"]
        assert "\nq0,d0," not in Path("p.csv").read_text()


@pytest.mark.parametrize(
    ("argv", "code", "problem"),
    [
        (["--method", "bandits"], 2, "did you mean bandit?"),
        (["--method", "bandit"], 2, "needs --budget N"),
        (["--budget", "0"], 2, "--budget must be 1 or more"),
        (["--depth", "0"], 2, "--depth must be 1 or more"),
        (["-o", "pool.txt"], 2, "-o expects a file .jsonl or .csv"),
        (["--qrels", "all.qrels", "--depth", "1"], 3, "have labels already"),
        (["missing.run"], 2, "cannot be read"),
    ],
)
def test_wrong_pools_are_refused(
    capsys: pytest.CaptureFixture[str], argv: list[str], code: int, problem: str
) -> None:
    Path("all.qrels").write_text("".join(f"q{q} 0 d{q * 3} 1\n" for q in range(12)))
    got, _, err = call_dataset(capsys, "pool", "a.run", *argv)
    assert (got, problem in err) == (code, True), err


def test_a_split_writes_parts_that_share_no_family(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {
            "_id": f"q{i}",
            "text": "abcdefghij"[i // 3] * 5 + " again?!"[: 6 + i % 3],
            "metadata": {"day": DAYS[i]},
        }
        for i in range(30)
    ]
    Path("set/qrels").mkdir(parents=True)
    Path("set/queries.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    Path("set/qrels/test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"q{i}\td\t1\n" for i in range(28))
    )
    data = call_json(capsys, "split", "set", "--by", "family", "--shares", "0.7", "0.3", "-o", "parts")
    assert [part["queries"] for part in data["parts"]] == [21, 9]
    train, test = (read_collection(f"parts/{name}") for name in ("train", "test"))
    assert train.queries is not None
    assert test.queries is not None
    first, second = ({text[:5] for text in q.columns["text"]} for q in (train.queries, test.queries))
    assert not first & second
    assert json.loads(Path("parts/test/recipe.json").read_text())["split"]["part"]["name"] == "test"
    timed = call_json(
        capsys, "split", "set", "--by", "time", "--time-column", "day", "--shares", "0.5", "0.5"
    )
    assert [part["queries"] for part in timed["parts"]] == [15, 15]


def test_wrong_splits_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.qrels").write_text("q1 0 d 1\n")
    Path("q.csv").write_text("query_id,text\nq2,vpn\n")
    shares = ["--shares", "0.5", "0.5"]
    for argv, problem in (
        (["a.qrels", "--by", "family", *shares], "give it with --queries"),
        (["a.qrels", "--queries", "q.csv", "--by", "family", *shares], "not in the query table"),
        (["a.qrels", "--by", "kind", "--shares", "1"], "two or more shares"),
        (["a.qrels", "--by", "kind", *shares, "--time-column", "at"], "--time-column is for --by time"),
    ):
        code, _, err = call_dataset(capsys, "split", *argv)
        assert (code, problem in err) == (2, True), err


def test_saved_experiments_are_pooled_like_runs(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.qrels").write_text("q1 0 d3 1\n")
    saved = ["a.run", "-m", "RR", "--save", "old", "--store", "store"]
    assert run(["eval", "a.qrels", *saved]) == 0
    capsys.readouterr()
    data = call_json(
        capsys, "pool", "experiment:old", "b.run", "--depth", "5", "--store", "store", "-o", "p.jsonl"
    )
    files = call_json(capsys, "pool", "a.run", "b.run", "--depth", "5", "-o", "f.jsonl")
    assert data["coverage"]["depths"][-1]["pairs"] == files["coverage"]["depths"][-1]["pairs"]
    code, _, err = call_dataset(capsys, "pool", "experiment:old", "--depth", "50", "--store", "store")
    assert (code, "the first 20 documents" in err) == (2, True)
    code, _, err = call_dataset(capsys, "pool", "experiment:other", "--store", "store")
    assert code == 2


def test_a_weighted_evaluation_is_recorded_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.qrels").write_text("q1 0 d3 1\nq2 0 d9 1\n")
    Path("q.csv").write_text("query_id,text,inclusion_probability\nq1,a,0.5\nq2,b,1\n")
    argv = ["a.qrels", "a.run", "-m", "RR", "--queries", "q.csv", "--save", "old", "--store", "store"]
    assert run(["eval", *argv]) == 0
    assert "note: means are of all different queries" in capsys.readouterr().err
    with Store("store") as store:
        assert store.get("old").policy["population"] == "queries"


def test_a_stored_evaluation_set_is_sampled_and_split(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.qrels").write_text("q1 0 d3 1\nq2 0 d9 1\n")
    Path("q.csv").write_text("query_id,text\nq1,vpn\nq2,router\nq3,printer\n")
    saved = ["a.qrels", "--queries", "q.csv", "--name", "shop", "--store", "store"]
    call_json(capsys, "import", *saved)
    sample = call_json(capsys, "sample", "dataset:shop", "-n", "2", "--store", "store")
    assert sample["counts"]["queries"] == 3
    argv = ["split", "dataset:shop", "--by", "family", "--shares", "0.5", "0.5", "--store", "store"]
    assert sum(part["labels"] for part in call_json(capsys, *argv)["parts"]) == 2


def test_a_pool_does_not_replace_a_file_that_it_reads(capsys: pytest.CaptureFixture[str]) -> None:
    Path("queries.csv").write_text("query_id,text\nq1,vpn\n")
    code, _, err = call_dataset(capsys, "pool", "a.run", "--queries", "queries.csv", "-o", "queries.csv")
    assert (code, "is also read, and would be lost" in err) == (2, True)


def test_irregular_events_name_the_command_that_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    event = {"action_name": "click", "query_id": "s1", "timestamp": "no time", "event_attributes": {}}
    search = {"query_id": "s1", "user_query": "vpn", "timestamp": "2026-01-01T00:00:00Z"}
    Path("events.ndjson").write_text(f"{json.dumps(search)}\n{json.dumps(event)}\n")
    _, _, err = call_dataset(capsys, "sample", "events.ndjson", "-n", "1")
    assert "assay judge clicks events.ndjson --problems FILE lists them" in err
