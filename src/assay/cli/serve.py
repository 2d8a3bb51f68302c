"""assay serve: the dashboard, and the accounts of the people who use it."""

from __future__ import annotations

import argparse
import sys

from assay.cli import serve_people
from assay.cli.parsers import add_store, make_group
from assay.core.errors import MissingExtraError

_EXAMPLES = """examples:
  assay serve
  assay serve --port 8080 --store assay-demo/store
  assay serve --bench bench-results --bench other-results
  assay serve users add ada --role admin
  assay serve --accounts --public-url https://assay.example.org --trusted-proxy 127.0.0.1
  assay serve tokens add ci --role viewer --days 30

Without --accounts it is for one person: it listens on this machine only, and needs no login.

A team behind a proxy, with PostgreSQL (docs/dashboard-team.md; files for it are in examples/serve):
  export ASSAY_STORE='postgresql://assay@db/assay?tables=/var/lib/assay/tables'
  assay serve users add ada --role admin
  assay serve --accounts --public-url https://assay.example.org --trusted-proxy 127.0.0.1
The proxy ends TLS and passes on to http://127.0.0.1:8765 with the headers Host, X-Forwarded-For and
X-Forwarded-Proto. Several servers may share one PostgreSQL.

`assay serve run --help` shows the options of the server.

exit codes: 0 stopped, or done; 2 wrong use or bad input
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    group = make_group(
        "serve", "Open the dashboard: pages over the experiments of a store.", _EXAMPLES, "run"
    )
    commands = group.add_subparsers(dest="command", metavar="COMMAND", required=True)
    run = commands.add_parser(
        "run",
        help="serve the pages (the default command)",
        description="Serve the pages until Ctrl-C.",
        epilog=_EXAMPLES,
        formatter_class=group.formatter_class,
    )
    run.set_defaults(run=_serve)
    _add_server_options(run)
    serve_people.add_commands(commands, group.formatter_class)
    return group


def _add_server_options(options: argparse.ArgumentParser) -> None:
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
    _add_team_options(options)
    add_store(options)


def _add_team_options(options: argparse.ArgumentParser) -> None:
    """Add the options of a dashboard for a team; [serve] of assay.toml may have them, too."""
    options.add_argument(
        "--accounts",
        action="store_true",
        default=None,
        help="people log in (default: accounts of [serve] in assay.toml)",
    )
    options.add_argument(
        "--public-url", metavar="URL", help="the address at which people open it, such as https://HOST"
    )
    options.add_argument(
        "--trusted-proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="a proxy whose X-Forwarded-For and X-Forwarded-Proto are believed; may be repeated",
    )


def command(arguments: argparse.Namespace) -> None:
    """Serve the pages until Ctrl-C, or change accounts, sessions and tokens."""
    arguments.run(arguments)


def _serve(arguments: argparse.Namespace) -> None:
    try:
        from assay.web.server import ServeRequest, serve  # loads the web framework
    except ImportError as error:
        raise MissingExtraError(str(error.name), "the dashboard", "web") from None
    request = ServeRequest(
        host=arguments.host,
        port=arguments.port,
        store=arguments.store,
        benches=arguments.bench,
        accounts=arguments.accounts,
        public_url=arguments.public_url,
        trusted_proxies=arguments.trusted_proxy,
    )
    serve(request, lambda address: print(f"{address}  (Ctrl-C stops it)", file=sys.stderr, flush=True))
