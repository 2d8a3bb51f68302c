"""assay serve: the dashboard."""

from __future__ import annotations

import argparse
import sys

from assay.cli.parsers import add_store, make_parser
from assay.core.errors import MissingExtraError

_EXAMPLES = """examples:
  assay serve
  assay serve --port 8080 --store assay-demo/store
  assay serve --bench bench-results --bench other-results

exit codes: 0 stopped; 2 wrong use or bad input
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    options = make_parser("serve", "Open the dashboard: pages over the experiments of a store.", _EXAMPLES)
    options.add_argument(
        "--host", default="127.0.0.1", metavar="HOST", help="the address to listen on (default: 127.0.0.1)"
    )
    options.add_argument(
        "--port", type=int, default=8765, metavar="PORT", help="the port; 0: any that is free (default: 8765)"
    )
    options.add_argument(
        "--bench",
        action="append",
        default=[],
        metavar="FOLDER",
        help="a folder of `assay bench` to show; may be repeated "
        "(default: bench-results, or bench beside the store)",
    )
    add_store(options)
    return options


def command(arguments: argparse.Namespace) -> None:
    """Serve the pages until Ctrl-C."""
    try:
        from assay.web.server import ServeRequest, serve  # loads the web framework
    except ImportError as error:
        raise MissingExtraError(str(error.name), "the dashboard", "web") from None
    request = ServeRequest(
        host=arguments.host, port=arguments.port, store=arguments.store, benches=arguments.bench
    )
    serve(request, lambda address: print(f"{address}  (Ctrl-C stops it)", file=sys.stderr, flush=True))
