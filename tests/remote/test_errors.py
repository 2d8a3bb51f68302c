"""The one error of calls to other programs."""

from assay.core.errors import AssayError
from assay.remote.errors import RemoteError
from assay.search import SearchError


def test_a_remote_error_says_its_kind_and_its_reason() -> None:
    error = RemoteError("limited", "slow down", is_transient=True, retry_after=2.0, status=429)
    assert isinstance(error, AssayError)
    assert (str(error), error.exit_code) == ("limited: slow down", 2)


def test_another_reason_changes_nothing_else() -> None:
    error = RemoteError("limited", "slow down", is_transient=True, retry_after=2.0, status=429)
    changed = error.with_reason("later")
    assert (changed.kind, changed.reason, changed.is_transient) == ("limited", "later", True)
    assert (changed.retry_after, changed.status) == (2.0, 429)


def test_users_of_search_catch_it_by_its_public_name() -> None:
    assert SearchError is RemoteError
