"""Parsers of options; their help shows examples as they are written."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help of a fixed width: asking the terminal loads more modules than the rest of the parser."""

    def __init__(self, prog: str) -> None:
        columns = os.environ.get("COLUMNS", "")
        super().__init__(prog, width=int(columns) if columns.isdecimal() else 100)


class SuggestingParser(argparse.ArgumentParser):
    """A parser whose errors suggest the option or the choice with the most similar name."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the options; an unknown one is an error."""
        arguments, unknown = self.parse_known_args(args, namespace)
        if unknown:
            names = [name for parser in self._parsers(arguments) for name in parser._option_string_actions]
            hints = filter(
                None, (_suggest(word.partition("=")[0], names) for word in unknown if word[:1] == "-")
            )
            self.error(f"unrecognized arguments: {' '.join(unknown)}{next(hints, '')}")
        return arguments

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the options; files after an option are added to those before it."""
        arguments, unknown = super().parse_known_args(args, namespace)
        files = [action for action in self._actions if not action.option_strings and action.nargs == "*"]
        if files and not any(word[:1] == "-" and word != "-" for word in unknown):
            setattr(arguments, files[0].dest, [*getattr(arguments, files[0].dest), *unknown])
            unknown = []
        return arguments, unknown

    def _parsers(self, arguments: argparse.Namespace) -> list[argparse.ArgumentParser]:
        """Return this parser, or that of the subcommand that was given."""
        groups = [action for action in self._actions if isinstance(action, argparse._SubParsersAction)]
        return [group.choices[getattr(arguments, group.dest)] for group in groups] or [self]

    def _check_value(self, action: argparse.Action, value: object) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            hint = _suggest(str(value), map(str, action.choices or ()))
            raise argparse.ArgumentError(action, f"{error.message}{hint}") from None


def _suggest(name: str, choices: Iterable[str], closeness: float = 0.6) -> str:
    """Return the question whether the most similar choice was meant, to be added to an error."""
    from assay.core.suggestions import did_you_mean  # loads difflib, which only errors need

    hint = did_you_mean(name, choices, closeness)
    return hint and f"; {hint}"


def make_parser(command: str, description: str, examples: str) -> argparse.ArgumentParser:
    """Return the parser of a command."""
    return SuggestingParser(
        f"assay {command}", description=description, epilog=examples, formatter_class=_Help
    )


class _DefaultCommandParser(SuggestingParser):
    """A parser with subcommands, one of which is the default."""

    default_command = ""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the options; without a subcommand, those of the default one."""
        words = list(args or ())
        commands = next(a.choices for a in self._actions if isinstance(a, argparse._SubParsersAction))
        is_named = bool(words) and (words[0] in commands or words[0] in ("-h", "--help"))
        if words and not is_named and words[0][:1] != "-" and not os.path.exists(words[0]):
            hint = _suggest(words[0], commands, 0.7)  # else it is an argument of the default subcommand
            if hint:
                self.error(f"there is no command {words[0]!r}, and no file of this name{hint}")
        return super().parse_args(words if is_named else [self.default_command, *words], namespace)


def make_group(command: str, description: str, examples: str, default: str) -> argparse.ArgumentParser:
    """Return the parser of a command with subcommands, one of which is the default."""
    parser = _DefaultCommandParser(
        f"assay {command}", description=description, epilog=examples, formatter_class=_Help
    )
    parser.default_command = default
    return parser


class Subcommand(NamedTuple):
    """A command of a group: what it runs (the result is the exit code), its options and its description."""

    run: Callable[[argparse.Namespace], int]
    add_options: Callable[[argparse.ArgumentParser], None]
    description: str


