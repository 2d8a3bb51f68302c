"""The exceptions of Assay.

    AssayError
    ├── InputError              the input cannot be used
    │   ├── FormatError         a file does not have the expected format (path and line)
    │   ├── TableError          a table lacks a column, a type or a key
    │   ├── MeasureError        a measure's name or parameter is wrong
    │   ├── ConfigurationError  settings are wrong (all of them, by field)
    │   └── MissingExtraError   an optional library is not installed
    ├── EngineError             an engine crashed, hung or returned an error
    ├── RemoteError             a call of a search service or a model failed (assay.remote.errors)
    ├── StoreError              the store cannot be reached, read or written
    └── UndecidableError        the input is valid, but does not allow a decision

Each message says what was expected, what was found and what to do.
"""

import os
from collections.abc import Mapping

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def describe_exception(error: BaseException) -> str:
    """Return the file and line that raised an exception of someone else's code, its type and its message.

    >>> describe_exception(KeyError("title"))  # was never raised, so it has no line
    "KeyError: 'title'"
    """
    location, entry = "", error.__traceback__
    while entry is not None:
        path = entry.tb_frame.f_code.co_filename
        if not path.startswith(("<", _PACKAGE)):
            location = f"{path.removeprefix(os.getcwd() + os.sep)}:{entry.tb_lineno}: "
        entry = entry.tb_next
    return f"{location}{type(error).__name__}: {error}"


def first_line(error: BaseException) -> str:
    """Return the first line of the message of a library's error.

    >>> first_line(ValueError("not a number\\nat line 3"))
    'not a number'
    """
    return (str(error).splitlines() or [""])[0]


class AssayError(Exception):
    """The base class; `exit_code` is the exit code of the command line."""

    exit_code = 2


class InputError(AssayError, ValueError):
    """The input cannot be used."""


class FormatError(InputError):
    """A file does not have the expected format."""

    def __init__(self, problem: str, path: str = "", line: int | None = None) -> None:
        self.problem, self.path, self.line = problem, path, line
        location = f"{path}:{line}" if line else path
        super().__init__(f"{location}: {problem}" if location else problem)


class TableError(InputError):
    """A table lacks a column, a type or a key."""


class MeasureError(InputError):
    """A measure's name or parameter is wrong."""


class ConfigurationError(InputError):
    """Settings are wrong: `problems` has every problem by its field."""

    def __init__(self, problems: Mapping[str, str], path: str = "") -> None:
        self.problems, self.path = dict(problems), path
        head = f"{path}: " if path else ""
        count = f"{len(problems)} settings are" if len(problems) > 1 else "a setting is"
        lines = "\n".join(f"  {field}: {problem}" for field, problem in problems.items())
        super().__init__(f"{head}{count} wrong\n{lines}")


class MissingExtraError(InputError, ImportError):
    """An optional library is not installed."""

    def __init__(self, library: str, purpose: str, extra: str, install_command: str = "") -> None:
        command = install_command or f"pip install 'assay-search[{extra}]'"
        super().__init__(f"{purpose} needs {library}, which is not installed: {command}")


class EngineError(AssayError):
    """An engine crashed, hung or returned an error."""


class StoreError(AssayError):
    """The store cannot be reached, read or written."""


class UndecidableError(AssayError):
    """The input is valid, but does not allow a decision."""

    exit_code = 3


class OldNameWarning(FutureWarning):
    """A setting has a name that the next version no longer reads."""
