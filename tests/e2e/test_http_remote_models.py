"""Knowledge bases of a remote embedding model, over LiteLLM to a provider that can be made to fail."""

from collections.abc import Iterator

import httpx
import pytest

from tests.e2e.driving import (
    accepted,
    eventually,
    get_document,
    make_knowledge_base,
    make_tag,
    search,
    unique,
    upload,
    wait_until_active,
    wait_until_indexed,
)
from tests.e2e.remote_provider import give_key
from tests.e2e.running_platform import Running, client_of, make_organization
from tests.fakes.embedding_server import EmbeddingServer, Failure

MODEL = "text-embedding-3-small"


@pytest.fixture
def provider() -> Iterator[EmbeddingServer]:
    """A provider of its own for each test."""
    with EmbeddingServer() as server:
        yield server


@pytest.fixture
def tenant(running: Running, provider: EmbeddingServer) -> Iterator[httpx.Client]:
    """A client of an organization that has a key for the provider."""
    organization_id, token = make_organization(running, "Remote models")

    give_key(running, organization_id, provider)
    with client_of(running.url, organization_id, token) as opened:
        yield opened


def test_default_model_stays_the_local_one_where_another_provider_has_a_key(
    tenant: httpx.Client, provider: EmbeddingServer
) -> None:
    tag = make_tag(tenant)
    local = accepted(tenant.post("/knowledge-bases", json={"name": unique("local"), "tag_ids": []}), 201)
    assert local["embedding_model"] == "local/all-minilm-l6-v2"
    assert local["texts_go_to"]["leaves_machine"] is False
    wanted = {"name": unique("remote"), "tag_ids": [tag], "embedding_model": MODEL}
    made = accepted(tenant.post("/knowledge-bases", json=wanted), 201)
    assert (made["embedding_model"], made["embedding_dimensions"]) == (MODEL, provider.dimensions)
    assert made["texts_go_to"]["address"] == provider.url
    document = upload(tenant, unique("r.txt"), b"Lemurs leap between the baobabs.", tag_ids=[tag])
    wait_until_indexed(tenant, document["document_id"])
    assert search(tenant, made["kb_id"], "lemurs baobabs")["results"][0]["document_id"] == document["document_id"]


def test_provider_that_limits_the_rate_delays_indexing_and_does_not_fail_it(
    tenant: httpx.Client, provider: EmbeddingServer
) -> None:
    tag = make_tag(tenant)
    kb = make_knowledge_base(tenant, [tag], embedding_model=MODEL)
    provider.retry_after = "1"
    provider.script(Failure.RATE_LIMITED, Failure.UNAVAILABLE)
    document = upload(tenant, unique("r.txt"), b"Lemurs leap between the baobabs.", tag_ids=[tag])
    wait_until_indexed(tenant, document["document_id"])
    assert search(tenant, kb, "lemurs")["results"]


def test_provider_that_refuses_fails_one_document_with_the_reason_and_counts_it(
    tenant: httpx.Client, provider: EmbeddingServer, running: Running
) -> None:
    tag = make_tag(tenant)
    kb = make_knowledge_base(tenant, [tag], embedding_model=MODEL)
    wait_until_active(tenant, kb)  # its first look for documents would ask the provider for the refused one again
    provider.script(*[Failure.REFUSED] * 2)  # the worker's first call is made once more without `encoding_format`
    refused = upload(tenant, unique("bad.txt"), b"Lemurs leap between the baobabs.", tag_ids=[tag])["document_id"]
    eventually(lambda: get_document(tenant, refused)["knowledge_bases"][0]["state"] == "failed")
    state = get_document(tenant, refused)["knowledge_bases"][0]
    assert state["error"]["code"] == "text_refused"
    assert state["error"]["detail"] in state["reason"]
    assert provider.api_key not in str(state)
    assert not state["is_searchable"]
    good = upload(tenant, unique("good.txt"), b"Lemurs sleep in the afternoon.", tag_ids=[tag])["document_id"]
    wait_until_indexed(tenant, good)
    assert wait_until_active(tenant, kb)["document_count"] == 1
    metrics = httpx.get(f"{running.url}/metrics").text
    assert f'kb_indexing_errors_total{{error_type="text_refused",kb_id="{kb}"}} 1.0' in metrics
    assert "# TYPE kb_indexing_errors_total counter" in metrics


@pytest.mark.parametrize(
    ("failure", "statuses"),
    [
        (Failure.RATE_LIMITED, {429}),
        (Failure.UNAVAILABLE, {503}),
        (Failure.SERVER_ERROR, {503}),
        (Failure.CUT, {503}),
        (Failure.UNAUTHORIZED, {422}),
        (Failure.REFUSED, {422}),
        (Failure.WRONG_DIMENSIONS, {422}),
        (Failure.NOT_A_NUMBER, {422, 503}),
    ],
)
def test_search_tells_what_the_provider_did_and_never_its_key(
    tenant: httpx.Client, provider: EmbeddingServer, failure: Failure, statuses: set[int]
) -> None:
    kb = make_knowledge_base(tenant, [make_tag(tenant)], embedding_model=MODEL)
    provider.retry_after = "7"
    provider.script(*[failure] * 20)
    response = tenant.post(f"/knowledge-bases/{kb}/search", json={"query": "lemurs", "mode": "vector"})
    assert response.status_code in statuses, response.text
    body = response.json()
    assert body["code"] != "internal_error"
    assert body["detail"]
    assert provider.api_key not in response.text
    if response.status_code == 429:
        assert int(response.headers["retry-after"]) >= 1


def test_knowledge_base_is_not_made_where_the_provider_refuses_the_key(
    tenant: httpx.Client, provider: EmbeddingServer
) -> None:
    name = unique("refused")
    provider.script(*[Failure.UNAUTHORIZED] * 20)
    response = tenant.post("/knowledge-bases", json={"name": name, "embedding_model": MODEL})
    assert response.status_code == 422, response.text
    assert provider.api_key not in response.text
    assert accepted(tenant.get("/knowledge-bases", params={"name_search": name}))["total_count"] == 0
