"""`/members`, `/invitations` and `/audit-log` of an organization."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from analytiq.errors import TransientError
from api.api_route import ApiRoute
from api.context import CurrentCaller, CurrentOrganization, Limit, ServicesOf, Skip
from api.routes.auth import base_of
from api.schemas.accounts import (
    AuditEntryList,
    AuditEntryResponse,
    InvitationCreate,
    InvitationCreated,
    InvitationList,
    InvitationResponse,
    MemberList,
    MemberResponse,
    MemberRoleBody,
)
from api.schemas.search import Time

router = APIRouter(tags=["people"], route_class=ApiRoute)


@router.get("/members", operation_id="list_members")
async def list_members(
    services: ServicesOf, organization: CurrentOrganization, skip: Skip = 0, limit: Limit = 10
) -> MemberList:
    """List members, oldest first."""
    people, total = await services.tenancy.people.members(organization.id, skip=skip, limit=limit)
    return MemberList(members=[MemberResponse.from_model(person) for person in people], total_count=total, skip=skip)


@router.put("/members/{user_id}", operation_id="update_member")
async def change_member_role(
    services: ServicesOf, caller: CurrentCaller, user_id: str, body: MemberRoleBody
) -> MemberResponse:
    """Change a member's role. The last owner cannot lose that role (409)."""
    organization_id = caller.organization.id
    return MemberResponse.from_model(
        await services.tenancy.people.change_role(organization_id, user_id, body.role, by=caller.permission)
    )


@router.delete("/members/{user_id}", status_code=204, operation_id="delete_member")
async def remove_member(services: ServicesOf, caller: CurrentCaller, user_id: str) -> Response:
    """Remove a member, effective at once. The last owner cannot be removed (409)."""
    await services.tenancy.people.remove(caller.organization.id, user_id, by=caller.permission)
    return Response(status_code=204)


@router.get("/invitations", operation_id="list_invitations")
async def list_invitations(
    services: ServicesOf, organization: CurrentOrganization, skip: Skip = 0, limit: Limit = 10
) -> InvitationList:
    """List open invitations, latest first."""
    invitations, total = await services.tenancy.invitations.page(organization.id, skip=skip, limit=limit)
    roles = await services.tenancy.invitations.roles_now(invitations)
    shown = [
        InvitationResponse.from_model(invitation, role_now=role)
        for invitation, role in zip(invitations, roles, strict=True)
    ]
    return InvitationList(invitations=shown, total_count=total, skip=skip)


@router.post("/invitations", status_code=201, operation_id="create_invitation")
async def create_invitation(
    request: Request, services: ServicesOf, caller: CurrentCaller, body: InvitationCreate
) -> InvitationCreated:
    """Invite a person by mail. Without a mail server, the response contains the link's secret.

    The invitation expires when its creator leaves the organization or loses the right to invite.
    """
    invited = await services.tenancy.invitations.invite(
        caller.organization.id,
        role=body.role,
        email=body.email,
        invited_by=caller.actor.name,
        by=caller.permission,
        made_by=caller.maker,
    )
    is_mailed = services.tenancy.mail.is_configured
    if is_mailed:
        link = f"{base_of(request, services)}/invite/#{invited.secret.get_secret_value()}"
        try:
            await services.tenancy.mail.send(
                str(invited.invitation.email),
                "Invitation to Analytiq",
                f"{caller.actor.name} invites you to the organization {caller.organization.name}.\n\n"
                f"Accept here: {link}\n",
            )
        except TransientError:
            is_mailed = False
    return InvitationCreated.with_secret(invited, is_mailed=is_mailed)


@router.post("/invitations/{invitation_id}/take-over", operation_id="take_over_invitation")
async def take_over_invitation(services: ServicesOf, caller: CurrentCaller, invitation_id: str) -> InvitationResponse:
    """Take over an open invitation, so that it outlasts its creator's membership. The link stays the same."""
    invitation = await services.tenancy.invitations.take_over(
        caller.organization.id, invitation_id, caller.maker, by=caller.permission
    )
    return InvitationResponse.from_model(invitation, role_now=await services.tenancy.invitations.role_now(invitation))


@router.delete("/invitations/{invitation_id}", status_code=204, operation_id="delete_invitation")
async def delete_invitation(services: ServicesOf, organization: CurrentOrganization, invitation_id: str) -> Response:
    """Withdraw an invitation. Its link stops working."""
    await services.tenancy.invitations.withdraw(organization.id, invitation_id)
    return Response(status_code=204)


@router.get("/audit-log", operation_id="list_audit_entries")
async def list_audit_entries(
    services: ServicesOf,
    organization: CurrentOrganization,
    skip: Skip = 0,
    limit: Limit = 10,
    action: Annotated[str | None, Query(max_length=100, description="The `action` of an entry")] = None,
    actor_id: Annotated[str | None, Query(max_length=100, description="The id of a user or token")] = None,
    since: Time | None = None,
    until: Time | None = None,
) -> AuditEntryList:
    """List the audit log, latest first: sign-ins, tokens, members, settings, provider keys, deletions, exports."""
    entries, total = await services.tenancy.audit_log.page(
        organization.id, action=action, actor_id=actor_id, since=since, until=until, skip=skip, limit=limit
    )
    return AuditEntryList(
        entries=[AuditEntryResponse.from_model(entry) for entry in entries], total_count=total, skip=skip
    )
