"""The one error of a call to another program: a search service, a model or an endpoint."""

from __future__ import annotations

from assay.core.errors import AssayError

ERROR_KINDS = ("timeout", "connection", "status", "limited", "malformed", "too large", "failed")


class RemoteError(AssayError):
    """A call failed.

    `kind` is one of ERROR_KINDS. A transient error may go away if the call is repeated, after
    `retry_after` seconds if the server asked for that. `status` is the HTTP status, if there is one.
    """

    def __init__(
        self,
        kind: str,
        reason: str,
        *,
        is_transient: bool = False,
        retry_after: float | None = None,
        status: int | None = None,
    ) -> None:
        self.kind, self.reason, self.status = kind, reason, status
        self.is_transient, self.retry_after = is_transient, retry_after
        super().__init__(f"{kind}: {reason}")

    def with_reason(self, reason: str) -> RemoteError:
        """Return the same error with another reason."""
        return RemoteError(
            self.kind,
            reason,
            is_transient=self.is_transient,
            retry_after=self.retry_after,
            status=self.status,
        )
