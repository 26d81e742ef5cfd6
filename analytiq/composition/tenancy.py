"""Services of tenancy: organizations, people, rights, metering, limits."""

from functools import cached_property
from typing import TYPE_CHECKING

from analytiq.ingestion.ocr.language_data import installed_languages
from analytiq.tenancy.accounts.audit import AuditLog
from analytiq.tenancy.accounts.invitations import Invitations
from analytiq.tenancy.accounts.mail import Mail
from analytiq.tenancy.accounts.oidc import Oidc
from analytiq.tenancy.accounts.passwords import Passwords
from analytiq.tenancy.accounts.people import People
from analytiq.tenancy.accounts.recovery import Recovery
from analytiq.tenancy.accounts.sessions import Sessions
from analytiq.tenancy.makers import Makers
from analytiq.tenancy.metering.charges import Metering
from analytiq.tenancy.organizations.own_settings import OwnSettings, ServerSettings
from analytiq.tenancy.organizations.quotas import OrganizationQuotas
from analytiq.tenancy.organizations.service import Organizations
from analytiq.tenancy.rate_limits.limits import RateLimits
from analytiq.tenancy.rate_limits.own import OwnLimits
from analytiq.tenancy.rate_limits.requests import RequestRates

if TYPE_CHECKING:
    from analytiq.composition.services import Services


class Tenancy:
    """Rights, limits, and the audit log."""

    def __init__(self, services: "Services") -> None:
        self._closing = services.closing
        self._rows = services.repositories
        self._settings = services.settings
        self._accounts = services.settings.accounts

    @cached_property
    def organizations(self) -> Organizations:
        """Organizations and their access tokens."""
        return Organizations(self._rows.organizations, self._rows.access_tokens, self.makers)

    @cached_property
    def makers(self) -> Makers:
        """The present rights of makers of tokens and invitations."""
        return Makers(self._rows.access_tokens, self._rows.members)

    @cached_property
    def quotas(self) -> OrganizationQuotas:
        """The quotas of organizations."""
        return OrganizationQuotas(self._rows.organization_counts, self._settings.quotas)

    @cached_property
    def request_rates(self) -> RequestRates:
        """The limit of an organization's requests a minute to this process."""
        return RequestRates(per_minute=self._settings.quotas.requests_per_minute)

    @cached_property
    def own_limits(self) -> OwnLimits:
        """Limits set by organizations for themselves."""
        return OwnLimits(self._rows.organizations)

    @cached_property
    def own_settings(self) -> OwnSettings:
        """Settings that organizations change for themselves, beside the server's."""
        settings = self._settings
        server = ServerSettings(settings.extraction.ocr_languages, settings.rate_limits, installed_languages)
        return OwnSettings(self._rows.organizations, self._rows.workers, self.own_limits, server)

    @cached_property
    def rate_limits(self) -> RateLimits:
        """Rate limits of calls to providers and of documents begun by a KB."""
        return RateLimits(self._rows.rate_limits, self._settings.rate_limits, self.own_limits)

    @cached_property
    def metering(self) -> Metering:
        """SPUs: reservations, charges and quotas."""
        metering = Metering(self._rows)
        self._closing.push_async_callback(metering.close)
        return metering

    @cached_property
    def passwords(self) -> Passwords:
        """Hashes of passwords, by one object for every sign-in."""
        return Passwords()

    @cached_property
    def sessions(self) -> Sessions:
        """Sessions of signed-in people."""
        rows = self._rows
        return Sessions(rows, self.passwords, self._accounts)

    @cached_property
    def invitations(self) -> Invitations:
        """Invitations to an organization."""
        rows, days = self._rows, self._accounts.invitation_days
        return Invitations(rows, self.makers, days=days)

    @cached_property
    def people(self) -> People:
        """People and their memberships."""
        rows = self._rows
        return People(rows, self.invitations, self.passwords)

    @cached_property
    def recovery(self) -> Recovery:
        """Links to a new password."""
        rows = self._rows
        return Recovery(rows, self.sessions, self.passwords, self._accounts)

    @cached_property
    def oidc(self) -> Oidc:
        """Single sign-on."""
        rows = self._rows
        return Oidc(rows, self._accounts.oidc, self.people)

    @cached_property
    def mail(self) -> Mail:
        """Mail to people."""
        return Mail(self._accounts.smtp)

    @cached_property
    def audit_log(self) -> AuditLog:
        """The audit log."""
        return AuditLog(self._rows.audit_log, self._accounts)
