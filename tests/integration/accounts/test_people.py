"""Invitations, roles, sessions and passwords, on a real database."""

import asyncio
from datetime import timedelta

import pytest

from analytiq import clock
from analytiq.composition import Services
from analytiq.errors import (
    AccessDeniedError,
    AnalytiqError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    RateLimitedError,
)
from analytiq.models.account import Permission, Role, TokenScope, User
from analytiq.models.audit import Actor, ActorKind
from analytiq.tenancy.accounts.sessions import Browser
from tests.integration.tenant import Tenant

PASSWORD = "correct horse battery"


async def join(tenant: Tenant, email: str, role: Role) -> User:
    """Somebody new with this role."""
    invited = await tenant.services.tenancy.invitations.invite(
        tenant.id, role=role, email=email, invited_by=None, by=Permission.OWNER
    )
    return await tenant.services.tenancy.people.accept(
        invited.secret.get_secret_value(), email=None, name="Somebody", password=PASSWORD
    )


async def roles_of(tenant: Tenant) -> dict[str, Role]:
    people, _ = await tenant.services.tenancy.people.members(tenant.id, skip=0, limit=100)
    return {person.user.email: person.member.role for person in people}


async def test_invitation_works_once_however_many_follow_it_at_once(tenant: Tenant) -> None:
    invited = await tenant.services.tenancy.invitations.invite(
        tenant.id, role=Role.EDITOR, email=None, invited_by=None, by=Permission.OWNER
    )
    outcomes = await asyncio.gather(
        *(
            tenant.services.tenancy.people.accept(
                invited.secret.get_secret_value(), email=f"p{number}@x.org", name="P", password=PASSWORD
            )
            for number in range(5)
        ),
        return_exceptions=True,
    )
    refused = [outcome for outcome in outcomes if isinstance(outcome, NotFoundError)]
    assert len(refused) == 4
    assert list((await roles_of(tenant)).values()) == [Role.EDITOR]


async def test_person_who_exists_joins_by_signing_in_and_nothing_is_taken_away(tenant: Tenant) -> None:
    ada = await join(tenant, "Ada@X.org", Role.OWNER)
    with pytest.raises(ConflictError):
        await join(tenant, "ada@x.org", Role.VIEWER)  # a member already
    open_to_all = await tenant.services.tenancy.invitations.invite(
        tenant.id, role=Role.VIEWER, email=None, invited_by=None, by=Permission.OWNER
    )
    with pytest.raises(ConflictError, match="Sign in"):
        await tenant.services.tenancy.people.accept(
            open_to_all.secret.get_secret_value(), email="ADA@x.org", name="A", password=PASSWORD
        )
    await tenant.services.tenancy.people.accept_as(open_to_all.secret.get_secret_value(), ada)
    assert await roles_of(tenant) == {"ada@x.org": Role.OWNER}


@pytest.mark.parametrize("email", ["not an address", "", "@", "a b@x.org"])
async def test_nobody_is_invited_whose_address_is_none(tenant: Tenant, email: str) -> None:
    with pytest.raises(InvalidInputError, match="address"):
        await tenant.services.tenancy.invitations.invite(
            tenant.id, role=Role.OWNER, email=email, invited_by=None, by=Permission.OWNER
        )


async def test_invitation_for_another_address_is_not_accepted(tenant: Tenant) -> None:
    ada = await join(tenant, "ada@x.org", Role.OWNER)
    for_bob = await tenant.services.tenancy.invitations.invite(
        tenant.id, role=Role.VIEWER, email="bob@x.org", invited_by=None, by=Permission.OWNER
    )
    with pytest.raises(AccessDeniedError, match=r"bob@x\.org"):
        await tenant.services.tenancy.people.accept_as(for_bob.secret.get_secret_value(), ada)


async def test_withdrawn_and_expired_invitations_lead_nowhere(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    services = tenant.services
    withdrawn, expiring = [
        await services.tenancy.invitations.invite(
            tenant.id, role=Role.VIEWER, email=f"{name}@x.org", invited_by=None, by=Permission.OWNER
        )
        for name in ("a", "b")
    ]
    await services.tenancy.invitations.withdraw(tenant.id, withdrawn.invitation.id)
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(days=8))
    for invited in (withdrawn, expiring):
        with pytest.raises(NotFoundError):
            await services.tenancy.invitations.look_at(invited.secret.get_secret_value())
    assert (await services.tenancy.invitations.page(tenant.id, skip=0, limit=10))[1] == 0


async def test_last_owner_stays_when_two_owners_leave_at_once(tenant: Tenant) -> None:
    owners = [await join(tenant, f"{name}@x.org", Role.OWNER) for name in ("ada", "bob")]
    outcomes = await asyncio.gather(
        tenant.services.tenancy.people.remove(tenant.id, owners[0].id, by=Permission.OWNER),
        tenant.services.tenancy.people.change_role(tenant.id, owners[1].id, Role.VIEWER, by=Permission.OWNER),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes if isinstance(outcome, Exception)] == [ConflictError]
    assert list((await roles_of(tenant)).values()).count(Role.OWNER) == 1


