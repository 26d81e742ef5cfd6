"""Reserves SPUs, charges them, and adds them up.

reserve ──▶ call the provider ──▶ keep the embeddings and charge, in one transaction ──▶ release
   │                │                                   │
   │                └── fails: release, 0 charged       └── dies here or before: the reservation expires,
   └── no SPU left: QuotaExceededError                      and the ledger says what became of it
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from analytiq import clock
from analytiq.errors import InvalidInputError, QuotaExceededError, RateLimitedError, TransientError
from analytiq.models.quota import SpuAccount, SpuPurpose
from analytiq.models.usage import DailyUsage, Operation, SpuCharge, UsageGrouping, UsageTotal
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.embedding_cache import CacheRow
from analytiq.storage.repositories.ledger import Saved
from analytiq.storage.session import DatabaseError, Session
from analytiq.storage.transactions import run_in_transaction
from analytiq.telemetry import metrics
from analytiq.telemetry.checkpoints import checkpoint
from analytiq.tenancy.metering.counting import note_charged
from analytiq.tenancy.metering.savings import DeferredSavings

log = structlog.get_logger(__name__)

RESERVATION_SECONDS = 600.0
"""Longer than any call with its retries: an expired reservation belongs to a process that died or slept."""
RESERVED_WAIT_SECONDS = 1.0
"""Seconds until SPUs reserved by other calls may be free again."""


@dataclass(slots=True)
class Reservation:
    """SPUs reserved for one call. `charged`: SPUs of the stored embeddings; None until known."""

    id: str
    purpose: SpuPurpose
    spus: int
    charged: int | None = 0


class Metering:
    """Stores new embeddings and their charge in one transaction, so that neither exists without the other.

    Invariants: for each organization and model, its `index` SPUs equal the cache rows that it first stored. Without
    open reservations, an organization's use equals the sum of its ledger.
    """

    def __init__(self, rows: Repositories) -> None:
        self._connection = rows.connection
        self._cache = rows.embedding_cache
        self._ledger = rows.ledger
        self._savings = rows.savings
        self._deferred = DeferredSavings(rows.savings, rows.organizations)
        self._quotas = rows.quotas
        self._jobs = rows.jobs

    @contextlib.asynccontextmanager
    async def reserved(self, purpose: SpuPurpose, wanted: int) -> AsyncGenerator[Reservation]:
        """Reserve between one and `wanted` SPUs for the duration of the block.

        Raises:
            QuotaExceededError: the quota is used up.
            RateLimitedError: calls under way reserve the last SPUs; `retry_after` in seconds.
        """
        reservation = await self._reserve(purpose, wanted)
        await checkpoint("metering.reserved")
        try:
            yield reservation
        finally:
            await asyncio.shield(self._release(reservation))

    async def keep_and_charge(self, reservation: Reservation, rows: Sequence[CacheRow]) -> int:
        """Store new embeddings and charge for them; return their number (SPUs).

        Raises:
            TransientError: the reservation expired, or the database failed; nothing was charged, or, with the code
                `commit_outcome_unknown`, perhaps all.
        """
        if len(rows) > reservation.spus:
            raise ValueError(f"{len(rows)} embeddings exceed the {reservation.spus} reserved SPUs.")

        async def keep(session: Session) -> int:
            if await self._ledger.has(session, reservation.id):
                raise TransientError("The reservation of SPUs expired before the call ended. The call is repeated.")
            spus = await self._cache.keep(session, rows)
            if spus:
                await self._ledger.add(session, _charge(reservation.id, reservation.purpose, spus=spus))
            return spus

        reservation.charged = None
        spus = await run_in_transaction(self._connection, keep)
        await checkpoint("metering.charged")
        reservation.charged = spus
        if spus:
            metrics.spus_charged.labels(operation_type=reservation.purpose.operation.value).inc(spus)
            note_charged(spus)
        return spus

    async def account(self, organization_id: str) -> SpuAccount:
        """Return the organization's account: quota, used and reserved SPUs."""
        await self.return_expired(organization_id)
        account = await self._quotas.get(organization_id)
        if account is None:
            await self._open(organization_id)
            account = await self._quotas.get(organization_id)
        if account is None:
            raise RuntimeError("The account that was just opened is missing.")
        return account

    async def require_left(self, organization_id: str) -> None:
        """Refuse if only a higher quota helps; SPUs reserved by other calls may come back.

        Raises:
            QuotaExceededError: the quota is used up.
        """
        account = await self.account(organization_id)
        if account.is_exhausted:
            raise QuotaExceededError(
                f"The organization has used all {account.quota} SPUs of its quota. Indexed documents stay"
                " searchable by earlier questions. Waiting work resumes once an operator raises the quota"
                " (`analytiq quota add`)."
            )

    async def set_quota(self, organization_id: str, quota: int | None) -> SpuAccount:
        """Set the organization's quota in SPUs, those used included; None for no limit.

        Waiting jobs resume within seconds.
        """
        if quota is not None and quota < 0:
            raise InvalidInputError.of_field("quota", "The quota is less than 0. Give 0 or more.")
        await self._open(organization_id)
        await self._quotas.set_quota(organization_id, quota)
        return await self._wake(organization_id)

    async def top_up(self, organization_id: str, spus: int) -> SpuAccount:
        """Raise the quota by a number of SPUs; waiting jobs resume within seconds."""
        if spus <= 0:
            raise InvalidInputError.of_field("spus", "The number is not more than 0. Give at least 1.")
        if not await self._quotas.add_to_quota(organization_id, spus):
            raise InvalidInputError.of_field(
                "spus", "The organization has no quota to add to, so it may use any number. Set a quota first."
            )
        return await self._wake(organization_id)

    async def return_expired(self, organization_id: str) -> int:
        """Return the expired reservations of dead processes; return their number.

        For a reservation that was settled before its process died, the ledger decides.
        """
        expired = await self._quotas.expired(organization_id)
        for reservation in expired:
            unconfirmed = _charge(reservation.id, reservation.purpose, unconfirmed_spus=reservation.spus)
            settled = await self._ledger.give_up(unconfirmed)
            await self._quotas.release(organization_id, reservation.id, spus=settled.spus)
            log.warning(
                "metering.reservation_expired", organization_id=organization_id, reservation_id=reservation.id,
                charged_spus=settled.spus, unconfirmed_spus=settled.unconfirmed_spus,
            )  # fmt: skip
        return len(expired)

    async def note_saved(self, purpose: SpuPurpose, spus: int) -> None:
        """Count embeddings served from the cache; those of searches are written a second later.

        A failure is only logged, since the work itself is done.
        """
        if spus and purpose.operation is Operation.SEARCH:
            self._deferred.add(purpose, spus)
        elif spus:
            try:
                await self._savings.add_all([(purpose, Saved(spus, clock.now()))])
            except DatabaseError:
                log.warning("metering.savings_not_noted", spus=spus, exc_info=True)

    async def totals(
        self, organization_id: str, *, since: datetime | None, until: datetime | None, by_day: bool = False
    ) -> list[UsageTotal]:
        """Return SPUs by knowledge base, operation and model within [since, until), and by day (UTC) on request.

        Cache savings count in whole days: each day that overlaps the period counts.
        """
        await self.return_expired(organization_id)
        await self._deferred.write()
        charged = await self._ledger.totals(organization_id, since=since, until=until, by_day=by_day)
        saved = await self._savings.totals(organization_id, since=since, until=until, by_day=by_day)
        return _merged(charged, saved)

    async def daily(
        self, organization_id: str, grouping: UsageGrouping, *, since: datetime, until: datetime | None, most: int
    ) -> DailyUsage:
        """Return SPUs by day (UTC) and group within [since, until): the `most` largest groups, and the rest as one."""
        await self.return_expired(organization_id)
        await self._deferred.write()
        groups = await self._ledger.largest(organization_id, grouping, since=since, until=until, most=most)
        days, unconfirmed = await self._ledger.by_day(
            organization_id, grouping, [group.id for group in groups], since=since, until=until
        )
        return DailyUsage(
            groups=tuple(groups),
            days=tuple(days),
            spus=sum(sum(day.spus) + day.other_spus for day in days),
            saved_spus=await self._savings.total(organization_id, since=since, until=until),
            unconfirmed_spus=unconfirmed,
        )

    async def close(self) -> None:
        """Write the savings that are not written yet."""
        await self._deferred.close()

    async def _reserve(self, purpose: SpuPurpose, wanted: int) -> Reservation:
        organization_id = purpose.organization_id
        reservation = Reservation(new_id(), purpose, 0)
        try:
            reservation.spus = await self._grant(reservation, wanted)
            if not reservation.spus and await self.return_expired(organization_id):
                reservation.spus = await self._grant(reservation, wanted)
        except BaseException:
            # The reservation may exist, and no other process would return it.
            await asyncio.shield(self._release(reservation))
            raise
        if reservation.spus:
            return reservation
        await self.require_left(organization_id)
        raise RateLimitedError(
            "Current calls reserve the last SPUs of the organization's quota. Try again in a few seconds.",
            retry_after=RESERVED_WAIT_SECONDS,
            code="quota_reserved",
        )

    async def _grant(self, reservation: Reservation, wanted: int) -> int:
        purpose = reservation.purpose
        for _ in range(2):
            granted = await self._quotas.reserve(reservation.id, purpose, wanted=wanted, seconds=RESERVATION_SECONDS)
            if granted is not None:
                return granted
            await self._open(purpose.organization_id)
        raise RuntimeError("The account that was just opened is missing.")

    async def _open(self, organization_id: str) -> None:
        """Open the account of an organization without one: new, or restored with a ledger.

        Nothing is charged meanwhile: a charge needs a reservation, and a reservation needs an account.
        """
        if await self._quotas.get(organization_id) is None:
            used = await self._ledger.used(organization_id)
            await self._quotas.open_accounts({organization_id: used.get(organization_id, 0)})

    async def _release(self, reservation: Reservation) -> None:
        purpose, charged = reservation.purpose, reservation.charged
        try:
            if charged is None:
                # The transaction failed, perhaps after its commit: the ledger decides, and takes no further charge for
                # it.
                unkept = _charge(reservation.id, purpose, unconfirmed_spus=reservation.spus)
                charged = (await self._ledger.give_up(unkept)).spus
            await self._quotas.release(purpose.organization_id, reservation.id, spus=charged)
        except DatabaseError:
            # The reservation expires and is returned then.
            log.warning("metering.reservation_not_released", reservation_id=reservation.id, exc_info=True)

    async def _wake(self, organization_id: str) -> SpuAccount:
        account = await self.account(organization_id)
        if account.left != 0:
            woken = await self._jobs.wake(organization_id, error_code=QuotaExceededError.code)
            log.info("metering.jobs_woken", organization_id=organization_id, jobs=woken)
        return account


def _charge(reservation_id: str, purpose: SpuPurpose, *, spus: int = 0, unconfirmed_spus: int = 0) -> SpuCharge:
    return SpuCharge(
        id=reservation_id,
        **purpose.model_dump(),
        spus=spus,
        unconfirmed_spus=unconfirmed_spus,
        charged_at=clock.now(),
    )


def _merged(charged: Sequence[UsageTotal], saved: Sequence[UsageTotal]) -> list[UsageTotal]:
    """Return one total for each day, knowledge base, operation and model of either list."""
    merged = {_key(total): total for total in charged}
    for total in saved:
        known = merged.get(_key(total))
        merged[_key(total)] = known.model_copy(update={"saved_spus": total.saved_spus}) if known else total
    return [merged[key] for key in sorted(merged)]


def _key(total: UsageTotal) -> tuple[str, str, str, str]:
    return (total.day or "", total.kb_id or "", total.operation.value, total.embedding_model)
