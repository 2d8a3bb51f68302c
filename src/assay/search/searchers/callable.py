"""A Python function that searches."""

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
from assay.core.errors import ConfigurationError, describe_exception
from assay.remote.errors import RemoteError
from assay.remote.redaction import excerpt
from assay.search.searcher import Query
from assay.search.searchers.configured import ConfiguredSearcher, ReturnedDocuments

_K_NAMES = ("k", "top_k", "limit", "size")


class FunctionSearcher(ConfiguredSearcher):
    """Calls `module:function` with the text (or the Query, if annotated so), and with k if it takes it.

    It takes k by a second parameter without a default, or by a parameter named k, top_k, limit or size.
    The function returns ids, pairs of id and score, or dicts with `id` and `score`, best first. It may be
    called from several threads at once, and cannot be stopped.
    """

    def __init__(self, name: str, *, function: str | Callable[..., Any], folder: str = ".") -> None:
        if isinstance(function, str):
            function_name, call = function, _import_function(function, folder)
        else:
            function_name, call = f"{function.__module__}:{function.__qualname__}", function
        super().__init__(name, {"function": function_name, "module": _digest(call, function_name)})
        self._takes_query, self._search = _takes_query(call), _with_k(call)

    def find_documents(self, values: Mapping[str, Any], k: int, timeout: float | None) -> ReturnedDocuments:
        """Return the documents that the function returns; any exception is an error of the search."""
        columns = {key: value for key, value in values.items() if key not in ("query", "k", "id")}
        query = Query(values["id"], values["query"], columns) if self._takes_query else values["query"]
        try:
            return parse_documents(self._search(query, k))
        except RemoteError:
            raise
        except TimeoutError as error:
            raise RemoteError("timeout", _describe_error(error), is_transient=True) from error
        except ConnectionError as error:
            raise RemoteError("connection", _describe_error(error), is_transient=True) from error
        except Exception as error:
            raise RemoteError("failed", _describe_error(error)) from error


def parse_documents(returned: Any) -> list[tuple[Any, Any]]:
    """Return what a program returned as pairs of id and score.

    >>> parse_documents(["a", 7]), parse_documents([{"id": "a", "score": 0.5}])
    ([('a', None), (7, None)], [('a', 0.5)])
    >>> parse_documents([("a", 0.5)])
    [('a', 0.5)]
    """
    if isinstance(returned, Mapping) and "documents" in returned:
        returned = returned["documents"]
    if isinstance(returned, str | bytes | Mapping) or not hasattr(returned, "__iter__"):
        raise RemoteError("malformed", f"expected a list of documents, found {excerpt(returned)!r}")
    return [_parse_document(document) for document in returned]


def _parse_document(document: Any) -> tuple[Any, Any]:
    if isinstance(document, Mapping):
        if "id" not in document:
            keys = ", ".join(map(str, document))
            raise RemoteError("malformed", f"expected an id, found a document with {keys}")
        return document["id"], document.get("score")
    if isinstance(document, tuple | list):
        if len(document) != 2:
            raise RemoteError("malformed", f"expected an id and a score, found {excerpt(document)}")
        return document[0], document[1]
    return document, None


def _describe_error(error: BaseException) -> str:
    return excerpt(describe_exception(error), 500)


def _import_function(function: str, folder: str) -> Callable[..., Any]:
    module, _, attribute = function.partition(":")
    path = os.path.abspath(folder)
    if path not in sys.path:
        sys.path.insert(0, path)
    try:
        with redirect_stdout(sys.stderr):  # standard output is for results
            target: Any = import_module(module)
        for part in attribute.split("."):
            target = getattr(target, part)
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        problem = f"expected module:function, found {function!r} ({_describe_error(error)})"
        raise ConfigurationError({"function": f"{problem}; set folder to the folder of the module"}) from None
    return target  # type: ignore[no-any-return]


def _digest(call: Callable[..., Any], function: str) -> str | None:
    """Return a digest of the files of a function, so that edits are noticed; None without a file."""
    modules = {function.partition(":")[0], getattr(call, "__module__", "")}
    paths = {getattr(sys.modules.get(name), "__file__", None) for name in modules}
    contents = [Path(path).read_bytes() for path in sorted(filter(None, paths)) if Path(path).is_file()]
    return digest_of(b"\0".join(contents)) if contents else None


def _takes_query(call: Callable[..., Any]) -> bool:
    """Return whether a function takes the Query instead of its text."""
    annotation = _parameters(call)[0].annotation
    type_name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return bool(type_name.endswith("Query"))


def _with_k(call: Callable[..., Any]) -> Callable[[Any, int], Any]:
    """Return a function of the query and k that calls a function, with k if it takes it."""
    parameter = _k_parameter(_parameters(call))
    if parameter is None:
        return lambda query, k: call(query)
    if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
        return call
    name = parameter.name
    return lambda query, k: call(query, **{name: k})


def _k_parameter(parameters: list[inspect.Parameter]) -> inspect.Parameter | None:
    """Return the parameter that takes k; other parameters must have defaults."""
    named = [p for p in parameters[1:] if p.name in _K_NAMES]
    required = [p for p in parameters[1:] if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    positional = [p for p in required if p.kind is not p.KEYWORD_ONLY]
    parameter = next(iter([*named, *positional]), None)
    if others := [p.name for p in required if p is not parameter and p.kind is not p.VAR_POSITIONAL]:
        problem = f"expected a function of (text) or (text, k), found that it needs {', '.join(others)} too"
        raise ConfigurationError({"function": f"{problem}; give a default, or name it k if it is k"})
    return parameter


def _parameters(call: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function, the first of which takes the text."""
    parameters = list(inspect.signature(call).parameters.values()) if callable(call) else []
    if not parameters or parameters[0].kind in (
        inspect.Parameter.KEYWORD_ONLY,
        inspect.Parameter.VAR_KEYWORD,
    ):
        raise ConfigurationError({"function": "expected a function of (text) or (text, k)"})
    return parameters
