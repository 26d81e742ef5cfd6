"""`analytiq usage`, what an organization was charged, and `analytiq quota …`.

Quotas are set directly in the database: whoever opens an organization with a token must not raise its quota with it.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path

from analytiq.cli.console import note, print_rows
from analytiq.client import Client
from analytiq.models.quota import SpuAccount
from analytiq.settings import Settings
from analytiq.standalone.local_database import address_of_database, organization_of, run_on_database
from analytiq.storage.client import MongoConnection
from analytiq.tenancy.metering.charges import Metering

Change = Callable[[Metering, str], Awaitable[SpuAccount]]


def print_usage(client: Client, *, since: datetime | None, until: datetime | None, by_day: bool) -> None:
    """Print what was charged and what the cache saved, and the quota."""
    usage = client.usage(since=since, until=until, by_day=by_day)
    names = {kb.kb_id: kb.name for kb in client.knowledge_bases()}
    headings = ("day", "knowledge base", "operation", "model", "SPUs", "saved", "unconfirmed")
    rows = [
        (
            item.day or "-",
            names.get(item.kb_id or "", item.kb_id or "-"),
            item.operation,
            item.embedding_model,
            *map(str, (item.spus, item.saved_spus, item.unconfirmed_spus)),
        )
        for item in usage.items
    ]
    total = tuple(map(str, (usage.total_spus, usage.total_saved_spus, usage.total_unconfirmed_spus)))
    print_rows(headings, [*rows, ("all", "", "", "", *total)])
    quota = client.quota()
    if quota.quota is None:
        note(f"{quota.used_spus} SPUs were used in all; there is no quota.")
    else:
        note(
            f"{quota.used_spus} of {quota.quota} SPUs are used, {quota.reserved_spus} more reserved by calls under way."
        )


def show_quota(settings: Settings, data_dir: Path | None, organization_id: str | None) -> None:
    """Print an organization's quota."""
    _print(_on_account(settings, data_dir, organization_id, lambda metering, found: metering.account(found)))


def set_quota(settings: Settings, data_dir: Path | None, organization_id: str | None, quota: int | None) -> None:
    """Let an organization use so many SPUs in all; None: as many as it wants."""
    _print(_on_account(settings, data_dir, organization_id, lambda metering, found: metering.set_quota(found, quota)))


def top_up(settings: Settings, data_dir: Path | None, organization_id: str | None, spus: int) -> None:
    """Raise an organization's quota."""
    _print(_on_account(settings, data_dir, organization_id, lambda metering, found: metering.top_up(found, spus)))


def _on_account(settings: Settings, data_dir: Path | None, organization_id: str | None, change: Change) -> SpuAccount:
    async def work(connection: MongoConnection) -> SpuAccount:
        organization = await organization_of(connection, organization_id)
        return await change(Metering.on(connection), organization.id)

    return run_on_database(address_of_database(settings, data_dir), settings.mongo.database, work)


def _print(account: SpuAccount) -> None:
    figures = (account.quota, account.used, account.reserved, account.left)
    texts = ["unlimited" if figure is None else str(figure) for figure in figures]
    print_rows(("organization", "quota", "used", "reserved", "left"), [(account.organization_id, *texts)])
