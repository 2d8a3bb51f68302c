"""A release in a store: a rollout that is held, its shadow report, and a job that failed."""

import json
from pathlib import Path

from assay.rollout.shadow.records import CallAnswer, Exchange
from assay.store.jobs import Jobs
from assay.store.store import Store
from assay.workflows.shadow import ShadowReportRequest, read_shadow_report
from tests.rollout.logs import NAME, POLICY, act, start


def make_exchange(number: int, text: str = "query") -> Exchange:
    """Return a request that the candidate answers in another order, and once not at all."""
    failed = CallAnswer(900.0, None, "timeout", f"{text} was not answered")
    candidate = CallAnswer(12.0, ["b", "a", "c"]) if number else failed
    answers = (CallAnswer(10.0, ["a", "b", "c"]), candidate, CallAnswer(11.0, ["a", "b", "c"]))
    return Exchange(f"{text} {number}", *answers, name=NAME, client_id=f"user-{number}")


def save_shadow_report(folder: Path, store: Path | str, text: str = "query") -> None:
    """Keep the report of forty requests under the name of the rollout."""
    lines = [json.dumps(line) for number in range(40) for line in make_exchange(number, text).to_records()]
    (folder / "shadow.jsonl").write_text("".join(f"{line}\n" for line in lines))
    report = read_shadow_report(ShadowReportRequest(logs=[str(folder / "shadow.jsonl")]))
    with Store(store) as opened:
        opened.save_shadow_report(NAME, report.to_dict(), {})


def save_release(folder: Path, store: Path | str, text: str = "a look at the evidence") -> str:
    """Keep the rollout, the report and the job with one text in every field; return the id of the job."""
    start(folder, POLICY.replace('"log.jsonl"', json.dumps(text)), store=str(store))
    act(str(store), "advance")
    act(str(store), "hold", reason=text)
    save_shadow_report(folder, store, text)
    with Store(store) as opened:
        jobs = Jobs(opened.database)
        job = jobs.add("run", text, {}, text)
        jobs.start(job)
        jobs.report(job, phase=text, done=1, total=2)
        jobs.write_lines(job, [text])
        jobs.end(job, "failed", error=text)
    return job.id
