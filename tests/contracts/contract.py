"""A contract: requests as an engine's documentation gives them, checked, and its answers, filled in.

In a request, `"<int>"` and its like stand for what varies, a key with `?` may be left out, a list of one
says what each of its elements is, and all else must be there as written; what is not named is refused.
In an answer, `"<name>"` is replaced by a value; a list of one with `"*": "hits"` is repeated for each hit.
"""

import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

HERE = Path(__file__).parent


def _is_int(value: Any, minimum: int) -> bool:
    return type(value) is int and value >= minimum


def _is_vector(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(x) in (int, float) for x in value)


def _is_uuid(value: Any) -> bool:
    try:
        return isinstance(value, str) and str(UUID(value)) == value and UUID(value).int > 0
    except ValueError:
        return False


def _is_text(pattern: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


KINDS: dict[str, Callable[[Any], bool]] = {
    "<positive>": lambda value: _is_int(value, 1),
    "<count>": lambda value: _is_int(value, 0),
    "<position>": lambda value: _is_int(value, 0),
    "<ef>": lambda value: _is_int(value, -1),
    "<bool>": lambda value: type(value) is bool,
    "<string>": _is_text(r"(?s).+"),
    "<digits>": _is_text(r"\d+"),
    "<position text>": _is_text(r"\d+"),
    "<vector>": _is_vector,
    "<uuid>": _is_uuid,
    "<class>": _is_text(r"[A-Z][_0-9A-Za-z]*"),
    "<name>": _is_text(r"assay-[0-9a-f]{32}"),
    "<prefix>": _is_text(r"assay-[0-9a-f]{32}:"),
    "<key>": _is_text(r"assay-[0-9a-f]{32}:\d+"),
    "<floats>": lambda value: isinstance(value, bytes) and len(value) % 4 == 0 and len(value) > 8,
}


def problems(template: Any, value: Any, at: str = "body") -> list[str]:
    """What is wrong with a value, with its place."""
    if isinstance(template, dict):
        return _of_object(template, value, at)
    if isinstance(template, list):
        if not isinstance(value, list):
            return [f"{at}: expected a list, found {value!r}"]
        return [
            problems_found
            for n, x in enumerate(value)
            for problems_found in problems(template[0], x, f"{at}[{n}]")
        ]
    return [] if _fits(template, value) else [f"{at}: expected {template!r}, found {str(value)[:60]!r}"]


def _of_object(template: dict[str, Any], value: Any, at: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{at}: expected an object, found {value!r}"]
    field_names = {key.removeprefix("?"): key for key in template}
    result = [f"{at}.{key}: is not documented" for key in value if key not in field_names]
    result += [f"{at}.{key}: is missing" for key in template if key[0] != "?" and key not in value]
    for key in field_names.keys() & value.keys():
        result += problems(template[field_names[key]], value[key], f"{at}.{key}")
    return result


def _fits(template: Any, value: Any) -> bool:
    if not isinstance(template, str) or not template.startswith("<"):
        return type(template) is type(value) and bool(template == value)
    if template.startswith("<one of: "):
        return value in template[9:-1].split(" | ")
    if template.startswith("<at least: "):
        return _is_int(value, int(template[11:-1]))
    if template.startswith("<matching: "):
        return _is_text(template[11:-1])(value)
    return KINDS[template](value)


def fill_template(template: Any, values: Mapping[str, Any]) -> Any:
    """An answer with its values."""
    if isinstance(template, dict):
        return {
            fill_template(key, values): fill_template(x, values) for key, x in template.items() if key != "*"
        }
    if isinstance(template, list):
        if template and isinstance(template[0], dict) and "*" in template[0]:
            return [fill_template(template[0], {**values, **each}) for each in values[template[0]["*"]]]
        return [fill_template(x, values) for x in template]
    if not isinstance(template, str):
        return template
    if re.fullmatch(r"<\w+>", template):
        return values[template[1:-1]]
    return re.sub(r"<(\w+)>", lambda pattern_match: str(values[pattern_match[1]]), template)


class Request(NamedTuple):
    """A request as it came in."""

    method: str
    path: str
    kind: str  # its Content-Type
    body: bytes


class CheckedRequest(NamedTuple):
    """A request that holds to the contract: which exchange it is, what its path names, and what it says."""

    exchange: dict[str, Any]
    named: dict[str, str]
    body: Any


class Contract:
    """The exchanges of one engine."""

    def __init__(self, name: str) -> None:
        self.facts: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text())

    def check(self, request: Request) -> CheckedRequest | list[str]:
        """The request understood, or what is wrong with it."""
        parts = urlsplit(request.path)
        for exchange in self.facts["exchanges"]:
            pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", exchange["path"])
            pattern_match = re.fullmatch(pattern, parts.path)
            if pattern_match and exchange["method"] == request.method:
                wrong = problems(exchange.get("query", {}), dict(parse_qsl(parts.query)), "query")
                body, problems_found = _read(exchange, request)
                return (wrong + problems_found) or CheckedRequest(exchange, pattern_match.groupdict(), body)
        return [f"{request.method} {parts.path}: is not documented"]

    def command(self, words: list[bytes]) -> CheckedRequest | list[str]:
        """A command of Redis understood, or what is wrong with it."""
        wrong: list[str] = []
        for exchange in self.facts["exchanges"]:
            template = exchange["command"]
            if template[0].encode() == words[0] and len(template) == len(words):
                problems_found = [
                    p for t, w in zip(template, words, strict=True) for p in problems(t, _word(t, w), t)
                ]
                if not problems_found:
                    return CheckedRequest(exchange, {}, words)
                wrong += problems_found
        return wrong or [f"{words[0]!r} with {len(words)} words: is not documented"]


def _word(template: str, word: bytes) -> Any:
    return word if template == "<floats>" else word.decode(errors="replace")


def _read(exchange: dict[str, Any], request: Request) -> tuple[Any, list[str]]:
    if "files" in exchange:
        return _of_files(exchange["files"], request)
    kind = "application/x-ndjson" if "lines" in exchange else "application/json"
    if "request" not in exchange and "lines" not in exchange:
        return None, [f"body: expected none, found {request.body[:60]!r}"] if request.body else []
    if request.kind != kind:
        return None, [f"Content-Type: expected {kind}, found {request.kind!r}"]
    if "lines" in exchange:
        return _of_lines(exchange["lines"], request.body)
    body = json.loads(request.body)
    return body, problems(exchange["request"], body)


def _of_lines(templates: list[Any], raw: bytes) -> tuple[Any, list[str]]:
    lines = [json.loads(line) for line in raw.splitlines()]
    wrong = [] if raw.endswith(b"\n") else ["body: must end with a newline"]
    if len(lines) % len(templates):
        wrong.append(f"body: expected {len(templates)} lines each, found {len(lines)}")
    for n, line in enumerate(lines):
        wrong += problems(templates[n % len(templates)], line, f"line {n + 1}")
    return lines, wrong


def _of_files(files: dict[str, list[str]], request: Request) -> tuple[Any, list[str]]:
    with zipfile.ZipFile(io.BytesIO(request.body)) as packed:
        pattern_match = {name: packed.read(name).decode() for name in packed.namelist()}
    named = dict(find_patterns(files["services.xml"], pattern_match.get("services.xml", "")))
    expected_words = {
        fill_template(name, named) if "name" in named else name: problems_found
        for name, problems_found in files.items()
    }
    wrong = [f"{name}: is missing or not documented" for name in expected_words.keys() ^ pattern_match.keys()]
    for name, patterns in expected_words.items():
        text = pattern_match.get(name, "")
        wrong += [f"{name}: lacks {p}" for p in patterns if not re.search(p, text)]
        named |= dict(find_patterns(patterns, text))
    return named, wrong


def find_patterns(patterns: list[str], text: str) -> list[tuple[str, str]]:
    matches = [re.search(pattern, text) for pattern in patterns]
    return [pair for match in matches if match for pair in match.groupdict().items()]
