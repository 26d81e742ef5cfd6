"""Inbound addresses of sources: opened, their secrets rotated, closed; and the verification of what reaches them."""

import secrets as randomness
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pydantic import SecretStr

from analytiq import clock
from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.inference.credentials.encryption import Vault
from analytiq.ingestion.sources.configuration.service import unknown_source
from analytiq.ingestion.sources.pushes.protocol import PushAnswer, PushCredentials, PushRefusedError
from analytiq.ingestion.sources.pushes.registry import push_reader_of
from analytiq.ingestion.sources.pushes.standard_webhooks import SIGNATURE_HEADER, SignedHead, new_secret
from analytiq.models.inbound import InboundAddress, InboundSecret
from analytiq.models.source import Source
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id

ADDRESS_BYTES = 24
LONGEST_ADDRESS = 64
LONGEST_OVERLAP_SECONDS = 7 * 86_400
MOST_SECRETS = 10
SHORTEST_SECRET = 16
LONGEST_SECRET = 512


@dataclass(frozen=True, slots=True)
class OpenedAddress:
    """An inbound address with its new secret, which is never shown again."""

    address: InboundAddress
    secret: SecretStr = field(repr=False)


@dataclass(frozen=True, slots=True)
class Inbound:
    """An address that a request has reached, with its source."""

    address: InboundAddress
    source: Source


