"""The fixture assay_gate: a candidate that fails the gate fails the test."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

N = 40
RULE = '[[gate.rules]]\nmeasure = "RR@10"\nat_least = {}\n'
_LEFT_OUT = [f"-pno:{plugin}" for plugin in ("cacheprovider", "hypothesispytest", "xdist", "anyio")]
TEST = "def test_search_may_ship(assay_gate):\n    assay_gate({})\n"


@pytest.fixture
def project(pytester: pytest.Pytester) -> Path:
    """A project with a run that is right, one that is wrong, and one that is half right."""
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
    """Run a test that calls assay_gate, with warnings as errors; return its outcome and the output."""
    pytester.makepyfile(TEST.format(call))
    done = pytester.runpytest_subprocess("-W", "error", "-ra", *_LEFT_OUT, *argv)
    return done.parseoutcomes(), done.stdout.str()


def test_a_candidate_that_passes_passes_the_test(project: Path, pytester: pytest.Pytester) -> None:
    assert outcomes(pytester)[0] == {"passed": 1}


def test_a_candidate_that_fails_fails_the_test_with_the_verdict(
    project: Path, pytester: pytest.Pytester
) -> None:
    counts, output = outcomes(pytester, "candidate='wrong.run'")
    assert counts == {"failed": 1}
    assert "failed: RR@10 at least 0.5 (all): 0.0000" in output
    assert "✗ FAIL" in output
    assert "pytest_plugin.py" not in output  # no traceback of the plugin


def test_an_undecided_gate_fails_the_test(project: Path, pytester: pytest.Pytester) -> None:
    counts, output = outcomes(pytester, "'half.run'")
    assert counts == {"failed": 1}
    assert "cannot be decided: RR@10 at least 0.5" in output


def test_an_undecided_gate_can_skip_the_test(project: Path, pytester: pytest.Pytester) -> None:
    counts, output = outcomes(pytester, "'half.run', undecided='skip'")
    assert counts == {"skipped": 1}
    assert "cannot be decided: RR@10 at least 0.5" in output


def test_runs_of_other_queries_skip_it_too(project: Path, pytester: pytest.Pytester) -> None:
    (project / "other.run").write_text("z Q0 a 1 1.0 t\n")
    assert outcomes(pytester, "'other.run', undecided='skip'")[0] == {"skipped": 1}
    assert outcomes(pytester, "'other.run'")[0] == {"failed": 1}


def test_a_word_that_is_neither_fail_nor_skip_is_refused(project: Path, pytester: pytest.Pytester) -> None:
    counts, output = outcomes(pytester, "undecided='pass'")
    assert counts == {"failed": 1}
    assert 'undecided must be "fail" or "skip", found \'pass\'' in output


def test_bad_settings_fail_the_test_with_their_problems(project: Path, pytester: pytest.Pytester) -> None:
    toml(project, data="gone.txt")
    counts, output = outcomes(pytester, "undecided='skip'")
    assert counts == {"failed": 1}
    assert "data.qrels: there is no" in output


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
    done = pytester.runpytest_subprocess("-W", "error", *_LEFT_OUT, "below")
    assert done.parseoutcomes() == {"passed": 1}


def test_the_fixture_returns_the_verdict(project: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(assay_gate):\n    assert assay_gate().checks[0].value.value == 1.0\n")
    assert pytester.runpytest_subprocess("-W", "error").parseoutcomes() == {"passed": 1}


def test_a_suite_without_the_fixture_loads_no_heavy_library(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\ndef test_it():\n    assert not {'numpy', 'polars', 'scipy'} & sys.modules.keys()\n"
    )
    assert pytester.runpytest_subprocess("-p", "no:hypothesispytest").parseoutcomes() == {"passed": 1}
