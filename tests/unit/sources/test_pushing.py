"""Signatures of pushes."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr

from analytiq.ingestion.sources.pushes.protocol import PushCredentials, PushRefusedError
from analytiq.ingestion.sources.pushes.standard_webhooks import SignedHead, new_secret

# The vector of the standardwebhooks reference libraries.
SECRET = SecretStr("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
BODY = b'{"test": 2432232314}'
AT = datetime.fromtimestamp(1614265330, UTC)
HEADERS = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}


def verify(headers: dict[str, str], body: bytes = BODY, *secrets: SecretStr, now: datetime = AT) -> None:
    SignedHead.of_headers(headers, now).require_signed(body, PushCredentials(secrets or (SECRET,)))


def test_signature_of_the_standard_is_accepted_beside_others() -> None:
    verify(HEADERS)
    several = {**HEADERS, "webhook-signature": f"v1a,x v1,AAAA {HEADERS['webhook-signature']}"}
    verify(several, BODY, new_secret(), SecretStr("a secret of a service"), SECRET)


@pytest.mark.parametrize(
    "headers",
    [
        {**HEADERS, "webhook-id": "msg_other"},
        {**HEADERS, "webhook-id": "x" * 257},
        {**HEADERS, "webhook-id": ""},
        {**HEADERS, "webhook-timestamp": "1614265331"},
        {**HEADERS, "webhook-timestamp": "+1614265330"},
        {**HEADERS, "webhook-timestamp": "٣"},
        {**HEADERS, "webhook-timestamp": "9" * 13},
        {**HEADERS, "webhook-signature": "v1,"},
        {**HEADERS, "webhook-signature": HEADERS["webhook-signature"][3:]},
        {**HEADERS, "webhook-signature": HEADERS["webhook-signature"].lower()},
        {**HEADERS, "webhook-signature": "v1,\xff"},
        {},
    ],
)
def test_other_headers_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(PushRefusedError):
        verify(headers)


def test_other_bodies_secrets_and_times_are_refused() -> None:
    for body, secret in ((BODY + b" ", SECRET), (BODY, new_secret()), (BODY, SecretStr("whsec_***"))):
        with pytest.raises(PushRefusedError):
            verify(HEADERS, body, secret)
    for seconds in (-301, 301):
        with pytest.raises(PushRefusedError):
            verify(HEADERS, now=AT + timedelta(seconds=seconds))
    for seconds in (-300, 300):
        verify(HEADERS, now=AT + timedelta(seconds=seconds))
