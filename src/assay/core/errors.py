"""What can go wrong, as a small tree.

    AssayError
    ├── InputError              what was given cannot be used
    │   ├── FormatError         a file is not what it should be (path and line)
    │   ├── TableError          a table lacks a column, a type or a key
    │   ├── MeasureError        a measure's name or parameter is wrong
    │   ├── ConfigurationError  settings are wrong (all of them, by field)
    │   └── MissingExtraError   an optional library is not installed
    ├── EngineError             an engine failed: it crashed, hung, or refused with words of its own
    ├── StoreError              what is remembered cannot be reached, read or written
    └── UndecidableError        the input is sound, but nothing can be said from it

Each message says what was expected, what was found and what to do.
"""

from collections.abc import Mapping


class AssayError(Exception):
    """Anything Assay refuses to do; `exit_code` is what the command line leaves with."""

    exit_code = 2


class InputError(AssayError, ValueError):
    """What was given cannot be used."""


class FormatError(InputError):
    """A file is not what it should be."""

    def __init__(self, problem: str, path: str = "", line: int | None = None) -> None:
        self.problem, self.path, self.line = problem, path, line
        where = f"{path}:{line}" if line else path
        super().__init__(f"{where}: {problem}" if where else problem)


class TableError(InputError):
    """A table lacks a column, a type or a key."""


class MeasureError(InputError):
    """A measure's name or parameter is wrong."""


class ConfigurationError(InputError):
    """Settings are wrong: every problem by the field it is in."""

    def __init__(self, problems: Mapping[str, str], path: str = "") -> None:
        self.problems, self.path = dict(problems), path
        head = f"{path}: " if path else ""
        count = f"{len(problems)} settings are" if len(problems) > 1 else "a setting is"
        listed = "\n".join(f"  {field}: {problem}" for field, problem in problems.items())
        super().__init__(f"{head}{count} wrong\n{listed}")


class MissingExtraError(InputError, ImportError):
    """An optional library is not installed."""

    def __init__(self, library: str, purpose: str, extra: str, how: str = "") -> None:
        said = how or f"pip install 'assay[{extra}]'"
        super().__init__(f"{purpose} needs {library}, which is not installed: {said}")


class EngineError(AssayError):
    """An engine failed."""


class StoreError(AssayError):
    """What is remembered cannot be reached, read or written."""


class UndecidableError(AssayError):
    """The input is sound, but nothing can be said from it."""

    exit_code = 3
