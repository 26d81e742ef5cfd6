"""The structure of a document's text, over HTTP and with the client."""

from io import BytesIO

import httpx
from openpyxl import Workbook

from analytiq.client.client import Client
from tests.e2e.driving import accepted, problem_of, unique, upload, wait_until_read
from tests.e2e.running_platform import Running, client_of, make_organization


def price_list() -> bytes:
    book = Workbook()
    for name, rows in {"Pumps": [["Article", "Price"], ["P-100", 12], ["P-200", 15]], "Seals": [["Article"]]}.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    del book["Sheet"]
    file = BytesIO()
    book.save(file)
    return file.getvalue()


def test_blocks_are_ranges_of_the_plain_text_with_page_and_name(running: Running, client: httpx.Client) -> None:
    document_id = upload(client, unique("prices.xlsx"), price_list())["document_id"]
    wait_until_read(client, document_id)
    path = f"/documents/{document_id}"
    text = client.get(f"{path}/text", params={"format": "plain"}).text
    answer = accepted(client.get(f"{path}/blocks"))
    assert answer["page_count"] == 2
    assert answer["text_hash"] == accepted(client.get(f"{path}/text"))["text_hash"]
    for block in answer["blocks"]:
        assert text[block["start"] : block["end"]].strip()
        for row in (block["table"] or {"rows": []})["rows"]:
            assert block["start"] <= row["start"] < row["end"] <= block["end"]
    with Client(running.url, running.organization_id, running.token) as library:
        assert library.document_blocks(document_id).model_dump() == answer
        assert library.document_blocks(document_id, skip=2).blocks == []
    second = accepted(client.get(f"{path}/blocks", params={"page": 2}))
    assert second["blocks"] == accepted(client.get(f"{path}/blocks", params={"skip": 1}))["blocks"]
    assert second["blocks"] == [block for block in answer["blocks"] if block["page_number"] == 2]
    problem_of(client.get(f"{path}/blocks", params={"page": 3}), 400, field="page")
    problem_of(client.get(f"{path}/blocks", params={"limit": 1001}), 400, field="limit")


def test_blocks_of_another_organization_are_not_found(running: Running, client: httpx.Client) -> None:
    document_id = upload(client, unique("own.txt"), b"Ours alone.")["document_id"]
    wait_until_read(client, document_id)
    organization_id, token = make_organization(running, unique("other"))
    with client_of(running.url, organization_id, token) as other:
        problem_of(other.get(f"/documents/{document_id}/blocks"), 404, code="not_found")
