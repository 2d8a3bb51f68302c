"""assay shadow: a candidate answers beside the primary, unseen; and what their answers say."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_store, add_subcommands, make_parser, run_subcommand
from assay.core.errors import InputError
from assay.core.online_records import SHADOW
from assay.rollout.shadow.http.settings import MEGABYTE, MirrorSettings
from assay.rollout.shadow.limits import DEFAULT_LIMITS, ShadowLimits
from assay.views.shadow import FORMATS, render_report
from assay.workflows.inputs import TableFiles
from assay.workflows.shadow import (
    DEFAULT_MEASURES,
    MirrorEnd,
    MirrorRequest,
    ReportSettings,
    ShadowReportRequest,
    read_shadow_report,
    run_mirror,
)

_EXAMPLES = """\
  assay shadow mirror --primary http://a:9200 --candidate http://b:9200 --listen 8080 --log s.jsonl
  assay shadow mirror --primary http://a --candidate http://b --listen 8080 --log s.jsonl --sample 0.1
  assay shadow report s.jsonl
  assay shadow report s.jsonl --qrels qrels.txt --queries queries.jsonl
  assay shadow report s.jsonl --save new-ranker --offline main branch
"""
_FOOTER = """
The mirror passes every request to the primary and its answer back untouched. GET, HEAD, and POST to a
--search-path, go to the candidate, too. What has no room is dropped and counted; nobody waits for it.

