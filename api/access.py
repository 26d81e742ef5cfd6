"""Authentication by access token or session cookie, and permissions of callers."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlsplit

from starlette.requests import Request

from analytiq.composition import Services
from analytiq.errors import AccessDeniedError, NotFoundError
from analytiq.models.account import Permission, User, UserSession
from analytiq.models.audit import Actor, ActorKind
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.models.maker import Maker, MakerKind
from analytiq.models.organization import Organization
from analytiq.storage.repositories.search_openings import KnowledgeBasesAtVersions
from analytiq.tenancy.accounts.secrets import csrf_token_of
from analytiq.tenancy.accounts.sessions import Browser
from analytiq.tenancy.organizations.service import OpenedToken
from api.permissions import rule_of

COOKIE = "analytiq_session"
CSRF_HEADER = "x-csrf-token"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller of an organization's operation."""

    organization: Organization
    actor: Actor
    permission: Permission
    maker: Maker
    """Recorded as the creator of the caller's tokens and invitations."""
    depends_on: tuple[str, ...]
    """Ids of the rows the permission comes from."""
    ends_at: datetime | None
    """Expiry of the token or session."""
    is_shrunk: bool = False
    """True if the token allows less than its scope, since its creator has fewer rights."""
    knowledge_bases: KnowledgeBasesAtVersions = field(default_factory=dict[str, tuple[KnowledgeBase, Epoch]])
    """Those that were read together with the token, for a search in them."""


@dataclass(frozen=True, slots=True)
class SignedInCaller:
    """A signed-in person, in no particular organization."""

    user: User
    session: UserSession
    secret: str


async def identify(
    request: Request, services: Services, organization_id: str, *, searched: Sequence[str] = ()
) -> Caller:
    """Return the caller of an organization's operation.

    Another organization's id is answered with 404, like an unknown one. `searched`: ids of knowledge bases to read with
    the token.

    Raises:
        AccessDeniedError: unknown caller (401), or missing permission (403).
        NotFoundError: the caller has no such organization.
    """
    caller = await _caller(request, services, organization_id, searched)
    request.state.caller = caller
    wanted = rule_of(request.scope).permission
    if not caller.permission.includes(wanted):
        why = (
            "Its creator has no more rights. Ask an owner or admin to take it over."
            if caller.is_shrunk
            else "Ask an owner of the organization."
        )
        raise AccessDeniedError(
            f"This operation requires the permission `{wanted.value}`; {_described(caller.actor)} has"
            f" `{caller.permission.value}`. {why}"
        )
    return caller


async def organization_id_of(request: Request, services: Services) -> str:
    """Return the id in the path; a path without one is of the access token's organization.

    Raises:
        AccessDeniedError: the path has none, and the token is missing or invalid (401).
    """
    named: str | None = request.path_params.get("organization_id")
    if named is not None:
        return named
    return (await open_with_header(services, request.headers.get("authorization"))).organization.id


async def admit(request: Request, services: Services, organization_id: str, *, searched: Sequence[str] = ()) -> Caller:
    """Identify the caller of a new call, count it in the rate limit, and require room for a new object.

    Raises:
        AccessDeniedError: as `identify`.
        ConflictError: the organization has reached a limit of objects.
        NotFoundError: as `identify`.
        RateLimitedError: the organization sends too many requests.
    """
    caller = await identify(request, services, organization_id, searched=searched)
    services.tenancy.request_rates.take(organization_id)
    makes = rule_of(request.scope).makes
    if makes is not None:
        await services.tenancy.quotas.require_room(organization_id, makes)
    return caller


async def _caller(request: Request, services: Services, organization_id: str, searched: Sequence[str]) -> Caller:
    authorization = request.headers.get("authorization")
    if authorization is not None or COOKIE not in request.cookies:
        return await _of_token(services, organization_id, authorization, searched)
    signed_in = await identify_person(request, services)
    member = await services.tenancy.sessions.member_of(signed_in.user, organization_id)
    if member is None:
        raise NotFoundError(f"No organization has the id {organization_id!r}. Use the id of one of your organizations.")
    organization = await services.tenancy.organizations.get(organization_id)
    actor = Actor(kind=ActorKind.USER, id=signed_in.user.id, name=signed_in.user.email)
    session = signed_in.session
    return Caller(
        organization=organization,
        actor=actor,
        permission=member.role.permission,
        maker=Maker(kind=MakerKind.USER, id=signed_in.user.id, name=signed_in.user.email, member_id=member.id),
        depends_on=(session.id, member.id),
        ends_at=session.expires_at,
    )


