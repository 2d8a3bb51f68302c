"""Metrics of a project: each is one Ibis expression over the facts of a query, in assay.toml."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from assay.core.errors import InputError, first_line
from assay.core.settings import SettingsReader
from assay.core.suggestions import did_you_mean
from assay.online.event_tables import EventTables, load_ibis
from assay.online.metrics.built_in import METRICS
from assay.online.metrics.metric import Metric
from assay.online.metrics.query_facts import FACTS, check_columns, fact_type, is_derived

if TYPE_CHECKING:
    from ibis.expr.types import Table, Value

_FUNCTIONS = ("ifelse", "coalesce", "cases", "greatest", "least", "literal", "null")
_FORBIDDEN = {
    "alias",
    "as_table",
    "bind",
    "cache",
    "compile",
    "execute",
    "get_backend",
    "op",
    "pipe",
    "preview",
}
_FORBIDDEN |= {"sql", "unbind", "visualize", "map", "reduce", "format", "sample"}
_NODES = (
    ast.Expression,
    ast.Name,
    ast.Load,
    ast.Attribute,
    ast.Subscript,
    ast.Call,
    ast.keyword,
    ast.Constant,
    ast.List,
    ast.Tuple,
    ast.BinOp,
    ast.UnaryOp,
    ast.Compare,
    ast.operator,
    ast.unaryop,
    ast.cmpop,
)
_EXAMPLE = "such as _.clicks > 1"


@dataclass(frozen=True)
class Expression:
    """An Ibis expression over a table `_`, as text, and the columns of the table that it names."""

    text: str
    columns: frozenset[str]

    def on(self, table: Table) -> Value:
        """Return the expression over a table."""
        ibis = load_ibis()
        names = {name: getattr(ibis, name) for name in _FUNCTIONS}
        scope = {"__builtins__": {}, "_": ibis._, **names}
        deferred = eval(compile(self.text, "expression", "eval"), scope)  # only the nodes of `_NODES`
        (value,) = table.bind(deferred)
        return value


def parse_expression(text: str) -> Expression:
    """Return an expression; InputError if it is anything but columns, operators and methods of Ibis.

    >>> sorted(parse_expression("(_.clicks > 1) & (_.result_count > 0)").columns)
    ['clicks', 'result_count']
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        raise InputError(f"expected an Ibis expression, {_EXAMPLE}: {error}, found {text!r}") from None
    methods = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        _check_node(node)
    columns = {name for node in ast.walk(tree) if (name := _column(node, methods))}
    if not any(isinstance(node, ast.Name) and node.id == "_" for node in ast.walk(tree)):
        raise InputError(f"expected an Ibis expression over the table _, {_EXAMPLE}, found {text!r}")
    return Expression(text.strip(), frozenset(columns))


def _check_node(node: ast.AST) -> None:
    if isinstance(node, ast.BoolOp | ast.Not):
        raise InputError("expected & for and, | for or, ~ for not, with (…) around comparisons")
    if not isinstance(node, _NODES):
        found = type(node).__name__
        raise InputError(f"expected columns, operators and methods of Ibis, {_EXAMPLE}, found {found}")
    if isinstance(node, ast.Name) and node.id not in ("_", *_FUNCTIONS):
        raise InputError(f"expected the table _ and {', '.join(_FUNCTIONS)}, found the name {node.id}")
    if isinstance(node, ast.Attribute):
        _check_attribute(node.attr)


def _check_attribute(name: str) -> None:
    if name.startswith(("_", "to_", "try_")) or name in _FORBIDDEN:
        raise InputError(f"expected a column or a method that computes a value, found .{name}")


def _column(node: ast.AST, methods: set[int]) -> str | None:
    """Return the column of the table that a node names, None if it names none."""
    is_of_table = isinstance(node, ast.Attribute | ast.Subscript) and (
        isinstance(node.value, ast.Name) and node.value.id == "_"
    )
    if not is_of_table:
        return None
    if isinstance(node, ast.Attribute):
        if id(node) not in methods:
            return node.attr
        if node.attr != "count":
            raise InputError(f"expected a column of _, or _.count(), found _.{node.attr}()")
        return None
    key = node.slice if isinstance(node, ast.Subscript) else None
    if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
        raise InputError("expected the name of a column in _['…']")
    return key.value


