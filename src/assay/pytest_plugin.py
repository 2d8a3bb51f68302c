"""For teams that test in pytest: the fixture `assay_gate`.

    def test_search_may_ship(assay_gate):
        assay_gate()                                    # the rules of assay.toml
        assay_gate(candidate="runs/branch.run")         # another candidate

Paths are from the root of the tests on, as assay.toml is. A failed rule fails the test; what cannot be
decided fails it too, unless undecided="skip".
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from assay.evaluation.gate import Verdict


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where the rules are."""
    parser.addini("assay_project", "the assay.toml whose rules assay_gate holds", default="assay.toml")


@pytest.fixture
def assay_gate(request: pytest.FixtureRequest) -> Callable[..., Verdict]:
    """Hold the rules of assay.toml against a candidate; fail with the verdict in words."""

    def hold(
        candidate: str | None = None,
        baseline: str | None = None,
        project: str | Path | None = None,
        undecided: str = "fail",
    ) -> Verdict:
        __tracebackhide__ = True
        from assay.core.errors import AssayError, UndecidableError
        from assay.project.project import open_project
        from assay.views.gate import verdict

        if undecided not in ("fail", "skip"):
            raise ValueError(f'undecided must be "fail" or "skip", found {undecided!r}')
        root = request.config.rootpath
        where = root / (project or request.config.getini("assay_project"))
        runs = {"candidate": candidate, "baseline": baseline}
        given = {name: str(root / run) for name, run in runs.items() if run is not None}
        problem: AssayError | None = None
        try:
            made = open_project(where, **given).gate()
        except AssayError as error:
            problem = error
        if isinstance(problem, UndecidableError) and undecided == "skip":
            pytest.skip(str(problem))
        if problem is not None:
            pytest.fail(f"assay gate: {problem}", pytrace=False)
        if made.status == "undecided" and undecided == "skip":
            pytest.skip(made.words)
        if made.status != "passed":
            pytest.fail(verdict(made, "table"), pytrace=False)
        return made

    return hold
