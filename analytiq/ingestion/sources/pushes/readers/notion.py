"""Webhooks of Notion: events name the changed page."""

from collections.abc import Mapping
from datetime import datetime

from pydantic import SecretStr

from analytiq.ingestion.sources.pushes.protocol import (
    PushAnswer,
    PushCredentials,
    PushRefusedError,
    body_hash,
    header,
    json_object,
    require_signature,
    text_at,
)

LONGEST_TOKEN = 512
_SIGNATURE = "x-notion-signature"


def read_push(headers: Mapping[str, str], body: bytes, *, credentials: PushCredentials, now: datetime) -> PushAnswer:
    """See PushReader. The first request brings the secret, unsigned; a person confirms it in Notion.

    Source: https://developers.notion.com/reference/webhooks.
    """
    del now  # Notion signs no time: a repetition causes one more look at most.
    if _SIGNATURE not in headers:
        return _learned(body, credentials)
    given = header(headers, _SIGNATURE).removeprefix("sha256=")
    require_signature(given, body, credentials.secrets)
    event = json_object(body)
    kind = text_at(event, "entity", "type")
    page_id = text_at(event, "entity", "id") if kind == "page" else text_at(event, "data", "page_id")
    is_whole = kind in ("database", "data_source")
    return PushAnswer(
        text_at(event, "id") or body_hash(body),
        external_ids=() if page_id is None or is_whole else (page_id,),
        is_whole=is_whole,
    )


def _learned(body: bytes, credentials: PushCredentials) -> PushAnswer:
    event = json_object(body)
    token = text_at(event, "verification_token")
    if token is None or event.keys() != {"verification_token"} or len(token) > LONGEST_TOKEN:
        raise PushRefusedError("The request is not signed by Notion.")
    if not credentials.accepts_first:
        raise PushRefusedError("Notion has confirmed its secret before. Close the address, and open another one.")
    return PushAnswer(body_hash(body), learned_secret=SecretStr(token))
