"""The files to copy are ready: they parse, their commands are real, and they run in a sample project."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
import yaml

from assay.cli import COMMANDS
from assay.core.errors import ConfigurationError
from assay.workflows.project import open_project

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
GITHUB = EXAMPLES / "ci" / "github-actions.yml"
GITLAB = EXAMPLES / "ci" / "gitlab-ci.yml"
TEXTS = sorted(path for path in EXAMPLES.rglob("*.*") if path.suffix in (".yml", ".md", ".toml"))
BIN = Path(sys.executable).parent
COMMAND = re.compile(rf"(?<![\w=./-])assay (?:{'|'.join(COMMANDS)})\b[^`\n]*")


def loaded(path: Path) -> dict[Any, Any]:
    made: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return made


def github_steps() -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = loaded(GITHUB)["jobs"]["gate"]["steps"]
    return steps


def github_script() -> str:
    (script,) = [step["run"] for step in github_steps() if "assay gate" in step.get("run", "")]
    return str(script)


@pytest.fixture
def project(demo: Path, tmp_path: Path) -> Path:
    """A team's repository: the help centre, two runs, and the assay.toml to copy."""
    shutil.copytree(demo / "helpcentre", tmp_path / "judgments")
    shutil.copy(EXAMPLES / "ci" / "assay.toml", tmp_path)
    runs = tmp_path / "runs"
    runs.mkdir()
    shutil.copy(demo / "bm25.run", runs / "main.run")
    shutil.copy(demo / "lsa.run", runs / "candidate.run")
    (runs / "main.toml").write_text('model = "bm25"\n')
    (runs / "candidate.toml").write_text('model = "lsa"\n')
    (runs / "latencies.csv").write_text("latency_ms\n" + "120\n" * 1000)
    (runs / "figures.json").write_text(json.dumps({"cost_per_1k_queries": 0.02}))
    return tmp_path


def worsened(project: Path) -> None:
    """A candidate that finds nothing for most queries."""
    path = project / "runs" / "candidate.run"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:5000]))


def unchanged(project: Path) -> None:
    """A candidate that returns what the baseline returns."""
    shutil.copy(project / "runs" / "main.run", project / "runs" / "candidate.run")


def with_options(project: Path) -> None:
    """Every option of the rules to copy, switched on."""
    path = project / "assay.toml"
    text = re.sub(r"(?m)^# (?=\[\[|\w+ = )", "", path.read_text())
    path.write_text(re.sub(r"(?m)^(queries|documents|columns|from) = .*\n", "", text))


def asking_for_more(project: Path) -> None:
    path = project / "assay.toml"
    path.write_text(path.read_text().replace("min_queries = 0 ", "min_queries = 2000 "))


