"""An organization has no more of a thing than it may have, and its requests are bounded, over HTTP."""

from typing import Any

import httpx
import pytest

from analytiq.settings import QuotaSettings
from tests.integration.accounts.test_http import served
from tests.integration.conftest import Compose
from tests.integration.tenant import new_tenant

FEW = QuotaSettings(knowledge_bases=1, tags=2, prompts=1, access_tokens=2, invitations=1, requests_per_minute=0)
MODEL = "openai/fake-embedding"


def problem(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, str(response.json()["code"])


@pytest.mark.parametrize(
    ("path", "bodies", "delete"),
    [
        ("/tags", [{"name": "b"}, {"name": "c"}], "/tags/{tag_id}"),
        ("/access-tokens", [{"name": "b", "scope": "read"}, {"name": "c"}], "/access-tokens/{token_id}"),
        (
            "/invitations",
            [{"email": "a@example.com", "role": "viewer"}, {"email": "b@example.com", "role": "viewer"}],
            "/invitations/{invitation_id}",
        ),
        (
            "/knowledge-bases",
            [{"name": "a", "embedding_model": MODEL}, {"name": "b", "embedding_model": MODEL}],
            "/knowledge-bases/{kb_id}",
        ),
    ],
)
async def test_one_more_than_the_quota_is_refused_until_one_goes(
    compose_services: Compose, path: str, bodies: list[dict[str, Any]], delete: str
) -> None:
    services = await compose_services(quotas=FEW)
    tenant, other = await new_tenant(services), await new_tenant(services)
    issued = await services.tenancy.organizations.issue_token(tenant.id, name="first")
    await services.tenancy.organizations.issue_token(other.id, name="theirs")
    headers = {"Authorization": f"Bearer {issued.secret.get_secret_value()}"}
    first, second = [{**body, "tag_ids": [tenant.tag.id]} if "kb_id" in delete else body for body in bodies]
    async with served(services) as browser:
        own = f"/v0/orgs/{tenant.id}"
        made = await browser.post(own + path, json=first, headers=headers)
        assert made.status_code == 201, made.text
        refused = await browser.post(own + path, json=second, headers=headers)
        assert problem(refused) == (409, "quota_reached")
        assert "ANALYTIQ_QUOTAS__" in refused.json()["detail"]
        gone = await browser.delete(own + delete.format_map(made.json()), headers=headers)
        assert gone.status_code in (200, 204), gone.text
        again = await browser.post(own + path, json=second, headers=headers)
        assert again.status_code == 201, again.text


async def test_too_many_requests_are_refused_with_a_time_to_come_back(compose_services: Compose) -> None:
    services = await compose_services(quotas=QuotaSettings(requests_per_minute=10))
    tenant, other = await new_tenant(services), await new_tenant(services)
    first, second = [
        (await services.tenancy.organizations.issue_token(each.id, name="t")).secret.get_secret_value()
        for each in (tenant, other)
    ]
    async with served(services) as browser:
        answers = [
            await browser.get(f"/v0/orgs/{tenant.id}", headers={"Authorization": f"Bearer {first}"}) for _ in range(2)
        ]
        assert answers[0].status_code == 200
        assert problem(answers[1]) == (429, "too_many_requests")
        assert int(answers[1].headers["Retry-After"]) >= 1
        beside = await browser.get(f"/v0/orgs/{other.id}", headers={"Authorization": f"Bearer {second}"})
        assert beside.status_code == 200
