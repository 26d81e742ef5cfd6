"""Sign-in by OpenID Connect against a small provider with real keys, over real HTTP."""

import time
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import RSAKey
from pydantic import SecretStr

from analytiq.composition import Services
from analytiq.errors import AccessDeniedError, TransientError
from analytiq.models.account import Permission, Role
from analytiq.settings import AccountSettings, OidcSettings
from analytiq.tenancy.accounts.oidc import Arrival, Departure
from analytiq.tenancy.accounts.sessions import Browser
from tests.fakes.oidc_provider import Claims, OidcProvider
from tests.integration.conftest import Compose
from tests.integration.tenant import new_tenant

CALLBACK = "http://analytiq.test/v0/auth/oidc/callback"


@pytest.fixture
def provider() -> Iterator[OidcProvider]:
    with OidcProvider() as provider:
        yield provider


@pytest.fixture
async def platform(compose_services: Compose, provider: OidcProvider) -> Services:
    """An installation whose people may sign in by the provider; Ada is a member."""
    oidc = OidcSettings(
        issuer=provider.url, client_id=provider.client_id, client_secret=SecretStr(provider.client_secret)
    )
    services = await compose_services(accounts=AccountSettings(oidc=oidc))
    tenant = await new_tenant(services)
    invited = await services.tenancy.invitations.invite(
        tenant.id, role=Role.EDITOR, email="ada@example.com", invited_by=None, by=Permission.OWNER
    )
    await services.tenancy.people.accept(
        invited.secret.get_secret_value(), email=None, name="Ada", password="correct horse battery"
    )
    return services


async def authorized(departure: Departure) -> tuple[str, str]:
    """Return the state and code with which the provider sends the browser back."""
    async with httpx.AsyncClient() as browser:
        answer = await browser.get(departure.url)
    assert answer.status_code == 302, answer.text
    assert answer.headers["location"].startswith(CALLBACK)
    back = parse_qs(urlsplit(answer.headers["location"]).query)
    return back["state"][0], back["code"][0]


async def sign_in(platform: Services) -> Arrival:
    departure = await platform.tenancy.oidc.depart(CALLBACK, "/documents/")
    state, code = await authorized(departure)
    return await platform.tenancy.oidc.arrive(secret=departure.secret.get_secret_value(), state=state, code=code)


async def test_person_whose_address_the_provider_vouches_for_signs_in(
    platform: Services, provider: OidcProvider
) -> None:
    arrival = await sign_in(platform)
    assert (arrival.user.email, arrival.next_path) == ("ada@example.com", "/documents/")
    # From then on by the provider's own name for the person, whatever address it says.
    provider.email = "ada.married@example.com"
    assert (await sign_in(platform)).user.id == arrival.user.id


async def test_password_that_somebody_chose_before_in_a_persons_name_opens_nothing_any_more(
    platform: Services,
) -> None:
    before = await platform.tenancy.sessions.sign_in("ada@example.com", "correct horse battery", Browser())
    await sign_in(platform)
    with pytest.raises(AccessDeniedError):
        await platform.tenancy.sessions.open_with(before.secret.get_secret_value())
    with pytest.raises(AccessDeniedError):
        await platform.tenancy.sessions.sign_in("ada@example.com", "correct horse battery", Browser())
    # Later sign-ins leave other browsers as they are.
    mine = await platform.tenancy.sessions.open((await sign_in(platform)).user, Browser())
    await sign_in(platform)
    await platform.tenancy.sessions.open_with(mine.secret.get_secret_value())


async def test_invited_person_whose_address_the_provider_vouches_for_is_let_in(
    platform: Services, provider: OidcProvider
) -> None:
    first, second = await new_tenant(platform), await new_tenant(platform)
    for tenant, role in ((first, Role.VIEWER), (second, Role.EDITOR)):
        await platform.tenancy.invitations.invite(
            tenant.id, role=role, email="Bob@Example.com", invited_by=None, by=Permission.OWNER
        )
    provider.subject, provider.email = "person-2", "bob@example.com"
    arrival = await sign_in(platform)
    assert (arrival.user.email, arrival.user.password_hash) == ("bob@example.com", None)
    for tenant, role in ((first, Role.VIEWER), (second, Role.EDITOR)):
        people, _ = await platform.tenancy.people.members(tenant.id, skip=0, limit=10)
        assert [(person.user.id, person.member.role) for person in people] == [(arrival.user.id, role)]
    assert await platform.tenancy.invitations.page(first.id, skip=0, limit=10) == ([], 0)
    assert (await sign_in(platform)).user.id == arrival.user.id