def ran(script: str, project: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """A script as a pipeline runs it: it stops at the first command that fails."""
    (project / "script.sh").write_text(script)
    known = {"PATH": f"{BIN}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": str(project / "summary.md"), **env}
    return subprocess.run(["bash", "-e", "script.sh"], cwd=project, env=known, capture_output=True, text=True)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_every_command_of_assay_in_an_example_is_one_that_its_parser_takes(path: Path) -> None:
    found = COMMAND.findall(path.read_text(encoding="utf-8").replace("\\\n", " "))
    for line in found:
        words = shlex.split(re.split(r"\s(?:2?>|\|\||\|)", line)[0])
        import_module(f"assay.cli.{words[1]}").parser().parse_args(words[2:])
    assert found or path not in (GITHUB, GITLAB)


def test_the_github_workflow_may_comment_and_keeps_its_files() -> None:
    made, steps = loaded(GITHUB), github_steps()
    assert made[True] == "pull_request"  # YAML 1.1 reads the key `on` as true
    assert made["permissions"] == {"contents": "read", "pull-requests": "write"}
    (comment,) = [step for step in steps if step.get("run", "").startswith("gh pr comment")]
    assert "--body-file assay.md" in comment["run"]
    (kept,) = [step for step in steps if "upload-artifact" in step.get("uses", "")]
    assert kept["with"]["path"].split() == ["assay.xml", "assay.md"]
    assert all(step["if"].startswith("always()") for step in (comment, kept))


def test_the_gitlab_job_reports_its_tests_and_warns_where_nothing_can_be_decided() -> None:
    job = loaded(GITLAB)["search"]
    assert job["allow_failure"] == {"exit_codes": 3}
    assert job["artifacts"] == {"when": "always", "paths": ["assay.md"], "reports": {"junit": "assay.xml"}}


def test_the_github_step_passes_and_leaves_what_it_promises(project: Path) -> None:
    done = ran(github_script(), project, UNDECIDED="block")
    assert done.returncode == 0, done.stdout
    assert (project / "assay.md").read_text().startswith("## Assay gate: ✅ passed")
    assert (project / "summary.md").read_text() == (project / "assay.md").read_text()
    assert Xml.parse(project / "assay.xml").getroot().get("failures") == "0"
    assert done.stdout.startswith("passed: ")


def test_the_github_step_fails_with_the_gate(project: Path) -> None:
    worsened(project)
    done = ran(github_script(), project, UNDECIDED="warn")
    assert done.returncode == 1
    assert "❌ failed" in (project / "summary.md").read_text()
    assert Xml.parse(project / "assay.xml").getroot().get("failures") != "0"


@pytest.mark.parametrize(("undecided", "code"), [("block", 3), ("warn", 0)])
def test_the_github_step_blocks_or_warns_where_nothing_can_be_decided(
    project: Path, undecided: str, code: int
) -> None:
    asking_for_more(project)
    done = ran(github_script(), project, UNDECIDED=undecided)
    assert done.returncode == code
    warned = "::warning title=assay gate::cannot be decided: 280 judged queries" in done.stdout
    assert warned == (undecided == "warn")
    assert "❔ undecided" in (project / "summary.md").read_text()


def test_the_github_step_says_what_is_wrong_with_the_input(project: Path) -> None:
    (project / "runs" / "candidate.run").unlink()
    done = ran(github_script(), project, UNDECIDED="warn")
    assert done.returncode == 2
    assert "candidate.run: there is no" in done.stdout
    summary = (project / "summary.md").read_text()
    assert summary.startswith("## Assay gate: no verdict\n\n    assay gate: assay.toml: a setting is wrong\n")
    assert not (project / "assay.xml").exists()


@pytest.mark.parametrize(("prepare", "code"), [(None, 0), (worsened, 1), (asking_for_more, 3)])
def test_the_gitlab_script_leaves_its_files_and_the_exit_code_of_the_gate(
    project: Path, prepare: Any, code: int
) -> None:
    if prepare:
        prepare(project)
    done = ran("\n".join(loaded(GITLAB)["search"]["script"]), project)
    assert done.returncode == code
    assert (project / "assay.md").read_text().startswith("## Assay gate: ")
    assert Xml.parse(project / "assay.xml").getroot().tag == "testsuite"


@pytest.mark.parametrize("script", [GITHUB, GITLAB])
def test_a_change_that_changes_nothing_passes_the_rules_to_copy(project: Path, script: Path) -> None:
    unchanged(project)
    commands = github_script() if script == GITHUB else "\n".join(loaded(GITLAB)["search"]["script"])
    done = ran(commands, project, UNDECIDED="block")
    assert done.returncode == 0, done.stdout
    assert "3 of 3 checks hold" in done.stdout


def test_the_rules_to_copy_compare_and_every_kind_of_rule_is_an_option_of_them(project: Path) -> None:
    rules = open_project(EXAMPLES / "ci" / "assay.toml").rules
    assert {rule.condition for rule in rules.rules} == {"not_worse_than"}
    assert (rules.level, rules.correction, rules.undecided_policy) == (0.95, "holm", "hold")
    with_options(project)
    rules = open_project(project / "assay.toml").rules
    assert {rule.subject for rule in rules.rules} == {"measure", "latency", "slo_ms", "figure"}
    assert {rule.condition for rule in rules.rules} == {"at_least", "at_most", "not_worse_than", "better_by"}
    assert rules.by == ("category", "frequency")


def test_the_github_step_runs_with_every_option_of_the_rules_to_copy(project: Path) -> None:
    with_options(project)
    done = ran(github_script(), project, UNDECIDED="block")
    assert done.returncode in (0, 3), done.stdout
    assert "cost_per_1k_queries at most 0.05" in (project / "assay.md").read_text()


def test_the_guide_shows_the_rules_to_copy() -> None:
    guide = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    assert (EXAMPLES / "ci" / "assay.toml").read_text(encoding="utf-8") in guide


def test_the_guide_names_every_setting(tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_text(
        "[data]\nx_x = 1\n[candidate]\nx_x = 1\n[baseline]\n[gate]\nx_x = 1\n[[gate.rules]]\nx_x = 1\n"
    )
    guide = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        open_project(tmp_path / "assay.toml")
    known = re.findall(r"known: (.*)", "\n".join(caught.value.problems.values()))
    assert len(known) == 4
    assert [
        name for names in known for name in names.split(", ") if not re.search(rf"\b{name}\b", guide)
    ] == []


@pytest.mark.parametrize(("prepare", "ended"), [(None, "1 passed"), (worsened, "1 failed")])
def test_the_test_to_copy_runs_in_the_sample_project(project: Path, prepare: Any, ended: str) -> None:
    shutil.copy(EXAMPLES / "ci" / "test_search.py", project)
    if prepare:
        prepare(project)
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=."]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert ended in done.stdout


def test_every_link_of_the_examples_leads_somewhere() -> None:
    page = EXAMPLES / "README.md"
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
