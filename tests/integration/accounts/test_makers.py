"""Tokens and invitations end or shrink with the rights of whoever made them, at the moment they are used."""

from datetime import timedelta

import pytest

from analytiq import clock
from analytiq.errors import AccessDeniedError, ConflictError, NotFoundError
from analytiq.models.account import Permission, Role, TokenScope, User
from analytiq.models.maker import OPERATOR, Maker, MakerKind
from analytiq.tenancy.makers import LONGEST_CHAIN
from analytiq.tenancy.organizations.service import IssuedToken
from tests.integration.accounts.test_people import PASSWORD, join, roles_of
from tests.integration.tenant import Tenant


async def maker_of(tenant: Tenant, user: User) -> Maker:
    member = await tenant.services.tenancy.sessions.member_of(user, tenant.id)
    assert member is not None
    return Maker(kind=MakerKind.USER, id=user.id, name=user.email, member_id=member.id)


def by_token(issued: IssuedToken) -> Maker:
    return Maker(kind=MakerKind.TOKEN, id=issued.token.id, name=issued.token.name)


async def token_of(
    tenant: Tenant, maker: Maker | None, scope: TokenScope = TokenScope.WRITE, **options: object
) -> IssuedToken:
    return await tenant.services.tenancy.organizations.issue_token(
        tenant.id,
        name="made",
        scope=scope,
        made_by=maker,
        **options,  # pyright: ignore[reportArgumentType]
    )


async def permission_of(tenant: Tenant, issued: IssuedToken) -> Permission | None:
    """Return the result of a use of the token."""
    try:
        opened = await tenant.services.tenancy.organizations.open_token(issued.secret.get_secret_value())
    except AccessDeniedError:
        return None
    return opened.permission


async def test_tokens_of_a_person_shrink_with_the_role_and_end_with_the_membership(tenant: Tenant) -> None:
    await join(tenant, "owner@x.org", Role.OWNER)
    ada = await join(tenant, "ada@x.org", Role.ADMIN)
    token = await token_of(tenant, await maker_of(tenant, ada))
    people = tenant.services.tenancy.people
    assert await permission_of(tenant, token) is Permission.WRITE
    await people.change_role(tenant.id, ada.id, Role.VIEWER, by=Permission.OWNER)
    assert await permission_of(tenant, token) is Permission.READ
    await people.change_role(tenant.id, ada.id, Role.EDITOR, by=Permission.OWNER)
    assert await permission_of(tenant, token) is Permission.WRITE
    await people.remove(tenant.id, ada.id, by=Permission.OWNER)
    assert await permission_of(tenant, token) is None


async def test_tokens_of_an_earlier_membership_do_not_come_back_with_the_person(tenant: Tenant) -> None:
    await join(tenant, "owner@x.org", Role.OWNER)
    ada = await join(tenant, "ada@x.org", Role.ADMIN)
    token = await token_of(tenant, await maker_of(tenant, ada))
    await tenant.services.tenancy.people.remove(tenant.id, ada.id, by=Permission.OWNER)
    again = await tenant.services.tenancy.invitations.invite(
        tenant.id, role=Role.ADMIN, email="ada@x.org", invited_by=None, by=Permission.OWNER
    )
    await tenant.services.tenancy.people.accept_as(again.secret.get_secret_value(), ada)
    assert await permission_of(tenant, token) is None
    assert await permission_of(tenant, await token_of(tenant, await maker_of(tenant, ada))) is Permission.WRITE


async def test_token_that_another_made_ends_with_it(tenant: Tenant) -> None:
    await join(tenant, "owner@x.org", Role.OWNER)
    ada = await join(tenant, "ada@x.org", Role.OWNER)
    organizations = tenant.services.tenancy.organizations
    first = await token_of(tenant, await maker_of(tenant, ada), TokenScope.ADMIN)
    second = await token_of(tenant, by_token(first), TokenScope.ADMIN)
    third = await token_of(tenant, by_token(second))
    await tenant.services.tenancy.people.change_role(tenant.id, ada.id, Role.VIEWER, by=Permission.OWNER)
    assert await permission_of(tenant, third) is Permission.READ
    await tenant.services.tenancy.people.change_role(tenant.id, ada.id, Role.OWNER, by=Permission.OWNER)
    assert await permission_of(tenant, third) is Permission.WRITE
    await organizations.revoke_token(tenant.id, second.token.id)
    assert await permission_of(tenant, third) is None
    assert await permission_of(tenant, first) is Permission.OWNER


