"""Sign-ins of people for sources: consent at the service, and the tokens that it gives (RFC 6749, RFC 7636)."""

import base64
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from pydantic import JsonValue, SecretStr

from analytiq import clock
from analytiq.errors import AccessDeniedError, InvalidInputError
from analytiq.ingestion.sources.configuration.opening import Connectors
from analytiq.ingestion.sources.configuration.service import Sources
from analytiq.ingestion.sources.connections.oauth import (
    OAuthCredentials,
    SignInService,
    fields_of,
    request_tokens,
    sign_in_of,
)
from analytiq.ingestion.sources.registry import known_kinds, load_kind, validated
from analytiq.models.account import LinkPurpose, OneTimeLink
from analytiq.models.source import Source
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id

ATTEMPT_MINUTES = 10
SECRET_BYTES = 32


class SignInRefusedError(AccessDeniedError):
    """A sign-in was not completed."""

    code = "sign_in_refused"


@dataclass(frozen=True, slots=True)
class Departure:
    """The service's address for the browser, and the secret that the browser must return in a cookie."""

    url: str
    secret: SecretStr


class SourceSignIns:
    """Begins and completes sign-ins. One belongs to a browser, a person and a source, and works once."""

    def __init__(self, rows: Repositories, connectors: Connectors, sources: Sources) -> None:
        self._links = rows.links
        self._connectors = connectors
        self._sources = sources

    async def begin(self, organization_id: str, source_id: str, *, user_id: str | None, redirect_uri: str) -> Departure:
        """Return the address where the person consents.

        Raises:
            InvalidInputError: the kind knows no sign-in, or the source has no client id.
        """
        source = await self._sources.get(organization_id, source_id)
        service, stored = self._service_of(source), self._stored(source)
        if stored.client_id is None:
            raise InvalidInputError.of_field(
                "credentials.client_id",
                f"Register an application at {service.name} with the redirect address {redirect_uri}, and store its"
                " client id and client secret in the source's credentials.",
            )
        secret, verifier = secrets.token_urlsafe(SECRET_BYTES), secrets.token_urlsafe(SECRET_BYTES)
        await self._links.insert(
            OneTimeLink(
                id=new_id(),
                purpose=LinkPurpose.SOURCE_SIGN_IN,
                secret_hash=_hash(secret),
                user_id=user_id,
                payload={
                    "organization_id": organization_id,
                    "source_id": source_id,
                    "verifier": verifier,
                    "redirect_uri": redirect_uri,
                },
                expires_at=clock.now() + timedelta(minutes=ATTEMPT_MINUTES),
            )
        )
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        parameters = {
            "response_type": "code",
            "client_id": stored.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(service.scopes),
            "state": _hash(secret),
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            **service.parameters,
        }
        return Departure(f"{service.authorization_url}?{urlencode(parameters)}", SecretStr(secret))

    async def finish(self, *, secret: str, state: str, code: str) -> Source:
        """Exchange the code of the service's redirect for tokens, and store them; return the source.

        Raises:
            SignInRefusedError: another browser began the sign-in, it took too long, or the service gives no tokens.
        """
        link = await self._links.take(LinkPurpose.SOURCE_SIGN_IN, _hash(secret), clock.now())
        if link is None or not secrets.compare_digest(state, link.secret_hash):
            raise SignInRefusedError(
                "The sign-in took too long, or was begun in another browser. Begin again.", code="sign_in_expired"
            )
        begun = link.payload
        source = await self._sources.get(begun["organization_id"], begun["source_id"])
        service, stored = self._service_of(source), self._stored(source)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": begun["redirect_uri"],
            "client_id": stored.client_id or "",
            "code_verifier": begun["verifier"],
        }
        if stored.client_secret is not None:
            form["client_secret"] = stored.client_secret.get_secret_value()
        tokens = await request_tokens(self._connectors.operator, service.token_url, form, service=service.name)
        if tokens.refresh is None:
            raise SignInRefusedError(
                f"{service.name} gives no refresh token. Withdraw the consent there, and sign in again.",
                code="no_refresh_token",
            )
        credentials = {**self._connectors.credentials_of(source), **fields_of(tokens)}
        return await self._sources.change(source.organization_id, source.id, {}, credentials=credentials)

    def _service_of(self, source: Source) -> SignInService:
        kind = load_kind(source.kind)
        service = sign_in_of(kind, validated(kind.settings_schema, source.settings, field="settings"))
        if service is None:
            raise InvalidInputError(
                f"Sources of the kind {source.kind!r} have no sign-in, with these settings. Change the credentials."
            )
        return service

    def _stored(self, source: Source) -> OAuthCredentials:
        kind = load_kind(source.kind)
        stored = validated(kind.credentials_schema, self._connectors.credentials_of(source), field="credentials")
        assert isinstance(stored, OAuthCredentials)  # noqa: S101  # every kind with a sign-in has these
        return stored


def has_sign_in(kind_name: str, settings: Mapping[str, JsonValue]) -> bool:
    """Return True if a person may sign in at the service for a source."""
    kind = known_kinds().get(kind_name)
    try:
        return (
            kind is not None
            and sign_in_of(kind, validated(kind.settings_schema, settings, field="settings")) is not None
        )
    except InvalidInputError:  # stored by another version
        return False


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
