"""`/v0/auth`: signing in and out, passwords, invitations; for browsers, by cookie."""

from typing import Annotated
from urllib.parse import quote

import structlog
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import SecretStr

from analytiq.composition import Application
from analytiq.errors import AccessDeniedError, AnalytiqError, InvalidInputError, NotFoundError
from analytiq.models.account import User, normalize
from analytiq.models.audit import Actor, ActorKind
from analytiq.tenancy.accounts.sessions import SignedIn
from api.access import COOKIE, browser_of, check_origin, identify_person
from api.context import ApplicationOf, Limit, Person, Skip
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


def require_own_page(request: Request, application: ApplicationOf) -> None:
    """Nobody's page but ours signs anybody in."""
    check_origin(request, application)


OwnPage = Depends(require_own_page)


@router.get("/ways", operation_id="get_sign_in_ways")
async def get_sign_in_ways(request: Request, application: ApplicationOf) -> SignInWays:
    """How people sign in here."""
    return SignInWays(
        oidc_name=application.oidc.name,
        sends_mail=_mails_resets(application),
        has_cookie=COOKIE in request.cookies,
    )


@router.post("/sign-in", operation_id="sign_in", dependencies=[OwnPage])
async def sign_in(
    request: Request, response: Response, application: ApplicationOf, body: SignInBody
) -> SessionResponse:
    """Open a session, in a cookie; too many wrong attempts are a 429."""
    signed_in = await application.sessions.sign_in(body.email, body.password, browser_of(request))
    return await _greet(request, response, application, signed_in)


@router.get("/session", operation_id="get_session")
async def get_session(application: ApplicationOf, person: Person) -> SessionResponse:
    """Who is signed in, and where they are members."""
    organizations = await application.sessions.organizations_of(person.user)
    return SessionResponse.of(person.user, person.session, person.secret, organizations)


@router.put("/name", operation_id="change_name")
async def change_name(
    request: Request, application: ApplicationOf, person: Person, body: NameChangeBody
) -> SessionResponse:
    """Change what the person is called, in all their organizations."""
    user = await application.people.rename(person.user, body.name)
    await _note_everywhere(request, application, user, "change_name")
    organizations = await application.sessions.organizations_of(user)
    return SessionResponse.of(user, person.session, person.secret, organizations)


@router.get("/sessions", operation_id="list_sessions")
async def list_sessions(
    application: ApplicationOf, person: Person, skip: Skip = 0, limit: Limit = 10
) -> OpenSessionList:
    """The browsers in which the person is signed in, the one used last first."""
    sessions, total = await application.sessions.open_of(person.user, skip=skip, limit=limit)
    return OpenSessionList(
        sessions=[OpenSession.of(item, person.session) for item in sessions], total_count=total, skip=skip
    )


@router.delete("/sessions/{session_id}", status_code=204, operation_id="end_session")
async def end_session(request: Request, application: ApplicationOf, person: Person, session_id: str) -> Response:
    """Sign the person out in one browser; somebody else's session answers 404, like one that does not exist."""
    await application.sessions.end(person.user, session_id)
    await _note_everywhere(request, application, person.user, "end_session", {"session_id": session_id})
    response = Response(status_code=204)
    return _without_cookie(response) if session_id == person.session.id else response


@router.post("/sign-out", status_code=204, operation_id="sign_out")
async def sign_out(request: Request, application: ApplicationOf, person: Person) -> Response:
    """End this session."""
    await application.sessions.sign_out(person.session)
    await _note_everywhere(request, application, person.user, "sign_out")
    return _without_cookie(Response(status_code=204))


@router.post("/sign-out-everywhere", operation_id="sign_out_everywhere")
async def sign_out_everywhere(
    request: Request, response: Response, application: ApplicationOf, person: Person
) -> SignedOut:
    """End all sessions of the person, this one too."""
    sessions = await application.sessions.sign_out_everywhere(person.user)
    await _note_everywhere(request, application, person.user, "sign_out_everywhere")
    _without_cookie(response)
    return SignedOut(sessions=sessions)


