"""The audit log: who did what, when and from where, for admins."""

from __future__ import annotations

from assay.web.page import Action, Context, Page, Parameters, Role, View
from assay.workflows.accounts import AuditLog, AuditRequest, read_audit_log


class AuditParameters(Parameters):
    """Which entries are shown."""

    account: str = ""
    before: str = ""  # a time: older entries


def read(context: Context, parameters: AuditParameters) -> AuditLog:
    """Return a page of the log."""
    return read_audit_log(
        AuditRequest(account=parameters.account, before=parameters.before, store=context.store)
    )


def present(context: Context, value: AuditLog, parameters: AuditParameters) -> View:
    """Return the entries, and where the older ones begin."""
    oldest = value.entries[-1].at.isoformat() if value.has_older else ""
    of_account = f" --account {parameters.account}" if parameters.account else ""
    parts = {"log": value, "oldest": oldest, "account": parameters.account}
    return View("Audit log", f"assay serve audit{of_account}", parts)


PAGES = (Page("/audit", "", "audit.html", read, present, AuditParameters, Role.ADMIN),)
ACTIONS: tuple[Action, ...] = ()
