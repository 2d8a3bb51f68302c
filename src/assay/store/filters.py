"""Filters of experiments: metrics.nDCG@10 > 0.4 and params.index_type = 'hnsw'.

filter     := part (or part)*
part       := item (and item)*
item       := not item | ( filter ) | field operator literal | field
field      := metrics.MEASURE | metrics.MEASURE[column=value] | params.KEY | latency.KEY | figures.KEY
              | environment.KEY | policy.KEY | name | kind | note | tag | code | id | at | pinned
operator   := = != < <= > >= ~ (contains)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, not_, or_, select

from assay.core.errors import InputError, MeasureError
from assay.measures import parse
from assay.store.schema import attributes, experiments, metrics, tags

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<metric>metrics\.(?:"[^"]+"|[A-Za-z0-9_]+(?:\([^)]*\))?(?:-[0-9.]+)?(?:@[0-9.]+)?)(?:\[[^\]]+\])?)
  | (?P<field>[A-Za-z_][\w.\-]*)
  | (?P<text>'[^']*'|"[^"]*")
  | (?P<number>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)
  | (?P<operator>!=|<=|>=|=|<|>|~)
  | (?P<mark>[()])
    )""",
    re.X,
)
_DEEPEST = 50
LONGEST = 500  # characters of a text by which an experiment is found
_SPACES = ("params", "latency", "figures", "environment", "policy")
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "~": lambda a, b: a.icontains(str(b), autoescape=True),
}
Token = tuple[str, str]


class _Number(float):
    """A number that still knows how it was written: the name 7 is not 7.0."""

    def __new__(cls, text: str) -> _Number:
        made = super().__new__(cls, text)
        made.text = text
        return made

    text: str

    def __str__(self) -> str:
        return self.text


def condition(text: str) -> ColumnElement[bool]:
    """The condition on experiments that a filter says."""
    return _Reader(text).whole()