class InboundAddresses:
    """Inbound addresses of an organization's sources."""

    def __init__(self, rows: Repositories, vault: Vault) -> None:
        self._sources = rows.sources
        self._addresses = rows.inbound
        self._vault = vault

    async def open(
        self, organization_id: str, source_id: str, *, secret: SecretStr | None, overlap_seconds: int
    ) -> OpenedAddress:
        """Open the address of a source, or give an open one a further secret.

        Args:
            organization_id: the source's organization.
            source_id: the source.
            secret: one that the service has made; None: a new one.
            overlap_seconds: time for which the secrets before stay valid.

        Raises:
            InvalidInputError: the secret is too short or too long.
            NotFoundError: the organization has no such source.
        """
        await self._require_source(organization_id, source_id)
        if secret is not None and not SHORTEST_SECRET <= len(secret.get_secret_value()) <= LONGEST_SECRET:
            raise InvalidInputError.of_field(
                "secret", f"Must have {SHORTEST_SECRET} to {LONGEST_SECRET} characters, as the service shows it."
            )
        now = clock.now()
        made = new_secret() if secret is None else secret
        sealed = InboundSecret(sealed=self._vault.encrypt(made), created_at=now)
        address = await self._addresses.get(organization_id, source_id)
        if address is None:
            address = InboundAddress(
                id=new_id(),
                organization_id=organization_id,
                source_id=source_id,
                address=randomness.token_urlsafe(ADDRESS_BYTES),
                secrets=(sealed,),
                created_at=now,
            )
            await self._addresses.insert(address)
            if await self._sources.get(organization_id, source_id) is None:  # cleaned meanwhile
                await self._addresses.delete_of_source(organization_id, source_id)
                raise unknown_source(source_id)
            return OpenedAddress(address, made)
        end = now + timedelta(seconds=overlap_seconds)
        kept = [each.model_copy(update={"expires_at": min(end, each.expires_at or end)}) for each in address.secrets]
        return OpenedAddress(await self._replace(address, (sealed, *_valid(kept, now))), made)

    async def get(self, organization_id: str, source_id: str) -> InboundAddress:
        """Return the address of a source.

        Raises:
            NotFoundError: the source does not exist, or has no address.
        """
        await self._require_source(organization_id, source_id)
        address = await self._addresses.get(organization_id, source_id)
        if address is None:
            raise NotFoundError("The source has no inbound address. Open one first.", code="no_inbound_address")
        return address

    async def of_sources(self, organization_id: str, source_ids: Collection[str]) -> set[str]:
        """Return the ids of those sources that have an address."""
        return await self._addresses.sources_with_address(organization_id, source_ids)

    def learned_secret(self, address: InboundAddress) -> SecretStr | None:
        """Return the secret that a service told, until it has signed by it: people confirm it in the service."""
        for secret in address.secrets:
            if secret.is_learned:
                return None if secret.is_used else self._vault.decrypt(secret.sealed)
        return None

    async def close(self, organization_id: str, source_id: str) -> None:
        """Close the address of a source: pushes to it answer 404 from now on."""
        await self.get(organization_id, source_id)
        await self._addresses.delete_of_source(organization_id, source_id)

    async def find(self, address: str) -> Inbound:
        """Return the source of an address.

        Raises:
            NotFoundError: no source has the address; a deleted source has none.
        """
        if len(address) <= LONGEST_ADDRESS and (found := await self._addresses.with_address(address)) is not None:
            source = await self._sources.get(found.organization_id, found.source_id)
            if source is not None and not source.is_deleted:
                return Inbound(found, source)
        raise NotFoundError("No source has this inbound address. Read it from the source.")

    def check_head(self, inbound: Inbound, headers: Mapping[str, str], now: datetime) -> SignedHead | None:
        """Check a request before its body is read; None if the kind's service signs by a scheme of its own.

        Raises:
            PushRefusedError: the request is not signed, or too old.
        """
        if SIGNATURE_HEADER not in headers and push_reader_of(inbound.source.kind) is not None:
            return None
        return SignedHead.of_headers(headers, now)

    def require_signed(self, inbound: Inbound, head: SignedHead, body: bytes, now: datetime) -> None:
        """Check the signature of a request with items.

        Raises:
            PushRefusedError: no valid secret of the address makes it.
        """
        head.require_signed(body, self._credentials(inbound.address, now))

    async def read(self, inbound: Inbound, headers: Mapping[str, str], body: bytes, now: datetime) -> PushAnswer:
        """Verify and read a request of the kind's service.

        Raises:
            PushRefusedError: it is not signed by the service, or too old.
            InvalidInputError: it cannot be understood.
        """
        read = push_reader_of(inbound.source.kind)
        if read is None:
            raise PushRefusedError("The request is not signed.")
        address = inbound.address
        answer = read(headers, body, credentials=self._credentials(address, now), now=now)
        if answer.learned_secret is not None:
            learned = InboundSecret(
                sealed=self._vault.encrypt(answer.learned_secret), created_at=clock.now(), is_learned=True
            )
            others = [each for each in address.secrets if not each.is_learned]
            await self._replace(address, (learned, *others))
        elif any(each.is_learned and not each.is_used for each in address.secrets):
            used = [each.model_copy(update={"is_used": each.is_learned}) for each in address.secrets]
            await self._replace(address, used)
        return answer

    def _credentials(self, address: InboundAddress, now: datetime) -> PushCredentials:
        learned = [each for each in address.secrets if each.is_learned]
        return PushCredentials(
            secrets=[self._vault.decrypt(each.sealed) for each in _valid(address.secrets, now)],
            accepts_first=not any(each.is_used for each in learned),
        )

    async def _replace(self, address: InboundAddress, secrets: Sequence[InboundSecret]) -> InboundAddress:
        changed = address.model_copy(update={"secrets": tuple(secrets)[:MOST_SECRETS]})
        stored = await self._addresses.replace_secrets(address, changed)
        if stored is None:
            raise NotFoundError("The inbound address was changed or closed meanwhile. Reload it, then try again.")
        return stored

    async def _require_source(self, organization_id: str, source_id: str) -> None:
        source = await self._sources.get(organization_id, source_id)
        if source is None or source.is_deleted:
            raise unknown_source(source_id)


def _valid(secrets: Sequence[InboundSecret], now: datetime) -> list[InboundSecret]:
    return [each for each in secrets if each.expires_at is None or each.expires_at > now]
