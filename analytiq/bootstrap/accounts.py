"""Puts together what knows people: sessions, invitations, single sign-on, mail, the audit log."""

from dataclasses import dataclass

from analytiq.accounts.audit import AuditLog
from analytiq.accounts.invitations import Invitations
from analytiq.accounts.mail import Mail
from analytiq.accounts.oidc import Oidc
from analytiq.accounts.passwords import Passwords
from analytiq.accounts.people import People
from analytiq.accounts.recovery import Recovery
from analytiq.accounts.sessions import Sessions
from analytiq.bootstrap.rows import Rows
from analytiq.makers import Makers
from analytiq.mongo.repositories.audit_log import AuditLogRepository
from analytiq.mongo.repositories.organizations import AccessTokenRepository
from analytiq.organizations.service import Organizations
from analytiq.settings import AccountSettings


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


def new_accounts(rows: Rows, settings: AccountSettings) -> Accounts:
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
