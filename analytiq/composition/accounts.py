"""Puts together what knows people: sessions, invitations, single sign-on, mail, the audit log."""

from dataclasses import dataclass

from analytiq.settings import AccountSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.repositories.audit_log import AuditLogRepository
from analytiq.storage.repositories.organizations import AccessTokenRepository
from analytiq.tenancy.accounts.audit import AuditLog
from analytiq.tenancy.accounts.invitations import Invitations
from analytiq.tenancy.accounts.mail import Mail
from analytiq.tenancy.accounts.oidc import Oidc
from analytiq.tenancy.accounts.passwords import Passwords
from analytiq.tenancy.accounts.people import People
from analytiq.tenancy.accounts.recovery import Recovery
from analytiq.tenancy.accounts.sessions import Sessions
from analytiq.tenancy.makers import Makers
from analytiq.tenancy.organizations.service import Organizations


@dataclass(frozen=True, slots=True)
class Accounts:
    """Who may do what, and who did."""

    organizations: Organizations
    sessions: Sessions
    invitations: Invitations
    people: People
    recovery: Recovery
    oidc: Oidc
    mail: Mail
    audit_log: AuditLog


def new_accounts(rows: Repositories, settings: AccountSettings) -> Accounts:
    """People and their rights; the same passwords serve all ways in."""
    passwords = Passwords()
    sessions = Sessions(
        rows.users, rows.members, rows.organizations, rows.sessions, rows.rate_limits, passwords, settings
    )
    tokens = AccessTokenRepository(rows.connection)
    makers = Makers(tokens, rows.members)
    invitations = Invitations(
        rows.users, rows.members, rows.invitations, rows.organizations, makers, days=settings.invitation_days
    )
    people = People(rows.connection, rows.users, rows.members, invitations, rows.invitations, passwords)
    return Accounts(
        organizations=Organizations(rows.organizations, tokens, makers),
        sessions=sessions,
        invitations=invitations,
        people=people,
        recovery=Recovery(rows.connection, rows.users, rows.sessions, rows.links, sessions, passwords, settings),
        oidc=Oidc(settings.oidc, rows.users, rows.links, rows.sessions, people),
        mail=Mail(settings.smtp),
        audit_log=AuditLog(AuditLogRepository(rows.connection), settings),
    )