@router.post("/password", status_code=204, operation_id="change_password")
async def change_password(
    request: Request, application: ApplicationOf, person: Person, body: PasswordChangeBody
) -> Response:
    """Replace the password; other browsers are signed out."""
    await application.recovery.change(
        person.user,
        person.session,
        current=body.current_password,
        new=body.new_password,
        browser=browser_of(request),
    )
    await _note_everywhere(request, application, person.user, "change_password")
    return Response(status_code=204)


@router.post(
    "/password-reset/request",
    status_code=202,
    operation_id="request_password_reset",
    dependencies=[OwnPage],
    response_class=Response,
)
async def request_password_reset(
    request: Request, application: ApplicationOf, body: PasswordResetRequestBody
) -> Response:
    """Mail a link to choose a new password. The answer is the same whether anybody has the address."""
    await application.sessions.take_attempt(normalize(body.email), browser_of(request))
    if _mails_resets(application):
        application.in_background(_mail_reset(application, body.email, base_of(request, application)))
    elif application.mail.is_configured:
        log.warning("api.reset_not_mailed", why="ANALYTIQ_API__PUBLIC_URL is not set: links cannot be made")
    return Response(status_code=202)


@router.post("/password-reset", status_code=204, operation_id="reset_password", dependencies=[OwnPage])
async def reset_password(request: Request, application: ApplicationOf, body: PasswordResetBody) -> Response:
    """Choose a new password by a link; all browsers are signed out."""
    await application.sessions.take_attempt(None, browser_of(request))
    user = await application.recovery.reset(body.token, body.password)
    await _note_everywhere(request, application, user, "reset_password")
    return _without_cookie(Response(status_code=204))


@router.post("/invitations/preview", operation_id="preview_invitation", dependencies=[OwnPage])
async def preview_invitation(
    request: Request, application: ApplicationOf, body: InvitationLookBody
) -> InvitationPreview:
    """What an invitation's link leads to."""
    await application.sessions.take_attempt(None, browser_of(request))
    return InvitationPreview.of(await application.invitations.look_at(body.token))


@router.post("/invitations/accept", operation_id="accept_invitation", dependencies=[OwnPage])
async def accept_invitation(
    request: Request, response: Response, application: ApplicationOf, body: InvitationAcceptBody
) -> SessionResponse:
    """Become a member: as whoever is signed in, or as somebody new, who is then signed in."""
    await application.sessions.take_attempt(None, browser_of(request))
    if body.password is None:
        person = await identify_person(request, application)
        await application.people.accept_as(body.token, person.user)
        await _note_everywhere(request, application, person.user, "accept_invitation")
        organizations = await application.sessions.organizations_of(person.user)
        return SessionResponse.of(person.user, person.session, person.secret, organizations)
    if body.name is None:
        raise InvalidInputError.of_field("name", "is needed to become a member as somebody new")
    user = await application.people.accept(body.token, email=body.email, name=body.name, password=body.password)
    await _note_everywhere(request, application, user, "accept_invitation")
    return await _greet(request, response, application, await application.sessions.open(user, browser_of(request)))


@router.get("/oidc/sign-in", operation_id="begin_oidc_sign_in", status_code=303, response_class=RedirectResponse)
async def begin_oidc_sign_in(
    request: Request, application: ApplicationOf, next_path: Annotated[str, Query(alias="next", max_length=2000)] = "/"
) -> Response:
    """Send the browser to the provider of the settings."""
    redirect_uri = f"{base_of(request, application)}/v0/auth/oidc/callback"
    departure = await application.oidc.depart(redirect_uri, _own_path(next_path))
    response = RedirectResponse(departure.url, status_code=303)
    response.set_cookie(
        OIDC_COOKIE,
        departure.secret.get_secret_value(),
        max_age=OIDC_COOKIE_SECONDS,
        path="/v0/auth/oidc",
        httponly=True,
        samesite="lax",
        secure=_is_secure(request, application),
    )
    return response


