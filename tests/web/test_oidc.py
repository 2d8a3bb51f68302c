"""Log in at an OpenID Connect provider: a double on a socket, with right and wrong answers."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from joserfc.jwk import RSAKey
from starlette.testclient import TestClient

from assay.store.accounts import Accounts
from assay.store.store import Store
from assay.web.page import Role
from assay.workflows.accounts import AccountRequest, AuditRequest, disable_account, read_audit_log
from assay.workflows.serve_settings import OidcSettings
from tests.web.oidc_provider import CLIENT_ID, CLIENT_SECRET, ProviderDouble, run_provider
from tests.web.teams import NAMES, add_accounts, create_team_app, open_client

NAME = "ada@example.org"


@pytest.fixture(scope="module")
def double() -> Iterator[ProviderDouble]:
    with run_provider() as provider:
        yield provider


@pytest.fixture
def provider(double: ProviderDouble, monkeypatch: pytest.MonkeyPatch) -> ProviderDouble:
    monkeypatch.setenv("ASSAY_OIDC_SECRET", CLIENT_SECRET)
    double.claims, double.published_key = {}, double.key
    double.person = {"sub": "42", "email": "Ada@Example.org", "email_verified": True}
    return double


@pytest.fixture
def store(tmp_path: Path) -> Path:
    Store(tmp_path / "store").database.close()
    add_accounts(tmp_path / "store")
    return tmp_path / "store"


def settings_of(provider: ProviderDouble) -> OidcSettings:
    return OidcSettings(provider.issuer, CLIENT_ID, "ASSAY_OIDC_SECRET", role="judge")


def dashboard(store: Path, oidc: OidcSettings) -> TestClient:
    return open_client(create_team_app(store, oidc=oidc))


def visit_provider(client: TestClient, next_path: str = "/experiments") -> str:
    """Go to the provider; return the path to which it sends the browser back."""
    address = client.get("/login/oidc", params={"next": next_path}).headers["location"]
    back = httpx.get(address).headers["location"]
    assert back.startswith("http://127.0.0.1:8765/login/oidc/callback?")
    return back.removeprefix("http://127.0.0.1:8765")


def accounts_of(store: Path) -> dict[str, str]:
    with Store(store) as opened:
        return {account.name: account.role for account in Accounts(opened.database).list()}


def test_a_first_login_creates_the_account_and_a_later_one_finds_it(
    provider: ProviderDouble, store: Path
) -> None:
    client = dashboard(store, settings_of(provider))
    assert "Log in with OpenID Connect" in client.get("/login").text
    assert client.get(visit_provider(client)).headers["location"] == "/experiments"
    assert client.get("/annotate").status_code == 200
    assert accounts_of(store)[NAME] == "judge"
    provider.person["email"] = "renamed@example.org"  # the id at the provider counts, not the name
    again = dashboard(store, settings_of(provider))
    assert again.get(visit_provider(again)).status_code == 303
    assert len(accounts_of(store)) == len(NAMES) + 1


WRONG_CLAIMS = {
    "another nonce": {"nonce": "x"},
    "another audience": {"aud": "other"},
    "another issuer": {"iss": "https://evil.example"},
    "expired": {"exp": 1},
    "no person": {"sub": None},
    "unverified address": {"email_verified": False},
    "a name that is none": {"email": "<script>"},
}


@pytest.mark.parametrize("claims", WRONG_CLAIMS.values(), ids=WRONG_CLAIMS)
def test_a_wrong_id_token_lets_nobody_in(
    provider: ProviderDouble, store: Path, claims: dict[str, object]
) -> None:
    client = dashboard(store, settings_of(provider))
    provider.claims = claims
    response = client.get(visit_provider(client))
    assert response.status_code == 403
    assert "Not logged in" in response.text
    assert client.get("/experiments").status_code == 303
    assert len(accounts_of(store)) == len(NAMES)


def test_a_signature_of_another_key_lets_nobody_in(provider: ProviderDouble, store: Path) -> None:
    client = dashboard(store, settings_of(provider))
    provider.published_key = RSAKey.generate_key(2048, {"kid": "1"}, auto_kid=False)
    assert client.get(visit_provider(client)).status_code == 403


def test_a_login_that_another_browser_began_is_refused(provider: ProviderDouble, store: Path) -> None:
    client = dashboard(store, settings_of(provider))
    back = visit_provider(client)
    victim = dashboard(store, settings_of(provider))
    assert "was not begun in this browser" in victim.get(back).text
    assert client.get(back.replace("state=", "state=x")).status_code == 403
    assert client.get("/login/oidc/callback", params={"error": "access_denied"}).status_code == 403


def test_an_account_with_a_password_is_not_taken_over(provider: ProviderDouble, store: Path) -> None:
    provider.person = {"sub": "7", "name": NAMES[Role.ADMIN]}
    client = dashboard(store, replace(settings_of(provider), name_claim="name"))
    response = client.get(visit_provider(client))
    assert response.status_code == 403
    assert "belongs to somebody who logs in in another way" in response.text
    entry = read_audit_log(AuditRequest(store=str(store))).entries[0]
    assert (entry.action, entry.target) == ("login by oidc", NAMES[Role.ADMIN])


def test_only_known_accounts_are_let_in_where_no_role_is_set(provider: ProviderDouble, store: Path) -> None:
    client = dashboard(store, replace(settings_of(provider), role=""))
    assert "ask an admin to add it" in client.get(visit_provider(client)).text
    with Store(store) as opened:
        Accounts(opened.database).add(NAME, "viewer")
    assert client.get(visit_provider(client)).status_code == 303


def test_a_disabled_account_is_not_let_in(provider: ProviderDouble, store: Path) -> None:
    client = dashboard(store, settings_of(provider))
    client.get(visit_provider(client))
    disable_account(AccountRequest(name=NAME, store=str(store)))
    assert "is disabled" in client.get(visit_provider(client)).text


def test_a_provider_that_does_not_answer_is_an_error_that_says_so(store: Path) -> None:
    client = dashboard(store, OidcSettings("http://127.0.0.1:9", CLIENT_ID))
    response = client.get("/login/oidc")
    assert response.status_code == 400
    assert "the provider cannot be reached" in response.text
