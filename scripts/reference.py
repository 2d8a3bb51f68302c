"""Write docs/reference from the code; with --check, exit with 1 if a page is out of date."""

import argparse
import inspect
import os
import sys
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import assay
from assay.cli import COMMANDS, help_text
from assay.datasets import FORMATS
from assay.measures import ALIASES, DEFINITIONS
from assay.views.measures import AGGREGATIONS, CUTOFFS

REFERENCE_FOLDER = Path(__file__).parent.parent / "docs" / "reference"
HEADER = "<!-- Generated from the code by `make docs`. -->\n\n"


def measures_page() -> str:
    """Return the page of the measures."""
    rows = ["| measure | what it is | parameters | cutoff | over queries | also read as |"]
    rows.append("|---" * 6 + "|")
    for name, d in DEFINITIONS.items():
        defaults = (f"`{p}`" + ("" if type(v) is object else f" = {v!r}") for p, v in d.defaults.items())
        params = ", ".join(defaults) or "none"
        aliases = ", ".join(f"`{a}`" for a, n in ALIASES.items() if n == name and a != name.lower())
        text = " ".join(d.text.split()).replace("|", "\\|")
        rows.append(
            f"| `{name}` | {text} | {params} | {CUTOFFS[d.cutoff]} | {AGGREGATIONS[d.kind]} | {aliases} |"
        )
    return "# Measures\n\nDefinitions and conventions: [measures](../measures.md).\n\n" + "\n".join(rows)


def cli_page() -> str:
    """Return the page of the command line: the help of every command."""
    os.environ["COLUMNS"] = "100"
    parts = ["# Command line\n", f"```text\n{help_text().strip()}\n```\n"]
    for name in COMMANDS:
        module = __import__(f"assay.cli.{name}", fromlist=["parser"])
        parser = module.parser()
        parts.append(f"## assay {name}\n\n```text\n{parser.format_help().strip()}\n```\n")
        for action in parser._actions:
            for subcommand, subparser in (action.choices or {}).items() if _has_commands(action) else ():
                parts.append(
                    f"### assay {name} {subcommand}\n\n```text\n{subparser.format_help().strip()}\n```\n"
                )
    return "\n".join(parts)


def _has_commands(action: argparse.Action) -> bool:
    return isinstance(action, argparse._SubParsersAction)


def formats_page() -> str:
    """Return the page of the formats."""
    rows = ["| format | what it is | reads | writes |", "|---|---|---|---|"]
    for f in FORMATS.values():
        rows.append(f"| `{f.name}` | {f.description} | {', '.join(f.reads)} | {', '.join(f.writes)} |")
    return "# Formats\n\nHow a format is recognized: [data](../data.md).\n\n" + "\n".join(rows)


def python_page() -> str:
    """Return the page of the public names of `assay`."""
    parts = ["# Python\n"]
    for name in sorted(assay._MODULES, key=str.lower):
        value = getattr(assay, name)
        parts.append(f"## {name}\n\n```python\n{name}{_signature(value)}\n```\n\n{_docstring(value)}\n")
        if inspect.isclass(value):
            parts.append(_members(value))
    parts.append("## Measures\n\n" + ", ".join(f"`{n}`" for n in DEFINITIONS if n.isidentifier()) + "\n")
    return "\n".join(parts)


class _UnquotedText(str):
    """Text that prints without quotes."""

    __repr__ = str.__str__


def _signature(value: object) -> str:
    """Return the signature, with annotations as they are written in the code."""
    try:
        signature = inspect.signature(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(...)"
    parameters = [p for p in signature.parameters.values() if p.name != "self"]
    parameters = [p.replace(annotation=_unquote(p.annotation)) for p in parameters]
    result = _unquote(signature.return_annotation)
    return str(signature.replace(parameters=parameters, return_annotation=result))


def _unquote(annotation: object) -> object:
    return _UnquotedText(annotation) if isinstance(annotation, str) else annotation


def _docstring(value: object) -> str:
    """Return the docstring, with its examples as a code block."""
    text, _, example = (inspect.getdoc(value) or "").partition("\n>>>")
    return text.strip() + (f"\n\n```python\n>>>{example}\n```" if example else "")


def _members(kind: type) -> str:
    """Return a list of the methods and properties that Assay defines for a class."""
    rows = []
    for name, member in inspect.getmembers(kind):
        module = getattr(inspect.unwrap(getattr(member, "func", member)), "__module__", None) or "assay"
        if name.startswith("_") or not module.startswith("assay") or not inspect.getdoc(member):
            continue
        if callable(member) or isinstance(member, property | cached_property):
            summary = (inspect.getdoc(member) or "").splitlines()[0]
            rows.append(f"- `{name}{_signature(member) if callable(member) else ''}`: {summary}")
    return "\n".join(rows) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "measures.md": measures_page,
    "cli.md": cli_page,
    "formats.md": formats_page,
    "python.md": python_page,
}


def main(check: bool) -> int:
    """Write the pages, or print which are out of date."""
    REFERENCE_FOLDER.mkdir(parents=True, exist_ok=True)
    stale = []
    for name, make in PAGES.items():
        path, text = REFERENCE_FOLDER / name, HEADER + make().rstrip() + "\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not check:
                path.write_text(text, encoding="utf-8")
    if check and stale:
        print(f"docs/reference is out of date: {', '.join(stale)}; run `make docs`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
