"""Settings read field by field, so that everything wrong with them is said at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any


class Fields:
    """The fields of a table of settings: what was asked for, and what is wrong with what was given."""

    def __init__(self, given: Mapping[str, Any], where: str, problems: dict[str, str] | None = None) -> None:
        self.given, self.where = given, where
        self.problems: dict[str, str] = {} if problems is None else problems
        self.seen: set[str] = set()

    def inner(self, name: str) -> Fields:
        """The fields of a table inside this one; empty where it is not given."""
        value = self.take(name, "a table", lambda v: isinstance(v, Mapping), {})
        return Fields(value, self._name(name), self.problems)

    def each(self, name: str) -> list[Fields]:
        """The fields of each table in a list."""
        given = self.take(name, "a list of tables", lambda v: isinstance(v, list), [])
        made = []
        for number, value in enumerate(given, 1):
            where = f"{self._name(name)}[{number}]"
            if isinstance(value, Mapping):
                made.append(Fields(value, where, self.problems))
            else:
                self.problems[where] = f"expected a table, found {value!r}"
        return made

    def take(self, name: str, expected: str, holds: Callable[[Any], bool], default: Any) -> Any:
        """A field's value, the default where it is not given or wrong."""
        self.seen.add(name)
        if name not in self.given:
            return default
        value = self.given[name]
        try:
            good = not isinstance(value, bool) and holds(value)
        except TypeError:
            good = False
        if not good:
            self.wrong(name, f"expected {expected}, found {value!r}")
        return value if good else default

    def text(self, name: str, expected: str = "text") -> str | None:
        """A text, None where it is not given."""
        made = self.take(name, expected, lambda v: isinstance(v, str) and v != "", None)
        return None if made is None else str(made)

    def texts(self, name: str, expected: str) -> list[str]:
        """One text or a list of them."""
        made = self.take(name, expected, _is_texts, [])
        return [made] if isinstance(made, str) else list(made)

    def number(self, name: str, expected: str, holds: Callable[[float], bool], default: float) -> float:
        """A number."""
        return float(self.take(name, expected, lambda v: is_number(v) and holds(v), default))

    def count(self, name: str, default: int, least: int = 0) -> int:
        """A whole number."""
        expected = f"a whole number of at least {least}"
        return int(self.take(name, expected, lambda v: isinstance(v, int) and v >= least, default))

    def one_of(self, name: str, choices: tuple[str, ...], default: str) -> str:
        """One of a few words."""
        return str(self.take(name, f"one of {', '.join(choices)}", lambda v: v in choices, default))

    def exactly_one(self, names: tuple[str, ...], what: str) -> str | None:
        """The one of several fields that is given."""
        self.seen.update(names)
        found = [name for name in names if name in self.given]
        if len(found) != 1:
            said = f"found {', '.join(found)}" if found else "found none"
            problem = f"expected exactly one of {', '.join(names)} ({what}), {said}"
            before = self.problems.get(self.where)
            self.problems[self.where] = f"{before}; {problem}" if before else problem
        return found[0] if len(found) == 1 else None

    def wrong(self, name: str, problem: str) -> None:
        """Note what is wrong with a field."""
        self.problems[self._name(name)] = problem

    def done(self) -> None:
        """Note every field that nobody asked for: it is misspelt, or does not belong here."""
        for name in self.given:
            if name not in self.seen:
                near = get_close_matches(name, self.seen, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(self.seen))}"
                self.wrong(name, f"there is no such setting; {hint}")

    def _name(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name


def is_number(value: Any) -> bool:
    """Whether a value is a number, and neither NaN nor infinite."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_texts(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(v, str) for v in value))