exit codes: 0 done, or stopped; 2 wrong use or bad input; 130 stopped by Ctrl-C
"""


def _add_mirror_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("--primary", required=True, metavar="URL", help="the endpoint that answers")
    part.add_argument("--candidate", required=True, metavar="URL", help="the endpoint that is tried out")
    part.add_argument(
        "--listen", required=True, metavar="HOST:PORT", help="where clients connect; a port alone: 127.0.0.1"
    )
    part.add_argument("--log", required=True, metavar="FILE", help="the log, to which lines are added")
    part.add_argument("--name", default="", metavar="NAME", help="the experiment_id of the records")
    _add_traffic(part.add_argument_group("what is mirrored"))
    _add_readings(part.add_argument_group("how requests and answers are read"))
    _add_limits(part.add_argument_group("limits"))


def _add_traffic(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--sample",
        type=float,
        default=DEFAULT_LIMITS.sample,
        metavar="SHARE",
        help="share of the requests that the candidate receives (default: 1)",
    )
    group.add_argument(
        "--repeat",
        type=float,
        default=DEFAULT_LIMITS.repeat,
        metavar="SHARE",
        help="share of these that the primary receives again, for the noise floor (default: 0.1)",
    )
    group.add_argument(
        "--search-path",
        action="append",
        default=[],
        metavar="PATH",
        help="a path whose POST only searches, so that it may be repeated; may be given more than once",
    )
    group.add_argument(
        "--withhold-header",
        action="append",
        default=[],
        metavar="NAME",
        help="a header that the candidate does not receive, such as Authorization; may be repeated",
    )
    group.add_argument(
        "--keep-host", action="store_true", help="send the Host of the client, not that of the endpoint"
    )


def _add_readings(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--hits",
        default=MirrorSettings.hits,
        metavar="PATH",
        help="where the JSON of an answer has the ids of its documents (default: $.hits.hits[*]._id)",
    )
    group.add_argument(
        "--query-parameter",
        default=MirrorSettings.query_parameter,
        metavar="NAME",
        help="the parameter of the URL with the text of the query (default: q)",
    )
    group.add_argument(
        "--query-path",
        default=MirrorSettings.query_path,
        metavar="PATH",
        help="where the JSON of a POST has the text of the query (default: $.query)",
    )
    group.add_argument(
        "--client-header", default="", metavar="NAME", help="the header that names who asks (default: none)"
    )


def _add_limits(group: argparse._ArgumentGroup) -> None:
    defaults = DEFAULT_LIMITS
    numbers: tuple[tuple[str, Any, Any, str, str], ...] = (
        ("--timeout", float, defaults.timeout, "SECONDS", "of a call of the candidate"),
        ("--concurrency", int, defaults.concurrency, "N", "calls of the candidate at once"),
        ("--queue", int, defaults.queue, "N", "requests that wait for the candidate"),
        ("--max-body", int, MEGABYTE, "BYTES", "of a request or an answer that is mirrored"),
        ("--memory", int, 64 * MEGABYTE, "BYTES", "of requests and answers that are held at once"),
        ("--primary-timeout", float, 60.0, "SECONDS", "without a byte of the primary"),
    )
    for name, kind, default, metavar, purpose in numbers:
        group.add_argument(
            name, type=kind, default=default, metavar=metavar, help=f"{purpose} (default: {default:,})"
        )


def _mirror(arguments: argparse.Namespace) -> int:
    limits = ShadowLimits(
        sample=arguments.sample,
        repeat=arguments.repeat,
        timeout=arguments.timeout,
        concurrency=arguments.concurrency,
        queue=arguments.queue,
    )
    settings = MirrorSettings(
        primary=arguments.primary,
        candidate=arguments.candidate,
        log=arguments.log,
        limits=limits,
        name=arguments.name,
        search_paths=tuple(arguments.search_path),
        hits=arguments.hits,
        query_parameter=arguments.query_parameter,
        query_path=arguments.query_path,
        client_header=arguments.client_header,
        withheld_headers=tuple(arguments.withhold_header),
        keep_host=arguments.keep_host,
        max_body=arguments.max_body,
        memory=arguments.memory,
        primary_timeout=arguments.primary_timeout,
    )
    run_mirror(MirrorRequest(settings=settings, listen=arguments.listen), _print_address, _print_end)
    return 0


def _print_address(address: str) -> None:
    print(f"{address}  (Ctrl-C stops it)", file=sys.stderr, flush=True)


def _print_end(end: MirrorEnd) -> None:
    counts = end.counts.to_dict()
    print(f"{counts['requests']:,} requests, {counts['mirrored']:,} mirrored", file=sys.stderr)
    left_out = counts["left_out"]
    for reason, count in left_out.items() if isinstance(left_out, dict) else ():
        print(f"not mirrored: {reason} {count:,}", file=sys.stderr)
    if end.logged is not None:
        print(f"{end.logged:,} logged, {end.log_dropped:,} dropped by the log", file=sys.stderr)
    if end.log_error:
        print(f"the log could not be written: {end.log_error}", file=sys.stderr)
    if end.restarts:
        print(f"the shadow process was started again {end.restarts} times", file=sys.stderr)


def _add_report_options(part: argparse.ArgumentParser) -> None:
    part.add_argument("logs", nargs="+", metavar="LOG", help="logs of a mirror or of a service")
    part.add_argument("--k", type=int, default=10, metavar="K", help="documents to compare (default: 10)")
    part.add_argument("--qrels", metavar="QRELS", help="judgments of queries that are in the log")
    part.add_argument(
        "--queries",
        metavar="FILE",
        help="ids and texts of the judged queries (default: the id of a judged query is its text)",
    )
    part.add_argument(
        "-m",
        "--measure",
        action="append",
        metavar="MEASURE",
        help=f"a measure of judged queries; may be repeated (default: {' '.join(DEFAULT_MEASURES)})",
    )
    part.add_argument(
        "--top", type=int, default=10, metavar="N", help="queries that differ most (default: 10)"
    )
    part.add_argument("--judge", type=int, default=20, metavar="N", help="pairs to judge next (default: 20)")
    part.add_argument(
        "--level", type=float, default=0.95, metavar="L", help="level of the intervals (default: 0.95)"
    )
    group = part.add_argument_group("recording")
    group.add_argument(
        "--save", metavar="NAME", help="keep the report under this name, that of the rollout it belongs to"
    )
    group.add_argument(
        "--offline",
        nargs=2,
        default=[],
        metavar=("BASELINE", "CANDIDATE"),
        help="the experiments of the two searches, to which the report is linked",
    )
    add_store(group)
    add_format(part, FORMATS)


def _report(arguments: argparse.Namespace) -> int:
    save = _check_saving(arguments)
    request = ShadowReportRequest(
        logs=arguments.logs,
        settings=ReportSettings(
            k=arguments.k,
            level=arguments.level,
            top=arguments.top,
            judge=arguments.judge,
            measures=arguments.measure or DEFAULT_MEASURES,
        ),
        files=TableFiles(qrels=arguments.qrels, queries=arguments.queries, store=arguments.store),
    )
    report = read_shadow_report(request)
    show_result(report, arguments.format, lambda style: render_report(report, style))
    if save is not None:
        save(report.to_dict())
    return 0


def _check_saving(arguments: argparse.Namespace) -> Callable[[dict[str, Any]], None] | None:
    """Return what keeps the report in the store, after a check that it can; None without --save."""
    if arguments.save is None:
        if arguments.offline:
            raise InputError("--offline expects --save NAME: it links the saved report to experiments")
        return None
    from assay.workflows import online_saving  # loads the store, which most commands do not need

    request = online_saving.SaveOnlineRequest(
        name=arguments.save, offline=arguments.offline, store=arguments.store
    )
    online_saving.check_online_saving(request)

    def save(body: dict[str, Any]) -> None:
        saved = online_saving.save_online(SHADOW, body, request)
        print(f"saved {saved.name} as {saved.id} in {saved.store}", file=sys.stderr)

    return save


_SUBCOMMANDS = {
    "mirror": Subcommand(
        _mirror, _add_mirror_options, "pass requests to a primary, and copies of them to a candidate"
    ),
    "report": Subcommand(
        _report,
        _add_report_options,
        "differences beyond the noise floor, latency, failures, judged measures",
    ),
}


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    description = "Try a candidate out on live requests whose users see only the primary."
    result = make_parser("shadow", description, f"examples:\n{_EXAMPLES}{_FOOTER}")
    add_subcommands(result, _SUBCOMMANDS, _EXAMPLES)
    return result


command = run_subcommand
