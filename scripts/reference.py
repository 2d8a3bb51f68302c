"""Write docs/reference from the code; with --check, fail where a page is stale."""

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
from assay.views.measures import CUTOFFS, SUMS

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
HEAD = "<!-- Made by `make docs` from the code. -->\n\n"


def measures() -> str:
    """The page of the measures."""
    rows = ["| measure | what it is | parameters | cutoff | over queries | also read as |"]
    rows.append("|---" * 6 + "|")
    for name, d in DEFINITIONS.items():
        defaults = (f"`{p}`" + ("" if type(v) is object else f" = {v!r}") for p, v in d.defaults.items())
        params = ", ".join(defaults) or "none"
        other = ", ".join(f"`{a}`" for a, n in ALIASES.items() if n == name and a != name.lower())
        text = " ".join(d.text.split()).replace("|", "\\|")
        rows.append(f"| `{name}` | {text} | {params} | {CUTOFFS[d.cutoff]} | {SUMS[d.kind]} | {other} |")
    return "# Measures\n\nWhat they rest on: [measures](../measures.md).\n\n" + "\n".join(rows)


def cli() -> str:
    """The page of the command line: the help of every command."""
    os.environ["COLUMNS"] = "100"
    parts = ["# Command line\n", f"```text\n{help_text().strip()}\n```\n"]
    for name in COMMANDS:
        module = __import__(f"assay.cli.{name}", fromlist=["parser"])
        made = module.parser()
        parts.append(f"## assay {name}\n\n```text\n{made.format_help().strip()}\n```\n")
        for action in made._actions:
            for sub, part in (action.choices or {}).items() if _has_commands(action) else ():
                parts.append(f"### assay {name} {sub}\n\n```text\n{part.format_help().strip()}\n```\n")
    return "\n".join(parts)


def _has_commands(action: argparse.Action) -> bool:
    return isinstance(action, argparse._SubParsersAction)


def formats() -> str:
    """The page of the formats."""
    rows = ["| format | what it is | reads | writes |", "|---|---|---|---|"]
    for f in FORMATS.values():
        rows.append(f"| `{f.name}` | {f.description} | {', '.join(f.reads)} | {', '.join(f.writes)} |")
    return "# Formats\n\nHow they are told apart: [data](../data.md).\n\n" + "\n".join(rows)


def python() -> str:
    """The page of the names that `from assay import …` gives."""
    parts = ["# Python\n"]
    for name in sorted(assay._HOME, key=str.lower):
        thing = getattr(assay, name)
        parts.append(f"## {name}\n\n```python\n{name}{_signature(thing)}\n```\n\n{_described(thing)}\n")
        if inspect.isclass(thing):
            parts.append(_members(thing))
    parts.append("## Measures\n\n" + ", ".join(f"`{n}`" for n in DEFINITIONS if n.isidentifier()) + "\n")
    return "\n".join(parts)


class _Bare(str):
    """Text that prints without quotes."""

    __repr__ = str.__str__


def _signature(thing: object) -> str:
    """How a thing is called, annotations as they are written in the code."""
    try:
        made = inspect.signature(thing)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(...)"
    bare = [p.replace(annotation=_shown(p.annotation)) for p in made.parameters.values() if p.name != "self"]
    return str(made.replace(parameters=bare, return_annotation=_shown(made.return_annotation)))


def _shown(annotation: object) -> object:
    return _Bare(annotation) if isinstance(annotation, str) else annotation


def _described(thing: object) -> str:
    """The docstring, its examples as code."""
    text, _, example = (inspect.getdoc(thing) or "").partition("\n>>>")
    return text.strip() + (f"\n\n```python\n>>>{example}\n```" if example else "")


def _members(kind: type) -> str:
    """The methods and properties that a class has of its own."""
    rows = []
    for name, member in inspect.getmembers(kind):
        home = getattr(inspect.unwrap(getattr(member, "func", member)), "__module__", None) or "assay"
        if name.startswith("_") or not home.startswith("assay") or not inspect.getdoc(member):
            continue
        if callable(member) or isinstance(member, property | cached_property):
            said = (inspect.getdoc(member) or "").splitlines()[0]
            rows.append(f"- `{name}{_signature(member) if callable(member) else ''}`: {said}")
    return "\n".join(rows) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "measures.md": measures,
    "cli.md": cli,
    "formats.md": formats,
    "python.md": python,
}


def main(check: bool) -> int:
    """Write the pages, or name those that are stale."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    stale = []
    for name, make in PAGES.items():
        path, text = FOLDER / name, HEAD + make().rstrip() + "\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not check:
                path.write_text(text, encoding="utf-8")
    if check and stale:
        print(f"docs/reference is stale: {', '.join(stale)}; run `make docs`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
