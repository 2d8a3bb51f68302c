"""Measures as values: a name, parameters and a cutoff, which print, compare and parse."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import Any, Literal, NamedTuple, NoReturn, get_args

import numpy as np

from assay.core.arrays import Floats
from assay.core.errors import MeasureError
from assay.measures.rankings import Rankings, split_rankings

Kind = Literal["mean", "share", "geometric", "quantile"]
CutoffRule = Literal["none", "optional", "required", "recall"]
Formula = Callable[..., Floats]


class Definition(NamedTuple):
    """The definition of a measure: its formula, its parameters and how queries are aggregated."""

    name: str
    formula: Formula
    defaults: Mapping[str, Any]
    cutoff: CutoffRule
    kind: Kind
    text: str
    lower_is_better: bool = False


DEFINITIONS: dict[str, Definition] = {}
ALIASES: dict[str, str] = {}
REQUIRED = object()
_PLUGINS_LOADED = False
_DEEPEST = 10**9


class Measure:
    """A measure, for example `nDCG(gain='exp')@10`.

    >>> parse("P(rel=2)@10") == parse("P") (rel=2) @ 10
    True
    """

    __slots__ = ("cutoff", "definition", "params")

    def __init__(self, definition: Definition, params: Mapping[str, Any], cutoff: Any) -> None:
        self.definition = definition
        self.params = dict(params)
        self.cutoff: Any = cutoff

    @property
    def name(self) -> str:
        """The measure's name without parameters and cutoff."""
        return self.definition.name

    @property
    def kind(self) -> Kind:
        """How the values of the queries are aggregated."""
        return self.definition.kind

    @property
    def lower_is_better(self) -> bool:
        """Whether a lower value is better."""
        inner = self.params.get("of")
        return inner.lower_is_better if isinstance(inner, Measure) else self.definition.lower_is_better

    @property
    def is_bounded(self) -> bool:
        """Whether its values are known to lie between 0 and 1."""
        inner = self.params.get("of", self)
        return inner.name != "DCG" and not hasattr(inner.definition.formula, "own")

    @property
    def depth(self) -> int | None:
        """The deepest rank that the measure uses; None if it uses the whole ranking."""
        inner = self.params.get("of")
        if isinstance(inner, Measure):
            return inner.depth
        return self.cutoff if isinstance(self.cutoff, int) else None

    def __call__(self, *args: Any, **params: Any) -> Measure:
        """The same measure with other parameters."""
        names = list(self.definition.defaults)
        if len(args) > len(names):
            raise MeasureError(f"{self.name} takes {_join_names(names)}, found {len(args)} values")
        values = dict(zip(names, args, strict=False))
        repeated_names = values.keys() & params
        if repeated_names:
            raise MeasureError(f"{self.name} got {_join_names(sorted(repeated_names))} twice")
        values |= params
        for name, value in values.items():
            if name not in self.definition.defaults:
                raise MeasureError(f"{self.name} has no parameter {name!r}; it has {_join_names(names)}")
            values[name] = _check_parameter(self.definition, name, value)
        return Measure(self.definition, self.params | values, self.cutoff)

    def __matmul__(self, cutoff: Any) -> Measure:
        """The same measure at a cutoff."""
        return Measure(self.definition, self.params, _check_cutoff(self.definition, cutoff))

    def check_complete(self) -> Measure:
        """The measure itself; an error if a required parameter or cutoff is missing."""
        missing = [name for name, value in self.params.items() if value is REQUIRED]
        if missing:
            example = {"delta": "0.3", "of": "R@10"}.get(missing[0], "…")
            raise MeasureError(f"{self.name} needs {missing[0]}: {self.name}({missing[0]}={example})")
        if self.definition.cutoff in ("required", "recall") and self.cutoff is None:
            example = "0.1" if self.definition.cutoff == "recall" else "10"
            raise MeasureError(f"{self.name} needs a cutoff: {self.name}@{example}")
        return self

    def compute(self, rankings: Rankings) -> Floats:
        """The value for each query; NaN if it is undefined."""
        return self.check_complete().definition.formula(rankings, self.cutoff, **self.params)

    def __str__(self) -> str:
        parameters = [
            _format_parameter(name, value)
            for name, value in self.params.items()
            if value is not REQUIRED and value != self.definition.defaults[name]
        ]
        params = f"({', '.join(parameters)})" if parameters else ""
        return f"{self.name}{params}" + (f"@{self.cutoff}" if self.cutoff is not None else "")

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def define(
    name: str,
    *,
    cutoff: CutoffRule = "optional",
    kind: Kind = "mean",
    aliases: tuple[str, ...] = (),
    lower_is_better: bool = False,
    **defaults: Any,
) -> Callable[[Formula], Formula]:
    """Register a formula over whole columns under a name."""

    def register(formula: Formula) -> Formula:
        text = (formula.__doc__ or "").strip()
        DEFINITIONS[name] = Definition(name, formula, defaults, cutoff, kind, text, lower_is_better)
        for alias in (name, *aliases):
            ALIASES[alias.lower()] = name
        return formula

    return register


