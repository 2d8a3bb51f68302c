"""Every operation of the OpenAPI document answers any input, generated or known to be bad."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from schemathesis.core.result import Ok
from starlette.testclient import TestClient

from assay.store.accounts import Sessions
from assay.web.page import Role
from tests.web.dashboards import create_annotation_project, save_experiments
from tests.web.teams import add_accounts, create_team_app, fill, log_in, routes_of

EXAMPLES = 8  # of each operation
BAD_VALUES = ("", "\0", "-1", "1e999", "nan", "9" * 30, "\U0010ffff", "%")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    folder = tmp_path_factory.mktemp("openapi")
    store = save_experiments(folder, queries=2)
    create_annotation_project(folder, store)
    add_accounts(store)
    return create_team_app(store)


@pytest.fixture(scope="module")
def client(app: FastAPI) -> Iterator[TestClient]:
    with log_in(app, Role.ADMIN) as client, pytest.MonkeyPatch.context() as patch:
        for name in ("revoke", "revoke_all"):  # or the first example would log out
            patch.setattr(Sessions, name, lambda *_: 0)
        yield client


def test_no_input_is_a_fault(client: TestClient) -> None:
    """Every input is answered; what is wrong is refused as wrong input."""
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    operations = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    twins = {
        operation.path.removesuffix(".json") for operation in operations if operation.path.endswith(".json")
    }
    faults: list[Any] = []
    count = 0

    def check(operation: Any) -> None:
        @given(case=operation.as_strategy())
        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        def call(case: Any) -> None:
            nonlocal count
            arguments = case.as_transport_kwargs(base_url="http://127.0.0.1:8765")
            del arguments["cookies"]
            response = client.request(**arguments)
            count += 1
            if response.status_code >= 500 or response.status_code in (401, 403):
                faults.append((operation.label, response.status_code, arguments))

        call()

    for operation in operations:
        is_twin = operation.method.upper() == "GET" and (
            operation.path in twins or operation.path.endswith(".csv")
        )
        if not is_twin:
            check(operation)
    assert faults == []
    assert count > 5 * EXAMPLES


def test_no_bad_value_of_a_parameter_is_a_fault(app: FastAPI, client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    wrong = []
    for path, operations in document["paths"].items():
        for parameter in operations.get("get", {}).get("parameters", ()):
            for value in BAD_VALUES if path.endswith(".json") and parameter["in"] == "query" else ():
                response = client.get(fill(path), params={parameter["name"]: value})
                wrong += [(path, parameter["name"], value)] if response.status_code >= 500 else []
    assert wrong == []


def test_no_bad_body_is_a_fault(app: FastAPI, client: TestClient) -> None:
    bodies: tuple[dict[str, Any], ...] = (
        {"content": b"\xff\xfe=%zz&&&=", "headers": {"content-type": "application/x-www-form-urlencoded"}},
        {"content": b"{", "headers": {"content-type": "application/json"}},
        {"content": b"x", "headers": {"content-type": "multipart/form-data; boundary=y"}},
        {"content": b"x", "headers": {"content-type": "multipart/form-data"}},
        {
            "data": {
                "name": ["a", "b"],
                "pair": "9" * 30,
                "grade": "nan",
                "role": "\0",
                "days": "1e9",
                "csrf": "",
            }
        },
    )
    wrong = []
    for path in [path for method, path, _ in routes_of(app) if method == "POST"]:
        for number, body in enumerate(bodies):
            response = client.post(fill(path), **body)
            wrong += [(path, number)] if response.status_code >= 500 else []
    assert wrong == []
