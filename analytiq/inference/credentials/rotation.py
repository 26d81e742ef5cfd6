"""Re-encryption of every secret under the present secret key, while the platform runs.

Each row is replaced only if unchanged since it was read, and rows under the present key are skipped. So the rotation
may be stopped or killed anywhere and run again, and a key stored meanwhile stays.
"""

from dataclasses import dataclass

import structlog

from analytiq.errors import AccessDeniedError
from analytiq.inference.credentials.encryption import Vault
from analytiq.models.inbound import InboundSecret
from analytiq.models.webhook import WebhookSecret
from analytiq.storage.all_repositories import Repositories

log = structlog.get_logger(__name__)

BATCH = 100


@dataclass(frozen=True, slots=True)
class RotationReport:
    """Counts of rows: re-encrypted, already current, and unreadable."""

    renewed: int = 0
    current: int = 0
    unreadable: int = 0

    def __add__(self, other: "RotationReport") -> "RotationReport":
        return RotationReport(
            self.renewed + other.renewed, self.current + other.current, self.unreadable + other.unreadable
        )


class Rotation:
    """A walk over all encrypted rows: of providers, repeated answers, passwords, sources, their addresses, webhooks."""

    def __init__(self, rows: Repositories, vault: Vault) -> None:
        self._providers = rows.providers
        self._answers = rows.idempotency
        self._documents = rows.documents
        self._sources = rows.sources
        self._addresses = rows.inbound
        self._endpoints = rows.webhook_endpoints
        self._vault = vault

    async def run(self) -> RotationReport:
        """Re-encrypt the rows under older keys; leave unreadable rows unchanged."""
        report = await self._renew_providers() + await self._renew_answers()
        report += await self._renew_passwords() + await self._renew_sources() + await self._renew_addresses()
        report += await self._renew_webhooks()
        log.info("credentials.rotated", renewed=report.renewed, current=report.current, unreadable=report.unreadable)
        return report

    async def _renew_providers(self) -> RotationReport:
        report, after = RotationReport(), None
        while providers := await self._providers.page_of_all(after, BATCH):
            for provider in providers:
                outcome, token = self._renewed(provider.token)
                if token is not None:
                    await self._providers.replace_token(provider, token)
                report += outcome
            after = providers[-1].id
        return report

    async def _renew_answers(self) -> RotationReport:
        report, after = RotationReport(), None
        while answers := await self._answers.page_of_encrypted(after, BATCH):
            for answer in answers:
                outcome, body = self._renewed((answer.body or b"").decode())
                if body is not None:
                    await self._answers.replace_body(answer, body.encode())
                report += outcome
            after = answers[-1].id
        return report

    async def _renew_passwords(self) -> RotationReport:
        report, after = RotationReport(), None
        while documents := await self._documents.page_with_passwords(after, BATCH):
            for document in documents:
                passwords = {"password": document.password, "offered_password": document.offered_password}
                for field, old in passwords.items():
                    if old is None:
                        continue
                    outcome, token = self._renewed(old)
                    if token is not None:
                        await self._documents.replace_password(document, field=field, old=old, new=token)
                    report += outcome
            after = documents[-1].id
        return report

    async def _renew_sources(self) -> RotationReport:
        report, after = RotationReport(), None
        while sources := await self._sources.page_with_credentials(after, BATCH):
            for source in sources:
                outcome, token = self._renewed(source.credentials or "")
                if token is not None:
                    await self._sources.replace_credentials(source, token)
                report += outcome
            after = sources[-1].id
        return report

    async def _renew_addresses(self) -> RotationReport:
        report, after = RotationReport(), None
        while addresses := await self._addresses.page_of_all(after, BATCH):
            for address in addresses:
                secrets: list[InboundSecret] = []
                for secret in address.secrets:
                    outcome, token = self._renewed(secret.sealed)
                    secrets.append(secret if token is None else secret.model_copy(update={"sealed": token}))
                    report += outcome
                if tuple(secrets) != address.secrets:
                    changed = address.model_copy(update={"secrets": tuple(secrets)})
                    await self._addresses.replace_secrets(address, changed)
            after = addresses[-1].id
        return report

    async def _renew_webhooks(self) -> RotationReport:
        report, after = RotationReport(), None
        while endpoints := await self._endpoints.page_of_all(after, BATCH):
            for endpoint in endpoints:
                secrets: list[WebhookSecret] = []
                for secret in endpoint.secrets:
                    outcome, token = self._renewed(secret.sealed)
                    secrets.append(secret if token is None else secret.model_copy(update={"sealed": token}))
                    report += outcome
                if tuple(secrets) != endpoint.secrets:
                    changed = endpoint.model_copy(update={"secrets": tuple(secrets)})
                    await self._endpoints.replace_secrets(endpoint, changed)
            after = endpoints[-1].id
        return report

    def _renewed(self, token: str) -> tuple[RotationReport, str | None]:
        try:
            renewed = self._vault.encrypted_anew(token)
        except AccessDeniedError:
            return RotationReport(unreadable=1), None
        return (RotationReport(current=1), None) if renewed is None else (RotationReport(renewed=1), renewed)
