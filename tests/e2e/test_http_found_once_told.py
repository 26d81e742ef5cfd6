"""Whoever is told that a document is searchable finds it by the next search, also while others work."""

from concurrent.futures import ThreadPoolExecutor

from tests.e2e.driving import make_knowledge_base, make_tag, search, unique, upload
from tests.e2e.running_platform import Running

CLIENTS = 4
UPLOADS = 15


def test_every_document_whose_status_is_success_is_found_at_once(running: Running) -> None:
    def upload_and_search(number: int) -> list[str]:
        missing: list[str] = []
        with running.client() as client:
            tag = make_tag(client, "hammer")
            kb = make_knowledge_base(client, [tag])
            for count in range(UPLOADS):
                word = f"quokka{number}x{count}"
                document_id = upload(client, unique(f"{word}.txt"), f"A {word}.".encode(), tag_ids=[tag])["document_id"]
                # Without a pause: the moments right after the commit are the ones that matter.
                while (status := client.get(f"/documents/{document_id}/status").json()["status"]) != "SUCCESS":
                    assert status in ("PENDING", "RUNNING")
                found = {item["document_id"] for item in search(client, kb, word, top_k=100)["results"]}
                if document_id not in found:
                    missing.append(word)
        return missing

    with ThreadPoolExecutor(CLIENTS) as pool:
        assert [word for missing in pool.map(upload_and_search, range(CLIENTS)) for word in missing] == []
