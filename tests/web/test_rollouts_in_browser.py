"""From the offline gate of the demo to a full release, and to a rollback, in a real browser."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from assay.core.online_records import OnlineRecord
from assay.rollout.served_splits import SplitSource
from assay.store.online_records import OnlineRecordKind
from assay.store.store import Store
from assay.workflows.rollouts import RolloutRequest, read_history
from tests.rollout.logs import NAME, write_log
from tests.web.axe import violations
from tests.web.browser import serve

SCRIPT = Path(__file__).parents[2] / "examples" / "rollout" / "ship.py"
KEY = "a key for the tests only"
ASSAY = str(Path(sys.executable).with_name("assay"))
WAIT = 60_000  # milliseconds: the machine may be busy
POLICY = """
[rollout]
events = "log.jsonl"
[[rollout.steps]]
stage = "gate"
[[rollout.steps]]
stage = "shadow"
min_units = 100
[[rollout.steps]]
stage = "ab"
coverage = 0.5
min_units = 200
[[rollout.steps]]
stage = "ramp"
coverage = 1.0
[[rollout.steps]]
stage = "full"
coverage = 1.0
approval = true
[[rollout.goals]]
metric = "ctr"
[[rollout.guardrails]]
metric = "zero_result"
not_worse_than = 0.05
"""


def assay(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the folder of the demo."""
    return subprocess.run([ASSAY, *words], cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo with a policy, and its candidate saved with the verdict of the gate."""
    folder = Path(shutil.copytree(demo, tmp_path_factory.mktemp("shipped") / "assay-demo"))
    settings = folder / "assay.toml"
    settings.write_text(settings.read_text() + POLICY)
    done = assay(folder, "gate", "--save", "branch", "--store", str(folder / "store"))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def store(folder: Path) -> str:
    return str(folder / "store")


@pytest.fixture(scope="module")
def address(folder: Path, store: str) -> Iterator[str]:
    with serve(store) as address:
        yield address


def start(folder: Path, store: str, name: str) -> None:
    done = assay(folder, "rollout", "start", name, "--experiment", "branch", "--store", store)
    assert done.returncode == 0, done.stderr
    with Store(store) as opened:
        counts = {"compared": 500, "logged": 500}
        record = OnlineRecord(name, "shadow", {"counts": counts}, id=name.rjust(10, "x")[-10:])
        opened.records(OnlineRecordKind("shadow")).add([record])


def press(page: Page, summary: str, reason: str, button: str | None = None) -> None:
    """Open a move, give the reason and confirm it."""
    page.locator("summary.btn", has_text=summary).click()
    form = page.locator("details.move[open] form")
    form.locator("input[name=reason]").fill(reason)
    form.get_by_role("button", name=button or summary).click()


def here(page: Page) -> str:
    return page.locator("[aria-current=step] b").inner_text()


def test_a_good_change_goes_from_the_gate_to_all_traffic(
    folder: Path, store: str, address: str, page: Page
) -> None:
    start(folder, store, NAME)
    page.goto(f"{address}/rollouts")
    page.get_by_role("link", name=NAME, exact=True).click()
    assert here(page) == "gate"
    for summary, after in (("Advance to shadow", "shadow"), ("Advance to ab", "ab")):
        press(page, summary, "the evidence holds")
        expect(page.locator("[aria-current=step] b")).to_have_text(after, timeout=WAIT)
    write_log(folder / "log.jsonl", {"control": (0.3, 0.05), "treatment": (0.45, 0.05)})
    assert assay(folder, "rollout", "watch", NAME, "--once", "--store", store).returncode == 0
    page.reload()
    assert here(page) == "ramp to 100 %"
    expect(page.locator("#evidence")).to_contain_text("1 approval by somebody", timeout=WAIT)
    assert violations(page) == []
    press(page, "Approve full", "seen with support")
    expect(page.locator("#history")).to_contain_text("seen with support", timeout=WAIT)
    press(page, "Advance to full", "")
    expect(page.locator(".head")).to_contain_text("all traffic has the candidate", timeout=WAIT)
    page.reload()
    expect(page.locator("#chain")).to_contain_text("yes: ctr better was shown online", timeout=WAIT)
    expect(page.locator(".chain li")).to_contain_text(["experiment", "shadow report", "A/B test"])
    history = read_history(RolloutRequest(name=NAME, store=store)).rollout
    actions = [move.action for move in history.transitions]
    assert actions == ["start", "advance", "advance", "advance", "approve", "advance"]
    assert not any(move.is_skipped for move in history.transitions)
    page.get_by_role("link", name="branch").click()
    expect(page.locator("h1")).to_contain_text("branch", timeout=WAIT)


def test_a_person_rolls_back_with_a_reason_and_both_see_it(
    folder: Path, store: str, address: str, page: Page
) -> None:
    start(folder, store, "night")
    page.goto(f"{address}/rollouts/night")
    press(page, "Roll back now", "latency doubled at 2 a.m.", "Yes, roll back")
    expect(page.locator(".head")).to_contain_text("all traffic has the baseline", timeout=WAIT)
    expect(page.locator("main")).not_to_contain_text("Roll back now")
    shown = assay(folder, "rollout", "history", "night", "--store", store).stdout
    assert "latency doubled at 2 a.m." in shown
    page.goto(f"{address}/rollouts")
    expect(page.locator("table")).to_contain_text("latency doubled at 2 a.m.")


def test_what_another_operator_did_meanwhile_is_said(
    folder: Path, store: str, address: str, browser: Browser
) -> None:
    start(folder, store, "meanwhile")
    page = browser.new_page()  # in which the refusal is an error of the console
    page.goto(f"{address}/rollouts/meanwhile")
    done = assay(folder, "rollout", "hold", "meanwhile", "--reason", "a look", "--store", store)
    assert done.returncode == 0, done.stderr
    press(page, "Roll back now", "late", "Yes, roll back")
    expect(page.get_by_role("alert")).to_contain_text("has moved since it was shown", timeout=WAIT)
    assert assay(folder, "rollout", "status", "meanwhile", "--store", store).stdout.startswith(
        "meanwhile is held"
    )
    page.close()


@pytest.fixture(scope="module")
def shipped(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo after the example that releases one change and rolls back another."""
    folder = Path(shutil.copytree(demo, tmp_path_factory.mktemp("example") / "assay-demo"))
    known = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    environment = {**known, "ASSAY_SPLITS_KEY": KEY, "ASSAY_ACTOR": "ann"}
    command = [sys.executable, str(SCRIPT), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_example_goes_from_the_gate_to_all_traffic_and_back_in_the_record(shipped: Path) -> None:
    paths = {
        "new-search": ["gate", "shadow", "ab", "ramp to 80 %", "ramp to 80 %", "full"],
        "cheaper-search": ["gate", "shadow", "ab", "ab"],
    }
    for name, path in paths.items():
        done = assay(shipped, "rollout", "history", name, "--format", "json", "--store", "store")
        history = json.loads(done.stdout)
        assert {"name", "experiment", "transitions"} <= set(history)
        moves = history["transitions"]
        assert all({"at", "actor", "from", "to", "reason", "evidence"} <= set(move) for move in moves)
        assert [move["to"].partition(": ")[2] for move in moves] == path
        assert all(move["evidence"] and not move["skipped"] for move in moves)
        assert [before["to"] for before in moves[:-1]] == [after["from"] for after in moves[1:]]
    assert (moves[-1]["actor"], moves[-1]["reason"]) == (
        "assay rollout watch",
        "breached: zero_result not worse by more than 10 %",
    )
    splits = SplitSource(shipped / "splits.json", KEY)
    shown = {name: split.everyone for name in paths if (split := splits.split(name))}
    assert shown == {"new-search": "treatment", "cheaper-search": "control"}


def test_the_example_is_on_the_pages_from_the_list_to_each_piece_of_evidence(
    shipped: Path, page: Page
) -> None:
    with serve(shipped / "store") as address:
        page.goto(f"{address}/rollouts")
        expect(page.locator("tbody tr", has_text="cheaper-search")).to_contain_text("breached: zero_result")
        page.get_by_role("link", name="new-search", exact=True).click()
        expect(page.locator(".head")).to_contain_text("all traffic has the candidate", timeout=WAIT)
        expect(page.locator("#chain")).to_contain_text("yes: ctr better was shown online")
        links = page.locator(".chain a").all()
        addresses = [link.get_attribute("href") for link in links]
        assert [str(link).split("/")[1] for link in addresses] == [
            "experiments",
            "shadow",
            "online",
            "online",
        ]
        for link in addresses:
            answer = page.goto(f"{address}{link}")
            assert answer is not None
            assert answer.ok, link
        page.goto(f"{address}/rollouts/cheaper-search")
        expect(page.locator(".head")).to_contain_text("all traffic has the baseline", timeout=WAIT)
        expect(page.locator("#chain")).to_contain_text("no: zero_result not worse by more than 10 %")
        expect(page.locator("main")).not_to_contain_text("Roll back now")
