"""Every route of the table of routes: nobody without a login, no lower role, no change without a token."""

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from assay.web.page import Role
from tests.web.dashboards import save_experiments
from tests.web.teams import add_accounts, create_team_app, fill, log_in, open_client, routes_of

OPEN = {"/login", "/health"}  # need no login
FOR_EVERYBODY = {"/logout"}  # who is logged in


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    folder = tmp_path_factory.mktemp("team")
    store = save_experiments(folder, queries=3)
    add_accounts(store)
    return create_team_app(store)


def test_every_route_declares_a_role(app: FastAPI) -> None:
    undeclared = {path for _, path, role in routes_of(app) if role is None}
    assert undeclared == OPEN | FOR_EVERYBODY
    others = {getattr(route, "path", "") for route in app.routes if not isinstance(route, APIRoute)}
    assert others == {"/static", "/openapi.json"}


def test_nobody_gets_in_without_a_login(app: FastAPI) -> None:
    client = open_client(app)
    answers = {}
    for method, path, _ in [*routes_of(app), ("GET", "/openapi.json", None), ("GET", "/no-such-page", None)]:
        if path not in OPEN:
            response = client.request(method, fill(path))
            answers[method, path] = response.status_code, response.headers.get("location", "/login")[:6]
    assert len(answers) > 25
    assert set(answers.values()) <= {(303, "/login"), (401, "/login")}
    assert all(status == 401 for (method, _), (status, _) in answers.items() if method != "GET")


def test_no_lower_role_is_allowed(app: FastAPI) -> None:
    clients = {role: log_in(app, role) for role in Role}
    allowed = []
    for method, path, needed in routes_of(app):
        for role in Role if needed else ():
            if needed is not None and role < needed:
                response = clients[role].request(method, fill(path))
                allowed += [(method, path, role)] if response.status_code != 403 else []
    assert allowed == []


def test_pages_of_the_own_role_are_shown(app: FastAPI) -> None:
    clients = {role: log_in(app, role) for role in Role}
    pages = [(path, role) for method, path, role in routes_of(app) if method == "GET" and role]
    refused = [path for path, role in pages if clients[role].get(fill(path)).status_code in (401, 403, 500)]
    assert refused == []


def test_every_change_needs_the_token_of_its_session(app: FastAPI) -> None:
    client, other = log_in(app, Role.ADMIN), log_in(app, Role.ADMIN)
    tokens = ("", "x", "é", other.headers["X-CSRF-Token"])
    passed = []
    for path in (path for method, path, _ in routes_of(app) if method not in ("GET", "HEAD")):
        for token in tokens:
            headers = {b"X-CSRF-Token": token.encode()}
            response = client.post(fill(path), headers=headers, data={"csrf": token})
            passed += [(path, token)] if response.status_code != 403 else []
    assert passed == []


def test_a_change_that_another_site_sends_is_refused(app: FastAPI) -> None:
    client = log_in(app, Role.ADMIN)
    response = client.post("/people", headers={"Sec-Fetch-Site": "cross-site"}, data={"name": "x"})
    assert response.status_code == 403


def test_a_name_of_another_host_is_refused(app: FastAPI) -> None:
    assert open_client(app, "http://evil.example").get("/login").status_code == 421


def test_navigation_shows_only_pages_that_open(app: FastAPI) -> None:
    assert 'href="/annotate"' not in log_in(app, Role.VIEWER).get("/experiments").text
    assert 'href="/annotate"' in log_in(app, Role.JUDGE).get("/experiments").text
    assert 'href="/people"' not in log_in(app, Role.ENGINEER).get("/experiments").text
