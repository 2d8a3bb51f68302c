"""The command line: parse options, call one workflow, print the result."""

import gc
import io
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from assay.core.errors import OldNameWarning
from assay.core.version import __version__

_REPEAT_SECONDS = 1.0  # a second Ctrl-C within this time is ignored

COMMANDS = {
    "demo": "the whole loop on built-in data",
    "init": "inspect this folder and write an assay.toml that runs",
    "measures": "the measures, what each is for, and which to choose",
    "eval": "score runs: per query, per slice, with intervals",
    "compare": "paired differences, tests, slices, and what the change means in words",
    "gate": "pass or fail a candidate by the rules in assay.toml",
    "failures": "the queries that fail, grouped, with the likely cause and the fix",
    "run": "run the search systems of assay.toml: runs, latency, cost, scores, losses",
    "fuse": "fuse run files into one run",
    "truth": "exact neighbours; `truth audit` checks those of a file",
    "dataset": "evaluation sets: build, check, version; vectors: export, generate, show, check",
    "judge": "labels of people, clicks and models: collect, agree, combine, estimate",
    "online": "what users did: metrics, A/B tests, interleaving, and whether offline predicted it",
    "rag": "end-to-end answers against retrieval, and the δ that an application needs",
    "shadow": "try a candidate on live requests, unseen, and report how it differs",
    "rollout": "release a change step by step by a policy, and roll it back",
    "bench": "sweep indexes over parameters: recall distribution, throughput, latency, memory",
    "select": "choose an index by floors and an objective; explain why the others lost",
    "tune": "find the cheapest configuration that meets the floors",
    "serve": "the dashboard: pages over the experiments of a store",
    "models": "language models on this machine: list, fetch, serve",
    "experiments": "the recorded experiments: their data, their results, and what changed them",
}


def main() -> NoReturn:
    """Run a command and exit with its exit code at once, without tearing down the interpreter."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads take longer to start than they save
    gc.disable()
    errors = StandardError(io.FileIO(2, "w", closefd=False))
    sys.stderr = io.TextIOWrapper(errors, "utf-8", "backslashreplace", line_buffering=True)
    streams = (sys.stdout, sys.stderr)
    for stream in streams:
        stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # whatever the locale is
    warnings.formatwarning = _format_warning
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # it is ignored for background commands
        signal.signal(signal.SIGINT, InterruptHandler())
    code = call(sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command is over: only flush what it printed
    for stream in streams:
        try:
            stream.flush()
        except OSError:
            code = code or 1
    os._exit(code)


_format_python_warning = warnings.formatwarning


def _format_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """Return a warning as it is printed: one about the input of the user without a line of the program."""
    if issubclass(category, OldNameWarning):
        return f"warning: {message}\n"
    return _format_python_warning(message, category, filename, lineno, line)


class StandardError(io.BufferedWriter):
    """Standard error that ignores a closed pipe: a long measurement does not end because its log does.

    The raw file is not wrapped: a Ctrl-C inside its `write` would have a line written twice.
    """

    def write(self, data: Any) -> int:
        """Write data, or discard it if the pipe is closed."""
        try:
            return super().write(data)
        except BrokenPipeError:
            _discard_output(self.fileno())
            return len(data)

    def flush(self) -> None:
        """Write buffered data, or discard it if the pipe is closed."""
        try:
            super().flush()
        except BrokenPipeError:
            _discard_output(self.fileno())


class InterruptHandler:
    """Handle Ctrl-C once: a repeated Ctrl-C does not interrupt the clean-up that the first one started.

    >>> handle = InterruptHandler()
    >>> try:
    ...     handle(2, None)
    ... except KeyboardInterrupt:
    ...     handle(2, None)
    """

    def __init__(self) -> None:
        self.last = -_REPEAT_SECONDS

    def __call__(self, number: int, frame: object) -> None:
        """Raise KeyboardInterrupt, unless Ctrl-C was pressed a moment ago."""
        before, self.last = self.last, time.monotonic()
        if self.last - before > _REPEAT_SECONDS:
            raise KeyboardInterrupt


def call(argv: list[str]) -> int:
    """Run a command and return its exit code."""
    if not argv or argv[0] in ("-h", "--help"):
        print(help_text())
        return 0
    if argv[0] == "--version":
        print(f"assay {__version__}")
        return 0
    if argv[0] not in COMMANDS:
        from assay.core.suggestions import did_you_mean  # loads difflib, which only this error needs

        hint = did_you_mean(argv[0], COMMANDS) or f"there are {', '.join(COMMANDS)}"
        return _print_problem(f"there is no command {argv[0]!r}; {hint} (see assay --help)")
    return _run_command(argv[0], argv[1:])


def _run_command(name: str, argv: list[str]) -> int:
    try:
        module = import_module(f"assay.cli.{name}")
        arguments = module.parser().parse_args(argv)
        gc.freeze()  # loaded modules stay: the collector need not look through them
        gc.enable()
        return int(module.command(arguments) or 0)
    except SystemExit as exit_request:  # argparse has printed why
        return int(exit_request.code or 0)
    except BrokenPipeError:  # the reader of the output has closed it
        close_output()
        return 0
    except OSError as error:  # such as a full disk
        return _print_problem(f"assay {name}: {error}")
    except KeyboardInterrupt:
        return _print_problem("interrupted", 130)
    except Exception as error:
        if _is_interrupted(error):
            return _print_problem("interrupted", 130)
        code = getattr(error, "exit_code", None)
        return _report_fault(name) if code is None else _print_problem(f"assay {name}: {error}", code)


def _is_interrupted(error: BaseException | None) -> bool:
    """Return whether Ctrl-C led to an error, as a query that DuckDB interrupts does."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def show(text: str) -> None:
    """Print a result; if its reader has closed the pipe, what follows is still done."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        close_output()


def print_notes(notes: Sequence[str], is_after_table: bool = False) -> None:
    """Print notes on standard error, after a table separated by an empty line."""
    if notes:
        print("\n" * is_after_table + "\n".join(notes), file=sys.stderr)


def close_output() -> None:
    """Discard what is still to be printed: nobody reads it."""
    _discard_output(1)


def _discard_output(descriptor: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _report_fault(name: str) -> int:
    """Print where a fault of the program is; its exit code differs from that of a failed gate."""
    traceback.print_exc()
    return _print_problem(f"assay {name}: this is a fault of Assay; please report the traceback above", 70)


def _print_problem(problem: str, code: int = 2) -> int:
    print(problem, file=sys.stderr)
    return code


def help_text() -> str:
    """Return what `assay --help` prints."""
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  assay {name:<{width}}  {purpose}" for name, purpose in COMMANDS.items())
    return f"""Assay tells whether a search is good, for whom it fails, whether a change is real and may ship.

{commands}

`assay COMMAND --help` shows its options with examples.

  assay demo
  assay eval qrels.txt run.txt -m nDCG@10 -m R@100
"""
