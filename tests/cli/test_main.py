"""The command line, as a person uses it."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from assay.cli import COMMANDS, StandardError
from assay.cli import call as run

QRELS = "q1 0 a 2\nq1 0 b 1\nq2 0 c 1\n"
RUN = "q1 Q0 b 1 0.9 t\nq1 Q0 a 2 0.8 t\nq2 Q0 x 1 0.7 t\n"
QUERIES = "query_id\ttext\tcategory\tfrequency\nq1\treset my password\taccount\t40\nq2\tinvoice\tbilling\t2\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "bm25.run").write_text(RUN)
    (tmp_path / "queries.tsv").write_text(QUERIES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call_assay(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(list(argv))
    out, err = capsys.readouterr()
    return code, out, err


def test_a_run_is_scored_with_results_on_standard_output_and_hints_on_standard_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call_assay(capsys, "eval", "qrels.txt", "bm25.run")
    assert code == 0
    assert "bm25: 2 judged queries" in out
    assert "nDCG@10" in out
    assert "worst by nDCG@10 in bm25: q2 0.0000" in err


def test_json_is_the_documented_shape(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_assay(
        capsys, "eval", "qrels.txt", "bm25.run", "-m", "RR@10", "--per-query", "--format", "json"
    )
    (result,) = json.loads(out)["runs"]
    assert (code, err) == (0, "")
    assert result["name"] == "bm25"
    assert set(result["counts"]) >= {
        "judged_queries",
        "missing_from_run",
        "unjudged_in_run",
        "ties_at_cutoff",
    }
    assert result["mean"]["RR@10"]["value"] == 0.5
    assert result["per_query"] == {"q1": {"RR@10": 1.0}, "q2": {"RR@10": 0.0}}


def test_robustness_is_read_in_its_short_form(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_assay(
        capsys, "eval", "qrels.txt", "bm25.run", "-m", "Robustness-0.3@10", "--format", "json"
    )
    assert code == 0
    assert list(json.loads(out)["runs"][0]["mean"]) == ["Robustness(delta=0.3)@10"]


def test_slices_come_from_the_query_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_assay(
        capsys, "eval", "qrels.txt", "bm25.run", "--queries", "queries.tsv", "--by", "category"
    )
    assert code == 0
    assert "category: account" in out
    assert "“invoice”" in err


def test_several_runs_are_shown_side_by_side(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "dense.run").write_text(RUN.replace(" x ", " c "))
    code, out, _ = call_assay(
        capsys, "eval", "qrels.txt", "bm25.run", "dense.run", "-m", "R@10", "--format", "csv"
    )
    rows = [line.split(",")[:5] for line in out.splitlines()[1:]]
    assert code == 0
    assert rows == [["bm25", "", "", "R@10", "0.5"], ["dense", "", "", "R@10", "1.0"]]


def test_runs_of_the_same_name_are_named_by_their_paths(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "new").mkdir()
    (folder / "new" / "bm25.run").write_text(RUN)
    _, out, _ = call_assay(capsys, "eval", "qrels.txt", "bm25.run", "new/bm25.run", "--format", "json")
    assert [r["name"] for r in json.loads(out)["runs"]] == ["bm25.run", "new/bm25.run"]


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["eval", "qrels.txt", "none.run"], 2, "none.run: cannot be read: No such file"),
        (["eval", "qrels.txt", "bm25.run", "-m", "nDGC@10"], 2, "did you mean nDCG?"),
        (["eval", "qrels.txt", "bm25.run", "-m", "P(rel=0)@10"], 2, "rel must be a whole number"),
        (["eval", "qrels.txt", "bm25.run", "--by", "category"], 2, "--queries"),
        (
            ["eval", "qrels.txt", "bm25.run", "--queries", "queries.tsv", "--by", "colour"],
            2,
            "category, frequency",
        ),
        (["eval", "qrels.txt", "bm25.run", "--level", "95"], 2, "between 0 and 1"),
        (["eval", "qrels.txt", "bm25.run", "bm25.run"], 2, "given twice"),
        (["eval", "qrels.txt", "bm25.run", "--columns", "query_id"], 2, "NAME=COLUMN"),
        (["eval", "qrels.txt", "bm25.run", "--columns", "colour=x"], 2, "run: query_id, doc_id, score, rank"),
        (["eval", "qrels.txt", "bm25.run", "--from", "xml"], 2, "trec"),
        (["eval", "qrels.txt"], 2, "RUN"),
        (["evla", "qrels.txt"], 2, "there is no command 'evla'; did you mean eval?"),
        (["eval", "qrels.txt", "bm25.run", "--measre", "AP"], 2, "did you mean --measure?"),
        (["experiments", "list", "--wehre=x"], 2, "did you mean --where?"),
        (
            ["experiments", "lsit"],
            2,
            "did you mean list?",
        ),
        (["bench", "improt", "a.csv"], 2, "did you mean import?"),
        (["eval", "qrels.txt", "bm25.run", "--format", "jsn"], 2, "did you mean json?"),
        (["eval", "qrels.txt", "bm25.run", "--from", "qrels=jsonn"], 2, "did you mean json?"),
        (["eval", "qrels.txt", "bm25.run", "--from", "qrles=json"], 2, "did you mean qrels?"),
        (["eval", "qrels.txt", "bm25.run", "--columns", "run:dcoid=x"], 2, "did you mean doc_id?"),
        (
            ["eval", "qrels.txt", "bm25.run", "--queries", "queries.tsv", "--columns", "text=txet"],
            2,
            "there is no column 'txet' among query_id, text, category, frequency; did you mean text?",
        ),
        (
            ["eval", "qrels.txt", "bm25.run", "--queries", "queries.tsv", "--by", "categroy"],
            2,
            "did you mean category?",
        ),
    ],
)
def test_wrong_use_says_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str], argv: list[str], code: int, words: str
) -> None:
    got, out, err = call_assay(capsys, *argv)
    assert (got, out) == (code, "")
    assert words in err
    assert "Traceback" not in err


def test_a_bad_line_is_named_with_its_file_and_number(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.run").write_text(RUN + "q2 Q0 y 2 high t\n")
    code, _, err = call_assay(capsys, "eval", "qrels.txt", "bad.run")
    assert code == 2
    assert "bad.run:4: expected a number as the score, found 'high'" in err


def test_no_query_in_common_exits_with_3(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "other.run").write_text("z9 Q0 a 1 1.0 t\n")
    code, _, err = call_assay(capsys, "eval", "qrels.txt", "other.run")
    assert code == 3
    assert "shares no query" in err


def test_columns_are_named_for_all_files_or_for_one_kind(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "q.csv").write_text("who,article,grade\nq1,a,1\n")
    (folder / "r.csv").write_text("who,doc_id,score\nq1,a,0.5\n")
    argv = ["eval", "q.csv", "r.csv", "-m", "RR", "--format", "csv", "--columns", "query_id=who"]
    code, out, _ = call_assay(capsys, *argv, "--columns", "qrels:doc_id=article")
    assert code == 0
    assert out.splitlines()[1].startswith("r,,,RR,1.0")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_assay(capsys, name, "--help")
    assert code == 0
    assert "example" in out
    assert f"assay {name}" in out


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call_assay(capsys, "--help")
    assert all(f"assay {name}" in out for name in COMMANDS)


def assay(*argv: str, stdin: str | None = None, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "assay"), *argv]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, cwd=cwd, timeout=120)


def test_standard_input_is_a_run(folder: Path) -> None:
    done = assay("eval", "qrels.txt", "-", "-m", "RR@10", "--format", "csv", stdin=RUN, cwd=folder)
    assert done.returncode == 0
    assert done.stdout.splitlines()[1].startswith("stdin,,,RR@10,0.5")


def test_standard_input_can_be_read_only_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call_assay(capsys, "eval", "qrels.txt", "-", "--queries", "-")
    assert code == 2
    assert "standard input (-) can be read only once" in err


def test_a_demo_without_a_folder_to_write_to_is_wrong_use(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = call_assay(capsys, "demo", "--folder", "qrels.txt")
    assert code == 2
    assert "--folder qrels.txt: cannot be made (File exists); name another" in err


def test_the_table_is_utf_8_whatever_the_locale(folder: Path) -> None:
    command = [str(Path(sys.executable).parent / "assay"), "eval", "qrels.txt", "bm25.run"]
    settings = {"PATH": os.environ["PATH"], "PYTHONIOENCODING": "ascii", "COLUMNS": "wide"}
    done = subprocess.run(command, capture_output=True, env=settings)
    assert (done.returncode, "●" in done.stdout.decode()) == (0, True)
    assert subprocess.run([*command[:2], "--help"], capture_output=True, env=settings).returncode == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_reported_in_one_line(folder: Path) -> None:
    command = [str(Path(sys.executable).parent / "assay"), "eval", "qrels.txt", "bm25.run"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith("assay eval: [Errno 28] No space left")
    assert "Traceback" not in done.stderr


def test_the_program_exits_with_the_code_of_its_error(folder: Path) -> None:
    done = assay("eval", "qrels.txt", "nothing", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_closed_pipe_is_no_error(folder: Path) -> None:
    program = Path(sys.executable).parent / "assay"
    done = subprocess.run(
        f"{program} eval qrels.txt bm25.run --per-query | head -c 5",
        shell=True,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.stdout == "query"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("written_by", ["write", "flush"])
def test_a_line_is_written_once_even_if_ctrl_c_interrupts_its_writing(
    tmp_path: Path, written_by: str
) -> None:
    def interrupt(frame: FrameType, event: str, function: Any) -> None:
        ours = frame.f_globals.get("__name__") == StandardError.__module__
        if event == "c_return" and ours and function.__name__ == written_by:
            sys.setprofile(None)
            raise KeyboardInterrupt

    report = io.TextIOWrapper(StandardError(io.FileIO(tmp_path / "log", "w")), "utf-8", line_buffering=True)
    sys.setprofile(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            print("first", file=report)
    finally:
        sys.setprofile(None)
    print("second", file=report)
    report.close()
    assert (tmp_path / "log").read_text() == "first\nsecond\n"


def test_an_old_name_of_a_setting_is_one_line_of_warning(folder: Path) -> None:
    rule = '[[gate.rules]]\nmeasure = "R@10"\nno_worse_than = 0.02\n'
    (folder / "assay.toml").write_text(f'[data]\nqrels = "nowhere"\n[candidate]\nrun = "nowhere"\n{rule}')
    done = assay("gate", cwd=folder)
    assert done.stderr.startswith(
        "warning: gate.rules[1].no_worse_than is now not_worse_than: rename it; "
        "the next version refuses no_worse_than\nassay gate: "
    )


def test_document_ids_that_never_match_are_warned_about(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "odd.run").write_text("q1 Q0 D-a 1 0.9 t\nq2 Q0 D-c 1 0.9 t\n")
    code, _, err = call_assay(capsys, "eval", "qrels.txt", "odd.run", "--format", "json")
    assert code == 0
    assert "warning: no document that odd returned was ever judged; the qrels have ids such as a, b, c" in err


def test_csv_says_on_standard_error_what_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "half.run").write_text("q1 Q0 a 1 0.9 t\n")
    _, _, err = call_assay(capsys, "eval", "qrels.txt", "half.run", "--format", "csv")
    assert "half: 2 judged queries, 1 of them missing from the run" in err


def test_swapped_files_are_recognised(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call_assay(capsys, "eval", "bm25.run", "qrels.txt")
    assert code == 2
    assert "this looks like a run (where both are given, QRELS is the first)" in err


def test_many_worst_queries_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "none.run").write_text("q1 Q0 x 1 0.9 t\n")
    _, _, err = call_assay(capsys, "eval", "qrels.txt", "none.run", "--worst", "1")
    assert "2 queries at 0.0000, such as q1" in err


def test_a_guide_is_scored_with_a_run_by_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "guide.json").write_text('[{"query": "reset it", "relevant_doc_ids": ["a"], "category": "x"}]')
    (folder / "run.json").write_text('{"reset it": {"b": 0.9, "a": 0.8}}')
    argv = ["eval", "guide.json", "run.json", "-m", "RR", "--by", "category", "--format", "csv"]
    code, out, _ = call_assay(capsys, *argv)
    assert code == 0
    assert [line.split(",")[1:5] for line in out.splitlines()[1:]] == [
        ["", "", "RR", "0.5"],
        ["category", "x", "RR", "0.5"],
    ]


def test_a_fault_of_the_program_has_another_exit_code_than_a_failed_gate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from assay.cli import call as run
    from assay.cli import eval as scoring

    def broken(arguments: object) -> None:
        raise ZeroDivisionError("whatever")

    monkeypatch.setattr(scoring, "command", broken)
    assert run(["eval", "a", "b"]) == 70
    assert "ZeroDivisionError" in (call_assay := capsys.readouterr().err)
    assert "fault of Assay" in call_assay


@pytest.mark.parametrize("command", ["eval", "compare", "failures", "gate"])
def test_runs_with_distances_are_warned_about_and_read_with_lower_is_better(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "far.run").write_text("q1 Q0 a 1 0.1 t\nq1 Q0 b 2 0.2 t\nq2 Q0 c 1 0.1 t\nq2 Q0 x 2 0.7 t\n")
    (folder / "assay.toml").write_text(
        '[data]\nqrels = "qrels.txt"\n[candidate]\nrun = "far.run"\n[[gate.rules]]\n'
        'measure = "RR"\nat_least = 0.1\n'
    )
    words = {
        "eval": ["qrels.txt", "far.run"],
        "compare": ["qrels.txt", "far.run", "bm25.run"],
        "failures": ["qrels.txt", "far.run"],
        "gate": [],
    }[command]
    warning = "warning: far: its scores contradict its rank column"
    assert warning in call_assay(capsys, command, *words)[2]
    _, out, err = call_assay(capsys, command, *words, "--lower-is-better", "--score-precision", "single")
    assert warning not in err
    assert out


def test_scores_per_query_show_the_text_beside_an_id_that_was_computed_from_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "guide.json").write_text('[{"query": "reset it", "relevant_doc_ids": ["a"]}]')
    (folder / "run.json").write_text('{"reset it": ["b", "a"]}')
    _, out, _ = call_assay(
        capsys, "eval", "guide.json", "run.json", "-m", "RR", "--per-query", "--format", "csv"
    )
    head, row = (line.split(",") for line in out.splitlines())
    assert head == ["query_id", "text", "run", "RR"]
    assert row[1:] == ["reset it", "run", "0.5"]
    argv = ["eval", "qrels.txt", "bm25.run", "--queries", "queries.tsv", "--per-query"]
    assert "reset my password" not in call_assay(capsys, *argv)[1]


def test_runs_are_named_by_the_option_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["compare", "qrels.txt", "bm25.run", "bm25.run", "--format", "json"]
    _, out, _ = call_assay(capsys, *argv, "--name", "before", "--name", "after")
    (candidate,) = json.loads(out)["candidates"]
    assert (json.loads(out)["baseline"], candidate["name"]) == ("before", "after")
    code, _, err = call_assay(capsys, *argv, "--name", "before")
    assert (code, "--name expects 2 different names, one for each run" in err) == (2, True)
    argv = ["failures", "qrels.txt", "bm25.run", "--exact", "bm25.run", "--name", "mine", "--format", "json"]
    assert json.loads(call_assay(capsys, *argv)[1])["name"] == "mine"


def test_runs_in_files_of_plain_or_equal_names_are_named_by_their_tags(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, tag in (("a", "dense-v2"), ("b", "bm25-k1")):
        (folder / name).mkdir()
        (folder / name / "system.run").write_text(RUN.replace(" t\n", f" {tag}\n"))
        (folder / name / "run.txt").write_text(RUN.replace(" t\n", f" {tag}\n"))
    for paths in (["a/system.run", "b/system.run"], ["a/run.txt", "b/run.txt"]):
        _, out, _ = call_assay(capsys, "eval", "qrels.txt", *paths, "--format", "json")
        assert [r["name"] for r in json.loads(out)["runs"]] == ["dense-v2", "bm25-k1"]
    _, out, _ = call_assay(capsys, "eval", "qrels.txt", "a/run.txt", "bm25.run", "--format", "json")
    assert [r["name"] for r in json.loads(out)["runs"]] == ["dense-v2", "bm25"]
