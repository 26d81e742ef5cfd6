"""`/v0/auth`: sign-in, sign-out, passwords and invitations, for browsers with a session cookie."""

from typing import Annotated
from urllib.parse import quote

import structlog
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import SecretStr

from analytiq.composition import Services
from analytiq.errors import AccessDeniedError, AnalytiqError, InvalidInputError, NotFoundError
from analytiq.models.account import User, normalize
from analytiq.models.audit import Actor, ActorKind
from analytiq.tenancy.accounts.sessions import SignedIn
from api.access import COOKIE, browser_of, check_origin, identify_person
from api.context import Limit, Person, ServicesOf, Skip
from api.schemas.accounts import (
    InvitationAcceptBody,
    InvitationLookBody,
    InvitationPreview,
    NameChangeBody,
    OpenSession,
    OpenSessionList,
    PasswordChangeBody,
    PasswordResetBody,
    PasswordResetRequestBody,
    SessionResponse,
    SignedOut,
    SignInBody,
    SignInWays,
)

log = structlog.get_logger("api")

router = APIRouter(prefix="/v0/auth", tags=["people"])
OIDC_COOKIE = "analytiq_oidc"
OIDC_COOKIE_SECONDS = 600


def require_own_page(request: Request, services: ServicesOf) -> None:
    """Refuse requests from pages of other origins."""
    check_origin(request, services)


OwnPage = Depends(require_own_page)


@router.get("/ways", operation_id="get_sign_in_ways")
async def get_sign_in_ways(request: Request, services: ServicesOf) -> SignInWays:
    """Return the available ways to sign in."""
    return SignInWays(
        oidc_name=services.tenancy.oidc.name,
        sends_mail=_mails_resets(services),
        has_cookie=COOKIE in request.cookies,
    )


@router.post("/sign-in", operation_id="sign_in", dependencies=[OwnPage])
async def sign_in(request: Request, response: Response, services: ServicesOf, body: SignInBody) -> SessionResponse:
    """Open a session and set its cookie. Too many wrong attempts are refused with 429."""
    signed_in = await services.tenancy.sessions.sign_in(body.email, body.password, browser_of(request))
    return await _greet(request, response, services, signed_in)


@router.get("/session", operation_id="get_session")
async def get_session(services: ServicesOf, person: Person) -> SessionResponse:
    """Return the signed-in person and their organizations."""
    organizations = await services.tenancy.sessions.organizations_of(person.user)
    return SessionResponse.from_session(person.user, person.session, person.secret, organizations)


@router.put("/name", operation_id="change_name")
async def change_name(request: Request, services: ServicesOf, person: Person, body: NameChangeBody) -> SessionResponse:
    """Change the person's name in all their organizations."""
    user = await services.tenancy.people.rename(person.user, body.name)
    await _note_everywhere(request, services, user, "change_name")
    organizations = await services.tenancy.sessions.organizations_of(user)
    return SessionResponse.from_session(user, person.session, person.secret, organizations)


@router.get("/sessions", operation_id="list_sessions")
async def list_sessions(services: ServicesOf, person: Person, skip: Skip = 0, limit: Limit = 10) -> OpenSessionList:
    """List the person's browser sessions, most recently used first."""
    sessions, total = await services.tenancy.sessions.open_of(person.user, skip=skip, limit=limit)
    return OpenSessionList(
        sessions=[OpenSession.from_model(item, is_current=item.id == person.session.id) for item in sessions],
        total_count=total,
        skip=skip,
    )


@router.delete("/sessions/{session_id}", status_code=204, operation_id="end_session")
async def end_session(request: Request, services: ServicesOf, person: Person, session_id: str) -> Response:
    """Sign the person out in one browser. A session of another person is answered with 404."""
    await services.tenancy.sessions.end(person.user, session_id)
    await _note_everywhere(request, services, person.user, "end_session", {"session_id": session_id})
    response = Response(status_code=204)
    return _without_cookie(response) if session_id == person.session.id else response


@router.post("/sign-out", status_code=204, operation_id="sign_out")
async def sign_out(request: Request, services: ServicesOf, person: Person) -> Response:
    """End this session."""
    await services.tenancy.sessions.sign_out(person.session)
    await _note_everywhere(request, services, person.user, "sign_out")
    return _without_cookie(Response(status_code=204))