async def test_invitation_that_was_withdrawn_or_whose_address_is_unverified_lets_nobody_in(
    platform: Services, provider: OidcProvider
) -> None:
    tenant = await new_tenant(platform)
    invited = await platform.tenancy.invitations.invite(
        tenant.id, role=Role.VIEWER, email="bob@example.com", invited_by=None, by=Permission.OWNER
    )
    provider.subject, provider.email, provider.email_verified = "person-2", "bob@example.com", False
    with pytest.raises(AccessDeniedError, match="verified"):
        await sign_in(platform)
    provider.email_verified = True
    await platform.tenancy.invitations.withdraw(tenant.id, invited.invitation.id)
    with pytest.raises(AccessDeniedError, match="invitation"):
        await sign_in(platform)


async def test_nobody_becomes_a_member_by_signing_in(platform: Services, provider: OidcProvider) -> None:
    provider.subject, provider.email = "person-2", "stranger@example.com"
    with pytest.raises(AccessDeniedError, match="invitation"):
        await sign_in(platform)


@pytest.mark.parametrize("verified", [False, None, "true"])
async def test_address_that_the_provider_has_not_checked_is_not_believed(
    platform: Services, provider: OidcProvider, verified: object
) -> None:
    provider.email_verified = verified
    with pytest.raises(AccessDeniedError, match="verified"):
        await sign_in(platform)


async def test_second_account_at_the_provider_does_not_take_a_person_over(
    platform: Services, provider: OidcProvider
) -> None:
    await sign_in(platform)
    provider.subject = "somebody-else"
    with pytest.raises(AccessDeniedError, match="Another account"):
        await sign_in(platform)


async def test_sign_in_that_another_browser_began_is_refused(platform: Services) -> None:
    mine, theirs = [await platform.tenancy.oidc.depart(CALLBACK, "/") for _ in range(2)]
    state, code = await authorized(theirs)
    with pytest.raises(AccessDeniedError, match="another browser"):
        await platform.tenancy.oidc.arrive(secret=mine.secret.get_secret_value(), state=state, code=code)


async def test_sign_in_is_finished_once(platform: Services) -> None:
    departure = await platform.tenancy.oidc.depart(CALLBACK, "/")
    state, code = await authorized(departure)
    secret = departure.secret.get_secret_value()
    await platform.tenancy.oidc.arrive(secret=secret, state=state, code=code)
    with pytest.raises(AccessDeniedError):
        await platform.tenancy.oidc.arrive(secret=secret, state=state, code=code)


async def test_code_of_another_sign_in_is_not_taken(platform: Services) -> None:
    mine, theirs = [await platform.tenancy.oidc.depart(CALLBACK, "/") for _ in range(2)]
    state, _ = await authorized(mine)
    _, stolen = await authorized(theirs)
    with pytest.raises(AccessDeniedError, match="Begin again"):
        await platform.tenancy.oidc.arrive(secret=mine.secret.get_secret_value(), state=state, code=stolen)


def _with(name: str, value: object) -> Callable[[Claims], None]:
    def tamper(claims: Claims) -> None:
        claims[name] = value

    return tamper


@pytest.mark.parametrize(
    "tamper",
    [
        _with("aud", "another-client"),
        _with("iss", "https://elsewhere.example"),
        _with("nonce", "of another sign-in"),
        _with("exp", int(time.time()) - 3600),
        lambda claims: claims.pop("sub"),
        lambda claims: claims.pop("nonce"),
        lambda claims: claims.pop("exp"),
    ],
    ids=["audience", "issuer", "nonce", "expired", "no-subject", "no-nonce", "no-expiry"],
)
async def test_id_token_that_is_not_for_this_sign_in_is_refused(
    platform: Services, provider: OidcProvider, tamper: Callable[[Claims], None]
) -> None:
    provider.tamper = tamper
    with pytest.raises(AccessDeniedError, match="not valid"):
        await sign_in(platform)


async def test_id_token_of_another_key_is_refused(platform: Services, provider: OidcProvider) -> None:
    provider.signing_key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
    with pytest.raises(AccessDeniedError, match="not valid"):
        await sign_in(platform)


async def test_wrong_client_secret_and_a_provider_that_is_away_are_told(
    platform: Services, provider: OidcProvider
) -> None:
    departure = await platform.tenancy.oidc.depart(CALLBACK, "/")
    state, code = await authorized(departure)
    provider.client_secret = "changed"
    with pytest.raises(AccessDeniedError, match="did not confirm"):
        await platform.tenancy.oidc.arrive(secret=departure.secret.get_secret_value(), state=state, code=code)
    provider.stop()
    with pytest.raises(TransientError, match="unreachable"):
        await platform.tenancy.oidc.depart(CALLBACK, "/")
