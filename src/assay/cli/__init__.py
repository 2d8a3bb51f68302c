"""The command line: parse, call one function, print."""

import gc
import io
import os
import signal
import sys
import time
from importlib import import_module
from typing import Any, NoReturn

_BOUNCE = 1.0  # seconds in which a second Ctrl-C means no more than the first

COMMANDS = {
    "demo": "the whole loop on built-in data",
    "init": "look at this folder and write an assay.toml that runs",
    "measures": "what can be measured, what for, and what to choose",
    "eval": "score runs: per query, per slice, with intervals",
    "compare": "paired differences, tests, slices, what the change means in words",
    "gate": "pass or fail a candidate by the rules in assay.toml",
    "failures": "the queries that fail, grouped, with the likely cause and the fix",
    "run": "run the search systems of assay.toml: runs, latency, cost, scores, losses",
    "truth": "exact neighbours; `truth audit` checks someone else's",
    "dataset": "vectors and neighbours: export, generate, show and check them",
    "bench": "sweep indexes over parameters: recall distribution, throughput, latency, memory",
    "select": "choose an index by floors and an objective; say why the others lost",
    "tune": "find the cheapest configuration that meets the floors",
    "experiments": "what was tried, on which data, what it gave, and what broke it",
}


def main() -> NoReturn:
    """Run a command and leave with its exit code, at once: there is nothing to tear down."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads take longer to start than to use
    gc.disable()
    told = Unread(io.FileIO(2, "w", closefd=False))
    sys.stderr = io.TextIOWrapper(told, "utf-8", "backslashreplace", line_buffering=True)
    streams = (sys.stdout, sys.stderr)
    for stream in streams:
        stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # whatever the locale says
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as for a command put in the background
        signal.signal(signal.SIGINT, Interruption())
    code = call(sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is over: only what was said is still to be written
    for stream in streams:
        try:
            stream.flush()
        except OSError:
            code = code or 1
    os._exit(code)


class Unread(io.BufferedWriter):
    """Standard error, whose reader may leave: a night of measuring does not end with the log of it.

    The file below is left as it is: a Ctrl-C inside its writing would have a line written twice.
    """

    def write(self, data: Any) -> int:
        """Write, or do as if."""
        try:
            return super().write(data)
        except BrokenPipeError:
            _silence(self.fileno())
            return len(data)

    def flush(self) -> None:
        """Write what was held back, or do as if."""
        try:
            super().flush()
        except BrokenPipeError:
            _silence(self.fileno())


class Interruption:
    """Ctrl-C, once: pressed twice in a hurry it does not cut short what the first has set going.

    >>> pressed = Interruption()
    >>> try:
    ...     pressed(2, None)
    ... except KeyboardInterrupt:
    ...     pressed(2, None)
    """

    def __init__(self) -> None:
        self.last = -_BOUNCE

    def __call__(self, number: int, frame: object) -> None:
        """Called by the system with each Ctrl-C."""
        before, self.last = self.last, time.monotonic()
        if self.last - before > _BOUNCE:
            raise KeyboardInterrupt


def call(argv: list[str]) -> int:
    """Run a command; the result is the exit code."""
    if not argv or argv[0] in ("-h", "--help"):
        print(help_text())
        return 0
    if argv[0] == "--version":
        from assay import __version__

        print(f"assay {__version__}")
        return 0
    if argv[0] not in COMMANDS:
        return _say(f"there is no command {argv[0]!r}; there are {', '.join(COMMANDS)} (see assay --help)")
    return _command(argv[0], argv[1:])


def _command(name: str, argv: list[str]) -> int:
    try:
        module = import_module(f"assay.cli.{name}")
        arguments = module.parser().parse_args(argv)
        gc.freeze()  # what is loaded stays: nothing of it is worth looking through
        gc.enable()
        return int(module.command(arguments) or 0)
    except SystemExit as left:  # argparse has said why
        return int(left.code or 0)
    except BrokenPipeError:  # whoever read us has seen enough
        close_output()
        return 0
    except OSError as error:  # a disk that is full, for one
        return _say(f"assay {name}: {error}")
    except KeyboardInterrupt:
        return _say("interrupted", 130)
    except Exception as error:
        code = getattr(error, "exit_code", None)
        return _fault(name) if code is None else _say(f"assay {name}: {error}", code)


def show(text: str) -> None:
    """Print a result; a reader who has seen enough does not keep what follows from being done."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        close_output()


def close_output() -> None:
    """Send what is still to be printed nowhere: nobody reads it."""
    _silence(1)


def _silence(descriptor: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _fault(name: str) -> int:
    """Say where a fault of the program is; it leaves with a code of its own, not that of a failed gate."""
    import traceback

    traceback.print_exc()
    return _say(f"assay {name}: this is a fault of Assay; please report what stands above", 70)


def _say(problem: str, code: int = 2) -> int:
    print(problem, file=sys.stderr)
    return code


def help_text() -> str:
    """What `assay --help` prints."""
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  assay {name:<{width}}  {what}" for name, what in COMMANDS.items())
    return f"""Assay tells whether a search is good, for whom it fails, whether a change is real and may ship.

{commands}

`assay COMMAND --help` shows its options with examples.

  assay demo
  assay eval qrels.txt run.txt -m nDCG@10 -m R@100
"""
