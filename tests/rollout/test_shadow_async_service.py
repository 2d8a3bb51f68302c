"""The async wrapper: awaiting the primary is all that a caller does."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from assay.rollout.shadow import AsyncShadow, ShadowLimits
from tests.rollout.mirrors import error, lines, logged

PATIENT = ShadowLimits(timeout=60, repeat=1)
HASTY = ShadowLimits(timeout=0.05, repeat=0, concurrency=1, queue=1)


@pytest.fixture
def log(tmp_path: Path) -> str:
    return str(tmp_path / "shadow.jsonl")


async def search(query: str) -> list[str]:
    await asyncio.sleep(0)
    return [f"{query}-0", f"{query}-1"]


async def reverse(query: str) -> list[str]:
    return (await search(query))[::-1]


async def hang(query: str) -> list[str]:
    await asyncio.Event().wait()
    return []


def ask(
    log: str,
    queries: list[str],
    candidate: Callable[[str], Coroutine[Any, Any, Any]],
    limits: ShadowLimits = PATIENT,
) -> tuple[list[list[str]], dict[str, Any]]:
    """The answers of the primary to several callers at once, and the counts."""

    async def run() -> tuple[list[list[str]], dict[str, Any]]:
        async with AsyncShadow(search, candidate, log, idempotent=True, limits=limits) as shadow:
            answers = await asyncio.gather(*(shadow(query) for query in queries))
        return list(answers), shadow.counts.to_dict()

    return asyncio.run(run())


def test_both_answers_and_a_repeat_are_logged(log: str) -> None:
    answers, _ = ask(log, ["vpn"], reverse)
    assert answers == [["vpn-0", "vpn-1"]]
    orders = {role: row["query_response_hit_ids"] for role, row in logged(log, "vpn").items()}
    assert orders == {
        "primary": ["vpn-0", "vpn-1"],
        "candidate": ["vpn-1", "vpn-0"],
        "repeat": ["vpn-0", "vpn-1"],
    }


def test_a_candidate_that_hangs_holds_nobody_up(log: str) -> None:
    answers, counts = ask(log, ["a", "b", "c"], hang, HASTY)
    assert answers == [[f"{query}-0", f"{query}-1"] for query in "abc"]
    assert counts["left_out"] == {"queue full": 1}
    assert counts["logged"] == counts["mirrored"] == 2
    assert error(lines(log)[1]) == "timeout"


@pytest.mark.parametrize("problem", [ValueError("no"), SystemExit(3), KeyboardInterrupt()])
def test_a_candidate_that_raises_is_logged(log: str, problem: BaseException) -> None:
    async def fail(query: str) -> list[str]:
        raise problem

    assert ask(log, ["vpn"], fail)[0] == [["vpn-0", "vpn-1"]]
    assert error(logged(log, "vpn")["candidate"]) == "failed"


def test_a_candidate_that_cancels_itself_is_logged(log: str) -> None:
    async def cancel(query: str) -> list[str]:
        raise asyncio.CancelledError

    _, counts = ask(log, ["vpn"], cancel)
    assert counts["logged"] == 1
    assert error(logged(log, "vpn")["candidate"]) == "not called"


def test_a_caller_that_gives_up_is_not_mirrored(log: str) -> None:
    async def run() -> dict[str, Any]:
        async with AsyncShadow(hang, reverse, log, idempotent=True, limits=PATIENT) as shadow:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(shadow("vpn"), 0.01)
        return shadow.counts.to_dict()

    assert asyncio.run(run())["mirrored"] == 0


def test_the_error_of_the_primary_reaches_the_caller(log: str) -> None:
    async def fail(query: str) -> list[str]:
        raise KeyError(query)

    async def run() -> None:
        async with AsyncShadow(fail, reverse, log, idempotent=True, limits=PATIENT) as shadow:
            with pytest.raises(KeyError):
                await shadow("vpn")

    asyncio.run(run())
    assert error(logged(log, "vpn")["primary"]) == "failed"
    assert error(logged(log, "vpn")["candidate"]) is None
