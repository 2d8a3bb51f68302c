"""Accounts, sessions and tokens in both databases: only digests are kept, and what ends has ended."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.store.accounts import Accounts, ApiTokens, Sessions, digest_secret
from assay.store.audit import add_entry, list_entries
from assay.store.backup import backup, move, restore
from assay.store.store import Store

LATER = datetime.now(UTC) + timedelta(hours=1)


def fill(store: Store) -> None:
    """Add an account with a session, a token and an entry of the log."""
    Accounts(store.database).add("ada", "admin", password="a hash", subject="https://login|42")
    Sessions(store.database).open("a secret", "ada", LATER, "10.0.0.1", "a browser")
    ApiTokens(store.database).add("a token", "ada", "nightly", "viewer", LATER)
    add_entry(store.database, "ada", "login", "ada", address="10.0.0.1")


def test_an_account_is_found_by_name_and_by_its_id_at_the_provider(place: str) -> None:
    with Store(place) as store:
        fill(store)
        accounts = Accounts(store.database)
        assert accounts.get("ada") == accounts.find_subject("https://login|42")
        assert (accounts.password_hash("ada"), accounts.password_hash("bob")) == ("a hash", None)
        assert "hash" not in str(accounts.get("ada").to_dict().values())
        with pytest.raises(InputError, match="an account 'ada' already"):
            accounts.add("ada", "viewer")
        with pytest.raises(InputError, match="no account 'bob'"):
            accounts.change("bob", role="viewer")


def test_sessions_and_tokens_are_found_by_their_secret_only(place: str) -> None:
    with Store(place) as store:
        fill(store)
        for found in (Sessions(store.database), ApiTokens(store.database)):
            secret = "a secret" if isinstance(found, Sessions) else "a token"
            pair = found.find(secret)
            assert pair is not None
            assert pair[1].name == "ada"
            assert found.find(digest_secret(secret)) is None  # what is kept does not log in
            assert found.revoke(pair[0].id) == "ada"
            assert found.find(secret) is None
            for wrong in (pair[0].id, "", "%", "_" * 12):
                with pytest.raises(InputError, match="there is no"):
                    found.revoke(wrong)


def test_a_disabled_account_has_no_session_and_no_token(place: str) -> None:
    with Store(place) as store:
        fill(store)
        Accounts(store.database).add("bob", "admin")
        assert Accounts(store.database).disable("ada").disabled_at is not None
        assert Sessions(store.database).list() == []
        assert ApiTokens(store.database).find("a token") is None
        Accounts(store.database).enable("ada")
        assert ApiTokens(store.database).find("a token") is not None
        assert Sessions(store.database).find("a secret") is None


def test_the_last_admin_stays(place: str) -> None:
    with Store(place) as store:
        accounts = Accounts(store.database)
        accounts.add("bob", "viewer")
        accounts.disable("bob")  # where there is no admin, none is the last
        fill(store)
        with pytest.raises(InputError, match="the last admin"):
            accounts.change("ada", role="judge")
        with pytest.raises(InputError, match="the last admin"):
            accounts.disable("ada")
        assert accounts.get("ada").role == "admin"
        assert Sessions(store.database).find("a secret") is not None


def test_a_session_ends_in_time(place: str) -> None:
    with Store(place) as store:
        fill(store)
        sessions = Sessions(store.database)
        sessions.touch("a secret", datetime.now(UTC) - timedelta(seconds=1))
        assert sessions.find("a secret") is None
        assert sessions.list() == []


def test_two_servers_on_one_store_agree(place: str) -> None:
    with Store(place) as one, Store(place) as other:
        fill(one)
        assert Sessions(other.database).find("a secret") is not None
        Accounts(other.database).change("ada", ends_sessions=True, password="another")
        assert Sessions(one.database).find("a secret") is None


def test_the_log_is_read_in_parts(place: str) -> None:
    with Store(place) as store:
        for number in range(5):
            add_entry(store.database, "ada" if number % 2 else "", f"action {number}", "x\0\ud800" * 400)
        newest = list_entries(store.database, limit=2)
        assert [entry.action for entry in newest] == ["action 4", "action 3"]
        older = list_entries(store.database, before=newest[-1].at)
        assert [entry.action for entry in older] == ["action 2", "action 1", "action 0"]
        assert [e.action for e in list_entries(store.database, account="ada")] == ["action 3", "action 1"]
        assert len(newest[0].target) <= 500


def test_accounts_move_without_their_sessions(place: str, tmp_path: Path) -> None:
    with Store(tmp_path / "source") as source, Store(place) as target:
        fill(source)
        Accounts(source.database).add("bob", "viewer")
        Accounts(target.database).add("bob", "engineer")
        for _ in range(2):
            move(source, target)
        roles = {account.name: account.role for account in Accounts(target.database).list()}
        assert roles == {"ada": "admin", "bob": "engineer"}  # what is there stays
        assert ApiTokens(target.database).find("a token") is not None
        assert len(list_entries(target.database)) == 1
        assert Sessions(target.database).list() == []


def test_a_backup_has_the_accounts(tmp_path: Path) -> None:
    with Store(tmp_path / "a") as store:
        fill(store)
        backup(store, tmp_path / "a.zip")
    restore(tmp_path / "a.zip", tmp_path / "b")
    with Store(tmp_path / "b") as store:
        assert Accounts(store.database).password_hash("ada") == "a hash"