def measure(
    name: str, *, cutoff: CutoffRule = "optional", kind: Kind = "mean", **defaults: Any
) -> Callable[[Callable[..., float | None]], Measure]:
    """Define a measure by a function of the ranking of one query.

    >>> @measure("FirstTwo")
    ... def first_two(ranking):
    ...     return sum((grade or 0) > 0 for grade in ranking.grades[:2]) / 2
    >>> parse("FirstTwo")
    FirstTwo
    """

    def register(function: Callable[..., float | None]) -> Measure:
        def formula(rankings: Rankings, cutoff: int | None, **params: Any) -> Floats:
            values = [
                _number(name, function(ranking, **params)) for ranking in split_rankings(rankings, cutoff)
            ]
            return np.array(values, dtype=np.float64)

        formula.__doc__ = function.__doc__
        _check_user_measure(name, cutoff, kind)
        formula.own = True  # type: ignore[attr-defined]
        define(name, cutoff=cutoff, kind=kind, **defaults)(formula)
        return default_measure(name)

    return register


def _check_user_measure(name: str, cutoff: str, kind: str) -> None:
    """Raise an error for a user's measure that could not be used, or has the name of a built-in one."""
    if not name.isidentifier() or iskeyword(name):
        raise MeasureError(f"a measure's name must be a word such as FirstTwo, found {name!r}")
    existing_name = ALIASES.get(name.lower())
    if existing_name and not hasattr(DEFINITIONS[existing_name].formula, "own"):
        raise MeasureError(f"{name} is one of Assay's measures; choose another name")
    for setting, value, choices in (("cutoff", cutoff, get_args(CutoffRule)), ("kind", kind, get_args(Kind))):
        if value not in choices:
            raise MeasureError(f"{name}: {setting} must be one of {', '.join(choices)}, found {value!r}")


def _number(name: str, value: float | None) -> float:
    """The value that a user's measure returned for a query."""
    try:
        number = np.nan if value is None else float(value)
    except (TypeError, ValueError):
        number = math.inf
    if math.isinf(number):
        raise MeasureError(f"{name} must return a finite number, or None if it is undefined, found {value!r}")
    return number


def default_measure(name: str) -> Measure:
    """The measure of this name with its defaults and no cutoff."""
    definition = DEFINITIONS[name]
    return Measure(definition, definition.defaults, None)


def parse(text: str | Measure) -> Measure:
    """Read a measure from its text.

    >>> parse("Robustness-0.3@10")
    Robustness(delta=0.3)@10
    """
    if isinstance(text, Measure):
        return text.check_complete()
    if not isinstance(text, str):
        raise MeasureError(f"expected a measure such as nDCG@10, found {text!r}")
    source = _from_trec_eval(text.strip())
    if "-" in text or "11pt" in text.lower():
        source = re.sub(r"(?i)\brobustness-([0-9.]+)", r"Robustness(delta=\1)", source)
        source = re.sub(r"(?i)\b11pt\b", "Pt11", source)
    try:
        tree = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError):  # a NUL is a ValueError in some versions of Python
        raise MeasureError(f"expected a measure such as nDCG@10, found {text!r}") from None
    return _build_measure(tree, text).check_complete()


TREC_EVAL = {
    "map": "AP",
    "gm_map": "gmAP",
    "recip_rank": "RR",
    "11pt_avg": "11pt",
    "ndcg": "nDCG",
    "set_P": "P",
    "set_recall": "R",
    "set_F": "F",
    "rbp": "RBP",
    "rbp_resid": "RBPResidual",
    "P": "P@",
    "recall": "R@",
    "ndcg_cut": "nDCG@",
    "map_cut": "AP@",
    "success": "Success@",
    "iprec_at_recall": "IPrec@",
}


def _from_trec_eval(text: str) -> str:
    """The name of a measure, translated from trec_eval's: ndcg_cut_10 is nDCG@10."""
    name, _, cutoff = text.rpartition("_")
    if cutoff.replace(".", "").isdigit() and TREC_EVAL.get(name, "").endswith("@"):
        return TREC_EVAL[name] + cutoff
    spelling = TREC_EVAL.get(text, text)
    return text if spelling.endswith("@") else spelling