class _Reader:
    """A filter, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.tokens = self._tokens()

    def _tokens(self) -> list[Token]:
        made, place = list[Token](), 0
        while self.text[place:].strip():
            match = _TOKEN.match(self.text, place)
            if match is None:
                raise self._wrong(
                    f"{self.text[place:].strip()[:20]!r} is neither a field, an operator nor a value"
                )
            kind = str(match.lastgroup)
            made.append((kind, match.group(kind)))
            place = match.end()
        return made

    def _wrong(self, problem: str) -> InputError:
        shortened = self.text if len(self.text) <= 200 else f"{self.text[:200]}…"
        return InputError(
            f"the filter {shortened!r} cannot be read: {problem}; expected such as "
            "metrics.nDCG@10 > 0.4 and params.index_type = 'hnsw'"
        )

    def _next(self, *words: str) -> bool:
        """Whether the next token is one of these words, which is then taken."""
        here = self.at < len(self.tokens) and self.tokens[self.at][1].lower() in words
        self.at += here
        return here

    def whole(self) -> ColumnElement[bool]:
        """The filter up to its end."""
        made = self._any()
        if self.at < len(self.tokens):
            raise self._wrong(f"it goes on with {self.tokens[self.at][1]!r} where it should end")
        return made

    def _any(self) -> ColumnElement[bool]:
        parts = [self._all()]
        while self._next("or"):
            parts.append(self._all())
        return or_(*parts)

    def _all(self) -> ColumnElement[bool]:
        parts = [self._item()]
        while self._next("and"):
            parts.append(self._item())
        return and_(*parts)

    def _item(self) -> ColumnElement[bool]:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self._wrong(f"it is too deep, more than {_DEEPEST} parentheses or nots in each other")
        made = self._one()
        self.depth -= 1
        return made

    def _one(self) -> ColumnElement[bool]:
        if self._next("not"):
            return not_(self._item())
        if self._next("("):
            made = self._any()
            if not self._next(")"):
                raise self._wrong("a parenthesis is not closed")
            return made
        return self._comparison()

    def _comparison(self) -> ColumnElement[bool]:
        if self.at >= len(self.tokens) or self.tokens[self.at][0] not in ("metric", "field"):
            found = self.tokens[self.at][1] if self.at < len(self.tokens) else "the end"
            raise self._wrong(f"a field was expected, found {found!r}")
        kind, field = self.tokens[self.at]
        self.at += 1
        operator = self.tokens[self.at][1] if self.at < len(self.tokens) else ""
        if operator not in _COMPARE:
            return self._held(kind, field, None, None)
        self.at += 1
        return self._held(kind, field, operator, self._literal())

    def _literal(self) -> str | float:
        if self.at >= len(self.tokens):
            raise self._wrong("a value is missing at the end")
        kind, value = self.tokens[self.at]
        self.at += 1
        if kind == "text":
            return value[1:-1]
        if kind == "number":
            return _Number(value)
        if kind == "field":  # the quotes are easily forgotten
            return value
        raise self._wrong(f"a value was expected, found {value!r}")

    def _held(self, kind: str, field: str, operator: str | None, value: Any) -> ColumnElement[bool]:
        """The condition of one comparison; of a field alone, that it is there."""
        if kind == "metric":
            return self._metric(field, operator, value)
        space, _, key = field.partition(".")
        if space in _SPACES and key:
            return _attribute(space, key, operator, value)
        if field == "tag":
            here = select(tags.c.experiment)
            return _in(
                here if operator is None else here.where(_positive(tags.c.tag, operator, value)), operator
            )
        if field == "code":
            return _attribute("code", "version", operator, value)
        if field == "at" and operator and operator != "~":
            return _COMPARE[operator](experiments.c.at, self._moment(value))  # type: ignore[no-any-return]
        if field == "pinned":
            return self._pinned(operator, value)
        if field in ("name", "kind", "note", "id"):
            column = experiments.c[field]
            return column != "" if operator is None else _COMPARE[operator](column, str(value))
        raise self._wrong(f"there is no field {field!r}")

    def _pinned(self, operator: str | None, value: Any) -> ColumnElement[bool]:
        here = experiments.c.pinned.is_(True)
        if operator is None:
            return here
        if operator not in ("=", "!=") or str(value).lower() not in ("true", "false"):
            raise self._wrong(f"pinned is true or false, found {operator} {value}")
        return here if (operator == "=") == (str(value).lower() == "true") else not_(here)

    def _metric(self, field: str, operator: str | None, value: Any) -> ColumnElement[bool]:
        name, _, part = field.removeprefix("metrics.").partition("[")
        column, _, slice_ = part.removesuffix("]").partition("=")
        try:
            measure = str(parse(name.strip('"')))
        except MeasureError as error:
            raise self._wrong(str(error)) from None
        here = select(metrics.c.experiment).where(
            metrics.c.measure == measure,
            metrics.c.column == column.strip(),
            metrics.c.slice == slice_.strip(),
        )
        if operator is None:
            return experiments.c.id.in_(here)
        if operator == "~" or not isinstance(value, float):
            raise self._wrong(f"{field} is a number, found {operator} {str(value)!r}")
        return experiments.c.id.in_(here.where(_COMPARE[operator](metrics.c.value, value)))

    def _moment(self, value: Any) -> int:
        try:
            at = datetime.fromisoformat(str(value))
        except ValueError:
            raise self._wrong(f"at is a time such as '2026-01-31', found {str(value)!r}") from None
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return int(at.timestamp() * 1_000_000)


def _attribute(space: str, key: str, operator: str | None, value: Any) -> ColumnElement[bool]:
    here = select(attributes.c.experiment).where(attributes.c.space == space, attributes.c.key == key)
    if operator is None:
        return experiments.c.id.in_(here)
    column = attributes.c.number if isinstance(value, float) and operator != "~" else attributes.c.text
    value = value[:LONGEST] if isinstance(value, str) else value
    return experiments.c.id.in_(here.where(_COMPARE[operator](column, value)))


def _positive(column: Any, operator: str, value: Any) -> Any:
    """The comparison without its negation: an experiment has several tags."""
    return _COMPARE["=" if operator == "!=" else operator](column, str(value))


def _in(query: Any, operator: str | None) -> ColumnElement[bool]:
    made: ColumnElement[bool] = experiments.c.id.in_(query)
    return not_(made) if operator == "!=" else made
