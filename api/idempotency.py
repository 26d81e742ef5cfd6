"""`Idempotency-Key`: the same key returns the same response for 24 hours."""

import asyncio
import hashlib
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, cast

import structlog
from fastapi import Request, Response
from pydantic import SecretStr

from analytiq import clock
from analytiq.composition import Services
from analytiq.errors import ConflictError, InvalidInputError
from analytiq.inference.credentials.encryption import Vault
from analytiq.models.idempotency import KeptAnswer
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.idempotency import IdempotencyRepository
from analytiq.storage.session import DatabaseError
from api.access import Caller, identify, organization_id_of

HEADER = "idempotency-key"
KEPT_HOURS = 24
LEASE_SECONDS = 30.0
"""A repeated call waits at most so long for one whose process died, or whose database could not be reached to release
its key: less than the 90 s for which the client repeats a call."""
RENEWAL_SECONDS = LEASE_SECONDS / 3
LONGEST_KEY = 255
LARGEST_ANSWER_BYTES = 4 * 1024 * 1024
JSON = "application/json"

log = structlog.get_logger(__name__)

Handle = Callable[[Request], Coroutine[Any, Any, Response]]


def repeat_answers(handle: Handle) -> Handle:
    """Answer a call with a repeated `Idempotency-Key` with the first call's response."""

    async def answered_once(request: Request) -> Response:
        key = request.headers.get(HEADER)
        return await handle(request) if key is None else await _once(request, key, handle)

    return answered_once


async def _once(request: Request, key: str, handle: Handle) -> Response:
    if not 1 <= len(key) <= LONGEST_KEY:
        raise InvalidInputError.of_field("Idempotency-Key", f"Must have 1 to {LONGEST_KEY} characters.")
    services = cast("Services", request.app.state.services)
    # Before a stored answer is shown: a revoked token shows nothing any more.
    caller = await identify(request, services, await organization_id_of(request, services))
    wanted = await _wanted(request, key, caller)
    # Encrypted: the answer to a new access token contains a secret that is stored nowhere else.
    vault = services.inference.vault
    keys = services.repositories.idempotency
    kept = await keys.begin(wanted, lease_seconds=LEASE_SECONDS)
    if kept is not None:
        return _repeat(kept, wanted, vault)
    renewing = asyncio.create_task(_renew(keys, wanted))
    try:
        response = await handle(request)
    except BaseException:
        await _release(keys, wanted)
        raise
    finally:
        renewing.cancel()
    body = bytes(response.body) if hasattr(response, "body") else b""
    if response.status_code >= 500 or len(body) > LARGEST_ANSWER_BYTES:
        await _release(keys, wanted)
    else:
        await keys.keep(
            wanted,
            status=response.status_code,
            content_type=response.headers.get("content-type", JSON),
            body=vault.encrypt(SecretStr(body.decode())).encode(),
        )
    return response


async def _renew(keys: IdempotencyRepository, wanted: KeptAnswer) -> None:
    """Renew the lease of a running call, however long it takes."""
    while True:
        await asyncio.sleep(RENEWAL_SECONDS)
        try:
            await keys.renew(wanted, lease_seconds=LEASE_SECONDS)
        except DatabaseError:
            log.warning("idempotency.lease_not_renewed", exc_info=True)


async def _release(keys: IdempotencyRepository, wanted: KeptAnswer) -> None:
    """Release the key; the call's own error is the one to report."""
    try:
        await keys.release(wanted)
    except DatabaseError:
        # The lease expires.
        log.warning("idempotency.key_not_released", exc_info=True)


async def _wanted(request: Request, key: str, caller: Caller) -> KeptAnswer:
    """Return the row to reserve. Streamed uploads are identified by the key alone, without their body.

    A key belongs to its caller, so responses to other callers never leak.
    """
    organization_id = caller.organization.id
    is_json = request.headers.get("content-type", "").startswith(JSON)
    body = await request.body() if is_json else b""
    now = clock.now()
    return KeptAnswer(
        id=hashlib.sha256(
            "\0".join([organization_id, str(caller.actor.id), request.url.path, key]).encode()
        ).hexdigest(),
        organization_id=organization_id,
        body_hash=hashlib.sha256(body).hexdigest(),
        expires_at=now + timedelta(hours=KEPT_HOURS),
        lease_token=new_id(),
        lease_expires_at=now + timedelta(seconds=LEASE_SECONDS),
    )


def _repeat(kept: KeptAnswer, wanted: KeptAnswer, vault: Vault) -> Response:
    if kept.body_hash != wanted.body_hash:
        raise ConflictError(
            "This Idempotency-Key was used with another body. Use a new key for a new call.",
            code="idempotency_key_reused",
        )
    if kept.status is None:
        raise ConflictError(
            "The first call with this Idempotency-Key is still running. Try again in a moment.",
            code="idempotency_key_in_use",
        )
    headers = {"Idempotency-Replayed": "true"}
    body = vault.decrypt(kept.body.decode()).get_secret_value() if kept.body else ""
    return Response(body, kept.status, headers=headers, media_type=kept.content_type)
