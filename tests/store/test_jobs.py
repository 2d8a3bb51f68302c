"""Jobs keep their progress, and a worker of an earlier attempt changes nothing."""

import pytest

from assay.core.errors import InputError
from assay.store.jobs import MAX_LINES, Job, Jobs
from assay.store.store import Store


@pytest.fixture
def jobs(store: Store) -> Jobs:
    return Jobs(store.database)


@pytest.fixture
def job(jobs: Jobs) -> Job:
    return jobs.add("run", "Run it", {"name": "x"}, "someone")


def test_a_job_waits_runs_and_ends(jobs: Jobs, job: Job) -> None:
    assert (job.state, job.request, job.account) == ("waiting", {"name": "x"}, "someone")
    assert jobs.start(job)
    assert jobs.report(job, done=3, total=9, phase="trials")
    assert (jobs.get(job.id).state, jobs.get(job.id).done) == ("running", 3)
    jobs.end(job, "done", location="/experiments/a")
    assert (jobs.get(job.id).state, jobs.get(job.id).location) == ("done", "/experiments/a")


def test_a_cancelled_job_is_told_to_stop(jobs: Jobs, job: Job) -> None:
    jobs.start(job)
    jobs.cancel(job)
    assert jobs.get(job.id).state == "stopping"
    assert not jobs.report(job, done=4)
    jobs.end(job, "cancelled")
    assert not jobs.restart(jobs.get(job.id)).is_cancelled


def test_a_worker_of_an_earlier_attempt_changes_nothing(jobs: Jobs, job: Job) -> None:
    jobs.end(job, "failed", error="x")
    second = jobs.restart(jobs.get(job.id))
    assert not jobs.report(job, done=5)
    jobs.end(job, "done")
    assert (jobs.get(job.id).state, jobs.get(job.id).done) == ("waiting", None)
    assert jobs.start(second)


def test_only_one_of_two_servers_resumes_a_job(jobs: Jobs, job: Job) -> None:
    jobs.end(job, "cancelled")
    seen = jobs.get(job.id)
    jobs.restart(seen)
    with pytest.raises(InputError, match="somebody else"):
        jobs.restart(seen)


def test_a_log_keeps_its_order_and_has_an_end(jobs: Jobs, job: Job) -> None:
    jobs.write_lines(job, [f"line {n}" for n in range(MAX_LINES)])
    jobs.write_lines(job, ["too many", "\0"])
    assert [line.text for line in jobs.lines(job.id, 2)] == [f"line {MAX_LINES - 2}", f"line {MAX_LINES - 1}"]


def test_the_newest_jobs_are_first(jobs: Jobs, job: Job) -> None:
    second = jobs.add("bench", "Sweep", {})
    assert [one.id for one in jobs.find(1)] == [second.id]
    assert [one.id for one in jobs.find(5, offset=1)] == [job.id]
