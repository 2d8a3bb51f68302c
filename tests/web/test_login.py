"""Log in and out: passwords, sessions that are rotated and revoked, tokens, limits, and the audit log."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from assay.core.errors import InputError
from assay.store.store import Store
from assay.web.access import Access
from assay.web.app import create_app
from assay.web.page import Role
from assay.web.server import ServeRequest
from assay.workflows import passwords
from assay.workflows.accounts import (
    AccountRequest,
    AuditRequest,
    RevokeRequest,
    RoleRequest,
    TokenRequest,
    create_token,
    disable_account,
    list_people,
    read_audit_log,
    revoke_session,
    set_role,
)
from tests.web.teams import (
    NAMES,
    PASSWORD,
    QUICK_HASHER,
    add_accounts,
    create_team_app,
    log_in,
    login_form,
    open_client,
)

VIEWER, ADMIN = NAMES[Role.VIEWER], NAMES[Role.ADMIN]


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "_hasher", lambda: QUICK_HASHER)


@pytest.fixture
def store(tmp_path: Path) -> str:
    Store(tmp_path / "store").database.close()
    add_accounts(tmp_path / "store")
    return str(tmp_path / "store")


@pytest.fixture
def app(store: str) -> FastAPI:
    return create_team_app(Path(store))


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_a_login_goes_on_to_the_page_that_was_asked_for(app: FastAPI) -> None:
    client = open_client(app)
    location = client.get("/experiments?where=name='a'").headers["location"]
    assert location.startswith("/login?next=/experiments%3F")
    form = login_form(client, next="/experiments?sort=name")
    assert client.post("/login", data=form).headers["location"] == "/experiments?sort=name"
    assert client.get("/login").headers["location"] == "/"


@pytest.mark.parametrize(
    "address", ["//evil.example", "https://evil.example", "/\\evil.example", "/\t/evil", "x"]
)
def test_a_login_never_goes_to_another_site(app: FastAPI, address: str) -> None:
    client = open_client(app)
    assert client.post("/login", data=login_form(client, next=address)).headers["location"] == "/"


@pytest.mark.parametrize(
    "values", [{"password": "wrong"}, {"name": "nobody"}, {"name": "\0"}, {"password": ""}]
)
def test_a_wrong_name_and_a_wrong_password_are_told_alike(app: FastAPI, values: dict[str, str]) -> None:
    client = open_client(app)
    response = client.post("/login", data=login_form(client, **values))
    assert response.status_code == 401
    assert "The name or the password is wrong." in response.text
    assert client.cookies.get("assay") is None


def test_a_session_that_an_attacker_planted_is_worthless(app: FastAPI) -> None:
    client = open_client(app)
    client.cookies.set("assay", "planted", domain="127.0.0.1", path="/")
    response = client.post("/login", data=login_form(client))
    secret = response.cookies["assay"]
    assert len(secret) > 40
    attacker = open_client(app)
    attacker.cookies.set("assay", "planted")
    assert attacker.get("/experiments").status_code == 303


def test_a_login_ends_the_session_that_the_browser_had(app: FastAPI) -> None:
    client = log_in(app, Role.VIEWER)
    before = client.cookies["assay"]
    other = open_client(app)
    form = login_form(other)
    other.cookies.set("assay", before)
    other.post("/login", data=form)
    assert client.get("/account").status_code == 303


def test_cookies_are_kept_from_scripts_other_sites_and_plain_http(store: str) -> None:
    app = create_team_app(Path(store), "https://assay.example.org")
    client = open_client(app, "https://assay.example.org")
    response = client.post("/login", data=login_form(client))
    cookie = next(c for c in response.headers.get_list("set-cookie") if c.startswith("__Host-assay="))
    attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert attributes == {"httponly", "secure", "samesite=lax", "path=/"}
    assert response.headers["strict-transport-security"].startswith("max-age=")


def test_a_form_without_its_token_is_refused(app: FastAPI) -> None:
    client = open_client(app)
    assert client.post("/login", data={"name": ADMIN, "password": PASSWORD}).status_code == 403
    foreign = login_form(open_client(app))
    assert client.post("/login", data=foreign).status_code == 403


def test_a_logout_ends_the_session_on_the_server(app: FastAPI) -> None:
    client = log_in(app, Role.VIEWER)
    secret = client.cookies["assay"]
    assert client.post("/logout", data={"csrf": client.headers["X-CSRF-Token"]}).status_code == 303
    client.cookies.set("assay", secret)
    assert client.get("/account").status_code == 303


def test_what_an_admin_changes_holds_at_once(app: FastAPI, store: str) -> None:
    client = log_in(app, Role.ENGINEER)
    name = NAMES[Role.ENGINEER]
    set_role(RoleRequest(name=name, role="viewer", store=store))
    assert client.get("/annotate").status_code == 403
    revoke_session(RevokeRequest(id=list_people(store).sessions[0].id, store=store))
    assert client.get("/account").status_code == 303
    again = log_in(app, Role.ENGINEER)
    disable_account(AccountRequest(name=name, store=store))
    assert again.get("/account").status_code == 303


def test_two_servers_share_logins_and_what_ends_on_one_has_ended_on_both(place: str) -> None:
    add_accounts(place)
    one, other = create_team_app(place), create_team_app(place)
    client = log_in(one, Role.ADMIN)
    there = open_client(other)
    there.cookies.set("assay", client.cookies["assay"])
    there.headers["X-CSRF-Token"] = client.headers["X-CSRF-Token"]
    assert there.post(f"/people/{VIEWER}/disable").status_code == 303
    assert "disabled" in client.get("/people").text
    assert there.post("/account/sessions/revoke").status_code == 303
    assert client.get("/people").status_code == 303
    for app in (one, other):
        app.state.access.close()


def test_an_idle_session_ends(app: FastAPI, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client = log_in(app, Role.VIEWER)
    later = datetime.now(UTC) + timedelta(hours=13)
    monkeypatch.setattr(
        "assay.store.accounts.datetime", type("Later", (), {"now": staticmethod(lambda _: later)})
    )
    assert client.get("/account").status_code == 303


def test_a_token_reads_data_with_the_lower_of_both_roles(app: FastAPI, store: str) -> None:
    secret = create_token(TokenRequest(name=VIEWER, role="admin", store=store)).secret
    client = open_client(app)
    assert client.get("/experiments.json", headers=bearer(secret)).status_code == 200
    assert client.get("/people.json", headers=bearer(secret)).status_code == 403
    assert client.get("/experiments.json", headers=bearer(secret[:-1])).status_code == 401
    assert client.get("/experiments.json", headers={"Authorization": f"Basic {secret}"}).status_code == 401


def test_a_token_that_expired_or_was_revoked_is_refused(
    app: FastAPI, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = create_token(TokenRequest(name=ADMIN, role="admin", days=1, store=store))
    admin = log_in(app, Role.ADMIN)
    assert admin.post(f"/people/tokens/{created.token.id}/revoke").status_code == 303
    assert open_client(app).get("/experiments.json", headers=bearer(created.secret)).status_code == 401
    other = create_token(TokenRequest(name=ADMIN, role="admin", days=1, store=store))
    later = datetime.now(UTC) + timedelta(days=2)
    monkeypatch.setattr(
        "assay.store.accounts.datetime", type("Later", (), {"now": staticmethod(lambda _: later)})
    )
    assert open_client(app).get("/experiments.json", headers=bearer(other.secret)).status_code == 401


def test_a_token_changes_data_but_no_accounts(app: FastAPI, store: str) -> None:
    headers = bearer(create_token(TokenRequest(name=ADMIN, role="admin", store=store)).secret)
    client = open_client(app)
    assert client.post("/experiments/none/note", headers=headers, data={"text": "x"}).status_code == 400
    assert client.post("/people", headers=headers, data={"name": "new"}).status_code == 403
    assert client.post("/account/token", headers=headers).status_code == 403


def test_logins_of_one_account_are_limited(app: FastAPI) -> None:
    client = open_client(app)
    form = login_form(client, password="wrong")
    statuses = [client.post("/login", data=form).status_code for _ in range(6)]
    assert statuses == [401] * 5 + [429]
    right = client.post("/login", data={**form, "password": PASSWORD})
    assert right.status_code == 429
    assert int(right.headers["Retry-After"]) > 0


def test_only_engineers_send_much(app: FastAPI) -> None:
    client = open_client(app)
    form = login_form(client)
    assert client.post("/login", data={**form, "x": "y" * 100_000}).status_code == 413
    assert client.post("/login", content=iter([b"name=x"])).status_code == 413
    assert client.post("/login", data=form).status_code == 303
    judge = log_in(app, Role.JUDGE)
    assert judge.post("/upload", data={"name": "y" * 100_000}).status_code == 413
    assert log_in(app, Role.ENGINEER).post("/upload", data={"tags": "y" * 100_000}).status_code != 413


def test_requests_are_limited(store: str) -> None:
    app = create_team_app(Path(store))
    app.state.access.limits = type(app.state.access.limits)(3)
    client = open_client(app)
    assert [client.get("/health").status_code for _ in range(4)] == [200, 200, 200, 429]


def test_the_audit_log_names_who_did_what_from_where(app: FastAPI, store: str) -> None:
    client = log_in(app, Role.ADMIN)
    client.post(f"/people/{VIEWER}/role", data={"role": "judge"})
    client.post("/experiments/none/note", data={"text": "x"})
    open_client(app).post("/people")
    entries = read_audit_log(AuditRequest(store=store)).entries
    assert [(e.account, e.action, e.target, e.result) for e in entries] == [
        ("", "POST", "/people", "refused (401)"),
        (ADMIN, "POST", "/experiments/none/note", "refused (400)"),
        (ADMIN, "set role", f"{VIEWER} as judge", "done"),
        (ADMIN, "login", ADMIN, "done"),
    ]
    assert {entry.address for entry in entries} == {"testclient"}
    page = client.get("/audit").text
    assert f"{VIEWER} as judge" in page
    assert client.get("/audit.json", params={"account": "nobody"}).json()["entries"] == []
    assert client.get("/audit.json", params={"before": "x"}).status_code == 400


def test_an_own_password_is_changed_and_ends_all_sessions(app: FastAPI) -> None:
    client = log_in(app, Role.VIEWER)
    wrong = client.post("/account/password", data={"current": "x", "password": "a new long password"})
    assert wrong.status_code == 400
    short = client.post("/account/password", data={"current": PASSWORD, "password": "short"})
    assert "12 to 256 characters" in short.text
    form = {"current": PASSWORD, "password": "a new long password"}
    assert client.post("/account/password", data=form).status_code == 303
    assert client.get("/account").status_code == 303
    other = open_client(app)
    answer = other.post("/login", data=login_form(other, name=VIEWER, password="a new long password"))
    assert answer.status_code == 303


def test_a_person_revokes_only_own_tokens(app: FastAPI, store: str) -> None:
    foreign = create_token(TokenRequest(name=ADMIN, store=store)).token.id
    client = log_in(app, Role.VIEWER)
    assert client.post(f"/account/tokens/{foreign}/revoke").status_code == 400
    created = client.post("/account/token", headers={"Accept": "application/json"}).json()
    assert created["role"] == "viewer"
    assert client.post(f"/account/tokens/{created['id']}/revoke").status_code == 303
    assert [token.id for token in list_people(store).tokens] == [foreign]


def test_the_last_admin_stays_one(app: FastAPI, store: str) -> None:
    client = log_in(app, Role.ADMIN)
    assert "the last admin" in client.post(f"/people/{ADMIN}/role", data={"role": "viewer"}).text
    assert "your own account" in client.post(f"/people/{ADMIN}/disable").text
    assert client.post(f"/people/{VIEWER}/disable").status_code == 303
    assert client.post(f"/people/{VIEWER}/enable").status_code == 303


def test_a_team_needs_an_address_and_somebody_who_can_log_in(tmp_path: Path) -> None:
    project = tmp_path / "assay.toml"
    with pytest.raises(InputError, match=r"--host 0\.0\.0\.0: without a login"):
        ServeRequest(host="0.0.0.0", project=project)
    with pytest.raises(InputError, match=r"needs --public-url https://HOST"):
        ServeRequest(host="0.0.0.0", accounts=True, project=project)
    with pytest.raises(InputError, match="put a proxy with a certificate in front"):
        ServeRequest(host="0.0.0.0", accounts=True, public_url="http://10.0.0.1", project=project)
    ServeRequest(host="0.0.0.0", accounts=True, public_url="https://assay.example.org", project=project)


def test_local_use_needs_no_accounts(store: str) -> None:
    client = TestClient(create_app(Access(store)), base_url="http://127.0.0.1:8765")
    assert "Nobody needs to log in here" in client.get("/people").text
    assert "There are no accounts here" in client.get("/account").text
    assert client.get("/audit").status_code == 200
