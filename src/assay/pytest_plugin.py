"""A pytest plugin with the fixture `assay_gate`.

    def test_search_may_ship(assay_gate):
        assay_gate()                                    # the rules of assay.toml
        assay_gate(candidate="runs/branch.run")         # another candidate

Paths are relative to the root folder of the tests. The test fails if a rule fails, and also if the gate
cannot be decided, unless undecided="skip".
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from assay.evaluation.gate import GateVerdict


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting that names the project."""
    parser.addini("assay_project", "the assay.toml whose rules assay_gate checks", default="assay.toml")


@pytest.fixture
def assay_gate(request: pytest.FixtureRequest) -> Callable[..., GateVerdict]:
    """Check the rules of assay.toml for a candidate; fail with the verdict in words."""

    def check(
        candidate: str | None = None,
        baseline: str | None = None,
        project: str | Path | None = None,
        undecided: str = "fail",
    ) -> GateVerdict:
        __tracebackhide__ = True
        # imported here: pytest loads plugins for every test suite, and this loads numpy
        from assay.core.errors import AssayError, UndecidableError
        from assay.views.checks import describe_verdict
        from assay.views.gate import render_verdict
        from assay.workflows.gate import GateRequest, decide_gate

        if undecided not in ("fail", "skip"):
            raise ValueError(f'undecided must be "fail" or "skip", found {undecided!r}')
        root = request.config.rootpath
        gate_request = GateRequest(
            project=root / (project or request.config.getini("assay_project")),
            candidate=None if candidate is None else str(root / candidate),
            baseline=None if baseline is None else str(root / baseline),
        )
        problem: AssayError | None = None
        try:
            verdict = decide_gate(gate_request).verdict
        except AssayError as error:
            problem = error
        if isinstance(problem, UndecidableError) and undecided == "skip":
            pytest.skip(str(problem))
        if problem is not None:
            pytest.fail(f"assay gate: {problem}", pytrace=False)
        if verdict.status == "undecided" and undecided == "skip":
            pytest.skip(describe_verdict(verdict))
        if verdict.status != "passed":
            pytest.fail(render_verdict(verdict, "table"), pytrace=False)
        return verdict

    return check
