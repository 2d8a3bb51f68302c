"""Parsers of options, with help that keeps its examples as they are written."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help of a settled width: asking the terminal loads more than the rest of the parser."""

    def __init__(self, prog: str) -> None:
        columns = os.environ.get("COLUMNS", "")
        super().__init__(prog, width=int(columns) if columns.isdecimal() else 100)


def make_parser(command: str, description: str, examples: str) -> argparse.ArgumentParser:
    """The parser of a command."""
    return argparse.ArgumentParser(
        f"assay {command}", description=description, epilog=examples, formatter_class=_Help
    )


class _Usual(argparse.ArgumentParser):
    """A parser with commands, one of which need not be named."""

    usual = ""

    def parse_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """The options; those of the usual command where none is named."""
        given = list(args or ())
        commands = next(a.choices for a in self._actions if isinstance(a, argparse._SubParsersAction))
        named = bool(given) and (given[0] in commands or given[0] in ("-h", "--help"))
        return super().parse_args(given if named else [self.usual, *given], namespace)


def make_group(command: str, description: str, examples: str, usual: str) -> argparse.ArgumentParser:
    """The parser of a command that has commands of its own; the usual one need not be named."""
    made = _Usual(f"assay {command}", description=description, epilog=examples, formatter_class=_Help)
    made.usual = usual
    return made


def add_commands(
    made: argparse.ArgumentParser, named: Mapping[str, str], examples: str
) -> Iterator[argparse.ArgumentParser]:
    """The parsers of a command's commands, by name and what each does, with the examples that are its own.

    An example that names no command is of the first.
    """
    commands = made.add_subparsers(dest="action", metavar="COMMAND", required=True)
    lines = [line for line in examples.splitlines() if line.startswith(f"  {made.prog} ")]
    first = next(iter(named))
    for name, what in named.items():
        words = ((line, line.split()[2]) for line in lines)
        own = [line for line, word in words if (word if word in named else first) == name]
        yield commands.add_parser(
            name,
            help=what,
            description=f"{what[0].upper()}{what[1:]}.",
            epilog="\n".join(["examples:", *own]) if own else None,
            formatter_class=_Help,
        )


def add_qrels(parser: argparse.ArgumentParser) -> None:
    """The judgments."""
    parser.add_argument(
        "qrels", metavar="QRELS", help="judgments: a TREC, CSV, JSON, Parquet… file, or a BEIR folder"
    )


def add_measures(parser: argparse.ArgumentParser, defaults: Sequence[str]) -> None:
    """What to compute, and for which slices."""
    parser.add_argument(
        "-m",
        "--measure",
        action="append",
        metavar="MEASURE",
        help=f"what to compute, may be repeated (default: {' '.join(defaults)})",
    )
    add_slices(parser)


def add_slices(parser: argparse.ArgumentParser) -> None:
    """The slices."""
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="COLUMN",
        help="slice by a column of the query table, may be repeated; `frequency` gives head, torso and tail, "
        "`length` and `intent` are made from the texts",
    )


def add_store(parser: argparse._ActionsContainer) -> None:
    """Where experiments are kept."""
    parser.add_argument(
        "--store", metavar="URL", help="a folder or postgresql://… (default: ASSAY_STORE, assay.toml, .assay)"
    )


def add_format(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    """How to print."""
    parser.add_argument("--format", choices=formats, default="table", help="how to print (default: table)")


def add_intervals(parser: argparse.ArgumentParser) -> None:
    """The level of intervals and the seed of what is drawn at random."""
    parser.add_argument(
        "--level", type=float, default=0.95, metavar="L", help="level of the intervals (default: 0.95)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the bootstrap (default: 0)")


def add_config(parser: argparse.ArgumentParser) -> None:
    """The configuration of each run."""
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="FILE",
        help="the configuration of each run (TOML or JSON), in the order of the runs: what differs is shown, "
        "and it is kept with --save",
    )
