"""Real servers that are killed in the middle of annotation, and two servers over one database."""

import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2
import polars as pl
import pytest

from assay.workflows.annotation import (
    CreateProjectRequest,
    RaterRequest,
    create_project,
    next_assignment,
    project_judgments,
)
from tests.web.browser import run_server, serve
from tests.web.dashboards import token_of

PAIRS = 12
Label = tuple[str, str, str, float]  # query, document, judge, grade


def create_pairs(folder: Path, store: str, per_pair: int = 2) -> None:
    """Create the project `shop` with a document for each of some queries."""
    numbers = range(PAIRS)
    files = {
        "pairs": (f'{{"query_id": "q{n}", "doc_id": "d{n}"}}\n' for n in numbers),
        "queries": (f'{{"_id": "q{n}", "text": "reset {n}"}}\n' for n in numbers),
        "documents": (f'{{"_id": "d{n}", "title": "Title {n}"}}\n' for n in numbers),
    }
    for name, lines in files.items():
        (folder / f"{name}.jsonl").write_text("".join(lines))
    create_project(
        CreateProjectRequest(
            name="shop",
            pairs=str(folder / "pairs.jsonl"),
            queries=str(folder / "queries.jsonl"),
            documents=str(folder / "documents.jsonl"),
            grades=["0 no", "1 some", "2 yes"],
            per_pair=per_pair,
            store=store,
        )
    )


class Rater:
    """A person at the page of the project on one server."""

    def __init__(self, address: str, name: str):
        self.name = name
        self.client = httpx2.Client(
            base_url=address, timeout=30, limits=httpx2.Limits(max_keepalive_connections=0)
        )
        self.client.headers.update(token_of(self.client, "/annotate"))

    def turn(self) -> dict[str, Any]:
        """Return what the page shows the rater."""
        turn = self.client.get("/annotate/shop.json", params={"rater": self.name}).json()
        assert isinstance(turn, dict)
        return turn

    def post(self, action: str, **form: str) -> None:
        """Make a change; the server must acknowledge it."""
        response = self.client.post(f"/annotate/shop/{action}", data={"rater": self.name, **form})
        assert response.status_code == 303, response.text

    def send(self, pair: int, grade: int) -> None:
        """Send the grade of a pair."""
        self.post("grade", pair=str(pair), grade=str(grade))

    def judge(self, grade: int) -> Label:
        """Judge the next pair; return the label that the server has acknowledged."""
        assignment = self.turn()["assignment"]
        self.send(assignment["pair"], grade)
        return assignment["query_id"], assignment["doc_id"], self.name, float(grade)


def read_labels(store: str) -> list[Label]:
    """Return the query, document, judge and grade of every label."""
    frame = project_judgments("shop", store).frame
    return frame.select("query_id", "doc_id", "judge", pl.col("grade").cast(pl.Float64)).rows()


def kill_while_sending(process: subprocess.Popen[str], rater: Rater) -> tuple[str, str]:
    """Kill a server while it answers a rater; return the query and the document of the pair."""
    shown = rater.turn()["assignment"]
    with ThreadPoolExecutor() as pool:
        sent = pool.submit(rater.send, shown["pair"], 2)
        process.kill()
        with suppress(httpx2.TransportError):
            sent.result()
    process.wait(20)
    assert process.returncode == -signal.SIGKILL
    return shown["query_id"], shown["doc_id"]


def test_a_killed_server_has_kept_every_acknowledged_label_and_raters_go_on(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    create_pairs(tmp_path, store)
    acknowledged: set[Label] = set()
    labels: list[Label] = []
    for round_number in (1, 2, 3):
        with run_server(store) as (process, address):
            rater = Rater(address, "rater 1")
            assert rater.turn()["judged"] == len(labels)
            acknowledged |= {rater.judge(grade) for grade in (0, 1, 2)}
            shown = kill_while_sending(process, rater)
        labels = read_labels(store)
        assert acknowledged <= set(labels)
        assert len({label[:2] for label in labels}) == len(labels)
        assert 0 <= len(labels) - 3 * round_number <= round_number  # of each round one may be unanswered
        turn = next_assignment(RaterRequest(name="shop", rater="rater 1", store=store))
        assert turn.assignment is not None
        is_saved = shown in {label[:2] for label in labels}
        assert (turn.assignment.query_id == shown[0]) is not is_saved  # what was not saved is shown again


@pytest.fixture
def team(tmp_path: Path, postgres: str) -> Iterator[tuple[str, list[str]]]:
    """A store in PostgreSQL whose project wants one label of each pair, and two servers over it."""
    store = f"{postgres}?tables={tmp_path}/tables"
    create_pairs(tmp_path, store, per_pair=1)
    with ExitStack() as stack:
        yield store, [stack.enter_context(serve(store)) for _ in range(2)]


def test_two_servers_on_one_postgresql_agree(team: tuple[str, list[str]]) -> None:
    store, addresses = team
    here, there = (Rater(address, "rater 0") for address in addresses)
    shown = here.turn()["assignment"]["pair"]
    assert there.turn()["assignment"]["pair"] == shown
    here.judge(2)
    assert there.turn()["judged"] == 1
    assert there.turn()["assignment"]["pair"] != shown
    there.post("undo")
    assert here.turn()["judged"] == 0
    check_quotas(store, addresses)


def check_quotas(store: str, addresses: list[str]) -> None:
    """Let raters on both servers judge at once: each pair gets the one label that it is to have."""

    def judge_all(number: int) -> list[Label]:
        rater = Rater(addresses[number % 2], f"rater {number}")
        labels = []
        while rater.turn()["assignment"] is not None:
            labels.append(rater.judge(number % 3))
        return labels

    with ThreadPoolExecutor() as pool:
        saved = [label for labels in pool.map(judge_all, range(3)) for label in labels]
    assert len(saved) == PAIRS
    assert sorted(read_labels(store)) == sorted(saved)
    assert len({label[:2] for label in saved}) == PAIRS
