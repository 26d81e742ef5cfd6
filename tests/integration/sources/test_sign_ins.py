"""Sign-ins of people for sources, over real HTTP."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from analytiq import clock
from analytiq.composition import Services
from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.ingestion.sources.configuration.service import SourceDraft
from analytiq.ingestion.sources.configuration.signing_in import SignInRefusedError
from analytiq.models.account import Permission, Role
from analytiq.models.source import Source
from analytiq.settings import SourceSettings
from tests.fakes.graph_server import GraphServer
from tests.integration.accounts.test_http import PASSWORD, served
from tests.integration.conftest import Compose
from tests.integration.tenant import Tenant, new_tenant


@dataclass(frozen=True, slots=True)
class Place:
    """A tenant with a source that nobody has signed in for."""

    tenant: Tenant
    source: Source
    graph: GraphServer

    @property
    def services(self) -> Services:
        return self.tenant.services

    async def begin(self, redirect_uri: str = "https://here.example/callback") -> tuple[str, str, str]:
        """Begin and consent; return the browser's secret, the state and the code."""
        departure = await self.services.ingestion.source_sign_ins.begin(
            self.tenant.id, self.source.id, user_id=None, redirect_uri=redirect_uri
        )
        async with httpx.AsyncClient() as browser:
            back = (await browser.get(departure.url)).headers["location"]
        query = parse_qs(urlsplit(back).query)
        return departure.secret.get_secret_value(), query["state"][0], query["code"][0]


@asynccontextmanager
async def placed(compose_services: Compose) -> AsyncGenerator[Place]:
    services = await compose_services(sources=SourceSettings(private_hosts=("127.0.0.1",)))
    tenant = await new_tenant(services)
    with GraphServer() as graph:
        graph.write("a.txt", "A")
        draft = SourceDraft(name="Drive", kind="onedrive", settings=graph.settings, credentials=graph.credentials)
        yield Place(tenant, await services.ingestion.sources.create(tenant.id, draft), graph)


async def test_person_signs_in_and_the_source_reads(compose_services: Compose) -> None:
    async with placed(compose_services) as place, served(place.services) as browser:
        invited = await place.services.tenancy.invitations.invite(
            place.tenant.id, role=Role.OWNER, email="ada@example.com", invited_by=None, by=Permission.OWNER
        )
        secret = invited.secret.get_secret_value()
        await place.services.tenancy.people.accept(secret, email=None, name="Ada", password=PASSWORD)
        origin = {"origin": str(browser.base_url).rstrip("/")}
        sign_in = {"email": "ada@example.com", "password": PASSWORD}
        session = (await browser.post("/v0/auth/sign-in", json=sign_in, headers=origin)).json()
        path = f"/v0/orgs/{place.tenant.id}/sources/{place.source.id}"
        assert (await browser.get(path)).json()["can_sign_in"] is True
        begun = await browser.post(f"{path}/authorization", headers={**origin, "x-csrf-token": session["csrf_token"]})
        assert begun.status_code == 200, begun.text
        back = (await browser.get(begun.json()["url"])).headers["location"]
        arrived = await browser.get(back)
        assert arrived.headers["location"] == f"/sources/view/?id={place.source.id}&signed_in=1"
        checked = await place.services.ingestion.sources.check(place.tenant.id, place.source.id)
        assert (checked.problem, [item.name for item in checked.items]) == (None, ["a.txt"])
        again = await browser.get(back)
        assert again.headers["location"] == "/sources/?sign_in_error=sign_in_denied", "the cookie is used up"
        refused = await browser.get("/v0/auth/sources/callback?error=access_denied&state=x")
        assert refused.headers["location"] == "/sources/?sign_in_error=sign_in_denied"
        stale = await browser.get(back, headers={"cookie": "analytiq_source_sign_in=another"})
        assert stale.headers["location"] == "/sources/?sign_in_error=sign_in_expired"


async def test_state_of_another_browser_is_refused_and_used_up(compose_services: Compose) -> None:
    async with placed(compose_services) as place:
        sign_ins = place.services.ingestion.source_sign_ins
        secret, state, code = await place.begin()
        with pytest.raises(SignInRefusedError):
            await sign_ins.finish(secret="another", state=state, code=code)
        with pytest.raises(SignInRefusedError):
            await sign_ins.finish(secret=secret, state="another", code=code)
        with pytest.raises(SignInRefusedError):
            await sign_ins.finish(secret=secret, state=state, code=code)


async def test_sign_in_expires(compose_services: Compose, monkeypatch: pytest.MonkeyPatch) -> None:
    async with placed(compose_services) as place:
        secret, state, code = await place.begin()
        later = datetime.now(UTC) + timedelta(minutes=11)
        monkeypatch.setattr(clock, "now", lambda: later)
        with pytest.raises(SignInRefusedError, match="too long"):
            await place.services.ingestion.source_sign_ins.finish(secret=secret, state=state, code=code)


async def test_sources_of_others_and_kinds_without_sign_in_are_refused(compose_services: Compose) -> None:
    async with placed(compose_services) as place:
        sign_ins = place.services.ingestion.source_sign_ins
        other = await new_tenant(place.services)
        with pytest.raises(NotFoundError):
            await sign_ins.begin(other.id, place.source.id, user_id=None, redirect_uri="https://here.example")
        web = SourceDraft(name="Site", kind="web", settings={"url": "https://example.com/"})
        site = await place.services.ingestion.sources.create(place.tenant.id, web)
        with pytest.raises(InvalidInputError, match="have no sign-in"):
            await sign_ins.begin(place.tenant.id, site.id, user_id=None, redirect_uri="https://here.example")
        bare = SourceDraft(name="Bare", kind="onedrive", settings=place.graph.settings)
        source = await place.services.ingestion.sources.create(place.tenant.id, bare)
        with pytest.raises(InvalidInputError, match="Register an application"):
            await sign_ins.begin(place.tenant.id, source.id, user_id=None, redirect_uri="https://here.example")
