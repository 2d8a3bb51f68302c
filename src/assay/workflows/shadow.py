"""Mirror requests to a candidate, and read what came of it: what `assay shadow` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.core.errors import InputError, MissingExtraError
from assay.core.online_records import OnlineRecord
from assay.rollout.shadow.counts import ShadowCounts
from assay.rollout.shadow.http.settings import MirrorSettings
from assay.rollout.shadow.report.exchanges import read_traffic
from assay.rollout.shadow.report.judged import Judged
from assay.rollout.shadow.report.report import MEASURES, ReportSettings, ShadowReport, build_report
from assay.workflows.inputs import TableFiles
from assay.workflows.stores import open_existing_store

if TYPE_CHECKING:
    from assay.rollout.shadow.http.mirror import Mirror

_LOOPBACK = "127.0.0.1"
_DEFAULT_SETTINGS, _NO_FILES = ReportSettings(), TableFiles()
DEFAULT_MEASURES = MEASURES
__all__ = [
    "DEFAULT_MEASURES",
    "MirrorEnd",
    "MirrorRequest",
    "ReportSettings",
    "ShadowReportRequest",
    "read_saved_report",
    "read_shadow_report",
    "run_mirror",
]


@dataclass(frozen=True, kw_only=True)
class MirrorRequest:
    """A mirror, and where it listens: HOST:PORT, or a port of this machine."""

    settings: MirrorSettings
    listen: str

    @property
    def address(self) -> tuple[str, int]:
        """The host and the port."""
        host, _, port = self.listen.rpartition(":")
        if not port.isdecimal() or int(port) > 65535:
            raise InputError(f"--listen expects HOST:PORT, such as 127.0.0.1:8080, found {self.listen!r}")
        return host.strip("[]") or _LOOPBACK, int(port)


@dataclass(frozen=True, kw_only=True)
class MirrorEnd:
    """What a mirror counted until it was stopped."""

    counts: ShadowCounts
    logged: int | None  # None: the shadow process did not say
    log_dropped: int | None
    log_error: str
    restarts: int  # of the shadow process


@dataclass(frozen=True, kw_only=True)
class ShadowReportRequest:
    """The logs of a shadow, and how to read them."""

    logs: Sequence[str]
    settings: ReportSettings = _DEFAULT_SETTINGS
    files: TableFiles = _NO_FILES

    def __post_init__(self) -> None:
        if not self.logs:
            raise InputError("expected the log of a shadow, found none")
        if not 0 < self.settings.level < 1:
            raise InputError(f"--level must be between 0 and 1, found {self.settings.level:g}")
        for name, count in (("--k", self.settings.k), ("--top", self.settings.top)):
            if count < 1:
                raise InputError(f"{name} must be 1 or more, found {count}")
        if self.files.queries and not self.files.qrels:
            raise InputError("--queries gives the ids of judged queries: it expects --qrels, too")


def run_mirror(
    request: MirrorRequest, report: Callable[[str], None], finish: Callable[[MirrorEnd], None]
) -> None:
    """Serve a mirror until it is stopped; `report` receives its address, `finish` what it counted."""
    host, port = request.address
    try:
        from assay.rollout.shadow.http.server import serve_mirror  # loads the web server
    except ImportError as error:
        raise MissingExtraError(str(error.name), "the mirror", "web") from None
    serve_mirror(request.settings, host, port, report, lambda mirror: finish(_end(mirror)))


def _end(mirror: Mirror) -> MirrorEnd:
    final = mirror.link.final
    return MirrorEnd(
        counts=mirror.counts,
        logged=final.get("logged"),
        log_dropped=final.get("log_dropped"),
        log_error=final.get("error", ""),
        restarts=mirror.link.restarts,
    )


def read_shadow_report(request: ShadowReportRequest) -> ShadowReport:
    """Return the report of shadow logs, with judged measures if there are judgments."""
    return build_report(read_traffic(request.logs), request.settings, _read_judged(request.files))


def _read_judged(files: TableFiles) -> Judged | None:
    if files.qrels is None:
        return None
    tables = files.open()
    texts = tables.texts()
    return Judged(tables.qrels, {text: query for query, text in texts.items()})


def read_saved_report(name: str, store: str | None = None) -> OnlineRecord:
    """Return the newest shadow report of a name, or the one of an id."""
    with open_existing_store(store) as opened:
        records = opened.shadow_reports()
        found = [record for record in records if name in (record.id, record.name)]
        if not found:
            raise InputError(f"there is no shadow report {name!r} in {opened.url}")
        return found[0]
