"""Reading of settings field by field, so that all problems are reported at once."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from assay.core.errors import OldNameWarning
from assay.core.suggestions import did_you_mean


class SettingsReader:
    """Reads the fields of a table of settings and collects the problems of all of them."""

    def __init__(
        self, settings: Mapping[str, Any], prefix: str, problems: dict[str, str] | None = None
    ) -> None:
        self.settings, self.prefix = settings, prefix
        self.problems: dict[str, str] = {} if problems is None else problems
        self.names_read: set[str] = set()

    def table(self, name: str) -> SettingsReader:
        """Return a reader of the table inside this one; an empty one if it is missing."""
        value = self.value(name, "a table", lambda v: isinstance(v, Mapping), {})
        return SettingsReader(value, self._full_name(name), self.problems)

    def tables(self, name: str) -> list[SettingsReader]:
        """Return a reader of each table in a list of tables."""
        values = self.value(name, "a list of tables", lambda v: isinstance(v, list), [])
        readers = []
        for number, value in enumerate(values, 1):
            prefix = f"{self._full_name(name)}[{number}]"
            if isinstance(value, Mapping):
                readers.append(SettingsReader(value, prefix, self.problems))
            else:
                self.problems[prefix] = f"expected a table, found {value!r}"
        return readers

    def value(self, name: str, expected: str, holds: Callable[[Any], bool], default: Any) -> Any:
        """Return the value of a field, or the default if it is missing or wrong."""
        self.names_read.add(name)
        if name not in self.settings:
            return default
        value = self.settings[name]
        try:
            is_valid = not isinstance(value, bool) and holds(value)
        except TypeError:
            is_valid = False
        if not is_valid:
            self.add_problem(name, f"expected {expected}, found {value!r}")
        return value if is_valid else default

    def text(self, name: str, expected: str = "text") -> str | None:
        """Return a text, None if it is missing."""
        value = self.value(name, expected, lambda v: isinstance(v, str) and v != "", None)
        return None if value is None else str(value)

    def texts(self, name: str, expected: str) -> list[str]:
        """Return a list of texts; the setting may be one text or a list."""
        value = self.value(name, expected, _is_text_or_list, [])
        return [value] if isinstance(value, str) else list(value)

    def number(self, name: str, expected: str, holds: Callable[[float], bool], default: float) -> float:
        """Return a number."""
        return float(self.value(name, expected, lambda v: is_number(v) and holds(v), default))

    def count(self, name: str, default: int, least: int = 0) -> int:
        """Return a whole number."""
        expected = f"a whole number of at least {least}"
        return int(self.value(name, expected, lambda v: isinstance(v, int) and v >= least, default))

    def flag(self, name: str) -> bool:
        """Return whether a setting is true; it is false if it is missing."""
        self.names_read.add(name)
        value = self.settings.get(name, False)
        if not isinstance(value, bool):
            self.add_problem(name, f"expected true or false, found {value!r}")
        return value is True

    def one_of(self, name: str, choices: tuple[str, ...], default: str) -> str:
        """Return one of the choices."""
        return str(self.value(name, f"one of {', '.join(choices)}", lambda v: v in choices, default))

    def exactly_one(self, names: tuple[str, ...], purpose: str) -> str | None:
        """Return the one of these fields that is present; record a problem if there is not exactly one."""
        self.names_read.update(names)
        present = [name for name in names if name in self.settings]
        if len(present) != 1:
            listing = f"found {', '.join(present)}" if present else "found none"
            problem = f"expected exactly one of {', '.join(names)} ({purpose}), {listing}"
            earlier = self.problems.get(self.prefix)
            self.problems[self.prefix] = f"{earlier}; {problem}" if earlier else problem
        return present[0] if len(present) == 1 else None

    def accept_old_name(self, old: str, new: str) -> None:
        """Read a field by the name that it had before this version, with a warning."""
        if old in self.settings and new not in self.settings:
            message = f"{self._full_name(old)} is now {new}: rename it; the next version refuses {old}"
            warnings.warn(message, OldNameWarning, stacklevel=2)
            self.settings = {new if name == old else name: value for name, value in self.settings.items()}

    def add_problem(self, name: str, problem: str) -> None:
        """Record the problem of a field."""
        self.problems[self._full_name(name)] = problem

    def refuse_unknown(self) -> None:
        """Record a problem for every field that was not read: it is misspelt or does not belong here."""
        for name in self.settings:
            if name not in self.names_read:
                hint = did_you_mean(name, self.names_read) or f"known: {', '.join(sorted(self.names_read))}"
                self.add_problem(name, f"there is no such setting; {hint}")

    def _full_name(self, name: str) -> str:
        return f"{self.prefix}.{name}" if self.prefix else name


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_text_or_list(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(v, str) for v in value))