@router.post("/sign-out-everywhere", operation_id="sign_out_everywhere")
async def sign_out_everywhere(request: Request, response: Response, services: ServicesOf, person: Person) -> SignedOut:
    """End all of the person's sessions, including this one."""
    sessions = await services.tenancy.sessions.sign_out_everywhere(person.user)
    await _note_everywhere(request, services, person.user, "sign_out_everywhere")
    _without_cookie(response)
    return SignedOut(sessions=sessions)


@router.post("/password", status_code=204, operation_id="change_password")
async def change_password(request: Request, services: ServicesOf, person: Person, body: PasswordChangeBody) -> Response:
    """Replace the password and sign out all other browsers."""
    await services.tenancy.recovery.change(
        person.user,
        person.session,
        current=body.current_password,
        new=body.new_password,
        browser=browser_of(request),
    )
    await _note_everywhere(request, services, person.user, "change_password")
    return Response(status_code=204)


@router.post(
    "/password-reset/request",
    status_code=202,
    operation_id="request_password_reset",
    dependencies=[OwnPage],
    response_class=Response,
)
async def request_password_reset(request: Request, services: ServicesOf, body: PasswordResetRequestBody) -> Response:
    """Mail a link to choose a new password. The response does not reveal whether the address has an account."""
    await services.tenancy.sessions.take_attempt(normalize(body.email), browser_of(request))
    if _mails_resets(services):
        services.in_background(_mail_reset(services, body.email, base_of(request, services)))
    elif services.tenancy.mail.is_configured:
        log.warning("api.reset_not_mailed", why="ANALYTIQ_API__PUBLIC_URL is not set, so links cannot be built.")
    return Response(status_code=202)


@router.post("/password-reset", status_code=204, operation_id="reset_password", dependencies=[OwnPage])
async def reset_password(request: Request, services: ServicesOf, body: PasswordResetBody) -> Response:
    """Set a new password by the secret of a reset link and sign out all browsers."""
    await services.tenancy.sessions.take_attempt(None, browser_of(request))
    user = await services.tenancy.recovery.reset(body.token, body.password)
    await _note_everywhere(request, services, user, "reset_password")
    return _without_cookie(Response(status_code=204))


@router.post("/invitations/preview", operation_id="preview_invitation", dependencies=[OwnPage])
async def preview_invitation(request: Request, services: ServicesOf, body: InvitationLookBody) -> InvitationPreview:
    """Return the organization and role of an invitation link."""
    await services.tenancy.sessions.take_attempt(None, browser_of(request))
    return InvitationPreview.from_model(await services.tenancy.invitations.look_at(body.token))


@router.post("/invitations/accept", operation_id="accept_invitation", dependencies=[OwnPage])
async def accept_invitation(
    request: Request, response: Response, services: ServicesOf, body: InvitationAcceptBody
) -> SessionResponse:
    """Accept an invitation, as the signed-in person or as a new person. A new person is signed in."""
    await services.tenancy.sessions.take_attempt(None, browser_of(request))
    if body.password is None:
        person = await identify_person(request, services)
        await services.tenancy.people.accept_as(body.token, person.user)
        await _note_everywhere(request, services, person.user, "accept_invitation")
        organizations = await services.tenancy.sessions.organizations_of(person.user)
        return SessionResponse.from_session(person.user, person.session, person.secret, organizations)
    if body.name is None:
        raise InvalidInputError.of_field("name", "Required to create an account. Send a name, or sign in first.")
    user = await services.tenancy.people.accept(body.token, email=body.email, name=body.name, password=body.password)
    await _note_everywhere(request, services, user, "accept_invitation")
    return await _greet(request, response, services, await services.tenancy.sessions.open(user, browser_of(request)))


@router.get("/oidc/sign-in", operation_id="begin_oidc_sign_in", status_code=303, response_class=RedirectResponse)
async def begin_oidc_sign_in(
    request: Request, services: ServicesOf, next_path: Annotated[str, Query(alias="next", max_length=2000)] = "/"
) -> Response:
    """Redirect the browser to the identity provider."""
    redirect_uri = f"{base_of(request, services)}/v0/auth/oidc/callback"
    departure = await services.tenancy.oidc.depart(redirect_uri, _own_path(next_path))
    response = RedirectResponse(departure.url, status_code=303)
    response.set_cookie(
        OIDC_COOKIE,
        departure.secret.get_secret_value(),
        max_age=OIDC_COOKIE_SECONDS,
        path="/v0/auth/oidc",
        httponly=True,
        samesite="lax",
        secure=_is_secure(request, services),
    )
    return response


