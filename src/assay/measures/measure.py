"""A measure is a value: a name, parameters and a cutoff that print, compare and read back."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import Any, Literal, NamedTuple, NoReturn, get_args

import numpy as np

from assay.core.errors import MeasureError
from assay.core.texts import Floats
from assay.measures.rankings import Rankings, each

Kind = Literal["mean", "share", "geometric", "quantile"]
CutoffRule = Literal["none", "optional", "required", "recall"]
Formula = Callable[..., Floats]


class Definition(NamedTuple):
    """What a name stands for: its formula, its parameters and how queries are summed up."""

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
        """How the values of the queries are summed up."""
        return self.definition.kind

    @property
    def lower_is_better(self) -> bool:
        """Whether a search is better for a lower value."""
        inner = self.params.get("of")
        return inner.lower_is_better if isinstance(inner, Measure) else self.definition.lower_is_better

    @property
    def bounded(self) -> bool:
        """Whether its values are known to lie between 0 and 1."""
        inner = self.params.get("of", self)
        return inner.name != "DCG" and not hasattr(inner.definition.formula, "own")

    @property
    def depth(self) -> int | None:
        """The rank at which the measure stops looking."""
        inner = self.params.get("of")
        if isinstance(inner, Measure):
            return inner.depth
        return self.cutoff if isinstance(self.cutoff, int) else None

    def __call__(self, *args: Any, **params: Any) -> Measure:
        """The same measure with other parameters."""
        names = list(self.definition.defaults)
        if len(args) > len(names):
            raise MeasureError(f"{self.name} takes {_listed(names)}, found {len(args)} values")
        given = dict(zip(names, args, strict=False))
        twice = given.keys() & params
        if twice:
            raise MeasureError(f"{self.name} got {_listed(sorted(twice))} twice")
        given |= params
        for name, value in given.items():
            if name not in self.definition.defaults:
                raise MeasureError(f"{self.name} has no parameter {name!r}; it has {_listed(names)}")
            given[name] = _checked(self.definition, name, value)
        return Measure(self.definition, self.params | given, self.cutoff)

    def __matmul__(self, cutoff: Any) -> Measure:
        """The same measure at a cutoff."""
        return Measure(self.definition, self.params, _checked_cutoff(self.definition, cutoff))

    def complete(self) -> Measure:
        """The measure itself, once nothing that it needs is missing."""
        missing = [name for name, value in self.params.items() if value is REQUIRED]
        if missing:
            example = {"delta": "0.3", "of": "R@10"}.get(missing[0], "…")
            raise MeasureError(f"{self.name} needs {missing[0]}: {self.name}({missing[0]}={example})")
        if self.definition.cutoff in ("required", "recall") and self.cutoff is None:
            example = "0.1" if self.definition.cutoff == "recall" else "10"
            raise MeasureError(f"{self.name} needs a cutoff: {self.name}@{example}")
        return self

    def compute(self, rankings: Rankings) -> Floats:
        """The value for each query; NaN where it is undefined."""
        return self.complete().definition.formula(rankings, self.cutoff, **self.params)

    def __str__(self) -> str:
        shown = [
            _spelled(name, value)
            for name, value in self.params.items()
            if value is not REQUIRED and value != self.definition.defaults[name]
        ]
        params = f"({', '.join(shown)})" if shown else ""
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
    """Make a measure of your own from a function of one query's ranking.

    >>> @measure("FirstTwo")
    ... def first_two(ranking):
    ...     return sum((grade or 0) > 0 for grade in ranking.grades[:2]) / 2
    >>> parse("FirstTwo")
    FirstTwo
    """

    def register(function: Callable[..., float | None]) -> Measure:
        def formula(rankings: Rankings, cutoff: int | None, **params: Any) -> Floats:
            values = [_number(name, function(ranking, **params)) for ranking in each(rankings, cutoff)]
            return np.array(values, dtype=np.float64)

        formula.__doc__ = function.__doc__
        _check_own(name, cutoff, kind)
        formula.own = True  # type: ignore[attr-defined]
        define(name, cutoff=cutoff, kind=kind, **defaults)(formula)
        return bare(name)

    return register


def _check_own(name: str, cutoff: str, kind: str) -> None:
    """Refuse a measure of the user's own that could not be used, or would take another's place."""
    if not name.isidentifier() or iskeyword(name):
        raise MeasureError(f"a measure's name must be a word such as FirstTwo, found {name!r}")
    taken = ALIASES.get(name.lower())
    if taken and not hasattr(DEFINITIONS[taken].formula, "own"):
        raise MeasureError(f"{name} is one of Assay's measures; choose another name")
    for what, value, choices in (("cutoff", cutoff, get_args(CutoffRule)), ("kind", kind, get_args(Kind))):
        if value not in choices:
            raise MeasureError(f"{name}: {what} must be one of {', '.join(choices)}, found {value!r}")


def _number(name: str, value: float | None) -> float:
    """What a measure of the user's own gave for a query."""
    try:
        made = np.nan if value is None else float(value)
    except (TypeError, ValueError):
        made = math.inf
    if math.isinf(made):
        raise MeasureError(f"{name} must give a finite number, or None where it has none, found {value!r}")
    return made


