"""The options of commands that ask a language model, and the progress of asking."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from assay.models.ask_all import AskProgress, AskWatch
from assay.workflows.language_models import REPLIES, ModelRequest


def add_model_options(parser: argparse.ArgumentParser, *, is_required: bool = True) -> None:
    """Add the options that name a language model and say how it is called."""
    parser.add_argument(
        "--endpoint",
        required=is_required,
        metavar="URL",
        help="an OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1 (`assay models serve`)",
    )
    parser.add_argument(
        "--model", required=is_required, metavar="NAME", help="the model, as the endpoint names it"
    )
    parser.add_argument(
        "--key-env", metavar="VARIABLE", help="the environment variable that holds the key of the endpoint"
    )
    parser.add_argument(
        "--price-in", type=float, metavar="COST", help="the price of a million tokens of prompts"
    )
    parser.add_argument(
        "--price-out", type=float, metavar="COST", help="the price of a million tokens of replies"
    )
    parser.add_argument(
        "--replies",
        default=REPLIES,
        metavar="FOLDER",
        help="where every reply is recorded, so that it is not paid for again (default: %(default)s)",
    )
    _add_sending_options(parser)


def _add_sending_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how requests are sent, and when the work ends."""
    parser.add_argument(
        "--budget",
        type=float,
        metavar="COST",
        help="stop before the cost of all sessions may exceed this; needs the prices",
    )
    parser.add_argument(
        "--workers", type=int, default=4, metavar="N", help="requests at the same time (default: 4)"
    )
    parser.add_argument("--rate", type=float, metavar="N", help="most requests per second")
    parser.add_argument(
        "--timeout", type=float, default=120.0, metavar="S", help="seconds for one request (default: 120)"
    )
    parser.add_argument(
        "--retries",
        type=int,
        default=5,
        metavar="N",
        help="how often a request is repeated after a transient failure (default: 5)",
    )
    parser.add_argument(
        "--structured",
        choices=("auto", "always", "never"),
        default="auto",
        help="send a JSON schema: until the endpoint refuses it, always or never (default: auto)",
    )


def model_request(arguments: argparse.Namespace) -> ModelRequest:
    """Return the model that the options of `add_model_options` name."""
    names = ("endpoint", "model", "key_env", "price_in", "price_out", "budget", "workers", "rate")
    others = ("timeout", "retries", "structured", "replies")
    return ModelRequest(**{name: getattr(arguments, name) for name in (*names, *others)})


@contextmanager
def watch_requests() -> Iterator[AskWatch | None]:
    """Report how many requests are done in one line, if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return

    def report(progress: AskProgress) -> None:
        failed = f", {progress.failed:,} failed" if progress.failed else ""
        cost = f", cost {progress.cost:.4g}" if progress.cost else ""
        line = f"{progress.done:,} of {progress.total:,} replies{failed}{cost}, {progress.per_second:.2f}/s"
        print(f"\r{line}\033[K", end="", file=sys.stderr, flush=True)

    try:
        yield report
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