def add_subcommands(
    parser: argparse.ArgumentParser, subcommands: Mapping[str, Subcommand], examples: str
) -> dict[str, argparse.ArgumentParser]:
    """Add a parser for each subcommand, with its options and those of the examples that use it.

    An example that names no subcommand uses the first.
    """
    commands = parser.add_subparsers(dest="action", metavar="COMMAND", required=True)
    lines = [line for line in examples.splitlines() if line.startswith(f"  {parser.prog} ")]
    first = next(iter(subcommands))
    parsers = {}
    for name, subcommand in subcommands.items():
        words = ((line, line.split()[2]) for line in lines)
        own = [line for line, word in words if (word if word in subcommands else first) == name]
        description = subcommand.description
        parsers[name] = commands.add_parser(
            name,
            help=description,
            description=f"{description[0].upper()}{description[1:]}.",
            epilog="\n".join(["examples:", *own]) if own else None,
            formatter_class=_Help,
        )
        parsers[name].set_defaults(run=subcommand.run)
        subcommand.add_options(parsers[name])
    return parsers


class SubcommandModule(Protocol):
    """A module with some of the subcommands of a command, and examples of them, one on a line."""

    SUBCOMMANDS: dict[str, Subcommand]
    EXAMPLES: str


def join_subcommands(
    command: str, description: str, modules: Sequence[SubcommandModule], footer: str
) -> argparse.ArgumentParser:
    """Return the parser of a command whose subcommands are in several modules."""
    examples = "examples:\n" + "".join(module.EXAMPLES for module in modules)
    parser = make_parser(command, description, f"{examples}\n{footer}")
    subcommands = {name: part for module in modules for name, part in module.SUBCOMMANDS.items()}
    add_subcommands(parser, subcommands, examples)
    return parser


def run_subcommand(arguments: argparse.Namespace) -> int:
    """Run the chosen command of a group; the result is the exit code."""
    return int(arguments.run(arguments))


def add_qrels(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names the judgments."""
    parser.add_argument(
        "qrels",
        metavar="QRELS",
        help="judgments: a TREC, CSV, JSON, Parquet… file, a BEIR folder, or dataset:NAME of the store",
    )


def add_measures(parser: argparse.ArgumentParser, defaults: Sequence[str]) -> None:
    """Add the options that choose measures and slices."""
    parser.add_argument(
        "-m",
        "--measure",
        action="append",
        metavar="MEASURE",
        help=f"a measure to compute; may be repeated (default: {' '.join(defaults)})",
    )
    add_slices(parser)


def add_slices(parser: argparse.ArgumentParser) -> None:
    """Add the option that chooses slices."""
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="COLUMN",
        help="slice by a column of the query table; may be repeated; `frequency` gives head, torso and tail, "
        "`length` and `intent` are derived from the texts",
    )


def add_two_labels(parser: argparse.ArgumentParser) -> None:
    """Add the options that name labels of people and of a model."""
    parser.add_argument(
        "--human",
        metavar="QRELS",
        help="labels of people for a sample of the queries or pairs: estimates from these and the labels of "
        "a model (QRELS, or --model) take the place of the scores; see assay judge estimate",
    )
    parser.add_argument(
        "--model",
        metavar="QRELS",
        help="labels of a model for all queries; with --human and --model, all files are runs",
    )


def add_store(parser: argparse._ActionsContainer) -> None:
    """Add the option that names the store of experiments."""
    parser.add_argument(
        "--store", metavar="URL", help="a folder or postgresql://… (default: ASSAY_STORE, assay.toml, .assay)"
    )


def add_format(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    """Add the option that chooses the output format: one that the view renders, or JSON."""
    parser.add_argument(
        "--format", choices=with_json(formats), default="table", help="the output format (default: table)"
    )


def with_json(formats: Sequence[str]) -> tuple[str, ...]:
    """Return the formats that a view renders and JSON, which is the same for every result.

    >>> with_json(("table", "md"))
    ('table', 'json', 'md')
    """
    return (formats[0], "json", *formats[1:])


def add_intervals(parser: argparse.ArgumentParser) -> None:
    """Add the level of the intervals and the seed of the random numbers."""
    parser.add_argument(
        "--level", type=float, default=0.95, metavar="L", help="level of the intervals (default: 0.95)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the tests that draw at random (default: 0)"
    )


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add the options that give the configuration of each run."""
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="FILE",
        help="the configuration of each run (TOML or JSON), in the order of the runs; differences are shown, "
        "and --save records it",
    )
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="[RUN:]KEY=VALUE",
        help="a setting of the configuration of every run, or of one, such as index.ef=64; it replaces "
        "that of --config; may be repeated",
    )
