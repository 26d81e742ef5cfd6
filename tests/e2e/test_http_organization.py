"""The organization, its access tokens, and what it was charged."""

import threading
from datetime import datetime, timedelta

import httpx

from analytiq import clock
from tests.e2e.driving import (
    Body,
    accepted,
    database_of,
    eventually,
    make_knowledge_base,
    make_tag,
    problem_of,
    search,
    unique,
    upload,
    wait_until_indexed,
)
from tests.e2e.running_platform import Running, client_of, make_organization, run_command


def own_path(running: Running) -> str:
    """The organization itself; an empty path would end in a slash."""
    return f"{running.url}/v0/orgs/{running.organization_id}"


def made_token(client: httpx.Client, **fields: str) -> Body:
    """A new token with its secret."""
    return accepted(client.post("/access-tokens", json={"name": unique("token"), **fields}), 201)


def test_organization_is_answered_to_its_own_token_only(client: httpx.Client, running: Running) -> None:
    body = accepted(client.get(own_path(running)))
    assert body["organization_id"] == running.organization_id
    assert body["name"]


def test_token_opens_until_it_is_revoked_and_not_a_moment_longer(client: httpx.Client, running: Running) -> None:
    made = made_token(client)
    assert made["token"].startswith("aq_")
    assert (made["expires_at"], made["revoked_at"], made["last_used_at"]) == (None, None, None)
    with client_of(running.url, running.organization_id, made["token"]) as opened:
        accepted(opened.get("/tags"))
        assert client.delete(f"/access-tokens/{made['token_id']}").status_code == 204
        problem = problem_of(opened.get("/tags"), 401, code="unauthenticated")
        assert "revoked" in problem["detail"]
        assert opened.get("/tags").headers["www-authenticate"] == "Bearer"
    listed = accepted(client.get("/access-tokens"))["access_tokens"]
    (row,) = [item for item in listed if item["token_id"] == made["token_id"]]
    assert row["revoked_at"]
    assert row["last_used_at"]
    assert client.delete(f"/access-tokens/{made['token_id']}").status_code == 204
    again = accepted(client.get("/access-tokens"))["access_tokens"]
    assert [item["revoked_at"] for item in again if item["token_id"] == made["token_id"]] == [row["revoked_at"]]


def test_secret_of_a_token_is_shown_once_and_stored_nowhere(client: httpx.Client, running: Running) -> None:
    made = made_token(client)
    assert made["token"] not in client.get("/access-tokens").text
    with database_of(running.data_dir) as database:
        for name in database.list_collection_names():
            assert all(made["token"] not in str(row) for row in database[name].find()), name
    assert made["token"] not in running.log


def test_token_expires(client: httpx.Client, running: Running) -> None:
    moment = (clock.now() + timedelta(seconds=2)).isoformat()
    made = made_token(client, expires_at=moment)
    with client_of(running.url, running.organization_id, made["token"]) as opened:
        accepted(opened.get(own_path(running)))
        eventually(lambda: opened.get(own_path(running)).status_code == 401)
        problem_of(opened.get(own_path(running)), 401)
        assert clock.now() >= datetime.fromisoformat(moment)


def test_what_is_no_token_is_refused(running: Running) -> None:
    url = f"{running.url}/v0/orgs/{running.organization_id}"
    for header in (
        None, "", "Bearer", "Basic eDp4", "Bearer aq_", "Bearer " + "x" * 8000, running.token,
        f"Token {running.token}", f"Bearer {running.token}x", f"Bearer {running.token.upper()}", "Bearer \u00e9",
    ):  # fmt: skip
        headers = [] if header is None else [(b"Authorization", header.encode("latin-1"))]
        problem_of(httpx.get(url, headers=headers), 401, code="unauthenticated")
    problem_of(httpx.get(url, params={"access_token": running.token}), 401)
    accepted(httpx.get(url, headers={"Authorization": f"bearer {running.token}"}))


def test_list_of_tokens_is_paged_newest_first(client: httpx.Client) -> None:
    made = [made_token(client)["token_id"] for _ in range(3)]
    body = accepted(client.get("/access-tokens", params={"limit": 2}))
    assert [item["token_id"] for item in body["access_tokens"]] == made[:0:-1]
    after = accepted(client.get("/access-tokens", params={"limit": 1, "skip": 2}))
    assert [item["token_id"] for item in after["access_tokens"]] == made[:1]
    assert body["total_count"] == after["total_count"] >= 3


def spus(client: httpx.Client, kb: str) -> dict[str, int]:
    """Operation → SPUs of one knowledge base."""
    items = accepted(client.get("/usage"))["items"]
    return {item["operation"]: item["spus"] for item in items if item["kb_id"] == kb and item["spus"]}


def saved(client: httpx.Client, kb: str) -> dict[str, int]:
    """Operation → embeddings of one knowledge base that came from the cache, today."""
    items = accepted(client.get("/usage", params={"by_day": "true"}))["items"]
    today = clock.now().date().isoformat()
    return {
        item["operation"]: item["saved_spus"]
        for item in items
        if item["kb_id"] == kb and item["saved_spus"] and item["day"] == today
    }


