"""Signing in, passwords, tokens and the audit log over HTTP, as a browser and an operator do it."""

import re
from collections.abc import Iterator

import httpx
import pytest

from analytiq.models.account import Role
from analytiq.tenancy.accounts.secrets import hash_of
from tests.e2e.driving import accepted, make_tag, problem_of, unique
from tests.e2e.people import PASSWORD, SomebodySignedIn, sign_in_somebody
from tests.e2e.running_platform import Running, client_of, make_organization, run_command


@pytest.fixture
def client(running: Running) -> Iterator[httpx.Client]:
    """A token's calls on an organization in which nobody is yet."""
    organization_id, token = make_organization(running, unique("organization"))
    with client_of(running.url, organization_id, token) as client:
        yield client


@pytest.fixture
def owner(running: Running, client: httpx.Client) -> SomebodySignedIn:
    """The owner of that organization."""
    return sign_in_somebody(running.url, client, Role.OWNER)


def organization_of(client: httpx.Client) -> str:
    return str(client.base_url).rstrip("/").rpartition("/")[2]


def test_sign_in_answers_who_it_is_and_a_cookie_that_pages_cannot_read(
    running: Running, owner: SomebodySignedIn
) -> None:
    answer = httpx.post(
        f"{running.url}/v0/auth/sign-in", json={"email": owner.email.upper(), "password": PASSWORD}, timeout=60.0
    )
    session = accepted(answer)
    assert session["email"] == owner.email
    assert [organization["role"] for organization in session["organizations"]] == ["owner"]
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert answer.headers["x-frame-options"] == "DENY"
    secret = answer.cookies["analytiq_session"]
    assert secret not in answer.text
    assert secret not in running.log
    assert PASSWORD not in running.log


def test_signing_out_ends_the_session_and_everywhere_ends_all(running: Running, owner: SomebodySignedIn) -> None:
    body = {"email": owner.email, "password": PASSWORD}
    other = httpx.post(f"{running.url}/v0/auth/sign-in", json=body, timeout=60.0)
    with owner.own_client() as here, httpx.Client(base_url=f"{running.url}/v0/auth", cookies=other.cookies) as there:
        accepted(here.get("/session"))
        accepted(there.get("/session"))
        assert here.post("/sign-out").status_code == 204
        problem_of(here.get("/session"), 401, code="unauthenticated")
        accepted(there.get("/session"))
        csrf = accepted(other)["csrf_token"]
        assert accepted(there.post("/sign-out-everywhere", headers={"X-CSRF-Token": csrf}))["sessions"] == 1
        problem_of(there.get("/session"), 401, code="unauthenticated")


def test_person_lists_their_sessions_and_ends_one(
    running: Running, client: httpx.Client, owner: SomebodySignedIn
) -> None:
    stranger = sign_in_somebody(running.url, client, Role.VIEWER)
    body = {"email": owner.email, "password": PASSWORD}
    browser = {"User-Agent": "Firefox of the test"}
    other = httpx.post(f"{running.url}/v0/auth/sign-in", json=body, headers=browser, timeout=60.0)
    with (
        owner.own_client() as here,
        stranger.own_client() as elsewhere,
        httpx.Client(base_url=f"{running.url}/v0/auth", cookies=other.cookies, timeout=60.0) as there,
    ):
        answer = here.get("/sessions")
        listed = accepted(answer)
        assert listed["total_count"] == 2
        by_agent = {item["user_agent"]: item for item in listed["sessions"]}
        lost = by_agent["Firefox of the test"]["session_id"]
        assert [item["session_id"] for item in listed["sessions"] if not item["is_current"]] == [lost]
        for secret in (*owner.cookies.values(), *other.cookies.values()):
            assert secret not in answer.text
            assert hash_of(secret) not in answer.text
        problem_of(elsewhere.delete(f"/sessions/{lost}"), 404)
        problem_of(here.delete("/sessions/no-id"), 404)
        problem_of(here.delete(f"/sessions/{lost}", headers={"X-CSRF-Token": "wrong"}), 403, code="csrf_refused")
        accepted(there.get("/session"))
        assert here.delete(f"/sessions/{lost}").status_code == 204
        problem_of(there.get("/session"), 401, code="unauthenticated")
        problem_of(here.delete(f"/sessions/{lost}"), 404)
        assert accepted(here.get("/sessions"))["total_count"] == 1
        noted = accepted(client.get("/audit-log", params={"action": "end_session"}))["entries"]
        assert [(entry["actor"]["name"], entry["target"]) for entry in noted] == [(owner.email, {"session_id": lost})]
        own = next(item["session_id"] for item in listed["sessions"] if item["is_current"])
        assert "analytiq_session" in here.delete(f"/sessions/{own}").headers["set-cookie"]
        problem_of(here.get("/sessions"), 401, code="unauthenticated")


