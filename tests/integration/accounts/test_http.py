"""The HTTP side alone: cookies and addresses of a sign-in by OIDC, and links by mail."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
import pytest
import uvicorn
from pydantic import SecretStr

from analytiq.composition import Services
from analytiq.models.account import Permission, Role
from analytiq.settings import AccountSettings, ApiSettings, OidcSettings, SmtpSettings
from api.application import create_app
from tests.fakes.mail_server import MailServer, mail_server
from tests.fakes.oidc_provider import OidcProvider
from tests.integration.conftest import Compose
from tests.integration.tenant import new_tenant

PASSWORD = "correct horse battery"


@asynccontextmanager
async def served(services: Services) -> AsyncGenerator[httpx.AsyncClient]:
    """The API of this application on a port, and a browser that is at its address."""

    @asynccontextmanager
    async def open_services() -> AsyncGenerator[Services]:
        yield services

    server = uvicorn.Server(uvicorn.Config(create_app(open_services), port=0, log_level="warning"))
    serving = asyncio.create_task(server.serve())
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60.0) as browser:
            yield browser
    finally:
        server.should_exit = True
        await serving


async def member(services: Services, email: str) -> None:
    tenant = await new_tenant(services)
    invited = await services.tenancy.invitations.invite(
        tenant.id, role=Role.OWNER, email=email, invited_by=None, by=Permission.OWNER
    )
    await services.tenancy.people.accept(invited.secret.get_secret_value(), email=None, name="Ada", password=PASSWORD)


async def test_browser_goes_to_the_provider_and_comes_back_signed_in(compose_services: Compose) -> None:
    with OidcProvider() as provider:
        oidc = OidcSettings(
            issuer=provider.url, client_id=provider.client_id, client_secret=SecretStr(provider.client_secret)
        )
        services = await compose_services(accounts=AccountSettings(oidc=oidc))
        await member(services, "ada@example.com")
        async with served(services) as browser:
            assert (await browser.get("/v0/auth/ways")).json()["oidc_name"] == "single sign-on"
            answer = await browser.get("/v0/auth/oidc/sign-in", params={"next": "/search/?q=a%20b"})
            answer = await browser.get(answer.headers["location"])
            answer = await browser.get(answer.headers["location"])
            assert (answer.status_code, answer.headers["location"]) == (303, "/search/?q=a%20b")
            assert (await browser.get("/v0/auth/session")).json()["email"] == "ada@example.com"


@pytest.mark.parametrize("path", ["https://elsewhere.example/", "//elsewhere.example", "/\\elsewhere.example"])
async def test_nobody_is_sent_to_another_site_after_signing_in(compose_services: Compose, path: str) -> None:
    with OidcProvider() as provider:
        oidc = OidcSettings(
            issuer=provider.url, client_id=provider.client_id, client_secret=SecretStr(provider.client_secret)
        )
        services = await compose_services(accounts=AccountSettings(oidc=oidc))
        await member(services, "ada@example.com")
        async with served(services) as browser:
            answer = await browser.get("/v0/auth/oidc/sign-in", params={"next": path})
            answer = await browser.get(answer.headers["location"])
            answer = await browser.get(answer.headers["location"])
            assert answer.headers["location"] == "/"


async def test_what_the_provider_refuses_is_told_by_the_sign_in_page(compose_services: Compose) -> None:
    with OidcProvider(email="stranger@example.com") as provider:
        oidc = OidcSettings(
            issuer=provider.url, client_id=provider.client_id, client_secret=SecretStr(provider.client_secret)
        )
        services = await compose_services(accounts=AccountSettings(oidc=oidc))
        async with served(services) as browser:
            answer = await browser.get("/v0/auth/oidc/sign-in")
            answer = await browser.get(answer.headers["location"])
            answer = await browser.get(answer.headers["location"])
            assert answer.headers["location"].startswith("/sign-in/?error=No%20open%20invitation%20for%20stranger")
            assert (await browser.get("/v0/auth/session")).status_code == 401
            forged = await browser.get("/v0/auth/oidc/callback", params={"state": "x", "code": "y"})
            assert forged.headers["location"].startswith("/sign-in/?error=")


def mailing(server: MailServer) -> AccountSettings:
    smtp = SmtpSettings(host="127.0.0.1", port=server.port, sender="analytiq@example.com", uses_starttls=False)
    return AccountSettings(smtp=smtp)


async def test_forgotten_password_comes_by_mail_with_the_public_address(compose_services: Compose) -> None:
    async with mail_server() as mails:
        services = await compose_services(
            accounts=mailing(mails), api=ApiSettings(public_url="https://docs.example.com/")
        )
        await member(services, "ada@example.com")
        async with served(services) as browser:
            for email in ("nobody@example.com", "Ada@example.com"):
                answer = await browser.post("/v0/auth/password-reset/request", json={"email": email})
                assert answer.status_code == 202
            async with asyncio.timeout(30):
                await mails.arrived.wait()
            (mail,) = mails.messages
            assert mail["To"] == "ada@example.com"
            link = re.search(r"https://docs\.example\.com/reset/#(\S+)", mail.get_content())
            assert link is not None
            body = {"token": link[1], "password": "another fine password"}
            assert (await browser.post("/v0/auth/password-reset", json=body)).status_code == 204
            body = {"email": "ada@example.com", "password": "another fine password"}
            signed_in = await browser.post("/v0/auth/sign-in", json=body)
            assert "; secure" in signed_in.headers["set-cookie"].lower()


async def test_host_that_a_stranger_names_is_in_no_mail(compose_services: Compose) -> None:
    async with mail_server() as mails:
        services = await compose_services(accounts=mailing(mails))
        await member(services, "ada@example.com")
        async with served(services) as browser:
            answer = await browser.post(
                "/v0/auth/password-reset/request",
                json={"email": "ada@example.com"},
                headers={"Host": "elsewhere.example"},
            )
            assert answer.status_code == 202
            assert not (await browser.get("/v0/auth/ways")).json()["sends_mail"]
        await services.settled()
        assert mails.messages == []


async def test_invitation_is_mailed_and_a_mail_server_that_refuses_costs_only_the_mail(
    compose_services: Compose,
) -> None:
    async with mail_server() as mails:
        services = await compose_services(accounts=mailing(mails))
        tenant = await new_tenant(services)
        issued = await services.tenancy.organizations.issue_token(tenant.id, name="t")
        headers = {"Authorization": f"Bearer {issued.secret.get_secret_value()}"}
        path = f"/v0/orgs/{tenant.id}/invitations"
        async with served(services) as browser:
            sent = await browser.post(path, json={"email": "bob@example.com", "role": "viewer"}, headers=headers)
            assert sent.json()["is_mailed"]
            # Whoever has the link learns by following it whether the address has an account.
            assert sent.json()["token"] is None
            assert "/invite/#" in mails.messages[0].get_content()
            mails.refuses = True
            kept = await browser.post(path, json={"email": "eve@example.com", "role": "viewer"}, headers=headers)
            assert (kept.status_code, kept.json()["is_mailed"]) == (201, False)
            assert kept.json()["token"]
