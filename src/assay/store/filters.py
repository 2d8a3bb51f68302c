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

from sqlalchemy import ColumnElement, Connection, and_, not_, or_, select

from assay.core.errors import InputError, MeasureError
from assay.core.suggestions import did_you_mean
from assay.measures import parse
from assay.store.schema import MAX_INDEXED_CHARACTERS, attributes, metrics, records, tags

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
_MAX_DEPTH = 50
_SPACES = ("params", "latency", "figures", "environment", "policy")
_TEXT_FIELDS = ("name", "kind", "note", "id")
_FIELDS = (*_TEXT_FIELDS, "tag", "code", "at", "pinned")
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
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
    """A number that remembers its text: the name 7 is not 7.0."""

    def __new__(cls, text: str) -> _Number:
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str

    def __str__(self) -> str:
        return self.text


def parse_filter(text: str) -> ColumnElement[bool]:
    """The condition on experiments that a filter expresses."""
    return _FilterParser(text).parse()


def refuse_unknown_keys(text: str, connection: Connection) -> None:
    """Raise InputError if a filter names a setting, latency or figure that no experiment has."""
    parser = _FilterParser(text)
    parser.parse()
    for space, key in parser.keys:
        query = select(attributes.c.key).where(attributes.c.space == space).distinct()
        names = sorted(connection.execute(query).scalars())
        if names and key not in names:
            hint = did_you_mean(key, names) or f"there are {', '.join(names[:20])}"
            raise InputError(f"no experiment has {space}.{key}; {hint}")