def test_person_changes_their_name_and_members_see_it(
    running: Running, client: httpx.Client, owner: SomebodySignedIn
) -> None:
    with owner.own_client() as here:
        assert accepted(here.put("/name", json={"name": "  Ada Lovelace "}))["name"] == "Ada Lovelace"
        problem_of(here.put("/name", json={"name": " "}), 400, field="name")
        problem_of(here.put("/name", json={"name": "Ada", "email": "else@example.com"}), 400, field="email")
        session = accepted(here.get("/session"))
        assert (session["name"], session["email"]) == ("Ada Lovelace", owner.email)
    assert [member["name"] for member in accepted(client.get("/members"))["members"]] == ["Ada Lovelace"]
    noted = accepted(client.get("/audit-log", params={"action": "change_name"}))["entries"]
    assert [entry["actor"]["name"] for entry in noted] == [owner.email]


def test_password_is_changed_and_an_operator_resets_it_by_a_link(running: Running, owner: SomebodySignedIn) -> None:
    with owner.own_client() as here:
        wrong = {"current_password": "not this one", "new_password": "another fine password"}
        problem_of(here.post("/password", json=wrong), 400, field="current_password")
        right = {"current_password": PASSWORD, "new_password": "another fine password"}
        assert here.post("/password", json=right).status_code == 204
        accepted(here.get("/session"))
    made = run_command("user", "reset", owner.email, "--data-dir", str(running.data_dir))
    link = re.search(r"/reset/#(\S+)", made.stdout)
    assert link is not None, made.stderr
    body = {"token": link[1], "password": "a third fine password"}
    assert httpx.post(f"{running.url}/v0/auth/password-reset", json=body, timeout=60.0).status_code == 204
    problem_of(httpx.post(f"{running.url}/v0/auth/password-reset", json=body, timeout=60.0), 403)
    sign_in = {"email": owner.email, "password": "a third fine password"}
    accepted(httpx.post(f"{running.url}/v0/auth/sign-in", json=sign_in, timeout=60.0))


def test_answer_to_a_forgotten_password_tells_nobody_who_exists(running: Running, owner: SomebodySignedIn) -> None:
    answers = [
        httpx.post(f"{running.url}/v0/auth/password-reset/request", json={"email": email}, timeout=60.0)
        for email in (owner.email, "nobody@example.com")
    ]
    assert [(answer.status_code, answer.content) for answer in answers] == [(202, b"")] * 2


def test_page_of_another_origin_signs_nobody_in(running: Running, owner: SomebodySignedIn) -> None:
    body = {"email": owner.email, "password": PASSWORD}
    elsewhere = {"Origin": "https://elsewhere.example"}
    response = httpx.post(f"{running.url}/v0/auth/sign-in", json=body, headers=elsewhere, timeout=60.0)
    problem_of(response, 403, code="csrf_refused")
    assert "set-cookie" not in response.headers


def test_member_who_is_removed_finds_nothing_from_the_next_call_on(
    running: Running, client: httpx.Client, owner: SomebodySignedIn
) -> None:
    editor = sign_in_somebody(running.url, client, Role.EDITOR)
    organization_id = organization_of(client)
    with editor.client(organization_id) as member, owner.client(organization_id) as boss:
        accepted(member.post("/tags", json={"name": unique("tag")}), 201)
        accepted(boss.put(f"/members/{editor.user_id}", json={"role": "viewer"}))
        problem_of(member.post("/tags", json={"name": unique("tag")}), 403, code="access_denied")
        accepted(member.get("/tags"))
        assert boss.delete(f"/members/{editor.user_id}").status_code == 204
        problem_of(member.get("/tags"), 404, code="not_found")
        problem_of(boss.delete(f"/members/{owner.user_id}"), 409, code="last_owner")


def test_person_is_in_several_organizations_with_another_role_in_each(
    running: Running, client: httpx.Client, owner: SomebodySignedIn
) -> None:
    other_id, token = make_organization(running, "Second")
    with client_of(running.url, other_id, token) as other, owner.own_client() as here:
        invited = accepted(other.post("/invitations", json={"email": owner.email, "role": "viewer"}), 201)
        looked = accepted(here.post("/invitations/preview", json={"token": invited["token"]}))
        assert (looked["organization_name"], looked["role"]) == ("Second", "viewer")
        session = accepted(here.post("/invitations/accept", json={"token": invited["token"]}))
    roles = {item["organization_id"]: item["role"] for item in session["organizations"]}
    assert roles == {organization_of(client): "owner", other_id: "viewer"}
    with owner.client(other_id) as viewer:
        accepted(viewer.get("/tags"))
        problem_of(viewer.post("/tags", json={"name": "x"}), 403)


