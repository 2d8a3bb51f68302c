"""Jobs of the dashboard: start, list, show, cancel and resume long work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import InputError
from assay.store.jobs import Job, JobLine, Jobs
from assay.workflows.job_process import start_worker
from assay.workflows.job_settings import read_job_settings
from assay.workflows.serve_settings import check_may_start, may_start
from assay.workflows.settings import PROJECT_FILE, read_settings
from assay.workflows.stores import open_existing_store
from assay.workflows.uploads import Upload

JOBS_ON_PAGE = 50
SHOWN_LINES = 200
KINDS = {"run": "Run the system", "bench": "Sweep of", "judge": "Judge with the model"}


class Startable(NamedTuple):
    """Work that a page can start, or why it cannot."""

    kind: str  # run, bench or judge
    name: str
    is_allowed: bool
    advice: str  # how an admin allows it

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return self._asdict()


@dataclass(frozen=True, kw_only=True)
class JobsRequest:
    """The store, the project, and which jobs to list."""

    store: str | None = None
    project: str = PROJECT_FILE
    offset: int = 0


@dataclass(frozen=True)
class JobList:
    """Jobs, the newest first, and what can be started."""

    jobs: tuple[Job, ...]
    has_more: bool
    startable: tuple[Startable, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the list as plain data."""
        return {
            "jobs": [job.to_dict() for job in self.jobs],
            "startable": [one.to_dict() for one in self.startable],
        }


def list_jobs(request: JobsRequest) -> JobList:
    """Return the jobs of a store, and what a page can start."""
    with open_existing_store(request.store) as store:
        jobs = Jobs(store.database).find(JOBS_ON_PAGE + 1, max(request.offset, 0))
    return JobList(tuple(jobs[:JOBS_ON_PAGE]), len(jobs) > JOBS_ON_PAGE, _list_startable(request.project))


def _list_startable(project: str) -> tuple[Startable, ...]:
    if not Path(project).is_file():
        return ()
    systems = read_settings(project).get("systems", {})
    names = list(systems) if isinstance(systems, Mapping) else []
    allowed = read_job_settings(project)
    advice = 'an admin allows it in {} by may_start = ["{}"] under [serve]'
    return (
        *(Startable("run", n, may_start(n, project), advice.format(project, n)) for n in names),
        *(Startable("bench", path, True, "") for path in allowed.bench),
        *(Startable("judge", name, True, "") for name in allowed.judges),
    )


@dataclass(frozen=True, kw_only=True)
class JobRequest:
    """A job."""

    job: str
    store: str | None = None


@dataclass(frozen=True)
class JobDetail:
    """A job with the end of its log."""

    job: Job
    lines: tuple[JobLine, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the job as plain data."""
        lines = [{**line._asdict(), "at": line.at.isoformat()} for line in self.lines]
        return {**self.job.to_dict(), "lines": lines}


def show_job(request: JobRequest) -> JobDetail:
    """Return a job with its log."""
    with open_existing_store(request.store) as store:
        jobs = Jobs(store.database)
        return JobDetail(jobs.get(request.job), tuple(jobs.lines(request.job, SHOWN_LINES)))


def cancel_job(request: JobRequest) -> Job:
    """Ask a job to stop; what it has finished is kept."""
    with open_existing_store(request.store) as store:
        jobs = Jobs(store.database)
        jobs.cancel(jobs.get(request.job))
        return jobs.get(request.job)


def resume_job(request: JobRequest) -> Job:
    """Start a job again that was cancelled, failed or whose worker died; it goes on where it can."""
    with open_existing_store(request.store) as store:
        jobs = Jobs(store.database)
        job = jobs.get(request.job)
        if job.kind == "run":
            check_may_start(job.request["name"], job.request["project"])
        restarted = jobs.restart(job)
    start_worker(restarted.id, request.store)
    return restarted


@dataclass(frozen=True, kw_only=True)
class StartJobRequest:
    """What of the project to start: a system, a sweep or a judge."""

    kind: str
    name: str
    account: str = ""
    store: str | None = None
    project: str = PROJECT_FILE


def start_job(request: StartJobRequest) -> Job:
    """Start what an admin allowed; everything else is refused."""
    _check_allowed(request)
    title = f"{KINDS[request.kind]} {request.name}"
    work = {"name": request.name, "project": str(Path(request.project).absolute())}
    return _start(request.store, request.kind, title, work, request.account)


def _check_allowed(request: StartJobRequest) -> None:
    if request.kind not in KINDS:
        raise InputError(f"a job is one of {', '.join(KINDS)}, found {request.kind!r}")
    if request.kind == "run":
        check_may_start(request.name, request.project)
        return
    settings = read_job_settings(request.project)
    allowed = settings.bench if request.kind == "bench" else settings.judges
    if request.name not in allowed:
        raise InputError(
            f"{request.name} cannot be started from a page: an admin allows it in {request.project} under "
            "[serve]"
        )


def start_upload_job(upload: Upload, account: str = "") -> Job:
    """Score large uploaded files in a job."""
    return _start(upload.store, "evaluate", f"Evaluate {upload.name}", upload.to_dict(), account)


def _start(store_url: str | None, kind: str, title: str, work: Mapping[str, Any], account: str) -> Job:
    with open_existing_store(store_url) as store:
        job = Jobs(store.database).add(kind, title, work, account)
    start_worker(job.id, store_url)
    return job
