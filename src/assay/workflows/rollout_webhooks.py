"""Tell the webhooks of rollouts each move: signed, repeated until it is answered, and never lost."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from urllib.parse import urlsplit

from assay.core.errors import AssayError
from assay.remote.errors import RemoteError
from assay.remote.http import HttpClient, compact_json
from assay.rollout.machine import Rollout
from assay.rollout.webhooks import message_id, sign_webhook
from assay.store.database import Database
from assay.store.webhook_deliveries import Delivery, WebhookDeliveries

SECONDS = 3.0  # in which an address must answer


def deliver_webhooks(database: Database, rollouts: Sequence[Rollout], seconds: float = SECONDS) -> list[str]:
    """Send what is due; return what went wrong. What failed is repeated by a later call."""
    deliveries, problems = WebhookDeliveries(database), []
    for delivery in deliveries.due(rollouts, datetime.now(UTC)):
        if not deliveries.claim(delivery, datetime.now(UTC)):
            continue  # another process sends it
        problem = _send(delivery, seconds)
        deliveries.finish(delivery, datetime.now(UTC), problem)
        if problem:
            problems.append(f"webhook {urlsplit(delivery.url).hostname}: {problem}; it is repeated later")
    return problems


def webhook_body(rollout: Rollout, number: int) -> dict[str, object]:
    """Return the message about a move."""
    move = rollout.transitions[number - 1]
    fields = move.to_dict(rollout.steps)
    data = {
        "rollout": rollout.name,
        "number": number,
        "experiment": rollout.experiment,
        "state": move.after.state,
        "stage": rollout.steps[move.after.step].stage,
        **{name: fields[name] for name in ("action", "actor", "from", "to", "coverage", "reason", "skipped")},
    }
    return {"type": f"rollout.{move.action}", "timestamp": fields["at"], "data": data}


def _send(delivery: Delivery, seconds: float) -> str:
    """Send a message; return why it was not accepted, or nothing."""
    secret = os.environ.get(delivery.secret_env, "")
    if not secret:
        return f"the variable {delivery.secret_env}, which has the secret, is not set"
    body = compact_json(webhook_body(delivery.rollout, delivery.number))
    identity = message_id(delivery.rollout.name, delivery.number)
    try:
        headers = sign_webhook(identity, body, secret)
        target = urlsplit(delivery.url)
        with closing(HttpClient(delivery.url, headers, timeout=seconds, max_bytes=65_536)) as client:
            client.call(
                "POST",
                (target.path or "/") + (f"?{target.query}" if target.query else ""),
                body,
                allow_empty=True,
            )
    except RemoteError as error:
        return "" if error.kind == "malformed" else str(error)  # an answer need not be JSON
    except (AssayError, ValueError) as error:
        return str(error)
    return ""