async def test_only_an_owner_makes_and_unmakes_owners(tenant: Tenant) -> None:
    owner = await join(tenant, "ada@x.org", Role.OWNER)
    editor = await join(tenant, "bob@x.org", Role.EDITOR)
    people = tenant.services.tenancy.people
    for attempt in (
        people.change_role(tenant.id, editor.id, Role.OWNER, by=Permission.ADMIN),
        people.change_role(tenant.id, owner.id, Role.VIEWER, by=Permission.ADMIN),
        people.remove(tenant.id, owner.id, by=Permission.ADMIN),
        tenant.services.tenancy.invitations.invite(
            tenant.id, role=Role.OWNER, email="c@x.org", invited_by=None, by=Permission.ADMIN
        ),
        tenant.services.tenancy.organizations.issue_token(
            tenant.id, name="all", scope=TokenScope.ADMIN, by=Permission.ADMIN
        ),
    ):
        with pytest.raises(AccessDeniedError):
            await attempt
    assert await roles_of(tenant) == {"ada@x.org": Role.OWNER, "bob@x.org": Role.EDITOR}


async def test_wrong_password_and_unknown_person_are_told_the_same(tenant: Tenant) -> None:
    await join(tenant, "ada@x.org", Role.OWNER)
    told: set[str] = set()
    for email, password in (("ada@x.org", "wrong"), ("nobody@x.org", PASSWORD)):
        with pytest.raises(AccessDeniedError) as error:
            await tenant.services.tenancy.sessions.sign_in(email, password, Browser("10.0.0.1"))
        told.add(f"{error.value.code} {error.value.detail}")
    assert len(told) == 1


async def test_guessing_is_stopped_and_the_person_gets_in_from_elsewhere(tenant: Tenant) -> None:
    await join(tenant, "ada@x.org", Role.OWNER)

    async def guess() -> type[AnalytiqError]:
        with pytest.raises(AnalytiqError) as error:
            await tenant.services.tenancy.sessions.sign_in("ada@x.org", "guess", Browser("10.6.6.6"))
        return type(error.value)

    outcomes = [await guess() for _ in range(8)]
    assert RateLimitedError in outcomes
    with pytest.raises(RateLimitedError):
        await tenant.services.tenancy.sessions.sign_in("ada@x.org", PASSWORD, Browser("10.6.6.6"))
    signed_in = await tenant.services.tenancy.sessions.sign_in(" ADA@X.ORG ", PASSWORD, Browser("10.0.0.1"))
    assert signed_in.user.email == "ada@x.org"


