"""A dashboard for a team, with an account of each role, as browsers and programs call it."""

import re
from pathlib import Path

from argon2 import PasswordHasher
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from assay.store.accounts import Accounts
from assay.store.store import Store
from assay.web.account_access import AccountAccess
from assay.web.app import create_app
from assay.web.page import Role
from assay.workflows.serve_settings import OidcSettings, ServeSettings

ADDRESS = "http://127.0.0.1:8765"
PASSWORD = "a password of the tests"
NAMES = {role: f"the-{role.name.lower()}" for role in Role}  # an account of each role
QUICK_HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


def add_accounts(store: Path | str) -> None:
    """Add an account of each role, with a hash that is quick to check."""
    with Store(store) as opened:
        accounts = Accounts(opened.database)
        for role, name in NAMES.items():
            accounts.add(name, role.name.lower(), password=QUICK_HASHER.hash(PASSWORD))


def create_team_app(store: Path | str, public_url: str = "", oidc: OidcSettings | None = None) -> FastAPI:
    """Return the application for a team."""
    settings = ServeSettings(accounts=True, public_url=public_url, oidc=oidc, requests_per_minute=100_000)
    return create_app(AccountAccess(str(store), settings))


def open_client(app: FastAPI, address: str = ADDRESS) -> TestClient:
    """Return a browser that has not logged in."""
    return TestClient(app, base_url=address, follow_redirects=False)


def login_form(client: TestClient, **values: str) -> dict[str, str]:
    """Return what the form to log in sends."""
    match = re.search(r'name="csrf" value="([^"]+)"', client.get("/login").text)
    assert match is not None
    return {"csrf": match[1], "name": NAMES[Role.ADMIN], "password": PASSWORD, **values}


def log_in(app: FastAPI, role: Role, address: str = ADDRESS) -> TestClient:
    """Return a browser in which the account of a role has logged in; its changes carry their token."""
    client = open_client(app, address)
    response = client.post("/login", data=login_form(client, name=NAMES[role]))
    assert response.status_code == 303, response.text
    match = re.search(r'"X-CSRF-Token": "([^"]+)"', client.get("/account").text)
    assert match is not None
    client.headers["X-CSRF-Token"] = match[1]
    return client


def routes_of(app: FastAPI) -> list[tuple[str, str, Role | None]]:
    """Return the method, the path and the role of every route; None: it declares no role."""
    routes = [route for route in app.routes if isinstance(route, APIRoute)]
    return [
        (method, route.path, _role_of(route)) for route in routes for method in sorted(route.methods or ())
    ]


def _role_of(route: APIRoute) -> Role | None:
    checks = (dependency.dependency for dependency in route.dependencies)
    roles = [role for check in checks if (role := getattr(check, "role", None)) is not None]
    return max(roles) if roles else None


def fill(path: str, value: str = "x") -> str:
    """Return the path of a route with a value for each of its parameters."""
    return re.sub(r"\{[^}]+\}", value, path)