def test_each_embedding_is_charged_once_and_what_is_cached_is_free(client: httpx.Client) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag])
    word = unique("zebra")
    document = upload(client, unique("usage.txt"), f"The {word} has stripes.".encode(), tag_ids=[tag])
    wait_until_indexed(client, document["document_id"])
    before = accepted(client.get("/usage"))
    assert spus(client, kb) == {"index": 1}
    for _ in range(3):
        search(client, kb, f"Who is {word}?")
    assert spus(client, kb) == {"index": 1, "search": 1}
    by_kb = accepted(client.get("/usage/days", params={"since": "2020-01-01T00:00:00Z", "top": 100}))
    (own,) = [group for group in by_kb["groups"] if group["id"] == kb]
    assert (own["name"], own["spus"]) == (accepted(client.get(f"/knowledge-bases/{kb}"))["name"], 2)
    by_operation = accepted(
        client.get("/usage/days", params={"since": "2020-01-01T00:00:00Z", "group_by": "operation", "top": 1})
    )
    assert by_operation["total_spus"] == by_kb["total_spus"] == accepted(client.get("/usage"))["total_spus"]
    assert len(by_operation["groups"]) == 1
    assert sum(sum(day["spus"]) + day["other_spus"] for day in by_operation["days"]) == by_operation["total_spus"]
    twin = make_knowledge_base(client, [tag])
    eventually(lambda: search(client, twin, f"Who is {word}?")["results"])
    assert spus(client, twin) == {}
    assert saved(client, kb) == {"search": 2}
    assert saved(client, twin)["index"] == 1
    after = accepted(client.get("/usage"))
    assert after["total_spus"] == before["total_spus"] + 1
    assert after["total_spus"] == sum(after["by_operation"].values()) == sum(item["spus"] for item in after["items"])


def test_usage_is_narrowed_by_time(client: httpx.Client) -> None:
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag])
    search(client, kb, unique("a question that nobody asked"))
    now = clock.now()
    # Savings are kept by day: those of a day that a period touches are counted, so the past ends before the day before.
    past, future = (now - timedelta(days=2)).isoformat(), (now + timedelta(days=1)).isoformat()
    whole = accepted(client.get("/usage"))
    assert whole["total_spus"] > 0
    assert accepted(client.get("/usage", params={"since": past, "until": future})) == whole
    totals = {"total_spus": 0, "total_saved_spus": 0, "total_unconfirmed_spus": 0}
    nothing = {**totals, "by_operation": {}, "items": []}
    assert accepted(client.get("/usage", params={"until": past})) == nothing
    assert accepted(client.get("/usage", params={"since": future})) == nothing
    assert accepted(client.get("/usage", params={"since": "2001-01-01T00:00:00"})) == whole


def test_usage_of_one_organization_is_not_seen_by_another(client: httpx.Client, other_client: httpx.Client) -> None:
    kb = make_knowledge_base(client, [make_tag(client)])
    before = accepted(other_client.get("/usage"))
    search(client, kb, unique("a question of mine"))
    assert accepted(other_client.get("/usage")) == before


def test_same_text_indexed_at_once_into_two_knowledge_bases_is_charged_once(client: httpx.Client) -> None:
    tag = make_tag(client)
    kbs: list[str] = []
    threads = [threading.Thread(target=lambda: kbs.append(make_knowledge_base(client, [tag]))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    document = upload(client, unique("once.txt"), unique("a text that is new").encode(), tag_ids=[tag])
    wait_until_indexed(client, document["document_id"])
    assert sum(spus(client, kb).get("index", 0) for kb in kbs) == 1


def test_organization_at_its_quota_waits_and_goes_on_after_the_top_up(running: Running) -> None:
    organization_id, token = make_organization(running, "At its quota")

    def operator_types(*arguments: str) -> str:
        finished = run_command(*arguments, "--organization", organization_id, "--data-dir", str(running.data_dir))
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    with client_of(running.url, organization_id, token) as client:
        tag = make_tag(client)
        kb = make_knowledge_base(client, [tag])
        operator_types("quota", "set", "0")
        assert accepted(client.get("/quota")) == {"quota": 0, "used_spus": 0, "reserved_spus": 0, "left_spus": 0}
        problem = problem_of(
            client.post(f"/knowledge-bases/{kb}/search", json={"query": "zebra"}), 402, code="quota_exceeded"
        )
        assert "quota add" in problem["detail"]
        document = upload(client, unique("quota.txt"), b"The zebra has stripes.", tag_ids=[tag])["document_id"]

        def state() -> str:
            (found,) = accepted(client.get(f"/documents/{document}"))["knowledge_bases"] or [{"state": "none"}]
            return str(found["state"])

        eventually(lambda: state() == "waiting_for_quota")
        assert accepted(client.get(f"/documents/{document}/status"))["status"] == "PENDING"
        assert organization_id in operator_types("quota", "add", "1")
        wait_until_indexed(client, document)
        assert accepted(client.get("/quota")) == {"quota": 1, "used_spus": 1, "reserved_spus": 0, "left_spus": 0}
        environment = {
            "ANALYTIQ_URL": running.url,
            "ANALYTIQ_ORGANIZATION_ID": organization_id,
            "ANALYTIQ_TOKEN": token,
        }
        shown = run_command("usage", "--by-day", environment=environment)
        assert shown.returncode == 0, shown.stderr
        assert clock.now().date().isoformat() in shown.stdout
        assert "1 of 1 SPUs are used" in shown.stderr
        operator_types("quota", "lift")
        assert accepted(client.get("/quota"))["quota"] is None
        refused = run_command(
            "quota", "add", "1", "--organization", organization_id, "--data-dir", str(running.data_dir)
        )
        assert refused.returncode == 1
        assert "no quota to add to" in refused.stderr