@router.get("/oidc/callback", operation_id="finish_oidc_sign_in", status_code=303, response_class=RedirectResponse)
async def finish_oidc_sign_in(
    request: Request,
    services: ServicesOf,
    state: Annotated[str, Query(max_length=500)] = "",
    code: Annotated[str, Query(max_length=5000)] = "",
) -> Response:
    """Complete the identity provider's sign-in. The sign-in page shows errors."""
    secret = request.cookies.get(OIDC_COOKIE, "")
    try:
        if not secret or not code:
            raise AccessDeniedError("The identity provider did not sign you in. Start again.", code="oidc_refused")
        arrival = await services.tenancy.oidc.arrive(secret=secret, state=state, code=code)
        signed_in = await services.tenancy.sessions.open(arrival.user, browser_of(request))
    except AnalytiqError as error:
        log.info("api.oidc_refused", code=error.code, detail=error.detail)
        response: Response = RedirectResponse(f"/sign-in/?error={quote(error.detail)}", status_code=303)
    else:
        await _note_everywhere(request, services, arrival.user, "sign_in")
        response = RedirectResponse(arrival.next_path, status_code=303)
        _set_cookie(request, response, services, signed_in.secret)
    response.delete_cookie(OIDC_COOKIE, path="/v0/auth/oidc")
    return response


async def _greet(request: Request, response: Response, services: Services, signed_in: SignedIn) -> SessionResponse:
    _set_cookie(request, response, services, signed_in.secret)
    await _note_everywhere(request, services, signed_in.user, "sign_in")
    organizations = await services.tenancy.sessions.organizations_of(signed_in.user)
    return SessionResponse.from_session(
        signed_in.user, signed_in.session, signed_in.secret.get_secret_value(), organizations
    )


async def _note_everywhere(
    request: Request, services: Services, user: User, action: str, target: dict[str, str] | None = None
) -> None:
    """Record the action in the audit log of each of the person's organizations."""
    actor = Actor(kind=ActorKind.USER, id=user.id, name=user.email)
    for membership in await services.tenancy.sessions.organizations_of(user):
        await services.tenancy.audit_log.note(
            membership.member.organization_id,
            action,
            actor,
            target=target,
            address=browser_of(request).address,
            request_id=str(request.state.request_id),
        )


def _mails_resets(services: Services) -> bool:
    """Return whether reset links can be mailed.

    Links use the configured address only: with a forged `Host`, the secret would go to the attacker's site.
    """
    return services.tenancy.mail.is_configured and services.settings.api.public_url is not None


async def _mail_reset(services: Services, email: str, base: str) -> None:
    try:
        user, secret = await services.tenancy.recovery.new_link(email)
    except NotFoundError:
        return
    await services.tenancy.mail.send(
        user.email,
        "Reset your Analytiq password",
        f"A new password was requested for {user.email}.\n\n"
        f"Choose it here: {base}/reset/#{secret.get_secret_value()}\n\n"
        "If you did not request it, ignore this message.\n",
    )


def _set_cookie(request: Request, response: Response, services: Services, secret: SecretStr) -> None:
    response.set_cookie(
        COOKIE,
        secret.get_secret_value(),
        max_age=int(services.settings.accounts.session_days * 86_400),
        path="/",
        httponly=True,
        samesite="lax",
        secure=_is_secure(request, services),
    )


def _without_cookie(response: Response) -> Response:
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax")
    return response


def _is_secure(request: Request, services: Services) -> bool:
    return base_of(request, services).startswith("https:")


def base_of(request: Request, services: Services) -> str:
    """Return the API's public address: the configured one, since clients choose the `Host` of a request."""
    public_url = services.settings.api.public_url
    return public_url.rstrip("/") if public_url else f"{request.url.scheme}://{request.url.netloc}"


def _own_path(path: str) -> str:
    """Return the path if it is on this site, else the home page."""
    is_own = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if is_own else "/"
