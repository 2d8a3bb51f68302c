"""Long work: start what an admin allowed, follow it, cancel it and resume it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from assay.store.jobs import Job
from assay.views.jobs import describe_progress, describe_state, format_seconds
from assay.web.page import Action, Context, Page, Parameters, Result, Role, View
from assay.workflows.jobs import (
    JOBS_ON_PAGE,
    JobDetail,
    JobList,
    JobRequest,
    JobsRequest,
    StartJobRequest,
    cancel_job,
    list_jobs,
    resume_job,
    show_job,
    start_job,
)


class JobsParameters(Parameters):
    """Which jobs to show."""

    offset: int = 0


class JobParameters(Parameters):
    """The job."""

    job: str = ""  # part of the path


class StartForm(Parameters):
    """What to start."""

    kind: str
    name: str


def read_jobs(context: Context, parameters: JobsParameters) -> JobList:
    """Return the jobs and what can be started."""
    return list_jobs(JobsRequest(store=context.store, offset=parameters.offset))


def present_jobs(context: Context, value: JobList, parameters: JobsParameters) -> View:
    """Return the jobs, and what can be started by its kind."""
    parts = {
        "jobs": [_present(job) for job in value.jobs],
        "startable": value.startable,
        "is_live": any(job.is_live for job in value.jobs),
        "next": parameters.offset + JOBS_ON_PAGE if value.has_more else None,
    }
    return View("Jobs", "assay run SYSTEM --save NAME", parts)


def _present(job: Job) -> dict[str, Any]:
    end = job.ended_at or (datetime.now(UTC) if job.is_live else job.seen_at)
    begin = job.started_at or job.created_at
    return {
        "job": job,
        "state": job.state,
        "words": describe_state(job.state),
        "progress": describe_progress(job.done, job.total, job.phase, (end - begin).total_seconds()),
        "seconds": format_seconds((end - begin).total_seconds()),
        "can_resume": not job.is_live and job.state != "done",
    }


def read_job(context: Context, parameters: JobParameters) -> JobDetail:
    """Return a job with its log."""
    return show_job(JobRequest(job=parameters.job, store=context.store))


def present_job(context: Context, value: JobDetail, parameters: JobParameters) -> View:
    """Return how far the job is."""
    return View(value.job.title, "", {**_present(value.job), "lines": value.lines})


def _start(context: Context, form: StartForm) -> Result:
    job = start_job(
        StartJobRequest(kind=form.kind, name=form.name, account=context.user, store=context.store)
    )
    return Result(f"/jobs/{job.id}", "the job is started")


def _cancel(context: Context, form: JobParameters) -> Result:
    cancel_job(JobRequest(job=form.job, store=context.store))
    return Result(f"/jobs/{form.job}", "the job is asked to stop")


def _resume(context: Context, form: JobParameters) -> Result:
    resume_job(JobRequest(job=form.job, store=context.store))
    return Result(f"/jobs/{form.job}", "the job goes on")


PAGES = (
    Page("/jobs", "Jobs", "jobs.html", read_jobs, present_jobs, JobsParameters, Role.ENGINEER, "B"),
    Page("/jobs/{job}", "", "job.html", read_job, present_job, JobParameters, Role.ENGINEER),
)
ACTIONS = (
    Action("/jobs/start", StartForm, _start),
    Action("/jobs/{job}/cancel", JobParameters, _cancel),
    Action("/jobs/{job}/resume", JobParameters, _resume),
)