def bare(name: str) -> Measure:
    """The measure of this name with its defaults and no cutoff."""
    definition = DEFINITIONS[name]
    return Measure(definition, definition.defaults, None)


def parse(text: str | Measure) -> Measure:
    """Read a measure from its text.

    >>> parse("Robustness-0.3@10")
    Robustness(delta=0.3)@10
    """
    if isinstance(text, Measure):
        return text.complete()
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
    return _built(tree, text).complete()


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
    """A measure by trec_eval's name, in our words: ndcg_cut_10 is nDCG@10."""
    name, _, cutoff = text.rpartition("_")
    if cutoff.replace(".", "").isdigit() and TREC_EVAL.get(name, "").endswith("@"):
        return TREC_EVAL[name] + cutoff
    whole = TREC_EVAL.get(text, text)
    return text if whole.endswith("@") else whole


def _built(node: ast.expr, text: str) -> Measure:
    """The measure that a piece of parsed text says."""
    match node:
        case ast.Name(id=name):
            return _named(name, text)
        case ast.BinOp(
            left=ast.Name() | ast.Call() as left,
            op=ast.MatMult(),
            right=ast.Constant() | ast.UnaryOp() as cutoff,
        ):
            return _built(left, text).__matmul__(_literal(cutoff, text))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            values = [_literal(arg, text) for arg in args]
            params = {str(k.arg): _literal(k.value, text) for k in keywords}
            if len(params) == len(keywords):
                return _named(name, text)(*values, **params)
    several = "; give each by itself (-m nDCG@10 -m R@10)" if isinstance(node, ast.Tuple) else ""
    raise MeasureError(f"expected a measure such as nDCG@10, found {text!r}{several}")


def _literal(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.Name) and node.id in ("exp", "linear"):  # the quotes are easily forgotten
        return node.id
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return _built(node, text).complete()


def _named(name: str, text: str) -> Measure:
    canonical = ALIASES.get(name.lower())
    if canonical is None:
        load_plugins()
        canonical = ALIASES.get(name.lower())
    if canonical is None:
        _unknown(name, text)
    return bare(canonical)


def _unknown(name: str, text: str) -> NoReturn:
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), ALIASES, n=1)
    hint = f"did you mean {ALIASES[near[0]]}?" if near else f"known: {', '.join(DEFINITIONS)}"
    raise MeasureError(f"there is no measure {name!r} (in {text!r}); {hint}")


def load_plugins() -> None:
    """Measures that other packages offer under the entry point `assay.measures`."""
    global _PLUGINS_LOADED
    if not _PLUGINS_LOADED:
        from importlib.metadata import entry_points

        _PLUGINS_LOADED = True
        for entry in entry_points(group="assay.measures"):
            try:
                entry.load()
            except Exception as error:
                raise MeasureError(
                    f"the measures of {entry.value!r} cannot be loaded ({error}); mend or remove that package"
                ) from error


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "no parameters"


def _spelled(name: str, value: Any) -> str:
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


def _checked(definition: Definition, name: str, value: Any) -> Any:
    """A parameter's value, unless it cannot be one."""
    if hasattr(definition.formula, "own") or (value is None and definition.defaults[name] is None):
        return value  # what a parameter of the user's own may be is the user's to say
    expected, holds = _PARAMETERS[name]
    if name == "of" and isinstance(value, str | Measure):
        value = parse(value)
    try:
        good = not isinstance(value, bool) and holds(value)
    except TypeError:
        good = False
    if not good:
        raise MeasureError(f"{definition.name}: {name} must be {expected}, found {value!r}")
    return float(value) if name in ("delta", "p", "beta", "q") else value


def _checked_cutoff(definition: Definition, cutoff: Any) -> Any:
    """A cutoff, unless it cannot be one for this measure."""
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
