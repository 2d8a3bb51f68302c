"""assay serve users, sessions, tokens and audit, as an admin types them."""

import io
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assay.cli import call
from assay.cli.serve import parser
from assay.store.accounts import Accounts, Sessions
from assay.store.store import Store
from assay.workflows import passwords
from assay.workflows.passwords import is_password
from tests.web.teams import QUICK_HASHER

SERVE = Path(__file__).parents[2] / "examples" / "serve"
PASSWORD = "a long enough password"


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_STORE", str(tmp_path / "store"))
    monkeypatch.setattr(passwords, "_hasher", lambda: QUICK_HASHER)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "store"


def add(name: str, role: str, monkeypatch: pytest.MonkeyPatch, password: str = PASSWORD) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{password}\n"))
    return call(["serve", "users", "add", name, "--role", role, "--password-stdin"])


def test_the_first_account_is_added_at_a_terminal(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add("Ada", "admin", monkeypatch) == 0
    assert capsys.readouterr().err == "ada: admin\n"
    with Store(store) as opened:
        kept = Accounts(opened.database).password_hash("ada")
        assert kept is not None
        assert kept.startswith("$argon2id$")
        assert is_password(kept, PASSWORD)
        assert not is_password(kept, "another")
    assert call(["serve", "users", "list", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("ada,admin,password,open,")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["add", "x", "--password-stdin"], "a password of 12 to 256 characters, found 5"),
        (["add", "a b", "--no-password"], "expected a name of 1 to 64 letters"),
        (["add", "x", "--role", "king", "--no-password"], "expected one of the roles viewer, judge"),
        (["add"], "add expects a name after it, found none"),
        (["role", "ada", "viewer"], "ada is the last admin"),
        (["role", "ada"], "expected the new role of ada"),
        (["disable", "nobody"], "there is no account 'nobody'"),
        (["password", "ada"], "there is no terminal to ask for the password: use --password-stdin"),
    ],
)
def test_wrong_use_says_what_to_do(
    words: list[str], problem: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add("ada", "admin", monkeypatch)
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    assert call(["serve", "users", *words]) == 2
    assert problem in capsys.readouterr().err


def test_a_token_is_printed_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], store: Path
) -> None:
    add("ada", "judge", monkeypatch)
    assert call(["serve", "tokens", "add", "ada", "--role", "admin", "--days", "2", "--label", "ci"]) == 0
    output = capsys.readouterr()
    assert output.out.startswith("assay_")
    assert "as judge, until" in output.err  # never more than the account
    assert call(["serve", "tokens", "list", "--format", "json"]) == 0
    listing = capsys.readouterr().out
    assert output.out.strip() not in listing
    assert call(["serve", "tokens", "revoke", json.loads(listing)[0]["id"]]) == 0
    assert call(["serve", "tokens", "list"]) == 0
    assert "no token" in capsys.readouterr().out
    assert call(["serve", "tokens", "add", "ada", "--days", "9999"]) == 2
    assert "a token lasts 1 to 366 days" in capsys.readouterr().err
    assert output.out.strip().encode() not in (store / "assay.db").read_bytes()


def test_sessions_end_by_command(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add("ada", "admin", monkeypatch)
    with Store(store) as opened:
        for secret in ("one", "two", "three"):
            later = datetime.now(UTC) + timedelta(hours=1)
            Sessions(opened.database).open(secret, "ada", later, "10.0.0.1", "")
    assert call(["serve", "sessions", "list", "--format", "json"]) == 0
    first = json.loads(capsys.readouterr().out)[0]["id"]
    assert call(["serve", "sessions", "revoke", first]) == 0
    assert call(["serve", "sessions", "revoke-all", "ada"]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == "2 sessions of ada have ended"
    assert call(["serve", "audit", "--format", "csv"]) == 0
    assert "revoke all sessions,ada,done,terminal" in capsys.readouterr().out


def test_a_team_without_accounts_is_told_how_to_add_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["serve", "--accounts", "--port", "0"]) == 2
    assert "assay serve users add NAME --role admin" in capsys.readouterr().err


def test_the_help_shows_a_team_behind_a_proxy(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["serve", "--help"]) == 0
    text = capsys.readouterr().out
    assert "postgresql://" in text
    assert "--trusted-proxy 127.0.0.1" in text


def test_the_examples_start_the_server_with_options_that_there_are() -> None:
    unit = (SERVE / "assay.service").read_text()
    start = re.search(r"^ExecStart=\S*/assay serve (.*)$", unit, re.M)
    container = re.search(
        r'^ENTRYPOINT \["assay", "serve", (.*)\]$', (SERVE / "Containerfile").read_text(), re.M
    )
    assert start is not None
    assert container is not None
    words = [*json.loads(f"[{container[1]}]"), "--public-url", "https://assay.example.org"]
    for options in (start[1].split(), words):
        arguments = parser().parse_args(options)
        assert arguments.accounts
        assert arguments.public_url == "https://assay.example.org"
