"""Parsers of options, with help that keeps its examples as they are written."""

from __future__ import annotations

import argparse
import os


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
