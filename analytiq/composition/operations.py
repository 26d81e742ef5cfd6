"""Services of upkeep: the reconciler, erasures, retention, live events."""

import contextlib
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TYPE_CHECKING

from analytiq.errors import NotFoundError
from analytiq.ingestion.sources.runs.run_requests import SCHEDULE_SECONDS
from analytiq.jobs.scheduling.leadership import Leader
from analytiq.jobs.scheduling.tasks import PeriodicTask, TenantTask
from analytiq.jobs.scheduling.tenants import TenantTasks
from analytiq.operations.erasure.retention import Retention
from analytiq.operations.erasure.service import Erasures, new_erasures
from analytiq.operations.live_events.hub import Watching
from analytiq.operations.live_events.reading import Reading
from analytiq.operations.reconcile.invariants.base import System
from analytiq.operations.reconcile.passes import passes
from analytiq.operations.reconcile.reconciler import Reconciler
from analytiq.operations.reconcile.runs import Runs
from analytiq.operations.webhooks.delivering import WebhookDelivering
from analytiq.operations.webhooks.endpoints import WebhookEndpoints
from analytiq.operations.webhooks.sending import WebhookSender

if TYPE_CHECKING:
    from analytiq.composition.services import Services

AUDIT_LOG_SECONDS = 86_400.0
"""Time between two deletions of old entries of the audit log."""


class Operations:
    """The upkeep of an installation."""

    def __init__(self, services: "Services") -> None:
        self._services = services
        self._rows = services.repositories
        self._settings = services.settings

    @cached_property
    def reconciler(self) -> Reconciler:
        """Finds drift, and repairs it."""
        services = self._services
        return Reconciler(
            System(
                repositories=self._rows,
                life_cycle=services.ingestion.life_cycle,
                models=services.inference.embedding_models,
                backends=services.retrieval.backends,
                grace_seconds=self._settings.reconciler.orphan_grace_seconds,
            )
        )

    @cached_property
    def reconciliations(self) -> Runs:
        """Runs of the reconciler, with their findings."""
        return Runs(self._services.connection, self.reconciler, kept_days=self._settings.reconciler.report_days)

    @cached_property
    def erasures(self) -> Erasures:
        """Erasures, each with its proof."""
        return new_erasures(self._rows, self._services.ingestion.documents, self._settings.erasure)

    @cached_property
    def retention(self) -> Retention:
        """Deletion of documents at the age set by their organization."""
        return Retention(self._rows.retention, self._services.ingestion.documents)

    @cached_property
    def webhook_sender(self) -> WebhookSender:
        """Requests to webhook endpoints."""
        sender = WebhookSender(self._services.inference.vault, self._settings.webhooks)
        self._services.closing.push_async_callback(sender.close)
        return sender

    @cached_property
    def webhook_endpoints(self) -> WebhookEndpoints:
        """Webhook endpoints of organizations."""
        vault = self._services.inference.vault
        return WebhookEndpoints(self._rows, vault, self.webhook_sender, self._settings.webhooks)

    @cached_property
    def webhook_delivering(self) -> WebhookDelivering:
        """Delivery of events to webhook endpoints."""
        return WebhookDelivering(self._rows, self.webhook_sender, self._settings.webhooks)

    @cached_property
    def watching(self) -> Watching:
        """Live events for all watchers in this process."""
        ingestion = self._services.ingestion
        reading = Reading(self._rows, ingestion.indexing_states, ingestion.standings)
        watching = Watching(self._rows.change_stream, reading, self._settings.watching)
        self._services.closing.push_async_callback(watching.close)
        self._services.when_closing_begins.append(watching.begin_closing)
        return watching

    def leader(self) -> Leader:
        """Build the candidate for leadership that runs the periodic tasks in this process."""
        lease_seconds = self._settings.reconciler.lease_seconds
        return Leader(self._rows.leases, self.periodic_tasks(), lease_seconds=lease_seconds)

    def periodic_tasks(self) -> list[PeriodicTask]:
        """List the periodic tasks of the leader: the reconciler's passes first."""
        services, settings = self._services, self._settings.reconciler

        def task(name: str, seconds: float, work: Callable[[], Awaitable[object]]) -> PeriodicTask:
            return PeriodicTask(name=name, interval_seconds=seconds, run=lambda _: work())

        retention = TenantTask(
            name="retention",
            interval_of=lambda organization: (
                settings.interval_seconds if organization.document_retention_days else None
            ),
            run=lambda organization, _: self.retention.apply(organization),
        )
        return [
            *passes(self.reconciliations, settings),
            TenantTasks(self._rows).schedule(retention),
            PeriodicTask(name="sources", interval_seconds=SCHEDULE_SECONDS, run=services.ingestion.source_runs.keep_up),
            task("erasures", settings.interval_seconds, self.erasures.keep_up),
            task("stopped providers", settings.interval_seconds, self.resume_stopped),
            task("cache eviction", settings.interval_seconds, services.inference.cache_eviction.run),
            task("storage", settings.full_interval_seconds, services.ingestion.storage.recount_all),
            task("audit log", AUDIT_LOG_SECONDS, services.tenancy.audit_log.forget_old),
        ]

    async def resume_stopped(self) -> None:
        """Test each stopped model by one free call; resume the work of those that answer."""
        inference, tenancy = self._services.inference, self._services.tenancy
        for organization_id, model in await inference.provider_recovery.stopped():
            with contextlib.suppress(NotFoundError):  # erased meanwhile
                organization = await tenancy.organizations.get(organization_id)
                await inference.provider_accounts.try_stopped(organization, model)