def test_admin_makes_tokens_up_to_what_an_admin_may(running: Running, client: httpx.Client) -> None:
    admin = sign_in_somebody(running.url, client, Role.ADMIN)
    with admin.client(organization_of(client)) as own:
        made = accepted(own.post("/access-tokens", json={"name": "import", "scope": "write"}), 201)
        assert made["scope"] == "write"
        refused = own.post("/access-tokens", json={"name": "all", "scope": "admin"})
        assert "owner" in problem_of(refused, 403, code="access_denied")["detail"]
        all_powerful = [
            item for item in accepted(own.get("/access-tokens"))["access_tokens"] if item["scope"] == "admin"
        ]
        problem_of(own.delete(f"/access-tokens/{all_powerful[0]['token_id']}"), 403)
        assert own.delete(f"/access-tokens/{made['token_id']}").status_code == 204


def test_key_of_a_repeated_call_is_its_callers_own(running: Running, client: httpx.Client) -> None:
    admin = sign_in_somebody(running.url, client, Role.ADMIN)
    headers = {"Idempotency-Key": unique("key")}
    body = {"name": "once", "scope": "write"}
    mine = accepted(client.post("/access-tokens", json=body, headers=headers), 201)
    with admin.client(organization_of(client)) as own:
        theirs = accepted(own.post("/access-tokens", json=body, headers=headers), 201)
    assert theirs["token"] != mine["token"]


def test_audit_log_says_who_did_what_and_holds_no_secret(
    running: Running, client: httpx.Client, owner: SomebodySignedIn
) -> None:
    viewer = sign_in_somebody(running.url, client, Role.VIEWER)
    organization_id = organization_of(client)
    tag = make_tag(client)
    with owner.client(organization_id) as boss, viewer.client(organization_id) as guest:
        made = accepted(boss.post("/access-tokens", json={"name": "import", "scope": "read"}), 201)
        assert boss.delete(f"/tags/{tag}").status_code == 204
        problem_of(guest.delete(f"/access-tokens/{made['token_id']}"), 403)
        accepted(boss.put("/llm-providers/cohere", json={"api_key": "sk-of-the-audit-log-test"}))
        accepted(boss.put(str(boss.base_url).rstrip("/"), json={"cache_scope": "organization"}))
        entries = accepted(boss.get("/audit-log", params={"limit": 100}))["entries"]
        told = [(entry["action"], entry["actor"]["name"], entry["status"]) for entry in entries]
        assert told[:5] == [
            ("update_organization", owner.email, 200),
            ("put_llm_provider", owner.email, 200),
            ("revoke_access_token", viewer.email, 403),
            ("delete_tag", owner.email, 204),
            ("create_access_token", owner.email, 201),
        ]
        assert entries[3]["target"] == {"tag_id": tag}
        assert entries[4]["target"] == {"token_id": made["token_id"]}
        assert entries[1]["target"] == {"litellm_provider": "cohere"}
        assert ("sign_in", viewer.email, 200) in told
        text = str(entries)
        for secret in (made["token"], "sk-of-the-audit-log-test", PASSWORD):
            assert secret not in text
        one = accepted(boss.get("/audit-log", params={"action": "delete_tag", "actor_id": owner.user_id}))
        assert one["total_count"] == 1
        assert accepted(boss.get("/audit-log", params={"until": "2020-01-01T00:00:00Z"}))["total_count"] == 0


def test_operator_lists_invites_and_promotes_people(running: Running, client: httpx.Client) -> None:
    somebody = sign_in_somebody(running.url, client, Role.VIEWER)
    options = ("--organization", organization_of(client), "--data-dir", str(running.data_dir))
    assert run_command("user", "role", somebody.email, "owner", *options).returncode == 0
    listed = run_command("user", "list", *options)
    assert re.search(rf"{re.escape(somebody.email)}\s+Somebody\s+owner", listed.stdout), listed.stdout
    refused = run_command("user", "remove", somebody.email, *options)
    assert refused.returncode == 1
    assert "owner" in refused.stderr
    invited = run_command("user", "invite", "new@example.com", "--role", "editor", *options)
    assert re.search(rf"{re.escape(running.url)}/invite/#\S+", invited.stdout), invited.stderr
    entries = accepted(client.get("/audit-log", params={"limit": 2}))["entries"]
    assert [entry["actor"]["kind"] for entry in entries] == ["operator", "operator"]