class _FilterParser:
    """A recursive-descent parser of a filter."""

    def __init__(self, text: str) -> None:
        self.text, self.position, self.depth = text, 0, 0
        self.keys: list[tuple[str, str]] = []  # of the settings, latencies and figures that it names
        self.tokens = self._tokenize()

    def _tokenize(self) -> list[Token]:
        tokens, position = list[Token](), 0
        while self.text[position:].strip():
            match = _TOKEN.match(self.text, position)
            if match is None:
                raise self._error(
                    f"{self.text[position:].strip()[:20]!r} is neither a field, an operator nor a value"
                )
            kind = str(match.lastgroup)
            tokens.append((kind, match.group(kind)))
            position = match.end()
        return tokens

    def _error(self, problem: str) -> InputError:
        shortened = self.text if len(self.text) <= 200 else f"{self.text[:200]}…"
        return InputError(
            f"the filter {shortened!r} cannot be parsed: {problem}; expected a filter such as "
            "metrics.nDCG@10 > 0.4 and params.index_type = 'hnsw'"
        )

    def _accept(self, *words: str) -> bool:
        """Consume the next token if it is one of these words, and return whether it was."""
        matches = self.position < len(self.tokens) and self.tokens[self.position][1].lower() in words
        self.position += matches
        return matches

    def parse(self) -> ColumnElement[bool]:
        """The condition of the whole filter."""
        condition = self._parse_or()
        if self.position < len(self.tokens):
            raise self._error(f"expected its end, found {self.tokens[self.position][1]!r}")
        return condition

    def _parse_or(self) -> ColumnElement[bool]:
        parts = [self._parse_and()]
        while self._accept("or"):
            parts.append(self._parse_and())
        return or_(*parts)

    def _parse_and(self) -> ColumnElement[bool]:
        parts = [self._parse_item()]
        while self._accept("and"):
            parts.append(self._parse_item())
        return and_(*parts)

    def _parse_item(self) -> ColumnElement[bool]:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self._error(f"it nests more than {_MAX_DEPTH} parentheses or nots")
        condition = self._parse_operand()
        self.depth -= 1
        return condition

    def _parse_operand(self) -> ColumnElement[bool]:
        if self._accept("not"):
            return not_(self._parse_item())
        if self._accept("("):
            condition = self._parse_or()
            if not self._accept(")"):
                raise self._error("a parenthesis is not closed")
            return condition
        return self._parse_comparison()

    def _parse_comparison(self) -> ColumnElement[bool]:
        if self.position >= len(self.tokens) or self.tokens[self.position][0] not in ("metric", "field"):
            token = self.tokens[self.position][1] if self.position < len(self.tokens) else "the end"
            raise self._error(f"expected a field, found {token!r}")
        kind, field = self.tokens[self.position]
        self.position += 1
        operator = self.tokens[self.position][1] if self.position < len(self.tokens) else ""
        if operator not in _OPERATORS:
            return self._condition(kind, field, None, None)
        self.position += 1
        return self._condition(kind, field, operator, self._parse_literal())

    def _parse_literal(self) -> str | float:
        if self.position >= len(self.tokens):
            raise self._error("a value is missing at the end")
        kind, value = self.tokens[self.position]
        self.position += 1
        if kind == "text":
            return value[1:-1]
        if kind == "number":
            return _Number(value)
        if kind == "field":  # a value without its quotes
            return value
        raise self._error(f"expected a value, found {value!r}")

    def _condition(self, kind: str, field: str, operator: str | None, value: Any) -> ColumnElement[bool]:
        """The condition of one comparison; for a field without an operator, that it is set."""
        if kind == "metric":
            return self._metric_condition(field, operator, value)
        space, _, key = field.partition(".")
        if space in _SPACES and key:
            self.keys.append((space, key))
            return _attribute_condition(space, key, operator, value)
        if field == "tag":
            query = select(tags.c.record)
            return _id_condition(
                query if operator is None else query.where(_tag_condition(tags.c.tag, operator, value)),
                operator,
            )
        if field == "code":
            return _attribute_condition("code", "version", operator, value)
        if field == "at" and operator and operator != "~":
            return _OPERATORS[operator](records.c.at, self._parse_time(value))  # type: ignore[no-any-return]
        if field == "pinned":
            return self._pinned_condition(operator, value)
        if field in _TEXT_FIELDS:
            column = records.c[field]
            return column != "" if operator is None else _OPERATORS[operator](column, str(value))
        fields = [name for name in _FIELDS if name != field] + [f"{name}." for name in (*_SPACES, "metrics")]
        hint = did_you_mean(f"{space}." if key else field, fields) or f"there are {', '.join(fields)}"
        raise self._error(f"there is no field {field!r}; {hint}")

    def _pinned_condition(self, operator: str | None, value: Any) -> ColumnElement[bool]:
        condition = records.c.pinned.is_(True)
        if operator is None:
            return condition
        if operator not in ("=", "!=") or str(value).lower() not in ("true", "false"):
            raise self._error(f"expected pinned = true or false, found {operator} {value}")
        return condition if (operator == "=") == (str(value).lower() == "true") else not_(condition)

    def _metric_condition(self, field: str, operator: str | None, value: Any) -> ColumnElement[bool]:
        name, _, part = field.removeprefix("metrics.").partition("[")
        column, _, slice_ = part.removesuffix("]").partition("=")
        try:
            measure = str(parse(name.strip('"')))
        except MeasureError as error:
            raise self._error(str(error)) from None
        query = select(metrics.c.record).where(
            metrics.c.measure == measure,
            metrics.c.column == column.strip(),
            metrics.c.slice == slice_.strip(),
        )
        if operator is None:
            return records.c.id.in_(query)
        if operator == "~" or not isinstance(value, float):
            raise self._error(f"{field} is compared with a number, found {operator} {str(value)!r}")
        return records.c.id.in_(query.where(_OPERATORS[operator](metrics.c.value, value)))

    def _parse_time(self, value: Any) -> int:
        try:
            at = datetime.fromisoformat(str(value))
        except ValueError:
            raise self._error(f"expected a time such as '2026-01-31' for at, found {str(value)!r}") from None
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return int(at.timestamp() * 1_000_000)


def _attribute_condition(space: str, key: str, operator: str | None, value: Any) -> ColumnElement[bool]:
    query = select(attributes.c.record).where(attributes.c.space == space, attributes.c.key == key)
    if operator is None:
        return records.c.id.in_(query)
    column = attributes.c.number if isinstance(value, float) and operator != "~" else attributes.c.text
    value = value[:MAX_INDEXED_CHARACTERS] if isinstance(value, str) else value
    return records.c.id.in_(query.where(_OPERATORS[operator](column, value)))


def _tag_condition(column: Any, operator: str, value: Any) -> Any:
    """The comparison with != turned into =, because an experiment has several tags."""
    return _OPERATORS["=" if operator == "!=" else operator](column, str(value))


def _id_condition(query: Any, operator: str | None) -> ColumnElement[bool]:
    condition: ColumnElement[bool] = records.c.id.in_(query)
    return not_(condition) if operator == "!=" else condition
