"""assay gate in a sample project: it passes, fails, is undecided, and says what to do."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from assay.cli import call as run
from assay.cli.gate import parser

ASSAY = Path(sys.executable).with_name("assay")
PROJECT = """
[data]
qrels = "helpcentre"
[baseline]
run = "bm25.run"
[candidate]
run = "lsa.run"
figures = { cost = 0.02 }
"""
BETTER = '[[gate.rules]]\nmeasure = "R@10"\nbetter_by = 0.01\n'
NO_WORSE = '[[gate.rules]]\nmeasure = "R@10"\nnot_worse_than = 0.05\nby = "category"\nmin_n = 30\n'
FLOOR = '[[gate.rules]]\nmeasure = "Robustness-0.5@10"\nat_least = {}\n'
COST = '[[gate.rules]]\nfigure = "cost"\nat_most = 0.05\n'


def call_gate(folder: Path, rules: str, *argv: str) -> tuple[int, str, str]:
    """Call `assay gate` from a shell, in a project with these rules."""
    (folder / "assay.toml").write_text(PROJECT + rules)
    env = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run([ASSAY, "gate", *argv], cwd=folder, capture_output=True, text=True, env=env)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def test_a_candidate_that_meets_all_rules_passes_with_0(demo: Path) -> None:
    code, out, err = call_gate(demo, BETTER + NO_WORSE + FLOOR.format(0.55) + COST)
    assert (code, err) == (0, "")
    assert out.startswith("passed: 9 of 9 checks hold\n")
    assert out.count("✓ pass") == 9


def test_a_candidate_that_breaks_a_rule_fails_with_1_and_says_where_to_look(demo: Path) -> None:
    code, out, _ = call_gate(demo, BETTER + FLOOR.format(0.8))
    assert code == 1
    assert out.startswith("failed: Robustness(delta=0.5)@10 at least 0.8 (all): 0.6429 (")
    assert "although this holds: R@10 better by 0.01 (all)" in " ".join(out.split())
    assert "assay failures shows the queries behind it" in " ".join(out.split())


def test_a_regression_fails_with_1_and_names_the_queries_that_lost(demo: Path) -> None:
    argv = ("--baseline", "lsa.run", "--candidate", "bm25.run")
    code, out, _ = call_gate(demo, '[[gate.rules]]\nmeasure = "R@10"\nnot_worse_than = 0.01\n', *argv)
    assert code == 1
    assert "worse by more than that" in out
    assert "look at the queries that lost most, such as" in out


def test_a_threshold_inside_the_noise_is_undecided_with_3_and_says_what_would_decide(demo: Path) -> None:
    code, out, _ = call_gate(demo, FLOOR.format(0.62))
    assert code == 3
    assert out.startswith("cannot be decided: Robustness(delta=0.5)@10 at least 0.62 (all): 0.6429 (")
    assert "queries would tell (now 280; if the value stays the same); or move the threshold" in " ".join(
        out.split()
    )


def test_too_few_queries_are_undecided_with_3(demo: Path) -> None:
    code, out, _ = call_gate(demo, "[gate]\nmin_queries = 1000\n" + BETTER)
    assert code == 3
    assert out.startswith(
        "cannot be decided: 280 judged queries, the rules require 1,000 (min_queries): judge more queries"
    )


def test_a_run_of_other_queries_is_undecided_with_3(demo: Path) -> None:
    (demo / "other.run").write_text("elsewhere Q0 a 1 1.0 t\n")
    code, out, err = call_gate(demo, FLOOR.format(0.5), "--candidate", "other.run")
    assert (code, out) == (3, "")
    assert "shares no query" in err


def test_all_problems_of_the_rules_are_reported_at_once_with_2(demo: Path) -> None:
    code, out, err = call_gate(demo, BETTER + "min_m = 3\n" + FLOOR.format(80) + "[gat]\n")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "assay gate: assay.toml: 3 settings are wrong",
        "  gate.rules[1].min_m: there is no such setting; did you mean min_n?",
        "  gate.rules[2].at_least: expected a number between 0 and 1, found 80",
        "  gat: there is no such setting; did you mean gate?",
    ]


def test_toml_that_does_not_parse_is_reported_with_its_line_and_2(demo: Path) -> None:
    code, _, err = call_gate(demo, "[[gate.rules]\n")
    line = PROJECT.count("\n") + 1
    assert code == 2
    assert err.startswith("assay gate: assay.toml: expected settings in TOML: ")
    assert f"line {line}" in err


def test_missing_files_are_all_reported_with_2(demo: Path) -> None:
    code, _, err = call_gate(demo, BETTER, "--candidate", "gone.run", "--baseline", "lost.run")
    assert code == 2
    advice = " (`assay run` writes the run of a system that returns documents)"
    assert err.splitlines()[1:] == [
        f"  baseline.run: there is no lost.run{advice}",
        f"  candidate.run: there is no gone.run{advice}",
    ]


def test_a_missing_project_is_reported_with_2(demo: Path) -> None:
    code, _, err = call_gate(demo, BETTER, "--project", "none.toml")
    assert code == 2
    assert err.startswith("assay gate: there is no none.toml: `assay init` writes an assay.toml")


@pytest.mark.parametrize("text", ["junit", "xml=assay.xml", "junit="])
def test_an_output_names_its_format_and_file(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    monkeypatch.chdir(demo)
    assert run(["gate", "--output", text]) == 2
    assert "--output expects FORMAT=FILE, with a format of table, json" in capsys.readouterr().err


def test_an_output_that_cannot_be_written_exits_with_2(demo: Path) -> None:
    code, out, err = call_gate(demo, BETTER, "--output", "junit=nowhere/assay.xml")
    assert (code, out) == (2, "")
    assert "nowhere/assay.xml" in err


def test_the_verdict_is_also_written_to_files(demo: Path) -> None:
    for rules, red in ((BETTER, False), (FLOOR.format(0.8), True)):
        outputs = [
            f"--output={style}={style}.out" for style in ("junit", "json", "md", "csv", "html", "table")
        ]
        code, out, err = call_gate(demo, rules, "--format", "md", *outputs)
        assert code == red
        assert (demo / "md.out").read_text() == out
        assert err.startswith("failed: " if red else "passed: ")
        suite = Xml.parse(demo / "junit.out").getroot()
        assert (suite.get("failures") != "0") == red
        assert json.loads((demo / "json.out").read_text())["exit_code"] == code


def test_only_the_result_is_printed_on_standard_output(demo: Path) -> None:
    _, out, err = call_gate(demo, BETTER, "--format", "json")
    assert json.loads(out)["words"] + "\n" == err


def test_help_lists_the_exit_codes() -> None:
    text = parser().format_help()
    assert "exit codes: 0 passed; 1 failed; 2 wrong use or bad input; 3 cannot be decided" in text


def test_a_failed_gate_whose_output_is_cut_still_fails(demo: Path) -> None:
    many = "".join(BETTER.replace("0.01", f"0.{i:03}") for i in range(400, 800))
    (demo / "many.toml").write_text(PROJECT + many)
    program = Path(sys.executable).parent / "assay"
    script = f"'{program}' gate --project many.toml | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=demo, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "1", done.stderr