@dataclass(frozen=True)
class OwnMetric:
    """A metric of a project before it is known what columns the log has."""

    name: str
    value: Expression
    events: Expression | None = None  # an aggregate of the events of a query: the fact NAME
    definition: str = ""
    scope: str = "query"  # or session; an aggregate is of a unit
    lower_is_better: bool | None = None
    unit: str = ""

    def on(self, tables: EventTables) -> Metric:
        """Return the metric over a log; InputError if its expressions do not fit the columns."""
        aggregates = {} if self.events is None else {self.name: self._aggregate(self.events, tables)}
        purpose = f"online.metrics.{self.name}.value"
        facts = self.value.columns - {*aggregates}
        check_columns(facts, tables, purpose)
        schema = dict(tables.queries.schema().items())
        schema |= {name: fact_type(name) for name in facts if is_derived(name) and name not in schema}
        schema |= dict.fromkeys(aggregates, "float64")
        trial = _trial(self.value, schema, purpose)
        metric = Metric(
            self.name,
            self.definition or self.value.text,
            self.value.on,
            facts=frozenset(facts | {*aggregates}),
            aggregates=aggregates,
            scope=self.scope,
            may_be_negative=True,
            lower_is_better=self.lower_is_better,
            unit=self.unit,
        )
        return self._of_units(metric, trial) if _is_aggregate(trial) else metric

    def _of_units(self, metric: Metric, trial: Value) -> Metric:
        """Return a metric of units; a quotient of two aggregates is a ratio."""
        divide = load_ibis().expr.operations.Divide
        if not isinstance(trial.op(), divide):
            return replace(metric, scope="unit")
        parts: list[Callable[[Table], Value]] = [
            lambda t: self.value.on(t).op().left.to_expr(),
            lambda t: self.value.on(t).op().right.to_expr(),
        ]
        if not all(_is_aggregate(part.to_expr()) for part in (trial.op().left, trial.op().right)):
            return replace(metric, scope="unit")
        return replace(metric, scope="unit", value=parts[0], weight=parts[1])

    def _aggregate(self, events: Expression, tables: EventTables) -> Callable[[Table], Value]:
        purpose = f"online.metrics.{self.name}.events"
        columns = tables.events.columns
        for name in sorted(events.columns - {*columns}):
            hint = did_you_mean(name, columns)
            raise InputError(
                f"{purpose}: there is no column {name} of an event; {hint + ' ' if hint else ''}"
                f"columns: {', '.join(columns)}"
            )
        trial = _trial(events, dict(tables.events.schema().items()), purpose)
        if not _is_aggregate(trial):
            raise InputError(
                f"{purpose}: expected an aggregate of the events of a query, such as "
                f"(_.action == 'share').sum(), found {events.text}"
            )
        return lambda t: events.on(t).cast("float64")


def _trial(expression: Expression, schema: Mapping[str, Any], purpose: str) -> Value:
    """Return an expression over a table that has no data, so that its errors come before any work."""
    ibis = load_ibis()
    try:
        value = expression.on(ibis.table(schema, name="facts"))
        dtype = value.type()
    except Exception as error:  # of Ibis, or of Python inside it
        raise InputError(f"{purpose}: {expression.text} cannot be computed: {first_line(error)}") from None
    if not (dtype.is_numeric() or dtype.is_boolean()):
        raise InputError(
            f"{purpose}: expected a number or a truth, found {expression.text}, which is {dtype}"
        )
    return value


def _is_aggregate(value: Value) -> bool:
    return bool(value.op().shape.is_scalar())


def read_own_metrics(reader: SettingsReader) -> dict[str, OwnMetric]:
    """Read the tables of [online.metrics]; problems are recorded in the reader."""
    metrics = {}
    for name in reader.settings:
        reader.names_read.add(name)
        metric = _read_metric(reader.table(name), name)
        if metric is not None:
            metrics[name] = metric
    return metrics


def _read_metric(reader: SettingsReader, name: str) -> OwnMetric | None:
    if name in METRICS or name in FACTS or not name.isidentifier():
        wanted = "letters, digits and _" if not name.isidentifier() else "a name that Assay does not use"
        reader.problems[reader.prefix] = f"expected {wanted}, found {name}"
    value, events = reader.text("value", "an Ibis expression"), reader.text("events", "an Ibis expression")
    scope = reader.one_of("scope", ("query", "session"), "query")
    definition, unit = reader.text("definition"), reader.text("unit")
    lower = reader.settings.get("lower_is_better")
    reader.names_read.add("lower_is_better")
    if lower is not None and not isinstance(lower, bool):
        reader.add_problem("lower_is_better", f"expected true or false, found {lower!r}")
    reader.refuse_unknown()
    if value is None and events is None:
        reader.add_problem("value", f"expected an Ibis expression over the facts of a query, {_EXAMPLE}")
        return None
    expressions = {
        "value": _read_expression(reader, "value", value or f"_.{name}"),
        "events": _read_expression(reader, "events", events),
    }
    if expressions["value"] is None:
        return None
    return OwnMetric(
        name, expressions["value"], expressions["events"], definition or "", scope, lower, unit or ""
    )


def _read_expression(reader: SettingsReader, name: str, text: str | None) -> Expression | None:
    try:
        return parse_expression(text) if text else None
    except InputError as error:
        reader.add_problem(name, str(error))
        return None