@router.get("/oidc/callback", operation_id="finish_oidc_sign_in", status_code=303, response_class=RedirectResponse)
async def finish_oidc_sign_in(
    request: Request,
    application: ApplicationOf,
    state: Annotated[str, Query(max_length=500)] = "",
    code: Annotated[str, Query(max_length=5000)] = "",
) -> Response:
    """Where the provider sends the browser back to; what went wrong is told by the sign-in page."""
    secret = request.cookies.get(OIDC_COOKIE, "")
    try:
        if not secret or not code:
            raise AccessDeniedError("the provider did not sign you in: begin again", code="oidc_refused")
        arrival = await application.oidc.arrive(secret=secret, state=state, code=code)
        signed_in = await application.sessions.open(arrival.user, browser_of(request))
    except AnalytiqError as error:
        log.info("api.oidc_refused", code=error.code, detail=error.detail)
        response: Response = RedirectResponse(f"/sign-in/?error={quote(error.detail)}", status_code=303)
    else:
        await _note_everywhere(request, application, arrival.user, "sign_in")
        response = RedirectResponse(arrival.next_path, status_code=303)
        _set_cookie(request, response, application, signed_in.secret)
    response.delete_cookie(OIDC_COOKIE, path="/v0/auth/oidc")
    return response


async def _greet(
    request: Request, response: Response, application: Application, signed_in: SignedIn
) -> SessionResponse:
    _set_cookie(request, response, application, signed_in.secret)
    await _note_everywhere(request, application, signed_in.user, "sign_in")
    organizations = await application.sessions.organizations_of(signed_in.user)
    return SessionResponse.of(signed_in.user, signed_in.session, signed_in.secret.get_secret_value(), organizations)


async def _note_everywhere(
    request: Request, application: Application, user: User, action: str, target: dict[str, str] | None = None
) -> None:
    """Note it in each organization that the person is a member of."""
    actor = Actor(kind=ActorKind.USER, id=user.id, name=user.email)
    for membership in await application.sessions.organizations_of(user):
        await application.audit_log.note(
            membership.member.organization_id,
            action,
            actor,
            target=target,
            address=browser_of(request).address,
            request_id=str(request.state.request_id),
        )


def _mails_resets(application: Application) -> bool:
    """Only to the address of the settings: a stranger's `Host` would bring the owner's secret to the stranger."""
    return application.mail.is_configured and application.settings.api.public_url is not None


async def _mail_reset(application: Application, email: str, base: str) -> None:
    try:
        user, secret = await application.recovery.new_link(email)
    except NotFoundError:
        return
    await application.mail.send(
        user.email,
        "A new password for Analytiq",
        f"Somebody, probably you, wants a new password for {user.email}.\n\n"
        f"Choose it here: {base}/reset/#{secret.get_secret_value()}\n\n"
        "If it was not you, there is nothing to do.\n",
    )


def _set_cookie(request: Request, response: Response, application: Application, secret: SecretStr) -> None:
    response.set_cookie(
        COOKIE,
        secret.get_secret_value(),
        max_age=int(application.settings.accounts.session_days * 86_400),
        path="/",
        httponly=True,
        samesite="lax",
        secure=_is_secure(request, application),
    )


def _without_cookie(response: Response) -> Response:
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax")
    return response


def _is_secure(request: Request, application: Application) -> bool:
    return base_of(request, application).startswith("https:")


def base_of(request: Request, application: Application) -> str:
    """Where people reach the API: as the settings say, since a request's Host is whatever its sender wrote."""
    public_url = application.settings.api.public_url
    return public_url.rstrip("/") if public_url else f"{request.url.scheme}://{request.url.netloc}"


def _own_path(path: str) -> str:
    """A path of ours, and never another site's address."""
    is_own = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if is_own else "/"
