"""Tags: their life, and what uses them."""

import httpx

from tests.e2e.driving import (
    accepted,
    make_knowledge_base,
    make_tag,
    problem_of,
    unique,
    upload,
)


def test_tag_is_made_read_changed_and_deleted(client: httpx.Client) -> None:
    name = unique("invoice")
    made = accepted(client.post("/tags", json={"name": name, "color": "#2f6fed", "description": "Incoming"}), 201)
    assert {key: made[key] for key in ("name", "color", "description")} == {
        "name": name,
        "color": "#2f6fed",
        "description": "Incoming",
    }
    path = f"/tags/{made['tag_id']}"
    assert accepted(client.get(path)) == made
    changed = accepted(client.put(path, json={"color": "#d9480f"}))
    assert (changed["name"], changed["color"], changed["description"]) == (name, "#d9480f", "Incoming")
    assert changed["updated_at"] >= made["updated_at"]
    assert accepted(client.put(path, json={})) == changed
    deleted = client.delete(path)
    assert (deleted.status_code, deleted.content) == (204, b"")
    problem_of(client.get(path), 404)
    problem_of(client.put(path, json={"name": "x"}), 404)
    problem_of(client.delete(path), 404)


def test_name_of_a_tag_is_trimmed_and_unique_in_the_organization(
    client: httpx.Client, other_client: httpx.Client
) -> None:
    name = unique("only")
    made = accepted(client.post("/tags", json={"name": f"  {name}\n"}), 201)
    assert made["name"] == name
    problem_of(client.post("/tags", json={"name": name}), 409, code="tag_name_taken")
    other = make_tag(client)
    problem_of(client.put(f"/tags/{other}", json={"name": name}), 409, code="tag_name_taken")
    accepted(other_client.post("/tags", json={"name": name}), 201)


def test_tag_in_use_is_not_deleted_and_says_what_uses_it(client: httpx.Client) -> None:
    tag = make_tag(client)
    document = upload(client, unique("tagged.txt"), b"x", tag_ids=[tag])["document_id"]
    kb = make_knowledge_base(client, [tag])
    kb_name = accepted(client.get(f"/knowledge-bases/{kb}"))["name"]
    problem = problem_of(client.delete(f"/tags/{tag}"), 409, code="tag_in_use")
    assert "1 document" in problem["detail"]
    assert kb_name in problem["detail"]
    accepted(client.put(f"/documents/{document}", json={"tag_ids": []}))
    problem_of(client.delete(f"/tags/{tag}"), 409, code="tag_in_use")
    accepted(client.put(f"/knowledge-bases/{kb}", json={"tag_ids": []}))
    assert client.delete(f"/tags/{tag}").status_code == 204


def test_list_of_tags_is_paged_sorted_and_searched_by_a_part_of_the_name(client: httpx.Client) -> None:
    word = unique("Berry")
    names = [f"{word} {letter}" for letter in "acb"]
    for name in names:
        accepted(client.post("/tags", json={"name": name}), 201)

    def page(**params: str | int) -> tuple[list[str], int]:
        body = accepted(client.get("/tags", params={"name_search": word.upper(), **params}))
        return [tag["name"] for tag in body["tags"]], body["total_count"]

    assert page() == (sorted(names), 3)
    assert page(sort="-name") == (sorted(names, reverse=True), 3)
    assert page(limit=2) == (sorted(names)[:2], 3)
    assert page(limit=2, skip=2) == (sorted(names)[2:], 3)
    assert page(skip=3) == ([], 3)