def _build_measure(node: ast.expr, text: str) -> Measure:
    """The measure of a parsed expression."""
    match node:
        case ast.Name(id=name):
            return _find_measure(name, text)
        case ast.BinOp(
            left=ast.Name() | ast.Call() as left,
            op=ast.MatMult(),
            right=ast.Constant() | ast.UnaryOp() as cutoff,
        ):
            return _build_measure(left, text).__matmul__(_literal(cutoff, text))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            values = [_literal(arg, text) for arg in args]
            params = {str(k.arg): _literal(k.value, text) for k in keywords}
            if len(params) == len(keywords):
                return _find_measure(name, text)(*values, **params)
    hint = "; give each one separately (-m nDCG@10 -m R@10)" if isinstance(node, ast.Tuple) else ""
    raise MeasureError(f"expected a measure such as nDCG@10, found {text!r}{hint}")


def _literal(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.Name) and node.id in ("exp", "linear"):  # the quotes are easily forgotten
        return node.id
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        if isinstance(node, ast.Name) and ALIASES.get(node.id.lower()) is None:
            return node.id  # the check of the parameter says what is expected in its place
        return _build_measure(node, text).check_complete()


def _find_measure(name: str, text: str) -> Measure:
    canonical = ALIASES.get(name.lower())
    if canonical is None:
        load_plugins()
        canonical = ALIASES.get(name.lower())
    if canonical is None:
        _raise_unknown(name, text)
    return default_measure(canonical)


def _raise_unknown(name: str, text: str) -> NoReturn:
    from difflib import get_close_matches

    close_names = get_close_matches(name.lower(), ALIASES, n=1)
    hint = f"did you mean {ALIASES[close_names[0]]}?" if close_names else f"known: {', '.join(DEFINITIONS)}"
    raise MeasureError(f"there is no measure {name!r} (in {text!r}); {hint}")


def load_plugins() -> None:
    """Load the measures that other packages offer under the entry point `assay.measures`."""
    global _PLUGINS_LOADED
    if not _PLUGINS_LOADED:
        from importlib.metadata import entry_points

        _PLUGINS_LOADED = True
        for entry in entry_points(group="assay.measures"):
            try:
                entry.load()
            except Exception as error:
                raise MeasureError(
                    f"the measures of {entry.value!r} cannot be loaded ({error}); fix or remove that package"
                ) from error


def _join_names(names: list[str]) -> str:
    return ", ".join(names) or "no parameters"


def _format_parameter(name: str, value: Any) -> str:
    if name == "of":
        return str(value)
    return repr(value) if name == "q" else f"{name}={value!r}"


_PARAMETERS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "rel": ("a whole number of at least 1", lambda v: isinstance(v, int) and v >= 1),
    "gain": ("'linear' or 'exp'", lambda v: v in ("linear", "exp")),
    "delta": ("a number above 0, at most 1", lambda v: 0 < v <= 1),
    "p": ("a number between 0 and 1", lambda v: 0 < v < 1),
    "beta": ("a number above 0", lambda v: 0 < v < math.inf),
    "q": ("a number from 0 to 1", lambda v: 0 <= v <= 1),
    "max_grade": ("a whole number of at least 1", lambda v: isinstance(v, int) and v >= 1),
    "of": (
        "a measure with a value for each query",
        lambda v: isinstance(v, Measure) and v.kind in ("mean", "share"),
    ),
}


def _check_parameter(definition: Definition, name: str, value: Any) -> Any:
    """A valid value of a parameter; an error if it is not allowed."""
    if hasattr(definition.formula, "own") or (value is None and definition.defaults[name] is None):
        return value  # users define what their own parameters may be
    expected, is_allowed = _PARAMETERS[name]
    if name == "of" and isinstance(value, str | Measure):
        value = parse(value)
    try:
        is_valid = not isinstance(value, bool) and is_allowed(value)
    except TypeError:
        is_valid = False
    if not is_valid:
        raise MeasureError(f"{definition.name}: {name} must be {expected}, found {value!r}")
    return float(value) if name in ("delta", "p", "beta", "q") else value


def _check_cutoff(definition: Definition, cutoff: Any) -> Any:
    """A valid cutoff of this measure; an error if it is not allowed."""
    if definition.cutoff == "none":
        raise MeasureError(f"{definition.name} takes no cutoff, found @{cutoff}")
    if isinstance(cutoff, bool) or not isinstance(cutoff, int | float):
        raise MeasureError(f"{definition.name}: the cutoff must be a number, found {cutoff!r}")
    if definition.cutoff == "recall":
        if not 0 <= cutoff <= 1:
            raise MeasureError(f"{definition.name}: the recall level must be 0 to 1, found {cutoff}")
        return float(cutoff)
    if not isinstance(cutoff, int) or not 1 <= cutoff <= _DEEPEST:
        raise MeasureError(
            f"{definition.name}: the cutoff must be a whole number from 1 to {_DEEPEST:,}, found {cutoff}"
        )
    return cutoff