async def _of_token(
    services: Services, organization_id: str, authorization: str | None, searched: Sequence[str]
) -> Caller:
    secret, organizations = _secret_in(authorization), services.tenancy.organizations
    if searched:
        openings = services.repositories.search_openings
        opened, bases = await organizations.open_for_search(openings, secret, organization_id, searched)
    else:
        opened, bases = await organizations.open_token(secret), dict[str, tuple[KnowledgeBase, Epoch]]()
    if opened.organization.id != organization_id:
        raise NotFoundError(f"No organization has the id {organization_id!r}. Use the id of your token's organization.")
    token = opened.token
    actor = Actor(kind=ActorKind.TOKEN, id=token.id, name=token.name)
    return Caller(
        organization=opened.organization,
        actor=actor,
        permission=opened.permission,
        maker=Maker(kind=MakerKind.TOKEN, id=token.id, name=token.name),
        depends_on=opened.depends_on,
        ends_at=opened.ends_at,
        is_shrunk=opened.permission is not token.scope.permission,
        knowledge_bases=bases,
    )


async def open_with_header(services: Services, authorization: str | None) -> OpenedToken:
    """Return the header's access token with its organization.

    Raises:
        AccessDeniedError: missing or invalid token (401).
    """
    return await services.tenancy.organizations.open_token(_secret_in(authorization))


def _secret_in(authorization: str | None) -> str:
    scheme, _, secret = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise AccessDeniedError(
            "Not signed in. Sign in, or send an access token as `Authorization: Bearer …`."
            " `analytiq token create` creates one.",
            code="unauthenticated",
        )
    return secret.strip()


async def identify_person(request: Request, services: Services) -> SignedInCaller:
    """Return the signed-in person; requests that change data must prove their origin.

    Raises:
        AccessDeniedError: not signed in (401), or possibly a request from another site (403).
    """
    secret = request.cookies.get(COOKIE)
    if not secret:
        raise AccessDeniedError("Not signed in. Sign in first.", code="unauthenticated")
    user, session = await services.tenancy.sessions.open_with(secret)
    if request.method not in SAFE_METHODS:
        check_origin(request, services)
        # As bytes: a header may contain any of them, and text that is not ASCII cannot be compared.
        if not hmac.compare_digest(request.headers.get(CSRF_HEADER, "").encode(), csrf_token_of(secret).encode()):
            raise AccessDeniedError(
                "The session's `X-CSRF-Token` is missing. Reload the page and try again.", code="csrf_refused"
            )
    return SignedInCaller(user, session, secret)


def check_origin(request: Request, services: Services) -> None:
    """Refuse requests from pages of other origins (RFC 6454). Clients other than browsers send no origin.

    Proxies may change `Host` and scheme, so the configured public address is also accepted.
    """
    origin = request.headers.get("origin")
    own = {f"{request.url.scheme}://{request.headers.get('host', '')}".lower()}
    public_url = services.settings.api.public_url
    if public_url is not None:
        parts = urlsplit(public_url)
        own.add(f"{parts.scheme}://{parts.netloc}".lower())
    if origin is not None and origin.lower() not in own:
        raise AccessDeniedError(
            f"Calls from pages of {origin[:200]!r} are refused. If this is the API's own address behind a proxy, set"
            " ANALYTIQ_API__PUBLIC_URL to it.",
            code="csrf_refused",
        )


def browser_of(request: Request) -> Browser:
    """Return the request's browser."""
    return Browser(request.client.host if request.client else None, request.headers.get("user-agent"))


def _described(actor: Actor) -> str:
    return f"the access token {actor.name!r}" if actor.kind is ActorKind.TOKEN else "your role"
