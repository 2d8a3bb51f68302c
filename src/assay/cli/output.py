"""Print the result of a workflow."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol

from assay.cli import show


class PlainResult(Protocol):
    """A result that can be written as plain data."""

    def to_dict(self) -> Any:
        """The result as plain data."""


def result_text(result: PlainResult, style: str, render: Callable[[str], str]) -> str:
    """Return a result as JSON, or as `render` renders it in another format."""
    if style == "json":
        return json.dumps(result.to_dict(), indent=1, ensure_ascii=False)
    return render(style)


def show_result(result: PlainResult, style: str, render: Callable[[str], str]) -> None:
    """Print a result as JSON, or as `render` renders it in another format."""
    show(result_text(result, style, render))
