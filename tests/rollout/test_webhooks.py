"""Messages of webhooks: forged, changed, old and repeated ones are refused."""

import base64
import hashlib
import hmac
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rollout.webhooks import RefusedWebhookError, WebhookReceiver, message_id, sign_webhook

SECRET, NOW = "a secret for the tests", 1_800_000_000.0
BODY = json.dumps({"type": "rollout.rollback"}).encode()


def receiver() -> WebhookReceiver:
    return WebhookReceiver(SECRET)


def test_a_signed_message_is_accepted_once() -> None:
    own, headers = receiver(), sign_webhook("msg_1", BODY, SECRET, NOW)
    assert own.receive(headers, BODY, NOW + 10) == {"type": "rollout.rollback"}
    with pytest.raises(RefusedWebhookError, match="received before"):
        own.receive(headers, BODY, NOW + 20)
    with pytest.raises(RefusedWebhookError, match="received before"):
        own.receive(sign_webhook("msg_1", BODY, SECRET, NOW + 100), BODY, NOW + 100)


def test_the_signature_is_that_of_the_specification() -> None:
    headers = sign_webhook("msg_1", BODY, SECRET, NOW)
    digest = hmac.new(SECRET.encode(), b"msg_1.1800000000." + BODY, hashlib.sha256).digest()
    assert headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()


@pytest.mark.parametrize("header", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("value", ["1", "", "v1,", "v1,AAAA", "1800000001", None])
def test_a_changed_header_is_refused(header: str, value: str | None) -> None:
    headers = sign_webhook("msg_1", BODY, SECRET, NOW)
    headers = {name: text for name, text in headers.items() if name != header}
    if value is not None:
        headers[header] = value
    with pytest.raises(RefusedWebhookError):
        receiver().receive(headers, BODY, NOW)


@given(st.binary(max_size=60).filter(lambda body: body != BODY))
def test_a_changed_body_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedWebhookError, match="not signed with this secret"):
        receiver().receive(sign_webhook("msg_1", BODY, SECRET, NOW), body, NOW)


def test_a_message_signed_with_another_secret_is_refused() -> None:
    headers = sign_webhook("msg_1", BODY, "another secret of 16", NOW)
    with pytest.raises(RefusedWebhookError, match="not signed with this secret"):
        receiver().receive(headers, BODY, NOW)


@pytest.mark.parametrize("seconds", [-301, 301])
def test_an_old_message_is_refused_and_one_from_the_future(seconds: int) -> None:
    headers = sign_webhook("msg_1", BODY, SECRET, NOW + seconds)
    with pytest.raises(RefusedWebhookError, match="sent 301 s from now"):
        receiver().receive(headers, BODY, NOW)


def test_a_refused_message_is_not_remembered() -> None:
    own = receiver()
    with pytest.raises(RefusedWebhookError):
        own.receive(sign_webhook("msg_1", BODY, "another secret of 16", NOW), BODY, NOW)
    assert own.receive(sign_webhook("msg_1", BODY, SECRET, NOW), BODY, NOW)


def test_ids_are_forgotten_only_when_their_time_is_refused() -> None:
    own, first = receiver(), sign_webhook("msg_1", BODY, SECRET, NOW)
    own.receive(first, BODY, NOW)
    own.receive(sign_webhook("msg_2", BODY, SECRET, NOW + 1000), BODY, NOW + 1000)
    with pytest.raises(RefusedWebhookError, match="sent 1000 s from now"):
        own.receive(first, BODY, NOW + 1000)


def test_each_move_has_an_id_of_its_own() -> None:
    ids = {message_id(name, number) for name in ("a", "a/1", "b") for number in range(1, 30)}
    assert len(ids) == 87


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 16 characters, found 5"):
        WebhookReceiver("short")
