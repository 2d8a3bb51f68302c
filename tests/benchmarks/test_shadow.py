"""The benchmark of the mirror notices an answer that is altered or lost."""

import socket
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.rollout.endpoints import Endpoint, Received, answer, endpoint

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "shadow.py"


@pytest.mark.parametrize(("spoilt", "wrong"), [("", 0), ("query-7", 1)])
def test_an_altered_answer_is_noticed(benchmark: Any, spoilt: str, wrong: int) -> None:
    def behave(server: Endpoint, request: Received, connection: socket.socket) -> bool:
        query = parse_qs(urlsplit(request.target).query)["q"][0]
        body: str = benchmark.BODY.replace("$arg_q", query)
        return answer(connection, (body[:-1] if query == spoilt else body).encode())

    with endpoint(behave) as server:
        assert benchmark.check_answers(server.port, 40) == wrong


def test_ratios_are_those_of_the_same_turn(benchmark: Any) -> None:
    rows, own = [(90.0, 2.0, 0, 1.0), (50.0, 2.0, 0, 1.0)], [(100.0, 1.0, 0, 1.0), (50.0, 4.0, 0, 1.0)]
    assert benchmark.ratio(rows, own, 0) == "0.950 (0.900 to 1.000)"
    assert benchmark.ratio(rows, own, 1) == "1.250 (0.500 to 2.000)"
