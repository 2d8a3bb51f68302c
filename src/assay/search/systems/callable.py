"""A function of Python that searches."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

from assay.core.digests import digest_of
from assay.core.errors import ConfigurationError
from assay.search.searcher import Query, SearchError
from assay.search.systems.system import Found, System, shown


class Function(System):
    """`module:function`, called with the text (or the Query, if annotated so), and k if it takes it.

    It returns ids, pairs of id and score, or dicts with `id` and `score`, best first. It may be called from
    several threads at once, and cannot be stopped.
    """

    def __init__(self, name: str, *, function: str | Callable[..., Any], folder: str = ".") -> None:
        written = function if isinstance(function, str) else f"{function.__module__}:{function.__qualname__}"
        self._call = _loaded(function, folder) if isinstance(function, str) else function
        super().__init__(name, {"function": written, "module": _digest(self._call, written)})
        self._takes_query, self._takes_k = _taken(self._call)

    def found(self, values: Mapping[str, Any], k: int, timeout: float | None) -> Found:
        """What the function returns; whatever it raises is an error of the search."""
        columns = {key: value for key, value in values.items() if key not in ("query", "k", "id")}
        asked = Query(values["id"], values["query"], columns) if self._takes_query else values["query"]
        try:
            return rows(self._call(asked, k) if self._takes_k else self._call(asked))
        except SearchError:
            raise
        except TimeoutError as error:
            raise SearchError("timeout", _said(error), again=True) from error
        except ConnectionError as error:
            raise SearchError("connection", _said(error), again=True) from error
        except Exception as error:
            raise SearchError("failed", _said(error)) from error


def rows(found: Any) -> list[tuple[Any, Any]]:
    """What a program returns as pairs of id and score.

    >>> rows(["a", 7]), rows([("a", 0.5)]), rows([{"id": "a", "score": 0.5}])
    ([('a', None), (7, None)], [('a', 0.5)], [('a', 0.5)])
    """
    if isinstance(found, Mapping) and "documents" in found:
        found = found["documents"]
    if isinstance(found, str | bytes | Mapping) or not hasattr(found, "__iter__"):
        raise SearchError("malformed", f"expected a list of documents, found {shown(found)!r}")
    return [_row(one) for one in found]


def _row(one: Any) -> tuple[Any, Any]:
    if isinstance(one, Mapping):
        if "id" not in one:
            raise SearchError(
                "malformed", f"expected an id, found a document with {', '.join(map(str, one))}"
            )
        return one["id"], one.get("score")
    if isinstance(one, tuple | list):
        if len(one) != 2:
            raise SearchError("malformed", f"expected an id and a score, found {shown(one)}")
        return one[0], one[1]
    return one, None


def _said(error: BaseException) -> str:
    return shown(f"{type(error).__name__}: {error}", 500)


def _loaded(function: str, folder: str) -> Callable[..., Any]:
    module, _, attribute = function.partition(":")
    place = os.path.abspath(folder)
    if place not in sys.path:
        sys.path.insert(0, place)
    try:
        with redirect_stdout(sys.stderr):  # what it prints is no result
            found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:  # the module is not ours: anything may come up in it
        said = f"expected module:function, found {function!r} ({_said(error)})"
        raise ConfigurationError({"function": f"{said}; folder says where the module is"}) from None
    return found  # type: ignore[no-any-return]


def _digest(call: Callable[..., Any], function: str) -> str | None:
    """A name for the files of a function, so that one that was edited is another; None without a file."""
    modules = {function.partition(":")[0], getattr(call, "__module__", "")}
    places = {getattr(sys.modules.get(name), "__file__", None) for name in modules}
    found = [Path(place).read_bytes() for place in sorted(filter(None, places)) if Path(place).is_file()]
    return digest_of(b"\0".join(found)) if found else None


def _taken(call: Callable[..., Any]) -> tuple[bool, bool]:
    """Whether a function takes the Query instead of its text, and whether it takes k."""
    found = inspect.signature(call).parameters.values() if callable(call) else []
    places = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)]
    if not places:
        raise ConfigurationError({"function": "expected a function of (text) or (text, k)"})
    said = places[0].annotation
    k = len(places) > 1 and (places[1].name == "k" or places[1].default is inspect.Parameter.empty)
    return (said if isinstance(said, str) else getattr(said, "__name__", "")).endswith("Query"), k
