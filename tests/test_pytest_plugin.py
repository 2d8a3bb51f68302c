"""The fixture assay_gate: a search that may not ship fails a team's test."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

N = 40
RULE = '[[gate.rules]]\nmeasure = "RR@10"\nat_least = {}\n'
TEST = "def test_search_may_ship(assay_gate):\n    assay_gate({})\n"


@pytest.fixture
def project(pytester: pytest.Pytester) -> Path:
    """A team's project, with a run that is right, one that is wrong and one half right."""
    pytester.makefile(".txt", qrels="\n".join(f"q{i} 0 a 1" for i in range(N)))
    for name, first in (("right", "aa"), ("wrong", "xx"), ("half", "ax")):
        rows = (f"q{i} Q0 {first[i % 2]} 1 1.0 t\nq{i} Q0 y 2 0.5 t" for i in range(N))
        pytester.makefile(".run", **{name: "\n".join(rows)})
    toml(pytester.path)
    return pytester.path


def toml(folder: Path, threshold: float = 0.5, name: str = "assay.toml", data: str = "qrels.txt") -> None:
    text = f'[data]\nqrels = "{data}"\n[candidate]\nrun = "right.run"\n'
    (folder / name).write_text(text + RULE.format(threshold))


def outcomes(pytester: pytest.Pytester, call: str = "", *argv: str) -> tuple[dict[str, int], str]:
    """How a test that calls assay_gate ends, warnings being errors, and what pytest says."""
    pytester.makepyfile(TEST.format(call))
    done = pytester.runpytest_subprocess("-W", "error", "-ra", "-p", "no:cacheprovider", *argv)
    return done.parseoutcomes(), done.stdout.str()


def test_a_candidate_that_passes_passes_the_test(project: Path, pytester: pytest.Pytester) -> None:
    assert outcomes(pytester)[0] == {"passed": 1}


def test_a_candidate_that_fails_fails_the_test_with_the_verdict(
    project: Path, pytester: pytest.Pytester
) -> None:
    ended, said = outcomes(pytester, "candidate='wrong.run'")
    assert ended == {"failed": 1}
    assert "failed: RR@10 at least 0.5 (all): 0.0000" in said
    assert "✗ FAIL" in said
    assert "pytest_plugin.py" not in said  # no trace of ours


def test_what_cannot_be_decided_fails_the_test(project: Path, pytester: pytest.Pytester) -> None:
    ended, said = outcomes(pytester, "'half.run'")
    assert ended == {"failed": 1}
    assert "cannot be decided: RR@10 at least 0.5" in said


def test_what_cannot_be_decided_may_skip_the_test(project: Path, pytester: pytest.Pytester) -> None:
    ended, said = outcomes(pytester, "'half.run', undecided='skip'")
    assert ended == {"skipped": 1}
    assert "cannot be decided: RR@10 at least 0.5" in said


def test_runs_of_other_queries_skip_it_too(project: Path, pytester: pytest.Pytester) -> None:
    (project / "other.run").write_text("z Q0 a 1 1.0 t\n")
    assert outcomes(pytester, "'other.run', undecided='skip'")[0] == {"skipped": 1}
    assert outcomes(pytester, "'other.run'")[0] == {"failed": 1}


def test_a_word_that_is_neither_fail_nor_skip_is_refused(project: Path, pytester: pytest.Pytester) -> None:
    ended, said = outcomes(pytester, "undecided='pass'")
    assert ended == {"failed": 1}
    assert 'undecided must be "fail" or "skip", found \'pass\'' in said


def test_bad_settings_fail_the_test_with_what_is_wrong(project: Path, pytester: pytest.Pytester) -> None:
    toml(project, data="gone.txt")
    ended, said = outcomes(pytester, "undecided='skip'")
    assert ended == {"failed": 1}
    assert "data.qrels: there is no" in said


def test_the_project_may_be_named_in_the_settings_of_pytest_or_in_the_call(
    project: Path, pytester: pytest.Pytester
) -> None:
    toml(project, threshold=1.5, name="strict.toml")
    pytester.makeini("[pytest]\nassay_project = strict.toml\n")
    assert outcomes(pytester)[0] == {"failed": 1}
    assert outcomes(pytester, "project='assay.toml'")[0] == {"passed": 1}


def test_the_rules_are_found_from_a_folder_below(project: Path, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\n")
    pytester.makepyfile(TEST.format(""))
    below = pytester.mkdir("below")
    test = next(project.glob("test_*.py"))
    test.rename(below / test.name)
    done = pytester.runpytest_subprocess("-W", "error", "-p", "no:cacheprovider", "below")
    assert done.parseoutcomes() == {"passed": 1}


def test_the_fixture_gives_the_verdict(project: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(assay_gate):\n    assert assay_gate().checks[0].value.value == 1.0\n")
    assert pytester.runpytest_subprocess("-W", "error").parseoutcomes() == {"passed": 1}


def test_a_team_that_does_not_ask_pays_for_no_import(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\ndef test_it():\n    assert not {'numpy', 'polars', 'scipy'} & sys.modules.keys()\n"
    )
    assert pytester.runpytest_subprocess("-p", "no:hypothesispytest").parseoutcomes() == {"passed": 1}