async def test_session_ends_when_idle_when_old_and_when_told(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = tenant.services.tenancy.sessions
    user = await join(tenant, "ada@x.org", Role.OWNER)
    idle, used, ended = [await sessions.open(user, Browser()) for _ in range(3)]
    began = clock.now()
    await sessions.sign_out(ended.session)
    for day in range(1, 30):
        moment = began + timedelta(days=day)
        monkeypatch.setattr(clock, "now", lambda moment=moment: moment)
        await sessions.open_with(used.secret.get_secret_value())
    for signed_in in (idle, ended):
        with pytest.raises(AccessDeniedError):
            await sessions.open_with(signed_in.secret.get_secret_value())
    monkeypatch.setattr(clock, "now", lambda: began + timedelta(days=31))
    with pytest.raises(AccessDeniedError):
        await sessions.open_with(used.secret.get_secret_value())


async def test_sessions_of_a_person_are_their_own_and_without_those_that_expired(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = tenant.services.tenancy.sessions
    ada, bob = [await join(tenant, f"{name}@x.org", Role.OWNER) for name in ("ada", "bob")]
    expired = await sessions.open(ada, Browser())
    began = clock.now()
    monkeypatch.setattr(clock, "now", lambda: began + timedelta(days=20))
    first, second = [await sessions.open(ada, Browser()) for _ in range(2)]
    others = await sessions.open(bob, Browser())
    monkeypatch.setattr(clock, "now", lambda: began + timedelta(days=21))
    await sessions.open_with(first.secret.get_secret_value())
    found, total = await sessions.open_of(ada, skip=0, limit=10)
    assert [session.id for session in found] == [first.session.id, second.session.id]
    assert total == 2
    assert [session.id for session in (await sessions.open_of(ada, skip=1, limit=1))[0]] == [second.session.id]
    assert expired.session.id not in {session.id for session in found}
    for session_id in (others.session.id, "no id"):
        with pytest.raises(NotFoundError):
            await sessions.end(ada, session_id)
    await sessions.open_with(others.secret.get_secret_value())


async def test_session_that_was_ended_opens_nothing_and_the_others_stay(tenant: Tenant) -> None:
    sessions = tenant.services.tenancy.sessions
    ada = await join(tenant, "ada@x.org", Role.OWNER)
    here, lost = [await sessions.open(ada, Browser()) for _ in range(2)]
    await sessions.end(ada, lost.session.id)
    with pytest.raises(AccessDeniedError):
        await sessions.open_with(lost.secret.get_secret_value())
    await sessions.open_with(here.secret.get_secret_value())
    with pytest.raises(NotFoundError, match="ended"):
        await sessions.end(ada, lost.session.id)


async def test_new_password_signs_out_elsewhere_and_voids_links(tenant: Tenant) -> None:
    services = tenant.services
    user = await join(tenant, "ada@x.org", Role.OWNER)
    here, elsewhere = [await services.tenancy.sessions.open(user, Browser()) for _ in range(2)]
    _, link = await services.tenancy.recovery.new_link("ada@x.org")
    await services.tenancy.recovery.change(
        user, here.session, current=PASSWORD, new="another fine password", browser=Browser("10.0.0.1")
    )
    await services.tenancy.sessions.open_with(here.secret.get_secret_value())
    with pytest.raises(AccessDeniedError):
        await services.tenancy.sessions.open_with(elsewhere.secret.get_secret_value())
    with pytest.raises(AccessDeniedError, match="link"):
        await services.tenancy.recovery.reset(link.get_secret_value(), "yet another password")
    await services.tenancy.sessions.sign_in("ada@x.org", "another fine password", Browser("10.0.0.2"))


async def test_reset_link_works_once_and_survives_a_password_that_is_refused(tenant: Tenant) -> None:
    services = tenant.services
    user = await join(tenant, "ada@x.org", Role.OWNER)
    here = await services.tenancy.sessions.open(user, Browser())
    _, void = await services.tenancy.recovery.new_link("ada@x.org")
    _, link = await services.tenancy.recovery.new_link("ada@x.org")
    with pytest.raises(InvalidInputError):
        await services.tenancy.recovery.reset(link.get_secret_value(), "short")
    await services.tenancy.recovery.reset(link.get_secret_value(), "another fine password")
    for secret in (void, link):
        with pytest.raises(AccessDeniedError):
            await services.tenancy.recovery.reset(secret.get_secret_value(), "yet another password")
    with pytest.raises(AccessDeniedError):
        await services.tenancy.sessions.open_with(here.secret.get_secret_value())


async def test_secrets_are_kept_by_hash_only(tenant: Tenant, services: Services) -> None:
    user = await join(tenant, "ada@x.org", Role.OWNER)
    signed_in = await services.tenancy.sessions.open(user, Browser())
    _, link = await services.tenancy.recovery.new_link("ada@x.org")
    invited = await services.tenancy.invitations.invite(
        tenant.id, role=Role.VIEWER, email=None, invited_by=None, by=Permission.OWNER
    )
    kept = ""
    for name in ("users", "user_sessions", "one_time_links", "invitations"):
        kept += str([row async for row in services.connection.database[name].find({})])
    for secret in (signed_in.secret, link, invited.secret):
        assert secret.get_secret_value() not in kept
    assert PASSWORD not in kept
    assert "$argon2id$" in kept


async def test_person_leaves_with_the_last_organization(tenant: Tenant, services: Services) -> None:
    from analytiq.models.erasure import ErasureOptions
    from analytiq.storage.repositories.tenant_rows import TenantRows

    ada = await join(tenant, "ada@x.org", Role.OWNER)
    bob = await join(tenant, "bob@x.org", Role.EDITOR)
    other = await services.tenancy.organizations.create("Other")
    invited = await services.tenancy.invitations.invite(
        other.id, role=Role.VIEWER, email=None, invited_by=None, by=Permission.OWNER
    )
    await services.tenancy.people.accept_as(invited.secret.get_secret_value(), bob)
    session = await services.tenancy.sessions.open(ada, Browser())
    rows = TenantRows(services.connection)
    await rows.erase(tenant.id, "members", kb_ids=[], options=ErasureOptions())
    database = services.connection.database
    assert [row["email"] async for row in database["users"].find({})] == ["bob@x.org"]
    assert await database["user_sessions"].count_documents({"user_id": ada.id}) == 0
    with pytest.raises(AccessDeniedError):
        await services.tenancy.sessions.open_with(session.secret.get_secret_value())


async def test_audit_log_forgets_what_is_too_old(
    tenant: Tenant, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    actor = Actor(kind=ActorKind.OPERATOR, id=None, name="somebody")
    began = clock.now()
    for days in (0, 300):
        monkeypatch.setattr(clock, "now", lambda days=days: began + timedelta(days=days))
        await services.tenancy.audit_log.note(tenant.id, f"after_{days}_days", actor)
    monkeypatch.setattr(clock, "now", lambda: began + timedelta(days=400))
    assert "audit log" in {task.name for task in services.operations.periodic_tasks()}
    assert await services.tenancy.audit_log.forget_old() == 1
    entries, _ = await services.tenancy.audit_log.page(tenant.id, skip=0, limit=10)
    assert [entry.action for entry in entries] == ["after_300_days"]