async def test_token_that_an_expiring_one_made_lives_no_longer(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    soon = clock.now() + timedelta(hours=1)
    first = await token_of(tenant, OPERATOR, TokenScope.ADMIN, expires_at=soon)
    second = await token_of(tenant, by_token(first))
    opened = await tenant.services.tenancy.organizations.open_token(second.secret.get_secret_value())
    assert opened.ends_at is not None
    assert abs(opened.ends_at - soon) < timedelta(milliseconds=1)
    monkeypatch.setattr(clock, "now", lambda: soon + timedelta(seconds=1))
    assert await permission_of(tenant, second) is None


async def test_tokens_older_than_makers_and_those_of_operators_stay(tenant: Tenant) -> None:
    for maker in (None, OPERATOR):
        assert await permission_of(tenant, await token_of(tenant, maker)) is Permission.WRITE


async def test_token_that_was_taken_over_outlives_its_first_maker(tenant: Tenant) -> None:
    owner = await join(tenant, "owner@x.org", Role.OWNER)
    ada = await join(tenant, "ada@x.org", Role.ADMIN)
    organizations = tenant.services.tenancy.organizations
    token = await token_of(tenant, await maker_of(tenant, ada))
    await tenant.services.tenancy.people.remove(tenant.id, ada.id, by=Permission.OWNER)
    taken = await organizations.take_over_token(tenant.id, token.token.id, await maker_of(tenant, owner))
    assert taken.made_by is not None
    assert taken.made_by.name == "owner@x.org"
    assert await permission_of(tenant, token) is Permission.WRITE


async def test_who_may_do_less_than_a_token_takes_it_over_as_little_as_a_revoked_or_foreign_one(tenant: Tenant) -> None:
    organizations = tenant.services.tenancy.organizations
    strong, weak = await token_of(tenant, OPERATOR, TokenScope.ADMIN), await token_of(tenant, OPERATOR)
    with pytest.raises(AccessDeniedError):
        await organizations.take_over_token(tenant.id, strong.token.id, OPERATOR, by=Permission.ADMIN)
    await organizations.revoke_token(tenant.id, weak.token.id)
    with pytest.raises(ConflictError):
        await organizations.take_over_token(tenant.id, weak.token.id, OPERATOR)
    other = await organizations.create("Other")
    with pytest.raises(NotFoundError):
        await organizations.take_over_token(other.id, strong.token.id, OPERATOR)


async def test_token_cannot_become_its_own_maker(tenant: Tenant) -> None:
    first = await token_of(tenant, OPERATOR, TokenScope.ADMIN)
    second = await token_of(tenant, by_token(first), TokenScope.ADMIN)
    for maker in (by_token(first), by_token(second)):
        with pytest.raises(ConflictError):
            await tenant.services.tenancy.organizations.take_over_token(tenant.id, first.token.id, maker)
    assert await permission_of(tenant, second) is Permission.OWNER


async def test_chain_of_tokens_is_bounded(tenant: Tenant) -> None:
    issued = await token_of(tenant, OPERATOR, TokenScope.ADMIN)
    for _ in range(LONGEST_CHAIN - 1):
        issued = await token_of(tenant, by_token(issued), TokenScope.ADMIN)
    assert await permission_of(tenant, issued) is Permission.OWNER
    with pytest.raises(ConflictError):
        await token_of(tenant, by_token(issued))


@pytest.mark.parametrize("role", [None, Role.EDITOR, Role.VIEWER])
async def test_invitation_ends_when_its_maker_leaves_or_may_no_longer_invite(tenant: Tenant, role: Role | None) -> None:
    await join(tenant, "owner@x.org", Role.OWNER)
    ada = await join(tenant, "ada@x.org", Role.ADMIN)
    services = tenant.services
    invited = await services.tenancy.invitations.invite(
        tenant.id,
        role=Role.ADMIN,
        email="back@x.org",
        invited_by="ada@x.org",
        by=Permission.ADMIN,
        made_by=await maker_of(tenant, ada),
    )
    if role is None:
        await services.tenancy.people.remove(tenant.id, ada.id, by=Permission.OWNER)
    else:
        await services.tenancy.people.change_role(tenant.id, ada.id, role, by=Permission.OWNER)
    secret = invited.secret.get_secret_value()
    with pytest.raises(NotFoundError):
        await services.tenancy.invitations.look_at(secret)
    with pytest.raises(NotFoundError):
        await services.tenancy.people.accept(secret, email=None, name="Back", password=PASSWORD)
    with pytest.raises(NotFoundError):
        await services.tenancy.people.accept_as(secret, ada)
    assert "back@x.org" not in await roles_of(tenant)
    owner_member = await services.tenancy.people.members(tenant.id, skip=0, limit=1)
    await services.tenancy.invitations.take_over(
        tenant.id, invited.invitation.id, await maker_of(tenant, owner_member[0][0].user), by=Permission.OWNER
    )
    await services.tenancy.people.accept(secret, email=None, name="Back", password=PASSWORD)
    assert (await roles_of(tenant))["back@x.org"] is Role.ADMIN


async def test_invitation_of_a_demoted_owner_makes_an_admin_at_most(tenant: Tenant) -> None:
    await join(tenant, "owner@x.org", Role.OWNER)
    ada = await join(tenant, "ada@x.org", Role.OWNER)
    services = tenant.services
    invited = await services.tenancy.invitations.invite(
        tenant.id,
        role=Role.OWNER,
        email="new@x.org",
        invited_by=None,
        by=Permission.OWNER,
        made_by=await maker_of(tenant, ada),
    )
    await services.tenancy.people.change_role(tenant.id, ada.id, Role.ADMIN, by=Permission.OWNER)
    secret = invited.secret.get_secret_value()
    assert (await services.tenancy.invitations.look_at(secret)).role is Role.ADMIN
    await services.tenancy.people.accept(secret, email=None, name="New", password=PASSWORD)
    assert (await roles_of(tenant))["new@x.org"] is Role.ADMIN
    owners = await services.tenancy.invitations.invite(
        tenant.id, role=Role.OWNER, email="o@x.org", invited_by=None, by=Permission.OWNER, made_by=OPERATOR
    )
    with pytest.raises(AccessDeniedError):
        await services.tenancy.invitations.take_over(
            tenant.id, owners.invitation.id, await maker_of(tenant, ada), by=Permission.ADMIN
        )
